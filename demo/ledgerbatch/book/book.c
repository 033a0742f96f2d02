/* Owns the arrays of the book. */
#include "book/book.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

uint32_t book_account(struct book *book, struct slice name, uint32_t source, uint32_t line)
{
    size_t known = book->account_names.count;
    uint32_t number = names_intern(&book->account_names, name);
    if (number == known) {
        book->accounts =
            memory_grow(book->accounts, &book->account_capacity, known + 1, sizeof *book->accounts);
        book->accounts[number] = (struct account){ .source = source, .line = line };
    }
    return number;
}

uint32_t book_commodity(struct book *book, struct slice symbol)
{
    size_t known = book->commodity_names.count;
    uint32_t number = names_intern(&book->commodity_names, symbol);
    if (number == known) {
        book->commodities = memory_grow(book->commodities, &book->commodity_capacity, known + 1,
                                        sizeof *book->commodities);
        book->commodities[number] = (struct commodity){ 0 };
    }
    return number;
}

uint32_t book_cell(struct book *book, uint32_t account, uint32_t commodity)
{
    uint32_t cell = cell_index_find(&book->cell_index, account, commodity);
    if (cell != CELL_NONE) {
        return cell;
    }
    cell = (uint32_t)book->cell_count;
    book->cells =
        memory_grow(book->cells, &book->cell_capacity, book->cell_count + 1, sizeof *book->cells);
    book->cells[cell] = (struct cell){ account, commodity };
    cell_index_add(&book->cell_index, account, commodity, cell);
    book->accounts[account].has_cells = true;
    book->cell_count++;
    return cell;
}

struct posting *book_add_posting(struct book *book)
{
    book->postings = memory_grow(book->postings, &book->posting_capacity, book->posting_count + 1,
                                 sizeof *book->postings);
    struct posting *posting = &book->postings[book->posting_count++];
    *posting = (struct posting){ .extra = NO_INDEX };
    return posting;
}

struct transaction *book_add_transaction(struct book *book)
{
    book->transactions = memory_grow(book->transactions, &book->transaction_capacity,
                                     book->transaction_count + 1, sizeof *book->transactions);
    struct transaction *transaction = &book->transactions[book->transaction_count++];
    *transaction = (struct transaction){ .first_posting = (uint32_t)book->posting_count };
    return transaction;
}

void book_drop_transactions(struct book *book, size_t count)
{
    if (book->transaction_count > count) {
        book->posting_count = book->transactions[count].first_posting;
        book->transaction_count = count;
    }
}

/* Removes the remainders of transactions that are not kept, and renumbers the others. */
static void renumber_remainders(struct book *book, const uint32_t *new_numbers)
{
    size_t kept = 0;
    for (size_t i = 0; i < book->remainder_count; i++) {
        struct remainder remainder = book->remainders[i];
        remainder.transaction = new_numbers[remainder.transaction];
        if (remainder.transaction != NO_INDEX) {
            book->remainders[kept++] = remainder;
        }
    }
    book->remainder_count = kept;
}

size_t book_drop_later(struct book *book, uint32_t date)
{
    size_t count = book->transaction_count;
    uint32_t *new_numbers = memory_zeroed(count, sizeof *new_numbers);
    book->transaction_count = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_kept = book->transactions[i].date <= date;
        new_numbers[i] = is_kept ? (uint32_t)book->transaction_count : NO_INDEX;
        if (is_kept) {
            book->transactions[book->transaction_count++] = book->transactions[i];
        }
    }
    renumber_remainders(book, new_numbers);
    free(new_numbers);
    return count - book->transaction_count;
}

uint32_t book_add_extra(struct book *book)
{
    book->extras = memory_grow(book->extras, &book->extra_capacity, book->extra_count + 1,
                               sizeof *book->extras);
    book->extras[book->extra_count] = (struct extra){ 0 };
    return (uint32_t)book->extra_count++;
}

void book_add_group_tag(struct book *book, struct group_tag tag)
{
    book->group_tags = memory_grow(book->group_tags, &book->group_tag_capacity,
                                   book->group_tag_count + 1, sizeof *book->group_tags);
    book->group_tags[book->group_tag_count++] = tag;
}

void book_add_price(struct book *book, uint32_t commodity, uint32_t date, struct money price)
{
    book->prices = memory_grow(book->prices, &book->price_capacity, book->price_count + 1,
                               sizeof *book->prices);
    book->prices[book->price_count] =
        (struct market_price){ commodity, date, (uint32_t)book->price_count, price };
    book->price_count++;
}

static int compare_prices(const void *left, const void *right)
{
    const struct market_price *a = left;
    const struct market_price *b = right;
    uint32_t keys[][2] = { { a->commodity, b->commodity },
                           { a->price.commodity, b->price.commodity },
                           { a->date, b->date },
                           { a->number, b->number } };
    size_t i = 0;
    while (i < 3 && keys[i][0] == keys[i][1]) {
        i++;
    }
    return (keys[i][0] > keys[i][1]) - (keys[i][0] < keys[i][1]);
}

void book_sort_prices(struct book *book)
{
    if (book->price_count > 0) {
        qsort(book->prices, book->price_count, sizeof *book->prices, compare_prices);
    }
}

void book_add_remainder(struct book *book, struct remainder remainder)
{
    book->remainders = memory_grow(book->remainders, &book->remainder_capacity,
                                   book->remainder_count + 1, sizeof *book->remainders);
    book->remainders[book->remainder_count++] = remainder;
}

void book_see_scale(struct book *book, uint32_t commodity, unsigned scale)
{
    struct commodity *seen = &book->commodities[commodity];
    if (scale > seen->scale) {
        seen->scale = (uint8_t)scale;
    }
    if (scale > seen->storage_scale) {
        seen->storage_scale = (uint8_t)scale;
    }
}

bool book_problem(const struct book *book, struct problem *problem, uint32_t source, uint32_t line,
                  const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    book_problem_list(book, problem, source, line, format, arguments);
    va_end(arguments);
    return false;
}

bool book_problem_list(const struct book *book, struct problem *problem, uint32_t source,
                       uint32_t line, const char *format, va_list arguments)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, arguments);
    return problem_set_place(problem, "%s:%lu: %s", book->sources.items[source]->name,
                             (unsigned long)line, text);
}

void book_fini(struct book *book)
{
    sources_fini(&book->sources);
    faults_fini(&book->faults);
    rejects_fini(&book->rejects);
    names_fini(&book->account_names);
    names_fini(&book->commodity_names);
    names_fini(&book->ended_aliases);
    names_fini(&book->file_clients);
    free(book->accounts);
    free(book->commodities);
    free(book->cells);
    cell_index_fini(&book->cell_index);
    free(book->postings);
    free(book->extras);
    free(book->transactions);
    free(book->order);
    free(book->group_tags);
    free(book->remainders);
    free(book->prices);
    *book = (struct book){ 0 };
}

void book_restart(struct book *book)
{
    struct sources sources = book->sources;
    struct rejects rejects = book->rejects;
    book->sources = (struct sources){ 0 };
    book->rejects = (struct rejects){ 0 };
    book_fini(book);
    book->sources = sources;
    book->rejects = rejects;
    sources_restart(&book->sources);
    rejects_restart(&book->rejects);
}
