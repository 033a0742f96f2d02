/* What the reader takes, and what it makes of it. */
#include <string.h>

#include "reading.h"
#include "support/test.h"

static void expect_result(const char *text, const char *wanted)
{
    const char *found = reading_result(text);
    if (strcmp(found, wanted) != 0) {
        test_fail(__FILE__, __LINE__, "for:\n%s\nfound:\n%s\nwanted:\n%s", text, found, wanted);
    }
}

#define ONE_USD "A 1 USD\nB -1 USD\n"

Test(journal_accepts, dates_with_any_of_three_separators)
{
    expect_result("2024-01-02 x\n  A  1 USD\n  B\n", ONE_USD);
    expect_result("2024/01/02 x\n  A  1 USD\n  B\n", ONE_USD);
    expect_result("2024.02.29 x\n  A  1 USD\n  B\n", ONE_USD);
}

Test(journal_accepts, dates_without_leading_zeros_and_without_a_year)
{
    expect_result("2024-1-2 x\n  A  1 USD\n  B\n", ONE_USD);
    expect_result("2024/1/02=1/3 x\n  A  1 USD\n  B\n", ONE_USD);
    expect_result("Y2024\n1/2 x\n  A  1 USD = 1 USD\n  B\nY 2023\n"
                  "12.31 x\n  A  2 USD = 2 USD\n  B\n",
                  "FILE:3: the balance of 'A' is asserted to be 1 USD but is 3");
}

Test(journal_accepts, headers_with_and_without_their_parts)
{
    expect_result("2024-01-02\n  A  1 USD\n  B\n", ONE_USD);
    expect_result("2024-01-02 *\n  A  1 USD\n  B\n", ONE_USD);
    expect_result("2024-01-02 ! (c) x\n  A  1 USD\n  B\n", ONE_USD);
    expect_result("2024-01-02 *x * (y) ; z\n  A  1 USD\n  B\n", ONE_USD);
    expect_result("2024-01-02\t(a b)\tx\n  A  1 USD\n  B\n", ONE_USD);
}

Test(journal_accepts, comments_everywhere)
{
    expect_result("; a\n# b\n* c\ncomment\n2024-99-99\nend comment\n"
                  "2024-01-02 x ; d\n  ; e\n  A  1 USD ; f:g\n  B  ; h\n\n; i\n",
                  ONE_USD);
}

Test(journal_accepts, directives)
{
    expect_result("account A  ; group:east\naccount B\n  ; note\ncommodity USD\n"
                  "  format 1,000. USD\n",
                  "FILE:5: digits are missing after the point: '1,000. USD'");
    expect_result("account A  ; group:east\naccount B\n  ; note\ncommodity USD  ; x\n"
                  "P 2024-01-02 USD 0.9 EUR\n\n2024-01-02 x\n  A  1 USD\n  B\n",
                  ONE_USD);
}

Test(journal_accepts, commodity_format_as_shown_decimals)
{
    expect_result("commodity USD\n  format 1,000.00 USD\n2024-01-02 x\n  A  1 USD\n  B\n",
                  "A 1.00 USD\nB -1.00 USD\n");
    expect_result("commodity $1,000.00\n2024-01-02 x\n  A  $1\n  B\n", "A 1.00 $\nB -1.00 $\n");
    expect_result("commodity 1000.0 USD\n2024-01-02 x\n  A  1 USD\n  B\n",
                  "A 1.0 USD\nB -1.0 USD\n");
}

Test(journal_accepts, symbols_before_and_after)
{
    expect_result("2024-01-02 x\n  A  $10\n  B  -$10\n", "A 10 $\nB -10 $\n");
    expect_result("2024-01-02 x\n  A  $-10\n  B  $ 10\n", "A -10 $\nB 10 $\n");
    expect_result("2024-01-02 x\n  A  USD 10\n  B  10USD\n  C  -20 USD\n",
                  "A 10 USD\nB 10 USD\nC -20 USD\n");
    expect_result("2024-01-02 x\n  A  10 \"a b 1\"\n  B  \"a b 1\" -10\n",
                  "A 10 a b 1\nB -10 a b 1\n");
    expect_result("2024-01-02 x\n  A  10 \"USD\"\n  B  -10 USD\n", "A 10 USD\nB -10 USD\n");
    expect_result("2024-01-02 x\n  A  10 €\n  B\n", "A 10 €\nB -10 €\n");
}

