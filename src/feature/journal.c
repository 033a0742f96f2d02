/* Owns the journal of a pool, from the append to the disposal of a task; see journal.h. The other
 * side of the queue is in journal_thread.c. */
#include "feature/journal.h"

#include "base/misuse.h"
#include "base/planted.h"
#include "base/versioned.h"
#include "core/run.h"
#include "feature/journal_thread.h"
#include "future/attempts.h"
#include "lane/mode.h"
#include "lane/visits.h"
#include "platform/notes.h"

#include <string.h>

#define BATCH_DEFAULT   ((size_t)256)
#define WAIT_NS_DEFAULT UINT64_C(100000)

extern const lanepool_i_feature lanepool_i_feature_journal;

LANEPOOL_I_ASSERT_NO_TAIL(lanepool_journal_options, idle_ns);

/* --- options --- */

bool lanepool_i_journal_read_options(const lanepool_journal_options *given,
                                     lanepool_journal_options *options)
{
    *options = (lanepool_journal_options)LANEPOOL_JOURNAL_OPTIONS_INIT;
    if (given == NULL)
        return true;
    if (!LANEPOOL_I_STRUCT_READ(options, given, lanepool_journal_options, last_lane_number) ||
        options->write == NULL || options->batch_max > LANEPOOL_JOURNAL_BATCH_MAX ||
        options->wait_ns > LANEPOOL_JOURNAL_WAIT_MAX_NS ||
        options->idle_ns > LANEPOOL_JOURNAL_WAIT_MAX_NS ||
        (options->last_lane_number != NULL && !options->lane_numbers))
        return false;
    if (options->batch_max == 0)
        options->batch_max = BATCH_DEFAULT;
    if (options->wait_ns == 0)
        options->wait_ns = WAIT_NS_DEFAULT;
    if (options->first_number == 0)
        options->first_number = 1;
    return true;
}

static bool has_journal(const lanepool_options *options)
{
    return options->journal != NULL;
}

/* --- submitting --- */

/* This is called for each run of a periodic task, and does not set the claims: `build` does for the
 * first run, and lanepool_i_journal_next_run() for the others. */
static void init_journal_room(lanepool_pool *pool, const lanepool_task *task,
                              lanepool_i_task *block)
{
    lanepool_i_journal_room *room = lanepool_i_journal_room_of(pool, block);
    (void)task;
    room->record = NULL;
    atomic_init(&room->state, 0);
}

static lanepool_status copy_claims(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   const lanepool_task *task, lanepool_i_task *block)
{
    lanepool_i_journal_room *room = lanepool_i_journal_room_of(pool, block);
    room->claims = NULL;
    if (!pool->journal->options.lane_numbers ||
        lanepool_i_claims_copy_make(pool, record, task, &room->claims))
        return LANEPOOL_OK;
    return LANEPOOL_NOMEM;
}

void lanepool_i_journal_drop(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_task *task)
{
    if (pool->journal != NULL)
        lanepool_i_claims_copy_give(pool, record, lanepool_i_journal_room_of(pool, task)->claims);
}

void lanepool_i_journal_next_run(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_task *task)
{
    if (pool->journal == NULL)
        return;
    lanepool_i_journal_room *room = lanepool_i_journal_room_of(pool, task);
    room->claims = lanepool_i_claims_copy_renew(pool, record, room->claims);
}

/* `holder` has the lanes of the task that submitted the claims, except poisoned ones that this task
 * has left. */
static void drop_missing_claims(const lanepool_pool *pool, lanepool_i_claims_copy *claims,
                                lanepool_i_task *holder)
{
    if (claims != NULL && load_relaxed(&pool->failures->is_avoided))
        lanepool_i_claims_copy_drop_missing(pool, claims, holder);
}

/* The receiver has the lanes, and has not started. */
static void accept_receiver(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_task *receiver)
{
    lanepool_i_claims_copy *claims = lanepool_i_journal_room_of(pool, task)->claims;
    drop_missing_claims(pool, claims, receiver);
    if (claims != NULL)
        fetch_add_relaxed(&claims->references, 1);
    lanepool_i_journal_room_of(pool, receiver)->claims = claims;
    store_relaxed(&lanepool_i_journal_room_of(pool, receiver)->state, LANEPOOL_I_JOURNAL_RECEIVER);
}

