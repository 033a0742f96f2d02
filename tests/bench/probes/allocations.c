/* How often the library requests memory when a pool is filled, and when it is filled once more. The
 * linker wraps the functions that it could call. */
#include "fill.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#define KEYS  1024
#define TASKS 100000
#define FILLS 3

/* Defines __wrap_NAME, which counts and calls __real_NAME. With the linker's --wrap, calls of NAME
 * go to __wrap_NAME. */
#define COUNTED(result, name, parameters, ...) \
    result __real_##name parameters;           \
    result __wrap_##name parameters;           \
    result __wrap_##name parameters            \
    {                                          \
        atomic_fetch_add(&calls, 1);           \
        return __real_##name(__VA_ARGS__);     \
    }

static atomic_size_t calls;

COUNTED(void *, malloc, (size_t size), size)
COUNTED(void *, calloc, (size_t count, size_t size), count, size)
COUNTED(void *, realloc, (void *memory, size_t size), memory, size)
COUNTED(void *, aligned_alloc, (size_t alignment, size_t size), alignment, size)
COUNTED(int, posix_memalign, (void **memory, size_t alignment, size_t size), memory, alignment,
        size)
COUNTED(void *, mmap, (void *at, size_t size, int protection, int flags, int file, off_t offset),
        at, size, protection, flags, file, offset)

static double calls_of_fill(const struct fill *fill)
{
    size_t before = calls;
    fill_and_drain(fill);
    return (double)(calls - before) - 1; /* minus the gate's own memory */
}

static void measure(const char *series, size_t claim_count, size_t tasks, bool has_future)
{
    lanepool_claim *claims = fill_claims(tasks * claim_count, KEYS);
    struct fill fill = { .claims = claims, .claim_count = claim_count, .task_count = tasks };
    if (has_future)
        fill.futures = probe_memory(tasks, sizeof *fill.futures);
    fill_begin(&fill);
    for (int number = 1; number <= FILLS; number++)
        probe_point("allocations", series, number, calls_of_fill(&fill) / (double)tasks, "a task");
    fill_end(&fill);
    free(fill.futures);
    free(claims);
}

int main(int argc, char **argv)
{
    struct probe_options options = probe_options_read(argc, argv);
    size_t tasks = probe_scaled(&options, TASKS, 1000);
    measure("1 claim", 1, tasks, false);
    measure("3 claims", 3, tasks, false);
    measure("10 claims", 10, tasks, false);
    measure("1 claim, a future", 1, tasks, true);
    return 0;
}
