#!/usr/bin/env python3
"""The figures of runs that are known to the nanosecond.

usage: figures.py LANEVIEW
"""
import json

import schedule
from schedule import MS, ROUTING, US, WAKING
from views import Views, check


def load(views, name):
    text = views.text("stats", "--json", name)
    check(text == views.text("stats", "--json", name), "the same bytes each time")
    return json.loads(text)


def same(found, wanted, what):
    check(found == wanted, f"{what}: {found} instead of {wanted}")


def group(figures, kind, name):
    found = [item for item in figures[kind] if item["name"] == name]
    same(len(found), 1, f"{kind} of the name {name}")
    return found[0]


def check_measures(figures):
    for item in figures["lanes"] + figures["tags"]:
        for phase in ("waiting", "latched", "running", "retried", "parked"):
            measure = item[phase]
            same(sum(b["count"] for b in measure["histogram"]), measure["count"], "the histogram")
            check(measure["p50_ns"] <= measure["p99_ns"] <= measure["max_ns"], f"order: {measure}")


def check_latch(views):
    """A for 20 ms, B for 35: the rollup is latched in A meanwhile, and in the end one waits behind."""
    pool = schedule.Pool(2)
    pool.submit(0, "A", 20 * MS, "post")
    pool.submit(0, "B", 35 * MS, "post")
    pool.submit(0, "A,B", 10 * MS, "close")
    pool.submit(30 * MS, "A", 5 * MS, "post")
    pool.run().write(views.path / "latch.rec")
    figures = load(views, "latch.rec")
    check_measures(figures)
    same(figures["tasks"], 4, "tasks")
    same(figures["latched_ns"], 15 * MS, "latched")
    same(figures["latched_waiting_ns"], 5 * MS + WAKING, "latched while others waited")
    latched = group(figures, "lanes", "A")["latched"]
    same((latched["count"], latched["max_ns"]), (1, 15 * MS), "the latch in A")
    same(group(figures, "lanes", "B")["latched"]["max_ns"], 0, "the latch in B")
    close = group(figures, "tags", "close")
    same(close["running"]["max_ns"], 10 * MS, "the close runs")
    same(close["waiting"]["max_ns"], 35 * MS + ROUTING + WAKING, "and waits, from submit to ready")
    same(close["latched"]["count"], 2, "latched twice")
    same(group(figures, "tags", "post")["running"]["p50_ns"], 20 * MS, "p50 is a value that was there")
    blocked = [worker["blocked_ns"] for worker in figures["workers"]]
    same(figures["blocked_ns"], sum(blocked), "blocked in all")
    same(sum(blocked), 15 * MS - ROUTING + 10 * MS, "while it is latched, and while it runs")
    for worker in figures["workers"]:
        same(sum(worker[k] for k in worker if k.endswith("_ns")), figures["duration_ns"],
             "what a worker does adds up")  # fmt: skip


def check_failures(views):
    """B's posting fails, waits for 12 ms, fails again, is parked until 70 ms, and is good then."""
    schedule.poisoned().write(views.path / "poisoned.rec")
    figures = load(views, "poisoned.rec")
    check_measures(figures)
    parked = 70 * MS - (10 + 12 + 10) * MS - ROUTING - 2 * WAKING
    same([figures[k] for k in ("attempts", "failed_attempts", "retries", "parked", "poisoned_ns")],
         [9, 2, 2, 1, parked], "attempts")  # fmt: skip
    lane = group(figures, "lanes", "B")
    same([lane[k]["count"] for k in ("running", "retried", "parked")], [5, 1, 1], "in B")
    same(lane["retried"]["max_ns"], 12 * MS, "between two attempts")
    same(lane["parked"]["max_ns"], parked, "so long it is parked")
    same(lane["running"]["max_ns"], 15 * MS, "what lies between attempts is no running")
    post = group(figures, "tags", "post")
    same(post["running"]["count"], 7, "each attempt runs")
    same(group(figures, "lanes", "C")["running"]["count"], 2, "a refused task and one that goes on")
    same(group(figures, "tags", "check")["running"]["count"], 0, "who is refused does not run")
    check("2 of 9 attempts failed: 2 retries, tasks parked 1 times, lanes poisoned for 38 ms in all"
          in views.text("stats", "poisoned.rec"), "in words, too")  # fmt: skip
    for worker in figures["workers"]:
        same(sum(worker[k] for k in worker if k.endswith("_ns")), figures["duration_ns"],
             "what a worker does adds up")  # fmt: skip
    same(sum(worker["busy_ns"] for worker in figures["workers"]),
         (15 + 3 * 10 + 40 + 8 + 15 + 15 + 5) * MS, "workers are busy while tasks run")  # fmt: skip


