/* Cuts beside tasks that conflict with them, cancels and the pool's end. Each visit must see what
 * it sees in the serial run. The tasks are not tasks of the scene, because it knows no visits. */
#include <string.h>

#include "route/router.h"
#include "simulated/scenarios.h"
#include "simulated/scene.h"

enum { LANES = 4, POSTINGS = 8, CUTS = 2 };

struct posting {
    uint64_t id;
    uint32_t from, to;
    uint64_t ticket;
    bool accepted;
    bool is_written;
    _Atomic uint32_t runs, cancels;
};

struct cut;

/* The record of a visit. */
struct contribution {
    struct cut *cut;
    uint32_t index;
    bool is_written;
};

struct cut {
    lanepool_claim claims[LANES];
    uint32_t claim_count;
    lanepool_mode mode;
    uint32_t fails_at; /* the number of the claim whose visits fail, or LANES */
    uint32_t failures; /* how many of them */
    lanepool_future *future;
    _Atomic uint64_t ticket; /* written by each visit */
    bool accepted;
    uint64_t seen[LANES];
    struct contribution contributions[LANES];
    bool is_written;
    _Atomic uint32_t visits[LANES]; /* that have succeeded */
    _Atomic uint32_t inside;
    _Atomic uint32_t calls, cancels, releases;
    _Atomic lanepool_status why;
};

static struct {
    lanepool_pool *pool;
    struct posting postings[POSTINGS];
    struct cut cuts[CUTS];
    uint64_t cells[LANES]; /* plain memory, guarded by the lanes */
    bool stops, cancels, has_journal, has_priorities;
    uint64_t stored[LANES]; /* of the journal's thread: the cells by what is written */
    uint64_t numbers[LANES];
} bank;

/* Tickets wrap around. */
static uint64_t ticket_of(const lanepool_run *run)
{
    return (lanepool_run_ticket(run) - LANEPOOL_I_FIRST_TICKET) & (((uint64_t)1 << 40) - 1);
}

/* --- tasks --- */

static uint64_t after(uint64_t cell, uint64_t id)
{
    return cell * 31 + id;
}

static int post(lanepool_run *run, void *context)
{
    struct posting *self = context;

    self->ticket = ticket_of(run);
    (void)lanepool_run_set_record(run, self);
    bank.cells[self->from] = after(bank.cells[self->from], self->id);
    if (self->to != self->from)
        bank.cells[self->to] = after(bank.cells[self->to], self->id);
    atomic_fetch_add(&self->runs, 1);
    return 0;
}

static void post_cancelled(void *context, lanepool_status why)
{
    (void)why;
    atomic_fetch_add(&((struct posting *)context)->cancels, 1);
}

static uint32_t lane_of(const struct cut *cut, size_t index)
{
    return (uint32_t)cut->claims[index].key.id;
}

/* An EXCLUSIVE visit posts, too: its id is behind those of the postings. */
static uint64_t id_of_cut(const struct cut *cut)
{
    return 1000 + (uint64_t)(cut - bank.cuts);
}

static int visit(lanepool_run *run, void *context, size_t index)
{
    struct cut *self = context;

    EXPECT(lanepool_run_claim_count(run) == 1);
    EXPECT(atomic_load(&self->calls) + atomic_load(&self->cancels) == 0);
    EXPECT(atomic_load(&self->visits[index]) == 0);
    self->contributions[index] = (struct contribution){ self, (uint32_t)index, false };
    (void)lanepool_run_set_record(run, &self->contributions[index]);
    atomic_fetch_add(&self->inside, 1);
    self->ticket = ticket_of(run);
    lanepool_i_yield();
    bool fails = index == self->fails_at && self->failures > 0;
    if (fails) {
        self->failures--;
    } else {
        self->seen[index] = bank.cells[lane_of(self, index)];
        if (self->mode == LANEPOOL_EXCLUSIVE)
            bank.cells[lane_of(self, index)] =
                after(bank.cells[lane_of(self, index)], id_of_cut(self));
        atomic_fetch_add(&self->visits[index], 1);
    }
    atomic_fetch_sub(&self->inside, 1);
    return fails;
}

