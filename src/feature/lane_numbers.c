/* Owns the copies of claims, and the table of lane numbers; see lane_numbers.h. */
#include "feature/lane_numbers.h"

#include "base/planted.h"
#include "core/task_build.h"
#include "lane/mode.h"
#include "route/lane_handle.h"
#include "route/program_key.h"

#include <string.h>

/* --- copies of claims --- */

static lanepool_i_key_bytes *bytes_of(const lanepool_claim *claim)
{
    return (lanepool_i_key_bytes *)((char *)claim->key.bytes -
                                    offsetof(lanepool_i_key_bytes, data));
}

static size_t copy_size(size_t count)
{
    return sizeof(lanepool_i_claims_copy) +
           count * (sizeof(lanepool_claim) + sizeof(lanepool_i_numbered_lane) + sizeof(uint64_t));
}

static void free_copy(lanepool_pool *pool, lanepool_i_thread_record *record,
                      lanepool_i_claims_copy *copy)
{
    for (size_t i = 0; i < copy->count + copy->dropped; i++)
        if (copy->claims[i].key.type == LANEPOOL_KEY_BYTES)
            lanepool_i_key_bytes_give(pool, record, bytes_of(&copy->claims[i]));
    lanepool_i_slab_give(&pool->slab, &record->cache, copy->class, copy);
}

/* The claims are valid, so a key that is no handle is a number, an address or bytes: a barrier has
 * no claims here. */
static bool copy_claim(lanepool_pool *pool, lanepool_i_thread_record *record,
                       const lanepool_claim *claim, lanepool_claim *copy)
{
    *copy = *claim;
    if (copy->key.type == LANEPOOL_KEY_LANE)
        copy->key = lanepool_i_key_for_program(&claim->key.lane->key);
    if (copy->key.type != LANEPOOL_KEY_BYTES)
        return true;
    lanepool_i_key_bytes *bytes =
        lanepool_i_key_bytes_copy(pool, record, copy->key.bytes, copy->key.size);
    if (bytes == NULL)
        return false;
    copy->key.bytes = bytes->data;
    return true;
}

/* Makes a copy without claims, and with room for `most`. */
static lanepool_i_claims_copy *make_empty(lanepool_pool *pool, lanepool_i_thread_record *record,
                                          size_t most)
{
    size_t size = copy_size(most);
    size_t class = lanepool_i_slab_class_of(size);
    lanepool_i_claims_copy *copy = lanepool_i_slab_take(&pool->slab, &record->cache, class, size);
    if (copy == NULL)
        return NULL;
    atomic_init(&copy->references, 1);
    copy->class = (uint32_t) class;
    copy->count = 0;
    copy->dropped = 0;
    copy->lanes = (lanepool_i_numbered_lane *)&copy->claims[most];
    copy->numbers = (uint64_t *)&copy->lanes[most];
    copy->batch = 0;
    copy->whole = NULL;
    return copy;
}

static bool add_copied_claim(lanepool_pool *pool, lanepool_i_thread_record *record,
                             lanepool_i_claims_copy *copy, const lanepool_claim *claim)
{
    bool added = copy_claim(pool, record, claim, &copy->claims[copy->count]);
    copy->count += added;
    return added;
}

bool lanepool_i_claims_copy_make(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 const lanepool_task *task, lanepool_i_claims_copy **made)
{
    *made = NULL;
    if (task->claim_count == 0)
        return true;
    lanepool_i_claims_copy *copy = make_empty(pool, record, task->claim_count);
    bool whole = copy != NULL;
    for (size_t i = 0; i < task->claim_count && whole; i++)
        whole = add_copied_claim(pool, record, copy, &task->claims[i]);
    if (whole)
        *made = copy;
    else
        lanepool_i_claims_copy_give(pool, record, copy);
    return whole;
}

