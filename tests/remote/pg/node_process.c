/* A process that works on a batch until the batch is done: node_process CONNINFO BATCH NAME. It
 * ends with its parent, also when that is killed. */
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <time.h>

#include "lanepool/adapters/pg.h"
#include "remote/pg/work.h"

enum { WORKERS = 2, TRIES = 3000, PAUSE_NS = 10000000, LOOK_NS = 20000000 };

static volatile sig_atomic_t is_asked_to_leave;

static void ask_to_leave(int signal_number)
{
    (void)signal_number;
    is_asked_to_leave = 1;
}

static lanepool_status work(lanepool_remote *remote)
{
    lanepool_status status = LANEPOOL_TIMED_OUT;
    while (status == LANEPOOL_TIMED_OUT && !is_asked_to_leave)
        status = lanepool_remote_await_all(remote, LOOK_NS);
    if (status == LANEPOOL_TIMED_OUT)
        status = lanepool_remote_leave(remote, LANEPOOL_FOREVER);
    return status;
}

static lanepool_status open_patiently(const char *conninfo, const char *batch,
                                      lanepool_pg_store **store)
{
    const struct timespec pause = { 0, PAUSE_NS };
    lanepool_status status = lanepool_pg_open(conninfo, batch, NULL, store);
    for (int i = 0; i < TRIES && status == LANEPOOL_UNAVAILABLE; i++) {
        (void)nanosleep(&pause, NULL);
        status = lanepool_pg_open(conninfo, batch, NULL, store);
    }
    return status;
}

int main(int argc, char **argv)
{
    lanepool_pg_store *store;
    lanepool_remote *remote;
    lanepool_options pool = LANEPOOL_OPTIONS_INIT;
    lanepool_remote_options options = LANEPOOL_REMOTE_OPTIONS_INIT;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGTERM, ask_to_leave);
    if (argc != 4 || open_patiently(argv[1], argv[2], &store) != LANEPOOL_OK)
        return 1;
    pool.workers = WORKERS;
    options.name = argv[3];
    options.kinds = work_kinds;
    options.kind_count = WORK_KIND_COUNT;
    options.pool = &pool;
    options.lease_ns = 500000000;
    if (lanepool_remote_open(lanepool_pg_functions(), store, &options, &remote) != LANEPOOL_OK)
        return 2;
    lanepool_status status = work(remote);
    if (status != LANEPOOL_OK)
        fprintf(stderr, "%s: %s\n", argv[3], lanepool_status_name(status));
    lanepool_remote_close(remote);
    lanepool_pg_close(store);
    return status == LANEPOOL_OK ? 0 : 3;
}
