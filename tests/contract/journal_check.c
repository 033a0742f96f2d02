/* Checks of a journal: which faults are found in the entries of a store, and that there are no
 * others. */
#include <string.h>

#include "lanepool/lanepool.h"
#include "support/test.h"

enum { FAULTS_MAX = 8 };

/* A check that gets entry after entry, and the faults of the last one. */
struct audit {
    lanepool_journal_check *check;
    uint64_t next; /* the number of the next entry */
    lanepool_journal_fault faults[FAULTS_MAX];
    size_t count;
};

static struct audit audit_begin(uint64_t first)
{
    struct audit audit = { .next = first };

    expect_ok(lanepool_journal_check_create(first, &audit.check));
    return audit;
}

static void audit_end(struct audit *audit)
{
    lanepool_journal_check_destroy(audit->check);
}

/* Returns the number of faults. */
static size_t give(struct audit *audit, uint64_t ticket, const lanepool_claim *claims,
                   const uint64_t *numbers, size_t claim_count)
{
    lanepool_journal_entry entry = { .number = audit->next++,
                                     .ticket = ticket,
                                     .claims = claims,
                                     .lane_numbers = numbers,
                                     .claim_count = claim_count };
    lanepool_status status =
        lanepool_journal_check_add(audit->check, &entry, audit->faults, FAULTS_MAX, &audit->count);

    expect_status(status, audit->count > 0 ? LANEPOOL_FAILED : LANEPOOL_OK);
    return audit->count;
}

static size_t give_one(struct audit *audit, uint64_t ticket, lanepool_claim claim)
{
    return give(audit, ticket, &claim, NULL, 1);
}

/* An entry with one claim and its lane number. Tickets are the entries' numbers. */
static size_t give_numbered(struct audit *audit, lanepool_claim claim, uint64_t number)
{
    return give(audit, audit->next, &claim, &number, 1);
}

static void expect_fault(const struct audit *audit, size_t i, lanepool_journal_fault_kind kind,
                         size_t claim, uint64_t expected, uint64_t found)
{
    const lanepool_journal_fault *fault = &audit->faults[i];

    expect(i < audit->count);
    expect_eq(fault->kind, kind);
    expect_eq(fault->number, audit->next - 1);
    expect_eq(fault->claim, claim);
    expect_eq(fault->expected, expected);
    expect_eq(fault->found, found);
}

static lanepool_claim alone(lanepool_key key)
{
    return lanepool_claim_of(key, LANEPOOL_EXCLUSIVE);
}

static lanepool_claim bytes_claim(const char *text)
{
    return alone(lanepool_key_string(text));
}

/* --- arguments --- */

Test(journal_check, wrong_arguments_are_refused)
{
    lanepool_journal_entry entry = { .number = 1 };
    lanepool_journal_fault fault;
    struct audit audit = audit_begin(1);
    size_t count = 7;

    expect_status(lanepool_journal_check_create(1, NULL), LANEPOOL_INVALID);
    expect_status(lanepool_journal_check_add(NULL, &entry, &fault, 1, &count), LANEPOOL_INVALID);
    expect_status(lanepool_journal_check_add(audit.check, NULL, &fault, 1, &count),
                  LANEPOOL_INVALID);
    expect_status(lanepool_journal_check_add(audit.check, &entry, NULL, 1, &count),
                  LANEPOOL_INVALID);
    expect_eq(count, 0);
    expect_status(lanepool_journal_check_add(audit.check, &entry, &fault, 1, NULL),
                  LANEPOOL_INVALID);
    entry.claim_count = 1; /* without claims */
    expect_status(lanepool_journal_check_add(audit.check, &entry, &fault, 1, &count),
                  LANEPOOL_INVALID);
    expect_eq(give(&audit, 1, NULL, NULL, 0), 0);
    audit_end(&audit);
    lanepool_journal_check_destroy(NULL);
}

