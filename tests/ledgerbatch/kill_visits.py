#!/usr/bin/env python3
"""Crashes after each number of visits of a month-end rollup: the resumed batch ends like one that
was never stopped. So it does if a step of the user's is visited, and its `group` is left.

A slow batch is killed. Its write-ahead log has the commits one by one, and most commits are one
visit. For each of them, the log is cut behind it, and the batch is resumed; and so it is behind the
commit before a rollup's first visit, and behind its last visit.

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
import step_objects
from books import check

CLIENTS = 9
ROUNDS_MAX = 40
HEADER, FRAME_HEADER = 32, 24  # bytes of the log's header, and of one in front of each page


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


def done_counts(database, parts):
    """How many parts are done of each rollup that has begun, and lacks some."""
    text = books.run("sqlite3", database, "SELECT seq, count(*) FROM missing GROUP BY seq").stdout
    rows = (line.split("|") for line in text.decode().split())
    return {int(seq): parts - int(count) for seq, count in rows}


class Crash:
    """A killed batch, with its log as it was then."""

    def __init__(self, batch, seconds):
        batch.clear()
        batch.kill_after([*batch.command(1, 1), "--task-wait-us", "3000"], seconds)
        log = Path(f"{batch.database}-wal")
        self.batch, self.wal = batch, log
        self.is_whole = batch.database.exists() and log.exists() and log.stat().st_size >= HEADER and \
            batch.database.stat().st_size <= kill_resume.PAGE_SIZE  # fmt: skip
        if self.is_whole:
            self.first_page, self.log = batch.database.read_bytes(), log.read_bytes()

    def restore(self, end):
        """The files after a crash behind this commit."""
        self.batch.clear()
        self.batch.database.write_bytes(self.first_page)
        self.wal.write_bytes(self.log[:end])


def counts_by_commit(crash, parts):
    """The parts that are done of each rollup that has begun, behind each commit of the log."""
    batch = crash.batch
    ends = list(commit_ends(crash.log))
    counts = []
    for end in ends:
        crash.restore(end)
        copy = batch.folder / "copy"
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for file in (batch.database, crash.wal):
            shutil.copy(file, copy / file.name)
        counts.append(done_counts(copy / batch.database.name, parts))
    return ends, counts


def states_to_resume(counts, parts):
    """For each commit to resume behind: how many parts of some rollup were done. None were behind the
    commit before the first of them, and all are where the next commit leaves none missing."""
    states = {}
    for i, now in enumerate(counts):
        before = counts[i - 1] if i > 0 else {}
        states.setdefault(i, set()).update(now.values(), (parts for seq in before if seq not in now))
        if i > 0:
            states[i - 1].update(0 for seq in now if seq not in before)
    return {i: done for i, done in states.items() if done}


def check_crash(crash, wanted, chance, parts, seen):
    """Resumes behind the commits next to which a rollup is in parts; adds how far rollups were."""
    batch = crash.batch
    ends, counts = counts_by_commit(crash, parts)
    states = states_to_resume(counts, parts)
    for i, done in states.items():
        crash.restore(ends[i])
        books.run(*batch.command(chance.choice((1, 2, 3)), chance.choice((1, 500))))
        books.check_same(books.fingerprint(batch.database, batch.outputs), wanted,
                         f"after {sorted(done)} parts")  # fmt: skip
        seen.update(done)
    return len(states)


def crash_everywhere(binary, folder, monthly, parts, chance):
    """Crashes until each number of parts was seen that are done."""
    seen = set()
    resumed = rounds = 0
    text = folder / "books.journal"
    text.write_text(journal(), encoding="utf-8")
    batch = kill_resume.Batch(binary, folder, text, ["--end-month", "--monthly", monthly])
    wanted, _ = batch.reference()
    while len(seen) < parts + 1 and rounds < ROUNDS_MAX:
        rounds += 1
        crash = Crash(batch, chance.uniform(0.15, 0.3))
        resumed += check_crash(crash, wanted, chance, parts, seen) if crash.is_whole else 0
    check(len(seen) == parts + 1, f"{monthly}: crashes after {sorted(seen)} of {parts} parts")
    print(f"{resumed} resumes of {rounds} crashes, after 0 to {parts} parts of {parts}: every batch "
          "ended like the undisturbed one", flush=True)  # fmt: skip


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    seed = parser.parse_args().seed
    print("seed", seed, flush=True)
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as path:
        crash_everywhere(binary, Path(path), "statement,accrual=0.12,close", CLIENTS, chance)
    if shutil.which("cc"):
        with tempfile.TemporaryDirectory() as path:
            step = step_objects.build(Path(path), "tithe")
            crash_everywhere(binary, Path(path), f"statement,step={step}", CLIENTS + 1, chance)


if __name__ == "__main__":
    main()
