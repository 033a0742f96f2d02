/* Gates: entries of no task, which block a lane until they are opened. */
#include "unit/lane_tasks.h"

struct aligned_gate {
    _Alignas(64) lanepool_i_gate gate;
};

static void close_gate(struct lane_tasks *all, lanepool_i_gate *gate, uint64_t ticket)
{
    lanepool_i_lane_close_gate(&all->lane, gate, ticket, &all->grants);
    expect(!lanepool_i_gate_has_passed(gate));
}

static void open_gate(struct lane_tasks *all, lanepool_i_gate *gate)
{
    lanepool_i_lane_open_gate(gate, &all->grants);
}

Test(lane_gates, a_gate_holds_an_idle_lane)
{
    struct lane_tasks all;
    struct aligned_gate gate;

    lane_tasks_init(&all);
    close_gate(&all, &gate.gate, 1);
    expect(!lanepool_i_lane_is_idle(&all.lane));
    append_waiting(&all, "a", LANEPOOL_EXCLUSIVE);
    append_waiting(&all, "b", LANEPOOL_SHARED);
    expect_ready(&all, "");
    open_gate(&all, &gate.gate);
    expect(lanepool_i_gate_has_passed(&gate.gate));
    expect_ready(&all, "a");
    release(&all);
    expect_ready(&all, "b");
    release(&all);
    expect_idle(&all);
}

Test(lane_gates, a_gate_opened_before_any_entry_waits_leaves_the_lane_idle)
{
    struct lane_tasks all;
    struct aligned_gate gate;

    lane_tasks_init(&all);
    close_gate(&all, &gate.gate, 1);
    open_gate(&all, &gate.gate);
    expect(lanepool_i_gate_has_passed(&gate.gate));
    expect_idle(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
}

Test(lane_gates, granted_tasks_run_on_and_the_gate_holds_the_lane_behind_them)
{
    struct lane_tasks all;
    struct aligned_gate gate;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_SHARED));
    expect(append(&all, 'b', LANEPOOL_SHARED));
    close_gate(&all, &gate.gate, 3);
    append_waiting(&all, "c", LANEPOOL_SHARED); /* although SHARED entries are granted */
    release(&all);
    release(&all);
    expect_ready(&all, "");
    expect(!lanepool_i_gate_has_passed(&gate.gate));
    open_gate(&all, &gate.gate);
    expect(lanepool_i_gate_has_passed(&gate.gate));
    expect_ready(&all, "c");
    release(&all);
    expect_idle(&all);
}

Test(lane_gates, a_gate_is_placed_before_all_waiting_entries)
{
    struct lane_tasks all;
    struct aligned_gate gate;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "bc", LANEPOOL_EXCLUSIVE);
    close_gate(&all, &gate.gate, 4);
    append_waiting(&all, "d", LANEPOOL_EXCLUSIVE);
    release(&all);
    expect_ready(&all, "");
    open_gate(&all, &gate.gate);
    for (const char *next = "bcd"; *next != '\0'; next++) {
        expect_ready(&all, ((char[]){ *next, '\0' }));
        release(&all);
    }
    expect_idle(&all);
}

Test(lane_gates, a_gate_that_was_opened_before_its_turn_passes)
{
    struct lane_tasks all;
    struct aligned_gate gate;

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "b", LANEPOOL_EXCLUSIVE);
    close_gate(&all, &gate.gate, 3);
    open_gate(&all, &gate.gate);
    expect(!lanepool_i_gate_has_passed(&gate.gate));
    expect_ready(&all, "");
    release(&all);
    expect(lanepool_i_gate_has_passed(&gate.gate));
    expect_ready(&all, "b");
    release(&all);
    expect_idle(&all);
}

Test(lane_gates, two_gates_hold_the_lane_until_both_are_open)
{
    struct lane_tasks all;
    struct aligned_gate gates[2];

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "b", LANEPOOL_EXCLUSIVE);
    close_gate(&all, &gates[0].gate, 3);
    close_gate(&all, &gates[1].gate, 3); /* before the first one */
    release(&all);
    open_gate(&all, &gates[1].gate);
    expect(lanepool_i_gate_has_passed(&gates[1].gate));
    expect_ready(&all, "");
    open_gate(&all, &gates[0].gate);
    expect(lanepool_i_gate_has_passed(&gates[0].gate));
    expect_ready(&all, "b");
    release(&all);
    expect_idle(&all);
}

Test(lane_gates, a_gate_is_no_task_and_has_the_ticket_of_the_entry_behind_it)
{
    struct lane_tasks all;
    struct aligned_gate gates[2];

    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    close_gate(&all, &gates[0].gate, 99);
    expect(lanepool_i_is_gate(&gates[0].gate.block));
    expect(lanepool_i_task_is_tombstone(&gates[0].gate.block));
    expect_eq(lanepool_i_task_ticket(&gates[0].gate.block), 99);
    expect(!lanepool_i_is_gate(&block_of(&all, 'a')->task));
    lane_tasks_init(&all);
    expect(append(&all, 'a', LANEPOOL_EXCLUSIVE));
    append_waiting(&all, "e", LANEPOOL_EXCLUSIVE);
    close_gate(&all, &gates[1].gate, 99);
    expect(lanepool_i_is_gate(&gates[1].gate.block));
    expect_eq(lanepool_i_task_ticket(&gates[1].gate.block),
              lanepool_i_task_ticket(&block_of(&all, 'e')->task));
}
