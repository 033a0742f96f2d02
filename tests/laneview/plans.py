#!/usr/bin/env python3
"""Plans of runs that are known to the nanosecond.

usage: plans.py LANEVIEW
"""
import schedule
from schedule import MS
from views import Views, check


def same(found, wanted, what):
    check(found == wanted, f"{what}: {found} instead of {wanted}")


def load(views, name, *options):
    text = views.text("plan", *options, name)
    check(text == views.text("plan", *options, name), "the same bytes each time")
    return text.splitlines()


def takes(lines, workers):
    """What the table says about a number of workers."""
    rows = [line.split() for line in lines if line.split()[:1] == [str(workers)]]
    same(len(rows), 1, f"rows of {workers} workers")
    return float(rows[0][1]), rows[0][2]


def check_rollup(views):
    """A for 20 ms and B for 35, then a rollup of 10 over three lanes, then A for 5."""
    pool = schedule.Pool(2)
    pool.submit(0, "A", 20 * MS, "post")
    pool.submit(0, "B", 35 * MS, "post")
    pool.submit(0, "A,B,C", 9 * MS, "close")
    pool.submit(0, "A", 40 * MS, "post")
    pool.run().write(views.path / "rollup.rec")
    lines = load(views, "rollup.rec")
    check(lines[0].startswith("recorded: 84") and lines[0].endswith(" with 2 workers"), lines[0])
    same(lines[1:4], ["work: 104.00 ms, 4 tasks", "longest chain: 84.00 ms, 3 tasks",
                      "at best: 1.24 times as fast as one worker"], "the head")  # fmt: skip
    same(takes(lines, 1), (104.0, "ms"), "one worker")
    for workers in 2, 4, 8, 16:
        same(takes(lines, workers), (84.0, "ms"), f"{workers} workers")
    # As a cut it visits C and A after 20 ms, for 3 each. Then A's last task begins.
    wanted = "   18.00 ms  the rollup #3 close as a cut: 66.00 ms"
    check(wanted in lines, f"{wanted!r} is not in {lines}")
    wanted = "   18.00 ms  all rollups close as cuts: 66.00 ms"
    check(wanted in lines, f"{wanted!r} is not in {lines}")
    lines = load(views, "rollup.rec", "--workers", "1")
    same(lines[-1], "with 1 worker, no rollup as a cut and no commuting key saves 1 %", "one")


def check_hot_lane(views):
    pool = schedule.Pool(2)
    for name in "ABCD":
        pool.submit(0, name + ",bank", 10 * MS, "post")
    pool.run().write(views.path / "hot.rec")
    lines = load(views, "hot.rec", "--workers", "4")
    check("   30.00 ms  COMMUTING claims of bank: 10.00 ms" in lines, f"{lines}")


def check_shared(views):
    pool = schedule.Pool(2)
    for _ in range(4):
        pool.submit(0, "A/", 10 * MS, "read")
    pool.run().write(views.path / "shared.rec")
    lines = load(views, "shared.rec")
    same(takes(lines, 2), (20.0, "ms"), "two workers")
    same(takes(lines, 4), (10.0, "ms"), "four workers")


def check_refused(views):
    """A pool with lanes for workers has other conflicts than those of its claims."""
    pool = schedule.Pool(2, layout="worker")
    pool.submit(0, "A", 20 * MS, "post")
    pool.run().write(views.path / "worker.rec")
    views.wrong("laneview: only a pool with claims and lanes for keys can be planned",
                "plan", "worker.rec")  # fmt: skip
    views.write("empty.rec", schedule.recording([], workers=3))
    lines = load(views, "empty.rec")
    same(lines[:2], ["recorded: 0 with 3 workers", "work: 0 ns, 0 tasks"], "no tasks")


def main():
    views = Views()
    check_rollup(views)
    check_hot_lane(views)
    check_shared(views)
    check_refused(views)
    print("plans: as they must be")


if __name__ == "__main__":
    main()
