#!/usr/bin/env python3
"""What is printed for a terminal: the timeline and the replay.

usage: texts.py LANEVIEW
"""
import os
import pty
import subprocess

import pictures
import schedule
from views import Views, check


def check_timeline(views):
    schedule.seed().write(views.path / "seed.rec")
    text = views.text("timeline", "seed.rec")
    check(text == views.text("timeline", "seed.rec"), "the same bytes each time")
    check(max(map(len, text.splitlines()[:10])) <= 100, "100 columns without COLUMNS")
    lines = {line.split()[0]: line for line in text.splitlines() if line and line[0] in "ABC"}
    check("#4 1/2 arrived" in lines["A"] and "#4 close" in lines["A"], f"lane A: {lines}")
    check("arrived" not in lines["B"], f"B is not latched, it runs until then: {lines}")
    check(lines["A"].index("#4 close") == lines["B"].index("#4 close"), "#4 begins in both at once")
    check(len(lines["B"]) == 10 + 90 * 80 // 85, f"B ends after 80 of 85 ms: {lines}")
    check("#4" not in lines["C"], f"C has nothing to do with it: {lines}")
    worker = [line for line in text.splitlines() if line.startswith("worker 0")][0]
    check("#4 waits for #2" in worker, f"the idle worker says why: {worker}")
    for columns in (30, 60, 80, 240):
        narrow = views.text("timeline", "seed.rec", environment={"COLUMNS": str(columns)})
        check(max(map(len, narrow.splitlines()[:10])) <= columns, f"it fits {columns} columns")
    ascii = views.run("timeline", "--ascii", "seed.rec").stdout
    check(ascii.isascii() and b"#4 close===" in ascii, f"--ascii: {ascii}")
    name = pictures.check_hostile_names(views)
    check(views.run("timeline", "--ascii", name).stdout.isascii(), "names, too")
    check("\x1b" not in views.text("timeline", name), "nothing steers the terminal")


def check_failures(views):
    """What waits for its next attempt, and what is parked, has signs and words of its own."""
    schedule.poisoned().write(views.path / "poisoned.rec")
    for options, retries, parked in (((), "↻", "╳"), (("--ascii",), "^", "x")):
        text = views.text("timeline", *options, "poisoned.rec")
        lanes = {line[0]: line for line in text.splitlines() if line[:1] in ("A", "B", "C")}
        check(f"#2 failed{retries}" in lanes["B"] and f"#2 post is parked{parked * 7}" in lanes["B"],
              f"lane B: {lanes}")  # fmt: skip
        check("#6 1/2 arrived" in lanes["A"] and "#7 report" in lanes["C"], f"the rollups: {lanes}")
        check("#7" not in lanes["B"] and "#5" not in text, f"which go without B, or fail: {text}")
        check(f"{retries} failed, will be retried  {parked} parked: " in text, f"the legend: {text}")
        workers = [line for line in text.splitlines() if line.startswith("worker")]
        check(any("#2 is parked" in line for line in workers), f"idle workers say why: {workers}")
    dot = views.text("dot", "--at", "15ms", "poisoned.rec")
    check("#2 post: failed, attempt 2 follows" in dot and "1 to retry, 0 parked" in dot, dot)
    dot = views.text("dot", "--at", "60ms", "poisoned.rec")
    check("#2 post: parked, has failed" in dot and "lane B, poisoned" in dot, dot)
    check("blocked: #2 post has failed and is parked" in dot, f"the reason names it: {dot}")
    shown = frames(views, "--speed", "0.2", "poisoned.rec", COLUMNS="120", LINES="24")
    for wanted in ("\x1b[36m↻ failed 1x #2 post", "\x1b[1;35m╳ poisoned by #2 post", ", 1 to retry",
                   ", 1 parked", "runs #2 post for ", ", attempt 3"):  # fmt: skip
        check(any(wanted in frame for frame in shown), f"no frame shows {wanted!r}")
    check("parked" not in shown[-1], f"in the end none is parked: {shown[-1]}")
    check("^" not in views.text("timeline", "--ascii", "seed.rec"), "only where there are such")


def check_cut(views):
    """Visits have a sign of their own, even if there is no room for them."""
    schedule.cut().write(views.path / "cut.rec")
    for options, sign in (((), "╱"), (("--ascii",), "/")):
        text = views.text("timeline", *options, "cut.rec", environment={"COLUMNS": "300"})
        lanes = {line[0]: line for line in text.splitlines() if line[:1] in ("A", "B", "C")}
        for lane, next in (("A", "#4"), ("B", "#5"), ("C", "#6")):
            before, found, behind = lanes[lane].partition(f"#3 totals at {lane}{sign}")
            check(found and behind.lstrip(sign).startswith(next), f"lane {lane}: {lanes}")
        check("latched" not in text.partition("runs")[0] and "arrived" not in text, text)
        check(f"{sign} a cut visits a lane: all" in text, f"the legend: {text}")
        text = views.text("timeline", *options, "cut.rec", environment={"COLUMNS": "30"})
        lanes = [line for line in text.splitlines() if line[:1] in ("A", "B", "C")]
        check(all(line.count(sign) == 1 for line in lanes), f"one column for each visit: {text}")
    check("╱" not in views.text("timeline", "seed.rec"), "only where there are such")
    dot = views.text("dot", "--at", "11ms", "cut.rec")
    check("#3 totals: visits" in dot and "worker 0: visits #3 totals at A" in dot, dot)
    check("style=dashed" in dot and "latched" not in dot, "it waits in B, and blocks no other lane")
    check("#3 totals: ready" in views.text("dot", "--at", "5us", "cut.rec"), "C is to be visited")
    check("waits for #3 totals, which visits its lanes" in views.text("dot", "--at", "31ms", "cut.rec"),
          "#5 waits for the visit of B")  # fmt: skip
    shown = frames(views, "--speed", "0.02", "cut.rec", COLUMNS="120", LINES="24")
    for wanted in ("visits #3 totals at A for ", "visited by #3 totals", "runs #3 totals for "):
        check(any(wanted in frame for frame in shown), f"no frame shows {wanted!r}")


def check_lines(views):
    """Without a terminal: a line for each second, and the last one says that all is done."""
    pool = schedule.Pool(2)
    for second in range(3):
        pool.submit(second * 1000 * schedule.MS, "A", 1500 * schedule.MS, "post")
    pool.run().write(views.path / "long.rec")
    lines = views.text("replay", "long.rec").splitlines()
    check([line.split(":")[0] for line in lines] == ["1 s", "2 s", "3 s", "4 s", "4.5 s"], f"{lines}")
    check("1 of 2 workers run; 2 pending" in lines[0], f"after a second one runs: {lines[0]}")
    check("waits for #1 post, which runs on worker 0" in views.text("dot", "--at", "1100ms", "long.rec"),
          "and then another waits for it")  # fmt: skip
    check("0 pending, 0 ready, 0 latched" in lines[-1], f"at the end: {lines[-1]}")
    check("\x1b" not in "".join(lines), "without colours")


def frames(views, *arguments, **environment):
    """The frames that a terminal receives."""
    reader, writer = pty.openpty()
    known = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES")}
    process = subprocess.Popen([views.binary, "replay", *arguments], cwd=views.path, stdout=writer,
                               stdin=subprocess.DEVNULL, env={**known, **environment})  # fmt: skip
    os.close(writer)
    received = b""
    while True:
        try:
            piece = os.read(reader, 65536)
        except OSError:
            break
        if not piece:
            break
        received += piece
    os.close(reader)
    check(process.wait() == 0, "replay ends well")
    return [frame.decode() for frame in received.split(b"\x1b[H")[1:]]


def check_frames(views):
    shown = frames(views, "--speed", "0.2", "seed.rec", COLUMNS="120", LINES="24")
    check(any("blocked: #4 close is latched (1/2 arrived) and waits for #2 post" in f for f in shown),
          "a frame says why a worker is idle")  # fmt: skip
    check(any("latched #4 1/2 arrived" in f for f in shown), "and how the lane stands")
    check("0 pending, 0 ready, 0 latched" in shown[-1], f"the last frame: {shown[-1]}")
    check("\x1b[31m" in "".join(shown), "there are colours")
    plain = "".join(frames(views, "--speed", "10", "--ascii", "seed.rec", NO_COLOR="1"))
    check("m" not in [plain[i + 3 : i + 4] for i in range(len(plain)) if plain[i] == "\x1b"]
          and "\x1b[31m" not in plain, "NO_COLOR is honoured")  # fmt: skip
    check(plain.isascii(), "--ascii")


def main():
    views = Views()
    check_timeline(views)
    check_failures(views)
    check_cut(views)
    check_lines(views)
    check_frames(views)
    print("texts: readable")


if __name__ == "__main__":
    main()
