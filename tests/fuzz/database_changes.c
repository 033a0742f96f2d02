/* Owns the SQL of the changes. */
#include "database_changes.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

#include "memory_database.h"

enum { CHANGES_MAX = 16, COLUMNS_MAX = 9, TEXT_SIZE = 64 };

static const struct table {
    const char *name;
    const char *columns[COLUMNS_MAX + 1];
} tables[] = {
    { "batches",
      { "batch", "kind", "date", "digest", "base_seq", "tasks", "transactions", "state",
        "chain" } },
    { "files", { "digest", "batch" } },
    { "lanes", { "lane", "client", "client_group", "last_seq" } },
    { "accounts", { "account", "name", "lane" } },
    { "commodities",
      { "commodity", "symbol", "shown_decimals", "stored_decimals", "symbol_first", "spaced" } },
    { "input_totals", { "batch", "commodity", "transactions", "debits", "credits" } },
    { "balances", { "account", "commodity", "amount" } },
    { "opening", { "account", "commodity", "amount" } },
    { "transactions", { "seq", "date", "kind", "status", "code", "text", "value_date" } },
    { "postings",
      { "seq", "n", "account", "commodity", "amount", "balance", "price", "price_commodity",
        "price_is_total" } },
    { "unposted", { "seq", "n", "account", "commodity", "amount" } },
    { "closings", { "seq", "account", "commodity", "amount" } },
    { "refused", { "seq", "reason", "entry" } },
    { "held", { "lane", "seq", "failed_seq", "reason" } },
    { "held_tasks", { "seq", "date", "kind", "status", "code", "text" } },
    { "missing", { "seq", "lane" } },
    { "failed", { "seq", "code", "reason" } },
    { "deferred", { "seq", "date", "lane", "root_seq", "reason", "entry", "done_seq" } },
    { "outputs", { "batch", "path", "digest" } },
    { "reversals", { "reversed_seq", "seq" } },
    { "holders", { "seq", "lane" } },
    { "rejected", { "batch", "n", "file", "line", "reason", "entry" } },
    { "reopened", { "batch", "month", "reason" } },
    { "rejected_totals", { "batch", "symbol", "transactions", "debits", "credits", "decimals" } },
    { "contributions", { "seq", "lane", "bytes" } },
    { "reports", { "seq", "text" } },
    { "steps", { "batch", "n", "name", "digest" } },
    { "prices", { "commodity", "currency", "date", "units", "decimals" } },
};

enum { TABLE_COUNT = sizeof tables / sizeof *tables };

static void must(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "%s\n", what);
        abort();
    }
}

/* --- changes of values --- */

static int64_t choose_number(struct choices *choices)
{
    static const int64_t edges[] = { INT64_MIN,           INT64_MAX,
                                     INT64_MIN + 1,       999999999999999999,
                                     1000000000000000000, -1000000000000000000,
                                     UINT32_MAX,          (int64_t)UINT32_MAX + 1,
                                     INT32_MAX,           INT32_MIN };
    uint32_t edge = choose(choices, 3);
    int64_t number = (int64_t)choose(choices, edge == 1 ? 256 : 24) - 2;
    return edge == 0 ? edges[(uint64_t)number % (sizeof edges / sizeof *edges)] : number;
}

/* A text that means something in some column. */
static void bind_word(sqlite3_stmt *change, int at, struct choices *choices)
{
    static const char *const words[] = {
        "post",       "refused",    "statement",
        "accrual",    "close",      "finished",
        "unfinished", "USD",        "east",
        "west",       "A",          "B",
        "C",          "2024-01-31", "2024-13-01",
        "9999-12-31", "A:Cash",     "B:Shares",
        "",           "-",          "999999999999999999999999999999999999",
        "-1",         "1.50",       "close 2024-01 east",
        "../x",       "a/../b",     "statement 2024-02 west",
        "\x1b[2J"
    };
    const char *word = words[choose(choices, sizeof words / sizeof *words)];
    (void)sqlite3_bind_text(change, at, word, -1, SQLITE_STATIC);
}

static void bind_text(sqlite3_stmt *change, int at, struct choices *choices, bool is_blob)
{
    char text[TEXT_SIZE];
    int size = (int)choose(choices, TEXT_SIZE);
    for (int i = 0; i < size; i++) {
        text[i] = (char)choose_byte(choices);
    }
    if (is_blob) {
        (void)sqlite3_bind_blob(change, at, text, size, SQLITE_TRANSIENT);
    } else {
        (void)sqlite3_bind_text(change, at, text, size, SQLITE_TRANSIENT);
    }
}

static void bind_value(sqlite3_stmt *change, int at, struct choices *choices)
{
    switch (choose(choices, 10)) {
    case 0:
        (void)sqlite3_bind_null(change, at);
        break;
    case 1:
        bind_text(change, at, choices, true);
        break;
    case 2:
        (void)sqlite3_bind_double(change, at, 1.5 * (double)choose_number(choices));
        break;
    case 3:
        bind_text(change, at, choices, false);
        break;
    case 4:
    case 5:
        bind_word(change, at, choices);
        break;
    default:
        (void)sqlite3_bind_int64(change, at, choose_number(choices));
        break;
    }
}

