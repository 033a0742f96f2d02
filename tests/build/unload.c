/*
 * Loads the shared library, uses a pool, and unloads the library while a thread that has used the
 * pool still lives. The thread's end calls the library's destructor of thread-specific data.
 *
 *     unload LIBRARY
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "lanepool/lanepool.h"

static __typeof__(lanepool_pool_create) *create;
static __typeof__(lanepool_pool_quiesce) *quiesce;
static __typeof__(lanepool_pool_wait_claims) *wait_claims;
static __typeof__(lanepool_pool_destroy) *destroy;
static pthread_barrier_t used, unloaded;

static void *use_pool(void *context)
{
    lanepool_claim claim = lanepool_exclusive(1);
    lanepool_status status = wait_claims(context, &claim, 1, LANEPOOL_FOREVER);

    pthread_barrier_wait(&used);
    pthread_barrier_wait(&unloaded);
    return status == LANEPOOL_OK ? NULL : context;
}

static void *symbol(void *library, const char *name)
{
    void *address = dlsym(library, name);

    if (!address) {
        fprintf(stderr, "%s\n", dlerror());
        exit(EXIT_FAILURE);
    }
    return address;
}

int main(int argc, char **argv)
{
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    lanepool_pool *pool;
    pthread_t thread;
    void *failed;

    if (!library) {
        fprintf(stderr, "usage: unload LIBRARY\n");
        return EXIT_FAILURE;
    }
    *(void **)&create = symbol(library, "lanepool_pool_create");
    *(void **)&quiesce = symbol(library, "lanepool_pool_quiesce");
    *(void **)&wait_claims = symbol(library, "lanepool_pool_wait_claims");
    *(void **)&destroy = symbol(library, "lanepool_pool_destroy");
    if (create(NULL, &pool) != LANEPOOL_OK || pthread_barrier_init(&used, NULL, 2) != 0 ||
        pthread_barrier_init(&unloaded, NULL, 2) != 0 ||
        pthread_create(&thread, NULL, use_pool, pool) != 0) {
        return EXIT_FAILURE;
    }
    pthread_barrier_wait(&used);
    if (quiesce(pool, LANEPOOL_FOREVER) != LANEPOOL_OK || destroy(pool) != LANEPOOL_OK ||
        dlclose(library) != 0) {
        return EXIT_FAILURE;
    }
    pthread_barrier_wait(&unloaded);
    return pthread_join(thread, &failed) == 0 && !failed ? EXIT_SUCCESS : EXIT_FAILURE;
}
