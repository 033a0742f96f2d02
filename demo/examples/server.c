/* A server: a thread for each connection submits requests and never blocks. A client with too many
 * pending requests gets the answer "busy". An event loop sends the other answers: a group's
 * descriptor tells epoll that a request has ended. */
#include <lanepool/lanepool.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { CLIENTS = 3, REQUESTS = 4, PENDING_MAX = 2 };

static lanepool_pool *pool;
static lanepool_group *group;

static struct client {
    int served; /* guarded by the client's lane */
    int busy;   /* of the connection's thread */
} clients[CLIENTS];

static int serve(lanepool_run *run, void *client)
{
    (void)run;
    ((struct client *)client)->served++;
    return 0;
}

/* The thread of a connection. */
static void *receive(void *context)
{
    struct client *client = context;
    lanepool_claim claim = lanepool_claim_of(lanepool_key_pointer(client), LANEPOOL_EXCLUSIVE);
    lanepool_task task = LANEPOOL_TASK_INIT;
    task.function = serve, task.context = client, task.group = group;
    task.claims = &claim, task.claim_count = 1;
    for (int i = 0; i < REQUESTS; i++)
        if (lanepool_pool_submit_within(pool, &task, 0) == LANEPOOL_FULL)
            client->busy++; /* here a server answers "busy" */
    return NULL;
}

/* The event loop. Returns how many answers it has sent. */
static int send_answers(int loop)
{
    struct epoll_event event;
    lanepool_completion done;
    lanepool_status status;
    int sent = 0;
    do {
        epoll_wait(loop, &event, 1, -1);
        while ((status = lanepool_group_next(group, 0, &done)) == LANEPOOL_OK)
            sent++; /* done.context is the client */
    } while (status == LANEPOOL_TIMED_OUT);
    return sent;
}

int main(void)
{
    pthread_t threads[CLIENTS];
    struct epoll_event event = { .events = EPOLLIN };
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_group_options group_options = LANEPOOL_GROUP_OPTIONS_INIT;
    int fd, loop = epoll_create1(0);
    options.lane_pending_max = PENDING_MAX; /* for each client */
    group_options.keeps_completions = true;
    if (loop < 0 || lanepool_pool_create(&options, &pool) ||
        lanepool_group_create(&group_options, &group) || lanepool_group_fd(group, &fd) ||
        epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event))
        return 1;
    if (lanepool_pool_pause(pool) != LANEPOOL_OK) /* so that every run prints the same */
        return 1;
    for (int i = 0; i < CLIENTS; i++)
        if (pthread_create(&threads[i], NULL, receive, &clients[i]) != 0)
            return 1;
    for (int i = 0; i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    if (lanepool_pool_resume(pool) || lanepool_group_close(group)) /* no request follows */
        return 1;
    printf("answers: %d\n", send_answers(loop));
    lanepool_pool_destroy(pool);
    lanepool_group_destroy(group);
    for (int i = 0; i < CLIENTS; i++)
        printf("client %d: %d served, %d busy\n", i, clients[i].served, clients[i].busy);
    return close(loop);
}
