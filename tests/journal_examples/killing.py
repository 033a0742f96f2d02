"""Kills an example of a journal at random moments until all transfers are stored, and checks what is
stored after each kill.

usage: kill_NAME.py PROGRAM [--count N] [--seed S] [--transfers N]
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import namedtuple
from pathlib import Path

ACCOUNTS = 10
OPENING = 100  # the balance of each account at the beginning
ANSWER_SIZE = len("acknowledged 12345\n")
LATER_S = 0.002  # a kill comes up to so much later than the answers that it waits for

Posting = namedtuple("Posting", "number ticket id source target moved")


def check(condition, message):
    if not condition:
        sys.exit(f"FAILED: {message}")


class Store:
    """The file of one example. A subclass reads it: `postings` is a list, in the file's order; `after`
    has the stored balances of both accounts for each posting, or is None; `balances` are the stored
    ones, or None."""

    def __init__(self, program, folder, transfers, chance):
        self.program, self.folder, self.transfers, self.chance = program, folder, transfers, chance
        self.path = folder / "store"
        self.answered = set()  # ids, of all runs
        self.postings, self.after, self.balances = [], None, None

    def read(self):
        raise NotImplementedError

    def harm(self):
        """Does to the file what a crash of the machine may do. Returns true if it has."""
        return False

    # --- runs of the program ---

    def start(self):
        answers = open(self.folder / "answers", "wb")
        with answers:
            return subprocess.Popen([self.program, self.path, str(self.transfers)], stdout=answers)

    def note_answers(self):
        """Notes the transfers that the last run has acknowledged, in whole lines. Returns how many."""
        text = (self.folder / "answers").read_text(encoding="ascii")
        lines = text[:text.rfind("\n") + 1].splitlines()
        words = [line.split() for line in lines if line.startswith("acknowledged ")]
        ids = [int(word[1]) for word in words]
        check(len(set(ids)) == len(ids) and self.answered.isdisjoint(ids), "an answer came twice")
        self.answered.update(ids)
        return len(ids)

    def kill_once(self, answers):
        """Starts the program, and kills it after about so many answers. Returns how many there were,
        or None if it was not running any more."""
        process = self.start()
        path = self.folder / "answers"
        while process.poll() is None and path.stat().st_size < answers * ANSWER_SIZE:
            time.sleep(0.0002)
        time.sleep(self.chance.uniform(0, LATER_S))
        process.kill()
        code = process.wait()
        check(code in (0, -9), f"exit {code}")
        noted = self.note_answers()
        return noted if code == -9 else None

    def finish(self):
        code = self.start().wait()
        check(code == 0, f"exit {code} of a run that was not killed")
        self.note_answers()

    # --- checks ---

    def check_postings(self):
        """Numbers, ids, and balances: as in a serial run in the order of the numbers."""
        balances, newest = [OPENING] * ACCOUNTS, [0] * ACCOUNTS
        for i, posting in enumerate(self.postings):
            check(posting.number == i + 1, f"number {posting.number} in place {i + 1}")
            for account in (posting.source, posting.target):
                check(newest[account] < posting.id, f"{posting}: account {account} has had "
                                                    f"transfer {newest[account]}")  # fmt: skip
                newest[account] = posting.id
            balances[posting.source] -= posting.moved
            balances[posting.target] += posting.moved
            check(balances[posting.source] >= 0, f"{posting} overdraws")
            if self.after:
                after = (balances[posting.source], balances[posting.target])
                check(self.after[i] == after, f"{posting}: {self.after[i]} instead of {after}")
        check(sum(balances) == ACCOUNTS * OPENING, "the total has changed")
        check(self.balances in (None, balances), f"{self.balances} instead of {balances}")

    def check(self):
        """Checks the file after a run. What was stored before must be unchanged."""
        before = self.postings
        self.read()
        check(self.postings[:len(before)] == before, "postings have changed")
        self.check_postings()
        ids = {posting.id for posting in self.postings}
        check(len(ids) == len(self.postings), "a transfer was stored twice")
        check(ids <= set(range(1, self.transfers + 1)), "an unknown transfer")
        check(self.answered <= ids, f"acknowledged, but not stored: {sorted(self.answered - ids)[:9]}")

    def outcome(self):
        """What was moved by each transfer. The order of conflicting transfers decides that."""
        return sorted(posting[2:] for posting in self.postings)


class Tally:
    def __init__(self):
        self.kills = self.inside = self.grown = self.unanswered = self.harmed = self.stores = 0

    def note(self, store, before, answers):
        stored = len(store.postings)
        self.kills += 1
        self.inside += 0 < stored < store.transfers
        self.grown += stored > before
        self.unanswered += stored - before > answers

    def __str__(self):
        return (f"{self.kills} kills of a running program, in {self.stores} files: {self.inside} with part "
                f"of the transfers stored, {self.grown} after new ones in the same run, "
                f"{self.unanswered} before all of these were acknowledged; "
                f"{self.harmed} files cut")  # fmt: skip


def fill(store, tally, count):
    """Kills runs until `count` kills have met a file with part of the transfers, or all are stored.
    Then a last run completes the file."""
    answers_max = 2 * store.transfers // (count + count // 4)
    while tally.inside < count:
        before = len(store.postings)
        answers = store.kill_once(store.chance.randint(0, answers_max))
        if answers is None:
            break
        store.check()
        tally.note(store, before, answers)
        if store.harm():
            tally.harmed += 1
            store.check()
    store.finish()
    store.check()
    check(len(store.postings) == store.transfers, f"{len(store.postings)} transfers are stored")
    tally.stores += 1


def main(store_class):
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--count", type=int, default=50, help="kills")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--transfers", type=int, default=20000)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    print("seed", seed, flush=True)
    chance, tally = random.Random(seed), Tally()
    program = os.path.abspath(options.program)
    with tempfile.TemporaryDirectory() as path:
        def new_store(name):
            folder = Path(path) / name
            folder.mkdir()
            return store_class(program, folder, options.transfers, chance)
        undisturbed = new_store("undisturbed")
        undisturbed.finish()
        undisturbed.check()
        wanted = undisturbed.outcome()
        while tally.inside < options.count:
            store = new_store(f"store{tally.stores}")
            fill(store, tally, options.count)
            check(store.outcome() == wanted, "other outcomes than in a run that was not killed")
    print(tally)