bool lanepool_i_claims_copy_divide(lanepool_pool *pool, lanepool_i_thread_record *record,
                                   const lanepool_i_claims_copy *copy, lanepool_key key,
                                   lanepool_i_claims_copy **of_key,
                                   lanepool_i_claims_copy **of_others)
{
    *of_key = NULL;
    *of_others = NULL;
    if (copy == NULL)
        return true;
    size_t of_this = 0;
    for (size_t i = 0; i < copy->count; i++)
        of_this += lanepool_i_program_keys_are_equal(pool, copy->claims[i].key, key);
    *of_key = make_empty(pool, record, of_this);
    *of_others = make_empty(pool, record, copy->count - of_this);
    bool whole = *of_key != NULL && *of_others != NULL;
    for (size_t i = 0; i < copy->count && whole; i++) {
        const lanepool_claim *claim = &copy->claims[i];
        bool is_of_key = lanepool_i_program_keys_are_equal(pool, claim->key, key);
        whole = add_copied_claim(pool, record, is_of_key ? *of_key : *of_others, claim);
    }
    if (!whole) {
        lanepool_i_claims_copy_give(pool, record, *of_key);
        lanepool_i_claims_copy_give(pool, record, *of_others);
    }
    return whole;
}

void lanepool_i_claims_copy_drop_missing(const lanepool_pool *pool, lanepool_i_claims_copy *copy,
                                         lanepool_i_task *task)
{
    for (size_t i = copy->count; i-- > 0;) {
        lanepool_claim claim = copy->claims[i];
        if (pool->rule->has_claim(pool, task, claim))
            continue;
        copy->count--;
        copy->dropped++;
        memmove(&copy->claims[i], &copy->claims[i + 1], (copy->count - i) * sizeof claim);
        copy->claims[copy->count] = claim;
    }
}

void lanepool_i_claims_copy_give(lanepool_pool *pool, lanepool_i_thread_record *record,
                                 lanepool_i_claims_copy *copy)
{
    while (copy != NULL && fetch_sub_acq_rel(&copy->references, 1) == 1) {
        lanepool_i_claims_copy *whole = copy->whole;
        free_copy(pool, record, copy);
        copy = whole;
    }
}

/* A receiver may use the first copy, too, so it does not change here. A periodic task leaves no
 * poisoned lanes: nothing was dropped from it. */
lanepool_i_claims_copy *lanepool_i_claims_copy_renew(lanepool_pool *pool,
                                                     lanepool_i_thread_record *record,
                                                     lanepool_i_claims_copy *copy)
{
    if (copy == NULL || copy->whole == NULL)
        return copy;
    lanepool_i_claims_copy *first = copy->whole;
    fetch_add_relaxed(&first->references, 1);
    lanepool_i_claims_copy_give(pool, record, copy);
    return first;
}

/* --- the table --- */

bool lanepool_i_lane_numbers_init(lanepool_i_lane_numbers *numbers,
                                  const lanepool_journal_options *options, lanepool_pool *pool)
{
    *numbers = (lanepool_i_lane_numbers){ .last_number = options->last_lane_number,
                                          .user = pool->options.user };
    if (!options->lane_numbers)
        return true;
    numbers->is_made = lanepool_i_key_index_init(&numbers->index, pool->lane_table.index.seed,
                                                 pool->options.allocator);
    return numbers->is_made;
}

static void chain_lane(lanepool_i_key *key, void *context)
{
    lanepool_i_key **first = context;
    key->next = *first;
    *first = key;
}

/* The copies go when the walk over the table is over: a copy may have several records. */
void lanepool_i_lane_numbers_fini(lanepool_i_lane_numbers *numbers, lanepool_pool *pool,
                                  lanepool_i_thread_record *record)
{
    lanepool_i_key *first = NULL;
    if (!numbers->is_made)
        return;
    lanepool_i_key_index_each(&numbers->index, chain_lane, &first);
    lanepool_i_key_index_fini(&numbers->index);
    while (first != NULL) {
        lanepool_i_claims_copy *copy = ((lanepool_i_numbered_lane *)first)->copy;
        first = first->next;
        lanepool_i_claims_copy_give(pool, record, copy);
    }
}

