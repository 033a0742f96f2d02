/* A task's word, and lists of tasks. */
#include "support/test.h"
#include "unit/blocks.h"

enum { TASKS = 4 };

Test(task, a_ticket_comes_before_another_across_the_wrap_around)
{
    uint64_t last = (UINT64_MAX >> LANEPOOL_I_TICKET_SHIFT);

    expect(lanepool_i_ticket_before(0, 1));
    expect(!lanepool_i_ticket_before(1, 0));
    expect(!lanepool_i_ticket_before(5, 5));
    expect(lanepool_i_ticket_before(last, 0));
    expect(!lanepool_i_ticket_before(0, last));
    expect(lanepool_i_ticket_before(last - 1, last));
}

Test(task, the_word_tells_plain_tasks_from_wide_ones)
{
    uint64_t last = (UINT64_MAX >> LANEPOOL_I_TICKET_SHIFT);
    struct plain_block plain;
    struct wide_block wide;

    for (uint32_t claims = 0; claims <= 2; claims++) {
        plain_init(&plain, last, claims);
        expect(!lanepool_i_task_is_wide(&plain.task));
        expect_eq(lanepool_i_task_count(&plain.task), claims);
        expect_eq(lanepool_i_task_ticket(&plain.task), last);
        expect_eq(lanepool_i_task_tag(&plain.task), 0);
    }
    wide_init(&wide, last, WIDE_ENTRIES_MAX);
    wide.task.as.wide.tag = 255;
    expect(lanepool_i_task_is_wide(&wide.task));
    expect_eq(lanepool_i_task_count(&wide.task), WIDE_ENTRIES_MAX);
    expect_eq(lanepool_i_task_ticket(&wide.task), last);
    expect_eq(lanepool_i_task_tag(&wide.task), 255);
}

Test(task, a_barrier_is_a_task_without_entries)
{
    struct plain_block block;

    plain_init(&block, 1, 0);
    expect(!lanepool_i_task_is_barrier(&block.task));
    fetch_or_relaxed(&block.task.word, LANEPOOL_I_BARRIER);
    expect(lanepool_i_task_is_barrier(&block.task));
    plain_init(&block, 1, 1);
    fetch_or_relaxed(&block.task.word,
                     LANEPOOL_I_BARRIER); /* with an entry this bit is part of a key's type */
    expect(!lanepool_i_task_is_barrier(&block.task));
}

Test(task, the_class_of_the_block_is_in_the_word)
{
    struct plain_block block;

    for (uint64_t class = 0; class <= LANEPOOL_I_CLASS_MASK; class ++) {
        plain_init(&block, UINT64_MAX >> LANEPOOL_I_TICKET_SHIFT, 1);
        fetch_or_relaxed(&block.task.word, LANEPOOL_I_WIDE | class << LANEPOOL_I_CLASS_SHIFT);
        expect_eq(lanepool_i_task_class(&block.task), class);
        expect(!lanepool_i_task_is_tombstone(&block.task));
        fetch_or_relaxed(&block.task.word, LANEPOOL_I_TOMBSTONE);
        expect(lanepool_i_task_is_tombstone(&block.task));
        expect_eq(lanepool_i_task_class(&block.task), class);
    }
}

Test(task, a_plain_task_with_one_claim_has_its_record_in_place_of_the_second_entry)
{
    struct plain_block blocks[2];
    lanepool_i_task *task = &blocks[0].task;
    lanepool_future *record = (lanepool_future *)&blocks[1];

    plain_init(&blocks[0], 1, 1);
    expect(lanepool_i_task_future(task) == NULL);
    lanepool_i_task_set_record(task, record);
    expect(lanepool_i_task_future(task) == record);
    expect_eq(lanepool_i_task_class(task), LANEPOOL_I_PLAIN_CLASS);
}

Test(task, a_plain_task_with_two_claims_has_its_record_in_the_line_behind)
{
    struct plain_block blocks[2]; /* the second one is the line */
    lanepool_i_task *task = &blocks[0].task;
    lanepool_future *record = (lanepool_future *)&blocks[1];

    plain_init(&blocks[0], 1, 2);
    fetch_or_relaxed(&task->word, (uint64_t)LANEPOOL_I_ROOMY_CLASS << LANEPOOL_I_CLASS_SHIFT);
    lanepool_i_task_set_record(task, record);
    expect(lanepool_i_task_future(task) == record);
    expect_eq(lanepool_i_task_class(task), LANEPOOL_I_ROOMY_CLASS);
    expect_eq(lanepool_i_task_count(task), 2);
}

Test(task, a_list_is_taken_in_the_order_of_adding)
{
    struct plain_block blocks[TASKS];
    lanepool_i_tasks list = { NULL, NULL, 0 };

    expect(lanepool_i_tasks_take(&list) == NULL);
    for (int round = 0; round < 2; round++) { /* an empty list can be used again */
        for (size_t i = 0; i < TASKS; i++) {
            plain_init(&blocks[i], i, 1);
            lanepool_i_tasks_add(&list, &blocks[i].task);
            expect_eq(list.count, i + 1);
        }
        for (size_t i = 0; i < TASKS; i++) {
            expect(lanepool_i_tasks_take(&list) == &blocks[i].task);
        }
        expect(lanepool_i_tasks_take(&list) == NULL);
        expect_eq(list.count, 0);
    }
}

Test(task, a_task_is_collected_once)
{
    struct plain_block blocks[2];
    lanepool_i_tasks list = { NULL, NULL, 0 };

    for (size_t i = 0; i < 2; i++) {
        plain_init(&blocks[i], i, 1);
    }
    for (int times = 0; times < 3; times++) {
        lanepool_i_tasks_add_unvisited(&list, &blocks[0].task);
        lanepool_i_tasks_add_unvisited(&list, &blocks[1].task);
    }
    expect_eq(list.count, 2);
    expect(lanepool_i_tasks_take(&list) == &blocks[0].task);
    expect(lanepool_i_tasks_take(&list) == &blocks[1].task);
    expect(lanepool_i_tasks_take(&list) == NULL);
}
