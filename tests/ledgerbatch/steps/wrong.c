/*
 * Steps for tests that do what they may not. WRONG says what, for the client C2 or in `group`.
 */
#include "ledgerbatch_step.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNBALANCED  1
#define OTHERS      2
#define HOUSE       3
#define UNPREPARED  4
#define TOO_LARGE   5
#define REASON      6
#define CHANGING    7
#define CRASH       8
#define CRASH_GROUP 9
#define ABORT       10
#define RECURSION   11
#define FAIL_GROUP  12
#define GROUP_POSTS 13
#define PREPARES    14

/* Repaired from outside, as an operator repairs a machine: the object stays the same. */
#define REPAIRED "repaired"

static int prepare(struct ledgerbatch_call *call, const struct ledgerbatch_client *client)
{
    (void)client;
    return WRONG == PREPARES ? ledgerbatch_add_account(call, "C1:New", 0) : 0;
}

/* Recurses until the stack is used up: the byte is never 0. */
static int recurse(volatile char *above)
{
    volatile char bytes[4096];
    bytes[0] = *above;
    return bytes[0] ? recurse(bytes) + bytes[0] : 0;
}

static int post_pair(struct ledgerbatch_call *call, const char *account, int64_t units)
{
    return ledgerbatch_post(call, "C2:Cash", 0, -units) ||
           ledgerbatch_post(call, account, 0, units);
}

static int visit(struct ledgerbatch_call *call, const struct ledgerbatch_client *client)
{
    static int64_t calls;
    if (strcmp(client->name, "C2") != 0 || access(REPAIRED, F_OK) == 0) {
        return 0;
    }
    switch (WRONG) {
    case UNBALANCED:
        return ledgerbatch_post(call, "C2:Cash", 0, 1);
    case OTHERS:
        return post_pair(call, "C1:Cash", 1);
    case HOUSE:
        return post_pair(call, "Bank:Vault", 1);
    case UNPREPARED:
        return post_pair(call, "C2:New", 1);
    case TOO_LARGE:
        return post_pair(call, "C2:Savings", 999999999999999999);
    case REASON:
        return ledgerbatch_fail(call, "C2 has no papers");
    case CHANGING:
        return post_pair(call, "C2:Savings", ++calls);
    case CRASH:
        *(volatile int *)8 = 1;
        return 0;
    case ABORT:
        abort();
    case RECURSION:
        return recurse((volatile char *)client->name);
    default:
        return 0;
    }
}

static int group(struct ledgerbatch_call *call,
                 const struct ledgerbatch_contribution *contributions, size_t count)
{
    (void)contributions;
    (void)count;
    if (strcmp(call->group, "one") != 0 || access(REPAIRED, F_OK) == 0) {
        return 0;
    }
    switch (WRONG) {
    case CRASH_GROUP:
        *(volatile int *)8 = 1;
        return 0;
    case FAIL_GROUP:
        return ledgerbatch_fail(call, "the group has no auditor");
    case GROUP_POSTS:
        return post_pair(call, "C2:Savings", 1);
    default:
        return 0;
    }
}

const struct ledgerbatch_step ledgerbatch_step = {
#ifdef ABI
    .abi = ABI,
#else
    .abi = LEDGERBATCH_STEP_ABI,
#endif
    .mode = LEDGERBATCH_STEP_CUT,
    .prepare = prepare,
    .visit = visit,
    .group = group
};
