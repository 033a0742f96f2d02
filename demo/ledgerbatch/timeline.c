/* Owns the record of what ran when. */
#include "timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "memory.h"

uint64_t timeline_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void timeline_init(struct timeline *timeline, size_t task_count)
{
    timeline->spans = memory_zeroed(task_count, sizeof *timeline->spans);
    timeline->start_ns = timeline_now();
}

void timeline_fini(struct timeline *timeline)
{
    free(timeline->spans);
}

void timeline_record(struct timeline *timeline, uint32_t seq, size_t worker, uint64_t start_ns)
{
    timeline->spans[seq - 1] = (struct timeline_span){ start_ns, timeline_now(), (uint32_t)worker };
}

static void write_span(FILE *file, const struct timeline *timeline, const struct plan *plan,
                       size_t index, struct lane_list *lanes)
{
    const struct timeline_span *span = &timeline->spans[index];
    const struct task *task = &plan->tasks[index];
    fprintf(file, "%zu\t%s\t%u\t%llu\t%llu\t", index + 1,
            task_kind_word((enum task_kind)task->kind), span->worker,
            (unsigned long long)(span->start_ns - timeline->start_ns),
            (unsigned long long)(span->end_ns - timeline->start_ns));
    plan_lanes(plan, task, lanes);
    for (size_t i = 0; i < lanes->count; i++) {
        struct slice name = lanes->items[i] == plan_house_lane(plan)
                                ? slice_of("(house)")
                                : plan->clients.items[lanes->items[i]].name;
        fprintf(file, "%s%.*s", i ? "," : "", SLICE_ARGUMENTS(name));
    }
    fputc('\n', file);
}

bool timeline_write(const struct timeline *timeline, const struct plan *plan, const char *path,
                    struct problem *problem)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        return problem_set(problem, EXIT_CODE_IO, "%s: %s", path, strerror(errno));
    }
    struct lane_list lanes = { 0 };
    fputs("seq\tkind\tworker\tstart_ns\tend_ns\tclients\n", file);
    for (size_t i = 0; i < plan->task_count; i++) {
        if (timeline->spans[i].end_ns != 0) {
            write_span(file, timeline, plan, i, &lanes);
        }
    }
    free(lanes.items);
    bool written = !ferror(file);
    if (fclose(file) != 0 || !written) {
        return problem_set(problem, EXIT_CODE_IO, "%s: %s", path, strerror(errno));
    }
    return true;
}
