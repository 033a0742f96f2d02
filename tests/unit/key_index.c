/* The index of keys: what is found while it grows and shrinks. */
#include "support/random.h"
#include "unit/keyed_items.h"

Test(key_index, an_empty_index_finds_nothing)
{
    struct fixture *all = fixture_make();

    expect_keys(all, 0, 0);
    fixture_end(all);
}

Test(key_index, equal_bits_of_different_types_are_different_keys)
{
    struct fixture *all = fixture_make();
    lanepool_i_key number = key_of(7, LANEPOOL_I_TYPE_ID);
    lanepool_i_key address = key_of(7, LANEPOOL_I_TYPE_POINTER);

    address.hash = number.hash; /* so both are in one bucket */
    lanepool_i_key_index_add(&all->index, &number);
    expect(lanepool_i_key_index_find(&all->index, &address) == NULL);
    lanepool_i_key_index_add(&all->index, &address);
    expect(lanepool_i_key_index_find(&all->index, &address) == &address);
    expect(lanepool_i_key_index_find(&all->index, &number) == &number);
    expect(lanepool_i_key_index_find_word(&all->index, 7, LANEPOOL_I_TYPE_ID) == &number);
    fixture_end(all);
}

Test(key_index, byte_strings_of_one_hash_differ_by_size_and_bytes)
{
    enum { STRINGS = 4 };
    static const char *const texts[STRINGS] = { "", "a", "ab", "ac" };
    struct fixture *all = fixture_make();
    lanepool_i_key keys[STRINGS];

    for (size_t i = 0; i < STRINGS; i++) {
        size_t size = strlen(texts[i]);
        lanepool_i_key_bytes *bytes = memory_get(1, sizeof *bytes + size);

        bytes->size = (uint32_t)size;
        memcpy(bytes->data, texts[i], size);
        keys[i] = (lanepool_i_key){ .value.bytes = bytes, .type = LANEPOOL_I_TYPE_BYTES };
        expect(lanepool_i_key_index_find(&all->index, &keys[i]) == NULL);
        lanepool_i_key_index_add(&all->index, &keys[i]);
    }
    for (size_t i = 0; i < STRINGS; i++) {
        expect(lanepool_i_key_index_find(&all->index, &keys[i]) == &keys[i]);
    }
    for (size_t i = 0; i < STRINGS; i++) {
        free(keys[i].value.bytes);
    }
    fixture_end(all);
}

Test(key_index, a_byte_strings_hash_depends_on_seed_size_and_each_byte)
{
    enum { BYTES_MAX = 20 };

    for (size_t size = 0; size <= BYTES_MAX; size++) {
        unsigned char bytes[BYTES_MAX + 1] = { 0 };
        uint32_t hash = lanepool_i_key_index_hash_bytes(SEED, bytes, size);

        expect(hash <= LANEPOOL_I_HASH_MASK);
        expect(hash != lanepool_i_key_index_hash_bytes(SEED + 1, bytes, size));
        expect(hash != lanepool_i_key_index_hash_bytes(SEED, bytes, (size + 1) % BYTES_MAX));
        for (size_t at = 0; at <= size; at++) {
            bytes[at] = 1;
            expect_eq(hash == lanepool_i_key_index_hash_bytes(SEED, bytes, size), at == size);
            bytes[at] = 0;
        }
    }
}

Test(key_index, grows_by_one_bucket_at_a_time_and_finds_all)
{
    struct fixture *all = fixture_make();

    for (size_t i = 0; i < KEYS; i++) {
        size_t before = all->index.bucket_count;

        add(all, i);
        expect(all->index.bucket_count - before <= 1);
        expect(all->index.key_count <= LANEPOOL_I_KEYS_PER_BUCKET * all->index.bucket_count);
        expect(is_there(all, i) && is_there(all, i / 2));
    }
    expect_keys(all, 0, KEYS);
    fixture_end(all);
}

Test(key_index, shrinks_while_keys_are_removed_and_finds_the_rest)
{
    struct fixture *all = fixture_make();

    for (size_t i = 0; i < KEYS; i++) {
        add(all, i);
    }
    for (size_t i = 0; i < KEYS; i++) {
        lanepool_i_key_index_remove(&all->index, &all->items[i].key);
        expect(!is_there(all, i));
        expect(i + 1 == KEYS || is_there(all, i + (KEYS - i) / 2));
        expect(all->index.bucket_count <= LANEPOOL_I_FIRST_BUCKETS ||
               all->index.bucket_count <= LANEPOOL_I_BUCKETS_PER_KEY * (all->index.key_count + 1));
        if (i % 500 == 0) {
            expect_keys(all, i + 1, KEYS);
        }
    }
    expect_eq(all->index.bucket_count, LANEPOOL_I_FIRST_BUCKETS);
    expect_eq(all->memory.live, 1);
    fixture_end(all);
}

Test(key_index, shrinks_by_a_few_buckets_at_a_time)
{
    enum { LEFT = 300, AT_ONCE = 64 };
    struct fixture *all = fixture_make();
    size_t buckets;

    for (size_t i = 0; i < KEYS; i++) {
        add(all, i);
    }
    for (size_t i = LEFT; i < KEYS; i++) {
        lanepool_i_key_index_remove(&all->index, &all->items[i].key);
    }
    do {
        buckets = all->index.bucket_count;
        expect(buckets >= LEFT);
    } while (lanepool_i_key_index_shrink(&all->index, AT_ONCE) &&
             all->index.bucket_count == buckets - AT_ONCE);
    expect(all->index.bucket_count <= LEFT);
    expect(!lanepool_i_key_index_shrink(&all->index, AT_ONCE));
    expect_keys(all, 0, LEFT);
    fixture_end(all);
}

