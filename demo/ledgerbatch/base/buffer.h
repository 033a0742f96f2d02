/*
 * A growing text.
 */
#ifndef LEDGERBATCH_BASE_BUFFER_H
#define LEDGERBATCH_BASE_BUFFER_H

#include "base/slice.h"

struct buffer {
    char *data;
    size_t size, capacity;
};

void buffer_fini(struct buffer *buffer);

/* Returns room for `size` more bytes. The caller writes them and adds them to buffer->size. */
char *buffer_room(struct buffer *buffer, size_t size);

void buffer_add(struct buffer *buffer, struct slice text);
void buffer_add_text(struct buffer *buffer, const char *text);
void buffer_add_byte(struct buffer *buffer, char byte);
void buffer_add_number(struct buffer *buffer, uint64_t number);

/*
 * Adds a field of comma-separated values that is a text, quoted where RFC 4180 requires quotes.
 *
 * Spreadsheets run a cell that begins with = + - @ or a control character as a formula. Such a text
 * gets an apostrophe before it, inside quotes, so that it is shown. So does a text that begins with
 * an apostrophe. A reader thus removes the first apostrophe of every text. Numbers and dates of the
 * program's own are added without this function.
 */
void buffer_add_field(struct buffer *buffer, struct slice text);

/* Prints the text with print_slice(). */
void buffer_print(const struct buffer *buffer);

static inline struct slice buffer_slice(const struct buffer *buffer)
{
    return (struct slice){ buffer->data ? buffer->data : "", buffer->size };
}

#endif
