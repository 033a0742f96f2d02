/*
 * Litmus programs of the lane. One thread has the role: it makes the tasks, appends their entries
 * and may freeze, pause and cancel. Two threads run what is granted. Ready tasks pass from thread
 * to thread in slots that carry no more than a ready ring does.
 */
#include "simulator/litmus.h"
#include "unit/blocks.h"

enum { TASKS_MAX = 6, RUNNERS = 2, ROUTER = RUNNERS };

static struct {
    lanepool_i_lane lane;
    struct plain_block blocks[TASKS_MAX];
    _Atomic(lanepool_i_task *) slots[TASKS_MAX]; /* ready, by the task's number */
    const char *modes;                           /* a letter for each task: S or X */
    void (*route)(lanepool_i_grants *grants);
    uint32_t count;
    uint32_t parked;     /* the number of a task that is granted, and not run yet; or TASKS_MAX */
    atomic_uint left;    /* tasks that have not run or passed */
    uint32_t data;       /* the lane guards it */
    uint32_t config;     /* the role's holder writes it while the lane is paused */
    uint32_t configured; /* the number of the first task that reads it */
    _Alignas(64) lanepool_i_gate gate;
} all;

static uint32_t number_of(const lanepool_i_task *task)
{
    return (uint32_t)((const struct plain_block *)(const void *)task - all.blocks);
}

static void put(lanepool_i_grants *grants)
{
    lanepool_i_task *task;

    while ((task = lanepool_i_tasks_take(&grants->ready)) != NULL)
        store_release(&all.slots[number_of(task)], task);
}

static bool is_exclusive(uint32_t number)
{
    return all.modes[number] == 'X';
}

/* A task that was made ready by an acquire of its slot alone. */
static void run(lanepool_i_task *task)
{
    lanepool_i_grants grants = lanepool_i_no_grants(NULL);
    bool is_tombstone = (task->as.plain[0].at.bits & LANEPOOL_I_ENTRY_TOMBSTONE) != 0;

    if (!is_tombstone) {
        if (number_of(task) >= all.configured && all.config != 1)
            sim_fail("a task runs before the gate was opened");
        if (is_exclusive(number_of(task)))
            all.data++;
        else if (all.data > TASKS_MAX)
            sim_fail("data that no task has written");
        lanepool_i_lane_release(&all.lane, &grants);
        put(&grants);
    }
    atomic_fetch_sub_explicit(&all.left, 1, memory_order_relaxed);
}

static void run_all(void)
{
    while (atomic_load_explicit(&all.left, memory_order_relaxed) > 0) {
        bool any = false;
        for (uint32_t i = 0; i < all.count; i++) {
            lanepool_i_task *task = load_relaxed(&all.slots[i]);
            if (task == NULL || exchange_acquire(&all.slots[i], NULL) == NULL)
                continue;
            any = true;
            run(task);
        }
        if (!any)
            lanepool_i_yield();
    }
}

/* --- what the role's holder does --- */

static void append(uint32_t number, lanepool_i_grants *grants)
{
    struct plain_block *block = &all.blocks[number];
    lanepool_mode mode = is_exclusive(number) ? LANEPOOL_EXCLUSIVE : LANEPOOL_SHARED;

    plain_init(block, number + 1, 1);
    atomic_init(&block->task.as.plain[0].next, 8); /* the submitter's guess of a later task */
    block->task.as.plain[0].at.lane = &all.lane;
    if (lanepool_i_lane_append(&all.lane, plain_link(block, 0, mode), grants) &&
        number != all.parked)
        lanepool_i_grants_add(grants, &block->task);
    put(grants);
}

static void append_all(lanepool_i_grants *grants)
{
    for (uint32_t i = 0; i < all.count; i++)
        append(i, grants);
}

static void close_gate(uint64_t ticket, lanepool_i_grants *grants)
{
    lanepool_i_lane_close_gate(&all.lane, &all.gate, ticket, grants);
    put(grants);
}

/* After the gate has passed no other thread accesses it: the role's holder writes to it again. */
static void open_gate(lanepool_i_grants *grants)
{
    lanepool_i_lane_open_gate(&all.gate, grants);
    put(grants);
    while (!lanepool_i_gate_has_passed(&all.gate))
        lanepool_i_yield();
    all.gate.entry.owner = 0;
    all.gate.lane = NULL;
    atomic_init(&all.gate.state, 0);
    atomic_init(&all.gate.entry.entry.next, 0);
    atomic_init(&all.gate.block.word, 0);
}

/* Tasks behind the gate see what was written before it is opened. */
static void pause_in_front(lanepool_i_grants *grants)
{
    all.configured = 2;
    append(0, grants);
    append(1, grants);
    close_gate(3, grants);
    append(2, grants);
    all.config = 1;
    open_gate(grants);
    append(3, grants);
}

static void pause_twice(lanepool_i_grants *grants)
{
    append(0, grants);
    close_gate(2, grants);
    open_gate(grants);
    append(1, grants);
    append(2, grants);
    close_gate(4, grants);
    append(3, grants);
    open_gate(grants);
}

