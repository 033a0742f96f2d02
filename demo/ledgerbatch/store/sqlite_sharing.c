/*
 * Owns how the database is shared with other programs. With WAL and synchronous=FULL, a commit that
 * has returned survives a crash, and others can read at the same time. The run file keeps a second
 * writer out. When a store is closed, the database leaves WAL mode: so it is one plain file, which
 * can be read in a folder that cannot be written.
 */
#include <time.h>

#include "store/sqlite.h"

/* How often a change of the mode is tried, and how long each try waits for readers. */
#define ENTER_TRIES 250
#define LEAVE_TRIES 100
#define TRY_WAIT_NS 20000000

/* Counts the tasks that are done. Those of earlier batches are taken to be all done. */
static bool count_done(struct store *store, uint32_t *count, struct problem *problem)
{
    int64_t done = 0;
    bool counted =
        store->is_empty ||
        store_i_read_number(store,
                            "SELECT base + (SELECT count(*) FROM transactions WHERE seq > base)"
                            " FROM (SELECT ifnull(max(base_seq), 0) AS base FROM batches)",
                            &done, problem);
    *count = (uint32_t)done;
    return counted;
}

/* Returns the name of the database's file, or NULL if it is in memory. */
static const char *file_name(const struct store *store)
{
    const char *name = sqlite3_db_filename(store->connection, "main");
    return name && name[0] ? name : NULL;
}

bool store_i_take_lock(struct store *store, struct problem *problem)
{
    uint32_t done;
    const char *name = file_name(store);
    if (!name) {
        return store_i_read_number(store, "PRAGMA data_version", &store->data_version, problem);
    }
    run_file_init(&store->run, name);
    return run_file_take(&store->run, store->path, problem) && count_done(store, &done, problem) &&
           store_i_read_number(store, "PRAGMA data_version", &store->data_version, problem) &&
           run_file_begin(&store->run, done);
}

bool store_i_begin_reading(struct store *store, struct problem *problem)
{
    const char *name = file_name(store);
    if (name) {
        run_file_init(&store->run, name);
        store->run.activity = run_file_read(&store->run);
    }
    return store_i_execute(store, "BEGIN", problem);
}

bool store_i_note_progress(struct store *store, struct problem *problem)
{
    struct store_activity *activity = &store->run.activity;
    return !activity->is_running || count_done(store, &activity->done_now, problem);
}

/*
 * Changes the mode of the database. SQLite refuses that at once while another program reads: in WAL
 * mode as long as that has the file open, otherwise until its transaction ends.
 */
static int change_mode(struct store *store, const char *text, int tries)
{
    static const struct timespec wait = { .tv_nsec = TRY_WAIT_NS };
    int code = SQLITE_BUSY;
    while (code == SQLITE_BUSY && tries-- > 0) {
        code = sqlite3_exec(store->connection, text, NULL, NULL, NULL);
        if (code == SQLITE_BUSY && tries > 0) {
            (void)nanosleep(&wait, NULL);
        }
    }
    return code;
}

/* Prepares for writing: large pages and rare checkpoints, since most writes append. */
static bool prepare_writing(struct store *store, struct problem *problem)
{
    return (!store->is_empty || store_i_execute(store, "PRAGMA page_size = 16384", problem)) &&
           (change_mode(store, "PRAGMA journal_mode = WAL", ENTER_TRIES) == SQLITE_OK ||
            store_i_fail(store, problem)) &&
           store_i_execute(store,
                           "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 2000;"
                           "PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY",
                           problem);
}

/* Checks that no other program has written, which nothing keeps from it. */
static bool check_alone(struct store *store, struct problem *problem)
{
    int64_t version = 0;
    return store_i_read_number(store, "PRAGMA data_version", &version, problem) &&
           (version == store->data_version ||
            problem_set(problem, EXIT_CODE_IO,
                        "%s: another program has written into the database during the run",
                        store->path));
}

/* Prepares the first transaction. SQLite counts the change of the mode like that of another. */
static bool prepare_first(struct store *store, struct problem *problem)
{
    store->is_prepared =
        check_alone(store, problem) && prepare_writing(store, problem) &&
        store_i_read_number(store, "PRAGMA data_version", &store->data_version, problem);
    store->is_own = store->is_own || store->is_prepared;
    return store->is_prepared;
}

bool store_i_begin_writing(struct store *store, struct problem *problem)
{
    return (store->is_prepared || prepare_first(store, problem)) &&
           store_i_execute(store, "BEGIN IMMEDIATE", problem) && check_alone(store, problem);
}

/* A writer waits for readers; a reader only tries, since the last one to end succeeds. */
bool store_i_leave_wal(struct store *store)
{
    int tries = store->mode == STORE_READ ? 1 : LEAVE_TRIES;
    bool has_right = store->mode == STORE_READ || store->run.descriptor >= 0;
    if (!store->is_own || !has_right) {
        return true;
    }
    store_rollback(store);
    (void)sqlite3_busy_timeout(store->connection, 0);
    return change_mode(store, "PRAGMA journal_mode = DELETE", tries) == SQLITE_OK;
}

const struct store_activity *store_activity(const struct store *store)
{
    return &store->run.activity;
}

void store_note_held(struct store *store, size_t failed_count, size_t held_count)
{
    store->run.activity.failed_count = (uint32_t)failed_count;
    store->run.activity.held_count = (uint32_t)held_count;
}
