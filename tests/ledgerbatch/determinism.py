#!/usr/bin/env python3
"""The result is the same, byte for byte, whatever the number of workers.

usage: determinism.py LEDGERBATCH [--transactions N] [--seed S]
"""
import argparse
import shutil
import tempfile
from pathlib import Path

import books
import cross_check
import step_objects

RULES = ["--commutative", "Bank:*", "--no-overdraft", "*:Checking", "--no-overdraft", "*:Savings",
         "--end-month", "--monthly", "statement,accrual=0.015,close"]  # fmt: skip
WORKERS = (1, 2, 3, 8)


def smallbank(binary, folder, transactions, seed):
    journal = folder / "smallbank.journal"
    journal.write_bytes(
        books.run(binary, "generate", "smallbank", "--customers", 200, "--transactions",
                  transactions, "--months", 3, "--seed", seed).stdout
    )  # fmt: skip
    groups = [f"account C{n:06}:Checking  ; group:{'abc'[n % 3]}\n" for n in range(1, 150)]
    journal.write_text("".join(groups) + journal.read_text())
    return journal, with_step(folder, RULES)


def with_step(folder, rules):
    """The rules with a step of the user's before the close, if there is a compiler."""
    if shutil.which("cc") is None:
        return rules
    step = step_objects.build(folder, "tithe")
    return [rule.replace(",close", f",step={step},close") for rule in rules]


def random_book(folder, seed):
    journal = folder / "random.journal"
    journal.write_text(cross_check.Writer(seed).write(400), encoding="utf-8")
    return journal, ["--end-month", "--monthly", "statement,close", "--no-overdraft", "*Bank"]


def check_workers(binary, folder, journal, rules):
    wanted = None
    for workers in WORKERS:
        database = folder / f"{journal.stem}-{workers}.db"
        outputs = folder / f"{journal.stem}-{workers}"
        books.run(binary, "run", "--workers", workers, "--commit-size", 100 * workers, "--db",
                  database, "--out", outputs, *rules, journal)  # fmt: skip
        found = books.fingerprint(database, outputs)
        wanted = wanted or found
        books.check_same(found, wanted, f"{journal.name} with {workers} workers")
    print(f"{journal.name}: {len(wanted)} results are the same with {WORKERS} workers")


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--transactions", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("seed", options.seed)
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        check_workers(binary, folder, *smallbank(binary, folder, options.transactions,
                                                 options.seed))  # fmt: skip
        check_workers(binary, folder, *random_book(folder, options.seed))


if __name__ == "__main__":
    main()
