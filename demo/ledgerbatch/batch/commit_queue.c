/* Owns the queue: tasks fill one list while the committer works on another; a take swaps them. */
#include "batch/commit_queue.h"

#include <stdlib.h>
#include <time.h>

#include "memory.h"

#define NS_PER_SECOND 1000000000u

bool commit_queue_init(struct commit_queue *queue, size_t enough)
{
    pthread_condattr_t attributes;
    *queue = (struct commit_queue){ .enough = enough };
    if (pthread_condattr_init(&attributes) != 0) {
        return false;
    }
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(&queue->changed, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (made && pthread_mutex_init(&queue->mutex, NULL) != 0) {
        pthread_cond_destroy(&queue->changed);
        made = false;
    }
    return made;
}

void effect_fini(struct effect *effect)
{
    if (effect->entries) {
        free(effect->entries->missing.items);
        free(effect->entries);
    }
}

static void drop_effects(struct effect_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        effect_fini(&list->items[i]);
    }
    list->count = 0;
}

void commit_queue_fini(struct commit_queue *queue)
{
    drop_effects(&queue->waiting);
    free(queue->waiting.items);
    pthread_mutex_destroy(&queue->mutex);
    pthread_cond_destroy(&queue->changed);
}

void commit_queue_append(struct commit_queue *queue, struct effect effect)
{
    pthread_mutex_lock(&queue->mutex);
    if (queue->stopped) {
        effect_fini(&effect);
    } else {
        struct effect_list *list = &queue->waiting;
        list->items =
            memory_grow(list->items, &list->capacity, list->count + 1, sizeof *list->items);
        list->items[list->count++] = effect;
        if (queue->wanted && list->count >= queue->enough) {
            queue->wanted = false;
            pthread_cond_signal(&queue->changed);
        }
    }
    pthread_mutex_unlock(&queue->mutex);
}

void commit_queue_close(struct commit_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->closed = true;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->mutex);
}

void commit_queue_stop(struct commit_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    queue->stopped = true;
    drop_effects(&queue->waiting);
    pthread_mutex_unlock(&queue->mutex);
}

bool commit_queue_is_stopped(struct commit_queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    bool stopped = queue->stopped;
    pthread_mutex_unlock(&queue->mutex);
    return stopped;
}

static struct timespec deadline_after(uint64_t wait_ns)
{
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    uint64_t ns = (uint64_t)deadline.tv_nsec + wait_ns;
    deadline.tv_sec += (time_t)(ns / NS_PER_SECOND);
    deadline.tv_nsec = (long)(ns % NS_PER_SECOND);
    return deadline;
}

bool commit_queue_take(struct commit_queue *queue, struct effect_list *taken, uint64_t wait_max_ns)
{
    struct timespec deadline = deadline_after(wait_max_ns);
    bool in_time = true;
    taken->count = 0;
    pthread_mutex_lock(&queue->mutex);
    /* An empty queue needs no commit: if the time limit ends then, it starts anew. */
    while (!queue->closed && queue->waiting.count < queue->enough &&
           (in_time || queue->waiting.count == 0)) {
        queue->wanted = true;
        in_time = pthread_cond_timedwait(&queue->changed, &queue->mutex, &deadline) == 0;
        if (!in_time && queue->waiting.count == 0) {
            deadline = deadline_after(wait_max_ns);
            in_time = true;
        }
    }
    queue->wanted = false;
    struct effect_list empty = *taken;
    *taken = queue->waiting;
    queue->waiting = empty;
    bool more = taken->count > 0 || !queue->closed;
    pthread_mutex_unlock(&queue->mutex);
    return more;
}
