/* Contexts of keys: the calls for each context alternate as they must, and no more contexts are
 * idle than allowed. */
#include "feature/context/workload.h"

void judge_contexts(struct judge *judge)
{
    for (uint32_t key = 0; key < judge->workload->params.key_count; key++) {
        const struct oracle_context *record = &judge->log->contexts[key];

        if (atomic_load(&record->opens) != atomic_load(&record->closes) ||
            atomic_load(&record->open)) {
            judge_blame(&judge->verdict, "the context of key %u is open at the end", key);
        }
        if (atomic_load(&record->users) != 0) {
            judge_blame(&judge->verdict, "the context of key %u is in use at the end", key);
        }
    }
}

bool judge_contexts_are_few(const struct oracle_log *log, const struct workload *workload)
{
    uint32_t idle = 0;

    for (uint32_t key = 0; key < workload->params.key_count; key++) {
        const struct oracle_context *record = &log->contexts[key];

        idle += atomic_load(&record->open) && !atomic_load(&record->calling) &&
                atomic_load(&record->users) == 0;
    }
    return !workload->params.contexts || idle <= workload->params.lingering_max;
}
