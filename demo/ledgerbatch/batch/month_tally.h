/*
 * Counts for month-end steps. Each cell has the sum of its daily balances, each multiplied by the
 * rate of its day, and the number of its postings.
 *
 * A step that needs none of this costs nothing, and neither does a plan in which no month ends.
 *
 * Threads: as for the balances, only tasks that claim a client access the entries of its cells.
 */
#ifndef LEDGERBATCH_BATCH_MONTH_TALLY_H
#define LEDGERBATCH_BATCH_MONTH_TALLY_H

#include "plan/plan.h"

/* The tally of one step and one cell. */
struct cell_tally {
    wide sum;       /* of the days of the month before `day`; or a number of postings */
    uint32_t month; /* the month that it is about */
    uint32_t day;   /* see date_days(): the first one that is not in the sum */
};

struct month_tally {
    const struct plan *plan;
    struct cell_tally *cells[MONTH_END_STEPS_MAX]; /* by step, then by cell; NULL if not needed */
    bool is_used;
};

void month_tally_init(struct month_tally *tally, const struct plan *plan);
void month_tally_fini(struct month_tally *tally);

/* Counts a balance until the day before a date, on which it changes. */
void month_tally_end_balance(struct month_tally *tally, uint32_t cell, int64_t balance,
                             uint32_t date);

/* Counts a posting of a transaction; with by = -1, takes it back. */
void month_tally_count_posting(struct month_tally *tally, uint32_t cell, uint32_t date, int by);

/*
 * Returns the sum over all days of a month of balance x rate, in units of the rate, if the cell has
 * this balance until its end. A balance below the step's minimum counts as zero.
 */
wide month_tally_sum(const struct month_tally *tally, size_t step, uint32_t cell, int64_t balance,
                     uint32_t month);

/* Returns the number of postings of a cell in a month. */
wide month_tally_postings(const struct month_tally *tally, size_t step, uint32_t cell,
                          uint32_t month);

#endif
