/* Claims as the scope of a rule: deposits to one account may overlap, since they only add. A
 * statement overlaps with no other task of its account. The pool asks the rule only about tasks of
 * the same account. */
#include <lanepool/lanepool.h>
#include <stdatomic.h>
#include <stdio.h>

static _Atomic long balance[2];

static struct posting {
    uint64_t account;
    long amount; /* 0: a statement */
    long shown;  /* by a statement */
} postings[] = { { 0, 5, 0 }, { 1, 70, 0 }, { 0, 6, 0 }, { 0, 0, 0 }, { 0, 7, 0 }, { 1, 0, 0 } };

static bool is_compatible(const lanepool_task_view *a, const lanepool_task_view *b, void *user)
{
    const struct posting *one = a->context, *other = b->context;
    (void)user;
    return one->amount != 0 && other->amount != 0;
}

static int post(lanepool_run *run, void *context)
{
    struct posting *posting = context;
    (void)run;
    posting->shown = atomic_fetch_add(&balance[posting->account], posting->amount);
    return 0;
}

int main(void)
{
    lanepool_pool *pool;
    lanepool_status status =
        lanepool_pool_create(LANEPOOL_OPTIONS(.is_compatible = is_compatible), &pool);
    for (size_t i = 0; i < sizeof postings / sizeof *postings && status == LANEPOOL_OK; i++)
        status = lanepool_pool_run(pool, lanepool_key_id(postings[i].account), post, &postings[i]);
    lanepool_pool_destroy(pool);
    printf("statements: %ld and %ld, at the end: %ld\n", postings[3].shown, postings[5].shown,
           atomic_load(&balance[0]));
    return status != LANEPOOL_OK;
}
