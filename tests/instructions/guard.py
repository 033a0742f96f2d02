#!/usr/bin/env python3
"""Counts the library's instructions for each task under callgrind, and compares with the record.

A count that differs from the record by more than 5 % is an error in both directions: a slower
library must be intended, and a gain must be recorded so that it is not lost. Exits with 77 if there
is no record for this compiler.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

WORKLOADS = ["W1", "W4", "W8", "W7", "W4_parks", "W4_limits"]
PARTS = {"submit": 1, "run": 2}  # callgrind's number of its thread
TOLERANCE = 0.05
LIMIT_SECONDS = 100
SKIPPED = 77


def read_total(path):
    """Returns the instructions that callgrind counted on one thread."""
    found = re.search(r"^totals: (\d+)$", path.read_text(), re.MULTILINE)
    if found is None:
        sys.exit("callgrind counted nothing in %s" % path.name)
    return int(found.group(1))


def count(program, workload):
    """Returns the instructions for each task, by part."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out"
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", "--separate-threads=yes", "--collect-atstart=no",
             "--callgrind-out-file=%s" % out, str(program), workload],
            env={**os.environ, "LD_BIND_NOW": "1"}, capture_output=True, text=True,
            timeout=LIMIT_SECONDS)
        if done.returncode != 0:
            sys.exit("failed on %s:\n%s%s" % (workload, done.stdout, done.stderr))
        tasks = int(done.stdout)
        return {part: read_total(out.with_name("out-%02d" % thread)) / tasks
                for part, thread in PARTS.items()}


def count_all(program, workloads):
    return {(workload, part): value for workload in workloads
            for part, value in count(program, workload).items()}


def read_record(path):
    counts = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            workload, part, value = line.split()
            counts[workload, part] = float(value)
    return counts


def write_record(path, counts):
    lines = ["# Instructions for each task, by callgrind: workload, part, count."]
    lines += ["%s %s %.1f" % (*key, value) for key, value in counts.items()]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n")


def compare(counts, record):
    """Prints every count and its record. Returns how many are above it, and how many are below."""
    above = below = 0
    for key, value in counts.items():
        if key not in record:
            sys.exit("the record has no entry for %s %s" % key)
        change = value / record[key] - 1
        verdict = ""
        if change > TOLERANCE:
            above, verdict = above + 1, "ABOVE THE RECORD"
        elif change < -TOLERANCE:
            below, verdict = below + 1, "BELOW THE RECORD"
        print(("%-9s %-6s %7.1f, record %7.1f, %+5.1f %%  %s" % (
            *key, value, record[key], 100 * change, verdict)).rstrip())
    return above, below


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("record", type=Path)
    parser.add_argument("--write", action="store_true", help="write the record instead of comparing")
    parser.add_argument("--workloads", default=",".join(WORKLOADS))
    parser.add_argument("--rewrite-command", default="guard.py --write", metavar="COMMAND",
                        help="the command to print that writes the record")
    options = parser.parse_args()
    if not options.write and not options.record.exists():
        print("there is no record for this compiler, %s; make one: %s" % (
            options.record.name, options.rewrite_command))
        sys.exit(SKIPPED)
    counts = count_all(options.program, options.workloads.split(","))
    if options.write:
        write_record(options.record, counts)
        print(options.record.read_text(), end="")
        return
    above, below = compare(counts, read_record(options.record))
    if above > 0:
        print("%d counts are more than %.0f %% above the record. If that is intended, rewrite the "
              "record and give the reason in the commit: %s" % (
                  above, 100 * TOLERANCE, options.rewrite_command))
    if below > 0:
        print("%d counts are more than %.0f %% below the record. Rewrite the record, so that the "
              "gain cannot be lost unnoticed: %s" % (
                  below, 100 * TOLERANCE, options.rewrite_command))
    sys.exit(1 if above + below > 0 else 0)


if __name__ == "__main__":
    main()