static lanepool_i_key key_of(const lanepool_i_lane_numbers *numbers, const lanepool_claim *claim)
{
    uint32_t type = lanepool_i_build_key_type(claim);
    if (type != LANEPOOL_I_TYPE_BYTES)
        return lanepool_i_key_of_word(numbers->index.seed, claim->key.id, type);
    lanepool_i_key key = { .type = type & 3u, .value.bytes = bytes_of(claim) };
    lanepool_i_key_set_hash(&key, bytes_of(claim)->hash);
    return key;
}

static lanepool_i_numbered_lane *add_numbered_lane(lanepool_i_lane_numbers *numbers,
                                                   lanepool_i_thread_record *record,
                                                   const lanepool_i_key *key,
                                                   lanepool_i_claims_copy *copy, size_t i)
{
    lanepool_i_numbered_lane *lane = &copy->lanes[i];
    *lane = (lanepool_i_numbered_lane){ .key = *key, .copy = copy };
    fetch_add_relaxed(&copy->references, 1);
    lanepool_i_key_index_add(&numbers->index, &lane->key);
    if (numbers->last_number != NULL) {
        record->callbacks++;
        lane->number = numbers->last_number(numbers->user, copy->claims[i].key);
        record->callbacks--;
    }
    return lane;
}

/* Returns the lane of the copy's claim, with the mode of all its claims so far. */
static lanepool_i_numbered_lane *visit_claimed_lane(lanepool_i_lane_numbers *numbers,
                                                    lanepool_i_thread_record *record,
                                                    lanepool_i_claims_copy *copy, size_t i)
{
    const lanepool_claim *claim = &copy->claims[i];
    lanepool_i_key key = key_of(numbers, claim);
    lanepool_i_numbered_lane *lane =
        (lanepool_i_numbered_lane *)lanepool_i_key_index_find(&numbers->index, &key);
    if (lane == NULL)
        lane = add_numbered_lane(numbers, record, &key, copy, i);
    lane->mode = lane->stamp == numbers->stamp ? lanepool_i_mode_merge(lane->mode, claim->mode)
                                               : claim->mode;
    lane->stamp = numbers->stamp;
    lane->is_numbered = false;
    return lane;
}

/* A restart skips as many inputs of a key as its number says. COMMUTING tasks of a key may end in
 * another order than their inputs came, so only EXCLUSIVE ones are counted. */
static bool is_counted(lanepool_mode mode)
{
    return mode == LANEPOOL_EXCLUSIVE ||
           (PLANTED(COMMUTING_NUMBERED) && mode == LANEPOOL_COMMUTING);
}

/* Several claims of one key count as one. */
static uint64_t number_lane(lanepool_i_numbered_lane *lane)
{
    lane->number += !lane->is_numbered && is_counted(lane->mode);
    lane->is_numbered = true;
    return lane->number;
}

void lanepool_i_lane_numbers_give_one(lanepool_i_lane_numbers *numbers,
                                      lanepool_i_thread_record *record,
                                      lanepool_i_claims_copy *copy, size_t i)
{
    numbers->stamp++;
    copy->numbers[i] = number_lane(visit_claimed_lane(numbers, record, copy, i));
}

/* A number is known when all claims were visited. Until then its place has the lane's address. */
void lanepool_i_lane_numbers_give(lanepool_i_lane_numbers *numbers,
                                  lanepool_i_thread_record *record, lanepool_i_claims_copy *copy)
{
    numbers->stamp++;
    for (size_t i = 0; i < copy->count; i++)
        copy->numbers[i] = (uintptr_t)visit_claimed_lane(numbers, record, copy, i);
    for (size_t i = 0; i < copy->count; i++)
        copy->numbers[i] = number_lane((lanepool_i_numbered_lane *)(uintptr_t)copy->numbers[i]);
}
