#!/usr/bin/env python3
"""Recordings that are cut off or changed: an error that names the record, or a picture; no crash.

usage: damage.py LANEVIEW [--flips N] [--seed S]
"""
import argparse
import random

import schedule
from schedule import record, recording
from views import Views, check

COMMANDS = (("timeline",), ("svg",), ("html",), ("chrome",), ("stats",), ("stats", "--json"), ("plan",), ("replay",),
            ("dot", "--at", "20ms"))  # fmt: skip

# One record that is wrong, and what is said to it.
WRONG = [
    (record(5, 0), "not a type of event"),
    (record(5, 18), "not a type of event"),
    (record(5, schedule.START, 2**40), "not a ticket"),
    (record(5, schedule.START, 1, thread=2), "on a worker that is not there"),
    (record(5, schedule.ROUTE, 1, 1, 256), "not a tag"),
    (record(5, schedule.ENTER, 1, 1), "not a type of lane"),
    (record(5, schedule.ENTER, 1, 1, object_type=9), "not a type of lane"),
    (record(5, schedule.VISIT, 1, 1), "not a type of lane"),
    (record(5, schedule.VISITED, 1, 1, object_type=9), "not a type of lane"),
    (record(5, schedule.ENTER, 1, 2, object_type=schedule.WORKER),
     "the lane of a worker that is not there"),
    (record(5, schedule.NAME, 1, 2, 64, object_type=schedule.BYTES),
     "not a part of a lane's name"),
    (record(3, schedule.SLEEP), "earlier than the recording's zero"),
    (record(2**63, schedule.SLEEP), "more than 104 days after the recording's zero"),
]  # fmt: skip

# A header that is wrong, and the line and what is said to it.
HEADERS = [
    ("workers 0\nevents 0\n", 2, "expected: workers NUMBER, from 1 to 4096"),
    ("workers 5000\nevents 0\n", 2, "expected: workers NUMBER, from 1 to 4096"),
    ("events 0\n", 2, "the header does not say how many workers there are"),
    ("workers 2\nlayout\nevents 0\n", 3, "expected: layout key|worker"),
    ("workers 2\nzero -1\nevents 0\n", 3, "expected: zero NUMBER"),
    ("workers 2\nzero 18446744073709551616\nevents 0\n", 3, "expected: zero NUMBER"),
    ("workers 2\nmissed many\nevents 0\n", 3, "expected: missed NUMBER"),
    ("workers 2\ntag 256 x\nevents 0\n", 3, "expected: tag NUMBER NAME"),
    ("workers 2\nlane task 1 x\nevents 0\n", 3,
     "expected: lane id|pointer|bytes|worker NUMBER NAME"),
    ("workers 2\nevents\n", 3, "expected: events NUMBER|open"),
    ("workers 2\nhello\nevents 0\n", 3, "not a line of a recording's header"),
    ("workers 2\n", 3, "the file ends within the header"),
]  # fmt: skip


def check_wrong(views):
    for wrong, message in WRONG:
        views.write("x.rec", recording([record(4, schedule.SLEEP), wrong], zero=4))
        views.wrong(f"x.rec: record 2: {message}", "stats", "x.rec")
    for header, line, message in HEADERS:
        views.write("x.rec", "lanepool-recording 1\n" + header)
        views.wrong(f"x.rec:{line}: {message}", "stats", "x.rec")
    for contents in ("", "lanepool-recording 2\n", "hello\n", "lanepool-recording 1"):
        views.write("x.rec", contents)
        views.wrong('x.rec: not a recording (it does not begin with "lanepool-recording 1")',
                    "svg", "x.rec")  # fmt: skip
    views.write("x.rec", recording([record(4, schedule.SLEEP)]) + b"?")
    views.wrong("x.rec: record 2: more than the header announces", "svg", "x.rec")
    views.wrong("laneview: no.rec cannot be opened: No such file or directory", "svg", "no.rec", code=1)
    (views.path / "folder").mkdir()
    views.wrong("laneview: folder cannot be read: Is a directory", "svg", "folder", code=1)


def check_cuts(views, contents, header_size):
    """Cut after every byte."""
    for size in range(len(contents)):
        views.write("cut.rec", contents[:size])
        said = views.run("stats", "cut.rec", expect=2).stderr.decode()
        check(said.startswith("cut.rec:") and said.count("\n") == 1, f"after {size} bytes: {said}")
        if size >= header_size:
            number = (size - header_size) // 32 + 1
            check(said == f"cut.rec: record {number}: the file ends here, before its last record\n",
                  f"after {size} bytes: {said}")  # fmt: skip


