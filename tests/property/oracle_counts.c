/* Counts the features that runs have used, to show that they have been used. */
#include "property/oracle.h"

static void count_visits(const struct oracle_log *log, const struct workload *workload,
                         uint32_t cut, struct oracle_counts *counts)
{
    for (uint32_t lane = 0; lane < workload->tasks[cut].merged_count; lane++) {
        counts->lane_visits += atomic_load(&oracle_visit_of(log, workload, cut, lane)->calls);
    }
}

static void count_task(const struct oracle_task *record, const struct workload_task *what,
                       bool stopped, struct oracle_counts *counts)
{
    bool ran = record->call == CALL_RUN;
    unsigned attempts = atomic_load(&record->attempts);

    counts->cancelled += !stopped && record->call == CALL_CANCELLED;
    counts->barriers += ran && what->is_barrier;
    counts->detached += ran && atomic_load(&record->detached);
    counts->given_up += ran && oracle_when(&record->gave_up_at) != 0;
    counts->heirs += ran && what->is_heir;
    counts->delayed += ran && what->is_delayed && what->delay > 0;
    counts->periodic_runs += ran && what->series != WORKLOAD_NONE;
    counts->members += ran && what->group != WORKLOAD_NONE;
    counts->taken += atomic_load(&record->taken);
    counts->without_room +=
        oracle_when(&record->submit_end) != 0 &&
        (record->submitted == LANEPOOL_FULL || record->submitted == LANEPOOL_TIMED_OUT);
    counts->retries += ran && attempts > 1 ? attempts - 1 : 0;
    counts->kept += atomic_load(&record->keep_count);
    counts->refused += record->call == CALL_CANCELLED && record->result.status == LANEPOOL_POISONED;
    counts->pumped += ran && what->pump != WORKLOAD_NONE;
    counts->in_parts += atomic_load(&record->parts);
}

void oracle_count(const struct oracle_log *log, const struct workload *workload,
                  struct oracle_counts *counts)
{
    bool stopped = oracle_when(&log->stopping_at) != 0;

    for (uint32_t i = 0; i < workload->params.task_count; i++) {
        count_task(&log->tasks[i], &workload->tasks[i], stopped, counts);
        if (workload_is_cut(workload, i)) {
            counts->cuts += log->tasks[i].call == CALL_RUN;
            count_visits(log, workload, i, counts);
        }
    }
    for (uint32_t key = 0; key < workload->params.key_count; key++) {
        counts->contexts += atomic_load(&log->contexts[key].opens);
    }
    for (size_t i = 0;
         log->misses && i < (size_t)workload->params.task_count * workload->params.key_count; i++) {
        counts->without += log->misses[i];
    }
    for (uint32_t i = 0; i < workload->pause_count; i++) {
        counts->pauses +=
            oracle_when(&log->pauses[i].begin) != 0 && log->pauses[i].status == LANEPOOL_OK;
    }
}

void oracle_print_counts(const struct oracle_counts *counts, FILE *out)
{
    fprintf(
        out,
        "%llu tasks cancelled, %llu barriers, %llu pauses, %llu detached, %llu lanes given up, "
        "%llu receivers, %llu delayed, %llu periodic runs, %llu members, %llu completions taken, "
        "%llu pumped, %llu contexts opened, %llu choices, %llu submits without room, %llu "
        "retries, %llu parked, %llu refused, %llu lanes left, %llu cuts with %llu visits, %llu in "
        "parts",
        (unsigned long long)counts->cancelled, (unsigned long long)counts->barriers,
        (unsigned long long)counts->pauses, (unsigned long long)counts->detached,
        (unsigned long long)counts->given_up, (unsigned long long)counts->heirs,
        (unsigned long long)counts->delayed, (unsigned long long)counts->periodic_runs,
        (unsigned long long)counts->members, (unsigned long long)counts->taken,
        (unsigned long long)counts->pumped, (unsigned long long)counts->contexts,
        (unsigned long long)counts->choices, (unsigned long long)counts->without_room,
        (unsigned long long)counts->retries, (unsigned long long)counts->kept,
        (unsigned long long)counts->refused, (unsigned long long)counts->without,
        (unsigned long long)counts->cuts, (unsigned long long)counts->lane_visits,
        (unsigned long long)counts->in_parts);
}
