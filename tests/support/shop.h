/*
 * Contexts that count: callbacks of a pool with contexts of keys, which note what they are called
 * for, and a task that asks for one. Keys are numbers below SHOP_KEYS, or texts that begin with
 * one.
 */
#ifndef TESTS_SUPPORT_SHOP_H
#define TESTS_SUPPORT_SHOP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lanepool/lanepool.h"
#include "support/gate.h"

enum { SHOP_KEYS = 8 };

/* What the callbacks see, by key; the pool's `user`. */
struct shop {
    _Atomic int opens[SHOP_KEYS]; /* whose address is the context */
    _Atomic int closes[SHOP_KEYS];
    _Atomic int uses[SHOP_KEYS];
    _Atomic bool open[SHOP_KEYS];
    _Atomic int faults; /* what must not happen: opened twice, used or closed after a close */
    _Atomic int opens_to_fail; /* with 7 */
    _Atomic bool is_stale;     /* then what has lingered is no good any more */
    struct gate *opening;      /* that open stops at; may be NULL */
    struct gate *closed;       /* where each close arrives; may be NULL */
};

/* Contexts that are kept until the pool ends, if nothing else is changed. */
lanepool_context_options shop_options(void);

/* A pool of two workers with such contexts; fails the test if not. */
lanepool_pool *shop_pool(struct shop *shop, const lanepool_context_options *contexts);

/* A task that asks for the context of its key, and what it is answered. */
struct visit {
    struct shop *shop;
    lanepool_claim claim; /* that it has, and that it asks for */
    struct gate *gate;    /* that it stops at while it has the context; may be NULL */
    lanepool_status status;
    int code;
    void *context;
    bool was_open; /* at its end */
};

int visit_body(lanepool_run *run, void *context, lanepool_call call);

#endif
