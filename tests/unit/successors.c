/* The list of a task's successors: edges are pushed until it is closed. */
#include <pthread.h>

#include "support/test.h"
#include "task/successors.h"

enum { EDGES = 20000, ROUNDS = 20 };

struct fixture {
    lanepool_i_successors successors;
    lanepool_i_edge edges[EDGES];
    size_t pushed; /* edges that were not refused */
};

static void fixture_init(struct fixture *list)
{
    atomic_init(&list->successors, NULL);
    list->pushed = 0;
    for (size_t i = 0; i < EDGES; i++) {
        list->edges[i] = (lanepool_i_edge){ NULL, NULL };
    }
}

/* Closes the list, as the thread that finishes the task does. */
static lanepool_i_edge *close_list(struct fixture *list)
{
    return exchange_acq_rel(&list->successors, LANEPOOL_I_CLOSED);
}

static size_t count_edges(const lanepool_i_edge *edge)
{
    size_t count = 0;

    for (; edge != NULL; edge = edge->next) {
        count++;
    }
    return count;
}

Test(successors, an_open_list_takes_edges_and_a_closed_one_does_not)
{
    static struct fixture list;

    fixture_init(&list);
    expect(!lanepool_i_successors_closed(&list.successors));
    expect(lanepool_i_successors_push(&list.successors, &list.edges[0]));
    expect(!lanepool_i_successors_closed(&list.successors));
    expect(close_list(&list) == &list.edges[0]);
    expect(lanepool_i_successors_closed(&list.successors));
    expect(!lanepool_i_successors_push(&list.successors, &list.edges[1]));
    expect(lanepool_i_successors_closed(&list.successors));
}

Test(successors, a_list_without_edges_closes_empty)
{
    static struct fixture list;

    fixture_init(&list);
    expect(close_list(&list) == NULL);
    expect(!lanepool_i_successors_push(&list.successors, &list.edges[0]));
}

Test(successors, each_pushed_edge_is_there_once_when_the_list_is_closed)
{
    static struct fixture list;
    lanepool_i_task tasks[3];
    unsigned seen = 0;
    size_t count = 0;

    fixture_init(&list);
    for (size_t i = 0; i < 3; i++) {
        list.edges[i].waiting = &tasks[i];
        expect(lanepool_i_successors_push(&list.successors, &list.edges[i]));
    }
    for (const lanepool_i_edge *edge = close_list(&list); edge != NULL; edge = edge->next) {
        seen |= 1u << (edge->waiting - tasks);
        count++;
    }
    expect_eq(seen, 7);
    expect_eq(count, 3);
}

static void *push_until_refused(void *context)
{
    struct fixture *list = context;

    while (list->pushed < EDGES &&
           lanepool_i_successors_push(&list->successors, &list->edges[list->pushed])) {
        list->pushed++;
    }
    return NULL;
}

Test(successors, an_edge_is_either_served_or_refused)
{
    static struct fixture list;

    for (int round = 0; round < ROUNDS; round++) {
        lanepool_i_edge *served;
        pthread_t thread;

        fixture_init(&list);
        expect_eq(pthread_create(&thread, NULL, push_until_refused, &list), 0);
        while (load_relaxed(&list.successors) == NULL) {
            lanepool_i_yield();
        }
        served = close_list(&list);
        expect_eq(pthread_join(thread, NULL), 0);
        expect(list.pushed > 0);
        expect_eq(count_edges(served), list.pushed);
    }
}
