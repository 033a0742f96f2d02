#!/usr/bin/env python3
"""Every operation on the database and the outputs fails once, fails from then on, or is the last
before a crash: the program says so and exits 1, or has lost nothing; another run ends as if
nothing had been. So in a run, in one that resumes, in one that ends with held work, in one that
defers, in a retry, and in a next day.

With --months 160 --step 97 a checkpoint falls into the run.

usage: file_faults.py LEDGERBATCH FAULTY_FILES [--kinds N] [--months N] [--step N]
"""
import argparse
import shutil
import sys
from collections import namedtuple
from pathlib import Path

import books
from small_batch import SmallBatch, tally, temporary_folder

# What happens to the n-th operation. With fewer --kinds, the operations meet them in turn.
KINDS = [
    {"kind": "once", "error": "EIO"},
    {"kind": "on", "error": "ENOSPC"},
    {"kind": "torn"},
    {"kind": "once", "error": "ENOSPC"},
    {"kind": "on", "error": "EIO"},
    {"kind": "kill"},
    {"kind": "once", "error": "short"},
    {"kind": "on", "error": "short"},
]


# What is struck: the words of the command, its exit code and what it leaves if nothing happens.
Struck = namedtuple("Struck", "words code left")
BAD = "2020-02-01 One-sided\n  C1:Cash  1 USD\n"  # it does not balance
DEFERS = ("run", "--fail-on", "C1:Sav*", "--on-failure", "defer")
HOLDS = ("run", "--fail-on", "C1:Sav*", "--on-quarantine", "exclude")


def check_end(batch, fault, result, struck, what):
    """How a command may end that a fault has struck."""
    message = result.stderr.decode()
    if fault["kind"] in ("torn", "kill"):
        books.check(result.returncode == -9, f"{what}: exit {result.returncode}, {message}")
    elif result.returncode == struck.code:
        books.check_same(batch.result(), struck.left, f"{what}: exit {struck.code}")
    else:
        books.check(result.returncode == 1, f"{what}: exit {result.returncode}, {message}")
        books.check(message.startswith("ledgerbatch: ") and message.count("\n") == 1,
                    f"{what}: not a message: {message!r}")  # fmt: skip


def check_rejects(batch, what):
    """The file is whole when the batch has ended."""
    text = (batch.work / "rejects").read_text()
    books.check(text.endswith(" 1 USD is left over\n" + BAD), f"{what}: {text}")
    books.check(not (batch.work / "rejects.ledgerbatch-new").exists(), f"{what}: a file left over")


def strike(batch, saved, number, fault, struck, wanted):
    """One fault; False if the command has fewer operations."""
    batch.restore(saved)
    result = batch.run(struck.words, at=number, **fault)
    operations = [o for o in batch.operations() if o.number == number]
    if not operations:
        return False
    words = " ".join(fault.values())
    what = f"{struck.words[0]}, operation {number} ({operations[0].what} {operations[0].path}), {words}"
    check_end(batch, fault, result, struck, what)
    if struck.words == DEFERS or struck.words[0] == "day" or "--rejects" in struck.words:
        batch.finish(struck.left, what, struck.words, struck.code)
    else:
        batch.finish(wanted, what)
    books.check(not (batch.outputs / ".ledgerbatch-new").exists(), f"{what}: files left over")
    if "--rejects" in struck.words:
        check_rejects(batch, what)
    return True


# A process that is killed before one of these leaves what it would leave one operation later.
CHANGES_NOTHING = ("read", "sync", "close")


def same_fault(number, fault, names):
    """The fault that does exactly the same, of those that come first. Only a write is torn or short."""
    kind, error = fault["kind"], fault.get("error")
    if names.get(number, "write") != "write":
        kind = "kill" if kind == "torn" else kind
        error = "ENOSPC" if error == "short" else error
    while kind == "kill" and names.get(number - 1) in CHANGES_NOTHING:
        number -= 1
    return number, kind, error


def name_operations(batch, saved, struck):
    """What the operations of an undisturbed command are, by number."""
    batch.restore(saved)
    batch.run(struck.words)
    return {operation.number: operation.what for operation in batch.operations()}


def walk(batch, saved, kinds, step, struck, wanted):
    """Strikes the operations of a command that begins with what was saved; how many faults there
    were. A fault that does the same as an earlier one is left out."""
    names = name_operations(batch, saved, struck)
    done = set()
    for first in range(kinds):
        number, goes_on = 1, True
        while goes_on:
            fault = KINDS[(number + first) % len(KINDS)]
            same = same_fault(number, fault, names)
            if same not in done:
                goes_on = strike(batch, saved, number, fault, struck, wanted)
                done |= {same} if goes_on else set()
            number += step
    return len(done)


def hold(batch, words, code, saved):
    """A batch with held or deferred work; saves it, and says what it has left."""
    batch.clear()
    result = batch.run(words)
    books.check(result.returncode == code, result.stderr.decode())
    shutil.copytree(batch.work, saved)
    return batch.result()


def main():
    binary = books.program()
    books.skip_without("sqlite3")
    faulty_files = sys.argv.pop(1)
    parser = argparse.ArgumentParser()
    parser.add_argument("--kinds", type=int, default=len(KINDS), help="at most all of them")
    parser.add_argument("--months", type=int, default=1)
    parser.add_argument("--step", type=int, default=1, help="strike every N-th operation only")
    options = parser.parse_args()
    with temporary_folder() as path:
        batch = SmallBatch(binary, faulty_files, path, options.months)
        wanted, operations = batch.undisturbed()
        nothing, done, killed, held, deferred = (Path(path) / name for name in (
            "nothing", "done", "killed", "held", "deferred"))  # fmt: skip
        nothing.mkdir()
        shutil.copytree(batch.work, done)
        batch.save_killed(operations, killed)
        run = Struck(("run",), 0, wanted)
        holds = Struck(HOLDS, 3, hold(batch, HOLDS, 3, held))
        defers = Struck(DEFERS, 6, hold(batch, DEFERS, 6, deferred))
        retry = Struck(("retry", "--lane", "C1"), 0, wanted)
        half = (options.kinds + 1) // 2
        points = [walk(batch, saved, kinds, options.step, struck, wanted) for saved, kinds, struck in (
            (nothing, options.kinds, run), (killed, options.kinds, run), (nothing, half, holds),
            (held, half, retry), (nothing, half, defers))]  # fmt: skip
        # A run whose input has a fault.
        good = batch.journal.read_text()
        batch.journal.write_text(good + BAD)
        rejecting = ("run", "--rejects", batch.work / "rejects")
        batch.clear()
        result = batch.run(rejecting)
        books.check(result.returncode == 0, result.stderr.decode())
        points.append(walk(batch, nothing, half, options.step, Struck(rejecting, 0, batch.result()), None))
        batch.journal.write_text(good)
        # A day that goes on from the whole run, and one that goes on from deferred work and posts it.
        last_day = batch.next_day()
        day = ("day", "--date", last_day)
        for saved, words in ((done, day), (deferred, (*day, "--post-deferred"))):
            batch.restore(saved)
            result = batch.run(words)
            books.check(result.returncode == 0, result.stderr.decode())
            points.append(walk(batch, saved, half, options.step, Struck(words, 0, batch.result()), None))
    tally(sum(points))
    print("{} faults in a run, {} in one that resumes, {} in one that ends with held work, {} in a retry, {} in one "
          "that defers, {} in one that rejects, {} in a next day and {} in one that posts what is deferred: said or harmless, and every batch ended like the undisturbed one".format(*points))  # fmt: skip


if __name__ == "__main__":
    main()
