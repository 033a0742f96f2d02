/* What the reader stops at, with the line that is to blame. */
#include <stdio.h>
#include <string.h>

#include "reading.h"
#include "support/test.h"

/* The message begins with "FILE:LINE: " and contains the words. */
static void expect_stop(const char *text, int line, const char *words)
{
    char place[32];
    snprintf(place, sizeof place, "FILE:%d: ", line);
    const char *found = reading_result(text);
    if (strncmp(found, place, strlen(place)) != 0 || !strstr(found, words)) {
        test_fail(__FILE__, __LINE__, "for:\n%s\nfound:\n%s\nwanted:\n%s...%s", text, found, place,
                  words);
    }
}

#define HEADER "\n2024-01-02 x\n"

Test(journal_rejects, amounts_that_can_be_read_in_two_ways)
{
    expect_stop(HEADER "  A  1,000 USD\n  B\n", 3, "two ways");
    expect_stop(HEADER "  A  1.000,000 USD\n  B\n", 3, "comma");
    expect_stop(HEADER "  A  1.00,00 USD\n  B\n", 3, "comma");
    expect_stop(HEADER "  A  1,00 USD\n  B  -1.00 USD\n", 4, "decimal points in one place");
    expect_stop(HEADER "  A  1,00,000.00 USD\n  B\n", 3, "comma");
}

Test(journal_rejects, amounts_that_are_none)
{
    expect_stop(HEADER "  A  .5 USD\n  B\n", 3, "amount is expected");
    expect_stop(HEADER "  A  10. USD\n  B\n", 3, "after the point");
    expect_stop(HEADER "  A  +10 USD\n  B\n", 3, "amount is expected");
    expect_stop(HEADER "  A  --10 USD\n  B\n", 3, "amount is expected");
    expect_stop(HEADER "  A  -$-10\n  B\n", 3, "two signs");
    expect_stop(HEADER "  A  (1 + 2) USD\n  B\n", 3, "expressions");
    expect_stop(HEADER "  A  USD\n  B\n", 3, "number is missing");
    expect_stop(HEADER "  A  1000000000000000000 USD\n  B\n", 3, "18 digits");
    expect_stop(HEADER "  A  600000000000000000 USD\n  B  600000000000000000 USD\n  C\n", 5,
                "the missing amount has more than 18 digits");
    expect_stop(HEADER "  A  600000000000000000 USD\n  A  600000000000000000 USD\n"
                       "  B  -600000000000000000 USD\n  C  -600000000000000000 USD\n",
                4, "the balance of 'A' has too many digits");
    expect_stop(HEADER "  A  10 USD 5\n  B\n", 3, "unexpected '5'");
    expect_stop(HEADER "  A  10 and\n  B\n", 3, "needs quotes");
    expect_stop(HEADER "  A  10 a~\n  B\n", 3, "unexpected '~'");
    expect_stop(HEADER "  A  10 \"\"\n  B\n", 3, "needs a commodity");
    expect_stop(HEADER "  A  10 \"a\n  B\n", 3, "not closed");
    expect_stop(HEADER "  A  10 \"a;b\"\n  B\n", 3, "semicolons");
}

Test(journal_rejects, lots_and_other_notations)
{
    expect_stop(HEADER "  A  10 X {5 USD}\n  B\n", 3, "write '@ PRICE'");
    expect_stop(HEADER "  A  10 X {5 USD} @ 6 USD\n  B\n", 3, "they differ");
    expect_stop(HEADER "  A  10 X {{5 USD}} @ 5 USD\n  B\n", 3, "they differ");
    expect_stop(HEADER "  A  10 X {5 USD} @ 5 EUR\n  B\n", 3, "they differ");
    expect_stop(HEADER "  A  10 X [2024-01-01]\n  B\n", 3, "write '@ PRICE'");
    expect_stop(HEADER "  A  10 X == 10 X\n  B\n", 3, "'=='");
    expect_stop(HEADER "  A  10 X =* 10 X\n  B\n", 3, "'=*'");
    expect_stop(HEADER "  A  10 X = 10 X @ 2 USD\n  B\n", 3, "no price");
    expect_stop(HEADER "  A  10 X = 10\n  B\n", 3, "without a commodity");
    expect_stop(HEADER "  (A)  10 X\n", 3, "no other side");
    expect_stop(HEADER "  [A]  10 X\n", 2, "in square brackets do not balance: 10 X");
    expect_stop(HEADER "  [A  10 X\n", 3, "brackets");
    expect_stop(HEADER "  ** A  10 X\n  B\n", 3, "marks");
    expect_stop(HEADER "  # A\n  B\n", 3, "marks");
}

