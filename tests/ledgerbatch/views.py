#!/usr/bin/env python3
"""The views of the database say the same as the output files and the commands, and the postings of one
account are found without reading all others.

usage: views.py LEDGERBATCH
"""
import csv
import sqlite3
import tempfile
from pathlib import Path

import books
import small_batch
from books import check, compare

# Many decimals, none, and fewer than the commodity shows; the largest amount; a price; quotes.
AMOUNTS = """\
commodity EUR
    format 1,000.00 EUR

2020-02-20 * (a "b") Text, with "quotes"
  C1:Cash  1.5 EUR
  C1:Savings  0.12345 EUR
  C1:Fund  12 POINTS
  C1:Stock  3 "ACME 1" @ 2.5 EUR
  C4:Cash  -0.00001 EUR
  Bank:Vault  -12 POINTS
  Bank:Vault  -9.12344 EUR

2020-02-21 Large
  C2:Large  9999999999899.99999 EUR
  Bank:Vault
"""


def rows_of(database, query, *values):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return [tuple("" if value is None else str(value) for value in row)
                for row in connection.execute(query, values)]  # fmt: skip
    finally:
        connection.close()


def table_of(text):
    return [tuple(compare.text_of(cell) if not cell.startswith("-") else cell for cell in row)
            for row in csv.reader(text.splitlines())][1:]  # fmt: skip


def check_register(binary, database):
    accounts = rows_of(database, "SELECT name, lane IS NULL FROM accounts")
    for account, is_house in accounts:
        wanted = table_of(books.run(binary, "register", account, "--db", database).stdout.decode())
        found = rows_of(database, "SELECT seq, date, code, text, commodity, amount, balance FROM register"
                        " WHERE account = ? ORDER BY seq, n", account)  # fmt: skip
        if is_house == "1":
            wanted = [row[:-1] + ("",) for row in wanted]
        check(found == wanted, f"{account}: {found}\n{wanted}")
    return len(accounts)


def check_trial_balance(binary, database):
    wanted = table_of(books.run(binary, "trial-balance", "--db", database).stdout.decode())
    found = rows_of(database, "SELECT 'account', * FROM trial_balance")
    check(sorted(found) == sorted(row for row in wanted if row[0] == "account"), f"{found}\n{wanted}")


def check_statements(database, outputs):
    count = 0
    for path in sorted(outputs.glob("**/statements/*.csv")):
        if path.stem.endswith("(house)"):  # of accounts that belong to no client
            continue
        wanted = table_of(path.read_text(encoding="utf-8"))
        found = rows_of(database, "SELECT client, kind, CASE WHEN kind = 'posting' THEN seq END, date, text,"
                        " account, commodity, amount, balance FROM statement_lines WHERE month = ? AND"
                        " client_group = ? ORDER BY client, seq, kind DESC, n", path.stem[:7], path.stem[8:])  # fmt: skip
        check(sorted(found) == sorted(wanted), f"{path}: {found}\n{wanted}")
        check([row[:2] for row in found] == [row[:2] for row in wanted], f"{path}: the order")
        count += len({row[0] for row in found})
    check(count == 12, f"{count} statements of 4 clients in 3 months")
    late = rows_of(database, "SELECT count(*) FROM statement_lines WHERE month IS NULL")[0][0]
    check(int(late) > 0, "what is after the last statement has no month")
    return count


def check_index(binary, database):
    """What is wrong with another account is not noticed, since its postings are not read."""
    plan = " ".join(row[-1] for row in rows_of(
        database, "EXPLAIN QUERY PLAN SELECT * FROM register WHERE account = 'C1:Cash'"))  # fmt: skip
    check("postings_by_account" in plan and "SCAN p" not in plan, plan)
    before = books.run(binary, "register", "C1:Cash", "--db", database).stdout
    books.run("sqlite3", database, "UPDATE postings SET commodity = 99 WHERE account ="
              " (SELECT account FROM accounts WHERE name = 'C2:Cash')")  # fmt: skip
    check(books.run(binary, "register", "C1:Cash", "--db", database).stdout == before, "C1:Cash")
    message = books.run(binary, "register", "C2:Cash", "--db", database, expect=1).stderr.decode()
    check("damaged" in message, message)


def check_all(binary, database, outputs):
    accounts = check_register(binary, database)
    check_trial_balance(binary, database)
    return accounts, check_statements(database, outputs)


def check_days(binary, folder):
    """The views are about all days of a database."""
    database, outputs = folder / "days", folder / "days-out"
    for month, date in ((1, "2020-02-29"), (2, "2020-03-31"), (3, "2020-04-30")):
        journal = folder / f"{date}.journal"
        journal.write_text(small_batch.journal(month, month), encoding="utf-8")
        books.run(binary, "day", "--date", date, "--db", database, "--out", outputs, *small_batch.RULES, journal)
    check_all(binary, database, outputs)


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        (folder / "views.journal").write_text(small_batch.journal(1, 3) + AMOUNTS, encoding="utf-8")
        database, outputs = folder / "db", folder / "out"
        books.run(binary, "run", "--db", database, "--out", outputs, "--end-month", *small_batch.RULES,
                  folder / "views.journal")
        accounts, statements = check_all(binary, database, outputs)
        check_index(binary, database)
        check_days(binary, folder)
    print(f"views: {accounts} registers, {statements} statements and a trial balance are as in the files")


if __name__ == "__main__":
    main()
