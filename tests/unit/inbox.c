/*
 * The inbox: the order in which nodes are taken, half-linked nodes, and closing. The test's thread
 * has the role. For an appender between its two steps, the test makes the steps one by one.
 */
#include <pthread.h>
#include <stdlib.h>

#include "route/inbox.h"
#include "support/test.h"
#include "unit/blocks.h"

enum { NODES = 8, APPENDERS = 2, MANY = 20000 };

struct fixture {
    lanepool_i_inbox inbox;
    struct plain_block nodes[NODES];
};

static void fixture_init(struct fixture *all)
{
    lanepool_i_inbox_init(&all->inbox);
    for (size_t i = 0; i < NODES; i++) {
        plain_init(&all->nodes[i], i, 1);
    }
}

static lanepool_i_task *node_of(struct fixture *all, size_t i)
{
    return &all->nodes[i].task;
}

/* Appends the nodes from `first` to `end` as one batch. */
static bool append(struct fixture *all, size_t first, size_t end)
{
    for (size_t i = first; i + 1 < end; i++) {
        store_relaxed(&node_of(all, i)->next, node_of(all, i + 1));
    }
    store_relaxed(&node_of(all, end - 1)->next, node_of(all, NODES - 1)); /* from an earlier list */
    return lanepool_i_inbox_append(&all->inbox, node_of(all, first), node_of(all, end - 1), NULL);
}

/* Makes the first step of an append. Returns where the second step stores the link. */
static _Atomic(lanepool_i_task *) *append_half(struct fixture *all, size_t i)
{
    lanepool_i_task *before;

    store_relaxed(&node_of(all, i)->next, NULL);
    before = exchange_seq(&all->inbox.tail, node_of(all, i));
    return before == NULL ? &all->inbox.head : &before->next;
}

/* Makes the second step. */
static void make_link(struct fixture *all, _Atomic(lanepool_i_task *) *link, size_t i)
{
    lanepool_i_inbox_make_link(&all->inbox, link, node_of(all, i));
}

/* Takes a node. Returns its index, or NODES if there is none. */
static size_t take(struct fixture *all)
{
    const lanepool_i_task *node = lanepool_i_inbox_take(&all->inbox);

    return node != NULL ? (size_t)lanepool_i_task_ticket(node) : NODES;
}

static void expect_taken(struct fixture *all, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        expect_eq(take(all), i);
    }
}

/* Checks what the role's holder sees, and what other threads see once it has published. */
static void expect_left(struct fixture *all, bool left)
{
    expect_eq(lanepool_i_inbox_more(&all->inbox), left);
    lanepool_i_inbox_publish(&all->inbox);
    expect_eq(lanepool_i_inbox_has_nodes(&all->inbox), left);
    expect_eq(lanepool_i_inbox_may_have_nodes(&all->inbox), left);
}

Test(inbox, an_empty_inbox_has_nothing_to_take)
{
    struct fixture all;

    fixture_init(&all);
    expect_eq(take(&all), NODES);
    expect(!lanepool_i_inbox_has_first(&all.inbox));
    expect_left(&all, false);
    expect(!lanepool_i_inbox_is_half_linked(&all.inbox));
}

Test(inbox, nodes_and_batches_are_taken_in_the_order_of_their_appends)
{
    struct fixture all;

    fixture_init(&all);
    for (int round = 0; round < 2; round++) {
        expect(append(&all, 0, 1));
        expect(append(&all, 1, 4));
        expect(append(&all, 4, 5));
        expect_taken(&all, 0, 2);
        expect(append(&all, 5, 7)); /* behind those that are taken and not routed */
        expect_taken(&all, 2, 7);
        expect_eq(take(&all), NODES);
        expect_left(&all, false);
    }
}

Test(inbox, a_guess_at_the_newest_node_may_be_right_or_wrong)
{
    struct fixture all;

    fixture_init(&all);
    for (size_t i = 0; i < NODES; i++) {
        lanepool_i_task *guess = i == 0 ? NULL : node_of(&all, i % 2 == 0 ? i - 1 : 0);

        expect(lanepool_i_inbox_append(&all.inbox, node_of(&all, i), node_of(&all, i), guess));
    }
    expect_taken(&all, 0, NODES);
    expect(lanepool_i_inbox_append(&all.inbox, node_of(&all, 0), node_of(&all, 0),
                                   node_of(&all, NODES - 1))); /* it is taken */
    expect_taken(&all, 0, 1);
    expect_eq(take(&all), NODES);
}

Test(inbox, other_threads_see_what_is_left_once_it_is_published)
{
    struct fixture all;

    fixture_init(&all);
    expect(append(&all, 0, 2));
    expect_left(&all, true); /* none is taken */
    expect_eq(take(&all), 0);
    expect_left(&all, true); /* one is taken and not routed */
    expect_eq(take(&all), 1);
    expect_left(&all, false);
}

Test(inbox, a_half_linked_first_node_is_not_there_yet)
{
    struct fixture all;
    _Atomic(lanepool_i_task *) *link;

    fixture_init(&all);
    link = append_half(&all, 0);
    expect_eq(take(&all), NODES);
    expect(!lanepool_i_inbox_has_first(&all.inbox));
    expect_left(&all, false);
    expect(append(&all, 1, 2)); /* behind it */
    expect_eq(take(&all), NODES);
    expect_left(&all, false);
    make_link(&all, link, 0);
    expect_left(&all, true);
    expect_taken(&all, 0, 2);
    expect_left(&all, false);
}

