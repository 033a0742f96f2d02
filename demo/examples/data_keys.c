/* Keys that depend on data: a payment goes to the account that a mandate names, and the mandate may
 * change. A first task reads the mandate in the mandate's lane. It submits a second task that
 * claims the mandate and the account. The payment's place is that of the second task. So that task
 * looks again: if the mandate has changed by then, it is submitted once more. */
#include <lanepool/lanepool.h>
#include <stdio.h>

enum { OLD, NEW, MANDATE }; /* two accounts and the mandate: three keys */

static long balance[2];       /* each is guarded by its account's lane */
static uint64_t payee;        /* guarded by the mandate's lane */
static unsigned looked_again; /* guarded by the mandate's lane, which bookings claim EXCLUSIVE */

struct payment {
    long amount;
    uint64_t account; /* that its booking claims */
};

static int book(lanepool_run *run, void *context);

/* Submits the booking of a payment. Its claims are complete: the mandate and the account. */
static int submit_booking(lanepool_run *run, struct payment *payment)
{
    const lanepool_task *booking =
        LANEPOOL_TASK(.function = book, .context = payment,
                      LANEPOOL_CLAIMS(lanepool_exclusive(MANDATE),
                                      lanepool_exclusive(payment->account)));
    return lanepool_pool_submit(lanepool_run_pool(run), booking); /* never blocks inside a task */
}

static int book(lanepool_run *run, void *context)
{
    struct payment *payment = context;
    if (payment->account != payee) {
        looked_again++;
        payment->account = payee;
        return submit_booking(run, payment);
    }
    balance[payment->account] += payment->amount;
    return 0;
}

static int pay(lanepool_run *run, void *context)
{
    struct payment *payment = context;
    payment->account = payee;
    return submit_booking(run, payment);
}

static int change_mandate(lanepool_run *run, void *context)
{
    (void)run, (void)context;
    payee = NEW;
    return 0;
}

int main(void)
{
    struct payment payments[2] = { { .amount = 50 }, { .amount = 70 } };
    const lanepool_claim reads = lanepool_shared(MANDATE);
    const lanepool_claim writes = lanepool_exclusive(MANDATE);
    const lanepool_task *tasks[3] = {
        LANEPOOL_TASK(.function = pay, .context = &payments[0], LANEPOOL_CLAIMS(reads)),
        LANEPOOL_TASK(.function = change_mandate, LANEPOOL_CLAIMS(writes)),
        LANEPOOL_TASK(.function = pay, .context = &payments[1], LANEPOOL_CLAIMS(reads)),
    };
    lanepool_pool *pool;
    if (lanepool_pool_create(NULL, &pool) || lanepool_pool_pause(pool))
        return 1;
    for (int i = 0; i < 3; i++) /* all are accepted before the first one runs */
        if (lanepool_pool_submit(pool, tasks[i]) != LANEPOOL_OK)
            return 1;
    if (lanepool_pool_resume(pool) != LANEPOOL_OK)
        return 1;
    lanepool_pool_destroy(pool);
    printf("old account: %ld\nnew account: %ld\n", balance[OLD], balance[NEW]);
    printf("bookings that looked again: %u\n", looked_again);
    return 0;
}