/* --- the append --- */

/* Sequentially consistent: see journal.h. Release: the journal's thread sees the room. */
static void append_block(lanepool_i_journal *journal, lanepool_i_task *task,
                         lanepool_i_journal_room *room)
{
    store_relaxed(&room->next, NULL);
    lanepool_i_task *before = exchange_seq(&journal->tail, task);
    if (before != NULL) {
        store_release(&lanepool_i_journal_room_of(journal->pool, before)->next, task);
        return;
    }
    store_release(&journal->head, task);
    lanepool_i_journal_wake(journal);
}

/* --- visits --- */

/* The part uses the cut's copy of claims, and its own claim there only. */
static void begin_part(lanepool_pool *pool, lanepool_i_task *cut, lanepool_i_task *part,
                       uint32_t number)
{
    lanepool_i_journal_room *room = lanepool_i_journal_room_of(pool, part);
    room->record = NULL;
    room->value = (void *)(uintptr_t)number;
    room->code = 0;
    room->claims = lanepool_i_journal_room_of(pool, cut)->claims;
}

static void append_visit(lanepool_pool *pool, lanepool_i_task *part, lanepool_mode mode,
                         lanepool_status status, int code)
{
    lanepool_i_journal_room *room = lanepool_i_journal_room_of(pool, part);
    if (room->claims != NULL)
        room->claims->claims[(uintptr_t)room->value].mode = mode;
    room->code = code;
    store_relaxed(&room->state, LANEPOOL_I_JOURNAL_ENTRY | LANEPOOL_I_JOURNAL_GOES_ON |
                                    LANEPOOL_I_JOURNAL_VISIT |
                                    (uint32_t)status << LANEPOOL_I_JOURNAL_STATUS_SHIFT);
    lanepool_i_note_release(room);
    append_block(pool->journal, part, room);
}

static void append_passed(lanepool_pool *pool, lanepool_i_task *part, lanepool_mode mode)
{
    append_visit(pool, part, mode, LANEPOOL_OK, 0);
}

/* The kept lanes of a cut that ends, in the order of its entries. */
static void append_kept(lanepool_pool *pool, lanepool_i_task *cut, const lanepool_result *result)
{
    const lanepool_i_visits *visits = lanepool_i_visits_of(cut);
    for (uint32_t i = 0; i < cut->as.wide.count; i++) {
        const lanepool_i_wide_entry *entry = lanepool_i_pool_entry(pool, cut, i);
        if (!lanepool_i_visits_keeps(entry))
            continue;
        append_visit(pool, lanepool_i_visits_part(visits, visits->numbers[i]),
                     lanepool_i_mode_of_owner(entry->owner), result->status, result->code);
    }
}

/* --- the end of a task --- */

/* Returns true if the program has submitted the task. */
static bool is_of_program(const lanepool_i_task *task)
{
    return task->function != lanepool_i_run_work && task->function != lanepool_i_run_nothing;
}

static bool append_ended(lanepool_pool *pool, lanepool_i_task *task, const lanepool_result *result,
                         bool was_called, bool has_lanes)
{
    const lanepool_i_attempts *attempts = lanepool_i_attempts_of(task);
    if ((!was_called && (attempts == NULL || attempts->failed == 0)) || !is_of_program(task))
        return false;
    lanepool_i_journal_room *room = lanepool_i_journal_room_of(pool, task);
    bool is_receiver = (load_relaxed(&room->state) & LANEPOOL_I_JOURNAL_RECEIVER) != 0;
    if (lanepool_i_task_has_parts(task))
        append_kept(pool, task, result);
    else if (has_lanes && !is_receiver)
        drop_missing_claims(pool, room->claims, task);
    uint32_t state = LANEPOOL_I_JOURNAL_ENTRY;
    state |= (uint32_t)result->status << LANEPOOL_I_JOURNAL_STATUS_SHIFT;
    state |= has_lanes ? 0 : LANEPOOL_I_JOURNAL_GOES_ON;
    room->value = result->value;
    room->code = result->code;
    store_relaxed(&room->state, state);
    append_block(pool->journal, task, room);
    return pool->journal->options.completes_when_written && !PLANTED(COMPLETES_UNWRITTEN);
}

