/* Owns the heap of timers and the clock thread; see timer_heap.h. */
#include "base/timer_heap.h"

#include "base/sizes.h"

/* --- the heap --- */

static bool is_due_first(const lanepool_i_timer *a, const lanepool_i_timer *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->number < b->number;
}

static uint32_t timer_rank(const lanepool_i_timer *timer)
{
    return timer != NULL ? timer->rank : 0;
}

/* Makes the child with the smaller rank the right one. Returns true if the timer's rank has
 * changed. */
static bool lean_left(lanepool_i_timer *timer)
{
    if (timer_rank(timer->left) < timer_rank(timer->right)) {
        lanepool_i_timer *left = timer->left;
        timer->left = timer->right;
        timer->right = left;
    }
    uint32_t before = timer->rank;
    timer->rank = timer_rank(timer->right) + 1;
    return timer->rank != before;
}

/* Merges two heaps along their right paths. Their lengths are the ranks: at most the logarithm of
 * the number of timers. */
static lanepool_i_timer *merge_heaps(lanepool_i_timer *a, lanepool_i_timer *b)
{
    lanepool_i_timer *root = NULL;
    lanepool_i_timer *last = NULL;
    while (a != NULL || b != NULL) {
        bool take_a = b == NULL || (a != NULL && is_due_first(a, b));
        lanepool_i_timer *next = take_a ? a : b;
        if (take_a)
            a = a->right;
        else
            b = b->right;
        next->parent = last;
        if (last == NULL)
            root = next;
        else
            last->right = next;
        last = next;
    }
    for (lanepool_i_timer *up = last; up != NULL; up = up->parent)
        (void)lean_left(up);
    return root;
}

static lanepool_i_timer **heap_of(lanepool_i_timers *timers, const lanepool_i_timer *timer)
{
    return &timers->first[timer->keeps_its_time];
}

/* Returns the earliest timer of both heaps, or NULL. */
static lanepool_i_timer *earliest_locked(const lanepool_i_timers *timers)
{
    lanepool_i_timer *a = timers->first[false];
    lanepool_i_timer *b = timers->first[true];
    return b == NULL || (a != NULL && is_due_first(a, b)) ? a : b;
}

static void insert_locked(lanepool_i_timers *timers, lanepool_i_timer *timer)
{
    timer->left = NULL;
    timer->right = NULL;
    timer->rank = 1;
    timer->waits = true;
    lanepool_i_timer **first = heap_of(timers, timer);
    *first = merge_heaps(*first, timer);
}

/* Takes a timer out and updates the ranks above it until one does not change. Changed ranks grow on
 * the way up, so they are few. */
static void take_out_locked(lanepool_i_timers *timers, lanepool_i_timer *timer)
{
    lanepool_i_timer *parent = timer->parent;
    lanepool_i_timer *below = merge_heaps(timer->left, timer->right);
    timer->waits = false;
    if (below != NULL)
        below->parent = parent;
    if (parent == NULL)
        *heap_of(timers, timer) = below;
    else if (parent->left == timer)
        parent->left = below;
    else
        parent->right = below;
    while (parent != NULL && lean_left(parent))
        parent = parent->parent;
}

/* --- the clock thread --- */

static void post_clock_locked(lanepool_i_timers *timers)
{
    if (timers->sleeps_until_ns == 0)
        return;
    timers->sleeps_until_ns = 0;
    lanepool_i_semaphore_post(&timers->semaphore);
}

/* Waits until a timer or the owner's `pause` is due, or for a post. Releases the lock while it
 * waits. */
static void wait_for_earliest(lanepool_i_timers *timers)
{
    const lanepool_i_timer *earliest = earliest_locked(timers);
    uint64_t until_ns = earliest != NULL ? earliest->due_ns : UINT64_MAX;
    bool pauses_then = timers->pause_ns <= until_ns && timers->pause_ns != UINT64_MAX;
    if (pauses_then)
        until_ns = timers->pause_ns;
    timers->sleeps_until_ns = until_ns;
    lanepool_i_mutex_unlock(&timers->lock);
    bool posted = lanepool_i_semaphore_wait_until(&timers->semaphore, until_ns);
    lanepool_i_mutex_lock(&timers->lock);
    if (!posted && timers->sleeps_until_ns == 0)
        lanepool_i_semaphore_wait(&timers->semaphore);
    timers->sleeps_until_ns = 0;
    timers->pauses = timers->pauses || (pauses_then && !posted);
}