static int sum_up(lanepool_run *run, void *context)
{
    struct cut *self = context;

    EXPECT(ticket_of(run) == self->ticket);
    EXPECT(lanepool_run_claim_count(run) == 0);
    EXPECT(atomic_load(&self->inside) == 0);
    for (uint32_t i = 0; i < self->claim_count; i++)
        EXPECT(atomic_load(&self->visits[i]) == 1);
    atomic_fetch_add(&self->calls, 1);
    return 0;
}

static void cut_cancelled(void *context, lanepool_status why)
{
    struct cut *self = context;

    EXPECT(atomic_load(&self->inside) == 0);
    atomic_store(&self->why, why);
    atomic_fetch_add(&self->cancels, 1);
}

static void cut_released(void *context)
{
    atomic_fetch_add(&((struct cut *)context)->releases, 1);
}

/* --- the journal --- */

static void write_posting(struct posting *posting, const lanepool_journal_entry *entry)
{
    EXPECT(!posting->is_written && atomic_load(&posting->runs) == 1 && !entry->is_part);
    posting->is_written = true;
    bank.stored[posting->from] = after(bank.stored[posting->from], posting->id);
    if (posting->to != posting->from)
        bank.stored[posting->to] = after(bank.stored[posting->to], posting->id);
}

/* The store then has the lane as the visit saw it. */
static void write_visit(const lanepool_journal_entry *entry)
{
    struct contribution *visit = entry->record;
    struct cut *cut = visit != NULL ? visit->cut : entry->context;

    EXPECT(!cut->is_written && entry->context == cut && entry->claim_count == 1);
    if (entry->status != LANEPOOL_OK)
        return;
    uint32_t lane = lane_of(cut, visit->index);
    EXPECT(!visit->is_written && entry->claims[0].key.id == lane);
    EXPECT(cut->seen[visit->index] == bank.stored[lane]);
    visit->is_written = true;
    if (cut->mode == LANEPOOL_EXCLUSIVE)
        bank.stored[lane] = after(bank.stored[lane], id_of_cut(cut));
}

static void write_cut(struct cut *cut, const lanepool_journal_entry *entry)
{
    EXPECT(!cut->is_written && entry->claim_count == 0);
    cut->is_written = true;
    for (uint32_t i = 0; i < cut->claim_count; i++)
        EXPECT(atomic_load(&cut->visits[i]) == cut->contributions[i].is_written);
}

/* Several claims of one key count once. */
static void check_numbers(const lanepool_journal_entry *entry)
{
    for (size_t i = 0; i < entry->claim_count; i++) {
        uint64_t lane = entry->claims[i].key.id;
        bool is_again = i > 0 && entry->claims[0].key.id == lane;
        bank.numbers[lane] += entry->claims[i].mode == LANEPOOL_EXCLUSIVE && !is_again;
    }
    for (size_t i = 0; i < entry->claim_count; i++)
        EXPECT(entry->lane_numbers[i] == bank.numbers[entry->claims[i].key.id]);
}

static int write_entries(void *user, const lanepool_journal_entry *entries, size_t count,
                         uint64_t watermark)
{
    (void)user;
    (void)watermark;
    for (size_t i = 0; i < count; i++) {
        const lanepool_journal_entry *entry = &entries[i];
        check_numbers(entry);
        if (entry->function == post)
            write_posting(entry->context, entry);
        else if (entry->is_part)
            write_visit(entry);
        else
            write_cut(entry->context, entry);
    }
    return 0;
}

static void judge_journal(void)
{
    for (uint32_t i = 0; i < POSTINGS; i++)
        EXPECT(bank.postings[i].is_written == (atomic_load(&bank.postings[i].runs) == 1));
    for (uint32_t i = 0; i < CUTS; i++) {
        const struct cut *cut = &bank.cuts[i];
        bool began = atomic_load(&cut->calls) == 1 || atomic_load(&cut->why) == LANEPOOL_IN_PARTS;
        EXPECT(cut->is_written == began);
    }
    for (uint32_t i = 0; i < LANES; i++)
        EXPECT(bank.stored[i] == bank.cells[i]);
}

