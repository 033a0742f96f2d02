#!/usr/bin/env python3
"""Both layouts side by side: lanes per worker block beyond need, and the figures say so.

usage: compared.py LANEVIEW
"""
import re
import signal
import subprocess

from views import Views, check

UNITS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
TIME = r"([0-9.]+)(?: (ns|us|ms|s))?"


def figures(text):
    """{name: (per key, per worker)} in nanoseconds."""
    found = {}
    for line in text.splitlines()[3:]:
        parts = re.fullmatch(rf" *(\S.*?)  +{TIME}  +{TIME}  [+-].*", line)
        check(parts, f"a line of figures: {line!r}")
        name, *values = parts.groups()
        found[name] = tuple(float(values[i]) * UNITS[values[i + 1] or "ns"] for i in (0, 2))
    return found


def main():
    views = Views()
    text = views.text("compare", "layout-key", "--speed", "0.3")
    check(text.startswith("layout-key: the same tasks on 3 workers\n"), text)
    found = figures(text)
    check(found["of it by latches"][1] > found["of it by latches"][0], f"latches block workers: {text}")
    check(found["waiting of a task, mean"][1] > found["waiting of a task, mean"][0], f"tasks wait: {text}")
    check(found["total time"][1] > found["total time"][0], f"it takes longer: {text}")
    for values in zip(*(found[f"waiting of a task, {name}"] for name in ("mean", "p99", "longest"))):
        check(list(values) == sorted(values), f"mean, p99 and longest: {values}")
    text = views.text("compare", "independent", "--workers", "1", "--speed", "10")
    check("on 1 worker\n" in text and figures(text)["of it by latches"] == (0, 0), text)
    views.write("empty.scenario", "workers 2\n")
    check(figures(views.text("compare", "empty.scenario"))["waiting of a task, mean"] == (0, 0), "none")
    views.write("long.scenario", "after 1000s\ntask for 1s\n")
    process = subprocess.Popen([views.binary, "compare", "long.scenario"], cwd=views.path,
                               stdout=subprocess.PIPE)  # fmt: skip
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        process.terminate()
    check(process.wait(60) == -signal.SIGTERM and process.stdout.read() == b"", "half says nothing")
    process.stdout.close()
    print("compared: as expected")


if __name__ == "__main__":
    main()
