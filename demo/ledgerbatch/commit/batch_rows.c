/* Owns the rows that begin a batch; see commit/batch_rows.h. */
#include "commit/batch_rows.h"

#include <stdlib.h>

#include "base/syntax.h"
#include "commit/input_rows.h"
#include "commit/input_totals.h"
#include "commit/name_rows.h"
#include "commit/step_rows.h"
#include "memory.h"

struct store_facts batch_rows_facts(const struct plan *plan)
{
    struct store_facts facts = { .state = STORE_UNFINISHED,
                                 .number = plan->has_opening ? plan->opening.number : 1,
                                 .is_day = plan->has_opening,
                                 .date = plan_last_day(plan),
                                 .base_seq = plan->base_seq,
                                 .task_count = (uint32_t)plan->task_count,
                                 .transaction_count = (uint32_t)plan->book.transaction_count };
    memcpy(facts.digest, plan->digest, sizeof facts.digest);
    return facts;
}

/* --- files --- */

typedef bool (*file_visitor)(struct store *store, const struct source *source,
                             const struct stored_file *file, struct problem *problem);

/* Visits the files that have transactions. A file without any can be included each day. */
static bool visit_files(struct store *store, const struct plan *plan, file_visitor visit,
                        struct problem *problem)
{
    const struct book *book = &plan->book;
    bool *is_posted = memory_zeroed(book->sources.count + 1, sizeof *is_posted);
    bool good = true;
    for (size_t i = 0; i < book->transaction_count; i++) {
        is_posted[book->transactions[i].source] |=
            book->transactions[i].deferred_seq == 0 && book->transactions[i].reversed_seq == 0;
    }
    for (size_t i = 0; good && i < book->sources.count; i++) {
        struct stored_file file = { .number = plan->opening.number + !plan->has_opening };
        sha256_write_text(book->sources.items[i]->digest, file.digest);
        good = !is_posted[i] || visit(store, book->sources.items[i], &file, problem);
    }
    free(is_posted);
    return good;
}

static bool put_file(struct store *store, const struct source *source,
                     const struct stored_file *file, struct problem *problem)
{
    (void)source;
    return store_put_file(store, file, problem);
}

static bool check_file(struct store *store, const struct source *source,
                       const struct stored_file *file, struct problem *problem)
{
    uint32_t date;
    if (!store_find_file(store, file->digest, &date, problem)) {
        return false;
    }
    return date == 0 || problem_set(problem, EXIT_CODE_INPUT,
                                    "%s: was posted already, on the day %04u-%02u-%02u",
                                    source->name, date / 10000, date / 100 % 100, date % 100);
}

bool batch_rows_check_files(struct store *store, const struct plan *plan, struct problem *problem)
{
    return visit_files(store, plan, check_file, problem);
}

/* --- lanes --- */

static int compare_clients(const void *left, const void *right)
{
    return slice_compare(((const struct client *)left)->name, ((const struct client *)right)->name);
}

/* Returns the number of a stored lane among the clients of the plan, which are sorted by name. */
static uint32_t new_number(const struct plan *plan, uint32_t lane)
{
    const struct stored_book *stored = &plan->opening.book;
    struct client key = { .name = stored->lanes[lane].client };
    const struct client *found = key.name.size == 0
                                     ? NULL
                                     : bsearch(&key, plan->clients.items, plan->clients.count,
                                               sizeof *plan->clients.items, compare_clients);
    return found ? (uint32_t)(found - plan->clients.items) : plan_house_lane(plan);
}

/* The progress of each lane, by its new number. The caller frees the array. */
static uint32_t *find_progress(const struct plan *plan)
{
    uint32_t *last_seqs = memory_zeroed(plan->clients.count + 1, sizeof *last_seqs);
    for (uint32_t i = 0; i < plan->opening.book.lane_count; i++) {
        last_seqs[new_number(plan, i)] = plan->opening.book.lanes[i].last_seq;
    }
    return last_seqs;
}

/* New clients change the numbers of others, since clients are numbered by name. */
static bool put_lanes(struct store *store, const struct plan *plan, struct problem *problem)
{
    uint32_t *last_seqs = find_progress(plan);
    bool put = store_clear_lanes(store, problem);
    for (uint32_t i = 0; put && i <= plan_house_lane(plan); i++) {
        struct stored_lane lane = name_rows_lane(plan, i);
        lane.last_seq = last_seqs[i];
        put = store_put_lane(store, &lane, problem);
    }
    free(last_seqs);
    return put;
}

struct share_list {
    struct stored_share *items;
    size_t count, capacity;
};

static bool list_deferrals(struct store *store, const struct plan *plan, struct share_list *list,
                           struct problem *problem)
{
    struct stored_deferral deferral;
    struct store_cursor *cursor = store_cursor_open(store, STORE_DEFERRALS, problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &deferral, problem);
        if (step == STORE_ROW && deferral.has_lane &&
            deferral.lane < plan->opening.book.lane_count) {
            list->items =
                memory_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
            list->items[list->count++] =
                (struct stored_share){ deferral.seq, new_number(plan, deferral.lane) };
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

static bool is_renumbered(const struct plan *plan)
{
    bool changed = false;
    for (uint32_t i = 0; i < plan->opening.book.lane_count && !changed; i++) {
        changed = new_number(plan, i) != i;
    }
    return changed;
}

/* Gives all deferred transactions, done or not, the new numbers of their lanes. */
static bool renumber_deferrals(struct store *store, const struct plan *plan,
                               struct problem *problem)
{
    struct share_list list = { 0 };
    if (!is_renumbered(plan)) {
        return true;
    }
    store_widen_window(store, 0);
    bool good = list_deferrals(store, plan, &list, problem);
    for (size_t i = 0; good && i < list.count; i++) {
        good = store_set_deferral_lane(store, list.items[i].seq, list.items[i].lane, problem);
    }
    free(list.items);
    return good;
}

static bool begin(struct store *store, const struct plan *plan, struct problem *problem)
{
    struct store_facts facts = batch_rows_facts(plan);
    if ((facts.number == 1 && !store_create(store, problem)) ||
        !store_begin_batch(store, &facts, problem) || !renumber_deferrals(store, plan, problem)) {
        return false;
    }
    store_set_window(store, &facts);
    return visit_files(store, plan, put_file, problem) && put_lanes(store, plan, problem) &&
           name_rows_put(store, plan, problem) && input_totals_put(store, plan, problem) &&
           input_rows_put_rejects(store, plan, problem) &&
           input_rows_put_months(store, plan, problem) &&
           (!plan->rules.unique_codes || store_index_codes(store, problem)) &&
           step_rows_put(store, plan, facts.number, problem);
}

bool batch_rows_begin(struct store *store, const struct plan *plan, struct problem *problem)
{
    bool begun =
        store_begin(store, problem) && begin(store, plan, problem) && store_commit(store, problem);
    if (!begun) {
        store_rollback(store);
    }
    return begun;
}
