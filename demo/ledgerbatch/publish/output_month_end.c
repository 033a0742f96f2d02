/* Owns the outputs of month-end rollups; publish/output_statements.c writes the statements. */
#include "base/file_name.h"
#include "publish/output_scan.h"
#include "store/entry.h"

#define MONTH_SIZE 7

static bool is_month(struct slice text)
{
    bool is_good = text.size == MONTH_SIZE;
    for (size_t i = 0; is_good && i < MONTH_SIZE; i++) {
        is_good = i == 4 ? text.data[i] == '-' : text.data[i] >= '0' && text.data[i] <= '9';
    }
    return is_good;
}

static bool is_group(const struct stored_book *book, struct slice name)
{
    bool is_found = false;
    for (size_t i = 0; i < book->lane_count && !is_found; i++) {
        is_found = book->lanes[i].client.size > 0 && slice_equal(book->lanes[i].group, name);
    }
    return is_found;
}

/* Splits the code of a rollup: KIND YYYY-MM GROUP. The kind of a user's step is its name. */
static bool split_code(const struct stored_transaction *transaction, struct slice *kind,
                       struct slice *month, struct slice *group)
{
    const char *space = memchr(transaction->code.data, ' ', transaction->code.size);
    size_t skip = space ? (size_t)(space - transaction->code.data) + 1 : 0;
    if (!space || transaction->code.size < skip + MONTH_SIZE + 1) {
        return false;
    }
    const char *at = transaction->code.data + skip;
    *kind = (struct slice){ transaction->code.data, skip - 1 };
    *month = (struct slice){ at, MONTH_SIZE };
    *group = (struct slice){ at + MONTH_SIZE + 1, transaction->code.size - skip - MONTH_SIZE - 1 };
    return true;
}

static bool publish_close(struct output_scan *scan, struct slice month, struct slice group,
                          struct problem *problem)
{
    for (size_t i = 0; i < scan->missing_lanes.count; i++) {
        buffer_add_field(&scan->page, scan->book.lanes[scan->missing_lanes.items[i]].client);
        buffer_add_text(&scan->page, ",(missing),,\n");
    }
    scan->path.size = 0;
    buffer_add_text(&scan->path, "close/");
    buffer_add(&scan->path, month);
    buffer_add_byte(&scan->path, '-');
    buffer_add(&scan->path, group);
    buffer_add(&scan->path, (struct slice){ ".csv", sizeof ".csv" });
    return scan->is_quiet || publication_write(&scan->publication, scan->path.data,
                                               buffer_slice(&scan->page), problem);
}

/* Returns the name of a missing client; the house lane stands for the `group` of a step. */
static struct slice missing_name(const struct output_scan *scan, size_t i)
{
    struct slice client = scan->book.lanes[scan->missing_lanes.items[i]].client;
    return client.size > 0 ? client : slice_of("(house)");
}

/* Publishes the report of a user's step, if it has made one. */
static bool publish_report(struct output_scan *scan, uint32_t seq, struct slice name,
                           struct slice month, struct slice group, struct problem *problem)
{
    if (!scan->has_report || scan->report.seq != seq) {
        return true;
    }
    scan->path.size = 0;
    buffer_add_text(&scan->path, "steps/");
    file_name_add(&scan->path, name);
    buffer_add_byte(&scan->path, '/');
    buffer_add(&scan->path, month);
    buffer_add_byte(&scan->path, '-');
    buffer_add(&scan->path, group);
    buffer_add(&scan->path, (struct slice){ ".csv", sizeof ".csv" });
    return (scan->is_quiet ||
            publication_write(&scan->publication, scan->path.data, scan->report.text, problem)) &&
           scan_next_report(scan, problem);
}

/* Writes an accrual, a close or a user's step. Without postings, it is left out of the journal. */
static bool write_generated(struct output_scan *scan, const struct stored_transaction *transaction,
                            struct problem *problem)
{
    for (size_t i = 0; i < scan->missing_lanes.count; i++) {
        buffer_add_text(&scan->journal, "; missing: ");
        buffer_add(&scan->journal, missing_name(scan, i));
        buffer_add_byte(&scan->journal, '\n');
    }
    size_t before = scan->journal.size;
    entry_header(&scan->journal, transaction);
    size_t with_header = scan->journal.size;
    scan->page.size = 0;
    buffer_add_text(&scan->page, "client,account,commodity,amount\n");
    if (!scan_postings(scan, transaction, problem)) {
        return false;
    }
    if (scan->journal.size == with_header) {
        scan->journal.size = before;
    } else {
        buffer_add_byte(&scan->journal, '\n');
    }
    return true;
}

bool scan_rollup(struct output_scan *scan, const struct stored_transaction *transaction,
                 struct problem *problem)
{
    struct slice kind;
    struct slice month;
    struct slice group;
    if (!split_code(transaction, &kind, &month, &group)) {
        return stored_book_damaged(problem, "a month-end rollup has no code");
    }
    /* Both become part of a file's name. */
    if (!is_month(month) || !is_group(&scan->book, group)) {
        return stored_book_damaged(problem, "a month-end rollup is of no month or group");
    }
    if (!scan_missing_lanes(scan, transaction->seq, problem)) {
        return false;
    }
    if (slice_equal(transaction->kind, slice_of("statement"))) {
        return scan_statements(scan, transaction, month, group, problem);
    }
    if (!write_generated(scan, transaction, problem)) {
        return false;
    }
    if (slice_equal(transaction->kind, slice_of("step"))) {
        return publish_report(scan, transaction->seq, kind, month, group, problem);
    }
    return !slice_equal(transaction->kind, slice_of("close")) ||
           publish_close(scan, month, group, problem);
}
