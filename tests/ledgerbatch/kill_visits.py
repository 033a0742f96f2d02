#!/usr/bin/env python3
"""Crashes after each number of visits of a month-end rollup: the resumed batch ends like one that
was never stopped.

A slow batch is killed. Its write-ahead log has the commits one by one, and most commits are one
visit. For each of them, the log is cut behind it, and the batch is resumed.

usage: kill_visits.py LEDGERBATCH [--seed S]
"""
import argparse
import random
import shutil
import struct
import tempfile
from pathlib import Path

import books
import kill_resume
from books import check

CLIENTS = 9
ROUNDS_MAX = 40
HEADER, FRAME_HEADER = 32, 24  # bytes of the log's header, and of one in front of each page
RULES = ["--monthly", "statement,accrual=0.12,close"]


def journal():
    lines = []
    for month in ("01", "02"):
        for client in range(1, CLIENTS + 1):
            lines += [f"2024-{month}-0{client} Wages", f"  C{client}:Cash  {client}00.00 USD",
                      f"  C{client}:Savings  {client}0.00 USD", f"  C{client}:Income:Wages", ""]  # fmt: skip
        lines += [f"2024-{month}-11 Transfer", "  C1:Cash  -20.00 USD", "  C7:Cash", ""]
    return "\n".join(lines) + "\n"


def commit_ends(log):
    """Where each commit of a write-ahead log ends."""
    size = struct.unpack(">I", log[8:12])[0] + FRAME_HEADER
    for at in range(HEADER, len(log) - size + 1, size):
        if struct.unpack(">I", log[at + 4:at + 8])[0] != 0:
            yield at + size


def missing_counts(database):
    """How many clients each rollup lacks that has begun."""
    text = books.run("sqlite3", database, "SELECT count(*) FROM missing GROUP BY seq").stdout
    return [int(word) for word in text.split()]


class Crash:
    """A killed batch, with its log as it was then."""

    def __init__(self, batch, seconds):
        batch.clear()
        batch.kill_after([*batch.command(1, 1), "--task-wait-us", "3000"], seconds)
        log = Path(f"{batch.database}-wal")
        self.batch, self.wal = batch, log
        self.is_whole = batch.database.exists() and log.exists() and \
            batch.database.stat().st_size <= kill_resume.PAGE_SIZE  # fmt: skip
        if self.is_whole:
            self.first_page, self.log = batch.database.read_bytes(), log.read_bytes()

    def restore(self, end):
        """The files after a crash behind this commit."""
        self.batch.clear()
        self.batch.database.write_bytes(self.first_page)
        self.wal.write_bytes(self.log[:end])


def check_crash(crash, wanted, chance, seen):
    """Resumes behind each commit that leaves a rollup in parts; adds how far the rollup was."""
    batch = crash.batch
    resumed = 0
    for end in commit_ends(crash.log):
        crash.restore(end)
        copy = batch.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for file in (batch.database, crash.wal):
            shutil.copy(file, copy / file.name)
        counts = missing_counts(copy / batch.database.name)
        if not counts:
            continue
        seen.update(CLIENTS - count for count in counts)
        books.run(*batch.command(chance.choice((1, 2, 3)), chance.choice((1, 500))))
        books.check_same(books.fingerprint(batch.database, batch.outputs), wanted,
                         f"after {[CLIENTS - count for count in counts]} visits")  # fmt: skip
        resumed += 1
    return resumed


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    seed = parser.parse_args().seed
    print("seed", seed, flush=True)
    chance = random.Random(seed)
    seen = set()
    resumed = rounds = 0
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        text = folder / "books.journal"
        text.write_text(journal(), encoding="utf-8")
        batch = kill_resume.Batch(binary, folder, text, RULES)
        wanted, _ = batch.reference()
        while len(seen) < CLIENTS - 1 and rounds < ROUNDS_MAX:
            rounds += 1
            crash = Crash(batch, chance.uniform(0.15, 0.3))
            resumed += check_crash(crash, wanted, chance, seen) if crash.is_whole else 0
    check(len(seen) == CLIENTS - 1, f"crashes after {sorted(seen)} of {CLIENTS} visits")
    print(f"{resumed} resumes of {rounds} crashes, after each number of visits of {CLIENTS}: every batch "
          "ended like the undisturbed one")  # fmt: skip


if __name__ == "__main__":
    main()