/* The node before the missing link is not taken either. The appender still writes its link. */
Test(inbox, the_taker_stops_before_a_missing_link)
{
    struct fixture all;
    _Atomic(lanepool_i_task *) *link;

    fixture_init(&all);
    expect(append(&all, 0, 2));
    link = append_half(&all, 2);
    expect(append(&all, 3, 4));
    expect_eq(take(&all), 0);
    expect_eq(take(&all), NODES);
    expect(!lanepool_i_inbox_more(&all.inbox));
    lanepool_i_inbox_publish(&all.inbox);
    expect(lanepool_i_inbox_is_half_linked(&all.inbox));
    expect(!lanepool_i_inbox_has_nodes(&all.inbox)); /* although a node is behind the link */
    expect(!lanepool_i_inbox_may_have_nodes(&all.inbox));
    make_link(&all, link, 2);
    expect_taken(&all, 1, 4);
    expect_left(&all, false);
    expect(!lanepool_i_inbox_is_half_linked(&all.inbox));
}

Test(inbox, an_append_after_all_was_taken_begins_a_new_list)
{
    struct fixture all;
    _Atomic(lanepool_i_task *) *link;

    fixture_init(&all);
    expect(append(&all, 0, 3));
    expect_eq(take(&all), 0); /* takes all */
    link = append_half(&all, 3);
    expect(link == &all.inbox.head);
    expect_taken(&all, 1, 3);
    expect_eq(take(&all), NODES);
    make_link(&all, link, 3);
    expect_eq(take(&all), 3);
}

Test(inbox, a_closed_inbox_refuses_appends)
{
    struct fixture all;

    fixture_init(&all);
    expect(lanepool_i_inbox_try_close(&all.inbox));
    expect(!append(&all, 0, 2));
    expect(
        !lanepool_i_inbox_append(&all.inbox, node_of(&all, 0), node_of(&all, 0), node_of(&all, 1)));
    expect_eq(take(&all), NODES);
    expect(!lanepool_i_inbox_has_first(&all.inbox));
    expect_left(&all, false);
    expect(lanepool_i_inbox_try_close(&all.inbox)); /* it stays closed */
}

Test(inbox, only_an_empty_inbox_is_closed)
{
    struct fixture all;
    _Atomic(lanepool_i_task *) *link;

    fixture_init(&all);
    expect(append(&all, 0, 2));
    expect(!lanepool_i_inbox_try_close(&all.inbox));
    expect_eq(take(&all), 0);
    expect(!lanepool_i_inbox_try_close(&all.inbox)); /* one is taken and not routed */
    expect_eq(take(&all), 1);
    link = append_half(&all, 2);
    expect(!lanepool_i_inbox_try_close(&all.inbox));
    make_link(&all, link, 2);
    expect(!lanepool_i_inbox_try_close(&all.inbox));
    expect_eq(take(&all), 2);
    expect(append(&all, 3, 4)); /* no attempt has closed it */
    expect_eq(take(&all), 3);
    expect(lanepool_i_inbox_try_close(&all.inbox));
}

/* --- several threads --- */

struct appender {
    lanepool_i_inbox *inbox;
    struct plain_block *nodes;
    bool refused;
};

/* Appends single nodes and pairs. */
static void *append_all(void *context)
{
    struct appender *appender = context;
    lanepool_i_task *newest = NULL;

    for (size_t i = 0; i < MANY;) {
        lanepool_i_task *first = &appender->nodes[i].task;
        lanepool_i_task *last = first;

        if (i % 3 == 0 && i + 1 < MANY) {
            last = &appender->nodes[i + 1].task;
            store_relaxed(&first->next, last);
        }
        if (!lanepool_i_inbox_append(appender->inbox, first, last, newest)) {
            appender->refused = true;
        }
        newest = last;
        i += last == first ? 1 : 2;
    }
    return NULL;
}

Test(inbox, each_threads_nodes_are_taken_once_each_in_their_order)
{
    lanepool_i_inbox inbox;
    struct appender appenders[APPENDERS];
    pthread_t threads[APPENDERS];
    size_t taken[APPENDERS] = { 0 };

    lanepool_i_inbox_init(&inbox);
    for (size_t i = 0; i < APPENDERS; i++) {
        appenders[i] = (struct appender){ .inbox = &inbox };
        appenders[i].nodes = aligned_alloc(64, MANY * sizeof *appenders[i].nodes);
        expect(appenders[i].nodes != NULL);
        for (size_t n = 0; n < MANY; n++) {
            plain_init(&appenders[i].nodes[n], i * MANY + n, 1);
        }
        expect_eq(pthread_create(&threads[i], NULL, append_all, &appenders[i]), 0);
    }
    for (size_t count = 0; count < APPENDERS * MANY;) {
        const lanepool_i_task *node = lanepool_i_inbox_take(&inbox);

        if (node == NULL) {
            lanepool_i_yield();
            continue;
        }
        count++;
        expect_eq(lanepool_i_task_ticket(node) % MANY,
                  taken[lanepool_i_task_ticket(node) / MANY]++);
    }
    expect(lanepool_i_inbox_take(&inbox) == NULL);
    for (size_t i = 0; i < APPENDERS; i++) {
        expect_eq(pthread_join(threads[i], NULL), 0);
        expect(!appenders[i].refused);
        free(appenders[i].nodes);
    }
}
