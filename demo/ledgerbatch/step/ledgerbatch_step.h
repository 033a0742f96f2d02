/*
 * A month-end step of your own: a shared object that ledgerbatch calls.
 *
 * The object has one symbol, `const struct ledgerbatch_step ledgerbatch_step`. For each group of
 * clients and each month ledgerbatch calls `visit` once for each client of the group, and then
 * `group` once. docs/ledgerbatch-steps.md has a whole step, and how to build and to name one.
 *
 * Amounts are whole numbers of units: 1234 units of a commodity with 2 decimals are 12.34. There is
 * no floating point. An amount has at most 18 digits.
 *
 * Rules for every step:
 *
 * - It is deterministic. For the same arguments it makes the same calls of the functions below. It
 * uses no clock, no random numbers, no files, no environment, and no address as a value.
 * `ledgerbatch check` makes each call twice and compares the two.
 * - It has no data that changes. Calls for different clients and groups come from several threads
 * at the same time.
 * - Everything that it is given is valid until the call returns. It must not change it. Everything
 *   that it passes is copied.
 * - It returns 0, or what ledgerbatch_fail() returns. A call that fails has no effect.
 * - It uses libraries of the system only. ledgerbatch knows the SHA-256 of the object, but not that
 * of the libraries.
 */
#ifndef LEDGERBATCH_STEP_H
#define LEDGERBATCH_STEP_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The number of this interface. ledgerbatch refuses a step that was built for another one. */
#define LEDGERBATCH_STEP_ABI 1u

/* How a step is run. */
enum ledgerbatch_step_mode {
    /*
     * A cut: each client is visited when its own earlier transactions are done, and its later ones
     * follow at once. `group` is called when all clients are visited. It can post to house accounts
     * only, since later transactions of the clients may be posted already. If a client is held, the
     * others are visited all the same, and `group` is called when that client has been visited,
     * too.
     */
    LEDGERBATCH_STEP_CUT = 0,
    /*
     * A rollup that has all clients of the group until `group` has returned. So `group` can post
     * to their accounts. If one client is held, the step is held, too, and so are its clients.
     */
    LEDGERBATCH_STEP_BLOCKING = 1
};

struct ledgerbatch_commodity {
    const char *symbol;
    uint32_t decimals;       /* of all units of this commodity */
    uint32_t shown_decimals; /* at most `decimals`; round to these */
};

/* An account in one commodity. */
struct ledgerbatch_account {
    const char *name; /* whole, as in C1:Assets:Bank */
    uint32_t commodity;
    int64_t balance; /* in units; 0 in `prepare` */
};

struct ledgerbatch_client {
    const char *name;
    const struct ledgerbatch_account *accounts; /* by name, then by symbol */
    size_t account_count;
};

/* The last `P` directive for a commodity, up to the last day of the month. */
struct ledgerbatch_price {
    uint32_t commodity;
    uint32_t currency; /* the commodity that the price is in */
    int64_t units;     /* for one of the commodity */
    uint32_t decimals; /* of `units` */
    uint32_t date;     /* 20240131 is the 31st of January 2024 */
};

/* A name and a value of the rule. */
struct ledgerbatch_parameter {
    const char *name;
    const char *value;
};

/* The bytes that `visit` has contributed for a client. */
struct ledgerbatch_contribution {
    const char *client;
    const void *bytes; /* aligned for any type */
    size_t size;
};

struct ledgerbatch_host;

/* The facts that all calls have. A step passes the struct to the functions below. */
struct ledgerbatch_call {
    const struct ledgerbatch_host *host;
    const char *step;  /* its name in the rules */
    const char *group; /* in `prepare`: "" */
    uint32_t year;     /* in `prepare`: 0 */
    uint32_t month;    /* 1 to 12; in `prepare`: 0 */
    uint32_t last_day; /* of the month, such as 20240131; in `prepare`: 0 */
    const struct ledgerbatch_commodity *commodities; /* a commodity's number is its place here */
    size_t commodity_count;
    const struct ledgerbatch_price *prices; /* by commodity, then by currency; none in `prepare` */
    size_t price_count;
    const struct ledgerbatch_parameter *parameters; /* by name */
    size_t parameter_count;
};

/* The functions of ledgerbatch. Use the calls below instead. */
struct ledgerbatch_host {
    int (*fail)(struct ledgerbatch_call *call, const char *reason);
    int (*add_account)(struct ledgerbatch_call *call, const char *account, uint32_t commodity);
    int (*post)(struct ledgerbatch_call *call, const char *account, uint32_t commodity,
                int64_t units);
    int (*contribute)(struct ledgerbatch_call *call, const void *bytes, size_t size);
    int (*value)(struct ledgerbatch_call *call, uint32_t commodity, int64_t units,
                 uint32_t currency, int64_t *value);
    int (*report_text)(struct ledgerbatch_call *call, const char *text);
    int (*report_amount)(struct ledgerbatch_call *call, uint32_t commodity, int64_t units);
    int (*report_end)(struct ledgerbatch_call *call);
};

