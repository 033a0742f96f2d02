/* Any bytes as transfers: they are read into a book, which must hold together. */
#include <stdlib.h>

#include "input_files.h"
#include "read/csv.h"
#include "steps.h"

/* How many transfers may be rejected. */
#define REJECTS_LIMIT 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
    if (!condition) {
        abort();
    }
}

static void check_transfer(const struct book *book, const struct transaction *transfer)
{
    must(transfer->posting_count == 2);
    const struct posting *from = &book->postings[transfer->first_posting];
    const struct posting *to = from + 1;
    must(from->amount < 0 && from->amount == -to->amount && from->scale == to->scale);
    must(book->cells[from->cell].commodity == book->cells[to->cell].commodity);
    must(book->cells[from->cell].account < book->account_names.count);
    must(transfer->code_size > 0 && transfer->line > 1);
}

static void check_book(const struct book *book, uint64_t last_seq)
{
    for (size_t i = 0; i < book->transaction_count; i++) {
        check_transfer(book, &book->transactions[i]);
    }
    must(last_seq >= book->transaction_count);
}

/* Reads without what is at fault: when nothing more is rejected, all is read, or a fault stops it.
 */
static void read_rejecting(size_t size)
{
    struct book book = { .rejects = { .is_on = true, .limit = REJECTS_LIMIT } };
    struct problem problem = { .text = "" };
    uint64_t last_seq = 0;
    bool read;
    steps_begin(STEPS_BASE, size * (REJECTS_LIMIT + 2));
    do {
        last_seq = 0;
        book_restart(&book);
        read = csv_read(&book, INPUT_FILE_NAME, &last_seq, &problem);
    } while (read && book.rejects.has_new);
    if (read && faults_none(&book.faults, &problem)) {
        check_book(&book, last_seq);
    } else {
        must(problem.code == EXIT_CODE_INPUT && problem.has_place);
    }
    steps_end();
    book_fini(&book);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct book book = { .cell_count = 0 };
    struct problem problem = { .text = "" };
    uint64_t last_seq = 0;
    steps_begin(STEPS_BASE, size);
    input_files_set((struct slice){ (const char *)data, size });
    if (csv_read(&book, INPUT_FILE_NAME, &last_seq, &problem)) {
        check_book(&book, last_seq);
    } else {
        must(problem.code == EXIT_CODE_INPUT && problem.has_place);
    }
    steps_end();
    book_fini(&book);
    read_rejecting(size);
    return 0;
}
