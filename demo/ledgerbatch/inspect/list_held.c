/* Owns the listing of held clients and tasks. */
#include "inspect/list_held.h"

#include <stdio.h>

#include "base/print.h"
#include "plan/plan.h"
#include "store/entry.h"

/* How many clients of a task are named. If more than this have failed, the command to try again has
 * --all. */
#define NAMED_MAX 8

struct listing {
    struct store *store;
    const struct stored_book *book;
    struct store_cursor *shares; /* in the same order as the tasks */
    struct stored_share share;
    bool has_share;
    size_t lane_count, failed_lane_count, task_count, failed_task_count, incomplete_count;
    struct buffer text;
    struct buffer command; /* --lane for each client that has failed */
    struct problem *problem;
};

static struct slice lane_name(const struct listing *listing, uint32_t lane)
{
    struct slice client = { "?", 1 };
    if (lane < listing->book->lane_count) {
        client = listing->book->lanes[lane].client;
    }
    return client.size > 0 ? client : slice_of(PLAN_HOUSE_NAME);
}

/* Adds a name as one word of a shell command, quoted if necessary. */
static void add_word(struct buffer *text, struct slice name)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_-./";
    bool is_plain = name.size > 0;
    for (size_t i = 0; i < name.size && is_plain; i++) {
        is_plain = name.data[i] != 0 && strchr(plain, name.data[i]) != NULL;
    }
    if (is_plain) {
        buffer_add(text, name);
        return;
    }
    buffer_add_byte(text, '\'');
    for (size_t i = 0; i < name.size; i++) {
        if (name.data[i] == '\'') {
            buffer_add_text(text, "'\\'");
        }
        buffer_add_byte(text, name.data[i]);
    }
    buffer_add_byte(text, '\'');
}

/* --- clients --- */

/*
 * Prints a held client. After an interrupted retry, its last done task can be later than the task
 * that it was held for.
 */
static void print_lane(struct listing *listing, const struct stored_held *held)
{
    struct slice name = lane_name(listing, held->lane);
    bool has_failed = held->seq == held->failed_seq;
    uint32_t last_seq =
        held->lane < listing->book->lane_count ? listing->book->lanes[held->lane].last_seq : 0;
    listing->lane_count++;
    print_format("held: %.*s ", SLICE_ARGUMENTS(name));
    if (last_seq < held->seq) {
        print_format("from task %u on: %s", held->seq, has_failed ? "" : "waits: ");
    } else {
        print_format("was tried again up to task %u; before: ", last_seq);
    }
    print_format("task %u failed: %.*s\n", held->failed_seq, SLICE_ARGUMENTS(held->reason));
    if (has_failed && ++listing->failed_lane_count <= NAMED_MAX) {
        buffer_add_text(&listing->command, " --lane ");
        add_word(&listing->command, name);
    }
}