def check_open(views, events):
    """A recording whose end is open: cut anywhere, it is what was written before."""
    whole = recording(events, workers=1)
    head = whole[: len(whole) - 32 * len(events)].replace(b"events %d\n" % len(events),
                                                          b"events open\n")  # fmt: skip
    end = record(0, 0, 7, len(events))
    for size in range(32 * len(events) + 32):
        views.write("cut.rec", (head + b"".join(events) + end)[: len(head) + size])
        found = views.text("stats", "cut.rec")
        check("0 events missed; the recording ends early\n" in found, f"after {size}: {found}")
    views.write("open.rec", head + b"".join(events) + end)
    found = views.text("stats", "open.rec")
    check("7 events missed\n" in found, f"whole: {found}")
    views.write("counted.rec", recording(events, workers=1, missed=7))
    check(views.text("timeline", "open.rec") == views.text("timeline", "counted.rec"), "the same")
    number = len(events) + 1
    views.write("x.rec", head + b"".join(events) + record(0, 0, 7, len(events) - 1))
    views.wrong(f"x.rec: record {number}: it ends the recording, and counts other events",
                "stats", "x.rec")  # fmt: skip
    views.write("x.rec", head + b"".join(events) + end + b"?")
    views.wrong(f"x.rec: record {number + 1}: more behind the end of the recording",
                "stats", "x.rec")  # fmt: skip


def check_result(views, command, name, what):
    result = views.run(*command, name, expect=None)
    said = result.stderr.decode(errors="replace")
    check(result.returncode in (0, 2), f"{what}, {command}: exit {result.returncode}\n{said[-3000:]}")
    check((result.returncode == 0) == (said == ""), f"{what}, {command}: said {said!r}")
    return result.returncode == 0


def check_flips(views, contents, header_size, flips, chance):
    """Bits that have changed, mostly in records: what can be shown is shown by every command."""
    shown = 0
    for number in range(flips):
        damaged = bytearray(contents)
        for _ in range(chance.randint(1, 12)):
            at = chance.randrange(0 if number % 10 == 0 else header_size, len(damaged))
            if number % 2 == 0:
                damaged[at] ^= 1 << chance.randrange(8)
            else:  # bytes where small numbers stand: other tickets, objects, types
                place = header_size + (at - header_size) // 32 * 32
                damaged[place + chance.choice((8, 16, 24, 30, 31))] = chance.randint(0, 17)
        views.write("flipped.rec", bytes(damaged))
        shown += check_result(views, COMMANDS[number % len(COMMANDS)], "flipped.rec",
                              f"flip {number}")  # fmt: skip
    return shown


def check_any_order(views, pools, rounds, chance):
    """Good records in any order, some of them missing, some twice."""
    for number in range(rounds):
        pool = pools[number % len(pools)]
        events = chance.choices(pool.events, k=len(pool.events))
        views.write("mixed.rec", recording(events, pool.workers, pool.layout, pool.zero))
        command = COMMANDS[number % len(COMMANDS)]
        shown = check_result(views, command, "mixed.rec", f"mix {number}")
        is_planned = command == ("plan",) and pool.layout == "worker"
        check(shown != is_planned, f"mix {number} has no wrong record")


def main():
    views = Views()
    parser = argparse.ArgumentParser()
    parser.add_argument("--flips", type=int, default=420)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    print("seed", options.seed)
    chance = random.Random(options.seed)
    pools = [schedule.seed(), schedule.seed("worker"), schedule.overlapping(), schedule.poisoned(),
             schedule.cut()]
    check_wrong(views)
    small = schedule.Pool(1)
    small.submit(0, "A,B", schedule.MS, "close")
    contents = small.run().bytes(lanes=["id 4 four"])
    check_cuts(views, contents, len(contents) - 32 * len(small.events))
    check_open(views, small.events)
    shown = 0
    for pool in pools[2:]:
        contents = pool.bytes(lanes=["id 4 four"])
        header_size = len(contents) - 32 * len(pool.events)
        shown += check_flips(views, contents, header_size, options.flips // 2, chance)
    check_any_order(views, pools, options.flips // 2, chance)
    print(f"damage: {options.flips} damaged recordings, {shown} of them could be shown")


if __name__ == "__main__":
    main()
