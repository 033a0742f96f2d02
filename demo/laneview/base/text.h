/*
 * A growing text, and the escapes that text needs in XML, JSON, DOT or a terminal.
 */
#ifndef LANEVIEW_TEXT_H
#define LANEVIEW_TEXT_H

#include <stddef.h>

struct text {
    char *data; /* zero-terminated after the first addition */
    size_t size, capacity;
};

void text_fini(struct text *text);

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_add_bytes(struct text *text, const char *bytes, size_t size);

/*
 * Adds any bytes as a clean name: valid UTF-8 without control characters. Every other byte becomes
 * \xHH. Clean text is added unchanged.
 */
void text_add_clean(struct text *text, const char *bytes, size_t size);

/* Adds a clean name with the escapes of XML, for text or attributes. */
void text_add_xml(struct text *text, const char *name);

/* Adds a clean name as a string of JSON or DOT, with its quotes. */
void text_add_quoted(struct text *text, const char *name);

/* The size of the UTF-8 character at `bytes`; 0 if there is none within `size` bytes. */
size_t text_character(const char *bytes, size_t size);

/* The number of characters in a clean name. */
size_t text_length(const char *name);

#endif
