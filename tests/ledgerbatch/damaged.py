#!/usr/bin/env python3
"""A damaged database stops the program: it never posts on top of it. A bit that has changed
somewhere in the file leads to no crash and to no wrong balance.

usage: damaged.py LEDGERBATCH [--bits N] [--seed S]
"""
import argparse
import random
import shutil
import tempfile
from pathlib import Path

import books
import month_end
import small_batch

OPTIONS = ("--end-month", "--monthly", "accrual=120.0", "--on-quarantine", "hold")
CUT_OPTIONS = ("--end-month", "--monthly", "accrual=120.0")
BIT_OPTIONS = ("--end-month", "--monthly", "statement,accrual=0.12,close")
UNFINISHED = "UPDATE batches SET state = 'unfinished'"

# What is done to an unfinished database, and what the program says to it.
DAMAGES = [
    ("UPDATE lanes SET last_seq = 0 WHERE client = 'B'", "for some of its clients"),
    ("UPDATE lanes SET last_seq = 0", "UNIQUE constraint failed"),
    ("UPDATE lanes SET lane = 99 WHERE client = 'B'", "do not belong to this input"),
    ("UPDATE balances SET account = 99 WHERE account = 0", "do not belong to this input"),
    ("DELETE FROM batches", "lacks its batches"),
    ("DELETE FROM lanes WHERE client = 'C'", "do not belong to this input"),
    ("UPDATE lanes SET client_group = 'rich' WHERE client = 'B'", "do not belong to this input"),
    ("UPDATE accounts SET name = 'B:Saving' WHERE name = 'B:Savings'", "do not belong to this input"),
    ("UPDATE accounts SET lane = 0 WHERE name = 'B:Savings'", "do not belong to this input"),
    ("INSERT INTO missing VALUES (1, 0)", "parts of rollups that are not in this input"),
    ("INSERT INTO missing VALUES (3, 99)", "parts of rollups that are not in this input"),
    ("INSERT INTO missing VALUES (4, 0)", "for some of its clients"),
    ("INSERT INTO failed VALUES (99, '', '')", "parts of rollups that are not in this input"),
    ("INSERT INTO failed VALUES (4, '', '')", "for some of its clients"),
    ("INSERT INTO deferred VALUES (99, '2024-01-01', 0, 99, '', '', 0)", "defers what is not in this input"),
    ("INSERT INTO deferred VALUES (1, '2024-01-01', 99, 1, '', '', 0)", "defers what is not in this input"),
    ("INSERT INTO held VALUES (99, 1, 1, '')", "do not belong to this input"),
    ("UPDATE commodities SET stored_decimals = stored_decimals + 1", "do not belong to this input"),
]

# The rollup was done for A, and lists B as missing.
CUT_DAMAGES = [
    ("UPDATE lanes SET last_seq = 0", "for some of its clients"),
    ("UPDATE lanes SET last_seq = 4 WHERE client = 'A'", "for some of its clients"),
    ("DELETE FROM missing", "for some of its clients"),
    ("INSERT INTO missing VALUES (4, 1)", "for some of its clients"),
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
    ("UPDATE input_totals SET debits = debits + 1", "control totals of USD do not tie"),
    ("UPDATE input_totals SET commodity = 7", "of no commodity"),
    ("INSERT INTO unposted VALUES (1, 1, 0, 0, 5)", "control totals of USD do not tie"),
    ("INSERT INTO deferred VALUES (2, '2024-01-11', 0, 2, '', '', 0)", "is missing"),
    ("INSERT INTO closings VALUES (9, 0, 0, 1)", "rows of no transaction"),
]

# Of month-end rollups; the code of one becomes part of a file's name.
LEAST = "-9223372036854775807 - 1"
ROLLUPS = [
    ("UPDATE transactions SET code = 'close 2024-01 ../../../x' WHERE kind = 'close'",
     "a month-end rollup is of no month or group"),
    ("UPDATE transactions SET code = 'close ../../x all' WHERE kind = 'close'",
     "a month-end rollup is of no month or group"),
    ("UPDATE transactions SET code = 'statement 2024-01 nobody' WHERE kind = 'statement'",
     "a month-end rollup is of no month or group"),
    (f"UPDATE balances SET amount = {LEAST}", "more digits than an amount has"),
    (f"UPDATE postings SET amount = {LEAST}, balance = {LEAST} WHERE seq = 1 AND n = 1",
     "more digits than an amount has"),
]  # fmt: skip