/* --- submits --- */

static void open_bank_of(lanepool_options *options, unsigned workers)
{
    memset(&bank, 0, sizeof bank);
    bank.has_journal = options->journal != NULL;
    bank.has_priorities = options->priorities;
    options->workers = workers;
    EXPECT_STATUS(OK, lanepool_pool_create(options, &bank.pool));
}

static void open_bank(unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    open_bank_of(&options, workers);
}

static void open_bank_with_journal(unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;

    options.journal = &journal;
    journal.write = write_entries;
    journal.batch_max = 1 + scene_variant(3);
    journal.wait_ns = 1 + scene_variant(20);
    journal.lane_numbers = true;
    journal.completes_when_written = scene_variant(2) == 0;
    open_bank_of(&options, workers);
}

/* By the seed and a number. */
static uint32_t priority_of(uint32_t number)
{
    return bank.has_priorities ? (scene_seed >> number) % (LANEPOOL_PRIORITY_MAX + 1) : 0;
}

static bool submit(const lanepool_task *task)
{
    lanepool_status status = lanepool_pool_submit(bank.pool, task);

    EXPECT(status == LANEPOOL_OK || (bank.stops && status == LANEPOOL_SHUT_DOWN));
    return status == LANEPOOL_OK;
}

static void submit_posting(uint32_t i, uint32_t from, uint32_t to)
{
    struct posting *self = &bank.postings[i];
    lanepool_claim claims[2] = { lanepool_exclusive(from), lanepool_exclusive(to) };

    self->id = i + 1;
    self->from = from;
    self->to = to;
    self->accepted =
        submit(LANEPOOL_TASK(.function = post, .context = self, .claims = claims, .claim_count = 2,
                             .cancelled = post_cancelled, .priority = priority_of(3 * i)));
}

static void submit_cut(struct cut *self, uint32_t lanes, lanepool_mode mode, uint32_t fails_at,
                       uint32_t failures)
{
    lanepool_failure_policy policy = LANEPOOL_FAILURE_POLICY_INIT;

    policy.retries = 1;
    policy.delay_ns = failures > 0 ? scene_variant(2) * 10 : 0;
    self->claim_count = lanes;
    self->mode = mode;
    self->fails_at = fails_at;
    self->failures = failures;
    for (uint32_t i = 0; i < lanes; i++)
        self->claims[i] = lanepool_claim_of(lanepool_key_id(i), mode);
    self->accepted =
        submit(LANEPOOL_TASK(.function = sum_up, .context = self, .claims = self->claims,
                             .claim_count = lanes, .at_lane = visit, .cancelled = cut_cancelled,
                             .release = cut_released, .future = &self->future,
                             .on_failure = failures > 0 ? &policy : NULL,
                             .priority = priority_of(5 + lanes)));
}

static void submit_random_postings(void *argument)
{
    uint32_t first = *(const uint32_t *)argument;

    for (uint32_t i = first; i < first + POSTINGS / 2; i++)
        submit_posting(i, (scene_seed >> i) % LANES, (scene_seed >> 2 * i) % LANES);
}

/* --- judging --- */

static bool is_whole(const struct cut *cut)
{
    return atomic_load(&cut->calls) == 1;
}

static uint32_t visited(const struct cut *cut)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < cut->claim_count; i++)
        count += atomic_load(&cut->visits[i]);
    return count;
}

