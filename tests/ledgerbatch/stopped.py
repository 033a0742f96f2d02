#!/usr/bin/env python3
"""A process that is stopped by a signal while it works on a database: every other command says at
once that the database is in use, and changes nothing. When the process continues, the batch ends as
if nothing had been.

usage: stopped.py LEDGERBATCH
"""
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import books
import small_batch

WAITING_SECONDS = 60  # only guards against waiting for ever
COMMANDS = (("run",), ("retry", "--all"), ("status",), ("balances",))


class Batch:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        self.database, self.outputs = folder / "db", folder / "out"
        self.journal = folder / "small.journal"
        self.journal.write_text(small_batch.journal(1, 2), encoding="utf-8")

    def command(self, words, wait_us=0):
        if words[0] in ("status", "balances"):
            return [self.binary, *words, "--db", self.database]
        return [self.binary, *words, "--workers", "1", "--commit-size", "2", "--task-wait-us",
                str(wait_us), "--db", self.database, "--out", self.outputs, *small_batch.RULES,
                self.journal]  # fmt: skip

    def clear(self):
        books.run("rm", "-rf", self.outputs, *self.folder.glob("db*"))

    def is_written(self):
        """True when a commit is in the log: from then on the database is locked."""
        log = Path(f"{self.database}-wal")
        return log.exists() and log.stat().st_size > 0


def state_of(process):
    """One letter: T of a stopped process."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def wait_until(condition, what):
    end = time.monotonic() + WAITING_SECONDS
    while not condition():
        books.check(time.monotonic() < end, f"waited in vain: {what}")
        time.sleep(0.001)


def start_and_stop(batch):
    """A run that is stopped in its middle. If one has ended before, the next one takes longer."""
    wait_us = 5000
    while True:
        batch.clear()
        process = subprocess.Popen(batch.command(("run",), wait_us), stdout=subprocess.DEVNULL,
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


def check_others(batch):
    """What other commands say while the process has the database."""
    for words in COMMANDS:
        result = books.run(*batch.command(words), expect=1, timeout=WAITING_SECONDS)
        message = result.stderr.decode()
        books.check(message == f"ledgerbatch: {batch.database}: another program is using the database\n",
                    f"{words[0]}: {message}")  # fmt: skip
        books.check(result.stdout == b"", f"{words[0]}: {result.stdout.decode()}")
    books.check(not batch.outputs.exists(), "another command wrote outputs")


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    with tempfile.TemporaryDirectory() as path:
        batch = Batch(binary, Path(path))
        books.run(*batch.command(("run",)))
        wanted = books.fingerprint(batch.database, batch.outputs)
        process = start_and_stop(batch)
        try:
            check_others(batch)
            books.check(state_of(process) == "T", "the process is still stopped")
        finally:
            process.send_signal(signal.SIGCONT)
        message = process.communicate(timeout=WAITING_SECONDS)[1].decode()
        books.check(process.returncode == 0, f"continued: exit {process.returncode}, {message}")
        books.check_same(books.fingerprint(batch.database, batch.outputs), wanted, "continued")
        status = books.run(*batch.command(("status",))).stdout.decode()
        books.check("state: finished" in status, status)
    print(f"stopped: {len(COMMANDS)} commands say that the database is in use, and the batch ends well")


if __name__ == "__main__":
    main()
