/* Owns the check of a journal: the lanes that it has seen, and the faults of entries. */
#include "lanepool/journal.h"

#include "inspect/key_list.h"
#include "inspect/memory.h"

#define NONE LANEPOOL_I_NO_INDEX

enum { MODES = LANEPOOL_COMMUTING + 1 };

/* The entries of a key so far. */
struct journal_lane {
    uint64_t latest[MODES]; /* for each mode the latest ticket of its entries; 0: there is none */
    uint64_t number;        /* the last lane number */
    uint64_t call;          /* the last call of lanepool_journal_check_add() with this key */
    size_t claim;           /* the first claim of the key in that call */
    lanepool_mode mode;     /* of all claims of the key in that call */
    bool has_number;        /* a lane number was seen */
};

struct lanepool_journal_check {
    uint64_t next_number;
    uint64_t call;           /* how many entries were given, whether they could be checked or not */
    uint64_t latest;         /* the latest ticket of all entries */
    uint64_t latest_barrier; /* of those that claim everything */
    lanepool_i_key_list keys;
    struct journal_lane *lanes; /* by key */
    size_t lane_capacity;
    size_t *claimed; /* the lane of each claim of the entry */
    size_t claimed_capacity;
};

/* Where the faults of an entry go. */
struct fault_list {
    lanepool_journal_fault *faults;
    size_t capacity;
    size_t count;
    uint64_t number; /* the entry's */
};

/* --- create and destroy --- */

lanepool_status lanepool_journal_check_create(uint64_t first_number, lanepool_journal_check **check)
{
    if (check == NULL)
        return LANEPOOL_INVALID;
    *check = lanepool_i_inspect_alloc_zeroed(sizeof **check);
    if (*check == NULL)
        return LANEPOOL_NOMEM;
    (*check)->next_number = first_number;
    return LANEPOOL_OK;
}

void lanepool_journal_check_destroy(lanepool_journal_check *check)
{
    if (check == NULL)
        return;
    lanepool_i_key_list_fini(&check->keys);
    lanepool_i_inspect_free(check->lanes);
    lanepool_i_inspect_free(check->claimed);
    lanepool_i_inspect_free(check);
}

/* --- lanes --- */

/* Returns the key's lane, which is added if needed; NONE if memory cannot be allocated. */
static size_t require_journal_lane(lanepool_journal_check *check, const lanepool_key *key)
{
    size_t count = check->keys.count;
    if (!lanepool_i_inspect_grow(&check->lanes, &check->lane_capacity, count + 1,
                                 sizeof *check->lanes))
        return NONE;
    size_t lane = lanepool_i_key_list_require(&check->keys, key);
    if (lane == count)
        check->lanes[lane] = (struct journal_lane){ .number = 0 };
    return lane;
}

/* --- claims --- */

static bool is_barrier_entry(const lanepool_journal_entry *entry)
{
    return entry->claim_count == 1 && entry->claims[0].key.type == LANEPOOL_KEY_ALL &&
           entry->claims[0].mode == LANEPOOL_EXCLUSIVE;
}

static bool are_entry_claims_valid(const lanepool_journal_entry *entry)
{
    if (entry->claim_count > LANEPOOL_CLAIMS_MAX ||
        (entry->claims == NULL && entry->claim_count > 0))
        return false;
    for (size_t i = 0; i < entry->claim_count; i++)
        if (entry->claims[i].mode >= MODES || !lanepool_i_key_is_plain(&entry->claims[i].key))
            return is_barrier_entry(entry);
    return true;
}

/* Finds the lane of each claim, and the mode of all claims of a lane. Returns false if memory
 * cannot be allocated. Then there may be new lanes, but no entries in them. */
static bool find_claimed_lanes(lanepool_journal_check *check, const lanepool_journal_entry *entry)
{
    check->call++;
    if (!lanepool_i_inspect_grow(&check->claimed, &check->claimed_capacity, entry->claim_count,
                                 sizeof *check->claimed))
        return false;
    for (size_t i = 0; i < entry->claim_count; i++) {
        lanepool_mode mode = (lanepool_mode)entry->claims[i].mode;
        size_t index = require_journal_lane(check, &entry->claims[i].key);
        if (index == NONE)
            return false;
        struct journal_lane *lane = &check->lanes[index];
        bool is_first = lane->call != check->call;
        check->claimed[i] = index;
        lane->claim = is_first ? i : lane->claim;
        /* A mode is a set of bits. The claims together overlap with what each of them does. */
        lane->mode = is_first ? mode : (lanepool_mode)(lane->mode & mode);
        lane->call = check->call;
    }
    return true;
}

