#!/usr/bin/env python3
"""Control totals and the limit of refusals: what is said is what the outputs add up to.

usage: control_totals.py LEDGERBATCH
"""
import csv
import re
import sqlite3
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

import books
import determinism
import small_batch
from books import check
from quarantine import Books

REFUSED = 5  # the exit code for more refusals than --max-refused allows


def rows_of(outputs):
    with open(outputs / "totals.csv", newline="", encoding="utf-8") as source:
        rows = list(csv.DictReader(source))
    return {(row["what"], row["commodity"]): row for row in rows}


def sums_of_postings(text):
    """Debits and credits of each commodity by the kind of transaction, from posted.journal alone."""
    sums = defaultdict(lambda: [Decimal(0), Decimal(0)])
    kind = "posted"
    for line in text.splitlines():
        refused = line.startswith("; ")
        line = line[2:] if refused else line
        if re.match(r"\d{4}-", line):
            generated = re.match(r"\S+ \* \((statement|accrual|close|tithe) \d{4}-\d\d ", line)
            kind = "refused" if refused else "generated" if generated else "posted"
        posting = re.match(r"    \S.*?  +(-?[\d.]+) (\S+)", line)
        if posting and not line.startswith("    format"):
            amount = Decimal(posting[1])
            sums[kind, posting[2]][amount < 0] += amount
    return sums


def check_totals(outputs):
    """totals.csv against posted.journal and balances.csv."""
    rows, sums = rows_of(outputs), sums_of_postings((outputs / "posted.journal").read_text())
    for kind in ("posted", "refused", "generated"):
        row = rows[kind, "USD"]
        check([Decimal(row["debits"]), Decimal(row["credits"])] == sums[kind, "USD"], f"{kind}: {row}")
        check(Decimal(row["net"]) == sum(sums[kind, "USD"]), f"{kind}: {row}")
    balances = [a for (_, c), a in books.our_balances(outputs / "balances.csv").items() if c == "USD"]
    closing = rows["closing", "USD"]
    check(Decimal(closing["debits"]) == sum(a for a in balances if a > 0), f"{closing}")
    check(Decimal(closing["net"]) == sum(balances), f"{closing}")
    for column in ("transactions", "debits", "credits"):
        read, *parts = (Decimal(rows[kind, "USD"][column]) for kind in ("read", "posted", "refused", "held"))
        check(read == sum(parts), f"{column}: {read} were read, but {parts}")
    return rows


def check_smallbank(binary, folder):
    journal, rules = determinism.smallbank(binary, folder, 3000, 7)
    command = [binary, "run", "--db", folder / "s.db", "--out", folder / "s", *rules, journal]
    printed = books.run(*command).stdout.decode()
    rows = check_totals(folder / "s")
    refused = int(rows["refused", "USD"]["transactions"])
    check(refused > 100, f"only {refused} are refused")
    status = books.run(binary, "status", "--db", folder / "s.db").stdout.decode()
    table = printed[printed.index("  totals "):printed.index("head ")]
    check(status.endswith(table), f"status ends with what the run has said:\n{status}\n{table}")
    for value in (*rows["read", "USD"].values(), *rows["closing", "USD"].values()):
        check(value in table, f"{value} is not in:\n{table}")
    return command, refused


def check_limits(command, refused):
    """The batch is finished: the check is repeated, and nothing else."""
    for limit, code in ((refused, 0), (refused - 1, REFUSED), (0, REFUSED), ("99.5%", 0), ("100%", 0),
                        ("0%", REFUSED), ("0.01%", REFUSED)):  # fmt: skip
        result = books.run(*command, "--max-refused", limit, expect=code)
        words = f"{refused} of " in result.stderr.decode() and f"--max-refused {limit}" in result.stderr.decode()
        check(words == (code == REFUSED), f"{limit}: {result.stderr}")
    for wrong in ("101%", "-1", "x", "1.5", "5%%", ""):
        message = books.run(*command, "--max-refused", wrong, expect=2).stderr.decode()
        check("--max-refused takes a number or per cent" in message, message)


def check_first_run(book):
    """More refusals than allowed: everything is written all the same."""
    message = book.run("--max-refused", "1", expect=REFUSED).stderr.decode()
    check("2 of 16 transactions are refused, more than --max-refused 1" in message, message)
    check_totals(book.outputs)
    wanted = book.fingerprint()
    book.clear()
    book.run("--max-refused", "2")
    books.check_same(book.fingerprint(), wanted, "the limit changes nothing that is written")


def check_held(book):
    """What is held is the difference, while the batch is unfinished."""
    book.clear()
    result = book.run("--fail-on", "B:Sav*", "--on-quarantine", "exclude", expect=3)
    held = rows_of(book.outputs)["held", "USD"]
    check(re.search(rf"held +{held['transactions']} +{held['debits']}", result.stdout.decode()),
          f"{held} is not in:\n{result.stdout.decode()}")
    check(re.search(rf"held +{held['transactions']} +{held['debits']}", book.status()), book.status())
    tasks = [line for line in book.status().splitlines()
             if line.startswith("held task") and not re.search("statement|accrual|close", line)]  # fmt: skip
    check(int(held["transactions"]) == len(tasks), f"{held}, {len(tasks)} tasks")
    book.retry("--all")
    check_totals(book.outputs)


def check_killed(book):
    """What is neither done nor held is still to do."""
    book.clear()
    book.run()
    with sqlite3.connect(book.database) as database:
        database.execute("UPDATE batches SET state = 'unfinished'")
        database.execute("DELETE FROM refused WHERE seq = 7")
        database.execute("DELETE FROM unposted WHERE seq = 7")
        database.execute("DELETE FROM transactions WHERE seq = 7")
    check(re.search(r"to do +1 +9000\.00 +-9000\.00 +0\.00", book.status()), book.status())


def check_format(book):
    """A database of the format before cannot have totals: it is refused."""
    books.run("sqlite3", book.database, "PRAGMA user_version = 2")
    message = book.run(expect=4).stderr.decode()
    check("made by another version of ledgerbatch" in message, message)


def check_commodities(book):
    """Each commodity has its own totals, prices do not count; the screen shows some commodities."""
    names = [f"K{chr(ord('A') + n)}" for n in range(12)]
    book.journal.write_text("".join(f"2024-01-01 {c}\n  A:Cash  2 {c} @ 3 USD\n  B:Savings  -6 USD\n"
                                    for c in names), encoding="utf-8")  # fmt: skip
    book.clear()
    printed = book.run("--monthly", "statement", rules=()).stdout.decode()
    check("(and 5 more commodities: see totals.csv)" in printed, printed)
    rows = rows_of(book.outputs)
    check(rows["posted", "KA"]["net"] == rows["closing", "KA"]["net"] == "2", f"{rows['posted', 'KA']}")
    check(rows["read", "USD"]["credits"] == "-72" and rows["read", "USD"]["debits"] == "0", "USD")
    check(len(rows) == 13 * 8, f"{len(rows)} rows")


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    with small_batch.temporary_folder() as path:
        folder = Path(path)
        command, refused = check_smallbank(binary, folder)
        check_limits(command, refused)
        book = Books(binary, folder)
        for test in (check_first_run, check_held, check_killed, check_format, check_commodities):
            test(book)
    print("control_totals: all as it should be")


if __name__ == "__main__":
    main()
