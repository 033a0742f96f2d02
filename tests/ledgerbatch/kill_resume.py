#!/usr/bin/env python3
"""SIGKILL at random moments, and cut logs: the resumed batch ends like one that was never stopped.

usage: kill_resume.py LEDGERBATCH [--count N] [--seed S] [--transactions N]
"""
import argparse
import os
import random
import subprocess
import tempfile
import time
from pathlib import Path

import books
import determinism


PAGE_SIZE = 16384  # until its first checkpoint, the database is one page


class Batch:
    def __init__(self, binary, folder, journal, rules):
        self.binary, self.folder, self.journal, self.rules = binary, folder, journal, rules
        self.database, self.outputs = folder / "db", folder / "out"

    def command(self, workers, commit_size):
        return [str(word) for word in (
            self.binary, "run", "--workers", workers, "--commit-size", commit_size,
            "--db", self.database, "--out", self.outputs, *self.rules, self.journal)]  # fmt: skip

    def clear(self):
        books.run("rm", "-rf", self.outputs, *self.folder.glob("db*"))

    def reference(self):
        """A run that nobody disturbs: what it leaves, and how long it takes."""
        self.clear()
        start = time.monotonic()
        books.run(*self.command(1, 200))
        seconds = time.monotonic() - start
        return books.fingerprint(self.database, self.outputs), seconds

    def cut_log(self, chance):
        """Cuts the write-ahead log short, as a crash of the machine may, before any checkpoint."""
        log = Path(f"{self.database}-wal")
        untouched = self.database.exists() and self.database.stat().st_size <= PAGE_SIZE
        if untouched and log.exists():
            os.truncate(log, chance.randint(0, log.stat().st_size))
            return True
        return False

    @staticmethod
    def kill_after(command, seconds):
        """Starts a command and kills it after a while: its exit code, -9 if it was still running, and
        what it said."""
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        time.sleep(seconds)
        process.kill()
        message = process.communicate()[1]
        return process.returncode, message

    def kill_once(self, workers, commit_size, seconds):
        """Starts the batch and kills it after a while; true if it was still running."""
        code, message = self.kill_after(self.command(workers, commit_size), seconds)
        books.check(code in (0, -9), f"exit {code}: {message!r}")
        return code == -9


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=50, help="kills")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--transactions", type=int, default=8000)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    print("seed", seed, flush=True)
    chance = random.Random(seed)
    kills = cuts = batches = 0
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        batch = Batch(binary, folder, *determinism.smallbank(binary, folder, options.transactions,
                                                             seed))  # fmt: skip
        wanted, seconds = batch.reference()
        while kills < options.count:
            batch.clear()
            for _ in range(chance.randint(1, 6)):
                workers = chance.choice((1, 2, 3, 8))
                kills += batch.kill_once(workers, chance.choice((10, 50, 300)),
                                         chance.uniform(0, seconds * 1.2))  # fmt: skip
                if chance.random() < 0.3:
                    cuts += batch.cut_log(chance)
            books.run(*batch.command(chance.choice((1, 2, 3, 8)), 500))
            books.check_same(books.fingerprint(batch.database, batch.outputs), wanted,
                             f"seed {seed}, after {kills} kills")  # fmt: skip
            leftover = list(batch.outputs.glob(".ledgerbatch-new"))
            books.check(not leftover, "the staging folder is gone")
            batches += 1
    print(f"{kills} kills and {cuts} cut logs in {batches} batches: every batch ended like the undisturbed one")


if __name__ == "__main__":
    main()