/* --- faults --- */

static void add_fault(struct fault_list *list, lanepool_journal_fault_kind kind, size_t claim,
                      uint64_t expected, uint64_t found)
{
    if (list->count < list->capacity)
        list->faults[list->count] =
            (lanepool_journal_fault){ kind, list->number, claim, expected, found };
    list->count++;
}

static uint64_t later_of(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static void check_ticket(struct fault_list *list, size_t claim, uint64_t latest, uint64_t ticket)
{
    if (latest > ticket)
        add_fault(list, LANEPOOL_JOURNAL_FAULT_TICKET, claim, latest, ticket);
}

/* Checks the order in a lane, at its first claim. */
static void check_journal_order(const lanepool_journal_check *check, struct journal_lane *lane,
                                uint64_t ticket, struct fault_list *list)
{
    uint64_t latest = check->latest_barrier;
    for (unsigned mode = 0; mode < MODES; mode++)
        if (!lanepool_modes_overlap(mode, lane->mode))
            latest = later_of(latest, lane->latest[mode]);
    check_ticket(list, lane->claim, latest, ticket);
    lane->latest[lane->mode] = later_of(lane->latest[lane->mode], ticket);
}

/* All claims of a lane carry one number. The first number that is seen may be any, but the k-th
 * EXCLUSIVE entry has no number below 1. */
static void check_lane_number(struct journal_lane *lane, size_t claim, uint64_t found,
                              struct fault_list *list)
{
    if (!lane->has_number)
        lane->number = found == 0 && lane->mode == LANEPOOL_EXCLUSIVE ? 1 : found;
    lane->has_number = true;
    if (lane->number != found)
        add_fault(list, LANEPOOL_JOURNAL_FAULT_LANE_NUMBER, claim, lane->number, found);
    lane->number = found;
}

static void check_journal_claims(lanepool_journal_check *check, const lanepool_journal_entry *entry,
                                 struct fault_list *list)
{
    for (size_t i = 0; i < entry->claim_count; i++) {
        struct journal_lane *lane = &check->lanes[check->claimed[i]];
        if (lane->claim == i) {
            check_journal_order(check, lane, entry->ticket, list);
            lane->number += lane->mode == LANEPOOL_EXCLUSIVE;
        }
        if (entry->lane_numbers != NULL)
            check_lane_number(lane, i, entry->lane_numbers[i], list);
    }
    if (entry->claim_count == 0)
        check_ticket(list, SIZE_MAX, check->latest_barrier, entry->ticket);
}

lanepool_status lanepool_journal_check_add(lanepool_journal_check *check,
                                           const lanepool_journal_entry *entry,
                                           lanepool_journal_fault *faults, size_t capacity,
                                           size_t *count)
{
    if (count != NULL)
        *count = 0;
    if (check == NULL || entry == NULL || count == NULL || (faults == NULL && capacity > 0) ||
        !are_entry_claims_valid(entry))
        return LANEPOOL_INVALID;
    bool is_barrier = is_barrier_entry(entry);
    if (!is_barrier && !find_claimed_lanes(check, entry))
        return LANEPOOL_NOMEM;

    struct fault_list list = { faults, capacity, 0, entry->number };
    if (entry->number != check->next_number)
        add_fault(&list, LANEPOOL_JOURNAL_FAULT_NUMBER, SIZE_MAX, check->next_number,
                  entry->number);
    check->next_number = entry->number + 1;
    if (is_barrier) {
        check_ticket(&list, 0, check->latest, entry->ticket);
        check->latest_barrier = later_of(check->latest_barrier, entry->ticket);
    } else {
        check_journal_claims(check, entry, &list);
    }
    check->latest = later_of(check->latest, entry->ticket);
    *count = list.count;
    return list.count > 0 ? LANEPOOL_FAILED : LANEPOOL_OK;
}
