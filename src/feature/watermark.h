/*
 * The watermark of a journal: the first ticket that is not settled. A task is settled when its
 * entry is written, or when it can have none any more. Tasks settle in any order.
 *
 * A window of bits says which tickets from the watermark on are settled. It grows with the distance
 * between the oldest unsettled ticket and the newest settled one. If it cannot grow, tickets behind
 * its end are only counted. Then the watermark stops in front of them until all are settled: then
 * as many tickets are settled as there were.
 *
 * One thread at a time.
 */
#ifndef LANEPOOL_SRC_FEATURE_WATERMARK_H
#define LANEPOOL_SRC_FEATURE_WATERMARK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct lanepool_i_watermark {
    uint64_t *bits;     /* bit t % size of ticket t; NULL: no window yet */
    uint64_t size;      /* the number of bits, a power of two; or 0 */
    uint64_t first;     /* the ticket that the count begins with */
    uint64_t unsettled; /* the watermark */
    uint64_t end;       /* behind the newest settled ticket */
    uint64_t settled;   /* how many tickets are settled, from the first on */
} lanepool_i_watermark;

void lanepool_i_watermark_init(lanepool_i_watermark *watermark, uint64_t first);
void lanepool_i_watermark_fini(lanepool_i_watermark *watermark);

/* Returns the whole ticket of which a task has the low 40 bits. It is less than 2^39 away from the
 * watermark.
 */
uint64_t lanepool_i_watermark_whole(const lanepool_i_watermark *watermark, uint64_t ticket);
/* Settles a whole ticket. Each is settled once. O(1), except when the window grows. */
void lanepool_i_watermark_settle(lanepool_i_watermark *watermark, uint64_t ticket);

#endif