/* Calls the owner's `pause`. Releases the lock during the call. */
static void call_owner_pause(lanepool_i_timers *timers)
{
    timers->pauses = false;
    if (timers->work == NULL)
        return;
    lanepool_i_mutex_unlock(&timers->lock);
    uint64_t pause_ns = timers->work->pause(timers->owner);
    lanepool_i_mutex_lock(&timers->lock);
    timers->pause_ns = pause_ns;
}

/* Fires the earliest timer if it is due; returns false if not. Releases the lock while it fires. */
static bool fire_if_due(lanepool_i_timers *timers, uint64_t now_ns)
{
    lanepool_i_timer *timer = earliest_locked(timers);
    if (timer == NULL || timer->due_ns > now_ns)
        return false;
    take_out_locked(timers, timer);
    timers->pauses = true;
    lanepool_i_mutex_unlock(&timers->lock);
    timer->fire(timer);
    lanepool_i_mutex_lock(&timers->lock);
    return true;
}

/* Reads the clock if that may make a difference. */
static bool fire_one(lanepool_i_timers *timers, uint64_t *now_ns)
{
    const lanepool_i_timer *timer = earliest_locked(timers);
    if (timer != NULL && timer->due_ns > *now_ns)
        *now_ns = lanepool_i_clock_now();
    return fire_if_due(timers, *now_ns);
}

static void fire_until_end(lanepool_i_timers *timers)
{
    uint64_t now_ns = 0;
    uint32_t fired = 0;
    lanepool_i_mutex_lock(&timers->lock);
    while (!timers->ends) {
        if (fired < LANEPOOL_I_FIRE_BATCH && fire_one(timers, &now_ns)) {
            fired++;
        } else if (timers->pauses) {
            call_owner_pause(timers);
            fired = 0;
        } else {
            wait_for_earliest(timers);
        }
    }
    call_owner_pause(timers);
    lanepool_i_mutex_unlock(&timers->lock);
}

static void *run_timers(void *argument)
{
    lanepool_i_timers *timers = argument;
    const lanepool_i_clock_work *work = timers->work;
    if (work != NULL && !work->begin(timers->owner))
        return NULL;
    fire_until_end(timers);
    if (work != NULL)
        work->end(timers->owner);
    return NULL;
}

/* --- beginning and end --- */

bool lanepool_i_timers_init(lanepool_i_timers *timers, lanepool_i_driver *driver,
                            const lanepool_i_clock_work *work, void *owner)
{
    timers->first[false] = NULL;
    timers->first[true] = NULL;
    timers->next_number = 0;
    timers->sleeps_until_ns = 0;
    timers->pause_ns = UINT64_MAX;
    timers->state = LANEPOOL_I_CLOCK_NONE;
    timers->pauses = false;
    timers->ends = false;
    timers->driver = driver;
    timers->work = work;
    timers->owner = owner;
    if (!lanepool_i_mutex_init(&timers->lock, LANEPOOL_I_LOCK_TIMERS))
        return false;
    if (lanepool_i_semaphore_init(&timers->semaphore))
        return true;
    lanepool_i_mutex_fini(&timers->lock);
    return false;
}

void lanepool_i_timers_end(lanepool_i_timers *timers)
{
    lanepool_i_mutex_lock(&timers->lock);
    timers->ends = true;
    post_clock_locked(timers);
    lanepool_i_mutex_unlock(&timers->lock);
}

/* Returns the state. If there is no clock thread, sets the state to `next`. */
static lanepool_i_clock_state claim_clock_state(lanepool_i_timers *timers,
                                                lanepool_i_clock_state next)
{
    lanepool_i_mutex_lock(&timers->lock);
    lanepool_i_clock_state found = timers->state;
    if (found == LANEPOOL_I_CLOCK_NONE)
        timers->state = next;
    lanepool_i_mutex_unlock(&timers->lock);
    return found;
}

/* Does this once no start is in progress. A thread is started without the lock, so a second caller
 * waits here to learn whether there is one. That happens once in a clock's life. */
static lanepool_i_clock_state await_clock_state(lanepool_i_timers *timers,
                                                lanepool_i_clock_state next)
{
    lanepool_i_clock_state found = claim_clock_state(timers, next);
    while (found == LANEPOOL_I_CLOCK_STARTING) {
        lanepool_i_yield();
        found = claim_clock_state(timers, next);
    }
    return found;
}

