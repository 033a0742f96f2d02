/* A journal whose write may fail, while tasks are submitted and cancelled and the pool may stop.
 * The tasks are not tasks of the scene, because it does not know UNWRITTEN. */
#include "simulated/scenarios.h"
#include "simulated/scene.h"

enum { CLIENTS = 5, KEYS = 2 };

struct client {
    lanepool_future *future;
    bool accepted;
    _Atomic uint32_t runs, cancels, releases;
    _Atomic bool is_written;
    _Atomic lanepool_status ended_as; /* what its continuation was called with */
    uint64_t place;                   /* in its lane, as it ran */
};

static struct {
    lanepool_pool *pool;
    struct client clients[CLIENTS];
    uint64_t next_place[KEYS];    /* guarded by the lanes */
    uint64_t written_place[KEYS]; /* of the journal's thread */
    uint64_t next_number;
    uint32_t writes, fails_at; /* the call that fails; 0: none */
    _Atomic bool has_failed;
    _Atomic uint32_t inside;
    bool completes_when_written;
} books;

static uint32_t key_of(const struct client *client)
{
    return (uint32_t)(client - books.clients) % KEYS;
}

static int post(lanepool_run *run, void *context)
{
    struct client *self = context;

    EXPECT_STATUS(OK, lanepool_run_set_record(run, self));
    self->place = ++books.next_place[key_of(self)];
    atomic_fetch_add(&self->runs, 1);
    return 0;
}

static void post_cancelled(void *context, lanepool_status why)
{
    struct client *self = context;

    (void)why;
    atomic_fetch_add(&self->cancels, 1);
}

static void post_released(void *context)
{
    struct client *self = context;

    EXPECT(atomic_load(&self->runs) == 0 || atomic_load(&self->is_written) ||
           atomic_load(&books.has_failed));
    atomic_fetch_add(&self->releases, 1);
}

static void note_end(void *context, const lanepool_result *result)
{
    struct client *self = context;

    EXPECT(!books.completes_when_written || result->status != LANEPOOL_OK ||
           atomic_load(&self->is_written));
    atomic_store(&self->ended_as, result->status);
}

static int write_or_fail(void *user, const lanepool_journal_entry *entries, size_t count,
                         uint64_t watermark)
{
    (void)user;
    (void)watermark;
    EXPECT(atomic_fetch_add(&books.inside, 1) == 0);
    EXPECT(!atomic_load(&books.has_failed));
    if (++books.writes == books.fails_at)
        atomic_store(&books.has_failed, true);
    for (size_t i = 0; i < count && !atomic_load(&books.has_failed); i++) {
        struct client *client = entries[i].record;

        EXPECT(entries[i].number == books.next_number++);
        EXPECT(client->place == ++books.written_place[key_of(client)]);
        atomic_store(&client->is_written, true);
    }
    atomic_fetch_sub(&books.inside, 1);
    return atomic_load(&books.has_failed);
}

static void open_books(uint32_t fails_at, unsigned workers)
{
    lanepool_options options = LANEPOOL_OPTIONS_INIT;
    lanepool_journal_options journal = LANEPOOL_JOURNAL_OPTIONS_INIT;

    memset(&books, 0, sizeof books);
    books.fails_at = fails_at;
    books.next_number = 1;
    books.completes_when_written = scene_variant(2) == 0;
    journal.write = write_or_fail;
    journal.batch_max = 1 + scene_variant(2);
    journal.wait_ns = 1 + scene_variant(20);
    journal.idle_ns = scene_variant(2) * (1 + scene_variant(50));
    journal.completes_when_written = books.completes_when_written;
    options.workers = workers;
    options.journal = &journal;
    EXPECT_STATUS(OK, lanepool_pool_create(&options, &books.pool));
}

static void submit_posting(void *argument)
{
    struct client *self = argument;
    lanepool_claim claim = lanepool_exclusive(key_of(self));
    lanepool_task task = LANEPOOL_TASK_INIT;

    task.function = post;
    task.cancelled = post_cancelled;
    task.release = post_released;
    task.context = self;
    task.claims = &claim;
    task.claim_count = 1;
    task.future = &self->future;
    self->accepted = lanepool_pool_submit(books.pool, &task) == LANEPOOL_OK;
    if (self->accepted)
        EXPECT_STATUS(OK, lanepool_future_then(self->future, note_end, self));
}

