/* Owns the anchors; see clock_anchors.h. */
#include "base/clock_anchors.h"

/* the try in which the thread was delayed least is used */
#define TRIES 4

/* Takes an anchor. The clock is read between two readings of the counter, and counts as read
 * half-way between them. */
static lanepool_i_clock_anchor take_anchor(void)
{
    lanepool_i_clock_anchor anchor = { 0, 0 };
    uint64_t least = UINT64_MAX;
    uint64_t before = lanepool_i_counter();
    for (int i = 0; i < TRIES; i++) {
        uint64_t ns = lanepool_i_clock_now();
        uint64_t after = lanepool_i_counter();
        if (after - before < least) {
            least = after - before;
            anchor = (lanepool_i_clock_anchor){ before + least / 2, ns };
        }
        before = after;
    }
    return anchor;
}

lanepool_i_clock_anchors *lanepool_i_clock_anchors_create(void)
{
    lanepool_i_clock_anchors *anchors = lanepool_i_memory_alloc(sizeof *anchors);
    if (anchors == NULL)
        return NULL;
    anchors->first = take_anchor();
    atomic_init(&anchors->taken, false);
    atomic_init(&anchors->written, 0);
    return anchors;
}

void lanepool_i_clock_anchors_free(lanepool_i_clock_anchors *anchors)
{
    lanepool_i_memory_free(anchors);
}

/* --- the ring --- */

static lanepool_i_clock_anchor load_anchor(const lanepool_i_clock_anchors *anchors, uint64_t number)
{
    const _Atomic uint64_t *words = &anchors->words[2 * (number % LANEPOOL_I_CLOCK_ANCHORS)];
    return (lanepool_i_clock_anchor){ load_acquire(&words[0]), load_acquire(&words[1]) };
}

static void append_taken(lanepool_i_clock_anchors *anchors, const lanepool_i_clock_anchor *anchor)
{
    uint64_t number = load_relaxed(&anchors->written);
    lanepool_i_clock_anchor last = number == 0 ? anchors->first : load_anchor(anchors, number - 1);
    if (anchor->ticks <= last.ticks || anchor->ns < last.ns)
        return;
    _Atomic uint64_t *words = &anchors->words[2 * (number % LANEPOOL_I_CLOCK_ANCHORS)];
    store_release(&words[0], anchor->ticks);
    store_release(&words[1], anchor->ns);
    store_release(&anchors->written, number + 1);
}

/* Returns a new anchor, later than all events seen. Stores it unless another reader is adding
 * one. */
static lanepool_i_clock_anchor add_anchor(lanepool_i_clock_anchors *anchors)
{
    lanepool_i_clock_anchor anchor = take_anchor();
    if (!exchange_acquire(&anchors->taken, true)) {
        append_taken(anchors, &anchor);
        store_release(&anchors->taken, false);
    }
    return anchor;
}

/* Makes `after` the first anchor later than `before`. Returns false if there is none. */
static bool find_after(lanepool_i_clock_time *time)
{
    const lanepool_i_clock_anchors *anchors = time->anchors;
    uint64_t written = load_acquire(&anchors->written);
    while (time->next < written) {
        if (written - time->next >= LANEPOOL_I_CLOCK_ANCHORS)
            time->next = written - LANEPOOL_I_CLOCK_ANCHORS +
                         1; /* the next slot to be written is the oldest */
        lanepool_i_clock_anchor found = load_anchor(anchors, time->next);
        written = load_acquire(&anchors->written);
        if (written - time->next >= LANEPOOL_I_CLOCK_ANCHORS)
            continue; /* the anchor may have been overwritten */
        time->next++;
        if (found.ticks > time->before.ticks) {
            time->after = found;
            return true;
        }
    }
    return false;
}

/* --- times --- */

lanepool_i_clock_time lanepool_i_clock_time_begin(lanepool_i_clock_anchors *anchors)
{
    lanepool_i_clock_time time = { .anchors = anchors };
    if (anchors != NULL)
        time.before = time.after = anchors->first;
    return time;
}

/* Interpolates between two different anchors. */
static uint64_t interpolate_time(const lanepool_i_clock_anchor *a, const lanepool_i_clock_anchor *b,
                                 uint64_t ticks)
{
    double share = (double)(ticks - a->ticks) / (double)(b->ticks - a->ticks);
    return a->ns + (uint64_t)(share * (double)(b->ns - a->ns));
}

/* Moves on by one anchor. Returns false if `after` is now the present moment. An anchor that only
 * this reader has may be slightly later by the clock than the next stored one. */
static bool move_to_next_anchor(lanepool_i_clock_time *time)
{
    time->before = time->after;
    bool found = find_after(time);
    if (!found)
        time->after = add_anchor(time->anchors);
    if (time->after.ns < time->before.ns)
        time->after.ns = time->before.ns;
    return found;
}

/* Ticks may be earlier than those of the last call, if a delayed thread wrote their event: then the
 * walk starts again. Ticks later than now, or before the first anchor, can only come from another
 * counter; they get the nearest anchor's time. */
uint64_t lanepool_i_clock_time_of(lanepool_i_clock_time *time, uint64_t ticks)
{
    if (time->anchors == NULL)
        return ticks;
    if (ticks < time->before.ticks)
        *time = lanepool_i_clock_time_begin(time->anchors);
    while (time->after.ticks < ticks && move_to_next_anchor(time))
        continue;
    if (ticks <= time->before.ticks)
        return time->before.ns;
    if (ticks >= time->after.ticks)
        return time->after.ns;
    return interpolate_time(&time->before, &time->after, ticks);
}