static unsigned count_columns(const struct table *table)
{
    unsigned count = 0;
    while (table->columns[count]) {
        count++;
    }
    return count;
}

/* Writes a condition that is true for one row: ?2 says which. */
static void write_row_condition(char *text, size_t size, const struct table *table)
{
    snprintf(text, size,
             "(%s, %s) = (SELECT %s, %s FROM %s LIMIT 1 OFFSET"
             " ?2 %% max(1, (SELECT count(*) FROM %s)))",
             table->columns[0], table->columns[1], table->columns[0], table->columns[1],
             table->name, table->name);
}

/* Writes SQL that adds a row of other values. */
static void write_new_row(char *text, size_t size, const struct table *table)
{
    int used = snprintf(text, size, "INSERT OR IGNORE INTO %s VALUES (?1", table->name);
    for (unsigned i = 1; i < count_columns(table); i++) {
        used += snprintf(text + used, size - (size_t)used, ", ?%u", i + 2);
    }
    snprintf(text + used, size - (size_t)used, ")");
}

/* Writes SQL that adds a copy of a row with another value in a column. */
static void write_copy(char *text, size_t size, const struct table *table, unsigned column)
{
    char row[400];
    int used = snprintf(text, size, "INSERT OR IGNORE INTO %s SELECT ", table->name);
    for (unsigned i = 0; i < count_columns(table); i++) {
        used += snprintf(text + used, size - (size_t)used, "%s%s", i > 0 ? ", " : "",
                         i == column ? "?1" : table->columns[i]);
    }
    write_row_condition(row, sizeof row, table);
    snprintf(text + used, size - (size_t)used, " FROM %s WHERE %s", table->name, row);
}

static void write_change(char *text, size_t size, const struct table *table,
                         struct choices *choices)
{
    char row[400];
    unsigned column = choose(choices, count_columns(table));
    const char *name = table->columns[column];
    write_row_condition(row, sizeof row, table);
    switch (choose(choices, 8)) {
    case 0:
        snprintf(text, size, "DELETE FROM %s WHERE %s", table->name, row);
        break;
    case 1:
        snprintf(text, size, "UPDATE OR IGNORE %s SET %s = ?1", table->name, name);
        break;
    case 2:
        snprintf(text, size, "UPDATE OR IGNORE %s SET %s = %s + ?1 WHERE %s", table->name, name,
                 name, row);
        break;
    case 3:
        snprintf(text, size, "UPDATE OR IGNORE %s SET %s = %s || ?1 WHERE %s", table->name, name,
                 name, row);
        break;
    case 4:
        write_copy(text, size, table, column);
        break;
    case 5:
        write_new_row(text, size, table);
        break;
    default:
        snprintf(text, size, "UPDATE OR IGNORE %s SET %s = ?1 WHERE %s", table->name, name, row);
        break;
    }
}

/* A change that SQLite refuses is left out. */
static void change_value(sqlite3 *connection, struct choices *choices)
{
    char text[1200];
    sqlite3_stmt *change = NULL;
    write_change(text, sizeof text, &tables[choose(choices, TABLE_COUNT)], choices);
    must(sqlite3_prepare_v2(connection, text, -1, &change, NULL) == SQLITE_OK, text);
    for (int i = 1; i <= sqlite3_bind_parameter_count(change); i++) {
        if (i == 2) {
            (void)sqlite3_bind_int(change, i, (int)choose(choices, 32));
        } else {
            bind_value(change, i, choices);
        }
    }
    (void)sqlite3_step(change);
    (void)sqlite3_finalize(change);
}

void database_change_values(struct choices *choices)
{
    sqlite3 *connection = NULL;
    must(sqlite3_open(MEMORY_DATABASE_NAME, &connection) == SQLITE_OK, "open");
    for (int i = 0; i < CHANGES_MAX && choices->size > 0; i++) {
        change_value(connection, choices);
    }
    (void)sqlite3_close(connection);
}

/* --- changes of bytes --- */

void database_change_bytes(struct buffer *bytes, struct choices *choices)
{
    for (int i = 0; i < CHANGES_MAX && choices->size > 0; i++) {
        size_t at = choose(choices, (uint32_t)bytes->size);
        bytes->data[at] = (char)choose_byte(choices);
    }
}

void database_loosen(void)
{
    char text[200];
    for (unsigned i = 0; i < TABLE_COUNT; i++) {
        const char *name = tables[i].name;
        /* The views are not to be checked while a table is gone. */
        snprintf(text, sizeof text,
                 "PRAGMA legacy_alter_table = ON; CREATE TABLE loose AS SELECT * FROM %s; DROP "
                 "TABLE %s; "
                 "ALTER TABLE loose RENAME TO %s",
                 name, name, name);
        memory_database_execute(text);
    }
}