Test(journal_rejects, prices_that_are_wrong)
{
    expect_stop(HEADER "  A  10 X @ -5 USD\n  B\n", 3, "not negative");
    expect_stop(HEADER "  A  10 X @@ -5 USD\n  B\n", 3, "not negative");
    expect_stop(HEADER "  A  10 USD @ 5 USD\n  B\n", 3, "another commodity");
    expect_stop(HEADER "  A  10 @ 5\n  B\n", 3, "another commodity");
    expect_stop(HEADER "  A  10 X @\n  B\n", 3, "amount is expected");
}

Test(journal_rejects, account_names_that_are_wrong)
{
    expect_stop(HEADER "  A::B  1 USD\n  B\n", 3, "empty component");
    expect_stop(HEADER "  A:  1 USD\n  B\n", 3, "empty component");
    expect_stop(HEADER "  A ; x\n  B  1 USD\n", 3, "two spaces");
    expect_stop(HEADER "  A;x  1 USD\n  B\n", 3, "two spaces");
    expect_stop(HEADER "  A\x01  1 USD\n  B\n", 3, "control character");
}

/* hledger takes them for spaces, ledger for letters. */
Test(journal_rejects, blanks_that_are_no_spaces)
{
    expect_stop(HEADER "  A\u00a0\u00a01 USD\n  B  -1 USD\n", 3, "a blank that is not a plain");
    expect_stop(HEADER "  A\u00a0x  1 USD\n  B\n", 3, "a blank that is not a plain");
    expect_stop(HEADER "  A\u1680x  1 USD\n  B\n", 3, "a blank that is not a plain");
    expect_stop(HEADER "  A\u200ax  1 USD\n  B\n", 3, "a blank that is not a plain");
    expect_stop(HEADER "  A\u3000x  1 USD\n  B\n", 3, "a blank that is not a plain");
    expect_stop(HEADER "  A  1\u00a0USD\n  B\n", 3, "a blank that is not a plain");
    expect_stop(HEADER "  A  1 \"a\u202fb\"\n  B\n", 3, "a blank that is not a plain");
    expect_stop(HEADER "  A  1\u205f000 USD\n  B\n", 3, "a blank that is not a plain");
}

/* ledger reads such postings as expressions, and such commodities as hours, minutes, seconds. */
Test(journal_rejects, words_with_a_meaning_of_their_own)
{
    expect_stop(HEADER "  assert  1 USD\n  B\n", 3, "ledger reads a posting");
    expect_stop(HEADER "  check no 7:Cash  1 USD\n  B\n", 3, "ledger reads a posting");
    expect_stop(HEADER "  expr:x  1 USD\n  expr  -1 USD\n", 4, "ledger reads a posting");
    expect_stop(HEADER "  A  1 h\n  B\n", 3, "ledger reads h, m and s");
    expect_stop(HEADER "  A  1 \"m\"\n  B\n", 3, "ledger reads h, m and s");
    expect_stop("P 2024-01-02 s 5 USD\n", 1, "ledger reads h, m and s");
}

Test(journal_rejects, what_is_too_long_for_other_programs)
{
    static char text[8192];
    snprintf(text, sizeof text, "\n; %0*d\n", 4000, 0);
    expect_stop(text, 2, "4000 bytes");
    snprintf(text, sizeof text, HEADER "  A:%0*d  1 USD\n  B\n", 1000, 0);
    expect_stop(text, 3, "1000 bytes");
    snprintf(text, sizeof text, HEADER "  A  1 \"%0*d\"\n  B\n", 101, 0);
    expect_stop(text, 3, "100 bytes");
}

