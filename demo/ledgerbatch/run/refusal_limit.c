/* Owns the reading and the check of --max-refused. */
#include "run/refusal_limit.h"

#include <string.h>

bool refusal_limit_read(struct refusal_limit *limit, const char *text)
{
    const char *at = text;
    const char *end = text + strlen(text);
    int64_t units;
    unsigned scale;
    if (number_read(&at, end, &units, &scale) != NUMBER_OK) {
        return false;
    }
    bool is_percent = at < end && *at == '%';
    *limit = (struct refusal_limit){ text, true, is_percent, { units, scale } };
    if (is_percent) {
        return at + 1 == end && units <= 100 * power_of_ten(scale);
    }
    return at == end && scale == 0;
}

bool refusal_limit_is_exceeded(const struct refusal_limit *limit, size_t refused, size_t read)
{
    if (!limit->is_percent) {
        return (wide)refused > limit->value.units;
    }
    /* refused / read > units / 10^scale / 100, without a division */
    return (wide)refused * 100 * power_of_ten(limit->value.scale) > limit->value.units * (wide)read;
}
