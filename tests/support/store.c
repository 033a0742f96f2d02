#include "support/store.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static bool is_refused(const struct store *store)
{
    if (store->count == STORE_PIECES_MAX) {
        return true;
    }
    return store->refused_from != 0 && (store->refuses_one ? store->asked == store->refused_from
                                                           : store->asked >= store->refused_from);
}

/* Fills the piece, because an allocator need not clear it. */
static void *take(void *user, size_t size, size_t alignment)
{
    struct store *store = user;
    void *piece = NULL;

    pthread_mutex_lock(&store->lock);
    store->asked++;
    if (!is_refused(store)) {
        piece = aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    }
    if (piece) {
        memset(piece, 0xa5, size);
        store->pieces[store->count] = piece;
        store->sizes[store->count++] = size;
        store->bytes += size;
    }
    pthread_mutex_unlock(&store->lock);
    return piece;
}

static void give(void *user, void *piece, size_t size)
{
    struct store *store = user;
    size_t i = 0;

    pthread_mutex_lock(&store->lock);
    while (i < store->count && store->pieces[i] != piece) {
        i++;
    }
    if (i == store->count || store->sizes[i] != size) {
        store->errors++;
    } else {
        store->bytes -= size;
        store->pieces[i] = store->pieces[--store->count];
        store->sizes[i] = store->sizes[store->count];
    }
    pthread_mutex_unlock(&store->lock);
    free(piece);
}

lanepool_allocator store_open(struct store *store)
{
    lanepool_allocator allocator = { sizeof allocator, take, give, store };

    memset(store, 0, sizeof *store);
    pthread_mutex_init(&store->lock, NULL);
    return allocator;
}

size_t store_bytes(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    size_t bytes = store->bytes;
    pthread_mutex_unlock(&store->lock);
    return bytes;
}

void store_expect_empty(const struct store *store)
{
    expect_eq(store->errors, 0);
    expect_eq(store->count, 0);
    expect_eq(store->bytes, 0);
}

void store_close(struct store *store)
{
    store_expect_empty(store);
    pthread_mutex_destroy(&store->lock);
}