/* Replays in ticket order: the next task is the one with the smallest ticket not yet played. */
static void judge_states(void)
{
    uint64_t cells[LANES] = { 0 };
    bool played[POSTINGS + CUTS] = { false };

    for (;;) {
        uint32_t next = POSTINGS + CUTS;
        uint64_t ticket = UINT64_MAX;
        for (uint32_t i = 0; i < POSTINGS + CUTS; i++) {
            bool has_run = i < POSTINGS ? atomic_load(&bank.postings[i].runs) > 0
                                        : visited(&bank.cuts[i - POSTINGS]) > 0;
            uint64_t own = i < POSTINGS ? bank.postings[i].ticket : bank.cuts[i - POSTINGS].ticket;
            if (has_run && !played[i] && own < ticket) {
                ticket = own;
                next = i;
            }
        }
        if (next == POSTINGS + CUTS)
            break;
        played[next] = true;
        if (next < POSTINGS) {
            const struct posting *posting = &bank.postings[next];
            cells[posting->from] = after(cells[posting->from], posting->id);
            if (posting->to != posting->from)
                cells[posting->to] = after(cells[posting->to], posting->id);
            continue;
        }
        const struct cut *cut = &bank.cuts[next - POSTINGS];
        for (uint32_t i = 0; i < cut->claim_count; i++) {
            if (atomic_load(&cut->visits[i]) == 0)
                continue;
            EXPECT(cut->seen[i] == cells[lane_of(cut, i)]);
            if (cut->mode == LANEPOOL_EXCLUSIVE)
                cells[lane_of(cut, i)] = after(cells[lane_of(cut, i)], id_of_cut(cut));
        }
    }
    for (uint32_t i = 0; i < LANES; i++)
        EXPECT(cells[i] == bank.cells[i]);
}

static void judge_cut(struct cut *cut)
{
    lanepool_result result;

    if (!cut->accepted) {
        EXPECT(visited(cut) + atomic_load(&cut->calls) + atomic_load(&cut->cancels) == 0);
        return;
    }
    EXPECT_STATUS(OK, lanepool_future_wait(cut->future, 0, &result));
    EXPECT(atomic_load(&cut->calls) + atomic_load(&cut->cancels) == 1);
    EXPECT(atomic_load(&cut->releases) == 1);
    EXPECT((result.status == LANEPOOL_OK) == is_whole(cut));
    if (!is_whole(cut)) {
        bool began = atomic_load(&cut->why) == LANEPOOL_IN_PARTS;
        EXPECT(began || visited(cut) == 0);
        EXPECT(!began || bank.stops || cut->fails_at < LANES);
        EXPECT(began || bank.stops || bank.cancels);
    }
    lanepool_future_release(cut->future);
}

static void close_bank(void)
{
    EXPECT_STATUS(OK, lanepool_pool_destroy(bank.pool));
    for (uint32_t i = 0; i < POSTINGS; i++) {
        const struct posting *posting = &bank.postings[i];
        EXPECT(atomic_load(&posting->runs) + atomic_load(&posting->cancels) == posting->accepted);
    }
    for (uint32_t i = 0; i < CUTS; i++)
        judge_cut(&bank.cuts[i]);
    judge_states();
    if (bank.has_journal)
        judge_journal();
}

/* --- scenarios --- */

static void cancel_first(void *argument)
{
    (void)argument;
    lanepool_status status = lanepool_future_cancel(bank.cuts[0].future);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
    EXPECT(status != LANEPOOL_OK || visited(&bank.cuts[0]) == 0);
}

static void cancel_all(void *argument)
{
    size_t count;

    (void)argument;
    EXPECT_STATUS(OK, lanepool_pool_cancel(bank.pool, &count));
}

static void stop_bank(void *argument)
{
    (void)argument;
    lanepool_status status = lanepool_pool_shutdown_now(bank.pool, NULL, NULL);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

static void take_snapshot(void *argument)
{
    lanepool_snapshot *snapshot;

    (void)argument;
    if (lanepool_snapshot_take(bank.pool, &snapshot) == LANEPOOL_OK)
        lanepool_snapshot_release(snapshot);
}

static void post_and_cut(void)
{
    static void (*const others[])(void *) = { NULL, cancel_first, cancel_all, stop_bank,
                                              take_snapshot };
    static const uint32_t first = 0;
    uint32_t other = scene_variant(5);

    bank.cancels = others[other] == cancel_first || others[other] == cancel_all;
    bank.stops = others[other] == stop_bank;
    scene_spawn(submit_random_postings, (void *)&first);
    submit_posting(POSTINGS / 2, 0, 1);
    submit_cut(&bank.cuts[0], 1 + scene_variant(LANES), LANEPOOL_SHARED, scene_variant(2 * LANES),
               scene_variant(3));
    if (others[other] != NULL && bank.cuts[0].accepted)
        scene_spawn(others[other], NULL);
    submit_posting(POSTINGS / 2 + 1, 1, 2);
    submit_cut(&bank.cuts[1], 1 + scene_variant(LANES), LANEPOOL_EXCLUSIVE,
               scene_variant(2 * LANES), scene_variant(3));
    submit_posting(POSTINGS / 2 + 2, 2, 0);
    scene_join();
    close_bank();
}

/* Two cuts among postings of two threads; and, by the seed, one of the other things. */
SCENARIO(scenario_82_cuts_among_transfers, RANDOM)
{
    open_bank(1 + scene_variant(3));
    post_and_cut();
}

/* The same; and tasks and cuts have priorities. */
SCENARIO(scenario_82_cuts_with_priorities, RANDOM)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;

    options.priorities = true;
    options.priority_age_ns = scene_variant(2) == 0 ? LANEPOOL_FOREVER : 1;
    open_bank_of(&options, 1 + scene_variant(3));
    post_and_cut();
}

