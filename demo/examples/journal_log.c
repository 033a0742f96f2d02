/* Transfers that a crash neither loses nor repeats. The journal appends a line for each transfer to
 * a log file, and a client gets its answer when the line is durable. A restart reads the log, and
 * runs the transfers that are not in it.
 *
 *     journal_log [LOG [COUNT]]     without a log: a demonstration with two starts */
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <lanepool/lanepool.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ACCOUNTS = 10, OPENING = 100, BATCH = 64, LINE = 200 };

struct transfer {
    uint64_t id; /* from 1 on, in the order of the submits */
    uint64_t from, to;
    long amount;
    bool is_in_log;
    char text[LINE / 2]; /* the record: what the task has done */
};

static struct transfer *transfers; /* by id */
static long balances[ACCOUNTS];    /* guarded by the accounts' lanes */
static uint64_t last_number;       /* of the lines that were read */
static FILE *log_file;
static atomic_ulong answered;
static bool prints_answers;

/* Draws a client's request: always the same for an id. */
static void draw(struct transfer *transfer, uint64_t id)
{
    uint64_t drawn = (id * UINT64_C(0x9e3779b97f4a7c15)) >> 20;
    transfer->id = id;
    transfer->from = drawn % ACCOUNTS;
    transfer->to = (drawn + 1 + drawn / 16 % (ACCOUNTS - 1)) % ACCOUNTS;
    transfer->amount = 1 + (long)(drawn / 256 % 40);
}

/* Returns 1 if the transfer is refused. It has run then, too, so it gets a line. */
static int move(lanepool_run *run, void *context)
{
    struct transfer *transfer = context;
    long moved = balances[transfer->from] < transfer->amount ? 0 : transfer->amount;
    balances[transfer->from] -= moved;
    balances[transfer->to] += moved;
    snprintf(transfer->text, sizeof(transfer->text),
             "%" PRIu64 " %" PRIu64 " %" PRIu64 " %ld %ld %ld", transfer->id, transfer->from,
             transfer->to, moved, balances[transfer->from], balances[transfer->to]);
    lanepool_run_set_record(run, transfer->text);
    return moved == 0;
}

/* The journal's `write`. A crash may cut the text off. The lines before the cut are the state of a
 * serial run, too. */
static int append(void *user, const lanepool_journal_entry *entries, size_t count,
                  uint64_t watermark)
{
    static char text[BATCH * LINE];
    size_t size = 0;
    (void)user, (void)watermark;
    for (size_t i = 0; i < count; i++)
        size += (size_t)snprintf(&text[size], LINE, "%" PRIu64 " %" PRIu64 " %s\n",
                                 entries[i].number, entries[i].ticket, (char *)entries[i].record);
    return write(fileno(log_file), text, size) != (ssize_t)size || fdatasync(fileno(log_file));
}

/* A future completes when `write` has returned, so no crash takes this answer back. */
static void answer(void *context, const lanepool_result *result)
{
    const struct transfer *transfer = context;
    if (result->status != LANEPOOL_OK && result->status != LANEPOOL_FAILED)
        return; /* UNWRITTEN or CANCELLED: the client asks again after a restart */
    answered++;
    if (prints_answers)
        printf("acknowledged %" PRIu64 "\n", transfer->id);
}

static lanepool_status submit(lanepool_pool *pool, struct transfer *transfer)
{
    lanepool_future *future;
    lanepool_status status = lanepool_pool_submit(
        pool, LANEPOOL_TASK(.function = move, .context = transfer, .future = &future,
                            LANEPOOL_CLAIMS(lanepool_exclusive(transfer->from),
                                            lanepool_exclusive(transfer->to))));
    if (status == LANEPOOL_OK)
        status = lanepool_future_then(future, answer, transfer);
    lanepool_future_release(future);
    return status;
}

/* Restores the state, and cuts off a last line without its end. Returns false if this is no log. */
static bool read_log(uint64_t count)
{
    uint64_t number, id, from, to;
    long from_has, to_has, size = 0;
    char end, rest[LINE] = "";
    while (fscanf(log_file, "%" SCNu64 " %*u %" SCNu64 " %" SCNu64 " %" SCNu64 " %*d %ld %ld%c",
                  &number, &id, &from, &to, &from_has, &to_has, &end) == 7 &&
           end == '\n' && number == last_number + 1 && from < ACCOUNTS && to < ACCOUNTS) {
        balances[from] = from_has;
        balances[to] = to_has;
        last_number = number;
        if (id <= count)
            transfers[id].is_in_log = true;
        size = ftell(log_file);
    }
    if (fseek(log_file, size, SEEK_SET) != 0)
        return false;
    if (fgets(rest, LINE, log_file) != NULL)
        printf("not a whole line: %s\n", rest);
    return strspn(rest, "0123456789 ") == strlen(rest) && ftruncate(fileno(log_file), size) == 0;
}

/* The program from a start on. Returns true if all transfers are in the log. */
static bool run(const char *path, uint64_t count)
{
    lanepool_pool *pool;
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;
    lanepool_status status = LANEPOOL_OK;
    unsigned long submitted = 0;
    last_number = answered = 0;
    for (int i = 0; i < ACCOUNTS; i++)
        balances[i] = OPENING;
    log_file = fopen(path, "a+");
    if (log_file == NULL || !read_log(count))
        return false;
    printf("in the log: %" PRIu64 "\n", last_number);
    journal.write = append;
    journal.batch_max = BATCH;
    journal.first_number = last_number + 1;
    journal.completes_when_written = true;
    if (lanepool_pool_create(LANEPOOL_OPTIONS(.journal = &journal, .pending_max = 1000), &pool))
        return false;
    for (uint64_t id = 1; id <= count && status == LANEPOOL_OK; id++) {
        draw(&transfers[id], id);
        if (!transfers[id].is_in_log) {
            status = submit(pool, &transfers[id]);
            submitted++;
        }
    }
    lanepool_pool_destroy(pool); /* waits until all is written */
    printf("acknowledged: %lu; balances:", answered);
    for (int i = 0; i < ACCOUNTS; i++)
        printf(" %ld%s", balances[i], i + 1 < ACCOUNTS ? "" : "\n");
    return fclose(log_file) == 0 && answered == submitted;
}

int main(int argc, char **argv)
{
    char path[] = "/tmp/journal_log.XXXXXX";
    uint32_t count = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 12;
    transfers = calloc((size_t)count + 1, sizeof(*transfers));
    if (transfers == NULL || setvbuf(stdout, NULL, _IOLBF, 0) != 0)
        return 1;
    prints_answers = argc > 1;
    if (prints_answers)
        return !run(argv[1], count);
    int file = mkstemp(path);
    bool is_complete = file >= 0 && run(path, 5) && lseek(file, 0, SEEK_END) > 0 &&
                       write(file, "6 5 6 1", 7) == 7 && /* a crash may leave this */
                       run(path, count);
    unlink(path);
    return !is_complete;
}
