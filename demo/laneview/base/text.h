/*
 * A growing text, and what has to be done to text before it goes into XML,
 * JSON, DOT or a terminal.
 */
#ifndef LANEVIEW_TEXT_H
#define LANEVIEW_TEXT_H

#include <stddef.h>

struct text {
    char *data; /* zero-terminated once something was added */
    size_t size, capacity;
};

void text_fini(struct text *text);

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_bytes(struct text *text, const char *bytes, size_t size);

/*
 * Any bytes as a name that can be shown: valid UTF-8 without control characters. Every other byte
 * becomes \xHH. What is clean already stays as it is.
 */
void text_add_clean(struct text *text, const char *bytes, size_t size);

/* A clean name inside XML text or attributes. */
void text_add_xml(struct text *text, const char *name);

/* A clean name as a string of JSON, or of DOT, with its quotes. */
void text_add_quoted(struct text *text, const char *name);

/* The bytes of the UTF-8 character at `bytes`; 0 if there is none in `size` bytes. */
size_t text_character(const char *bytes, size_t size);

/* How many characters a clean name has. */
size_t text_length(const char *name);

#endif