/* Task 0 stays granted, as a parked one, while the waiting exclusive tasks are taken out. */
static void take_out(lanepool_i_grants *grants)
{
    all.parked = 0;
    append_all(grants);
    if (lanepool_i_lane_freeze(&all.lane)) {
        uintptr_t next;
        for (uintptr_t link = load_relaxed(lanepool_i_lane_head(&all.lane)); link != 0;
             link = next) {
            next = load_relaxed(&lanepool_i_link_entry(link)->next);
            uint32_t number = number_of(lanepool_i_link_task(link));
            if (!is_exclusive(number))
                continue;
            lanepool_i_lane_take_out(&all.lane, &all.blocks[number].task.as.plain[0]);
            all.blocks[number].task.as.plain[0].at.bits |= LANEPOOL_I_ENTRY_TOMBSTONE;
            atomic_fetch_sub_explicit(&all.left, 1, memory_order_relaxed);
        }
        lanepool_i_lane_grant_overlapping(&all.lane, grants);
        lanepool_i_lane_thaw(&all.lane, grants);
        put(grants);
    }
    store_release(&all.slots[0], &all.blocks[0].task);
}

static void freeze_often(lanepool_i_grants *grants)
{
    for (uint32_t i = 0; i < all.count; i++) {
        append(i, grants);
        if (lanepool_i_lane_freeze(&all.lane)) {
            uintptr_t link = load_relaxed(lanepool_i_lane_head(&all.lane));
            for (; link != 0; link = load_relaxed(&lanepool_i_link_entry(link)->next))
                if (lanepool_i_link_entry(link)->at.lane != &all.lane)
                    sim_fail("an entry of another lane");
            lanepool_i_lane_thaw(&all.lane, grants);
            put(grants);
        }
    }
}

/* Makes the waiting tasks tombstones. */
static void bury(lanepool_i_grants *grants)
{
    append_all(grants);
    if (!lanepool_i_lane_freeze(&all.lane))
        return;
    uintptr_t link = load_relaxed(lanepool_i_lane_head(&all.lane));
    for (; link != 0; link = load_relaxed(&lanepool_i_link_entry(link)->next))
        if (number_of(lanepool_i_link_task(link)) % 2 == 1)
            lanepool_i_link_entry(link)->at.bits |= LANEPOOL_I_ENTRY_TOMBSTONE;
    lanepool_i_lane_thaw(&all.lane, grants);
    put(grants);
}

/* After the lane is idle no other thread accesses it: the role's holder may free it. */
static void free_when_idle(lanepool_i_grants *grants)
{
    append_all(grants);
    while (!lanepool_i_lane_is_idle(&all.lane))
        lanepool_i_yield();
    all.data++;
    all.data--;
    lanepool_i_lane_init(&all.lane);
}

/* --- a program --- */

static void play(uint32_t thread)
{
    if (thread == ROUTER) {
        lanepool_i_grants grants = lanepool_i_no_grants(NULL);
        all.route(&grants);
    } else {
        run_all();
    }
}

static void play_lane(const char *modes, void (*route)(lanepool_i_grants *grants))
{
    uint32_t writers = 0;

    all.modes = modes;
    all.route = route;
    all.count = (uint32_t)strlen(modes);
    all.data = 0;
    all.parked = TASKS_MAX;
    all.configured = TASKS_MAX;
    all.config = 0;
    atomic_init(&all.left, all.count);
    lanepool_i_lane_init(&all.lane);
    for (uint32_t i = 0; i < TASKS_MAX; i++)
        atomic_init(&all.slots[i], NULL);
    litmus_threads(RUNNERS + 1, play);
    for (uint32_t i = 0; i < all.count; i++)
        writers += is_exclusive(i) &&
                   (all.blocks[i].task.as.plain[0].at.bits & LANEPOOL_I_ENTRY_TOMBSTONE) == 0;
    if (all.data != writers)
        sim_fail("%u writers, and the data says %u", writers, all.data);
    if (!lanepool_i_lane_is_idle(&all.lane))
        sim_fail("the lane is not idle");
}

LITMUS(lane_writers)
{
    (void)unused;
    play_lane("XXXX", append_all);
}

LITMUS(lane_mixed)
{
    (void)unused;
    play_lane("SSXSX", append_all);
}

LITMUS(lane_readers_last)
{
    (void)unused;
    play_lane("XSSX", append_all);
}

LITMUS(lane_readers)
{
    (void)unused;
    play_lane("XSSSS", append_all);
}

LITMUS(lane_gate)
{
    (void)unused;
    play_lane("XXXX", pause_in_front);
}

LITMUS(lane_gate_twice)
{
    (void)unused;
    play_lane("SXXX", pause_twice);
}

LITMUS(lane_freeze)
{
    (void)unused;
    play_lane("XXSSX", freeze_often);
}

LITMUS(lane_take_out)
{
    (void)unused;
    play_lane("SSXSS", take_out);
}

LITMUS(lane_take_out_all)
{
    (void)unused;
    play_lane("SSXX", take_out);
}

LITMUS(lane_tombstones)
{
    (void)unused;
    play_lane("XXXXX", bury);
}

LITMUS(lane_idle)
{
    (void)unused;
    play_lane("SSX", free_when_idle);
}
