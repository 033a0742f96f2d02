#include "simulator/litmus.h"

#include <string.h>

#include "platform/platform.h"

static struct litmus *first;

void litmus_register(struct litmus *litmus)
{
    struct litmus **at = &first;

    while (*at != NULL && strcmp((*at)->name, litmus->name) < 0)
        at = &(*at)->next;
    litmus->next = *at;
    *at = litmus;
}

const struct litmus *litmus_first(void)
{
    return first;
}

enum { THREADS_MAX = 8 };

struct one {
    lanepool_i_thread thread;
    void (*main)(uint32_t index);
    uint32_t index;
};

static void *run_one(void *argument)
{
    const struct one *one = argument;

    one->main(one->index);
    return NULL;
}

void litmus_threads(uint32_t count, void (*main)(uint32_t index))
{
    struct one threads[THREADS_MAX];

    for (uint32_t i = 0; i < count; i++) {
        threads[i].main = main;
        threads[i].index = i;
        if (!lanepool_i_thread_start(&threads[i].thread, 0, run_one, &threads[i]))
            sim_fail("no thread");
    }
    for (uint32_t i = 0; i < count; i++)
        lanepool_i_thread_join(&threads[i].thread);
}
