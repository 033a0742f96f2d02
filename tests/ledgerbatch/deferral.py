#!/usr/bin/env python3
"""--on-failure defer: a failed client stops nobody else. The result is that of a serial model, with any
number of workers, over kills and when the disk is full; so is the result of the retry.

usage: deferral.py LEDGERBATCH [--customers N] [--transactions N] [--kills N] [--seed S]
"""
import argparse
import csv
import random
import re
import shutil
import subprocess
import time
from decimal import Decimal
from pathlib import Path

import books
import disk_full
import small_batch
from books import check

CLOSED = 6  # the exit code of a batch that is closed with deferred transactions
RULES = ["--commutative", "Bank:*", "--no-overdraft", "*:Checking", "--end-month", "--monthly", "statement,trial-balance"]
FAILING = ["C000007:Checking", "C000011:Savings"]
FAIL_OPTIONS = [word for account in FAILING for word in ("--fail-on", account)]
DEFER = ["--on-failure", "defer", *FAIL_OPTIONS]


def read_journal(path):
    """(seq, date, postings) in the order of seq. There is one group: one statement after each month."""
    transactions, month, seq = [], None, 0
    for block in path.read_text().split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith(";")]
        if not lines:
            continue
        date = lines[0][:10]
        seq += month is not None and date[:7] != month  # of the statement
        seq, month = seq + 1, date[:7]
        postings = [re.fullmatch(r"\s+(\S+)\s+(-?[\d.]+) USD", line).groups() for line in lines[1:]]
        transactions.append((seq, date, [(account, Decimal(amount)) for account, amount in postings]))
    return transactions


class Model:
    """A run with one worker, written down naively."""

    def __init__(self):
        self.balances, self.held, self.deferred, self.refused = {}, {}, [], []

    def overdrawn(self, postings):
        before = {account: self.balances.get(account, Decimal(0)) for account, _ in postings}
        after = dict(before)
        for account, amount in postings:
            after[account] += amount
        return any(account.endswith(":Checking") and after[account] < 0 and after[account] < before[account]
                   for account in after)  # fmt: skip

    def post(self, seq, postings):
        if self.overdrawn(postings):
            self.refused.append(seq)
            return
        for account, amount in postings:
            self.balances[account] = self.balances.get(account, Decimal(0)) + amount

    def run(self, transactions):
        for seq, date, postings in transactions:
            clients = [a.split(":")[0] for a, _ in postings if not a.startswith("Bank:")]
            client = next((c for c in clients if c in self.held), None)
            failed = next((a for a, _ in postings if a in FAILING), None)
            if client is None and failed:
                client = failed.split(":")[0]
                self.held[client] = seq
            if client:
                self.deferred.append((seq, date, postings, client, self.held[client]))
            else:
                self.post(seq, postings)

    def retry(self, task_count):
        for seq, _, postings, _, _ in self.deferred:
            self.post(task_count + seq, postings)

    def check(self, outputs, deferred):
        rows = list(csv.DictReader(open(outputs / "deferred.csv", newline="", encoding="utf-8")))
        found = [(int(row["seq"]), row["date"], row["client"], int(row["since"])) for row in rows]
        check(found == deferred, f"deferred: {found[:5]}, not {deferred[:5]}")
        rows = csv.DictReader(open(outputs / "refused.csv", newline="", encoding="utf-8"))
        check([int(row["seq"]) for row in rows] == self.refused, "the refused transactions")
        balances = {account: amount for (account, _), amount in books.our_balances(outputs / "balances.csv").items()}
        check(balances == {a: b for a, b in self.balances.items() if b}, "the balances")


