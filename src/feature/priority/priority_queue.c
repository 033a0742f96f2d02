/* Owns the lists of ready tasks by level; see priority_queue.h. */
#include "feature/priority/priority_queue.h"

#include "lanepool/future.h"

static void link_last(lanepool_i_priority_queue *queue, lanepool_i_rank *rank, uint8_t level,
                      uint64_t since_ns)
{
    rank->standing = level & LANEPOOL_PRIORITY_MAX;
    rank->since_ns = since_ns;
    rank->is_ready = true;
    rank->next = NULL;
    rank->before = queue->lists[level].last;
    if (rank->before != NULL)
        rank->before->next = rank;
    else
        queue->lists[level].first = rank;
    queue->lists[level].last = rank;
    queue->levels |= 1u << level;
    queue->count++;
}

static void unlink_ready(lanepool_i_priority_queue *queue, lanepool_i_rank *rank)
{
    if (rank->before != NULL)
        rank->before->next = rank->next;
    else
        queue->lists[rank->standing].first = rank->next;
    if (rank->next != NULL)
        rank->next->before = rank->before;
    else
        queue->lists[rank->standing].last = rank->before;
    if (queue->lists[rank->standing].first == NULL)
        queue->levels &= ~(1u << rank->standing);
    rank->is_ready = false;
    queue->count--;
}

void lanepool_i_priority_queue_add(lanepool_i_priority_queue *queue, lanepool_i_rank *rank,
                                   uint64_t now_ns)
{
    uint8_t level = rank->standing > rank->level ? rank->standing : rank->level;
    link_last(queue, rank, level, rank->since_ns != 0 ? rank->since_ns : now_ns);
}

/* Raises each task that has been in its level for the age, by one level. Starts at the top, so no
 * task rises twice; its time starts anew. */
static void raise_aged(lanepool_i_priority_queue *queue, uint64_t now_ns)
{
    queue->checked_ns = now_ns;
    for (uint8_t level = LANEPOOL_PRIORITY_MAX; level-- > 0;) {
        lanepool_i_rank *rank = queue->lists[level].first;
        while (rank != NULL && now_ns - rank->since_ns >= queue->age_ns) {
            unlink_ready(queue, rank);
            link_last(queue, rank, level + 1, now_ns);
            rank = queue->lists[level].first;
        }
    }
}

/* There is one. */
static lanepool_i_rank *find_first(lanepool_i_priority_queue *queue, uint64_t now_ns)
{
    if (queue->age_ns != LANEPOOL_FOREVER && queue->checked_ns != now_ns)
        raise_aged(queue, now_ns);
    return queue->lists[31 - __builtin_clz(queue->levels)].first;
}

lanepool_i_task *lanepool_i_priority_queue_take(lanepool_i_priority_queue *queue, uint64_t now_ns,
                                                uint32_t urgent)
{
    if (queue->count == 0)
        return NULL;
    lanepool_i_rank *rank = find_first(queue, now_ns);
    if (rank->standing + 1u < urgent)
        return NULL;
    unlink_ready(queue, rank);
    return lanepool_i_rank_task(rank);
}

lanepool_i_task *lanepool_i_priority_queue_draw(lanepool_i_priority_queue *queue,
                                                lanepool_i_driver *driver)
{
    if (queue->count == 0)
        return NULL;
    lanepool_i_rank *rank = find_first(queue, lanepool_i_driver_now(driver));
    uint64_t count = 0;
    for (const lanepool_i_rank *each = rank; each != NULL; each = each->next)
        count++;
    for (uint64_t at = driver->draw(driver, count); at > 0; at--)
        rank = rank->next;
    unlink_ready(queue, rank);
    return lanepool_i_rank_task(rank);
}

void lanepool_i_priority_queue_raise(lanepool_i_priority_queue *queue, lanepool_i_rank *rank,
                                     uint8_t level, uint64_t now_ns)
{
    rank->level = level & LANEPOOL_PRIORITY_MAX;
    if (!rank->is_ready || rank->standing >= level)
        return;
    unlink_ready(queue, rank);
    link_last(queue, rank, level, now_ns);
}

void lanepool_i_priority_queue_each(const lanepool_i_priority_queue *queue,
                                    void (*found)(lanepool_i_task *task, void *context),
                                    void *context)
{
    for (size_t level = LANEPOOL_I_LEVELS; level-- > 0;)
        for (lanepool_i_rank *rank = queue->lists[level].first; rank != NULL; rank = rank->next)
            found(lanepool_i_rank_task(rank), context);
}
