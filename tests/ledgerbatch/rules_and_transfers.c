/* Rules about accounts, and the reading of transfers. */
#include <string.h>

#include "reading.h"
#include "support/test.h"

static void expect_found(const char *found, const char *wanted)
{
    if (!strstr(found, wanted)) {
        test_fail(__FILE__, __LINE__, "found:\n%s\nwanted:\n%s", found, wanted);
    }
}

#define TRANSFERS "seq,date,from,to,amount,commodity\n"

Test(rules_and_transfers, transfers_become_balances)
{
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,A,B,10.50,USD\n"
                                              "5,2024-01-01,\"B\",\"A\",1,USD\r\n"),
                 "A -9.50 USD\nB 9.50 USD\n");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,A,\"B, \"\"x\"\"\",1,USD"),
                 "A -1 USD\nB, \"x\" 1 USD\n");
}

Test(rules_and_transfers, transfers_that_are_wrong_name_their_line)
{
    expect_found(reading_csv_result("seq,date\n"), "FILE:1: the header line");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,A,B,1,USD\n1,2024-01-02,A,B,1,USD\n"),
                 "FILE:3: seq strictly increases");
    expect_found(reading_csv_result(TRANSFERS "x,2024-01-02,A,B,1,USD\n"), "FILE:2: seq is");
    expect_found(reading_csv_result(TRANSFERS "0,2024-01-02,A,B,1,USD\n"), "FILE:2: seq is");
    expect_found(reading_csv_result(TRANSFERS "1,2024-02-30,A,B,1,USD\n"), "FILE:2: there is no");
    expect_found(reading_csv_result(TRANSFERS "1,2024-02-03 ,A,B,1,USD\n"), "FILE:2: something");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,,B,1,USD\n"), "FILE:2: an account");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,A,B,-1,USD\n"),
                 "FILE:2: an amount is positive");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,A,B,0,USD\n"), "is positive");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,A,B,\"1,000\",USD\n"), "two ways");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,A,B,1,\n"), "needs a commodity");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,A,B,1\n"), "5 fields");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,A,B,1,USD,x\n"), "more than 6");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,\"A,B,1,USD\n"), "not closed");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,A\"x,B,1,USD\n"), "not quoted");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,\"A\"x,B,1,USD\n"), "followed by");
    expect_found(reading_csv_result(TRANSFERS "1,2024-01-02,\"A\nA\",B,1,USD\n"),
                 "FILE:2: a control character");
}

Test(rules_and_transfers, an_account_cannot_be_both_commutative_and_guarded)
{
    struct rules rules;
    rules_init(&rules);
    patterns_add(&rules.commutative, "A*");
    patterns_add(&rules.no_overdraft, "*:x");
    expect_found(reading_result_with(&rules, "2024-01-02 x\n  A:x  1 USD\n  B\n"), "matches both");
}

static const char *result_with_house_accounts(const char *text)
{
    struct rules rules;
    rules_init(&rules);
    patterns_add(&rules.commutative, "A*");
    return reading_result_with(&rules, text);
}

Test(rules_and_transfers, an_assertion_on_a_commutative_account_is_checked)
{
    expect_found(result_with_house_accounts("2024-01-02 x\n  A:x  1 USD = 1 USD\n  B\n"
                                            "2024-01-03 x\n  A:x  2 USD = 3 USD\n  B\n"
                                            "2024-01-04 x\n  A:x  = 5 USD\n  B\n"
                                            "2024-01-05 x\n  A:x  1 USD = 6 USD\n  B\n"),
                 "A:x 6 USD");
    expect_found(result_with_house_accounts("2024-01-02 x\n  A:x  1 USD = 1 USD\n  B\n"
                                            "2024-01-03 x\n  A:x  2 USD = 4 USD\n  B\n"),
                 "FILE:5: the balance of 'A:x' is asserted to be 4 USD but is 3");
}

Test(rules_and_transfers, an_account_needs_as_many_components_as_its_client)
{
    struct rules rules;
    rules_init(&rules);
    rules.client_depth = 2;
    expect_found(reading_result_with(&rules, "2024-01-02 x\n  A:x  1 USD\n  B\n"),
                 "FILE:3: the account 'B' has fewer components");
}

static void expect_monthly(const char *text, const char *wrong)
{
    struct rules rules;
    rules_init(&rules);
    const char *found = month_end_steps_read_list(&rules.steps, text);
    expect((found == NULL) == (wrong == NULL));
    expect(!wrong || strstr(found, wrong) != NULL);
    rules_fini(&rules);
}

Test(rules_and_transfers, the_month_end_list_is_read)
{
    expect_monthly("statement", NULL);
    expect_monthly("close,accrual=0.05,statement", NULL);
    expect_monthly("", "takes statement");
    expect_monthly("statement,", "takes statement");
    expect_monthly("accrual", "takes statement");
    expect_monthly("accrual=", "takes statement");
    expect_monthly("accrual=x", "a rate a year");
    expect_monthly("accrual=0.05x", "a rate a year");
    expect_monthly("trial-balance", NULL);
    expect_monthly("statement,statement", "twice");
    expect_monthly("trial-balance,close,trial-balance", "twice");
}