/* --- lanes released early --- */

static lanepool_i_task *make_part_block(lanepool_pool *pool, lanepool_i_thread_record *record,
                                        const lanepool_i_task *task)
{
    size_t size = sizeof(lanepool_i_task) + pool->extension + pool->room.size;
    size_t class = lanepool_i_slab_class_of(size);
    lanepool_i_task *block = lanepool_i_slab_take(&pool->slab, &record->cache, class, size);
    if (block == NULL)
        return NULL;
    uint64_t word = load_relaxed(&task->word) & LANEPOOL_I_TICKET_MASK;
    block->function = task->function;
    block->context = task->context;
    block->as.wide.room = lanepool_i_pool_entry(pool, block, 0);
    block->as.wide.count = 0;
    block->as.wide.tag = lanepool_i_task_tag(task) & LANEPOOL_TAG_MAX;
    atomic_init(&block->word, word | LANEPOOL_I_WIDE | (uint64_t) class << LANEPOOL_I_CLASS_SHIFT);
    return block;
}

void lanepool_i_journal_free_part(lanepool_pool *pool, lanepool_i_thread_record *record,
                                  lanepool_i_task *block)
{
    lanepool_i_journal_drop(pool, record, block);
    lanepool_i_slab_give(&pool->slab, &record->cache, lanepool_i_task_class(block), block);
}

/* `value` is free until the task ends. Until then it points to the part. */
bool lanepool_i_journal_begin_release(lanepool_pool *pool, lanepool_i_thread_record *record,
                                      lanepool_i_task *task, lanepool_key key,
                                      lanepool_i_journal_part *part)
{
    *part = (lanepool_i_journal_part){ NULL, NULL };
    if (pool->journal == NULL)
        return true;
    lanepool_i_journal_room *room = lanepool_i_journal_room_of(pool, task);
    lanepool_i_claims_copy *of_key;
    if (!lanepool_i_claims_copy_divide(pool, record, room->claims, key, &of_key, &part->of_others))
        return false;
    part->block = make_part_block(pool, record, task);
    if (part->block == NULL) {
        lanepool_i_claims_copy_give(pool, record, of_key);
        lanepool_i_claims_copy_give(pool, record, part->of_others);
        return false;
    }
    lanepool_i_journal_room_of(pool, part->block)->claims = of_key;
    room->value = part;
    return true;
}

/* The next run of the task has all claims again. */
static void keep_whole_copy(lanepool_i_claims_copy *claims, lanepool_i_claims_copy *before)
{
    claims->whole = before->whole != NULL ? before->whole : before;
    fetch_add_relaxed(&claims->whole->references, 1);
}

/* Appends the part before the lane is released. The task's old copy of claims moves to *part. */
static void append_part(lanepool_pool *pool, lanepool_i_task *task, const lanepool_i_lane *lane,
                        lanepool_mode mode)
{
    lanepool_i_journal_room *room = lanepool_i_journal_room_of(pool, task);
    lanepool_i_journal_part *part = room->value;
    lanepool_i_task *block = part->block;
    lanepool_i_journal_room *of_part = lanepool_i_journal_room_of(pool, block);
    lanepool_i_claims_copy *before = room->claims;
    (void)lane;
    (void)mode;
    room->claims = part->of_others;
    *part = (lanepool_i_journal_part){ NULL, before };
    if (before != NULL && lanepool_i_word_is_periodic(load_relaxed(&task->word)))
        keep_whole_copy(room->claims, before);
    of_part->record = room->record;
    of_part->value = NULL;
    of_part->code = 0;
    store_relaxed(&of_part->state, LANEPOOL_I_JOURNAL_ENTRY | LANEPOOL_I_JOURNAL_GOES_ON |
                                       LANEPOOL_I_JOURNAL_RELEASED);
    lanepool_i_note_release(of_part);
    append_block(pool->journal, block, of_part);
}

