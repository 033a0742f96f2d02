#!/usr/bin/env python3
"""A damaged database stops the program: it never posts on top of it.

usage: damaged.py LEDGERBATCH
"""
import tempfile
from pathlib import Path

import books
import month_end

OPTIONS = ("--monthly", "accrual=120.0")

# What is done to an unfinished database, and what the program says to it.
DAMAGES = [
    ("UPDATE lanes SET last_seq = 0 WHERE client = 'B'", "for some of its clients"),
    ("UPDATE lanes SET last_seq = 0", "UNIQUE constraint failed"),
    ("UPDATE lanes SET lane = 99 WHERE client = 'B'", "do not belong to this input"),
    ("UPDATE balances SET account = 99 WHERE account = 0", "do not belong to this input"),
    ("DELETE FROM meta WHERE name = 'digest'", "lacks its 'digest'"),
    ("DELETE FROM lanes WHERE client = 'C'", "UNIQUE constraint failed"),
]

# Books whose last task never runs before the damage: then everything is added up.
JOURNAL = """\
2024-01-10 Opening
  A:Savings  100.00 USD
  B:Savings  1.00 USD
  Bank:Vault

2024-01-11 x
  A:Savings  -1.00 USD
  B:Savings  1.00 USD
"""
SUMS = [
    ("UPDATE postings SET amount = amount + 1 WHERE seq = 1 AND n = 1", "running balance"),
    ("UPDATE postings SET balance = balance + 1 WHERE seq = 1 AND n = 2", "running balance"),
    ("DELETE FROM postings WHERE seq = 1 AND n = 1", "is missing"),
    ("DELETE FROM transactions WHERE seq = 1", "is missing"),
    ("UPDATE balances SET amount = amount + 1 WHERE account = 2", "add up to"),
    ("INSERT INTO closings VALUES (9, 0, 0, 1)", "rows of no transaction"),
]


def sql(folder, text):
    books.run("sqlite3", folder / "db", text)


def check_stop(binary, folder, journal, options, damage, words):
    sql(folder, damage)
    result = month_end.run(binary, folder, journal, *options, expect=1)
    message = result.stderr.decode()
    books.check(words in message, f"after {damage}: {message}")
    books.check(not (folder / "out" / "balances.csv").exists(), f"{damage}: no outputs")


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    for damage, words in DAMAGES:
        with tempfile.TemporaryDirectory() as path:
            month_end.run(binary, Path(path), month_end.POISON, *OPTIONS, expect=3)
            check_stop(binary, Path(path), month_end.POISON, OPTIONS, damage, words)
    for damage, words in SUMS:
        with tempfile.TemporaryDirectory() as path:
            folder = Path(path)
            month_end.run(binary, folder, JOURNAL)
            for output in (folder / "out").iterdir():
                output.unlink()
            sql(folder, "UPDATE meta SET value = 'unfinished' WHERE name = 'state'")
            check_stop(binary, folder, JOURNAL, (), damage, words)
    print(f"damaged: {len(DAMAGES) + len(SUMS)} damages, each was noticed")


if __name__ == "__main__":
    main()