static void submit_some(void *argument)
{
    (void)argument;
    for (uint32_t i = 1; i < CLIENTS; i += 2)
        submit_posting(&books.clients[i]);
}

static void cancel_posting(void *argument)
{
    struct client *client = argument;
    lanepool_status status = lanepool_future_cancel(client->future);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_RUNNING || status == LANEPOOL_DONE);
}

static void stop_books(void *argument)
{
    (void)argument;
    lanepool_status status = lanepool_pool_shutdown_now(books.pool, NULL, NULL);

    EXPECT(status == LANEPOOL_OK || status == LANEPOOL_SHUT_DOWN);
}

static void judge_client(struct client *client)
{
    lanepool_result result;

    if (!client->accepted) {
        EXPECT(atomic_load(&client->runs) + atomic_load(&client->cancels) == 0);
        return;
    }
    EXPECT_STATUS(OK, lanepool_future_wait(client->future, 0, &result));
    EXPECT(atomic_load(&client->ended_as) == result.status);
    EXPECT(atomic_load(&client->runs) + atomic_load(&client->cancels) == 1);
    EXPECT(atomic_load(&client->releases) == 1);
    EXPECT(atomic_load(&client->runs) == 1 || !atomic_load(&client->is_written));
    if (atomic_load(&client->cancels) == 1)
        EXPECT(result.status == LANEPOOL_CANCELLED);
    else if (books.completes_when_written)
        EXPECT(result.status ==
               (atomic_load(&client->is_written) ? LANEPOOL_OK : LANEPOOL_UNWRITTEN));
    else
        EXPECT(result.status == LANEPOOL_OK);
    EXPECT(atomic_load(&client->runs) == 0 || atomic_load(&client->is_written) ||
           atomic_load(&books.has_failed));
    lanepool_future_release(client->future);
}

static void close_books(void)
{
    lanepool_status ended = lanepool_pool_destroy(books.pool);

    EXPECT(ended == (atomic_load(&books.has_failed) ? LANEPOOL_UNWRITTEN : LANEPOOL_OK));
    for (uint32_t i = 0; i < CLIENTS; i++)
        judge_client(&books.clients[i]);
}

SCENARIO(scenario_81_write_fails_beside_submits_and_a_cancel, RANDOM)
{
    open_books(1 + scene_variant(3), 1 + scene_variant(2));
    submit_posting(&books.clients[0]);
    scene_spawn(submit_some, NULL);
    submit_posting(&books.clients[2]);
    if (books.clients[2].accepted)
        scene_spawn(cancel_posting, &books.clients[2]);
    submit_posting(&books.clients[4]);
    scene_join();
    close_books();
}

SCENARIO(scenario_81_shutdown_now_beside_a_journal, RANDOM)
{
    open_books(scene_variant(4), 1 + scene_variant(2));
    submit_posting(&books.clients[0]);
    scene_spawn(submit_some, NULL);
    scene_spawn(stop_books, NULL);
    submit_posting(&books.clients[2]);
    submit_posting(&books.clients[4]);
    scene_join();
    close_books();
}

SCENARIO(scenario_81_quiesce_waits_for_the_write, RANDOM)
{
    open_books(0, 1 + scene_variant(2));
    submit_posting(&books.clients[0]);
    submit_posting(&books.clients[1]);
    EXPECT_STATUS(OK, lanepool_pool_quiesce(books.pool, LANEPOOL_FOREVER));
    EXPECT(atomic_load(&books.clients[0].is_written) && atomic_load(&books.clients[1].is_written));
    submit_posting(&books.clients[2]);
    close_books();
}

SCENARIO(scenario_81_two_conflicting_tasks_and_a_write, EXHAUSTIVE)
{
    open_books(0, 1);
    submit_posting(&books.clients[0]);
    submit_posting(&books.clients[2]);
    close_books();
}
