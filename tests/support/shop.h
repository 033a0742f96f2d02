/*
 * Contexts of keys that count: a pool's callbacks count their calls, and a task uses a context.
 * Keys are numbers below SHOP_KEYS, or texts that begin with such a number.
 */
#ifndef TESTS_SUPPORT_SHOP_H
#define TESTS_SUPPORT_SHOP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "lanepool/lanepool.h"
#include "support/gate.h"

enum { SHOP_KEYS = 8 };

/* The counters of the callbacks, by key. It is the pool's `user`. */
struct shop {
    _Atomic int opens[SHOP_KEYS]; /* the address of the element is the context */
    _Atomic int closes[SHOP_KEYS];
    _Atomic int uses[SHOP_KEYS];
    _Atomic bool open[SHOP_KEYS];
    _Atomic int faults; /* calls that must not happen: opened twice, used or closed after a close */
    _Atomic int opens_to_fail; /* this many opens fail with code 7 */
    _Atomic bool is_stale;     /* from then on, a context that has been idle is not good any more */
    struct gate *opening;      /* where `open` stops; or NULL */
    struct gate *closed;       /* where each close arrives; or NULL */
};

/* Returns options for contexts that stay open until the pool ends. */
lanepool_context_options shop_options(void);

/* Creates a pool of two workers with such contexts; fails the test on error. */
lanepool_pool *shop_pool(struct shop *shop, const lanepool_context_options *contexts);

/* A task that uses the context of its key, and the answer that it got. */
struct visit {
    struct shop *shop;
    lanepool_claim claim; /* its claim, for which it requests the context */
    struct gate *gate;    /* where it stops while it uses the context; or NULL */
    lanepool_status status;
    int code;
    void *context;
    bool was_open; /* the context was open at the task's end */
};

int visit_body(lanepool_run *run, void *context);

#endif
