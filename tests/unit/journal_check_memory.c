/* Checks of a journal whose memory is refused: nothing has changed, and nothing is lost. */
#include <stdatomic.h>
#include <stdlib.h>

#include "inspect_memory.h"

#include "inspect/memory.h"
#include "lanepool/journal.h"
#include "support/test.h"

enum { KEYS = 40, CLAIMS = KEYS + 1, FAULTS_MAX = 4 };

/* This program has the two functions below in place of those of inspect/memory.c. */
static struct {
    _Atomic size_t live;    /* pieces in use */
    _Atomic size_t asked;   /* requests since the last call of refuse_request() */
    _Atomic size_t refused; /* the request that is refused; 0: none */
} memory;

void *lanepool_i_inspect_alloc(size_t size)
{
    size_t request = atomic_fetch_add(&memory.asked, 1) + 1;
    void *piece = request == atomic_load(&memory.refused) ? NULL : malloc(size);

    if (piece != NULL) {
        memset(piece, 0xa5, size);
        atomic_fetch_add(&memory.live, 1);
    }
    return piece;
}

void lanepool_i_inspect_free(void *piece)
{
    if (piece != NULL) {
        atomic_fetch_sub(&memory.live, 1);
    }
    free(piece);
}

void refuse_request(size_t number)
{
    atomic_store(&memory.asked, 0);
    atomic_store(&memory.refused, number);
}

size_t pieces_in_use(void)
{
    return atomic_load(&memory.live);
}

/* An entry with many keys, and two claims of the first one, which are EXCLUSIVE together. */
struct large_entry {
    lanepool_journal_entry entry;
    lanepool_claim claims[CLAIMS];
    uint64_t numbers[CLAIMS];
};

static void large_entry_fill(struct large_entry *large, uint64_t number, uint64_t ticket)
{
    static const char text[KEYS] = "";

    large->entry = (lanepool_journal_entry){ .number = number,
                                             .ticket = ticket,
                                             .claims = large->claims,
                                             .lane_numbers = large->numbers,
                                             .claim_count = CLAIMS };
    for (uint32_t i = 0; i < KEYS; i++) {
        lanepool_key key = i % 2 == 0 ? lanepool_key_id(i) : lanepool_key_bytes(text, i);
        large->claims[i] = lanepool_claim_of(key, LANEPOOL_SHARED);
        large->numbers[i] = 0;
    }
    large->claims[KEYS] = lanepool_commuting(0);
    large->numbers[0] = number;
    large->numbers[KEYS] = number;
}

/* Adds an entry with a later ticket, and then two large ones. The only faults are that the first of
 * them is late at one key, and has a wrong lane number there. Returns false if no request was
 * refused. */
static bool check_with_refusal(lanepool_journal_check *check, size_t refused)
{
    lanepool_claim claim = lanepool_exclusive(2);
    lanepool_journal_entry before = { .number = 1, .ticket = 50, .claims = &claim };
    lanepool_journal_fault faults[FAULTS_MAX];
    struct large_entry large;
    size_t count = 0;

    before.lane_numbers = &before.number;
    before.claim_count = 1;
    expect_ok(lanepool_journal_check_add(check, &before, faults, FAULTS_MAX, &count));
    large_entry_fill(&large, 2, 40);
    refuse_request(refused);
    lanepool_status status =
        lanepool_journal_check_add(check, &large.entry, faults, FAULTS_MAX, &count);
    bool was_refused = status == LANEPOOL_NOMEM;
    if (was_refused) {
        expect_eq(count, 0);
        refuse_request(0);
        status = lanepool_journal_check_add(check, &large.entry, faults, FAULTS_MAX, &count);
    }
    expect_status(status, LANEPOOL_FAILED);
    expect_eq(count, 2);
    expect_eq(faults[0].kind, LANEPOOL_JOURNAL_FAULT_TICKET);
    expect_eq(faults[0].claim, 2);
    expect_eq(faults[0].expected, 50);
    expect_eq(faults[1].kind, LANEPOOL_JOURNAL_FAULT_LANE_NUMBER);
    expect_eq(faults[1].claim, 2);
    expect_eq(faults[1].expected, 1);
    large_entry_fill(&large, 3, 51);
    expect_ok(lanepool_journal_check_add(check, &large.entry, faults, FAULTS_MAX, &count));
    return was_refused;
}

Test(journal_check_memory, entry_can_be_added_again_after_each_refusal)
{
    size_t live = pieces_in_use();
    size_t refused = 0;
    bool was_refused = true;

    while (was_refused) {
        lanepool_journal_check *check;
        expect_ok(lanepool_journal_check_create(1, &check));
        was_refused = check_with_refusal(check, ++refused);
        refuse_request(0);
        lanepool_journal_check_destroy(check);
        expect_eq(pieces_in_use(), live);
    }
    expect(refused > KEYS / 2); /* each byte string is a piece */
}

Test(journal_check_memory, no_check_is_created_without_memory)
{
    size_t live = pieces_in_use();
    lanepool_journal_check *check;

    refuse_request(1);
    expect_status(lanepool_journal_check_create(1, &check), LANEPOOL_NOMEM);
    expect(check == NULL);
    expect_eq(pieces_in_use(), live);
    refuse_request(0);
}
