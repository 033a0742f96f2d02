#!/usr/bin/env python3
"""A process that is stopped by a signal while it works on a database: every command that posts says at
once which process does, and changes nothing; every command that reads shows what is committed. When
the process continues, the batch ends as if nothing had been.

usage: stopped.py LEDGERBATCH
"""
import contextlib
import re
import signal
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path

import books
import small_batch

WAITING_SECONDS = 60  # only guards against waiting for ever
WRITERS = (("run",), ("retry", "--all"))
READERS = (("status",), ("balances",), ("register", "C1:Cash"), ("statement", "C1"), ("trial-balance",), ("verify",))


class Batch:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.database, self.outputs = folder / "db", folder / "out"
        self.journal = folder / "small.journal"
        self.journal.write_text(small_batch.journal(1, 2), encoding="utf-8")

    def command(self, words, wait_us=0):
        if words in READERS:
            return [self.binary, *words, "--db", self.database]
        return [self.binary, *words, "--workers", "1", "--commit-size", "2", "--task-wait-us",
                str(wait_us), "--db", self.database, "--out", self.outputs, *small_batch.RULES,
                self.journal]  # fmt: skip

    def clear(self):
        books.run("rm", "-rf", self.outputs, *self.folder.glob("db*"))

    def is_written(self):
        """True when a commit has some of the work."""
        try:
            with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=rw", uri=True)) as reader:
                return reader.execute("SELECT count(*) FROM transactions").fetchone()[0] > 0
        except sqlite3.OperationalError:
            return False


def state_of(process):
    """One letter: T of a stopped process."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_until(condition, what):
    end = time.monotonic() + WAITING_SECONDS
    while not condition():
        books.check(time.monotonic() < end, f"waited in vain: {what}")
        time.sleep(0.001)


def start_and_stop(batch, words=("run",)):
    """A run that is stopped in its middle. If one has ended before, the next one takes longer."""
    wait_us = 5000
    while True:
        batch.clear()
        process = subprocess.Popen(batch.command(words, wait_us), stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE)  # fmt: skip
        wait_until(lambda: batch.is_written() or process.poll() is not None, "a commit")
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: process.poll() is not None or state_of(process) in "TZ", "the stop")
        if process.poll() is None and not batch.outputs.exists():
            return process
        process.kill()
        process.communicate()
        books.check(wait_us < 1000000, "no run was long enough to be stopped")
        wait_us = min(10 * wait_us, 1000000)


def check_writers(batch, process):
    for words in WRITERS:
        result = books.run(*batch.command(words), expect=1, timeout=WAITING_SECONDS)
        message = result.stderr.decode()
        books.check(message == f"ledgerbatch: {batch.database}: process {process.pid} is posting into "
                    "this database; wait until it ends\n", f"{words[0]}: {message}")  # fmt: skip
        books.check(result.stdout == b"", f"{words[0]}: {result.stdout.decode()}")
    books.check(not batch.outputs.exists(), "another command wrote outputs")


def check_readers(batch, process):
    for words in READERS:
        result = books.run(*batch.command(words), timeout=WAITING_SECONDS)
        books.check(result.stdout.count(b"\n") > 1, f"{words[0]}: {result.stdout.decode()}")
    status = books.run(*batch.command(("status",))).stdout.decode()
    for line in ("state: unfinished", r"tasks: [1-9]\d* of \d+ done", rf"running: process {process.pid}, since "
                 r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "rate: .*", "last commit: .* ago"):  # fmt: skip
        books.check(re.search(f"^{line}$", status, re.M), f"no line {line}:\n{status}")


def terminate(batch, words, delay):
    """Sends SIGTERM after the first commit and a delay; returns the message, or None if it came too late."""
    process = subprocess.Popen(batch.command(words, 3000), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    wait_until(lambda: batch.is_written() or process.poll() is not None, "a commit")
    time.sleep(delay)
    process.terminate()
    message = process.communicate(timeout=WAITING_SECONDS)[1].decode()
    books.check(process.returncode in (0, 7, -signal.SIGTERM), f"exit {process.returncode}: {message}")
    return message if process.returncode == 7 else None


def check_terminated(batch, wanted):
    """SIGTERM ends a batch in order: the database is one plain file with all that was done."""
    stops = 0
    for number in range(12):
        batch.clear()
        message = terminate(batch, ("run",), 0.004 * number)
        if message:
            stops += 1
            books.check(message == "ledgerbatch: stopped by SIGTERM: what is done is committed; run the same "
                        "command again to go on\n", message)  # fmt: skip
            left = [path.name for path in batch.folder.glob("db*")]
            books.check(left == ["db"], f"the database is one plain file: {left}")
            books.run(batch.binary, "verify", "--db", batch.database)
        books.run(*batch.command(("run",)))
        books.check_same(books.fingerprint(batch.database, batch.outputs), wanted, "terminated, and resumed")
    books.check(stops >= 3, f"only {stops} of 12 signals came in time")
    return stops


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    with tempfile.TemporaryDirectory() as path:
        batch = Batch(binary, Path(path))
        books.run(*batch.command(("run",)))
        wanted = books.fingerprint(batch.database, batch.outputs)
        process = start_and_stop(batch)
        try:
            check_writers(batch, process)
            check_readers(batch, process)
            books.check(state_of(process) == "T", "the process is still stopped")
        finally:
            process.send_signal(signal.SIGCONT)
        message = process.communicate(timeout=WAITING_SECONDS)[1].decode()
        books.check(process.returncode == 0, f"continued: exit {process.returncode}, {message}")
        books.check_same(books.fingerprint(batch.database, batch.outputs), wanted, "continued")
        status = books.run(*batch.command(("status",))).stdout.decode()
        books.check("state: finished" in status and "running" not in status, status)
        stops = check_terminated(batch, wanted)
    print(f"terminated {stops} times; stopped: {len(WRITERS)} commands say that the database is in use, {len(READERS)} read it, and the "
          "batch ends well")  # fmt: skip


if __name__ == "__main__":
    main()