void lanepool_i_journal_end_release(lanepool_pool *pool, lanepool_i_thread_record *record,
                                    const lanepool_i_journal_part *part)
{
    lanepool_i_claims_copy_give(pool, record, part->of_others);
    if (part->block != NULL)
        lanepool_i_journal_free_part(pool, record, part->block);
}

/* --- the disposal --- */

/* The receiver has had no call. */
static void append_note(lanepool_pool *pool, lanepool_i_task *task, lanepool_i_journal_room *room,
                        bool silently)
{
    store_relaxed(&room->state,
                  LANEPOOL_I_JOURNAL_NOTE | (silently ? LANEPOOL_I_JOURNAL_SILENT : 0));
    append_block(pool->journal, task, room);
}

/* The task has no entry. A stopped pool hands tasks back: the program may yet run them. */
static void settle_ticket(lanepool_pool *pool, const lanepool_i_task *task)
{
    lanepool_i_journal *journal = pool->journal;
    if (load_seq(pool->lifecycle.state) == LANEPOOL_I_STOPPING)
        return;
    lanepool_i_mutex_lock(&journal->lock);
    lanepool_i_watermark_settle(
        &journal->watermark,
        lanepool_i_watermark_whole(&journal->watermark, lanepool_i_task_ticket(task)));
    lanepool_i_mutex_unlock(&journal->lock);
}

/* Acquire and release: what the first user did happens before the disposal. */
static bool stays_for_journal(lanepool_pool *pool, lanepool_i_task *task, bool silently)
{
    lanepool_i_journal_room *room = lanepool_i_journal_room_of(pool, task);
    uint32_t state = load_relaxed(&room->state);
    if ((state & LANEPOOL_I_JOURNAL_ENTRY) != 0)
        return (fetch_or_acq_rel(&room->state, LANEPOOL_I_JOURNAL_DONE) &
                LANEPOOL_I_JOURNAL_DONE) == 0 &&
               !PLANTED(ONE_USER);
    bool is_receiver = (state & LANEPOOL_I_JOURNAL_RECEIVER) != 0;
    if (is_receiver)
        append_note(pool, task, room, silently);
    else
        settle_ticket(pool, task);
    return is_receiver;
}

static void forget_records(lanepool_pool *pool, lanepool_i_task *task)
{
    lanepool_i_journal_room_of(pool, task)->record = NULL;
    if (!lanepool_i_task_has_parts(task))
        return;
    const lanepool_i_visits *visits = lanepool_i_visits_of(task);
    for (uint32_t i = 0; i < task->as.wide.count; i++) {
        lanepool_i_task *part = lanepool_i_visits_part(visits, visits->numbers[i]);
        lanepool_i_journal_room_of(pool, part)->record = NULL;
    }
}

/* --- for the program --- */

lanepool_status lanepool_run_set_record(lanepool_run *run, void *record)
{
    if (run == NULL)
        return LANEPOOL_INVALID;
    if (run->pool == NULL || run->pool->journal == NULL)
        return LANEPOOL_UNSUPPORTED;
    if (lanepool_i_task_is_visitor(run->task) && run->task->as.wide.room == NULL)
        return LANEPOOL_UNSUPPORTED; /* of a progressive rollup, which has one entry */
    lanepool_i_journal_room_of(run->pool, run->task)->record = record;
    return LANEPOOL_OK;
}

lanepool_status lanepool_pool_journal_state(lanepool_pool *pool, lanepool_journal_state *state)
{
    if (pool == NULL || state == NULL)
        return LANEPOOL_INVALID;
    if (lanepool_i_pool_is_forked(pool))
        return LANEPOOL_FORKED;
    if (pool->journal == NULL)
        return LANEPOOL_UNSUPPORTED;
    lanepool_i_mutex_lock(&pool->journal->lock);
    *state = pool->journal->state;
    lanepool_i_mutex_unlock(&pool->journal->lock);
    return LANEPOOL_OK;
}