/* Each claim comes after a valid one with a late ticket, which must have no effect. */
Test(journal_check, wrong_claims_are_refused_before_anything_changes)
{
    int object;
    lanepool_claim wrong[] = {
        alone(lanepool_key_none()),
        alone(lanepool_key_lane((lanepool_lane *)(void *)&object)),
        alone(lanepool_key_bytes(NULL, 1)),
        alone(lanepool_key_bytes(&object, LANEPOOL_KEY_BYTES_MAX + 1)),
        lanepool_exclusive(2),
        lanepool_exclusive(2),
        lanepool_claim_all(), /* not the only claim */
    };
    lanepool_claim shared = lanepool_claim_all();
    lanepool_journal_entry entry = { .number = 1, .ticket = 99, .claim_count = 2 };
    struct audit audit = audit_begin(1);
    size_t count;

    wrong[4].mode = (uint64_t)LANEPOOL_COMMUTING + 1;
    wrong[5].key.type = LANEPOOL_KEY_ALL + 1;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        lanepool_claim claims[] = { lanepool_exclusive(1), wrong[i] };
        entry.claims = claims;
        expect_status(lanepool_journal_check_add(audit.check, &entry, NULL, 0, &count),
                      LANEPOOL_INVALID);
    }
    lanepool_claim barrier_first[] = { lanepool_claim_all(), lanepool_exclusive(1) };
    entry.claims = barrier_first;
    expect_status(lanepool_journal_check_add(audit.check, &entry, NULL, 0, &count),
                  LANEPOOL_INVALID);
    barrier_first[0] = lanepool_exclusive(1);
    entry.claim_count = LANEPOOL_CLAIMS_MAX + 1; /* the claims are not read */
    expect_status(lanepool_journal_check_add(audit.check, &entry, NULL, 0, &count),
                  LANEPOOL_INVALID);
    shared.mode = LANEPOOL_SHARED;
    entry.claims = &shared;
    entry.claim_count = 1;
    expect_status(lanepool_journal_check_add(audit.check, &entry, NULL, 0, &count),
                  LANEPOOL_INVALID);
    expect_eq(give_one(&audit, 1, lanepool_exclusive(1)), 0);
    expect_eq(give_one(&audit, 1, lanepool_claim_all()), 0);
    audit_end(&audit);
}

/* --- numbers of entries --- */

Test(journal_check, number_that_does_not_follow_is_a_fault_and_the_next_follows_it)
{
    struct audit audit = audit_begin(5);

    expect_eq(give(&audit, 1, NULL, NULL, 0), 0);
    audit.next = 9; /* a gap */
    expect_eq(give(&audit, 2, NULL, NULL, 0), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_NUMBER, SIZE_MAX, 6, 9);
    expect_eq(give(&audit, 3, NULL, NULL, 0), 0);
    audit.next = 10; /* again */
    expect_eq(give(&audit, 4, NULL, NULL, 0), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_NUMBER, SIZE_MAX, 11, 10);
    audit.next = 3; /* back */
    expect_eq(give(&audit, 5, NULL, NULL, 0), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_NUMBER, SIZE_MAX, 11, 3);
    expect_eq(give(&audit, 6, NULL, NULL, 0), 0);
    audit_end(&audit);
}

Test(journal_check, first_entry_must_have_the_first_number)
{
    struct audit audit = audit_begin(0);

    expect_eq(give(&audit, 1, NULL, NULL, 0), 0);
    audit_end(&audit);
    audit = audit_begin(1);
    audit.next = 2;
    expect_eq(give(&audit, 1, NULL, NULL, 0), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_NUMBER, SIZE_MAX, 1, 2);
    audit_end(&audit);
}

/* --- the order of tickets --- */

static size_t faults_of_modes(lanepool_mode first, lanepool_mode second, uint64_t second_ticket)
{
    struct audit audit = audit_begin(1);
    lanepool_key key = lanepool_key_id(4);

    expect_eq(give_one(&audit, 8, lanepool_claim_of(key, first)), 0);
    size_t count = give_one(&audit, second_ticket, lanepool_claim_of(key, second));
    if (count > 0) {
        expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_TICKET, 0, 8, second_ticket);
    }
    audit_end(&audit);
    return count;
}