Test(key_index, without_memory_for_buckets_nothing_fails)
{
    struct fixture *all = fixture_make();

    all->memory.refuses = true;
    for (size_t i = 0; i < KEYS / 2; i++) {
        add(all, i);
    }
    expect_keys(all, 0, KEYS / 2);
    expect_eq(all->index.bucket_count, LANEPOOL_I_FIRST_BUCKETS);
    all->memory.refuses = false;
    for (size_t i = KEYS / 2; i < KEYS; i++) {
        add(all, i);
    }
    expect_keys(all, 0, KEYS);
    expect(all->index.bucket_count > LANEPOOL_I_FIRST_BUCKETS);
    fixture_end(all);
}

/* Adds a key with a hash that many share. */
static void add_crowded(struct fixture *all, size_t i)
{
    all->items[i].key = key_of(i, LANEPOOL_I_TYPE_ID);
    lanepool_i_key_set_hash(&all->items[i].key, 7);
    lanepool_i_key_index_add(&all->index, &all->items[i].key);
}

static bool is_there_crowded(const struct fixture *all, size_t i)
{
    lanepool_i_key wanted = key_of(i, LANEPOOL_I_TYPE_ID);

    lanepool_i_key_set_hash(&wanted, 7);
    return lanepool_i_key_index_find(&all->index, &wanted) == &all->items[i].key;
}

/* More keys than a bucket has slots, removed in each order of the first and the last. */
Test(key_index, keys_of_one_bucket_are_found_until_they_are_removed)
{
    enum { CROWD = LANEPOOL_I_BUCKET_SLOTS + 3 };

    for (size_t first = 0; first < CROWD; first++) {
        for (size_t step = 1; step < CROWD; step++) {
            struct fixture *all = fixture_make();
            bool removed[CROWD] = { false };

            for (size_t i = 0; i < CROWD; i++) {
                add_crowded(all, i);
            }
            for (size_t count = 0; count < CROWD; count++) {
                size_t i = (first + count * step) % CROWD;

                lanepool_i_key_index_remove(&all->index, &all->items[i].key);
                removed[i] = true;
                for (size_t j = 0; j < CROWD; j++) {
                    expect_eq(is_there_crowded(all, j), !removed[j]);
                }
            }
            expect_eq(all->index.key_count, 0);
            fixture_end(all);
        }
    }
}

Test(key_index, number_zero_is_not_an_empty_slot)
{
    struct fixture *all = fixture_make();

    expect(!is_there(all, 0));
    add(all, 0);
    expect(is_there(all, 0));
    fixture_end(all);
}

Test(key_index, init_fails_without_memory)
{
    struct counted_memory memory;
    lanepool_i_key_index index;

    counted_memory_init(&memory);
    memory.refuses = true;
    expect(!lanepool_i_key_index_init(&index, SEED, &memory.allocator));
}

static void visit(lanepool_i_key *key, void *context)
{
    ((struct item *)key)->visits++;
    key->next = context; /* the visitor may reuse the key */
}

Test(key_index, each_key_is_visited_once)
{
    struct fixture *all = fixture_make();

    for (size_t i = 0; i < KEYS; i++) {
        add(all, i);
    }
    lanepool_i_key_index_each(&all->index, visit, NULL);
    for (size_t i = 0; i < KEYS; i++) {
        expect_eq(all->items[i].visits, 1);
    }
    fixture_end(all);
}

/* How many keys a look-up meets on average, if `NUMBERS` numbers are in as many buckets. */
static double mean_probes(uint64_t seed, uint64_t factor, uint64_t offset)
{
    enum { NUMBERS = 1024 };
    static uint16_t lengths[NUMBERS];
    uint64_t probes = 0;

    memset(lengths, 0, sizeof lengths);
    for (uint64_t i = 0; i < NUMBERS; i++) {
        uint32_t hash =
            lanepool_i_key_index_hash_word(seed, offset + i * factor, LANEPOOL_I_TYPE_ID);

        probes += ++lengths[hash % NUMBERS];
    }
    return (double)probes / NUMBERS;
}

/* 1.5 is what random numbers give. */
Test(key_index, regular_numbers_are_spread_for_every_seed)
{
    static const uint64_t strides[] = { 1, 3, 10, 100, 1000, 1000000, 0x9E3779B97F4A7C15u };
    uint64_t random = 14;

    for (int trial = 0; trial < 500; trial++) {
        uint64_t seed = random_next(&random);
        uint64_t offset = random_next(&random);

        for (unsigned shift = 0; shift < 54; shift += 3) {
            expect(mean_probes(seed, UINT64_C(1) << shift, 0) < 2);
            expect(mean_probes(seed, UINT64_C(1) << shift, offset) < 2);
        }
        for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
            expect(mean_probes(seed, strides[i], offset) < 2);
        }
    }
}

Test(key_index, seeds_differ)
{
    expect(lanepool_i_seed() != lanepool_i_seed());
}
