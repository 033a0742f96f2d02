/* The first simple design: a list of waiting tasks for each key, one queue of ready tasks, and one
 * mutex over all of it. A task with several keys is in the list of each. */
#include <pthread.h>
#include <stdlib.h>

#include "engine.h"

#define WORKERS_MAX 64

struct task;

/* A task's entry in one key's list. */
struct place {
    struct place *next;
    struct task *task;
    uint32_t key;
};

struct task {
    struct task *next_ready;
    const struct bench_task *work;
    uint32_t waits_for; /* entries that are not first in their lists */
    uint32_t place_count;
    struct place places[];
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t has_work = PTHREAD_COND_INITIALIZER;

/* Guarded by the mutex. */
static struct {
    struct place *first, *last;
} * lists;
static struct task *ready;
static struct task **ready_end = &ready;
static unsigned idle;
static bool is_stopping;

static pthread_t threads[WORKERS_MAX];
static unsigned thread_count;

static void make_ready(struct task *task)
{
    task->next_ready = NULL;
    *ready_end = task;
    ready_end = &task->next_ready;
}

static struct task *take_ready(void)
{
    struct task *task = ready;
    ready = task->next_ready;
    if (ready == NULL)
        ready_end = &ready;
    return task;
}

/* Returns how many tasks became ready. */
static unsigned leave_lists(struct task *task)
{
    unsigned count = 0;
    for (uint32_t i = 0; i < task->place_count; i++) {
        struct place *place = &task->places[i];
        lists[place->key].first = place->next;
        if (place->next == NULL) {
            lists[place->key].last = NULL;
        } else if (--place->next->task->waits_for == 0) {
            make_ready(place->next->task);
            count++;
        }
    }
    return count;
}

static void *work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&mutex);
    for (;;) {
        while (ready == NULL && !is_stopping) {
            idle++;
            pthread_cond_wait(&has_work, &mutex);
            idle--;
        }
        if (ready == NULL)
            break;
        struct task *task = take_ready();
        pthread_mutex_unlock(&mutex);
        bench_task_run(task->work);
        pthread_mutex_lock(&mutex);
        if (leave_lists(task) > 1 && idle > 0) /* this thread runs one of them */
            pthread_cond_signal(&has_work);
        pthread_mutex_unlock(&mutex);
        free(task);
        pthread_mutex_lock(&mutex);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void start(const struct bench_setup *setup)
{
    lists = calloc(setup->key_count, sizeof *lists);
    bench_require(lists != NULL && setup->workers <= WORKERS_MAX, "memory for lists");
    for (; thread_count < setup->workers; thread_count++)
        bench_require(pthread_create(&threads[thread_count], NULL, work, NULL) == 0, "a worker");
}

static void enter_lists(struct task *task)
{
    for (uint32_t i = 0; i < task->place_count; i++) {
        struct place *place = &task->places[i];
        struct place *last = lists[place->key].last;
        if (last != NULL) {
            last->next = place;
            task->waits_for++;
        } else {
            lists[place->key].first = place;
        }
        lists[place->key].last = place;
    }
}

static void submit(const struct bench_task *work_task)
{
    uint32_t place_count = bench_task_lanes(work_task);
    struct task *task = malloc(sizeof *task + place_count * sizeof task->places[0]);
    bench_require(task != NULL, "memory for a task");
    task->work = work_task;
    task->waits_for = 0;
    task->place_count = place_count;
    for (uint32_t i = 0; i < place_count; i++)
        task->places[i] = (struct place){ .task = task, .key = bench_task_key(work_task, i) };
    pthread_mutex_lock(&mutex);
    bool wakes = false;
    enter_lists(task);
    if (task->waits_for == 0) {
        make_ready(task);
        wakes = idle > 0;
    }
    pthread_mutex_unlock(&mutex);
    if (wakes)
        pthread_cond_signal(&has_work);
}

static void stop(void)
{
    pthread_mutex_lock(&mutex);
    is_stopping = true;
    pthread_cond_broadcast(&has_work);
    pthread_mutex_unlock(&mutex);
    while (thread_count > 0)
        pthread_join(threads[--thread_count], NULL);
    free(lists);
}

const struct bench_hooks bench_engine = {
    .name = "mutex",
    .features = BENCH_SEVERAL_KEYS | BENCH_GATES | BENCH_SEVERAL_SUBMITTERS,
    .start = start,
    .submit = submit,
    .stop = stop,
};
