#!/usr/bin/env python3
"""The Chrome trace is JSON and keeps the rules of the Trace Event Format.

usage: traces.py LANEVIEW
"""
import json
from collections import defaultdict

import pictures
import schedule
from views import Views, check

WORKERS, LANES = 1, 2


def load(views, name):
    return json.loads(views.run("chrome", name).stdout)["traceEvents"]


def check_fields(events):
    for event in events:
        check(event["ph"] in "MXsfC", f"a known phase: {event}")
        check(isinstance(event["pid"], int) and isinstance(event["tid"], int), f"ids: {event}")
        check(isinstance(event["name"], str), f"a name: {event}")
        if event["ph"] != "M":
            check(event["ts"] >= 0, f"a time: {event}")
        if event["ph"] == "X":
            check(event["dur"] >= 0, f"a duration: {event}")


def check_slices_do_not_overlap(events):
    threads = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    for thread, slices in threads.items():
        slices.sort()
        for (_, end), (begin, _) in zip(slices, slices[1:]):
            check(end <= begin + 0.0011, f"slices of {thread} overlap at {begin}")
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    check(set(threads) <= named, f"threads without a name: {set(threads) - named}")


def check_arrows(events):
    """Each begins in a slice of a lane and ends, not earlier, in one of a worker."""
    begins = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    check(begins.keys() == ends.keys(), "each arrow has two ends")
    slices = [event for event in events if event["ph"] == "X"]
    for number, begin in begins.items():
        end = ends[number]
        check(begin["pid"] == LANES and end["pid"] == WORKERS, "from a lane to a worker")
        check(begin["ts"] <= end["ts"], "arrows point forwards")
        for place in (begin, end):
            check(any((s["pid"], s["tid"]) == (place["pid"], place["tid"])
                      and s["ts"] <= place["ts"] <= s["ts"] + s["dur"] for s in slices),
                  f"an arrow ends in a slice: {place}")  # fmt: skip
    return len(begins)


def check_counters(events, wanted=("pending tasks", "ready tasks", "latched entries")):
    last = {}
    for event in events:
        if event["ph"] == "C":
            last[event["name"]] = event["args"][event["name"]]
            check(last[event["name"]] >= 0, f"a count: {event}")
    check(set(last) == set(wanted), f"counters: {last}")
    check(not any(last.values()), f"in the end nothing is pending: {last}")


def check_all(views, name):
    events = load(views, name)
    check_fields(events)
    check_slices_do_not_overlap(events)
    check(views.run("chrome", name).stdout == views.run("chrome", name).stdout, "the same bytes")
    return events


def check_failures(views):
    """Each attempt is a slice, and so is what lies between."""
    schedule.poisoned().write(views.path / "poisoned.rec")
    events = check_all(views, "poisoned.rec")
    check_arrows(events)
    slices = sorted((e for e in events if e["ph"] == "X" and e["name"].startswith("#2 post")),
                    key=lambda e: (e["pid"], e["ts"]))  # fmt: skip
    runs = [e["args"]["attempt"] for e in slices if e["pid"] == WORKERS]
    check(runs == [1, 2, 3], f"attempts on workers: {runs}")
    found = [(e["name"], e["cat"]) for e in slices if e["pid"] == LANES and e["dur"] > 100]
    check(found == [("#2 post", "running"), ("#2 post: failed, attempt 2 follows", "retried"),
                    ("#2 post", "running"), ("#2 post: parked", "parked"), ("#2 post", "running")],
          f"in lane B: {found}")  # fmt: skip
    parked = [e["args"]["parked tasks"] for e in events if e["name"] == "parked tasks"]
    check(parked == [1, 0], f"one is parked for a while: {parked}")


def check_cut(views):
    """Each visit is a slice on a worker and in its lane; an arrow leads to the cut's function."""
    schedule.cut().write(views.path / "cut.rec")
    events = check_all(views, "cut.rec")
    check(check_arrows(events) == 3, "an arrow for each lane")
    check_counters(events, ("pending tasks", "ready tasks"))
    visits = [(e["pid"], e["name"], e["dur"]) for e in events if e.get("cat") == "visited"]
    check(sorted(visits) == [(pid, f"#3 totals at {lane}", 2000) for pid in (WORKERS, LANES) for lane in "ABC"],
          f"visits: {visits}")  # fmt: skip
    runs = [(e["pid"], e["dur"]) for e in events if e["ph"] == "X" and e["name"] == "#3 totals"]
    check(runs == [(WORKERS, 5000)], f"its function is in no lane: {runs}")


def main():
    views = Views()
    check_failures(views)
    check_cut(views)
    schedule.overlapping().write(views.path / "over.rec")
    events = check_all(views, "over.rec")
    check(check_arrows(events) == 6, "an arrow for each entry of the two rollups")
    check_counters(events)
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    check(processes == {WORKERS: "workers", LANES: "lanes"}, f"processes: {processes}")
    close = [e for e in events if e["ph"] == "X" and e["name"] == "#6 close"]
    check([e["pid"] for e in close] == [WORKERS, LANES, LANES, LANES], "#6 on a worker, in 3 lanes")
    check(close[0]["args"]["lanes"] == ["A", "B", "C"], f"its lanes: {close[0]}")
    check(any(e["name"] == "#7 close: 2/3 arrived" for e in events), "a latch says how many arrived")

    pool = schedule.Pool(4)
    for milliseconds in (5, 9, 7):
        pool.submit(0, "A/", milliseconds * schedule.MS, "read")
    pool.submit(0, "A", schedule.MS, "post")
    pool.run().write(views.path / "shared.rec")
    lanes = {e["tid"] for e in check_all(views, "shared.rec") if (e["pid"], e["ph"]) == (LANES, "X")}
    check(len(lanes) == 3, f"three share the lane at once, on threads {lanes}")

    name = pictures.check_hostile_names(views)
    names = {e["args"]["name"] for e in check_all(views, name) if e["name"] == "thread_name"}
    check({'<&">', "\\x1b[31m", "é中"} <= names, f"names: {names}")
    schedule.seed("worker").write(views.path / "worker.rec")
    check_arrows(check_all(views, "worker.rec"))
    print("traces: valid")


if __name__ == "__main__":
    main()
