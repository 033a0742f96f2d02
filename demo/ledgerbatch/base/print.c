/* Owns the escapes on standard output. */
#include "base/print.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory.h"

/* Returns how many bytes at the begin of the text are one control character, or 0. In UTF-8,
 * U+0080 to U+009F are control characters, too. */
static size_t control_size(struct slice text)
{
    const unsigned char *at = (const unsigned char *)text.data;
    if (at[0] == 0xc2 && text.size > 1 && at[1] >= 0x80 && at[1] < 0xa0) {
        return 2;
    }
    return (at[0] < 0x20 && at[0] != '\t' && at[0] != '\n') || at[0] == 0x7f;
}

void print_slice(struct slice text)
{
    while (text.size > 0) {
        size_t controls = 0;
        size_t plain = 0;
        while (plain < text.size && controls == 0) {
            controls = control_size((struct slice){ text.data + plain, text.size - plain });
            plain += controls == 0;
        }
        (void)fwrite(text.data, 1, plain, stdout);
        for (size_t i = 0; i < controls; i++) {
            printf("\\x%02x", (unsigned char)text.data[plain + i]);
        }
        text.data += plain + controls;
        text.size -= plain + controls;
    }
}

void print_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (size <= 0) {
        return;
    }
    char *text = memory_zeroed((size_t)size + 1, 1);
    va_start(arguments, format);
    vsnprintf(text, (size_t)size + 1, format, arguments);
    va_end(arguments);
    print_slice((struct slice){ text, (size_t)size });
    free(text);
}
