/* Transfers in the program's own SQLite file. Each call of the journal's `write` is a transaction:
 * postings, balances, and how far the program has come. A client gets its answer after the commit.
 * A restart reads the file, and runs the transfers that are not in it.
 *
 *     journal_sqlite [FILE [COUNT]]     without a file: a demonstration with two starts */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <lanepool/lanepool.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ACCOUNTS = 10 };

static const char SETUP[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS posting(number INTEGER PRIMARY KEY, ticket INTEGER NOT NULL,"
    "  id INTEGER NOT NULL UNIQUE, source INTEGER, target INTEGER, moved INTEGER);"
    "CREATE TABLE IF NOT EXISTS account(account INTEGER PRIMARY KEY, balance INTEGER NOT NULL);"
    "INSERT OR IGNORE INTO account VALUES"
    "  (0,100),(1,100),(2,100),(3,100),(4,100),(5,100),(6,100),(7,100),(8,100),(9,100);"
    "CREATE TABLE IF NOT EXISTS progress(row INTEGER PRIMARY KEY, next_id INTEGER NOT NULL);"
    "INSERT OR IGNORE INTO progress VALUES(1, 1);" /* lower ids than next_id are all in posting */
    "COMMIT;";

struct transfer {
    int64_t id; /* from 1 on, in the order of the submits */
    int64_t from, to, amount;
    int64_t moved; /* the record: what the task has done */
};

static struct transfer *todo;      /* what is not in the file; behind that one with only an id */
static int64_t balances[ACCOUNTS]; /* guarded by the accounts' lanes */
static atomic_ulong answered;
static bool prints_answers;
static sqlite3 *database; /* the journal's thread uses it while there is a pool */
static int code; /* of the first call of SQLite that has failed; the later ones do nothing */

/* Runs a statement with up to six parameters. Returns the number that it finds, or 0. */
static int64_t sql(const char *text, const int64_t parameters[static 6])
{
    sqlite3_stmt *statement;
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(database, text, -1, &statement, NULL);
    if (code != SQLITE_OK)
        return 0;
    for (int i = 0; i < sqlite3_bind_parameter_count(statement); i++)
        sqlite3_bind_int64(statement, i + 1, parameters[i]);
    int64_t found = sqlite3_step(statement) == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    code = sqlite3_finalize(statement);
    return found;
}

#define SQL(text, ...) sql(text, (int64_t[6]){ __VA_ARGS__ })

/* Draws a client's request: always the same for an id. */
static void draw(struct transfer *transfer, int64_t id)
{
    uint64_t drawn = ((uint64_t)id * UINT64_C(0x9e3779b97f4a7c15)) >> 20;
    transfer->id = id;
    transfer->from = (int64_t)(drawn % ACCOUNTS);
    transfer->to = (int64_t)((drawn + 1 + drawn / 16 % (ACCOUNTS - 1)) % ACCOUNTS);
    transfer->amount = (int64_t)(1 + drawn / 256 % 40);
}

/* Returns 1 if the transfer is refused. It has run then, too, so it is stored. */
static int move(lanepool_run *run, void *context)
{
    struct transfer *transfer = context;
    transfer->moved = balances[transfer->from] < transfer->amount ? 0 : transfer->amount;
    balances[transfer->from] -= transfer->moved;
    balances[transfer->to] += transfer->moved;
    lanepool_run_set_record(run, &transfer->moved);
    return transfer->moved == 0;
}

/* The journal's `write`. Two transfers are as far apart in `todo` as in tickets: one thread submits
 * those of `todo` in their order, and nothing else is submitted. */
static int store(void *user, const lanepool_journal_entry *entries, size_t count,
                 uint64_t watermark)
{
    const struct transfer *first = entries[0].context;
    int64_t distance = (int64_t)(watermark - entries[0].ticket);
    (void)user;
    SQL("BEGIN IMMEDIATE", 0);
    for (size_t i = 0; i < count; i++) {
        const struct transfer *transfer = entries[i].context;
        int64_t moved = *(int64_t *)entries[i].record;
        SQL("INSERT INTO posting VALUES(?, ?, ?, ?, ?, ?)", (int64_t)entries[i].number,
            (int64_t)entries[i].ticket, transfer->id, transfer->from, transfer->to, moved);
        SQL("UPDATE account SET balance = balance - ? WHERE account = ?", moved, transfer->from);
        SQL("UPDATE account SET balance = balance + ? WHERE account = ?", moved, transfer->to);
    }
    SQL("UPDATE progress SET next_id = ?", first[distance].id);
    SQL("COMMIT", 0);
    return code;
}

/* A future completes when `store` has returned, so no crash takes this answer back. */
static void answer(void *context, const lanepool_result *result)
{
    const struct transfer *transfer = context;
    if (result->status != LANEPOOL_OK && result->status != LANEPOOL_FAILED)
        return; /* UNWRITTEN or CANCELLED: the client asks again after a restart */
    answered++;
    if (prints_answers)
        printf("acknowledged %" PRId64 "\n", transfer->id);
}

static lanepool_status submit(lanepool_pool *pool, struct transfer *transfer)
{
    lanepool_future *future;
    lanepool_status status = lanepool_pool_submit(
        pool, LANEPOOL_TASK(.function = move, .context = transfer, .future = &future,
                            LANEPOOL_CLAIMS(lanepool_exclusive((uint64_t)transfer->from),
                                            lanepool_exclusive((uint64_t)transfer->to))));
    if (status == LANEPOOL_OK)
        status = lanepool_future_then(future, answer, transfer);
    lanepool_future_release(future);
    return status;
}

/* Restores the state. Returns how many transfers remain. */
static int64_t read_file(const char *path, int64_t count)
{
    int64_t remain = 0;
    code = sqlite3_open(path, &database);
    if (code == SQLITE_OK)
        code = sqlite3_exec(database, SETUP, NULL, NULL, NULL);
    for (int i = 0; i < ACCOUNTS; i++)
        balances[i] = SQL("SELECT balance FROM account WHERE account = ?", i);
    int64_t last_id = SQL("SELECT max(id) FROM posting", 0);
    for (int64_t id = SQL("SELECT next_id FROM progress", 0); code == 0 && id <= count; id++)
        if (id > last_id || SQL("SELECT count(*) FROM posting WHERE id = ?", id) == 0)
            draw(&todo[remain++], id);
    todo[remain].id = count + 1;
    return remain;
}

/* The program from a start on. Returns true if all transfers are in the file. */
static bool run(const char *path, int64_t count)
{
    lanepool_pool *pool;
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    lanepool_status status = LANEPOOL_OK;
    int64_t remain = read_file(path, count), last = SQL("SELECT max(number) FROM posting", 0);
    printf("in the file: %" PRId64 "\n", last);
    answered = 0;
    journal.write = store;
    journal.first_number = (uint64_t)last + 1;
    journal.completes_when_written = true;
    if (code != SQLITE_OK ||
        lanepool_pool_create(LANEPOOL_OPTIONS(.journal = &journal, .pending_max = 1000), &pool))
        return false;
    for (int64_t i = 0; i < remain && status == LANEPOOL_OK; i++)
        status = submit(pool, &todo[i]);
    lanepool_pool_destroy(pool); /* waits until all is stored */
    printf("acknowledged: %lu; balances:", answered);
    for (int i = 0; i < ACCOUNTS; i++)
        printf(" %" PRId64 "%s", balances[i], i + 1 < ACCOUNTS ? "" : "\n");
    if (code != SQLITE_OK)
        printf("SQLite: %s\n", sqlite3_errstr(code));
    return sqlite3_close(database) == SQLITE_OK && answered == (unsigned long)remain;
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/journal_sqlite.XXXXXX";
    uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 12;
    todo = calloc((size_t)count + 1, sizeof(*todo));
    if (todo == NULL || setvbuf(stdout, NULL, _IOLBF, 0) != 0)
        return 1;
    prints_answers = argc > 1;
    if (prints_answers)
        return !run(argv[1], count);
    int file = mkstemp(path);
    bool is_complete = file >= 0 && run(path, 5) && run(path, count);
    unlink(path);
    return !is_complete;
}
