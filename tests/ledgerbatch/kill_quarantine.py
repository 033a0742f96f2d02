#!/usr/bin/env python3
"""SIGKILL at random moments of runs whose clients are held, and of their retries: in the end all is
as if nobody had been killed, and, but for rollups that are late, as if nobody had been held.

usage: kill_quarantine.py LEDGERBATCH [--count N] [--seed S] [--transactions N]
"""
import argparse
import random
from pathlib import Path

import books
import determinism
import small_batch
from kill_resume import Batch

POLICIES = ("hold", "exclude", "fail")
WORKERS = (1, 2, 3, 8)


class HeldBatch(Batch):
    """A batch some of whose clients fail, run and tried again under a policy."""

    def __init__(self, binary, folder, journal, rules, chance):
        super().__init__(binary, folder, journal, rules)
        self.chance = chance
        self.kills = self.retries = 0
        self.seconds = 0

    def words(self, name, *options):
        words = self.command(self.chance.choice(WORKERS), self.chance.choice((10, 50, 300)))
        words[1:2] = [name, *options]
        return words

    def disturbed(self, *words, expect, clients=None):
        """The command, after up to three tries of it that are killed. A try may be quicker, and one
        that is killed may have recorded its end: then those clients are not all held any more."""
        for _ in range(self.chance.randint(0, 3)):
            seconds = self.chance.uniform(0, self.seconds * 1.2)
            code, message = self.kill_after(self.words(*words), seconds)
            if code != -9:
                books.check(code in expect, f"exit {code} of {words}: {message}")
                return
            self.kills += 1
            if clients and (self.is_finished() or not set(clients) <= set(self.failed_clients())):
                return
        result = books.run(*self.words(*words), expect=None)
        books.check(result.returncode in expect, f"exit {result.returncode} of {words}: {result.stderr}")

    def sql(self, text):
        return books.run("sqlite3", self.database, text).stdout.decode().split()

    def failed_clients(self):
        return self.sql("SELECT client FROM held JOIN lanes USING(lane) WHERE seq = failed_seq")

    def is_finished(self):
        return self.sql("SELECT state FROM batches") == ["finished"]

    def wanted(self, failing, policy):
        """What a run with one worker that nobody kills leads to."""
        self.clear()
        if policy != "fail":
            return self.reference()[0]
        command = self.command(1, 200)
        books.run(*command, *failing, "--on-quarantine", policy, expect=3)
        command[1:2] = ["retry", "--all"]
        books.run(*command)
        return books.fingerprint(self.database, self.outputs)

    def retry_some(self, policy):
        """Resumes some of those that failed, and lets others fail meanwhile. What is late would be
        other rollups then: under that policy nobody else fails, and no rollup does."""
        clients = self.failed_clients()
        chosen = self.chance.sample(clients, self.chance.randint(1, len(clients)))
        options = [word for client in chosen for word in ("--lane", client)]
        if policy != "fail":
            options += ["--on-quarantine", self.chance.choice(("hold", "exclude"))]
            if self.chance.random() < 0.5:
                options += ["--fail-on", f"C0000{self.chance.randint(10, 99)}:*"]
        self.retries += 1
        self.disturbed("retry", *options, expect=(0, 3), clients=chosen)

    def go_through(self, policy):
        failing = [f"C00000{n}:*" for n in self.chance.sample(range(1, 10), self.chance.randint(1, 3))]
        failing = [word for pattern in failing for word in ("--fail-on", pattern)]
        wanted = self.wanted(failing, policy)
        self.clear()
        if policy != "fail" and self.chance.random() < 0.3:
            self.kill_after(self.words("run", *failing, "--on-quarantine", policy), self.seconds / 2)
            self.disturbed("run", expect=(0,))  # nothing may be recorded as held yet
        else:
            self.disturbed("run", *failing, "--on-quarantine", policy, expect=(3,))
        for _ in range(self.chance.randint(0, 3)):
            if not self.is_finished():
                self.retry_some(policy)
        if not self.is_finished():
            self.disturbed("retry", "--all", expect=(0,), clients=self.failed_clients())
        books.check(self.is_finished(), "the batch is finished")
        books.check_same(books.fingerprint(self.database, self.outputs), wanted, f"{policy}, {failing}")


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=50, help="kills")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--transactions", type=int, default=3000)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(1 << 32)
    print("seed", seed, flush=True)
    with small_batch.temporary_folder() as path:
        folder = Path(path)
        journal, rules = determinism.smallbank(binary, folder, options.transactions, seed)
        batch = HeldBatch(binary, folder, journal, rules, random.Random(seed))
        batch.seconds = batch.reference()[1]
        batches = 0
        while batch.kills < options.count or batches < len(POLICIES):
            batch.go_through(POLICIES[batches % len(POLICIES)])
            batches += 1
    print(f"{batch.kills} kills in {batches} batches with held clients, {batch.retries} of some of them "
          "tried again: every batch ended like the undisturbed one")  # fmt: skip


if __name__ == "__main__":
    main()