Test(journal_rejects, dates_that_are_none)
{
    expect_stop("1-2 x\n  A  1 USD\n  B\n", 1, "without a year");
    expect_stop("2024-01/02 x\n  A  1 USD\n  B\n", 1, "a date is");
    expect_stop("24-01-02 x\n  A  1 USD\n  B\n", 1, "a date is");
    expect_stop("2023-02-29 x\n  A  1 USD\n  B\n", 1, "no such day");
    expect_stop("2024-04-31 x\n  A  1 USD\n  B\n", 1, "no such day");
    expect_stop("2024-13-01 x\n  A  1 USD\n  B\n", 1, "no such day");
    expect_stop("1200-01-01 x\n  A  1 USD\n  B\n", 1, "1400");
    expect_stop("2024-01-02=2024-01-32 x\n  A  1 USD\n  B\n", 1, "no such day");
    expect_stop("2024-01-02=x\n  A  1 USD\n  B\n", 1, "a date is");
    expect_stop("2024-01-02x\n  A  1 USD\n  B\n", 1, "space");
    expect_stop("2024-01-02 (x\n  A  1 USD\n  B\n", 1, "not closed");
}

/* A posting of another day would be in another statement. */
Test(journal_rejects, dates_of_single_postings)
{
    expect_stop(HEADER "  A  1 USD ; [2024-01-05]\n  B\n", 3, "date of this posting alone");
    expect_stop(HEADER "  A  1 USD\n  ; x [1/5] y\n  B\n", 4, "date of this posting alone");
    expect_stop(HEADER "  A  1 USD\n  B  ; a:b, date:2024-01-05\n", 4, "'date:'");
    expect_stop(HEADER "  A  1 USD\n  B  ; date2:x\n", 4, "'date2:'");
    expect_stop("2024-01-02 x  ; [2024-01-05]\n  A  1 USD\n  B\n", 1, "the transaction's date");
    expect_stop(HEADER "  ; [2024-01-05]\n  A  1 USD\n  B\n", 3, "the transaction's date");
}

Test(journal_rejects, transactions_that_do_not_balance)
{
    expect_stop(HEADER "  A  10 USD\n  B  -9.99 USD\n", 2, "0.01 USD is left over");
    expect_stop(HEADER "  A  10 USD\n  B  9 EUR\n", 2, "does not balance");
    expect_stop(HEADER "  A  10 USD\n  B  -9 EUR\n  C  5 GBP\n", 2, "does not balance");
    expect_stop(HEADER "  A  10 USD\n  B  -9 EUR\n  C  5 GBP\n  D  -5 GBP\n", 2, "not balance");
    expect_stop(HEADER "  A  10 X @ 2 USD\n  B  -9 EUR\n", 2, "does not balance");
    expect_stop(HEADER "  A  1 X @ 10.006 USD\n  B  -10.00 USD\n", 2, "0.006 USD");
    expect_stop(HEADER "  A  1 X @ 10.015 USD\n  B  -10.00 USD\n", 2, "0.015 USD");
    expect_stop(HEADER "  A  3 X @ 3.333 USD\n  B  -5 Y @@ 10 USD\n", 2, "does not balance");
    expect_stop(HEADER "  A  1 USD\n", 2, "does not balance");
}

Test(journal_rejects, transactions_with_too_much_or_too_little_left_out)
{
    expect_stop(HEADER "  A  1 USD\n  B\n  C\n", 5, "only one posting");
    expect_stop(HEADER "  A 1 USD\n  B\n", 4, "two spaces go before an amount");
    expect_stop(HEADER "  A\n", 3, "nothing says");
    expect_stop(HEADER "  A  0 USD\n  B  0 EUR\n  C\n", 5, "ledger fills in no zero");
    expect_stop(HEADER "\n", 2, "needs postings");
    expect_stop(HEADER "  A\n  A  = 6 USD\n  B  1 USD\n", 4, "before the posting without");
    expect_stop("2024-01-02 x\n  A  1 USD\n   \n  B  -1 USD\n", 1, "does not balance");
}

Test(journal_rejects, assertions_that_are_wrong)
{
    expect_stop(HEADER "  A  10 USD = 11 USD\n  B\n", 3, "asserted to be 11 USD but is 10");
    expect_stop(HEADER "  A  10 = 11\n  B\n", 3, "asserted to be 11 but is 10");
    expect_stop(HEADER "  A  10.001 USD = 10.00 USD\n  B\n", 3, "but is 10.001");
    expect_stop(HEADER "  A  0 USD = 10 EUR\n  B\n", 3, "but is 0");
    expect_stop(HEADER "  A  10 USD = 10 EUR\n  B\n", 3, "write a posting of 0");
    expect_stop(HEADER "  A  10 USD = 0 EUR\n  B\n", 3, "write a posting of 0");
    expect_stop(HEADER "  A  1 X @ 2 USD\n  B  = 2 USD\n  C\n", 5, "hledger leaves prices out");
    expect_stop("2024-01-03 x\n  A  1 USD = 1 USD\n  B\n2024-01-02 x\n  A  2 USD\n  B\n", 2,
                "but is 3");
}

