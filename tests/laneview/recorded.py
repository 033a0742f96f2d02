#!/usr/bin/env python3
"""Real pools, recorded: what they did is what the scenario asks for, and every command shows it.

usage: recorded.py LANEVIEW
"""
import json
import os
import shutil
import signal
import subprocess
import time
import xml.etree.ElementTree as ET

import graphs
import schedule
import traces
from runs import Run
from views import Views, check

SLOWLY = ("--speed", "0.2")


def record(views, name, *options):
    views.run("record", name, "-o", "run.rec", *options)
    return Run((views.path / "run.rec").read_bytes())


def steps(views, name):
    return [line for line in views.text("scenario", name).splitlines()[1:]
            if not line.startswith(("after", "resolve"))]  # fmt: skip


def check_seed(views):
    """Two clients in parallel, a rollup over both, both in parallel again; the third goes on."""
    run = record(views, "seed", *SLOWLY)
    run.check_order()
    a, b, c, close, c2, _, a2, b2, _ = range(9)
    check(run.lanes()[close].keys() == {"A", "B"}, f"#3 is the rollup: {run.lanes()}")
    check(run.overlap(a, b), "A and B run in parallel before it")
    arrived = {run.ends[a]["time"], run.ends[b]["time"]}
    latched = (min(arrived), run.starts[close]["time"])
    check(latched[0] < latched[1], f"the rollup is latched in one lane: {latched}")
    check(any(run.starts[task]["time"] < latched[1] and run.ends[task]["time"] > latched[0]
              for task in (c, c2)), "C runs while it is")  # fmt: skip
    check(any(run.overlap(task, close) for task in (c2, 5)), "and while the rollup runs")
    check(run.overlap(a2, b2), "A and B run in parallel after it")
    check(run.starts[a2]["thread"] != run.starts[b2]["thread"], "on two workers")
    check("1/2 arrived" in views.text("timeline", "run.rec", environment={"COLUMNS": "600"}),
          "the timeline shows the latch")  # fmt: skip
    middle = (sum(latched) // 2 - int(run.values("zero")[0])) // 1000
    dot = views.text("dot", "--at", f"{middle}us", "run.rec")
    check("#3 close: latched, 1/2 arrived" in dot, f"so does the graph: {dot}")
    return dot


def check_poisoned(views):
    """B's posting fails, is tried again, is parked, and is good at last; the close over A and B waits."""
    run = record(views, "poisoned")
    run.check_order()
    failing, close = 1, 8
    types = [event["type"] for event in run.events if event["task"] == failing
             and event["type"] in (schedule.START, schedule.RETRY, schedule.PARK, schedule.END)]  # fmt: skip
    check(types == [schedule.START, schedule.RETRY, schedule.START, schedule.PARK, schedule.START,
                    schedule.END], f"its attempts: {types}")  # fmt: skip
    check(run.starts[close]["time"] >= run.ends[failing]["time"], "the close waits for it")
    park, = run.of(schedule.PARK)
    again = run.of(schedule.READY, task=failing)[-1]
    figures = json.loads(views.text("stats", "--json", "run.rec"))
    parked = [lane["parked"]["max_ns"] for lane in figures["lanes"] if lane["name"] == "B"]
    check(parked == [again["time"] - park["time"]] == [figures["poisoned_ns"]], f"B was poisoned for {parked}")
    for command in ("record", "compare"):
        options = ("--layout", "worker", "-o", "x.rec") if command == "record" else ()
        views.wrong("laneview: poisoned needs lanes per key: it has cuts, retries, then poison or at-poison",
                    command, "poisoned", *options)  # fmt: skip


def check_cut(views):
    """C3 is slow, and the cut visits it last; the other clients go on before that."""
    run = record(views, "month-end-cut", *SLOWLY)
    run.check_order()
    slow, cut = 24, 25
    visits = {lane: times for (task, lane), times in run.visits.items() if task == cut}
    check(visits.keys() == {f"C{i}" for i in range(1, 9)}, f"it visits all: {visits}")
    check(visits["C3"][0] >= run.ends[slow]["time"] and visits["C3"] == max(visits.values()), f"{visits}")
    check(run.starts[cut]["time"] >= visits["C3"][1], "then its function is called")
    behind = [task for task in range(26, 42) if "C3" not in run.lanes()[task]]
    check(len(behind) == 14 and all(run.starts[task]["time"] < run.ends[slow]["time"] for task in behind),
          "no other client waits for C3")  # fmt: skip
    figures = json.loads(views.text("stats", "--json", "run.rec"))
    check(figures["latched_ns"] == 0, "no lane is latched")
    views.wrong("laneview: month-end-cut needs lanes per key: it has cuts, retries, then poison or at-poison",
                "compare", "month-end-cut")  # fmt: skip


OWN = """\
client A B C D
task A for 1ms fails 1 then poison
task A for 1ms label dropped
resolve A drop
task B for 1ms fails 3 retries 5
task B for 1ms fails 9 retries 1 delay 1ms then poison label skipped
resolve B skip
task C for 1ms fails 9 then poison label left
rollup C,D for 1ms at-poison fail label refused
rollup C,D for 1ms at-poison go-without label without
rollup C,D for 1ms label waits
"""


def check_resolved(views):
    """Dropped, skipped, or left as it is: every run comes to its end, and tells what became of whom."""
    views.write("resolved.scenario", OWN)
    run = record(views, "resolved.scenario", "--speed", "10")
    ends = {ticket: event["detail"] for ticket, event in run.ends.items()}
    check(ends == {0: schedule.FAILED, 2: 0, 3: schedule.FAILED, 4: schedule.FAILED,
                   5: schedule.POISONED, 6: 0}, f"how they end: {ends}")  # fmt: skip
    check({event["task"] for event in run.of(schedule.CANCEL)} == {1, 7}, "what waits does not run")
    check({event["task"] for event in run.of(schedule.PARK)} == {0, 3, 4}, "three are parked")
    check(len(run.of(schedule.START, task=2)) == 4, "three attempts fail, and the fourth is good")
    check(run.lanes()[6].keys() == {"D"}, "who goes without C has D")
    for command in (("svg",), ("timeline",), ("chrome",), ("stats",), ("dot", "--at", "3ms"), ("replay",)):
        views.run(*command, "run.rec")


def check_scenarios(views):
    """Each scenario that comes along, with both layouts: all tasks come to an end, and nothing is missed."""
    for name in [line.split()[0] for line in views.text("scenario").splitlines()]:
        for layout in ("key", "worker") if name not in ("poisoned", "month-end-cut") else ("key",):
            run = record(views, name, "--layout", layout)
            wanted = steps(views, name)
            check(run.starts.keys() == run.ends.keys() == set(range(len(wanted))), f"{name}: all ran")
            check(run.values("missed") == ["0"], f"{name}: nothing was missed")
            check(run.values("layout") == [layout], f"{name}: its layout is {layout}")
            tags = dict(value.split(" ", 1) for value in run.values("tag"))
            for event in run.of(schedule.ROUTE):
                label = wanted[event["task"]].partition(" label ")[2]
                check(tags.get(str(event["detail"]), "") == label, f"{name}: the tag of {event}")
            if layout == "key":
                run.check_order()
            check_views(views, run)


def check_views(views, run):
    """What is made of it is well-formed, and the same each time."""
    trace = json.loads(views.text("chrome", "run.rec"))["traceEvents"]
    traces.check_fields(trace)
    traces.check_slices_do_not_overlap(trace)
    traces.check_arrows(trace)
    figures = json.loads(views.text("stats", "--json", "run.rec"))
    attempts = len(run.of(schedule.START))
    check(figures["tasks"] == len(run.starts) and figures["missed_events"] == 0, f"{figures}")
    check(sum(tag["running"]["count"] for tag in figures["tags"]) == attempts, f"{figures}")
    check([figures[k] for k in ("attempts", "parked")] == [attempts, len(run.of(schedule.PARK))], f"{figures}")
    for command in (("svg",), ("timeline",), ("chrome",), ("stats", "--json"), ("replay",),
                    ("dot", "--at", "20ms")):  # fmt: skip
        check(views.run(*command, "run.rec").stdout == views.run(*command, "run.rec").stdout,
              f"{command}: the same bytes each time")  # fmt: skip
    ET.fromstring(views.text("svg", "run.rec"))


def check_options(views):
    run = record(views, "seed", "--workers", "5", "--layout=worker", "--speed", "10")
    check(run.values("workers") == ["5"] and run.values("layout") == ["worker"], "options override")
    views.write("empty.scenario", "workers 1\n")
    check(record(views, "./empty.scenario").starts == {}, "no tasks at all")
    long_name = "client " + "é" * 100
    views.write("own.scenario", f"{long_name} B\ntask each for 1ms\ntask for 0ms\nrollup *:shared for 1ms\n")
    run = record(views, "own.scenario", "--workers", "1")
    check(run.lanes()[0] == {"é" * 100: False}, f"a long name is not cut: {run.lanes()}")
    check(views.run("record", "seed", "--speed", "20", "-o", "-").stdout.startswith(b"lanepool-rec"),
          "to standard output")  # fmt: skip
    views.wrong("laneview: no/where cannot be written: No such file or directory", "record", "seed",
                "--speed", "50", "-o", "no/where", code=1)  # fmt: skip


def obey_interrupts():
    """Shells start what they put into the background with SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def check_interrupted(views):
    """A signal ends the run at once; what has happened until then is there."""
    views.write("long.scenario", "client A\nrepeat 3 task A for 1000s\nafter 100s\ntask A for 1s\n")
    process = subprocess.Popen([views.binary, "record", "long.scenario", "-o", "long.rec"],
                               cwd=views.path, preexec_fn=obey_interrupts)  # fmt: skip
    deadline = time.monotonic() + 60
    while len(os.listdir(f"/proc/{process.pid}/task")) < 3:
        check(time.monotonic() < deadline, "its workers begin")
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    check(process.wait(60) == -signal.SIGINT, "it ends as SIGINT ends programs")
    run = Run((views.path / "long.rec").read_bytes())
    check(len(run.of(schedule.CANCEL)) + len(run.ends) >= len(run.starts), "all came to an end")


def main():
    views = Views()
    dot = check_seed(views)
    if shutil.which("dot"):
        graphs.draw(dot)
    check_poisoned(views)
    check_cut(views)
    check_resolved(views)
    check_scenarios(views)
    check_options(views)
    check_interrupted(views)
    print("recorded: pools did as their scenarios say, and it can be seen")


if __name__ == "__main__":
    main()