void lanepool_i_timers_join(lanepool_i_timers *timers)
{
    if (await_clock_state(timers, LANEPOOL_I_CLOCK_JOINED) != LANEPOOL_I_CLOCK_STARTED)
        return;
    if (timers->driver == NULL)
        lanepool_i_thread_join(&timers->thread);
    lanepool_i_mutex_lock(&timers->lock);
    timers->state = LANEPOOL_I_CLOCK_JOINED;
    lanepool_i_mutex_unlock(&timers->lock);
}

void lanepool_i_timers_fini(lanepool_i_timers *timers)
{
    lanepool_i_timers_end(timers);
    lanepool_i_timers_join(timers);
    lanepool_i_semaphore_fini(&timers->semaphore);
    lanepool_i_mutex_fini(&timers->lock);
}

bool lanepool_i_timers_start(lanepool_i_timers *timers)
{
    lanepool_i_clock_state found = await_clock_state(timers, LANEPOOL_I_CLOCK_STARTING);
    if (found != LANEPOOL_I_CLOCK_NONE)
        return found == LANEPOOL_I_CLOCK_STARTED;
    bool started =
        timers->driver != NULL || lanepool_i_thread_start(&timers->thread, 0, run_timers, timers);
    lanepool_i_mutex_lock(&timers->lock);
    timers->state = started ? LANEPOOL_I_CLOCK_STARTED : LANEPOOL_I_CLOCK_NONE;
    lanepool_i_mutex_unlock(&timers->lock);
    return started;
}

void lanepool_i_timers_interrupt(lanepool_i_timers *timers)
{
    lanepool_i_mutex_lock(&timers->lock);
    timers->pauses = true;
    post_clock_locked(timers);
    lanepool_i_mutex_unlock(&timers->lock);
}

/* --- adding and removing --- */

void lanepool_i_timers_add(lanepool_i_timers *timers, lanepool_i_timer *timer, uint64_t due_ns)
{
    lanepool_i_mutex_lock(&timers->lock);
    timer->due_ns = due_ns;
    timer->number = timers->next_number++;
    insert_locked(timers, timer);
    if (due_ns < timers->sleeps_until_ns)
        post_clock_locked(timers);
    lanepool_i_mutex_unlock(&timers->lock);
}

bool lanepool_i_timers_remove(lanepool_i_timers *timers, lanepool_i_timer *timer)
{
    lanepool_i_mutex_lock(&timers->lock);
    bool waited = timer->waits;
    if (waited)
        take_out_locked(timers, timer);
    lanepool_i_mutex_unlock(&timers->lock);
    return waited;
}

uint64_t lanepool_i_timers_serve_at(lanepool_i_timers *timers)
{
    uint64_t at_ns = UINT64_MAX;
    lanepool_i_mutex_lock(&timers->lock);
    if (timers->state == LANEPOOL_I_CLOCK_STARTED && !timers->ends) {
        const lanepool_i_timer *timer = earliest_locked(timers);
        at_ns = timer != NULL ? timer->due_ns : UINT64_MAX;
        at_ns = timers->pause_ns < at_ns ? timers->pause_ns : at_ns;
        at_ns = timers->pauses ? 0 : at_ns;
    }
    lanepool_i_mutex_unlock(&timers->lock);
    return at_ns;
}

void lanepool_i_timers_serve(lanepool_i_timers *timers, uint64_t now_ns, uint64_t most)
{
    lanepool_i_mutex_lock(&timers->lock);
    while (most-- > 0 && !timers->ends && fire_if_due(timers, now_ns))
        ;
    if (timers->pauses || timers->pause_ns <= now_ns)
        call_owner_pause(timers);
    lanepool_i_mutex_unlock(&timers->lock);
}

lanepool_i_timer *lanepool_i_timers_take_due(lanepool_i_timers *timers, uint64_t *next_ns)
{
    uint64_t now_ns = lanepool_i_clock_now();
    lanepool_i_mutex_lock(&timers->lock);
    lanepool_i_timer *timer = earliest_locked(timers);
    *next_ns = timer != NULL ? timer->due_ns : UINT64_MAX;
    if (*next_ns > now_ns)
        timer = NULL;
    if (timer != NULL)
        take_out_locked(timers, timer);
    lanepool_i_mutex_unlock(&timers->lock);
    return timer;
}

lanepool_i_timer *lanepool_i_timers_take(lanepool_i_timers *timers)
{
    lanepool_i_mutex_lock(&timers->lock);
    lanepool_i_timer *timer = timers->first[false];
    if (timer != NULL)
        take_out_locked(timers, timer);
    lanepool_i_mutex_unlock(&timers->lock);
    return timer;
}
