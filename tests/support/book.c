#include "support/book.h"

#include <stdlib.h>
#include <string.h>

#include "support/step.h"

void book_init(struct book *book)
{
    memset(book, 0, sizeof *book);
    book->entries = malloc(BOOK_ENTRIES_MAX * sizeof *book->entries);
}

void book_fini(struct book *book)
{
    free(book->entries);
}

static void copy_entry(struct book_entry *copy, const lanepool_journal_entry *entry,
                       uint64_t watermark)
{
    copy->entry = *entry;
    copy->watermark = watermark;
    for (size_t i = 0; i < entry->claim_count && i < BOOK_CLAIMS_MAX; i++) {
        copy->claims[i] = entry->claims[i];
        copy->lane_numbers[i] = entry->lane_numbers[i];
    }
}

int book_write(void *user, const lanepool_journal_entry *entries, size_t count, uint64_t watermark)
{
    struct book *book = user;
    if (book->inside++ > 0) {
        book->overlapped = true;
    }
    if (book->gate) {
        gate_pass(book->gate);
    }
    int code = ++book->calls == book->fails_at ? book->code : 0;
    for (size_t i = 0; i < count && code == 0; i++) {
        if (book->count < BOOK_ENTRIES_MAX) {
            copy_entry(&book->entries[book->count], &entries[i], watermark);
        }
        book->count++;
    }
    book->largest = count > book->largest ? count : book->largest;
    book->inside--;
    return code;
}

lanepool_pool *book_pool_with(struct book *book, lanepool_options options,
                              const lanepool_journal_options *given)
{
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    if (given) {
        journal = *given;
    }
    if (!journal.write) {
        journal.write = book_write;
    }
    options.user = book;
    options.journal = &journal;
    return pool_make_with(&options);
}

lanepool_pool *book_pool(struct book *book, unsigned workers,
                         const lanepool_journal_options *journal)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    options.workers = workers;
    return book_pool_with(book, options, journal);
}

size_t book_place(const struct book *book, const void *context)
{
    for (size_t i = 0; i < book->count; i++) {
        if (book->entries[i].entry.context == context) {
            return i;
        }
    }
    return SIZE_MAX;
}

uint64_t book_lowest_ticket(const struct book *book)
{
    uint64_t lowest = UINT64_MAX;
    for (size_t i = 0; i < book->count; i++) {
        if (book->entries[i].entry.ticket < lowest) {
            lowest = book->entries[i].entry.ticket;
        }
    }
    return lowest;
}
