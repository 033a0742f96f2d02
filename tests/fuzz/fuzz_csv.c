/* Any bytes as transfers: they are read into a book, which must hold together. */
#include <stdlib.h>

#include "input_files.h"
#include "read/csv.h"
#include "steps.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct book book = { .cell_count = 0 };
    struct problem problem = { .text = "" };
    uint64_t last_seq = 0;
    steps_begin(STEPS_BASE, size);
    input_files_set((struct slice){ (const char *)data, size });
    if (csv_read(&book, INPUT_FILE_NAME, &last_seq, &problem)) {
        for (size_t i = 0; i < book.transaction_count; i++) {
            check_transfer(&book, &book.transactions[i]);
        }
        must(last_seq >= book.transaction_count);
    } else {
        must(problem.code == EXIT_CODE_INPUT && problem.has_place);
    }
    steps_end();
    book_fini(&book);
    return 0;
}