Test(journal_rejects, directives_outside_the_subset)
{
    expect_stop("D $1000\n", 1, "shows its decimals");
    expect_stop("D $1,000.00\n" HEADER "  A  1\n  B\n", 4, "that of 'D'");
    expect_stop("\n= /food/\n  A  1 USD\n", 2, "automated");
    expect_stop("~ monthly\n  A  1 USD\n", 1, "periodic");
    expect_stop("apply tag x\n", 1, "'apply tag x'");
    expect_stop("alias /a/=b\n", 1, "pattern");
    expect_stop("alias a=b\nalias c=a\n", 2, "another one");
    expect_stop("year 2024\n", 1, "'year'");
    expect_stop("decimal-mark ,\n", 1, "'decimal-mark'");
    expect_stop("% comment\n", 1, "'%'");
    expect_stop("end comment\n", 1, "'end'");
    expect_stop("account A\n  alias x\n", 2, "at the margin");
    expect_stop("commodity USD\n  note x\n", 2, "'note'");
    expect_stop("commodity $1,000\n", 1, "two ways");
    expect_stop("commodity 1,000,000 USD\n", 1, "shows its decimals");
    expect_stop("commodity 1000 USD\n", 1, "shows its decimals");
    expect_stop("commodity 1.000,000 USD\n", 1, "comma");
    expect_stop("commodity USD\n  format 1,000.00 EUR\n", 2, "another commodity");
    expect_stop("account A  ; group:\n", 1, "group's name");
    expect_stop("account A  ; group:a/b\n", 1, "group's name");
    expect_stop("P 2024-01-02 X\n", 1, "amount is expected");
    expect_stop("P 2024-01-02 10:00 X 5 USD\n", 1, "HH:MM:SS");
}

Test(journal_rejects, lines_that_belong_nowhere)
{
    expect_stop("  A  1 USD\n", 1, "belongs to no");
    expect_stop("  ; x\n", 1, "belongs to no");
    expect_stop("2024-01-02 x\n  A  1 USD\n  B\n; c\n  C  1 USD\n", 5, "belongs to no");
    expect_stop("comment x\nend comment\n", 1, "alone");
    expect_stop("comment\nend comment x\n", 2, "alone");
}

/* hledger refuses these files. */
Test(journal_rejects, last_lines_without_a_line_end)
{
    expect_stop("comment", 1, "line end after 'comment'");
    expect_stop("comment\nx", 2, "line end after the last line of a comment");
    expect_stop("comment\nend comment", 2, "line end after the last line of a comment");
    expect_stop("apply account x", 1, "line end after 'apply account'");
}

Test(journal_rejects, bytes_that_are_no_text)
{
    expect_stop("; a\n; \xff\n", 2, "UTF-8");
    expect_stop("\xef\xbb\xbf; a\n", 1, "byte-order mark");
}

Test(journal_rejects, includes_that_fail)
{
    expect_stop("\ninclude /nonexistent/x.journal\n", 2, "No such file");
    expect_stop("include *.journal\n", 1, "plain file name");
    expect_stop("include\n", 1, "needs a file");
    expect_stop("include -\n", 1, "standard input");
}

Test(journal_rejects, two_groups_of_one_client)
{
    expect_stop("account A:x  ; group:g\naccount A:y  ; group:h\n"
                "2024-01-02 x\n  A:x  1 USD\n  B\n",
                2, "already in the group 'g'");
}

Test(journal_rejects, remainders_that_other_postings_could_show)
{
    expect_stop("2024-01-02 x\n  A  1 USD\n  B  -3 X @ 0.3333 USD\n"
                "2024-01-03 y\n  A  0.0001 USD\n  B\n",
                1, "does not balance to 4 decimals");
    expect_stop("2024-01-03 y\n  A  3 X @ 0.25 USD\n  B\n"
                "2024-01-02 x\n  A  1 USD\n  B  -3 X @ 0.33 USD\n",
                4, "does not balance to 2 decimals");
}

Test(journal_rejects, nothing_at_all)
{
    expect(strstr(reading_result("; empty\n"), "no transactions") != NULL);
}