Test(journal_accepts, amounts_without_a_commodity)
{
    expect_result("2024-01-02 x\n  A  10\n  B\n", "A 10 \nB -10 \n");
    expect_result("2024-01-02 x\n  A  2 X @ 1.5\n  B  -3.0 = -3\n", "A 2 X\nB -3.0 \n");
    expect_result("2024-01-02 x\n  A  0\n  A  10 USD\n  B  -9 EUR\n", "A 0 \nA 10 USD\nB -9 EUR\n");
}

Test(journal_accepts, decimal_commas)
{
    expect_result("2024-01-02 x\n  A  1.000,5 USD\n  A  10,50 USD\n  B\n",
                  "A 1011.00 USD\nB -1011.00 USD\n");
    expect_result("commodity 1.000,00 USD\n2024-01-02 x\n  A  1 USD\n  B\n",
                  "A 1.00 USD\nB -1.00 USD\n");
}

Test(journal_accepts, names_that_stand_for_others)
{
    expect_result("alias a=A:x\n2024-01-02 x\n  a:y  1 USD\n  B\n", "A:x:y 1 USD\nB -1 USD\n");
    expect_result("apply account A\n2024-01-02 x\n  y  1 USD\nend apply account\n"
                  "2024-01-02 x\n  A  1 USD\n  B\n",
                  "FILE:2: the transaction does not balance: 1 USD is left over");
    expect_result("apply account A\n2024-01-02 x\n  y  1 USD\n  z\nend apply account\n"
                  "2024-01-02 x\n  A  1 USD\n  B\n",
                  "A 1 USD\nA:y 1 USD\nA:z -1 USD\nB -1 USD\n");
}

Test(journal_accepts, postings_in_square_brackets)
{
    expect_result("2024-01-02 x\n  A  1 USD\n  [C]  2 USD\n  [D]  -2 USD\n  B\n",
                  "A 1 USD\nB -1 USD\nC 2 USD\nD -2 USD\n");
    expect_result("2024-01-02 x\n  [A]  1 USD\n  [B]\n", ONE_USD);
}

Test(journal_accepts, lots_at_their_price)
{
    expect_result("2024-01-02 x\n  A  3 X {5 USD} [2024-01-02] @ 5.0 USD\n  B\n",
                  "A 3 X\nB -15 USD\n");
}

Test(journal_accepts, groups_of_digits)
{
    expect_result("2024-01-02 x\n  A  1,000.00 USD\n  B\n", "A 1000.00 USD\nB -1000.00 USD\n");
    expect_result("2024-01-02 x\n  A  1,000,000 USD\n  B\n", "A 1000000 USD\nB -1000000 USD\n");
}

Test(journal_accepts, names_with_single_spaces)
{
    expect_result("2024-01-02 x\n  A b:c d  1 USD\n  B\n", "A b:c d 1 USD\nB -1 USD\n");
    expect_result("2024-01-02 x\n\tA\t1 USD\n\tB \n", ONE_USD);
}

Test(journal_accepts, line_ends_of_both_kinds_and_none_at_the_end)
{
    expect_result("2024-01-02 x\r\n  A  1 USD\r\n  B\r\n", ONE_USD);
    expect_result("2024-01-02 x\n  A  1 USD\n  B", ONE_USD);
    expect_result("2024-01-02 x\n  A  1 USD\n  B\n   \n\n\n", ONE_USD);
}

Test(journal_accepts, elided_amount_in_one_or_several_commodities)
{
    expect_result("2024-01-02 x\n  A  10 USD\n  B  5 EUR\n  C\n",
                  "A 10 USD\nB 5 EUR\nC -5 EUR\nC -10 USD\n");
    expect_result("2024-01-02 x\n  C\n  A  10 USD\n  B  5 EUR\n  A  1 GBP\n",
                  "A 1 GBP\nA 10 USD\nB 5 EUR\nC -5 EUR\nC -1 GBP\nC -10 USD\n");
    expect_result("2024-01-02 x\n  A  10 USD\n  B  -10 USD\n  C\n",
                  "A 10 USD\nB -10 USD\nC 0 USD\n");
}

