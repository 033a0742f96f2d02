/* An array that grows. Its items stay, and a refusal changes nothing. */
#include "base/vector.h"
#include "platform/platform.h"
#include "support/test.h"

enum { ITEMS = 1000 };

static void add_number(lanepool_i_vector *vector, int number)
{
    int *item = lanepool_i_vector_add(vector, sizeof *item);

    expect(item != NULL);
    *item = number;
}

static void expect_numbers(const lanepool_i_vector *vector, int count)
{
    const int *items = vector->items;

    expect_eq(vector->count, count);
    for (int i = 0; i < count; i++) {
        expect_eq(items[i], i);
    }
}

Test(vector, holds_what_was_added_in_order)
{
    lanepool_i_vector vector = { NULL, 0, 0 };

    for (int i = 0; i < ITEMS; i++) {
        add_number(&vector, i);
        expect(vector.count <= vector.capacity);
    }
    expect_numbers(&vector, ITEMS);
    lanepool_i_vector_fini(&vector);
}

Test(vector, growing_by_one_moves_the_items_seldom)
{
    lanepool_i_vector vector = { NULL, 0, 0 };
    size_t capacity = 0;
    int moves = 0;

    for (int i = 0; i < ITEMS; i++) {
        add_number(&vector, i);
        moves += vector.capacity != capacity;
        capacity = vector.capacity;
    }
    expect(moves <= 11); /* the capacity doubles */
    lanepool_i_vector_fini(&vector);
}

Test(vector, reserved_items_are_added_without_moving)
{
    lanepool_i_vector vector = { NULL, 0, 0 };
    const void *items;

    add_number(&vector, 0);
    add_number(&vector, 1);
    expect(lanepool_i_vector_reserve(&vector, ITEMS, sizeof(int)));
    expect_eq(vector.count, 2);
    items = vector.items;
    for (int i = 0; i < ITEMS; i++) {
        add_number(&vector, 2 + i);
    }
    expect(vector.items == items);
    expect_numbers(&vector, 2 + ITEMS);
    lanepool_i_vector_fini(&vector);
}

Test(vector, enough_room_is_left_as_it_is)
{
    lanepool_i_vector vector = { NULL, 0, 0 };
    const void *items;

    expect(lanepool_i_vector_reserve(&vector, 8, sizeof(int)));
    items = vector.items;
    expect(lanepool_i_vector_reserve(&vector, 8, sizeof(int)));
    expect(lanepool_i_vector_reserve(&vector, 0, sizeof(int)));
    expect(vector.items == items);
    expect_eq(vector.capacity, 8);
    lanepool_i_vector_fini(&vector);
}

Test(vector, a_refusal_changes_nothing)
{
    lanepool_i_vector vector = { NULL, 0, 0 };

    expect(lanepool_i_vector_add(&vector, SIZE_MAX) == NULL);
    expect_numbers(&vector, 0);
    for (int i = 0; i < 3; i++) {
        add_number(&vector, i);
    }
    expect(!lanepool_i_vector_reserve(&vector, SIZE_MAX - vector.count, 1));
    expect_numbers(&vector, 3);
    add_number(&vector, 3);
    expect_numbers(&vector, 4);
    lanepool_i_vector_fini(&vector);
}

Test(vector, is_empty_again_after_fini)
{
    lanepool_i_vector vector = { NULL, 0, 0 };

    add_number(&vector, 7);
    lanepool_i_vector_fini(&vector);
    expect(vector.items == NULL);
    expect_eq(vector.count, 0);
    expect_eq(vector.capacity, 0);
    add_number(&vector, 0);
    expect_numbers(&vector, 1);
    lanepool_i_vector_fini(&vector);
}
