/*
 * Lets a fuzzer vary a workload and its schedule at once, and has each run judged. An input is
 *
 *     one byte of flags: store buffers, eager time, a fault, faults from then on
 *     one byte: which fault point fails
 *     the workload: as many bytes as drawing it takes
 *     the schedule: all others
 *
 * so that an input cut short is a smaller workload, or one whose schedule goes on by itself.
 */
#include <stdio.h>
#include <stdlib.h>

#include "simulator/simulated_property.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BUFFERS = 1, EAGER = 2, FAULT = 4, FAULTS_STAY = 8 };

/*
 * How many steps a run may make. A byte of the schedule lets one thread make at most 241 (see
 * choose_by_bytes() in simulator/choice.c), however unfair that is: so many come for free. After
 * the last byte the schedule is fair: whoever runs goes on until it blocks or yields, whoever is
 * ready first comes next, and who yields is followed by any other. Then an end must be near. A
 * thread that neither blocks nor yields meanwhile, or threads that keep one another awake, are a
 * failure of the library's and not the schedule's.
 */
enum { STEPS_PER_BYTE = 241, STEPS_TO_THE_END = 100000 };

static struct sim_options read_flags(struct choices *choices)
{
    uint32_t flags = choose_byte(choices);
    uint32_t fault = 1 + choose_byte(choices);

    return (struct sim_options){ .strategy = SIM_BYTES,
                                 .buffers = flags & BUFFERS,
                                 .eager = flags & EAGER,
                                 .fault = flags & FAULT ? fault : 0,
                                 .faults_stay = flags & FAULTS_STAY };
}

__attribute__((noreturn)) static void report(const struct workload *workload,
                                             const struct sim_options *schedule,
                                             const struct sim_report *result)
{
    workload_print_params(workload, stderr);
    workload_print_tasks(workload, stderr);
    fprintf(stderr, "schedule: %zu bytes%s%s, fault %llu%s; %llu steps\n", schedule->byte_count,
            schedule->buffers ? ", store buffers" : "", schedule->eager ? ", eager" : "",
            (unsigned long long)schedule->fault, schedule->faults_stay ? " and all after it" : "",
            (unsigned long long)result->steps);
    fprintf(stderr, "FAILED: %s\n", result->why);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t nothing;
    struct choices choices = choices_from_bytes(data ? data : &nothing, size);
    struct sim_options schedule = read_flags(&choices);
    struct sim_report result;
    struct workload workload;

    workload_draw(&workload, &workload_small, 0, &choices);
    schedule.bytes = choices.bytes;
    schedule.byte_count = choices.size;
    schedule.steps_max = STEPS_TO_THE_END + STEPS_PER_BYTE * (uint64_t)choices.size;
    if (!property_holds(&workload, &schedule, &result)) {
        report(&workload, &schedule, &result);
    }
    workload_fini(&workload);
    return 0;
}
