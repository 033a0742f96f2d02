/*
 * Owns the statement files: one for each group and month, or one for each client and month; and one
 * for the house accounts and each month.
 */
#include <stdio.h>
#include <string.h>

#include "base/file_name.h"
#include "publish/output_scan.h"
#include "publish/statement_line.h"

/* A group's statements are written to the file in pieces of at least this size. */
#define PIECE_SIZE ((size_t)1 << 20)

const struct slice *scan_statement_client(const struct output_scan *scan, uint32_t lane)
{
    static const struct slice house = { PLAN_HOUSE_NAME, sizeof PLAN_HOUSE_NAME - 1 };
    if (scan->options->statement_files != STATEMENT_FILES_GROUP) {
        return NULL;
    }
    return lane < scan->book.lane_count ? &scan->book.lanes[lane].client : &house;
}

static bool is_missing(const struct output_scan *scan, uint32_t lane)
{
    bool found = false;
    for (size_t i = 0; i < scan->missing_lanes.count && !found; i++) {
        found = scan->missing_lanes.items[i] == lane;
    }
    return found;
}

static bool is_member(const struct output_scan *scan, uint32_t lane, struct slice group)
{
    const struct stored_lane *member = &scan->book.lanes[lane];
    return member->client.size > 0 && slice_equal(member->group, group);
}

static uint32_t house_lane(const struct output_scan *scan)
{
    return (uint32_t)scan->book.lane_count;
}

static uint32_t end_of_cells(const struct output_scan *scan, uint32_t lane)
{
    return lane < scan->book.lane_count ? scan->book.lane_cells[lane + 1]
                                        : (uint32_t)scan->book.cell_count;
}

/*
 * Adds opening balances, postings and closing balances to the page. The closing balances become the
 * opening balances of the next statement.
 */
static void add_balances_and_postings(struct output_scan *scan, uint32_t lane)
{
    const struct slice *client = scan_statement_client(scan, lane);
    struct stored_cell *cells = scan->book.cells;
    uint32_t first = scan->book.lane_cells[lane];
    uint32_t end = end_of_cells(scan, lane);
    for (uint32_t i = first; i < end; i++) {
        if (cells[i].opening != 0) {
            statement_line_balance(&scan->page, &scan->book, client, "opening", &cells[i],
                                   cells[i].opening);
        }
    }
    buffer_add(&scan->page, buffer_slice(&scan->statements[lane]));
    scan->statements[lane].size = 0;
    for (uint32_t i = first; i < end; i++) {
        cells[i].opening = cells[i].running;
        if (cells[i].running != 0) {
            statement_line_balance(&scan->page, &scan->book, client, "closing", &cells[i],
                                   cells[i].running);
        }
    }
}

/* Adds the statement of a client to the page, without the header. */
static void add_statement(struct output_scan *scan, uint32_t lane)
{
    if (is_missing(scan, lane)) {
        statement_line_missing(&scan->page, scan_statement_client(scan, lane));
    } else {
        add_balances_and_postings(scan, lane);
    }
}

static void begin_page(struct output_scan *scan)
{
    scan->page.size = 0;
    scan->path.size = 0;
    buffer_add_text(&scan->path, "statements/");
}

static void end_path(struct output_scan *scan)
{
    buffer_add(&scan->path, (struct slice){ ".csv", sizeof ".csv" });
}

static bool write_client(struct output_scan *scan, uint32_t lane, struct slice month,
                         struct problem *problem)
{
    begin_page(scan);
    buffer_add_text(&scan->page, STATEMENT_HEADER);
    add_statement(scan, lane);
    file_name_add(&scan->path, scan->book.lanes[lane].client);
    buffer_add_byte(&scan->path, '/');
    buffer_add(&scan->path, month);
    end_path(scan);
    return scan->is_quiet || publication_write(&scan->publication, scan->path.data,
                                               buffer_slice(&scan->page), problem);
}

static bool write_clients(struct output_scan *scan, struct slice month, struct slice group,
                          struct problem *problem)
{
    bool written = true;
    for (uint32_t lane = 0; written && lane < scan->book.lane_count; lane++) {
        written = !is_member(scan, lane, group) || write_client(scan, lane, month, problem);
    }
    return written;
}

/* Notes that a month has statements. Late ones are of earlier months, which the house's is behind.
 */
static void note_month(struct output_scan *scan, struct slice month)
{
    if (scan->book.lane_cells[house_lane(scan)] < scan->book.cell_count &&
        strncmp(scan->house_month, month.data, month.size) < 0) {
        snprintf(scan->house_month, sizeof scan->house_month, "%.*s", SLICE_ARGUMENTS(month));
        scan->has_house_month = true;
        scan->is_house_quiet = scan->is_quiet;
    }
}

