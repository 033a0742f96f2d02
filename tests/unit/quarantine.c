/* The quarantine of a checked build: which records it keeps, and when it frees them. */
#include "base/quarantine.h"
#include "support/test.h"

enum { MORE = 3 };
#define RECORDS (LANEPOOL_I_QUARANTINE_MAX + MORE)

struct record {
    bool is_freed;
    lanepool_i_quarantined quarantined;
};

static struct record records[1024 + MORE];

static void note_freed(void *context)
{
    struct record *record = context;

    record->is_freed = true;
}

static void record_init(struct record *record, lanepool_i_quarantine *quarantine)
{
    *record = (struct record){ .is_freed = false };
    LANEPOOL_I_QUARANTINE_NAME(record, quarantine);
}

static size_t count_freed(void)
{
    size_t freed = 0;

    for (size_t i = 0; i < RECORDS; i++) {
        freed += records[i].is_freed;
    }
    return freed;
}

Test(quarantine, frees_the_oldest_record_first)
{
    lanepool_i_quarantine *quarantine = lanepool_i_quarantine_open();

    expect(quarantine != NULL);
    for (size_t i = 0; i < RECORDS; i++) {
        record_init(&records[i], quarantine);
    }
    for (size_t i = 0; i < RECORDS; i++) {
        LANEPOOL_I_QUARANTINE_KEEP(&records[i], note_freed);
    }
    for (size_t i = 0; i < MORE; i++) {
        expect(records[i].is_freed);
    }
    expect_eq(count_freed(), MORE);
    lanepool_i_quarantine_close(quarantine);
    expect_eq(count_freed(), RECORDS);
}

/* The record's reference keeps the quarantine's memory. */
Test(quarantine, frees_a_record_at_once_after_its_end)
{
    lanepool_i_quarantine *quarantine = lanepool_i_quarantine_open();
    struct record record;

    expect(quarantine != NULL);
    record_init(&record, quarantine);
    lanepool_i_quarantine_close(quarantine);
    expect(!record.is_freed);
    LANEPOOL_I_QUARANTINE_KEEP(&record, note_freed);
    expect(record.is_freed);
}

Test(quarantine, is_not_needed_to_free_a_record)
{
    struct record record;

    record_init(&record, NULL);
    LANEPOOL_I_QUARANTINE_KEEP(&record, note_freed);
    expect(record.is_freed);
}
