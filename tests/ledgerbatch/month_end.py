#!/usr/bin/env python3
"""Month-end rollups: exact interest, closes, statements, groups.

usage: month_end.py LEDGERBATCH
"""
import csv
import sqlite3
import tempfile
from decimal import Decimal
from pathlib import Path

import books
from books import check

JOURNAL = """\
account C1:Savings  ; group:east
account C2:Savings
  ; group:west

2024-01-10 Opening
  C1:Savings  100.20 USD
  C2:Savings  100.60 USD
  C3:Savings  -250.00 USD
  C1:Cash  10 USD
  Bank:Vault

2024-01-20 Wages
  C1:Cash  70.00 USD
  C1:Cash  5.000 EUR
  C1:Income:Wages

2024-03-05 Food
  C2:Expenses:Food  12.30 USD
  C2:Savings
"""

# At 5 per cent a year: 100.20 x 0.05 / 12 = 0.4175, 250 x 0.05 / 12 = 1.041666...
POSTED_JANUARY = """\
2024-01-31 * (accrual 2024-01 all) Interest
    C3:Savings                                      -1.04 USD = -251.04 USD
    C3:Income:Interest                              1.04 USD = 1.04 USD

2024-01-31 * (close 2024-01 all) Month-end close
    C3:Income:Interest                              -1.04 USD = 0.00 USD
    C3:Equity:Retained                              1.04 USD = 1.04 USD

2024-01-31 * (accrual 2024-01 east) Interest
    C1:Savings                                      0.42 USD = 100.62 USD
    C1:Income:Interest                              -0.42 USD = -0.42 USD

2024-01-31 * (close 2024-01 east) Month-end close
    C1:Income:Interest                              0.42 USD = 0.00 USD
    C1:Equity:Retained                              -0.42 USD = -0.42 USD
    C1:Income:Wages                                 5.000 EUR = 0.000 EUR
    C1:Equity:Retained                              -5.000 EUR = -5.000 EUR
    C1:Income:Wages                                 70.00 USD = 0.00 USD
    C1:Equity:Retained                              -70.00 USD = -70.42 USD

2024-01-31 * (accrual 2024-01 west) Interest
"""
STATEMENT_JANUARY = """\
kind,seq,date,text,account,commodity,amount,balance
posting,1,2024-01-10,Opening,C1:Savings,USD,100.20,100.20
posting,1,2024-01-10,Opening,C1:Cash,USD,10.00,10.00
posting,2,2024-01-20,Wages,C1:Cash,USD,70.00,80.00
posting,2,2024-01-20,Wages,C1:Cash,EUR,5.000,5.000
posting,2,2024-01-20,Wages,C1:Income:Wages,USD,-70.00,-70.00
posting,2,2024-01-20,Wages,C1:Income:Wages,EUR,-5.000,-5.000
closing,,,,C1:Cash,EUR,,5.000
closing,,,,C1:Cash,USD,,80.00
closing,,,,C1:Income:Wages,EUR,,-5.000
closing,,,,C1:Income:Wages,USD,,-70.00
closing,,,,C1:Savings,USD,,100.20
"""
# The interest and the close of January come after its statement: February's begins with them.
STATEMENT_FEBRUARY = """\
kind,seq,date,text,account,commodity,amount,balance
opening,,,,C1:Cash,EUR,,5.000
opening,,,,C1:Cash,USD,,80.00
opening,,,,C1:Income:Wages,EUR,,-5.000
opening,,,,C1:Income:Wages,USD,,-70.00
opening,,,,C1:Savings,USD,,100.20
posting,7,2024-01-31,Interest,C1:Savings,USD,0.42,100.62
posting,7,2024-01-31,Interest,C1:Income:Interest,USD,-0.42,-0.42
posting,8,2024-01-31,Month-end close,C1:Income:Interest,USD,0.42,0.00
posting,8,2024-01-31,Month-end close,C1:Equity:Retained,USD,-0.42,-0.42
posting,8,2024-01-31,Month-end close,C1:Income:Wages,EUR,5.000,0.000
posting,8,2024-01-31,Month-end close,C1:Equity:Retained,EUR,-5.000,-5.000
posting,8,2024-01-31,Month-end close,C1:Income:Wages,USD,70.00,0.00
posting,8,2024-01-31,Month-end close,C1:Equity:Retained,USD,-70.00,-70.42
closing,,,,C1:Cash,EUR,,5.000
closing,,,,C1:Cash,USD,,80.00
closing,,,,C1:Equity:Retained,EUR,,-5.000
closing,,,,C1:Equity:Retained,USD,,-70.42
closing,,,,C1:Savings,USD,,100.62
"""
CLOSE_JANUARY_EAST = """\
client,account,commodity,amount
C1,C1:Income:Interest,USD,-0.42
C1,C1:Income:Wages,EUR,-5.000
C1,C1:Income:Wages,USD,-70.00
"""
# After the interest and the close of January, and before the postings of February.
TRIAL_BALANCE_JANUARY = """\
kind,group,account,commodity,debit,credit
account,east,C1:Cash,EUR,5.000,0.000
account,east,C1:Cash,USD,80.00,0.00
account,east,C1:Equity:Retained,EUR,0.000,5.000
account,east,C1:Equity:Retained,USD,0.00,70.42
account,east,C1:Savings,USD,100.62,0.00
account,west,C2:Equity:Retained,USD,0.00,0.42
account,west,C2:Savings,USD,101.02,0.00
account,all,C3:Equity:Retained,USD,1.04,0.00
account,all,C3:Savings,USD,0.00,251.04
account,(house),Bank:Vault,USD,39.20,0.00
group,(house),,USD,39.20,0.00
group,all,,USD,1.04,251.04
group,east,,EUR,5.000,5.000
group,east,,USD,180.62,70.42
group,west,,USD,101.02,0.42
book,,,EUR,5.000,5.000
book,,,USD,321.88,321.88
"""
# 0.05 / 12 of 6.00 is 0.025 exactly, of 18.00 is 0.075: half goes to the even cent.
HALVES = """\
2024-01-10 Opening
  A:Savings  6.00 USD
  B:Savings  18.00 USD
  C:Savings  -6.00 USD
  Bank:Vault

2024-01-11 More decimals are kept than shown
  D:Savings  0.00 EUR
  D:Stock  3 X @ 0.3333 EUR
  D:Savings
"""
# A balance so large that interest on it has too many digits: the task fails.
POISON = """\
2024-01-10 Opening
  A:Savings  9000000000000000.00 USD
  B:Savings  1.00 USD
  Bank:Vault  -9000000000000001.00 USD

2024-01-11 Another group goes on
  C:Savings  10.00 USD
  Bank:Vault

2024-02-11 Held
  A:Savings  -1.00 USD
  B:Savings  1.00 USD

2024-02-12 Goes on
  C:Savings  10.00 USD
  Bank:Vault

account A:Savings  ; group:poor
account B:Savings  ; group:poor
"""