/* The same; and the journal's store has what each visit saw. */
SCENARIO(scenario_82_cuts_with_a_journal, RANDOM)
{
    open_bank_with_journal(1 + scene_variant(3));
    post_and_cut();
}

/* A quiesce returns when the cuts have ended. */
SCENARIO(scenario_82_a_quiesce_waits_for_a_cut, RANDOM)
{
    open_bank(1 + scene_variant(2));
    submit_posting(0, 0, 1);
    submit_cut(&bank.cuts[0], 1 + scene_variant(LANES), LANEPOOL_EXCLUSIVE, LANES, 0);
    submit_posting(1, 1, 0);
    EXPECT_STATUS(OK, lanepool_pool_quiesce(bank.pool, LANEPOOL_FOREVER));
    EXPECT(is_whole(&bank.cuts[0]));
    close_bank();
}

/* A barrier waits for the cut, and what is behind the barrier waits for it. */
static int behind_barrier(lanepool_run *run, void *context)
{
    (void)run;
    (void)context;
    const struct cut *second = &bank.cuts[1]; /* its submit may be under way */
    EXPECT(is_whole(&bank.cuts[0]));
    EXPECT(atomic_load(&second->visits[0]) + atomic_load(&second->visits[1]) == 0);
    return 0;
}

SCENARIO(scenario_82_a_barrier_between_two_cuts, RANDOM)
{
    lanepool_claim all = lanepool_claim_all();

    open_bank(1 + scene_variant(3));
    submit_posting(0, 0, 1);
    submit_cut(&bank.cuts[0], 3, LANEPOOL_SHARED, LANES, 0);
    EXPECT(submit(LANEPOOL_TASK(.function = behind_barrier, .claims = &all, .claim_count = 1)));
    submit_cut(&bank.cuts[1], 2, LANEPOOL_EXCLUSIVE, LANES, 0);
    submit_posting(1, 1, 2);
    close_bank();
}

SCENARIO(scenario_82_two_crossing_cuts_and_a_transfer, EXHAUSTIVE)
{
    open_bank(2);
    submit_cut(&bank.cuts[0], 2, LANEPOOL_EXCLUSIVE, LANES, 0);
    submit_posting(0, 0, 1);
    submit_cut(&bank.cuts[1], 2, LANEPOOL_SHARED, LANES, 0);
    close_bank();
}

SCENARIO(scenario_82_cut_and_cancel, EXHAUSTIVE)
{
    open_bank(1);
    bank.cancels = true;
    submit_cut(&bank.cuts[0], 2, LANEPOOL_EXCLUSIVE, LANES, 0);
    scene_spawn(cancel_first, NULL);
    submit_posting(0, 1, 1);
    scene_join();
    close_bank();
}

SCENARIO(scenario_82_cut_and_shutdown_now, EXHAUSTIVE)
{
    open_bank(1);
    bank.stops = true;
    submit_cut(&bank.cuts[0], 2, LANEPOOL_EXCLUSIVE, LANES, 0);
    scene_spawn(stop_bank, NULL);
    scene_join();
    close_bank();
}
