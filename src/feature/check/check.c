/* Owns the assertions that a running task has a claim. */
#include "lanepool/check.h"

#include "base/misuse.h"
#include "core/run.h"
#include "lane/mode.h"
#include "lane/visits.h"
#include "route/lane_handle.h"
#include "route/program_key.h"

#include <inttypes.h>
#include <stdio.h>

enum { KEY_SIZE = 64, MESSAGE_SIZE = 192 };

/* --- what the task has --- */

static bool task_has_claim(const lanepool_pool *pool, lanepool_i_task *task, lanepool_claim claim)
{
    if (!lanepool_i_mode_is_valid(claim.mode))
        return false;
    if (lanepool_i_task_is_barrier(task))
        return true;
    return pool->rule->has_claim(pool, task, claim);
}

bool lanepool_run_claims(const lanepool_run *run, lanepool_claim claim)
{
    if (LANEPOOL_I_MISUSED(run == NULL, "run is NULL"))
        return false;
    return run->pool != NULL && task_has_claim(run->pool, run->task, claim);
}

/* --- a failed assertion --- */

/* Writes the key as its owner names it, cut to KEY_SIZE - 1 bytes. */
static void print_key(const lanepool_pool *pool, lanepool_key key, char text[KEY_SIZE])
{
    if (key.type == LANEPOOL_KEY_LANE && key.lane != NULL)
        key = lanepool_i_key_for_program(&key.lane->key);
    size_t used = 0;
    if (pool->options.key_name != NULL && key.type >= LANEPOOL_KEY_ID &&
        key.type <= LANEPOOL_KEY_BYTES)
        used = pool->options.key_name(pool->options.user, key, text, KEY_SIZE - 1);
    text[used < KEY_SIZE ? used : KEY_SIZE - 1] = 0;
    if (used > 0)
        return;
    if (key.type == LANEPOOL_KEY_ID)
        (void)snprintf(text, KEY_SIZE, "%" PRIu64, key.id);
    else if (key.type == LANEPOOL_KEY_POINTER)
        (void)snprintf(text, KEY_SIZE, "%p", key.pointer);
    else if (key.type == LANEPOOL_KEY_BYTES)
        (void)snprintf(text, KEY_SIZE, "\"%.*s\"", key.size < KEY_SIZE ? (int)key.size : KEY_SIZE,
                       (const char *)key.bytes);
    else
        (void)snprintf(text, KEY_SIZE, "%s", key.type == LANEPOOL_KEY_ALL ? "(all)" : "(none)");
}

static const char *const mode_names[] = { [LANEPOOL_EXCLUSIVE] = "exclusive",
                                          [LANEPOOL_SHARED] = "shared",
                                          [LANEPOOL_COMMUTING] = "commuting" };

static void abort_with_message(const lanepool_failed_check *failed)
{
    char key[KEY_SIZE];
    char message[MESSAGE_SIZE];
    print_key(failed->pool, failed->claim.key, key);
    const char *mode =
        lanepool_i_mode_is_valid(failed->claim.mode) ? mode_names[failed->claim.mode] : "valid";
    if (failed->run != NULL)
        (void)snprintf(message, sizeof message, "task %" PRIu64 " has no %s claim of key %s",
                       failed->ticket, mode, key);
    else
        (void)snprintf(message, sizeof message,
                       "this thread runs no task of the pool, which needs the %s claim of key %s",
                       mode, key);
    lanepool_i_report_misuse("lanepool_assert_claimed", message);
}

static LANEPOOL_I_COLD void report_missing_claim(lanepool_pool *pool, const lanepool_run *run,
                                                 lanepool_claim claim)
{
    lanepool_failed_check failed = { .pool = pool, .claim = claim, .run = run };
    if (run != NULL) {
        const lanepool_i_task *task = lanepool_i_task_or_cut(run->task); /* a visit has a block */
        failed.function = task->function;
        failed.context = task->context;
        failed.ticket = lanepool_i_task_ticket(task);
    }
    if (pool->options.on_check != NULL)
        pool->options.on_check(pool->options.user, &failed);
    else
        abort_with_message(&failed);
}

void lanepool_assert_claimed(lanepool_pool *pool, lanepool_claim claim)
{
    if (LANEPOOL_I_MISUSED(pool == NULL, "pool is NULL"))
        return;
    const lanepool_i_thread_record *record = lanepool_i_thread_record_find(pool);
    const lanepool_run *run = record != NULL ? record->run : NULL;
    if (run == NULL || !task_has_claim(pool, run->task, claim))
        report_missing_claim(pool, run, claim);
}
