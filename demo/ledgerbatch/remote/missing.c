/* Stands for the other files of this folder if ledgerbatch is built without libpq. */
#include "remote/remote.h"
#include "remote/status.h"

static bool refuse(struct problem *problem)
{
    return problem_set(problem, EXIT_CODE_INPUT,
                       "--store is not offered: ledgerbatch was built without libpq");
}

bool remote_status(const char *store, uint64_t task, struct problem *problem)
{
    (void)store;
    (void)task;
    return refuse(problem);
}

bool remote_work(struct remote **remote, struct plan *plan, const struct remote_options *options,
                 bool *publishes, struct problem *problem)
{
    (void)plan;
    (void)options;
    *remote = NULL;
    *publishes = false;
    return refuse(problem);
}

/* The functions below are never called, since there is no part. */
bool remote_read(struct remote *remote, struct batch *batch, struct task *task,
                 struct problem *problem)
{
    (void)remote;
    (void)batch;
    (void)task;
    (void)problem;
    return false;
}

bool remote_end(struct remote *remote, const char *head, struct problem *problem)
{
    (void)remote;
    (void)head;
    (void)problem;
    return false;
}

void remote_close(struct remote *remote)
{
    (void)remote;
}