bool lanepool_i_journal_has(const lanepool_pool *pool, lanepool_i_task *task)
{
    return pool->journal != NULL && (load_relaxed(&lanepool_i_journal_room_of(pool, task)->state) &
                                     LANEPOOL_I_JOURNAL_ENTRY) != 0;
}

lanepool_status lanepool_i_journal_answer(lanepool_pool *pool)
{
    lanepool_journal_state state;
    if (lanepool_pool_journal_state(pool, &state) == LANEPOOL_OK && state.code != 0)
        return LANEPOOL_UNWRITTEN;
    return LANEPOOL_OK;
}

/* --- beginning and end --- */

static size_t journal_size(size_t batch_max)
{
    return sizeof(lanepool_i_journal) +
           batch_max * (sizeof(lanepool_journal_entry) + sizeof(lanepool_i_task *));
}

static bool init_journal(lanepool_pool *pool, lanepool_i_journal *journal)
{
    if (!lanepool_i_mutex_init(&journal->lock, LANEPOOL_I_LOCK_JOURNAL))
        return false;
    if (lanepool_i_semaphore_init(&journal->semaphore)) {
        journal->record = lanepool_i_thread_record_create_for_worker(pool, &pool->records, NULL);
        if (journal->record != NULL) {
            if (lanepool_i_lane_numbers_init(&journal->lanes, &journal->options, pool))
                return true;
            lanepool_i_thread_record_retire(journal->record);
        }
        lanepool_i_semaphore_fini(&journal->semaphore);
    }
    lanepool_i_mutex_fini(&journal->lock);
    return false;
}

bool lanepool_i_journal_init(lanepool_pool *pool)
{
    lanepool_journal_options options;
    if (!has_journal(&pool->options))
        return true;
    (void)lanepool_i_journal_read_options(pool->options.journal, &options);
    LANEPOOL_I_ASSERT(pool->slots.room[0] == &lanepool_i_feature_journal);
    pool->options.journal = NULL; /* the program's memory */
    lanepool_i_journal *journal = lanepool_i_memory_alloc(journal_size(options.batch_max));
    if (journal == NULL)
        return false;
    memset(journal, 0, journal_size(options.batch_max));
    journal->options = options;
    journal->pool = pool;
    journal->tasks = (lanepool_i_task **)&journal->entries[options.batch_max];
    journal->next_number = options.first_number;
    journal->batch = 1;
    lanepool_i_watermark_init(&journal->watermark, LANEPOOL_I_FIRST_TICKET);
    if (!init_journal(pool, journal)) {
        lanepool_i_memory_free(journal);
        return false;
    }
    pool->journal = journal;
    return true;
}

/* The pool's records are freed later. */
void lanepool_i_journal_fini(lanepool_pool *pool)
{
    lanepool_i_journal *journal = pool->journal;
    if (journal == NULL)
        return;
    lanepool_i_lane_numbers_fini(&journal->lanes, pool, journal->record);
    lanepool_i_thread_record_retire(journal->record);
    lanepool_i_watermark_fini(&journal->watermark);
    lanepool_i_semaphore_fini(&journal->semaphore);
    lanepool_i_mutex_fini(&journal->lock);
    lanepool_i_memory_free(journal);
    pool->journal = NULL;
}

const lanepool_i_feature lanepool_i_feature_journal = {
    .is_wanted = has_journal,
    .offer = LANEPOOL_I_JOURNALS,
    .plain_use = LANEPOOL_I_PLAIN_FRONT,
    .room_size = sizeof(lanepool_i_journal_room),
    .init_room = init_journal_room,
    .build = copy_claims,
    .unbuild = lanepool_i_journal_drop,
    .begin_visit = begin_part,
    .end_visit = append_passed,
    .release_early = append_part,
    .hand_over = accept_receiver,
    .retried = forget_records,
    .ended = append_ended,
    .postpones = stays_for_journal,
    .dispose = lanepool_i_journal_drop,
};
