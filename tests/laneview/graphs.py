#!/usr/bin/env python3
"""The graph of who waits for whom: dot accepts it, and it says what waits at that time.

usage: graphs.py LANEVIEW
"""
import shutil
import subprocess
import sys

import pictures
import schedule
from views import SKIPPED, Views, check


def draw(dot):
    result = subprocess.run(["dot", "-Tplain"], input=dot.encode(), capture_output=True)
    check(result.returncode == 0 and not result.stderr, f"dot: {result.stderr.decode()}\n{dot}")
    return result.stdout.decode()


def main():
    views = Views()
    if shutil.which("dot") is None:
        print("skipped: dot is not installed")
        sys.exit(SKIPPED)
    schedule.overlapping().write(views.path / "over.rec")
    dot = views.text("dot", "--at", "22ms", "over.rec")
    check(dot == views.text("dot", "--at=22ms", "over.rec"), "the same bytes each time")
    plain = draw(dot)
    check(plain.count('"#7 close: latched, 2/3 arrived"') == 2, f"#7 is latched in D and E: {plain}")
    check(plain.count('"#6 close: latched, 2/3 arrived"') == 2, f"#6 is latched in A and C: {plain}")
    check('"#2 post: runs on worker 1"' in plain, f"which waits for #2: {plain}")
    check("worker 3: blocked: #6 close is latched (2/3 arrived) and waits for #2 post" in dot,
          f"the idle worker says why: {dot}")  # fmt: skip
    for milliseconds in (0, 5, 12, 30, 50, 69, 1000):
        draw(views.text("dot", "--at", f"{milliseconds}ms", "over.rec"))

    schedule.poisoned().write(views.path / "poisoned.rec")
    for milliseconds in (15, 60):
        draw(views.text("dot", "--at", f"{milliseconds}ms", "poisoned.rec"))

    schedule.cut().write(views.path / "cut.rec")
    for moment in ("5us", "1ms", "11ms", "20ms", "31ms", "34ms"):
        draw(views.text("dot", "--at", moment, "cut.rec"))

    schedule.hot().write(views.path / "hot.rec")
    check("and " in draw(views.text("dot", "--at", "12ms", "hot.rec")), "long queues are cut")
    draw(views.text("dot", "--at", "9ns", pictures.check_hostile_names(views)))

    events = [schedule.record(1, schedule.ROUTE, ticket, ticket + 50) for ticket in (1, 2)]
    events.append(schedule.record(2, schedule.ENTER, 2, 1, 0, 0, schedule.TASK))
    events.append(schedule.record(2, schedule.START, 1))
    views.write("behind.rec", schedule.recording(events))
    check("edge t2 t1" in draw(views.text("dot", "--at", "3ns", "behind.rec")), "#2 waits for #1")
    print("graphs: dot draws them")


if __name__ == "__main__":
    main()