Test(journal_check, only_modes_that_conflict_must_be_in_order)
{
    for (unsigned i = 0; i <= LANEPOOL_COMMUTING; i++) {
        for (unsigned j = 0; j <= LANEPOOL_COMMUTING; j++) {
            lanepool_mode first = (lanepool_mode)i;
            lanepool_mode second = (lanepool_mode)j;
            expect_eq(faults_of_modes(first, second, 7), lanepool_modes_overlap(i, j) ? 0 : 1);
            expect_eq(faults_of_modes(first, second, 8), 0); /* a receiver */
            expect_eq(faults_of_modes(first, second, 9), 0);
        }
    }
}

/* The latest ticket counts, also if an earlier one was given after it. */
Test(journal_check, latest_conflicting_entry_is_named)
{
    struct audit audit = audit_begin(1);

    expect_eq(give_one(&audit, 20, lanepool_shared(1)), 0);
    expect_eq(give_one(&audit, 10, lanepool_shared(1)), 0);
    expect_eq(give_one(&audit, 15, lanepool_exclusive(1)), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_TICKET, 0, 20, 15);
    expect_eq(give_one(&audit, 16, lanepool_shared(1)), 0); /* the check has not stopped */
    expect_eq(give_one(&audit, 18, lanepool_commuting(1)), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_TICKET, 0, 20, 18);
    audit_end(&audit);
}

/* One entry that is out of order in its first and last lane. */
Test(journal_check, each_lane_of_an_entry_is_checked)
{
    struct audit audit = audit_begin(1);
    lanepool_claim claims[] = { lanepool_exclusive(1), lanepool_exclusive(2), lanepool_shared(3) };

    expect_eq(give_one(&audit, 6, lanepool_exclusive(1)), 0);
    expect_eq(give_one(&audit, 3, lanepool_exclusive(2)), 0);
    expect_eq(give_one(&audit, 7, lanepool_commuting(3)), 0);
    expect_eq(give(&audit, 5, claims, NULL, 3), 2);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_TICKET, 0, 6, 5);
    expect_fault(&audit, 1, LANEPOOL_JOURNAL_FAULT_TICKET, 2, 7, 5);
    audit_end(&audit);
}

Test(journal_check, duplicates_are_one_claim_in_a_mode_that_covers_them)
{
    struct audit audit = audit_begin(1);
    lanepool_claim mixed[] = { lanepool_shared(1), lanepool_shared(2), lanepool_commuting(1) };
    lanepool_claim strict[] = { lanepool_shared(3), lanepool_exclusive(3) };

    expect_eq(give(&audit, 9, mixed, NULL, 3), 0);
    expect_eq(give_one(&audit, 8, lanepool_shared(2)), 0);
    expect_eq(give_one(&audit, 8, lanepool_shared(1)), 1);
    expect_eq(give_one(&audit, 8, lanepool_commuting(1)), 1);
    expect_eq(give(&audit, 7, strict, NULL, 2), 0);
    expect_eq(give(&audit, 5, strict, NULL, 2), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_TICKET, 0, 7, 5);
    expect_eq(give_one(&audit, 6, lanepool_shared(3)), 1);
    audit_end(&audit);
}

Test(journal_check, claim_of_everything_conflicts_with_everything)
{
    struct audit audit = audit_begin(1);
    lanepool_claim claims[] = { lanepool_shared(1), lanepool_commuting(2) };

    expect_eq(give(&audit, 10, claims, NULL, 2), 0);
    expect_eq(give_one(&audit, 9, lanepool_claim_all()), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_TICKET, 0, 10, 9);
    expect_eq(give_one(&audit, 12, lanepool_claim_all()), 0);
    expect_eq(give_one(&audit, 11, lanepool_claim_all()), 1);
    expect_eq(give(&audit, 11, claims, NULL, 2), 2);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_TICKET, 0, 12, 11);
    expect_fault(&audit, 1, LANEPOOL_JOURNAL_FAULT_TICKET, 1, 12, 11);
    expect_eq(give(&audit, 11, NULL, NULL, 0), 1); /* without claims */
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_TICKET, SIZE_MAX, 12, 11);
    expect_eq(give(&audit, 30, NULL, NULL, 0), 0);
    expect_eq(give_one(&audit, 25, lanepool_exclusive(3)), 0);
    expect_eq(give_one(&audit, 29, lanepool_claim_all()), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_TICKET, 0, 30, 29);
    expect_eq(give(&audit, 29, claims, NULL, 2), 0);
    audit_end(&audit);
}