/* Returns true if the transaction is a rollup of the month that the house's statement is for. */
static bool is_of_month(const struct output_scan *scan,
                        const struct stored_transaction *transaction)
{
    size_t skip = transaction->kind.size + 1;
    size_t size = sizeof scan->house_month - 1;
    return !slice_equal(transaction->kind, slice_of("post")) &&
           !slice_equal(transaction->kind, slice_of("refused")) &&
           transaction->code.size >= skip + size &&
           memcmp(transaction->code.data + skip, scan->house_month, size) == 0;
}

/* While clients are held the statement is left out: it could not say that it is incomplete. */
static bool write_house(struct output_scan *scan, struct problem *problem)
{
    bool is_grouped = scan->options->statement_files == STATEMENT_FILES_GROUP;
    begin_page(scan);
    buffer_add_text(&scan->page, is_grouped ? STATEMENT_GROUP_HEADER : STATEMENT_HEADER);
    add_balances_and_postings(scan, house_lane(scan));
    buffer_add_text(&scan->path, is_grouped ? "" : PLAN_HOUSE_NAME "/");
    buffer_add_text(&scan->path, scan->house_month);
    buffer_add_text(&scan->path, is_grouped ? "-" PLAN_HOUSE_NAME : "");
    end_path(scan);
    return scan->is_house_quiet || scan->options->is_partial ||
           publication_write(&scan->publication, scan->path.data, buffer_slice(&scan->page),
                             problem);
}

bool scan_house_statement(struct output_scan *scan, const struct stored_transaction *next,
                          struct problem *problem)
{
    if (!scan->has_house_month || (next && is_of_month(scan, next))) {
        return true;
    }
    scan->has_house_month = false;
    return write_house(scan, problem);
}

/* Writes the page to the file of a group, if it is large enough. */
static bool flush_page(struct output_scan *scan, struct publication_file *file, size_t at_least,
                       struct problem *problem)
{
    if (scan->page.size < at_least) {
        return true;
    }
    bool written = scan->is_quiet || publication_append(file, buffer_slice(&scan->page), problem);
    scan->page.size = 0;
    return written;
}

static bool write_members(struct output_scan *scan, struct publication_file *file,
                          struct slice group, struct problem *problem)
{
    bool written = true;
    buffer_add_text(&scan->page, STATEMENT_GROUP_HEADER);
    for (uint32_t lane = 0; written && lane < scan->book.lane_count; lane++) {
        if (is_member(scan, lane, group)) {
            add_statement(scan, lane);
            written = flush_page(scan, file, PIECE_SIZE, problem);
        }
    }
    return written && flush_page(scan, file, 0, problem);
}

static bool write_group(struct output_scan *scan, struct slice month, struct slice group,
                        struct problem *problem)
{
    struct problem close_problem;
    struct publication_file file = { .descriptor = -1 };
    begin_page(scan);
    buffer_add(&scan->path, month);
    buffer_add_byte(&scan->path, '-');
    buffer_add(&scan->path, group);
    end_path(scan);
    bool written =
        (scan->is_quiet || publication_open(&scan->publication, &file, scan->path.data, problem)) &&
        write_members(scan, &file, group, problem);
    if (!publication_close(&file, &close_problem) && written) {
        *problem = close_problem;
        written = false;
    }
    return written;
}

/* Checks that the closing balances of a statement are the sums of the postings. */
static bool check_closings(struct output_scan *scan, const struct stored_transaction *transaction,
                           size_t *count, struct problem *problem)
{
    *count = 0;
    while (scan->has_closing && scan->closing.seq == transaction->seq) {
        const struct stored_cell *cell =
            stored_book_cell(&scan->book, scan->closing.account, scan->closing.commodity);
        if (!cell || cell->running != scan->closing.amount) {
            return stored_book_damaged(problem, "a closing balance does not add up");
        }
        ++*count;
        if (!scan_next_closing(scan, problem)) {
            return false;
        }
    }
    return true;
}

/* Counts the balances that the closings of a group's statements must have. */
static size_t count_balances(const struct output_scan *scan, struct slice group)
{
    size_t count = 0;
    for (uint32_t lane = 0; lane < scan->book.lane_count; lane++) {
        uint32_t end = scan->book.lane_cells[lane + 1];
        bool counts = is_member(scan, lane, group) && !is_missing(scan, lane);
        for (uint32_t i = scan->book.lane_cells[lane]; counts && i < end; i++) {
            count += scan->book.cells[i].running != 0;
        }
    }
    return count;
}

bool scan_statements(struct output_scan *scan, const struct stored_transaction *transaction,
                     struct slice month, struct slice group, struct problem *problem)
{
    size_t closing_count;
    bool is_grouped = scan->options->statement_files == STATEMENT_FILES_GROUP;
    if (!scan->statements) {
        return stored_book_damaged(problem, "a statement that was not asked for");
    }
    note_month(scan, month);
    return check_closings(scan, transaction, &closing_count, problem) &&
           (is_grouped ? write_group(scan, month, group, problem)
                       : write_clients(scan, month, group, problem)) &&
           (count_balances(scan, group) == closing_count ||
            stored_book_damaged(problem, "a closing balance is missing"));
}
