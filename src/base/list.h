/*
 * Lists of items that contain their own links. An item is added and removed in constant time, and
 * no memory is allocated. A list and its items have one guard, which the owner of the list names.
 */
#ifndef LANEPOOL_SRC_BASE_LIST_H
#define LANEPOOL_SRC_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

/* A ring of links. The list's own link, in lanepool_i_list, is between the last and the first. */
typedef struct lanepool_i_link {
    struct lanepool_i_link *previous;
    struct lanepool_i_link *next;
} lanepool_i_link;

typedef struct lanepool_i_list {
    lanepool_i_link ends; /* `next` is the first link, `previous` the last */
} lanepool_i_list;

/* The item that contains the link as its `member`. */
#define LANEPOOL_I_ITEM(link, type, member) ((type *)((char *)(link)-offsetof(type, member)))

/* The item of a link that was read in the list: NULL for the list's own link. */
#define LANEPOOL_I_ITEM_OR_END(link, list, type, member) \
    ((link) == &(list)->ends ? (type *)NULL : LANEPOOL_I_ITEM(link, type, member))

/* The first item, or NULL. */
#define LANEPOOL_I_FIRST(list, type, member) \
    LANEPOOL_I_ITEM_OR_END((list)->ends.next, list, type, member)

/* The item after this one; NULL after the last one and after NULL. */
#define LANEPOOL_I_AFTER(item, list, type, member) \
    ((item) == NULL ? NULL : LANEPOOL_I_ITEM_OR_END((item)->member.next, list, type, member))

/* Visits the items from the first to the last. The body may remove or free the visited item, but no
 * other. */
#define LANEPOOL_I_EACH(type, item, list, member)                        \
    for (type *item = LANEPOOL_I_FIRST(list, type, member),              \
              *item##_next = LANEPOOL_I_AFTER(item, list, type, member); \
         item != NULL;                                                   \
         item = item##_next, item##_next = LANEPOOL_I_AFTER(item, list, type, member))

static inline void lanepool_i_list_init(lanepool_i_list *list)
{
    list->ends.previous = list->ends.next = &list->ends;
}

static inline bool lanepool_i_list_is_empty(const lanepool_i_list *list)
{
    return list->ends.next == &list->ends;
}

/* Adds a link in front of one that is in a list; in front of a list's own link, it is the last. */
static inline void lanepool_i_link_before(lanepool_i_link *next, lanepool_i_link *link)
{
    link->next = next;
    link->previous = next->previous;
    next->previous->next = link;
    next->previous = link;
}

/* Adds a link as the last one. */
static inline void lanepool_i_list_add(lanepool_i_list *list, lanepool_i_link *link)
{
    lanepool_i_link_before(&list->ends, link);
}

/* Removes a link from its list, if it has not been removed since it was added. */
static inline void lanepool_i_unlink(lanepool_i_link *link)
{
    link->previous->next = link->next;
    link->next->previous = link->previous;
    link->previous = link->next = link;
}

/* Removes the first link and returns it. Returns NULL if the list is empty. */
static inline lanepool_i_link *lanepool_i_list_take(lanepool_i_list *list)
{
    lanepool_i_link *first = list->ends.next;
    if (first == &list->ends)
        return NULL;
    lanepool_i_unlink(first);
    return first;
}

#endif