/* --- keys --- */

/* The FNV-1a hash of this byte string is 0, which a zero behind it does not change. */
#define ZERO_HASH "\xd5\x6b\xb9\x53\x42\x87\x08\x36"

Test(journal_check, keys_of_different_types_are_different)
{
    struct audit audit = audit_begin(1);
    int object;
    lanepool_key keys[] = { lanepool_key_pointer(&object), lanepool_key_id((uintptr_t)&object),
                            lanepool_key_pointer(NULL),    lanepool_key_id(0),
                            lanepool_key_string(""),       lanepool_key_string(ZERO_HASH) };
    size_t count = sizeof keys / sizeof keys[0];

    for (size_t i = 0; i < count; i++) {
        expect_eq(give_one(&audit, 90 - i, alone(keys[i])), 0);
    }
    for (size_t i = 0; i < count; i++) {
        expect_eq(give_one(&audit, 89 - i, alone(keys[i])), 1);
        expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_TICKET, 0, 90 - i, 89 - i);
    }
    audit_end(&audit);
}

Test(journal_check, byte_strings_are_copied_and_compared)
{
    struct audit audit = audit_begin(1);
    char text[] = "north";
    char large[4096] = "";

    expect_eq(give_one(&audit, 9, bytes_claim(text)), 0);
    memcpy(text, "south", 5);
    expect_eq(give_one(&audit, 8, bytes_claim(text)), 0);
    expect_eq(give_one(&audit, 7, bytes_claim("nort")), 0);
    expect_eq(give_one(&audit, 8, bytes_claim("north")), 1);
    expect_eq(give_one(&audit, 7, bytes_claim("south")), 1);
    for (size_t size = sizeof large - 2; size <= sizeof large; size++) {
        expect_eq(give_one(&audit, 9000 - size, alone(lanepool_key_bytes(large, size))), 0);
    }
    audit_end(&audit);
}

Test(journal_check, byte_strings_with_one_hash_are_different)
{
    struct audit audit = audit_begin(1);
    lanepool_key keys[] = { lanepool_key_bytes(ZERO_HASH, 8), lanepool_key_bytes(ZERO_HASH "\0", 9),
                            lanepool_key_bytes(ZERO_HASH "\0\0\0", 11),
                            lanepool_key_bytes("77kepQFQ8Kl", 11) };
    size_t count = sizeof keys / sizeof keys[0];

    for (size_t i = 0; i < count; i++) {
        expect_eq(give_one(&audit, 90 - i, alone(keys[i])), 0);
    }
    for (size_t i = 0; i < count; i++) {
        expect_eq(give_one(&audit, 89 - i, alone(keys[i])), 1);
        expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_TICKET, 0, 90 - i, 89 - i);
    }
    audit_end(&audit);
}

/* --- lane numbers --- */

Test(journal_check, exclusive_entries_of_a_lane_are_counted)
{
    struct audit audit = audit_begin(1);

    expect_eq(give_numbered(&audit, lanepool_exclusive(1), 1), 0);
    expect_eq(give_numbered(&audit, lanepool_shared(1), 1), 0);
    expect_eq(give_numbered(&audit, lanepool_commuting(1), 1), 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(2), 1), 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(1), 2), 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(1), 4), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_LANE_NUMBER, 0, 3, 4);
    expect_eq(give_numbered(&audit, lanepool_shared(1), 4), 0);
    expect_eq(give_numbered(&audit, lanepool_shared(1), 5), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_LANE_NUMBER, 0, 4, 5);
    expect_eq(give_numbered(&audit, lanepool_exclusive(1), 6), 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(1), 6), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_LANE_NUMBER, 0, 7, 6);
    expect_eq(give_numbered(&audit, lanepool_exclusive(2), 2), 0);
    audit_end(&audit);
}