static bool print_lanes(struct listing *listing)
{
    struct stored_held held;
    struct store_cursor *cursor = store_cursor_open(listing->store, STORE_HELD, listing->problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &held, listing->problem);
        if (step == STORE_ROW) {
            print_lane(listing, &held);
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

/* --- tasks --- */

static bool next_share(struct listing *listing)
{
    enum store_step step = store_cursor_next(listing->shares, &listing->share, listing->problem);
    listing->has_share = step == STORE_ROW;
    return step != STORE_FAILED;
}

static void print_task(struct listing *listing, const char *word,
                       const struct stored_transaction *task)
{
    listing->text.size = 0;
    entry_header(&listing->text, task);
    print_format("%s task %u: %.*s: ", word, task->seq, (int)listing->text.size - 1,
                 listing->text.data);
}

/* Prints the names of the lanes of a task. Returns false after a problem. */
static bool print_names(struct listing *listing, const char *before, uint32_t seq)
{
    bool good = true;
    size_t count = 0;
    for (; good && listing->has_share && listing->share.seq == seq; count++) {
        if (count < NAMED_MAX) {
            struct slice name = lane_name(listing, listing->share.lane);
            print_format("%s%.*s", count == 0 ? before : ", ", SLICE_ARGUMENTS(name));
        }
        good = next_share(listing);
    }
    if (count > NAMED_MAX) {
        size_t others = count - NAMED_MAX;
        print_format(" and %zu other%s", others, others == 1 ? "" : "s");
    }
    putchar('\n');
    return good;
}

static bool print_held_task(struct listing *listing, const struct stored_transaction *task)
{
    bool waits = listing->has_share && listing->share.seq == task->seq;
    listing->task_count++;
    listing->failed_task_count += !waits;
    print_task(listing, "held", task);
    if (!waits) {
        puts("failed");
        return true;
    }
    return print_names(listing, "waits for ", task->seq);
}

static bool print_incomplete(struct listing *listing, const struct stored_transaction *task)
{
    if (!listing->has_share || listing->share.seq != task->seq) {
        return true;
    }
    listing->incomplete_count++;
    print_task(listing, "incomplete", task);
    return print_names(listing, "without ", task->seq);
}

typedef bool (*task_printer)(struct listing *listing, const struct stored_transaction *task);

/* Prints tasks. A second cursor reads the lanes of the tasks, in the same order. */
static bool print_tasks(struct listing *listing, enum store_rows tasks, enum store_rows shares,
                        task_printer print)
{
    struct stored_transaction task;
    struct store_cursor *cursor = store_cursor_open(listing->store, tasks, listing->problem);
    listing->shares = store_cursor_open(listing->store, shares, listing->problem);
    bool good = cursor && listing->shares && next_share(listing);
    enum store_step step = good ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &task, listing->problem);
        if (step == STORE_ROW && !print(listing, &task)) {
            step = STORE_FAILED;
        }
    }
    store_cursor_close(cursor);
    store_cursor_close(listing->shares);
    return step == STORE_END;
}

static bool print_failed(const struct listing *listing, uint32_t task_count)
{
    struct stored_failed failed;
    struct store_cursor *cursor =
        store_cursor_open(listing->store, STORE_FAILED_ROLLUPS, listing->problem);
    enum store_step step = cursor ? STORE_ROW : STORE_FAILED;
    while (step == STORE_ROW) {
        step = store_cursor_next(cursor, &failed, listing->problem);
        if (step == STORE_ROW) {
            print_format("failed task %u: %.*s: %.*s; it is done at the end, as task %u\n",
                         failed.seq, SLICE_ARGUMENTS(failed.code), SLICE_ARGUMENTS(failed.reason),
                         task_count + failed.seq);
        }
    }
    store_cursor_close(cursor);
    return step == STORE_END;
}

static void add_count(struct buffer *text, const char *before, size_t count, const char *noun)
{
    buffer_add_text(text, before);
    buffer_add_number(text, count);
    buffer_add_byte(text, ' ');
    buffer_add_text(text, noun);
    if (count != 1) {
        buffer_add_byte(text, 's');
    }
}

static void add_advice(struct listing *listing, const char *database, struct buffer *advice)
{
    struct buffer *command = &listing->command;
    if (listing->lane_count == 0) {
        return;
    }
    if (listing->failed_lane_count > NAMED_MAX) {
        command->size = 0;
        buffer_add_text(command, " --all");
    }
    buffer_add_text(command, " --db ");
    add_word(command, slice_of(database));
    add_count(advice, "held in all: ", listing->task_count, "task");
    buffer_add_text(advice, ", of which ");
    buffer_add_number(advice, listing->failed_task_count);
    add_count(advice, " failed, in the lanes of ", listing->lane_count, "client");
    if (listing->incomplete_count > 0) {
        add_count(advice, "; incomplete: ", listing->incomplete_count, "rollup");
    }
    buffer_add_text(advice, "\nto try again: ledgerbatch retry");
    buffer_add(advice, buffer_slice(command));
    buffer_add_text(advice, ", with the files and options of the run, except --fail-on\n");
}

bool list_held(struct store *store, const struct stored_book *book, uint32_t task_count,
               const char *database, struct buffer *advice, struct problem *problem)
{
    struct listing listing = { .store = store, .book = book, .problem = problem };
    bool printed = print_lanes(&listing) &&
                   print_tasks(&listing, STORE_HELD_TASKS, STORE_HOLDERS, print_held_task) &&
                   print_tasks(&listing, STORE_TRANSACTIONS, STORE_MISSING, print_incomplete) &&
                   print_failed(&listing, task_count);
    if (printed) {
        add_advice(&listing, database, advice);
    }
    buffer_fini(&listing.text);
    buffer_fini(&listing.command);
    return printed;
}
