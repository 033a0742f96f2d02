/* An allocator that records the pieces in use, and can refuse requests. Any thread may use it. */
#ifndef TESTS_SUPPORT_STORE_H
#define TESTS_SUPPORT_STORE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "lanepool/pool.h"

enum { STORE_PIECES_MAX = 4096 };

struct store {
    pthread_mutex_t lock;
    void *pieces[STORE_PIECES_MAX];
    size_t sizes[STORE_PIECES_MAX];
    size_t count;        /* the number of pieces in use */
    size_t bytes;        /* the number of bytes in use */
    size_t asked;        /* the number of requests */
    size_t refused_from; /* the first request that is refused; 0: none */
    bool refuses_one;    /* no later request is refused */
    unsigned errors;     /* pieces given back that are not in use, or with another size */
};

/* Returns the allocator of an empty store. */
lanepool_allocator store_open(struct store *store);
/* Returns the number of bytes in use, also while other threads use the allocator. */
size_t store_bytes(struct store *store);
/* Checks that all pieces were given back with their sizes. */
void store_expect_empty(const struct store *store);
/* Checks the same, and ends the store. */
void store_close(struct store *store);

#endif
