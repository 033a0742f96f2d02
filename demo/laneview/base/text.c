/* Owns growing texts and their escapes. */
#include "base/text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

void text_fini(struct text *text)
{
    free(text->data);
    *text = (struct text){ 0 };
}

static char *reserve_room(struct text *text, size_t size)
{
    text->data = memory_grow(text->data, &text->capacity, text->size + size + 1, 1);
    return text->data + text->size;
}

void text_add_bytes(struct text *text, const char *bytes, size_t size)
{
    char *room = reserve_room(text, size);
    if (size > 0) {
        memcpy(room, bytes, size);
    }
    room[size] = 0;
    text->size += size;
}

void text_add(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(reserve_room(text, 200), 201, format, arguments);
    va_end(arguments);
    if (size > 200) {
        va_start(arguments, format);
        vsnprintf(reserve_room(text, (size_t)size), (size_t)size + 1, format, arguments);
        va_end(arguments);
    }
    text->size += size > 0 ? (size_t)size : 0;
}

/* The size of a UTF-8 character by its first byte; 0 if no character begins with it. */
static size_t size_from_first_byte(unsigned char first)
{
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xc2 && first < 0xe0) {
        return 2;
    }
    if (first >= 0xe0 && first < 0xf0) {
        return 3;
    }
    return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

size_t text_character(const char *bytes, size_t size)
{
    if (size == 0) {
        return 0;
    }
    unsigned char first = (unsigned char)bytes[0];
    size_t length = size_from_first_byte(first);
    uint32_t code = length > 1 ? first & (0xffu >> (length + 1)) : first;
    if (length == 0 || length > size) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)bytes[i] & 0xc0) != 0x80) {
            return 0;
        }
        code = code << 6 | ((unsigned char)bytes[i] & 0x3f);
    }
    if ((length == 3 && code < 0x800) || (length == 4 && (code < 0x10000 || code > 0x10ffff)) ||
        (code >= 0xd800 && code < 0xe000)) {
        return 0; /* longer than necessary, or not a character */
    }
    return length;
}

/* Returns true for control characters, both ranges of them, and for what XML forbids. */
static int is_hidden_character(const char *bytes, size_t length)
{
    unsigned char first = (unsigned char)bytes[0];
    unsigned char second = length > 1 ? (unsigned char)bytes[1] : 0;
    return first < 0x20 || first == 0x7f || (first == 0xc2 && second < 0xa0) ||
           (first == 0xef && second == 0xbf && (unsigned char)bytes[2] >= 0xbe);
}

void text_add_clean(struct text *text, const char *bytes, size_t size)
{
    while (size > 0) {
        size_t length = text_character(bytes, size);
        if (length > 0 && !is_hidden_character(bytes, length)) {
            text_add_bytes(text, bytes, length);
        } else {
            length = 1;
            text_add(text, "\\x%02x", (unsigned)(unsigned char)bytes[0]);
        }
        bytes += length;
        size -= length;
    }
}

void text_add_xml(struct text *text, const char *name)
{
    for (; *name; name++) {
        switch (*name) {
        case '&':
            text_add(text, "&amp;");
            break;
        case '<':
            text_add(text, "&lt;");
            break;
        case '>':
            text_add(text, "&gt;");
            break;
        case '"':
            text_add(text, "&quot;");
            break;
        default:
            text_add_bytes(text, name, 1);
        }
    }
}

void text_add_quoted(struct text *text, const char *name)
{
    text_add_bytes(text, "\"", 1);
    for (; *name; name++) {
        if (*name == '"' || *name == '\\') {
            text_add_bytes(text, "\\", 1);
        }
        text_add_bytes(text, name, 1);
    }
    text_add_bytes(text, "\"", 1);
}

size_t text_length(const char *name)
{
    size_t length = 0;
    for (; *name; name++) {
        length += ((unsigned char)*name & 0xc0) != 0x80;
    }
    return length;
}
