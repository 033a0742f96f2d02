/* The second simple design: a queue for each thread, chosen by the key. For a task with keys of
 * several threads, these threads meet: the last one to arrive runs the task, and the others
 * wait. */
#include <pthread.h>
#include <stdlib.h>

#include "engine.h"

#define THREADS_MAX 64

/* A task for which several threads meet. */
struct meeting {
    pthread_mutex_t mutex;
    pthread_cond_t is_over;
    unsigned missing; /* threads that have not arrived */
    unsigned users;   /* threads that have not left */
    bool is_done;
};

struct item {
    struct item *next;
    const struct bench_task *task;
    struct meeting *meeting; /* NULL if this thread runs the task alone */
};

static struct queue {
    _Alignas(128) pthread_mutex_t mutex;
    pthread_cond_t has_items;
    struct item *first;
    struct item **end;
    bool is_idle;
    bool is_stopping;
    pthread_t thread;
} queues[THREADS_MAX];
static unsigned queue_count;

/* Locked while a meeting is put into its queues, so that all queues have meetings in the same
 * order. */
static pthread_mutex_t meetings = PTHREAD_MUTEX_INITIALIZER;

static void attend(struct meeting *meeting, const struct bench_task *task)
{
    pthread_mutex_lock(&meeting->mutex);
    if (--meeting->missing == 0) {
        pthread_mutex_unlock(&meeting->mutex);
        bench_task_run(task);
        pthread_mutex_lock(&meeting->mutex);
        meeting->is_done = true;
        pthread_cond_broadcast(&meeting->is_over);
    }
    while (!meeting->is_done)
        pthread_cond_wait(&meeting->is_over, &meeting->mutex);
    bool is_last = --meeting->users == 0;
    pthread_mutex_unlock(&meeting->mutex);
    if (is_last) {
        pthread_mutex_destroy(&meeting->mutex);
        pthread_cond_destroy(&meeting->is_over);
        free(meeting);
    }
}

/* Waits for items, and takes all of them. Returns NULL when there will be no more. */
static struct item *take_all(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    while (queue->first == NULL && !queue->is_stopping) {
        queue->is_idle = true;
        pthread_cond_wait(&queue->has_items, &queue->mutex);
        queue->is_idle = false;
    }
    struct item *items = queue->first;
    queue->first = NULL;
    queue->end = &queue->first;
    pthread_mutex_unlock(&queue->mutex);
    return items;
}

static void *work(void *argument)
{
    struct queue *queue = argument;
    struct item *item;
    while ((item = take_all(queue)) != NULL) {
        while (item != NULL) {
            struct item *next = item->next;
            if (item->meeting == NULL)
                bench_task_run(item->task);
            else
                attend(item->meeting, item->task);
            free(item);
            item = next;
        }
    }
    return NULL;
}

static void start(const struct bench_setup *setup)
{
    bench_require(setup->workers <= THREADS_MAX, "so few workers");
    queue_count = setup->workers;
    for (unsigned i = 0; i < queue_count; i++) {
        struct queue *queue = &queues[i];
        pthread_mutex_init(&queue->mutex, NULL);
        pthread_cond_init(&queue->has_items, NULL);
        queue->end = &queue->first;
        bench_require(pthread_create(&queue->thread, NULL, work, queue) == 0, "a worker");
    }
}

static void put(struct queue *queue, const struct bench_task *task, struct meeting *meeting)
{
    struct item *item = malloc(sizeof *item);
    bench_require(item != NULL, "memory for a task");
    *item = (struct item){ .task = task, .meeting = meeting };
    pthread_mutex_lock(&queue->mutex);
    *queue->end = item;
    queue->end = &item->next;
    bool wakes = queue->is_idle;
    pthread_mutex_unlock(&queue->mutex);
    if (wakes)
        pthread_cond_signal(&queue->has_items);
}

static void call_meeting(const struct bench_task *task, const bool *is_invited, unsigned count)
{
    struct meeting *meeting = malloc(sizeof *meeting);
    bench_require(meeting != NULL, "memory for a meeting");
    *meeting = (struct meeting){ .missing = count, .users = count };
    pthread_mutex_init(&meeting->mutex, NULL);
    pthread_cond_init(&meeting->is_over, NULL);
    pthread_mutex_lock(&meetings);
    for (unsigned i = 0; i < queue_count; i++)
        if (is_invited[i])
            put(&queues[i], task, meeting);
    pthread_mutex_unlock(&meetings);
}

static void submit(const struct bench_task *task)
{
    bool is_invited[THREADS_MAX] = { false };
    unsigned count = 0;
    unsigned first = bench_task_key(task, 0) % queue_count;
    if (task->key_count <= 1) {
        put(&queues[first], task, NULL);
        return;
    }
    for (uint32_t i = 0; i < task->key_count; i++) {
        unsigned queue = bench_task_key(task, i) % queue_count;
        count += !is_invited[queue];
        is_invited[queue] = true;
    }
    if (count == 1)
        put(&queues[first], task, NULL);
    else
        call_meeting(task, is_invited, count);
}

static void stop(void)
{
    for (unsigned i = 0; i < queue_count; i++) {
        struct queue *queue = &queues[i];
        pthread_mutex_lock(&queue->mutex);
        queue->is_stopping = true;
        pthread_cond_signal(&queue->has_items);
        pthread_mutex_unlock(&queue->mutex);
        pthread_join(queue->thread, NULL);
    }
}

const struct bench_hooks bench_engine = {
    .name = "hash",
    .features = BENCH_SEVERAL_KEYS | BENCH_GATES | BENCH_SEVERAL_SUBMITTERS,
    .start = start,
    .submit = submit,
    .stop = stop,
};