def check_cut(views):
    """A lane is busy with the cut while that visits it, and is never latched."""
    schedule.cut().write(views.path / "cut.rec")
    figures = load(views, "cut.rec")
    check_measures(figures)
    same([figures["latched_ns"], figures["latched_waiting_ns"]], [0, 0], "latched")
    for name, longest in (("A", 10), ("B", 30), ("C", 6)):
        lane = group(figures, "lanes", name)
        same(lane["running"]["count"], 2 if name == "C" else 3, f"{name} runs tasks and has a visit")
        same(lane["running"]["max_ns"], longest * MS, f"the longest in {name}")
        same(sum(b["count"] for b in lane["running"]["histogram"] if b["below_ns"] == 2**21), 1,
             f"a visit of 2 ms in {name}")  # fmt: skip
        same(lane["latched"]["count"], 0, f"latched in {name}")
    same(group(figures, "lanes", "C")["waiting"]["max_ns"], 2 * MS + WAKING, "#6 waits for the visit only")
    totals = group(figures, "tags", "totals")
    same([totals["running"]["count"], totals["running"]["max_ns"]], [1, 5 * MS], "its function runs")
    same(totals["waiting"]["max_ns"], 32 * MS + ROUTING + WAKING, "when all lanes have been visited")
    same(sum(worker["busy_ns"] for worker in figures["workers"]),
         (10 + 30 + 3 * 2 + 5 + 8 + 4 + 6) * MS, "workers are busy with visits, too")  # fmt: skip
    for worker in figures["workers"]:
        same(sum(worker[k] for k in worker if k.endswith("_ns")), figures["duration_ns"],
             "what a worker does adds up")  # fmt: skip


def check_percentiles(views):
    pool = schedule.Pool(1)
    for i in range(1, 201):
        pool.submit(i * MS, "A", i * US, "post")
    pool.run().write(views.path / "many.rec")
    running = group(load(views, "many.rec"), "tags", "post")["running"]
    same([running[k] for k in ("count", "p50_ns", "p99_ns", "max_ns")],
         [200, 100 * US, 198 * US, 200 * US], "percentiles")  # fmt: skip


def check_steals_and_missed(views):
    events = [schedule.record(5, schedule.STEAL, 0, 0, 3, 1)]
    views.write("steals.rec", schedule.recording(events, missed=12))
    figures = load(views, "steals.rec")
    same(figures["missed_events"], 12, "missed")
    same([w["stolen_tasks"] for w in figures["workers"]], [0, 3], "stolen")
    text = views.text("stats", "steals.rec")
    check("12 events missed" in text and "1 (3 tasks)" in text, f"in the table, too: {text}")


def check_cut_off(views):
    """Of a ring that was overwritten, and of a recording that stopped: what is there is counted."""
    pool = schedule.seed()
    for first in range(0, len(pool.events), 7):
        events = pool.events[first : first + 40]
        name = views.write("part.rec", schedule.recording(events, 3, zero=pool.zero))
        check_measures(load(views, name))
        views.run("stats", name)


def main():
    views = Views()
    check_latch(views)
    check_failures(views)
    check_cut(views)
    check_percentiles(views)
    check_steals_and_missed(views)
    check_cut_off(views)
    schedule.hot().write(views.path / "hot.rec")
    same(group(load(views, "hot.rec"), "lanes", "hot")["running"]["count"], 40, "the hot client")
    check("p99" in views.text("stats", "hot.rec"), "a table")
    print("figures: as they must be")


if __name__ == "__main__":
    main()
