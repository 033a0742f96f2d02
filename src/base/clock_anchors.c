/* Owns the anchors; see clock_anchors.h. */
#include "base/clock_anchors.h"

/* Of so many tries the one in which the thread was held up least. */
#define TRIES 4

/* The clock was read between two readings of the counter: it is taken to have been half-way. */
static lanepool_i_clock_anchor take(void)
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
    anchors->first = take();
    atomic_init(&anchors->taken, false);
    atomic_init(&anchors->written, 0);
    return anchors;
}

void lanepool_i_clock_anchors_free(lanepool_i_clock_anchors *anchors)
{
    lanepool_i_memory_free(anchors);
}

/* --- the ring --- */

static lanepool_i_clock_anchor load(const lanepool_i_clock_anchors *anchors, uint64_t number)
{
    const _Atomic uint64_t *words = &anchors->words[2 * (number % LANEPOOL_I_CLOCK_ANCHORS)];
    return (lanepool_i_clock_anchor){ load_acquire(&words[0]), load_acquire(&words[1]) };
}

static void append_taken(lanepool_i_clock_anchors *anchors, const lanepool_i_clock_anchor *anchor)
{
    uint64_t number = load_relaxed(&anchors->written);
    lanepool_i_clock_anchor last = number == 0 ? anchors->first : load(anchors, number - 1);
    if (anchor->ticks <= last.ticks || anchor->ns < last.ns)
        return;
    _Atomic uint64_t *words = &anchors->words[2 * (number % LANEPOOL_I_CLOCK_ANCHORS)];
    store_release(&words[0], anchor->ticks);
    store_release(&words[1], anchor->ns);
    store_release(&anchors->written, number + 1);
}

/* One that is younger than all events that were seen. */
static lanepool_i_clock_anchor add(lanepool_i_clock_anchors *anchors)
{
    lanepool_i_clock_anchor anchor = take();
    if (!exchange_acquire(&anchors->taken, true)) {
        append_taken(anchors, &anchor);
        store_release(&anchors->taken, false);
    }
    return anchor;
}

/* False: there is none that is younger than `before`. */
static bool find_after(lanepool_i_clock_time *time)
{
    const lanepool_i_clock_anchors *anchors = time->anchors;
    uint64_t written = load_acquire(&anchors->written);
    while (time->next < written) {
        if (written - time->next >= LANEPOOL_I_CLOCK_ANCHORS)
            time->next =
                written - LANEPOOL_I_CLOCK_ANCHORS + 1; /* the next to be written is the oldest */
        lanepool_i_clock_anchor found = load(anchors, time->next);
        written = load_acquire(&anchors->written);
        if (written - time->next >= LANEPOOL_I_CLOCK_ANCHORS)
            continue; /* it may just have been overwritten */
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

/* `ticks` lie between them; they are apart. */
static uint64_t between(const lanepool_i_clock_anchor *a, const lanepool_i_clock_anchor *b,
                        uint64_t ticks)
{
    double share = (double)(ticks - a->ticks) / (double)(b->ticks - a->ticks);
    return a->ns + (uint64_t)(share * (double)(b->ns - a->ns));
}

/* Makes `after` the next anchor; false: it is the present moment. An anchor that this reader alone
 * has may be a little later by the clock than the next one. */
static bool move_on(lanepool_i_clock_time *time)
{
    time->before = time->after;
    bool found = find_after(time);
    if (!found)
        time->after = add(time->anchors);
    if (time->after.ns < time->before.ns)
        time->after.ns = time->before.ns;
    return found;
}

/* What a thread that was held up has written late may lie before: then the anchors are gone through
 * from the start. What lies behind the present moment, or before all, can only have been stamped
 * while the counter was another one. */
uint64_t lanepool_i_clock_time_of(lanepool_i_clock_time *time, uint64_t ticks)
{
    if (time->anchors == NULL)
        return ticks;
    if (ticks < time->before.ticks)
        *time = lanepool_i_clock_time_begin(time->anchors);
    while (time->after.ticks < ticks && move_on(time))
        continue;
    if (ticks <= time->before.ticks)
        return time->before.ns;
    if (ticks >= time->after.ticks)
        return time->after.ns;
    return between(&time->before, &time->after, ticks);
}
