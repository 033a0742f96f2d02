/* Reads and writes times. */
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NS_MAX ((uint64_t)100 * 24 * 3600 * 1000000000)

static const struct unit {
    const char *name;
    uint64_t ns;
} units[] = { { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 } };

#define UNIT_COUNT (sizeof units / sizeof *units)

static const struct unit *choose_unit(uint64_t ns)
{
    const struct unit *unit = units;
    while (unit < units + UNIT_COUNT - 1 && ns < unit->ns) {
        unit++;
    }
    return unit;
}

/* Writes a time with integer arithmetic only, so that every machine prints the same digits. */
static const char *format_in_unit(char text[UNITS_TEXT_SIZE], uint64_t ns, const struct unit *unit,
                                  unsigned decimals)
{
    uint64_t scale = 1;
    for (unsigned i = 0; i < decimals; i++) {
        scale *= 10;
    }
    uint64_t whole = ns / unit->ns;
    uint64_t part = (ns % unit->ns * scale + unit->ns / 2) / unit->ns;
    if (part >= scale) {
        whole++;
        part = 0;
    }
    if (decimals == 0 || part == 0) {
        snprintf(text, UNITS_TEXT_SIZE, "%llu %s", (unsigned long long)whole, unit->name);
        return text;
    }
    char digits[16];
    snprintf(digits, sizeof digits, "%0*llu", (int)decimals, (unsigned long long)part);
    for (size_t i = strlen(digits); i > 1 && digits[i - 1] == '0'; i--) {
        digits[i - 1] = 0;
    }
    snprintf(text, UNITS_TEXT_SIZE, "%llu.%s %s", (unsigned long long)whole, digits, unit->name);
    return text;
}

const char *units_format(char text[UNITS_TEXT_SIZE], uint64_t ns)
{
    const struct unit *unit = choose_unit(ns);
    uint64_t whole = ns / unit->ns;
    unsigned decimals = whole < 10 ? 2 : whole < 100 ? 1 : 0;
    if (ns == 0) {
        return strcpy(text, "0");
    }
    return format_in_unit(text, ns, unit, unit->ns == 1 ? 0 : decimals);
}

const char *units_format_tick(char text[UNITS_TEXT_SIZE], uint64_t ns, uint64_t step_ns)
{
    const struct unit *unit = choose_unit(step_ns);
    return ns == 0 ? strcpy(text, "0") : format_in_unit(text, ns, unit, 0);
}

bool units_parse(const char *text, uint64_t *ns)
{
    size_t size = strspn(text, "0123456789.");
    const char *name = text + size;
    char *end = NULL;
    if (size == 0 || size > 20 || text[0] == '.') {
        return false;
    }
    double number = strtod(text, &end);
    if (end != name) {
        return false;
    }
    if (*name == 0 && number == 0) {
        *ns = 0;
        return true;
    }
    for (size_t i = 0; i < UNIT_COUNT; i++) {
        if (strcmp(name, units[i].name) == 0 && number <= (double)NS_MAX / (double)units[i].ns) {
            *ns = (uint64_t)(number * (double)units[i].ns + 0.5);
            return true;
        }
    }
    return false;
}

uint64_t units_step(uint64_t span_ns, unsigned count)
{
    static const unsigned factors[] = { 1, 2, 5 };
    uint64_t wanted = span_ns / (count ? count : 1);
    for (uint64_t decade = 1; decade <= NS_MAX; decade *= 10) {
        for (size_t i = 0; i < 3; i++) {
            if (decade * factors[i] >= wanted) {
                return decade * factors[i];
            }
        }
    }
    return NS_MAX;
}
