/* An event loop takes results by a descriptor: epoll wakes up when a task of the group has ended.
 */
#include <lanepool/lanepool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <unistd.h>

static int square(lanepool_run *run, void *number)
{
    (void)run;
    *(int *)number *= *(int *)number;
    return 0;
}

/* Takes what has ended. Returns false after the last task of a closed group. */
static bool take_results(lanepool_group *group)
{
    lanepool_completion done;
    lanepool_status status;
    while ((status = lanepool_group_next(group, 0, &done)) == LANEPOOL_OK)
        printf("result: %d\n", *(int *)done.context);
    return status == LANEPOOL_TIMED_OUT; /* more will end */
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_group *group;
    lanepool_group_options options = LANEPOOL_GROUP_OPTIONS_INIT;
    struct epoll_event event = { .events = EPOLLIN };
    int numbers[3] = { 2, 3, 4 }, fd, loop = epoll_create1(0);
    options.keeps_completions = true; /* until lanepool_group_next() takes them */
    if (loop < 0 || lanepool_group_create(&options, &group) || lanepool_group_fd(group, &fd) ||
        epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event) || lanepool_pool_create(NULL, &pool))
        return 1;
    for (int i = 0; i < 3; i++)
        if (lanepool_pool_submit(pool, LANEPOOL_TASK(.function = square, .context = &numbers[i],
                                                     .group = group,
                                                     LANEPOOL_CLAIMS(lanepool_exclusive(1)))))
            return 1;
    if (lanepool_group_close(group) != LANEPOOL_OK) /* no task follows */
        return 1;
    do
        epoll_wait(loop, &event, 1, -1); /* other descriptors of the program are here, too */
    while (take_results(group));
    lanepool_pool_destroy(pool);
    lanepool_group_destroy(group);
    return close(loop);
}