Test(journal_check, lane_may_begin_at_any_number)
{
    struct audit audit = audit_begin(1);

    expect_eq(give_numbered(&audit, lanepool_exclusive(1), 700), 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(1), 701), 0);
    expect_eq(give_numbered(&audit, lanepool_shared(2), 0), 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(2), 1), 0);
    expect_eq(give_numbered(&audit, lanepool_commuting(3), 50), 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(3), 50), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_LANE_NUMBER, 0, 51, 50);
    expect_eq(give_numbered(&audit, lanepool_exclusive(4), 0), 1); /* it is one itself */
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_LANE_NUMBER, 0, 1, 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(4), 1), 0);
    audit_end(&audit);
}

Test(journal_check, duplicates_carry_one_number)
{
    struct audit audit = audit_begin(1);
    lanepool_claim mixed[] = { lanepool_shared(1), lanepool_shared(2), lanepool_commuting(1) };
    lanepool_claim strict[] = { lanepool_shared(1), lanepool_exclusive(1), lanepool_exclusive(1) };
    lanepool_claim shared[] = { lanepool_shared(1), lanepool_shared(1) };

    expect_eq(give(&audit, 1, mixed, (const uint64_t[]){ 5, 0, 5 }, 3), 0);
    expect_eq(give(&audit, 2, strict, (const uint64_t[]){ 6, 6, 6 }, 3), 0);
    expect_eq(give(&audit, 3, shared, (const uint64_t[]){ 6, 6 }, 2), 0);
    expect_eq(give(&audit, 4, strict, (const uint64_t[]){ 7, 8, 8 }, 3), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_LANE_NUMBER, 1, 7, 8);
    expect_eq(give(&audit, 5, mixed, (const uint64_t[]){ 10, 0, 10 }, 3), 1);
    expect_fault(&audit, 0, LANEPOOL_JOURNAL_FAULT_LANE_NUMBER, 0, 9, 10);
    expect_eq(give_numbered(&audit, lanepool_exclusive(1), 11), 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(2), 1), 0);
    audit_end(&audit);
}

/* Entries without numbers are counted, if the lane has a number already. */
Test(journal_check, lane_numbers_may_be_left_out)
{
    struct audit audit = audit_begin(1);

    expect_eq(give_one(&audit, 1, lanepool_exclusive(1)), 0);
    expect_eq(give_one(&audit, 2, lanepool_exclusive(1)), 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(1), 40), 0);
    expect_eq(give_one(&audit, 4, lanepool_exclusive(1)), 0);
    expect_eq(give_one(&audit, 5, lanepool_shared(1)), 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(1), 42), 0);
    expect_eq(give_numbered(&audit, lanepool_claim_all(), 0), 0);
    expect_eq(give_numbered(&audit, lanepool_exclusive(1), 43), 0);
    audit_end(&audit);
}

Test(journal_check, all_faults_are_counted_and_the_first_ones_are_given)
{
    enum { CLAIMS = 100 };
    lanepool_journal_check *check;
    lanepool_claim claims[CLAIMS];
    uint64_t numbers[CLAIMS];
    lanepool_journal_fault faults[3] = { { .found = 0 } };
    lanepool_journal_entry entry = {
        .number = 1, .ticket = 9, .claims = claims, .lane_numbers = numbers, .claim_count = CLAIMS
    };
    size_t count;

    for (size_t i = 0; i < CLAIMS; i++) {
        claims[i] = lanepool_exclusive(i);
        numbers[i] = 1;
    }
    expect_ok(lanepool_journal_check_create(1, &check));
    expect_ok(lanepool_journal_check_add(check, &entry, NULL, 0, &count));
    expect_eq(count, 0);
    entry.ticket = 8;
    expect_status(lanepool_journal_check_add(check, &entry, faults, 2, &count), LANEPOOL_FAILED);
    expect_eq(count, 2 * CLAIMS + 1);
    expect_eq(faults[0].kind, LANEPOOL_JOURNAL_FAULT_NUMBER);
    expect_eq(faults[1].kind, LANEPOOL_JOURNAL_FAULT_TICKET);
    expect_eq(faults[1].number, 1);
    expect_eq(faults[2].found, 0);
    entry.ticket = 9;
    expect_status(lanepool_journal_check_add(check, &entry, NULL, 0, &count), LANEPOOL_FAILED);
    expect_eq(count, CLAIMS + 1); /* the numbers are wrong again */
    lanepool_journal_check_destroy(check);
}