def run(binary, folder, text, *options, expect=0):
    journal = folder / "input.journal"
    journal.write_text(text, encoding="utf-8")
    return books.run(binary, "run", "--db", folder / "db", "--out", folder / "out",
                     "--commutative", "Bank:*", *options, journal, expect=expect)  # fmt: skip


def check_statement_files(binary, folder):
    """The file of a group has the lines of its clients' files, with the client before them. The option
    changes nothing else. Each database knows its own files."""
    prints = {}
    for kind in ("group", "client"):
        database, out = folder / f"{kind}.db", folder / kind
        books.run(binary, "run", "--db", database, "--out", out, "--statements", kind, "--commutative",
                  "Bank:*", "--end-month", "--monthly", "close,accrual=0.05,statement", folder / "input.journal")  # fmt: skip
        books.run(binary, "verify", "--db", database, "--out", out)
        books.run("sqlite3", database, "DELETE FROM outputs")
        prints[kind] = {name: print for name, print in books.fingerprint(database, out).items()
                        if not name.startswith("statements/")}  # fmt: skip
    books.check_same(prints["client"], prints["group"], "--statements client")
    out = folder / "client/statements"
    check((out / "C1/2024-01.csv").read_text() == STATEMENT_JANUARY, "January")
    check((out / "C1/2024-02.csv").read_text() == STATEMENT_FEBRUARY, "February")
    found = sorted(str(path.relative_to(out)) for path in out.glob("**/*.csv"))
    wanted = [f"{client}/2024-0{m}.csv" for client in ("(house)", "C1", "C2", "C3") for m in (1, 2, 3)]
    check(found == wanted, f"a statement a client and month: {found}")
    for path in (folder / "group/statements").iterdir():
        header, *lines = path.read_text().splitlines()
        check(header == "client," + STATEMENT_JANUARY.split("\n", 1)[0], header)
        month, clients = path.name[:7], sorted({line.split(",")[0] for line in lines})
        check(clients, f"{path} is empty")
        wanted = [f"{client},{line}" for client in clients
                  for line in (out / client / f"{month}.csv").read_text().splitlines()[1:]]  # fmt: skip
        check(lines == wanted, f"{path}: {lines}")
    long = folder / "long.journal"
    long.write_text(f"2024-01-02 x\n  {'/' * 90}:Cash  1 USD\n  B:Cash\n")
    words = ["run", "--db", folder / "long.db", "--out", folder / "long", "--end-month", "--monthly", "statement", long]
    message = books.run(binary, *words, "--statements", "client", expect=2).stderr.decode()
    check("is too long for a folder" in message, message)
    books.run(binary, *words)


