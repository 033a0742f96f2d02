#!/usr/bin/env python3
"""Every operation on the database and the outputs fails once, fails from then on, or is the last
before a crash: the program says so and exits 1, or has lost nothing; another run ends as if
nothing had been.

With --months 160 --step 97 a checkpoint falls into the run.

usage: file_faults.py LEDGERBATCH FAULTY_FILES [--kinds N] [--months N] [--step N]
"""
import argparse
import sys
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


def check_end(batch, fault, result, wanted, what):
    """How a run may end that a fault has struck."""
    message = result.stderr.decode()
    if fault["kind"] in ("torn", "kill"):
        books.check(result.returncode == -9, f"{what}: exit {result.returncode}, {message}")
    elif result.returncode == 0:
        books.check_same(batch.result(), wanted, f"{what}: exit 0")
    else:
        books.check(result.returncode == 1, f"{what}: exit {result.returncode}, {message}")
        books.check(message.startswith("ledgerbatch: ") and message.count("\n") == 1,
                    f"{what}: not a message: {message!r}")  # fmt: skip


def strike(batch, saved, number, fault, wanted):
    """One fault; False if the run has fewer operations."""
    batch.restore(saved)
    result = batch.run(at=number, **fault)
    struck = [o for o in batch.operations() if o.number == number]
    if not struck:
        return False
    words = " ".join(fault.values())
    what = f"operation {number} ({struck[0].what} {struck[0].path}), {words}"
    check_end(batch, fault, result, wanted, what)
    batch.finish(wanted, what)
    books.check(not (batch.outputs / ".ledgerbatch-new").exists(), f"{what}: files left over")
    return True


def walk(batch, saved, options, wanted):
    """Strikes the operations of a run that begins with what was saved; how many there were."""
    points = 0
    for first in range(options.kinds):
        number = 1
        while strike(batch, saved, number, KINDS[(number + first) % len(KINDS)], wanted):
            number += options.step
            points += 1
    return points


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
        nothing, killed = Path(path) / "nothing", Path(path) / "killed"
        nothing.mkdir()
        batch.save_killed(operations, killed)
        points = walk(batch, nothing, options, wanted)
        resumed = walk(batch, killed, options, wanted)
    tally(points + resumed)
    print(f"{points} faults in a run and {resumed} in one that resumes: said or harmless, and "
          "every batch ended like the undisturbed one")  # fmt: skip


if __name__ == "__main__":
    main()
