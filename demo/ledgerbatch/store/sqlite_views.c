/*
 * Owns the views, for people who read the database with SQL, and the indexes. The views have names
 * in place of numbers, and amounts as decimals.
 */
#include "store/sqlite.h"

/* clang-format off */

/*
 * An amount of the commodity `c` as text, exactly as in the output files: with all decimals that it
 * needs, and at least those that the commodity shows. NULL stays NULL.
 */
#define DIGITS(amount) "printf('%0*d', c.stored_decimals + 1, abs(" amount "))"
#define FRACTION(amount) "substr(" DIGITS(amount) ", -c.stored_decimals, c.stored_decimals)"
#define PLACES(amount) "max(c.shown_decimals, length(rtrim(" FRACTION(amount) ", '0')))"
#define DECIMAL(amount) \
    "CASE WHEN " amount " < 0 THEN '-' WHEN " amount " >= 0 THEN '' END" \
    " || substr(" DIGITS(amount) ", 1, length(" DIGITS(amount) ") - c.stored_decimals)" \
    " || CASE WHEN " PLACES(amount) " > 0" \
    " THEN '.' || substr(" FRACTION(amount) ", 1, " PLACES(amount) ") ELSE '' END"

/*
 * The month of the statement that a row belongs to: of the first statement of the client's group
 * after the row's seq. A statement's code is "statement YYYY-MM GROUP".
 */
#define CODE_MONTH "substr(s.code, 11, 7)"
#define CODE_GROUP "substr(s.code, 19)"
#define MONTH_AFTER(seq) \
    "(SELECT " CODE_MONTH " FROM transactions s WHERE s.kind = 'statement' AND s.seq > " seq \
    " AND " CODE_GROUP " = l.client_group ORDER BY s.seq LIMIT 1)"

/* The postings of accounts in this order: CROSS JOIN keeps SQLite from reading all postings for one
 * account, which it does for want of statistics. */
#define POSTINGS \
    " CROSS JOIN postings p ON p.account = a.account CROSS JOIN transactions t ON t.seq = p.seq" \
    " CROSS JOIN commodities c ON c.commodity = p.commodity"

/* The text, and the date that the transaction is about if it was booked later. */
#define BOTH_DATES "t.text || ifnull(' (value date ' || t.value_date || ')', '')"

/* A balance that a statement has seen: it closes this statement, and opens the next one. */
#define STATEMENT_BALANCE \
    " NULL AS date, NULL AS text, a.name AS account, c.symbol AS commodity, NULL AS amount," \
    " " DECIMAL("k.amount") " AS balance FROM lanes l JOIN accounts a ON a.lane = l.lane" \
    " JOIN closings k ON k.account = a.account JOIN commodities c ON c.commodity = k.commodity"

const char store_i_views[] =
    "CREATE INDEX statements ON transactions(seq) WHERE kind = 'statement';"

    "CREATE VIEW register AS SELECT a.name AS account, p.seq, p.n, t.date, t.code,"
    " " BOTH_DATES " AS text, c.symbol AS commodity, " DECIMAL("p.amount") " AS amount, " DECIMAL("p.balance") " AS balance"
    " FROM accounts a" POSTINGS ";"

    "CREATE VIEW trial_balance AS SELECT ifnull(l.client_group, '(house)') AS client_group,"
    " a.name AS account, c.symbol AS commodity, " DECIMAL("max(b.amount, 0)") " AS debit,"
    " " DECIMAL("max(-b.amount, 0)") " AS credit"
    " FROM balances b JOIN accounts a ON a.account = b.account"
    " JOIN commodities c ON c.commodity = b.commodity LEFT JOIN lanes l ON l.lane = a.lane"
    " WHERE b.amount <> 0;"

    "CREATE VIEW statement_lines AS"
    " SELECT l.client_group, l.client, " MONTH_AFTER("k.seq") " AS month, k.seq, 0 AS n,"
    " 'opening' AS kind," STATEMENT_BALANCE
    " UNION ALL SELECT l.client_group, l.client, " MONTH_AFTER("p.seq") ", p.seq, p.n, 'posting',"
    " t.date, " BOTH_DATES ", a.name, c.symbol, " DECIMAL("p.amount") ", " DECIMAL("p.balance")
    " FROM accounts a CROSS JOIN lanes l ON l.lane = a.lane" POSTINGS
    " UNION ALL SELECT l.client_group, l.client, " CODE_MONTH ", k.seq, 0, 'closing',"
    STATEMENT_BALANCE " JOIN transactions s ON s.seq = k.seq;";
/* clang-format on */

bool store_index_postings(struct store *store, struct problem *problem)
{
    return store_i_execute(
        store, "CREATE INDEX IF NOT EXISTS postings_by_account ON postings(account)", problem);
}