def check_all_three(binary, folder):
    run(binary, folder, JOURNAL, "--end-month", "--monthly", "close,accrual=0.05,statement")
    out = folder / "out"
    posted = (out / "posted.journal").read_text()
    check(POSTED_JANUARY in posted, f"posted.journal:\n{posted}")
    check("close 2024-02 west" in posted, "February has a close although nothing was posted in it")
    check((out / "close/2024-01-east.csv").read_text() == CLOSE_JANUARY_EAST, "the close of east")
    house = (out / "statements/2024-01-(house).csv").read_text()
    check(house.endswith("\n(house),closing,,,,Bank:Vault,USD,,39.20\n"), f"the house's January:\n{house}")
    for kind, groups in (("close", ("all", "east", "west")), ("statements", ("(house)", "all", "east", "west"))):
        wanted = [f"2024-0{m}-{group}.csv" for m in (1, 2, 3) for group in groups]
        found = sorted(path.name for path in out.glob(f"{kind}/*"))
        check(found == wanted, f"a file a group and month: {found}")
    check_statement_files(binary, folder)


def sums_until(database, day):
    """The balance of each account and commodity by the planned transactions until a day."""
    with sqlite3.connect(database) as connection:
        rows = connection.execute(
            "SELECT a.name, c.symbol, SUM(p.amount), c.stored_decimals FROM postings p"
            " JOIN transactions t USING (seq) JOIN accounts a USING (account)"
            " JOIN commodities c USING (commodity) WHERE t.date <= ? AND t.seq <="
            " (SELECT tasks FROM batches)"
            " GROUP BY a.account, c.commodity HAVING SUM(p.amount) <> 0", (day,)).fetchall()  # fmt: skip
    return {(name, symbol): Decimal(units).scaleb(-decimals) for name, symbol, units, decimals in rows}


def check_trial_balances(binary, folder):
    run(binary, folder, JOURNAL, "--end-month", "--monthly", "trial-balance,close,accrual=0.05,statement")
    out = folder / "out"
    january = (out / "trial-balance/2024-01.csv").read_text()
    check(january == TRIAL_BALANCE_JANUARY, f"the trial balance of January:\n{january}")
    written = sorted(path.name for path in out.glob("trial-balance/*"))
    check(written == [f"2024-0{m}.csv" for m in (1, 2, 3)], f"one for each month: {written}")
    for month, day in ((1, 31), (2, 29), (3, 31)):
        rows = list(csv.DictReader((out / f"trial-balance/2024-0{month}.csv").open()))
        for row in rows:
            check(row["kind"] != "book" or row["debit"] == row["credit"], f"the book ties: {row}")
        sums = sums_until(folder / "db", f"2024-0{month}-{day}")
        balances = {(row["account"], row["commodity"]): Decimal(row["debit"]) - Decimal(row["credit"])
                    for row in rows if row["kind"] == "account"}  # fmt: skip
        check(balances == sums, f"the accounts until {month}: {balances}, in the database {sums}")


def check_halves(binary, folder):
    run(binary, folder, HALVES, "--end-month", "--monthly", "accrual=0.05")
    balances = books.our_balances(folder / "out" / "balances.csv")
    found = {account: str(amount) for (account, _), amount in balances.items()}
    check(found["A:Income:Interest"] == "-0.02", "0.025 goes to 0.02")
    check(found["B:Income:Interest"] == "-0.08", "0.075 goes to 0.08")
    check(found["C:Income:Interest"] == "0.02", "-0.025 goes to -0.02")
    check(found["D:Savings"] == "-0.9999", "an elided amount is exact, and 0.004... is no cent")


def check_poison(binary, folder):
    options = ("--end-month", "--monthly", "accrual=120.0")
    message = run(binary, folder, POISON, *options, expect=3).stderr.decode()
    check("held" in message, message)
    check(not (folder / "out" / "balances.csv").exists(), "held work leaves no outputs")
    status = books.run(binary, "status", "--db", folder / "db").stdout.decode()
    check("held: A from task" in status and "too many digits" in status, status)
    check("held: B from task" in status and "held: C" not in status, status)
    balances = books.run(binary, "balances", "--db", folder / "db").stdout.decode()
    check("C:Savings,USD,1320.00\n" in balances, f"other groups went on: {balances}")
    before = books.run("sqlite3", folder / "db", ".dump").stdout
    run(binary, folder, POISON, *options, "--workers", "3", expect=3)
    check(books.run("sqlite3", folder / "db", ".dump").stdout == before, "a retry changes nothing")


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    for test in (check_all_three, check_trial_balances, check_halves, check_poison):
        with tempfile.TemporaryDirectory() as path:
            test(binary, Path(path))
    print("month_end: all as it should be")


if __name__ == "__main__":
    main()
