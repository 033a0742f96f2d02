#!/usr/bin/env python3
"""A run that is recorded: laneview shows every task once, and the results are the same.

usage: recorded.py LEDGERBATCH LANEVIEW
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import books
import determinism
from books import check, run

RULES = ["--commutative", "Bank:*", "--no-overdraft", "*:Cash", "--end-month", "--monthly",
         "statement,accrual=0.12,close", "--accrual-accounts", "*Cash"]  # fmt: skip
GROUPS = {"east": ["C1", "C2", "C3"], "west": ["C4", "C5"]}
MONTHS = 3


def journal():
    """A posting for each client, a transfer, one of the house alone; three months, two groups."""
    lines = [f"account {client}:Cash  ; group:{group}" for group in GROUPS for client in GROUPS[group]]
    for month in range(1, MONTHS + 1):
        for client in sum(GROUPS.values(), []):
            lines += [f"2024-{month:02}-02 Wages", f"  {client}:Cash  100.00 USD",
                      f"  {client}:Income:Wages", ""]  # fmt: skip
        lines += [f"2024-{month:02}-03 Transfer", "  C1:Cash  -20.00 USD", "  C4:Cash", "",
                  f"2024-{month:02}-04 House", "  Bank:A  1.00 USD", "  Bank:B", ""]  # fmt: skip
    return "\n".join(lines) + "\n"


TASKS = {"post": 6 * MONTHS, "transfer": MONTHS, "statement": 2 * MONTHS, "accrual": 2 * MONTHS,
         "close": 2 * MONTHS}  # fmt: skip


class Batch:
    def __init__(self, folder, binary, viewer, journal_path, rules):
        self.folder, self.binary, self.viewer = folder, binary, viewer
        self.journal, self.rules = journal_path, rules

    def command(self, name, *options):
        return [str(word) for word in (
            self.binary, "run", "--on-quarantine", "hold", "--workers", 2, "--db", self.folder / f"{name}.db", "--out",
            self.folder / name, *self.rules, *options, self.journal)]  # fmt: skip

    def run(self, name, *options, **more):
        return run(*self.command(name, *options), **more)

    def results(self, name):
        return books.fingerprint(self.folder / f"{name}.db", self.folder / name)

    def stats(self, recording):
        return json.loads(run(self.viewer, "stats", "--json", recording).stdout)

    def running(self, recording, process):
        """What ran on workers (process 1) or in lanes (process 2)."""
        events = json.loads(run(self.viewer, "chrome", recording).stdout)["traceEvents"]
        return [event for event in events
                if event.get("cat") == "running" and event["pid"] == process]  # fmt: skip


def small_batch(folder, binary, viewer):
    """39 tasks, of which everything is known."""
    path = folder / "books.journal"
    path.write_text(journal(), encoding="utf-8")
    return Batch(folder, binary, viewer, path, RULES)


def large_batch(folder, binary, viewer):
    path, rules = determinism.smallbank(binary, folder, 4000, 1)
    (folder / "large").mkdir()
    return Batch(folder / "large", binary, viewer, path, rules)


def check_recording(batch, wanted):
    recording = batch.folder / "a.recording"
    batch.run("traced", "--trace", recording)
    books.check_same(batch.results("traced"), wanted, "with --trace")
    stats = batch.stats(recording)
    check(stats["missed_events"] == 0 and not stats["ends_early"], "nothing was missed")
    check(stats["tasks"] == sum(TASKS.values()), f"{stats['tasks']} tasks")
    check(len(stats["workers"]) == 2, "two workers")
    found = {tag["name"]: tag["running"]["count"] for tag in stats["tags"]}
    check(found == TASKS, f"tasks by their tags: {found}")
    lanes = [lane["name"] for lane in stats["lanes"]]
    clients = sum(GROUPS.values(), [])
    check(sorted(lanes) == sorted(["(group east)", "(group west)", "(house)", *clients]), f"{lanes}")
    latched = next(tag["latched"]["count"] for tag in stats["tags"] if tag["name"] == "close")
    check(latched == MONTHS * sum(len(members) + 1 for members in GROUPS.values()),
          f"closes are latched in each of their lanes: {latched}")  # fmt: skip


def check_cuts(batch, wanted):
    """The rollups are cuts: no client waits in a rollup for another one."""
    recording = batch.folder / "cuts.recording"
    batch.run("cuts", "--on-quarantine", "exclude", "--trace", recording)
    books.check_same(batch.results("cuts"), wanted, "with cuts")
    stats = batch.stats(recording)
    check(stats["tasks"] == sum(TASKS.values()), f"{stats['tasks']} tasks")
    lanes = [lane["name"] for lane in stats["lanes"]]
    check(sorted(lanes) == sorted(["(house)", *sum(GROUPS.values(), [])]), f"{lanes}")
    for tag in stats["tags"]:
        if tag["name"] in ("statement", "accrual", "close"):
            check(tag["latched"]["count"] == 0, f"{tag}")
            check(tag["running"]["count"] == TASKS[tag["name"]], f"{tag}")
    picture = run(batch.viewer, "svg", recording).stdout
    check(b"a cut visits its lanes" in picture, "the picture shows the cuts")


def check_every_task_once(batch):
    recording = batch.folder / "a.recording"
    ran = Counter(event["args"]["ticket"] for event in batch.running(recording, 1))
    check(len(ran) == sum(TASKS.values()) and set(ran.values()) == {1}, f"once each: {ran}")
    wanted = Counter(f"{name} {lanes}" for name, lanes in expected_lanes())
    found = Counter(f"{event['name'].split(' ')[1]} {sorted(event['args']['lanes'])}"
                    for event in batch.running(recording, 1))  # fmt: skip
    check(found == wanted, f"the lanes of each task: {found} instead of {wanted}")
    in_lanes = Counter(event["args"]["ticket"] for event in batch.running(recording, 2))
    for event in batch.running(recording, 1):
        ticket, lanes = event["args"]["ticket"], event["args"]["lanes"]
        check(in_lanes[ticket] == len(lanes), f"{event['name']} runs in each of its lanes")


def expected_lanes():
    for _ in range(MONTHS):
        for client in sum(GROUPS.values(), []):
            yield "post", [client]
        yield "transfer", ["C1", "C4"]
        yield "post", ["(house)"]
        for group, members in GROUPS.items():
            for kind in ("statement", "accrual", "close"):
                yield kind, sorted([f"(group {group})", *members])


def check_views(batch):
    recording = batch.folder / "a.recording"
    for command in (["timeline"], ["svg"], ["stats"], ["replay", "--speed", 100],
                    ["dot", "--at", "1us"]):  # fmt: skip
        check(run(batch.viewer, *command, recording).stdout, f"laneview {command[0]} shows it")


def check_refused(batch):
    """Where the recording cannot be written nothing is done at all."""
    other = batch.folder / "other"
    other.write_text("Something else\n")
    for path, message in (
        (batch.folder / "no/such/folder", "cannot be written: No such file or directory"),
        (batch.folder, "cannot be written: Is a directory"),
        (other, "is not a recording, so it is not overwritten by one"),
        (batch.journal, "is not a recording, so it is not overwritten by one"),
    ):
        result = batch.run("refused", "--trace", path, expect=1)
        said = result.stderr.decode()
        check(said == f"ledgerbatch: {path} {message}\n", f"said {said!r}")
        check(not result.stdout, "nothing is reported as done")
        check(not list(batch.folder.glob("refused*")), f"nothing was made for {path}")
    check(other.read_text() == "Something else\n" and batch.journal.read_text() == journal(),
          "no file has changed")  # fmt: skip


def check_nothing_to_do(batch):
    recording = batch.folder / "b.recording"
    before = (batch.folder / "a.recording").read_bytes()
    for path in (recording, batch.folder / "a.recording"):
        check(b"nothing to do" in batch.run("traced", "--trace", path).stdout, "it is finished")
    check(not recording.exists(), "no recording of a run that did not take place")
    check((batch.folder / "a.recording").read_bytes() == before, "the recording of the run stays")


def check_failing_disk(batch, wanted):
    """What cannot be recorded is posted all the same."""
    result = batch.run("full", "--trace", "/dev/full", expect=1)
    check(result.stderr == b"ledgerbatch: /dev/full cannot be written: No space left on device; "
          b"the batch is finished all the same\n", f"said {result.stderr!r}")  # fmt: skip
    books.check_same(batch.results("full"), wanted, "with a full disk")
    check(b"outputs in" in result.stdout, "the report is printed")
    check(b"nothing to do" in batch.run("full").stdout, "it is finished")


def pipe(batch):
    """What is recorded of a large batch does not fit into it: the batch waits for its reader."""
    path = batch.folder / "pipe"
    if not path.exists():
        os.mkfifo(path)
    return path


def check_reader_that_goes_away(batch, wanted):
    command = batch.command("left", "--trace", pipe(batch))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        with open(pipe(batch), "rb", buffering=0) as recording:
            check(recording.read(10) == b"lanepool-r", "it begins like a recording")
        said = process.communicate()[1].decode()
    check(process.returncode == 1, f"exit {process.returncode}")
    check(said == f"ledgerbatch: {pipe(batch)} cannot be written: Broken pipe; "
          "the batch is finished all the same\n", f"said {said!r}")  # fmt: skip
    books.check_same(batch.results("left"), wanted, "when nobody reads on")


def check_stopped(batch, wanted, number):
    """A batch is stopped half-way: its recording ends early, and it is resumed as ever."""
    name = f"stopped-{number}"
    command = batch.command(name, "--task-wait-us", 100, "--commit-size", 50, "--trace", pipe(batch))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        with open(pipe(batch), "rb") as recording:
            found = b""
            while b"events open\n" not in found:
                found += recording.readline()
            found += recording.read(10000 * 32)
            process.send_signal(number)
            found += recording.read()
        process.communicate()
    check(process.returncode == -number, f"exit {process.returncode}")
    (batch.folder / "cut.recording").write_bytes(found)
    stats = batch.stats(batch.folder / "cut.recording")
    check(stats["ends_early"], "the recording says that it ends early")
    check(stats["tasks"] > 0, "it has tasks")
    recording = batch.folder / "rest.recording"
    batch.run(name, "--trace", recording)
    books.check_same(batch.results(name), wanted, f"stopped by signal {number}, and resumed")
    rest = batch.stats(recording)
    check(rest["missed_events"] == 0 and not rest["ends_early"], "the rest is recorded")


def check_small(batch):
    batch.run("plain")
    wanted = batch.results("plain")
    check_recording(batch, wanted)
    check_cuts(batch, wanted)
    check_every_task_once(batch)
    check_views(batch)
    check_refused(batch)
    check_nothing_to_do(batch)
    check_failing_disk(batch, wanted)


def check_large(batch):
    batch.run("plain")
    wanted = batch.results("plain")
    check_reader_that_goes_away(batch, wanted)
    check_stopped(batch, wanted, signal.SIGKILL)
    check_stopped(batch, wanted, signal.SIGINT)


def main():
    binary = books.program()
    viewer = os.path.abspath(sys.argv.pop(1))
    books.skip_without("sqlite3")
    with tempfile.TemporaryDirectory() as path:
        folder = Path(path)
        check_small(small_batch(folder, binary, viewer))
        check_large(large_batch(folder, binary, viewer))
    print(f"recorded: {sum(TASKS.values())} tasks are recorded once each; the results are the same")


if __name__ == "__main__":
    main()
