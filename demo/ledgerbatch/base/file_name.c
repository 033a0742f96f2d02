/* Owns the escaping of names in paths. */
#include "base/file_name.h"

void file_name_add(struct buffer *path, struct slice name)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t i = 0; i < name.size; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c == '/' || c == '%' || c < 0x20 || c == 0x7f || (c == '.' && i == 0)) {
            buffer_add_byte(path, '%');
            buffer_add_byte(path, digits[c >> 4]);
            buffer_add_byte(path, digits[c & 15]);
        } else {
            buffer_add_byte(path, (char)c);
        }
    }
}
