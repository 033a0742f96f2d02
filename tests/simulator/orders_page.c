#include "simulator/orders_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX = 1024, CELLS = 5 };

/* Cuts the line into its cells, without blanks and backquotes around them. An escaped bar belongs
 * to its cell. Returns how many there are. */
static unsigned cut(char *line, char *cells[CELLS])
{
    unsigned count = 0;
    char *at = line + 1;

    while (count < CELLS) {
        char *end = strchr(at, '|');
        if (end == NULL)
            break;
        cells[count++] = at;
        *end = '\0';
        at = end + 1;
    }
    for (unsigned i = 0; i < count; i++) {
        cells[i] += strspn(cells[i], " `");
        size_t length = strlen(cells[i]);
        while (length > 0 && strchr(" `", cells[i][length - 1]) != NULL)
            length--;
        cells[i][length] = '\0';
    }
    return count;
}

static void add_row(struct orders_page *page, const char *file, char *line)
{
    char *cells[CELLS];

    if (cut(line, cells) != CELLS)
        return;
    if (page->count == ORDERS_ROWS_MAX)
        exit(EXIT_FAILURE);
    struct orders_row *row = &page->rows[page->count++];
    snprintf(row->key, sizeof row->key, "%s %s %s, %s", file, cells[0], cells[1], cells[2]);
    snprintf(row->finder, sizeof row->finder, "%s", cells[4]);
    row->used = false;
}

void orders_page_read(struct orders_page *page, const char *path)
{
    char file[128] = "";
    char line[LINE_MAX];
    FILE *from = fopen(path, "r");

    page->count = 0;
    if (from == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    while (fgets(line, sizeof line, from) != NULL) {
        if (strncmp(line, "## `src/", 8) == 0)
            snprintf(file, sizeof file, "%.*s", (int)strcspn(line + 4, "`"), line + 4);
        else if (strncmp(line, "| `", 3) == 0)
            add_row(page, file, line);
    }
    fclose(from);
}

struct orders_row *orders_page_find(struct orders_page *page, const char *key)
{
    for (unsigned i = 0; i < page->count; i++)
        if (strcmp(page->rows[i].key, key) == 0)
            return &page->rows[i];
    return NULL;
}
