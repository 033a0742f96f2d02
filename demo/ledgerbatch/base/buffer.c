/* Owns growing texts. */
#include "base/buffer.h"

#include <stdlib.h>

#include "base/print.h"
#include "memory.h"

void buffer_fini(struct buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct buffer){ 0 };
}

char *buffer_room(struct buffer *buffer, size_t size)
{
    buffer->data = memory_grow(buffer->data, &buffer->capacity, buffer->size + size, 1);
    return buffer->data + buffer->size;
}

void buffer_add(struct buffer *buffer, struct slice text)
{
    char *room = buffer_room(buffer, text.size);
    if (text.size) {
        memcpy(room, text.data, text.size);
    }
    buffer->size += text.size;
}

void buffer_add_text(struct buffer *buffer, const char *text)
{
    buffer_add(buffer, slice_of(text));
}

void buffer_add_byte(struct buffer *buffer, char byte)
{
    *buffer_room(buffer, 1) = byte;
    buffer->size++;
}

void buffer_add_number(struct buffer *buffer, uint64_t number)
{
    char reversed[20];
    size_t count = 0;
    do {
        reversed[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    char *room = buffer_room(buffer, count);
    for (size_t i = 0; i < count; i++) {
        room[i] = reversed[count - 1 - i];
    }
    buffer->size += count;
}

/* Returns true if a spreadsheet could run the text, or if the text itself begins like one that has
 * been made harmless. */
static bool needs_apostrophe(struct slice text)
{
    return text.size > 0 &&
           (memchr("=+-@'", text.data[0], 5) || (unsigned char)text.data[0] < 0x20);
}

void buffer_add_field(struct buffer *buffer, struct slice text)
{
    bool has_apostrophe = needs_apostrophe(text);
    bool plain = !has_apostrophe;
    for (size_t i = 0; i < text.size && plain; i++) {
        plain = !memchr(",\"\r\n", text.data[i], 4);
    }
    if (plain) {
        buffer_add(buffer, text);
        return;
    }
    buffer_add_text(buffer, has_apostrophe ? "\"'" : "\"");
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"') {
            buffer_add_byte(buffer, '"');
        }
        buffer_add_byte(buffer, text.data[i]);
    }
    buffer_add_byte(buffer, '"');
}

void buffer_print(const struct buffer *buffer)
{
    print_slice(buffer_slice(buffer));
}