/* A step. `abi` stays the first member in every version. */
struct ledgerbatch_step {
    uint32_t abi;  /* LEDGERBATCH_STEP_ABI */
    uint32_t mode; /* an enum ledgerbatch_step_mode */

    /*
     * Called once for each client while the batch is planned, before anything is posted, in the
     * order of the clients' names. Adds the accounts that the step posts to and that the input may
     * not have. Balances are not known yet. NULL if there are none to add. A failure is an error in
     * the rules: nothing is posted.
     */
    int (*prepare)(struct ledgerbatch_call *call, const struct ledgerbatch_client *client);

    /*
     * Called for each client of a group, as of its place: after the client's earlier transactions,
     * before its later ones. May post to accounts of this client and to house accounts that the
     * rule names. Its postings must add up to zero in each commodity. May contribute to `group`.
     */
    int (*visit)(struct ledgerbatch_call *call, const struct ledgerbatch_client *client);

    /*
     * Called when all clients of a group are visited, with their contributions in the order of the
     * clients' names. May post, as `mode` says, and may write a report. Its postings must add up to
     * zero in each commodity. NULL if there is nothing to do.
     */
    int (*group)(struct ledgerbatch_call *call,
                 const struct ledgerbatch_contribution *contributions, size_t count);
};

/* Ends the call with a failure. The reason is copied, up to 200 bytes. Returns a code that is not
 * 0. */
static inline int ledgerbatch_fail(struct ledgerbatch_call *call, const char *reason)
{
    return call->host->fail(call, reason);
}

/*
 * In `prepare` only: adds an account in a commodity. It is an account of this client, or a house
 * account that the rule names. One that is there already stays as it is. Returns 0, or a code for
 * the caller to return.
 */
static inline int ledgerbatch_add_account(struct ledgerbatch_call *call, const char *account,
                                          uint32_t commodity)
{
    return call->host->add_account(call, account, commodity);
}

/*
 * In `visit` and `group`: adds a posting. Those to the same account and commodity are added up.
 * Returns 0, or a code for the caller to return if the step may not post to this account, the
 * account is not there in this commodity, or the amount has too many digits.
 */
static inline int ledgerbatch_post(struct ledgerbatch_call *call, const char *account,
                                   uint32_t commodity, int64_t units)
{
    return call->host->post(call, account, commodity, units);
}

/*
 * In `visit`: adds bytes to the client's contribution. They are stored with the client's postings,
 * and `group` gets them back, even if the program was killed in between. So they must not contain
 * addresses. Returns 0, or a code for the caller to return: a contribution has at most 1 MiB.
 */
static inline int ledgerbatch_contribute(struct ledgerbatch_call *call, const void *bytes,
                                         size_t size)
{
    return call->host->contribute(call, bytes, size);
}

/*
 * In `visit` and `group`: computes what an amount is worth in a currency, by the price in `prices`,
 * rounded half to even at the decimals that the currency shows. An amount in the currency itself
 * is worth the same. Returns 0, or a code for the caller to return if there is no price, or the
 * value has too many digits.
 */
static inline int ledgerbatch_value(struct ledgerbatch_call *call, uint32_t commodity,
                                    int64_t units, uint32_t currency, int64_t *value)
{
    return call->host->value(call, commodity, units, currency, value);
}

/*
 * In `group`: these write the report of the group and month, a file of comma-separated values:
 * steps/STEP/YYYY-MM-GROUP.csv. Each adds a field to the line, and the last one ends the line. Each
 * returns 0, or a code for the caller to return.
 */
static inline int ledgerbatch_report_text(struct ledgerbatch_call *call, const char *text)
{
    return call->host->report_text(call, text);
}

static inline int ledgerbatch_report_amount(struct ledgerbatch_call *call, uint32_t commodity,
                                            int64_t units)
{
    return call->host->report_amount(call, commodity, units);
}

static inline int ledgerbatch_report_end(struct ledgerbatch_call *call)
{
    return call->host->report_end(call);
}

/* The number of a commodity in `commodities`; UINT32_MAX if there is none with this symbol. */
static inline uint32_t ledgerbatch_find_commodity(const struct ledgerbatch_call *call,
                                                  const char *symbol)
{
    for (size_t i = 0; i < call->commodity_count; i++) {
        const char *a = call->commodities[i].symbol;
        const char *b = symbol;
        while (*a != 0 && *a == *b) {
            a++;
            b++;
        }
        if (*a == *b) {
            return (uint32_t)i;
        }
    }
    return UINT32_MAX;
}

/* The value of a parameter, or NULL if the rule does not have it. */
static inline const char *ledgerbatch_parameter(const struct ledgerbatch_call *call,
                                                const char *name)
{
    for (size_t i = 0; i < call->parameter_count; i++) {
        const char *a = call->parameters[i].name;
        const char *b = name;
        while (*a != 0 && *a == *b) {
            a++;
            b++;
        }
        if (*a == *b) {
            return call->parameters[i].value;
        }
    }
    return NULL;
}

/* The symbol by which ledgerbatch finds the step. */
extern const struct ledgerbatch_step ledgerbatch_step;

#ifdef __cplusplus
}
#endif

#endif
