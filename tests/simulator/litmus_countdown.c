/* Litmus programs of the countdown: what each arrival did happens before the task runs. */
#include "simulator/litmus.h"
#include "unit/blocks.h"

enum { ARRIVALS = 3 };

static struct {
    struct plain_block plain;
    struct wide_block wide;
    lanepool_i_task *task;
    uint32_t before[ARRIVALS]; /* written by each thread before it arrives */
    uint32_t runs;
} all;

static void begin(lanepool_i_task *task)
{
    all.task = task;
    all.runs = 0;
    for (uint32_t i = 0; i < ARRIVALS; i++)
        all.before[i] = 0;
    lanepool_i_countdown_set(task, ARRIVALS);
}

static void arrive(uint32_t thread)
{
    all.before[thread] = 1;
    if (!lanepool_i_countdown_arrive(all.task, 1))
        return;
    all.runs++;
    for (uint32_t i = 0; i < ARRIVALS; i++)
        if (all.before[i] != 1)
            sim_fail("the task runs before arrival %u", i);
}

static void end(void)
{
    if (all.runs != 1)
        sim_fail("the task was scheduled %u times", all.runs);
}

LITMUS(countdown_plain)
{
    (void)unused;
    plain_init(&all.plain, 1, 2);
    begin(&all.plain.task);
    litmus_threads(ARRIVALS, arrive);
    end();
}

LITMUS(countdown_wide)
{
    (void)unused;
    wide_init(&all.wide, 1, 2);
    begin(&all.wide.task);
    litmus_threads(ARRIVALS, arrive);
    end();
}