Test(journal_accepts, elided_amount_at_cost_exactly)
{
    expect_result("2024-01-02 x\n  A  3 X @ 1.2345 USD\n  B\n", "A 3 X\nB -3.7035 USD\n");
    expect_result("2024-01-02 x\n  A  -3 X @@ 10 USD\n  B\n", "A -3 X\nB 10 USD\n");
    expect_result("2024-01-02 x\n  A  -3 X @ 2.50 USD\n  B\n", "A -3 X\nB 7.5 USD\n");
}

Test(journal_accepts, cost_that_balances_when_rounded)
{
    expect_result("2024-01-02 x\n  A  1 X @ 10.004 USD\n  B  -10.00 USD\n",
                  "A 1 X\nB -10.00 USD\n");
    expect_result("2024-01-02 x\n  A  1 X @ 10.005 USD\n  B  -10.00 USD\n",
                  "A 1 X\nB -10.00 USD\n");
}

Test(journal_accepts, two_unpriced_commodities_of_opposite_sign)
{
    expect_result("2024-01-02 x\n  A  10 USD\n  B  -9 EUR\n", "A 10 USD\nB -9 EUR\n");
    expect_result("2024-01-02 x\n  A  10 USD\n  C  1 USD\n  B  -9 EUR\n",
                  "A 10 USD\nB -9 EUR\nC 1 USD\n");
}

Test(journal_accepts, true_assertions_in_date_order)
{
    expect_result("2024-01-03 x\n  A  1 USD = 3 USD\n  B\n"
                  "2024-01-02 x\n  A  2 USD = 2.00 USD\n  B\n",
                  "A 3 USD\nB -3 USD\n");
    expect_result("2024-01-02 x\n  A  5 USD = 5 USD\n  A  1 USD = 6 USD\n  B\n",
                  "A 6 USD\nB -6 USD\n");
    expect_result("2024-01-02 x\n  A  5 X @ 2 USD = 5 X\n  B  -10 USD = -10 USD\n",
                  "A 5 X\nB -10 USD\n");
    expect_result("2024-01-02 x\n  A  5 USD\n  A  0 EUR = 0 EUR\n  B\n",
                  "A 0 EUR\nA 5 USD\nB -5 USD\n");
}

Test(journal_accepts, balance_assignments)
{
    expect_result("2024-01-02 x\n  A  10 USD\n  B\n\n2024-01-03 x\n  A  = 4 USD\n  B\n",
                  "A 4 USD\nB -4 USD\n");
    expect_result("2024-01-03 x\n  A  = 4 USD\n  B\n\n2024-01-02 x\n  A  10 USD\n  B\n",
                  "A 4 USD\nB -4 USD\n");
    expect_result("2024-01-02 x\n  A  = 5 USD\n  A  = 6 USD\n  B\n", "A 6 USD\nB -6 USD\n");
    expect_result("2024-01-02 x\n  A  1 USD\n  A  = 6 USD\n  B\n", "A 6 USD\nB -6 USD\n");
    expect_result("2024-01-02 x\n  A  = 5 USD\n  B  = -5 USD\n", "A 5 USD\nB -5 USD\n");
    expect_result("2024-01-02 x\n  A  = 0.50 USD\n  X  3 USD\n  Y  2 EUR\n  B\n",
                  "A 0.50 USD\nB -2 EUR\nB -3.50 USD\nX 3.00 USD\nY 2 EUR\n");
    expect_result("2024-01-02 x\n  X  3 S @ 1.5 USD\n  A  = 0.5 USD\n  B  -5.0 USD\n",
                  "A 0.5 USD\nB -5.0 USD\nX 3 S\n");
}

/* Settling moves such a transaction to the end of the book; what stays behind belongs to nothing.
 */
Test(journal_accepts, assignment_with_an_elided_account_of_high_number)
{
    expect_result("account A\naccount B\naccount C\naccount D\naccount E\naccount F\n"
                  "2024-01-02 x\n  A  = 4 USD\n  F\n\n2024-01-03 x\n  A  1 USD\n  B\n",
                  "A 5 USD\nB -1 USD\nF -4 USD\n");
}

Test(journal_accepts, posting_of_zero)
{
    expect_result("2024-01-02 x\n  A  0 USD\n  B  0.00 USD\n", "A 0.00 USD\nB 0.00 USD\n");
    expect_result("2024-01-02 x\n  A  0 USD\n", "A 0 USD\n");
}
