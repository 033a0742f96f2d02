#!/usr/bin/env python3
"""Programs that read the database while a batch posts into it: they see whole commits, the batch does
not notice them, and no one is told of locks. A database that nobody posts into is one plain file.

usage: readers.py LEDGERBATCH
"""
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import books
import stopped
from books import check

NOBODY = 65534
# The two bytes of a database's header that say whether a log belongs to it.
PLAIN = b"\x01\x01"


def leave_rights():
    if os.getuid() == 0:
        os.setgid(NOBODY)
        os.setuid(NOBODY)


def check_plain(batch, what):
    files = sorted(path.name for path in batch.folder.glob("db*"))
    check(files == ["db"], f"{what}: {files}")
    check(batch.database.read_bytes()[18:20] == PLAIN, f"{what}: a log belongs to the database")


def count_tasks(connection):
    return connection.execute("SELECT count(*) FROM transactions").fetchone()[0]


def check_polled(batch, wanted):
    """Commands read all the time. Each sees a consistent state, and never an older one than before."""
    batch.clear()
    process = subprocess.Popen(batch.command(("run",), 3000), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    stopped.wait_until(batch.is_written, "a commit")
    seen = []
    while process.poll() is None:
        verified = books.run(*batch.command(("verify",)), expect=None)
        # Before the first commit there is an empty file.
        check(verified.returncode == 0 or b"is empty" in verified.stderr, verified.stderr.decode())
        status = books.run(*batch.command(("status",))).stdout.decode()
        seen.append(int(re.search(r"^tasks: (\d+) of", status, re.M)[1]))
    message = process.communicate()[1].decode()
    check(process.returncode == 0 and message == "", f"exit {process.returncode}: {message}")
    check(seen == sorted(seen) and len(seen) > 1, f"{seen}")
    check_plain(batch, "read all the time")
    books.check_same(books.fingerprint(batch.database, batch.outputs), wanted, "read all the time")
    return len(seen)


def check_killed(batch, wanted):
    """The writer is killed while another program is in the middle of reading. That one goes on, and
    the batch is resumed beside it."""
    process = stopped.start_and_stop(batch)
    reader = sqlite3.connect(batch.database, isolation_level=None)
    reader.execute("BEGIN")
    before = count_tasks(reader)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    status = books.run(*batch.command(("status",))).stdout.decode()
    check("the last run did not end by itself; to continue it" in status, status)
    check(f"tasks: {before} of" in status, status)
    resumed = books.run(*batch.command(("run",)))
    check(f"{batch.database}-wal is a part of the database" in resumed.stderr.decode(), f"{resumed.stderr}")
    check(count_tasks(reader) == before, "the reader's state has changed")
    reader.execute("COMMIT")
    check(count_tasks(reader) > before, "the reader does not see what was committed")
    reader.close()
    books.check_same(books.fingerprint(batch.database, batch.outputs), wanted, "killed beside a reader")
    status = books.run(*batch.command(("status",))).stdout.decode()
    check("state: finished" in status, status)
    check_plain(batch, "after the next command")


def check_failures(batch):
    """What fails is told at the next commit, though the database has it only at the end."""
    process = stopped.start_and_stop(batch, ("run", "--fail-on", "C1:Sav*"))
    status = books.run(*batch.command(("status",))).stdout.decode()
    check(re.search(r"^failed so far: 1; held so far: \d+$", status, re.M), status)
    process.send_signal(signal.SIGCONT)
    message = process.communicate(timeout=stopped.WAITING_SECONDS)[1].decode()
    check(process.returncode == 3, message)
    status = books.run(*batch.command(("status",))).stdout.decode()
    check("held: C1 from task 1 on" in status and "so far" not in status, status)
    check_plain(batch, "something is held")


def check_begun(batch, wanted):
    """A run that begins while another program reads waits for that one."""
    process = stopped.start_and_stop(batch)
    process.kill()
    process.communicate()
    books.run(*batch.command(("status",)))
    reader = sqlite3.connect(batch.database, isolation_level=None)
    reader.execute("BEGIN")
    count_tasks(reader)
    process = subprocess.Popen(batch.command(("run",)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    stopped.wait_until(Path(f"{batch.database}-run").exists, "the run file")
    reader.close()
    message = process.communicate()[1].decode()
    check(process.returncode == 0 and message == "", f"exit {process.returncode}: {message}")
    books.check_same(books.fingerprint(batch.database, batch.outputs), wanted, "begun beside a reader")


def check_foreign_write(batch):
    """Nothing keeps another program from writing; the run then stops, and says why."""
    locked, process = 5, None
    while locked == 5:
        if process:
            process.kill()  # it was stopped in the middle of a commit
            process.communicate()
        process = stopped.start_and_stop(batch)
        locked = books.run("sqlite3", batch.database, "INSERT INTO refused VALUES (99999, '', '')",
                           expect=None).returncode  # fmt: skip
    process.send_signal(signal.SIGCONT)
    message = process.communicate(timeout=stopped.WAITING_SECONDS)[1].decode()
    check(process.returncode == 1, f"exit {process.returncode}: {message}")
    check("another program has written into the database during the run" in message, message)


def check_at_once(batch, wanted):
    """Several begin at the same moment. One posts, and the others say so or find all done."""
    posted = 0
    for _ in range(10):
        batch.clear()
        processes = [subprocess.Popen(batch.command(("run",)), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                     for _ in range(4)]  # fmt: skip
        for process in processes:
            output, message = (text.decode() for text in process.communicate())
            check(process.returncode in (0, 1), f"exit {process.returncode}: {message}")
            check(process.returncode == 0 or "is posting into this database" in message, message)
            posted += "month-end rollups of" in output
        check("nothing to do" in books.run(*batch.command(("run",))).stdout.decode(), "all is done")
        check_plain(batch, "several at once")
        books.check_same(books.fingerprint(batch.database, batch.outputs), wanted, "several at once")
    check(posted == 10, f"{posted} of 10 batches were posted")


def run_without_rights(batch, words, expect=0):
    return books.run(*batch.command(words), expect=expect, preexec_fn=leave_rights)


def check_read_only(batch, binary):
    """A finished database can be read where nothing can be written, and stays as it is."""
    batch.clear()
    books.run(*batch.command(("run",)))
    shutil.rmtree(batch.outputs)
    if subprocess.run([binary, "--version"], capture_output=True, preexec_fn=leave_rights).returncode != 0:
        print("the program cannot be run without root's rights: read-only folders are left out")
        return
    bytes_before = batch.database.read_bytes()
    batch.database.chmod(0o444)
    batch.folder.chmod(0o555)
    try:
        for words in stopped.READERS:
            check(run_without_rights(batch, words).stdout, f"{words} in a read-only folder")
        message = run_without_rights(batch, ("run",), expect=1).stderr.decode()
        check(message.count("\n") == 1 and str(batch.database) in message, message)
    finally:
        batch.folder.chmod(0o755)
        batch.database.chmod(0o644)
    check_plain(batch, "a read-only folder")
    check(batch.database.read_bytes() == bytes_before, "a reader has changed the database")
    check_killed_read_only(batch)


def check_killed_read_only(batch):
    """A reader without rights sees all that a running and a killed process has committed. It is told if
    SQLite would have to make a log first."""
    process = stopped.start_and_stop(batch)
    try:
        batch.folder.chmod(0o555)
        check(b"running: process" in run_without_rights(batch, ("status",)).stdout, "read without rights")
        process.kill()
        process.communicate()
        status = run_without_rights(batch, ("status",)).stdout
        check(b"the last run did not end by itself" in status and b"tasks: 0 " not in status, status)
    finally:
        process.kill()
        process.wait()
        batch.folder.chmod(0o755)
    books.run("sqlite3", batch.database, "PRAGMA journal_mode = WAL")
    batch.folder.chmod(0o555)
    message = run_without_rights(batch, ("status",), expect=1).stderr.decode()
    batch.folder.chmod(0o755)
    check("until a command has been run that may write this file and its folder" in message, message)
    books.run(*batch.command(("status",)))
    check(batch.database.read_bytes()[18:20] == PLAIN, "the next command makes it a plain file")


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    with tempfile.TemporaryDirectory() as path:
        os.chmod(path, 0o755)
        batch = stopped.Batch(binary, Path(path))
        books.run(*batch.command(("run",)))
        check_plain(batch, "a run")
        wanted = books.fingerprint(batch.database, batch.outputs)
        polls = check_polled(batch, wanted)
        check_killed(batch, wanted)
        check_failures(batch)
        check_begun(batch, wanted)
        check_foreign_write(batch)
        check_at_once(batch, wanted)
        check_read_only(batch, binary)
    print(f"readers: {polls} reads during a run; killed writers, foreign writers and read-only folders")


if __name__ == "__main__":
    main()