# Decimals and digits that no input has. The commands that only read the database notice them.
DECIMALS = [
    ("UPDATE commodities SET stored_decimals = 37", "more decimals than an amount has"),
    ("UPDATE commodities SET stored_decimals = 300", "more decimals than an amount has"),
    ("UPDATE commodities SET stored_decimals = -1", "more decimals than an amount has"),
    ("UPDATE commodities SET shown_decimals = stored_decimals + 1",
     "shows more decimals than it stores"),
    (f"UPDATE balances SET amount = {LEAST}", "more digits than an amount has"),
]  # fmt: skip


def sql(folder, text):
    books.run("sqlite3", folder / "db", text)


def check_stop(binary, folder, journal, options, damage, words):
    sql(folder, damage)
    result = month_end.run(binary, folder, journal, *options, expect=1)
    message = result.stderr.decode()
    books.check(words in message, f"after {damage}: {message}")
    books.check(not (folder / "out" / "balances.csv").exists(), f"{damage}: no outputs")


def check_resumed(binary, options, damage, words):
    """All tasks are done before the damage."""
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        month_end.run(binary, folder, JOURNAL, *options)
        shutil.rmtree(folder / "out")
        sql(folder, UNFINISHED)
        check_stop(binary, folder, JOURNAL, options, damage, words)


def check_readers(binary, folder, damage, words):
    sql(folder, damage)
    for command in ("balances", "status"):
        result = books.run(binary, command, "--db", folder / "db", expect=1)
        message = result.stderr.decode()
        books.check(words in message, f"{command} after {damage}: {message}")


def check_changed_bit(binary, folder, database, chance, wanted):
    """Whatever is not empty in a page means something."""
    at = chance.choice([at for at, byte in enumerate(database) if byte != 0])
    bit = chance.randrange(8)
    damaged = bytearray(database)
    damaged[at] ^= 1 << bit
    (folder / "db").write_bytes(damaged)
    balances = folder / "out" / "balances.csv"
    balances.unlink(missing_ok=True)
    result = month_end.run(binary, folder, JOURNAL, *BIT_OPTIONS, expect=None)
    what = f"bit {bit} of byte {at}: exit {result.returncode}, {result.stderr!r}"
    books.check(result.returncode in (0, 1, 4), what)
    if result.returncode == 0:
        books.check(balances.exists() and balances.read_bytes() == wanted, f"{what}: balances")
    else:
        books.check(result.stderr.startswith(b"ledgerbatch: "), what)


def check_changed_bits(binary, count, seed):
    chance = random.Random(seed)
    with small_batch.temporary_folder() as path:
        folder = Path(path)
        month_end.run(binary, folder, JOURNAL, *BIT_OPTIONS)
        wanted = (folder / "out" / "balances.csv").read_bytes()
        sql(folder, UNFINISHED)
        database = (folder / "db").read_bytes()
        for _ in range(count):
            check_changed_bit(binary, folder, database, chance, wanted)


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--bits", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    given = parser.parse_args()
    print("seed", given.seed, flush=True)
    for options, damages in ((OPTIONS, DAMAGES), (CUT_OPTIONS, CUT_DAMAGES)):
        for damage, words in damages:
            with tempfile.TemporaryDirectory() as path:
                month_end.run(binary, Path(path), month_end.POISON, *options, expect=3)
                check_stop(binary, Path(path), month_end.POISON, options, damage, words)
    for options, damages in (((), SUMS), (BIT_OPTIONS, ROLLUPS)):
        for damage, words in damages:
            check_resumed(binary, options, damage, words)
    for damage, words in DECIMALS:
        with tempfile.TemporaryDirectory() as path:
            month_end.run(binary, Path(path), JOURNAL)
            check_readers(binary, Path(path), damage, words)
    check_changed_bits(binary, given.bits, given.seed)
    damages = len(DAMAGES) + len(CUT_DAMAGES) + len(SUMS) + len(ROLLUPS) + len(DECIMALS)
    small_batch.tally(damages + given.bits)
    print(f"damaged: {damages} damages were noticed, and {given.bits} changed bits led to no wrong "
          "balance")  # fmt: skip


if __name__ == "__main__":
    main()