class Batch:
    def __init__(self, binary, folder, customers, transactions, seed):
        self.binary, self.folder, self.chance = binary, folder, random.Random(seed)
        self.journal, self.database, self.outputs = folder / "b.journal", folder / "db", folder / "out"
        self.journal.write_bytes(books.run(
            binary, "generate", "smallbank", "--customers", customers, "--transactions", transactions,
            "--months", 3, "--seed", seed).stdout)  # fmt: skip
        self.task_count = len(read_journal(self.journal)) + 3

    def words(self, name, *options, workers=2):
        return [str(word) for word in (
            self.binary, name, "--workers", workers, "--commit-size", 50, "--db", self.database, "--out",
            self.outputs, *RULES, *options, self.journal)]  # fmt: skip

    def command(self, name, *options, expect=0, workers=2, **more):
        return books.run(*self.words(name, *options, workers=workers), expect=expect, **more)

    def clear(self):
        books.run("rm", "-rf", self.outputs, *self.folder.glob("db*"))

    def prints(self):
        return books.fingerprint(self.database, self.outputs)

    def kill(self, seconds, name, *options):
        """True if the command was still running."""
        process = subprocess.Popen(self.words(name, *options, workers=self.chance.choice((1, 2, 8))),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        time.sleep(self.chance.uniform(0, seconds))
        process.kill()
        return process.wait() == -9


def check_model(batch):
    """One run and its retry against the model; what each of them leaves."""
    begin = time.monotonic()
    result = batch.command("run", *DEFER, expect=CLOSED, workers=1)
    seconds = time.monotonic() - begin
    model = Model()
    model.run(read_journal(batch.journal))
    deferred = [(seq, date, client, since) for seq, date, _, client, since in model.deferred]
    model.check(batch.outputs, deferred)
    others = {a.split(":")[0] for _, _, postings, _, _ in model.deferred for a, _ in postings
              if not a.startswith("Bank:")} - set(model.held)  # fmt: skip
    words = f"{len(deferred)} of {batch.task_count - 3} transactions are deferred, of {len(model.held)} held clients " \
            f"and {len(others)} others"  # fmt: skip
    check(words in result.stderr.decode(), f"'{words}' is not in {result.stderr.decode()}")
    closed, grows = batch.prints(), ("posted.journal", "refused.csv")
    before = [(batch.outputs / name).read_bytes() for name in grows]
    batch.command("retry", "--all", workers=1)
    model.retry(batch.task_count)
    model.check(batch.outputs, [])
    for name, text in zip(grows, before):
        check((batch.outputs / name).read_bytes().startswith(text), f"a retry only adds to {name}")
    done = batch.prints()
    for name in closed:
        check(not name.startswith(("statements", "trial-balance")) or closed[name] == done[name],
              f"{name} is closed, and has changed")  # fmt: skip
    for what, _, wrong in books.compare.compare_readings(batch.outputs, []):
        check(not wrong, f"{what}: {wrong[:5]}")
    return closed, done, seconds


def check_workers(batch, closed, done):
    for workers in (1, 2, 8):
        batch.clear()
        batch.command("run", *DEFER, expect=CLOSED, workers=workers)
        books.check_same(batch.prints(), closed, f"{workers} workers")
        batch.command("run", *DEFER, expect=CLOSED, workers=workers)
        books.check_same(batch.prints(), closed, f"{workers} workers, run again")
        batch.command("retry", "--all", workers=workers)
        books.check_same(batch.prints(), done, f"{workers} workers, the retry")


# A and D are held: what comes after a transfer that fails again must wait, and only that.
CHAIN = """\
2024-01-01 t1
  A:Cash  1.00 USD
  Bank:Vault

2024-01-02 t2
  D:Cash  2.00 USD
  Bank:Vault

2024-01-03 t3
  A:Cash  4.00 USD
  B:Cash

2024-01-04 t4
  D:Cash  8.00 USD
  B:Cash

2024-01-05 t5
  D:Cash  16.00 USD
  Bank:Vault
"""


def check_chain(binary, folder):
    """A late transaction that waits holds its other clients, so that nothing overtakes it."""
    journal, database, outputs = folder / "chain.journal", folder / "chain.db", folder / "chain"
    journal.write_text(CHAIN)
    words = ["--db", database, "--out", outputs, "--commutative", "Bank:*", journal]
    for workers in (1, 2, 8):
        books.run("rm", "-rf", database, outputs)
        fails = ["--workers", workers, "--fail-on", "A:*"]
        books.run(binary, "run", "--on-failure", "defer", *fails, "--fail-on", "D:*", *words, expect=CLOSED)
        message = books.run(binary, "retry", "--all", *fails, *words, expect=3).stderr.decode()
        check("4 of 5 tasks are held, in the lanes of 3 clients, because 1 failed" in message, message)
        status = books.run(binary, "status", "--db", database).stdout.decode()
        check("held task 9: 2024-01-05 t4: waits for B" in status, status)
        books.run(binary, "retry", "--lane", "A", *words)
        wanted = "account,commodity,amount\nA:Cash,USD,5.00\nB:Cash,USD,-12.00\nBank:Vault,USD,-19.00\nD:Cash,USD,26.00\n"
        check((outputs / "balances.csv").read_text() == wanted, (outputs / "balances.csv").read_text())


def deferred_clients(batch):
    result = books.run("sqlite3", batch.database, "SELECT count(DISTINCT lane) FROM deferred", expect=None)
    return int(result.stdout) if result.returncode == 0 else 0


def check_kills(batch, count, seconds, closed, done):
    kills = 0
    while kills < count:
        batch.clear()
        kills += sum(batch.kill(seconds, "run", *DEFER) for _ in range(batch.chance.randint(1, 3)))
        # A run that resumes such a batch defers, too, if anything has been deferred before.
        some = batch.database.exists() and deferred_clients(batch) == len(FAILING)
        batch.command("run", *(DEFER if not some else []), expect=CLOSED)
        books.check_same(batch.prints(), closed, "after kills of the run")
        kills += batch.kill(seconds / 2, "retry", "--all")
        # A retry that has been killed after its end has nothing left to do.
        finished = b"state: finished" in books.run(batch.binary, "status", "--db", batch.database).stdout
        batch.command("retry", "--all", expect=2 if finished else 0)
        books.check_same(batch.prints(), done, f"after kills of the retry")
    return kills


def check_full_disk(batch, closed, done):
    """The limit is felt in the run, and in the retry."""
    failures = 0
    batch.clear()
    batch.command("run", *DEFER, expect=CLOSED)
    whole = batch.database.stat().st_size
    for name, options, code, wanted, sizes in (
        ("run", DEFER, CLOSED, closed, (20000, whole // 4, whole // 2, whole)),
        ("retry", ["--all"], 0, done, (20000, whole // 2)),
    ):
        for size in sizes:
            if name == "run":
                batch.clear()
            result = batch.command(name, *options, expect=None, preexec_fn=disk_full.limited(size))
            check(result.returncode in (1, code), f"exit {result.returncode}: {result.stderr}")
            check(result.returncode == code or result.stderr.startswith(b"ledgerbatch: "), f"{result.stderr}")
            failures += result.returncode == 1
        if name == "run" or result.returncode == 1:
            batch.command(name, *options, expect=code)
        books.check_same(batch.prints(), wanted, f"{name} after limits")
    check(failures >= 3, f"the limits were felt {failures} times only")


def check_fails_again(batch, closed, done):
    """What fails again at the retry holds what comes after it, and is retried once more."""
    batch.clear()
    batch.command("run", *DEFER, expect=CLOSED)
    message = batch.command("retry", "--all", "--fail-on", FAILING[0], expect=3).stderr.decode()
    check("are held" in message, message)
    message = batch.command("retry", "--all", expect=0)
    books.check_same(batch.prints(), done, "a retry after a retry that failed")


def check_house(batch):
    """A failure of a house account defers its own transactions only: they hold nobody."""
    batch.clear()
    batch.command("run", "--on-failure", "defer", "--fail-on", "Bank:*", expect=CLOSED, workers=8)
    rows = list(csv.DictReader(open(batch.outputs / "deferred.csv", newline="", encoding="utf-8")))
    wanted = [seq for seq, _, postings in read_journal(batch.journal) if any(a.startswith("Bank:") for a, _ in postings)]
    check([int(row["seq"]) for row in rows] == wanted, f"{len(rows)} are deferred, not {len(wanted)}")
    check(all(row["client"] == "" and "is one of --fail-on" in row["reason"] for row in rows), "nobody is held")


def check_usage(batch, closed):
    """Each wrong use says what is wrong and changes nothing."""
    batch.clear()
    copy = batch.folder / "copy"
    message = batch.command("run", *DEFER, "--on-quarantine", "exclude", expect=2).stderr.decode()
    check("--on-quarantine is not for --on-failure defer" in message, message)
    message = batch.command("run", "--on-failure", "skip", expect=2).stderr.decode()
    check("--on-failure takes hold or defer, not skip" in message, message)
    message = batch.command("run", "--day", "2024-01-01", expect=2).stderr.decode()
    check("unknown option --day" in message, message)
    batch.command("run", *DEFER, expect=CLOSED)
    shutil.copytree(batch.outputs, copy)
    for options, words in (
        (["--lane", "C000007"], "deferred transactions are retried together"),
        (["--all", "--day", "2024-02-30"], "--day takes a day such as 2024-03-05, not 2024-02-30"),
        (["--all", "--day", "1999-01-01"], "--day 1999-01-01 is before the last day of the batch"),
    ):  # fmt: skip
        message = batch.command("retry", *options, expect=2).stderr.decode()
        check(words in message, message)
    books.check_same(batch.prints(), closed, "nothing has changed")
    with subprocess.Popen(["sqlite3", str(batch.database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdin.write(b"BEGIN IMMEDIATE; SELECT 1;\n")
        other.stdin.flush()
        other.stdout.readline()
        message = batch.command("retry", "--all", expect=1).stderr.decode()
        check("another program is using the database" in message, message)
    status = books.run(batch.binary, "status", "--db", batch.database).stdout.decode()
    check("state: closed with deferred transactions" in status, status)
    # Late rollups, of a run without --on-failure, do not go together with it.
    grouped = batch.words("run", "--db", batch.folder / "late.db", "--fail-on", FAILING[0])
    books.run(*grouped, "--on-quarantine", "fail", expect=3)
    message = books.run(*grouped, "--on-failure", "defer", expect=2).stderr.decode()
    check("has rollups that are done late" in message, message)
    # The batch is made to look stopped: its last transaction and statement are not done.
    books.run("sqlite3", batch.database, f"DELETE FROM closings WHERE seq = {batch.task_count};"
              f"DELETE FROM transactions WHERE seq = {batch.task_count};"
              f"UPDATE lanes SET last_seq = {batch.task_count - 1} WHERE last_seq = {batch.task_count}")  # fmt: skip
    message = batch.command("retry", "--all", expect=2).stderr.decode()
    check("the batch was stopped, and 1 tasks are left; first run it to its end" in message, message)
    # A day of the retry, and other outputs: what was closed stays as it is.
    batch.command("run", *DEFER, expect=CLOSED)
    books.run(*batch.words("retry", "--all", "--day", "2031-02-03", "--out", batch.folder / "late"))
    late = (batch.folder / "late" / "posted.journal").read_text()
    check(re.search(r"\n2031-02-03 \S.*\n    ; value date: 20\d\d-\d\d-\d\d\n", late), late[-500:])
    compared = subprocess.run(["diff", "-r", copy, batch.outputs], capture_output=True)
    check(compared.returncode == 0, compared.stdout.decode())


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    parser = argparse.ArgumentParser()
    parser.add_argument("--customers", type=int, default=200)
    parser.add_argument("--transactions", type=int, default=3000)
    parser.add_argument("--kills", type=int, default=6)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print("seed", options.seed, flush=True)
    with small_batch.temporary_folder() as path:
        batch = Batch(binary, Path(path), options.customers, options.transactions, options.seed)
        closed, done, seconds = check_model(batch)
        check_workers(batch, closed, done)
        kills = check_kills(batch, options.kills, seconds, closed, done)
        check_full_disk(batch, closed, done)
        check_fails_again(batch, closed, done)
        check_chain(binary, Path(path))
        check_house(batch)
        check_usage(batch, closed)
    small_batch.tally(kills)
    print(f"deferral: as the model says, with 1, 2 and 8 workers, over {kills} kills and on a full disk")


if __name__ == "__main__":
    main()
