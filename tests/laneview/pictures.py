#!/usr/bin/env python3
"""The SVG is well-formed and shows what happened: rollups across their lanes, latches, idle workers.

usage: pictures.py LANEVIEW
"""
import re
import xml.etree.ElementTree as ET
from collections import Counter

import schedule
from views import Views, check

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = ['<&">', "]]>", "é中", "\x1b[31m", "a'b", "x" * 200]


def bars(root):
    """(first line of the tool tip, x, y, width) of every bar."""
    for group in root.iter(SVG + "g"):
        rect, title = group.find(SVG + "rect"), group.find(SVG + "title")
        if rect is not None:
            place = (float(rect.get(name)) for name in ("x", "y", "width"))
            yield (title.text.split("\n")[0], *place)


def check_seed(views):
    schedule.seed().write(views.path / "seed.rec")
    root = ET.fromstring(views.run("svg", "seed.rec").stdout)
    texts = [text.text for text in root.iter(SVG + "text")]
    for wanted in ("worker 0", "worker 2", "A", "B", "C", "20 ms", "seed", "post"):
        check(wanted in texts, f"the picture lacks {wanted!r}: {texts}")
    closes = [bar for bar in bars(root) if bar[0] == "#4 close"]
    check(len(closes) == 3, f"the rollup is on one worker and in two lanes: {closes}")
    check(len({(x, width) for _, x, _, width in closes}) == 1, "at the same time in all of them")
    latched = [bar for bar in bars(root) if bar[0] == "#4 close is latched here: 1/2 arrived"]
    check(len(latched) == 1, f"it is latched in one lane: {latched}")
    check(abs(latched[0][1] + latched[0][3] - closes[0][1]) < 0.5, "until it runs")
    ties = [rect for rect in root.iter(SVG + "rect") if rect.get("fill-opacity") == "0.3"]
    check(len(ties) == 1 and abs(float(ties[0].get("width")) - closes[0][3]) < 0.5
          and float(ties[0].get("y")) == closes[1][2] and float(ties[0].get("height")) > 48,
          "while it runs its lanes are tied together")  # fmt: skip
    idle = [bar[0] for bar in bars(root) if bar[0].startswith("blocked")]
    check("blocked: #4 close is latched (1/2 arrived) and waits for #2 post, which runs on worker 1"
          in idle, f"the idle worker says why: {idle}")  # fmt: skip
    names = {text.text: float(text.get("y")) for text in root.iter(SVG + "text") if text.text in "ABC"}
    c_bars = [b for b in bars(root) if abs(b[2] - names["C"]) < 30 and b[0] in ("#6 post", "#5 post")]
    check(len(c_bars) >= 2, "the third client goes on")


def check_failures(views):
    """Attempts, what lies between them, and the time for which the lane is poisoned."""
    schedule.poisoned().write(views.path / "poisoned.rec")
    svg = views.run("svg", "poisoned.rec").stdout
    root = ET.fromstring(svg)
    names = {text.text: float(text.get("y")) for text in root.iter(SVG + "text") if text.text in "ABC"}
    lane = [bar for bar in bars(root) if abs(bar[2] + 18 - names["B"]) < 2]
    check([bar[0] for bar in lane] == ["#2 post", "#2 post failed, attempt 2 follows", "#2 post",
          "#2 post is parked", "#2 post", "#4 post", "#6 close"], f"lane B: {lane}")  # fmt: skip
    for one, other in zip(lane, lane[1:]):
        check(abs(one[1] + one[3] - other[1]) < 1, f"{other} follows {one} at once")
    check(lane[3][3] > 3.5 * lane[0][3], "it is parked for 38 ms, and an attempt takes 10")
    runs = [bar for bar in bars(root) if bar[0] == "#2 post" and bar[2] < names["A"] - 30]
    check(len(runs) == 3, f"workers run the attempts only: {runs}")
    lane = [bar[0] for bar in bars(root) if abs(bar[2] + 18 - names["C"]) < 2]
    check(lane == ["#3 post", "#7 report"], f"lane C: {lane}")
    ties = [rect for rect in root.iter(SVG + "rect") if rect.get("fill-opacity") == "0.3"]
    check(len(ties) == 1, f"who goes without a lane is not tied to it: {len(ties)}")
    texts = [text.text for text in root.iter(SVG + "text")]
    for wanted in ("failed, will be retried", "parked: has failed at last, the lane is poisoned",
                   "#2 is parked"):  # fmt: skip
        check(wanted in texts, f"the picture lacks {wanted!r}: {texts}")
    tips = " ".join(title.text for title in root.iter(SVG + "title"))
    check("attempt 2 failed at 32 ms\nparked, its lanes poisoned, at 32 ms\nready again at 70 ms" in tips,
          f"tool tips tell the attempts: {tips}")  # fmt: skip
    check("lanes: B (given up), C" in tips, f"and what a task goes without: {tips}")
    check(b"url(#parked)" not in views.run("svg", "seed.rec").stdout, "only where there are such")


def check_cut(views):
    """Each lane has a visit at its own time, and a line leads from visit to visit."""
    schedule.cut().write(views.path / "cut.rec")
    root = ET.fromstring(views.run("svg", "cut.rec").stdout)
    names = {text.text: float(text.get("y")) for text in root.iter(SVG + "text") if text.text in "ABC"}
    visits = {}
    for lane, y in names.items():
        found = [bar for bar in bars(root) if abs(bar[2] + 18 - y) < 2]
        visits[lane] = [bar for bar in found if bar[0] == f"#3 totals at {lane}"]
        check(len(visits[lane]) == 1 and found[-1][0] in ("#4 post", "#5 post", "#6 post"), f"{found}")
        _, x, _, width = visits[lane][0]
        check(abs(x + width - found[-1][1]) < 0.5, f"the next task follows the visit of {lane}")
        check(not any(bar[0] == "#3 totals" for bar in found), "the function has no lane")
    xs = [visits[lane][0][1] for lane in "CAB"]
    check(xs == sorted(xs) and xs[2] > xs[0] + 500, f"C is visited first, B last: {xs}")
    workers = [bar[0] for bar in bars(root) if bar[2] < names["A"] - 30 and bar[0].startswith("#3")]
    check(workers == ["#3 totals at A", "#3 totals at B", "#3 totals", "#3 totals at C"], f"{workers}")
    line, = [path.get("d") for path in root.iter(SVG + "path") if path.get("stroke-linecap")]
    points = [tuple(map(float, point.split())) for point in re.findall(r"[0-9.]+ [0-9.]+", line)]
    middles = {lane: bar[0][1] + bar[0][3] / 2 for lane, bar in visits.items()}
    check([round(x - middles[lane]) for (x, _), lane in zip(points, "ABBC")] == [0] * 4, f"{points}")
    tips = " ".join(title.text for title in root.iter(SVG + "title"))
    check("#3 totals: one place in the order of all lanes" in tips, tips)
    check("visited C at 7 us for 2 ms" in tips and "latched" not in tips, tips)
    legend = "a cut visits its lanes: one place in their order"
    check(legend in [text.text for text in root.iter(SVG + "text")], "the legend says so")
    check(legend.encode() not in views.run("svg", "seed.rec").stdout, "only where there are such")
    part = views.text("svg", "--from", "15ms", "--to", "29ms", "cut.rec")
    check(legend not in part, "no line is drawn between the visits")
    part = views.text("svg", "--from", "9ms", "--to", "13ms", "cut.rec")
    check(legend in part and "L984.00 236.0" in part, "a visit that is not shown is at the edge")


def check_window(views):
    whole = list(bars(ET.fromstring(views.run("svg", "seed.rec").stdout)))
    part = list(bars(ET.fromstring(
        views.run("svg", "--from", "40ms", "--to", "50ms", "seed.rec").stdout)))  # fmt: skip
    check(any(name == "#1 post" for name, *_ in whole), "#1 is in the whole picture")
    check(not any(name == "#1 post" for name, *_ in part), "but not from 40 to 50 ms")
    check(any(name == "#4 close" for name, *_ in part), "where #4 is")
    for name, x, _, width in whole + part:
        check(x >= 0 and width > 0 and x + width <= 1000, f"{name} is inside of the picture")


def check_hostile_names(views):
    events = []
    for number, name in enumerate(HOSTILE):
        events += schedule.name_events(number, number, name.encode())
        ticket = number + 1
        events.append(schedule.record(number, schedule.ROUTE, ticket, 100 + number, 1))
        events.append(schedule.record(number, schedule.ENTER, ticket, number,
                                      schedule.GRANTED, 0, schedule.BYTES))  # fmt: skip
        events.append(schedule.record(number + 1, schedule.START, ticket))
        events.append(schedule.record(number + 9, schedule.END, ticket))
    events += schedule.name_events(99, 99, b"\xff\xfe\x00z")
    events.append(schedule.record(99, schedule.ENTER, 1, 99, 0, 0, schedule.BYTES))
    contents = schedule.recording(events, tags=[(1, HOSTILE[0])])
    views.write("hostile<&>.rec", contents)
    svg = views.run("svg", "hostile<&>.rec").stdout
    root = ET.fromstring(svg)
    texts = [text.text for text in root.iter(SVG + "text")]
    for name in ("é中", '<&">', "\\x1b[31m", "\\xff\\xfe\\x…", "hostile<&>"):
        check(name in texts, f"{name!r} is in {texts}")
    tips = [title.text for title in root.iter(SVG + "title")]
    check("\\xff\\xfe\\x00z" in tips, "a name that is cut is whole in its tool tip")
    check(b"\x1b" not in svg, "no control character is in the picture")
    return "hostile<&>.rec"


def check_harmless(views, name):
    svg = views.text("svg", name)
    check("<script" not in svg and "onload" not in svg, "there is no script in it")
    check("http" not in re.sub(r'xmlns="[^"]*"', "", svg), "and it refers to nothing outside")
    check(svg == views.text("svg", name), f"{name}: the same bytes each time")


def check_shared(views):
    """Those who share a lane stand one below the other, none hides another."""
    pool = schedule.Pool(4)
    for milliseconds in (20, 30, 10):
        pool.submit(0, "A/", milliseconds * schedule.MS, "read")
    pool.submit(0, "A", 5 * schedule.MS, "post")
    pool.run().write(views.path / "shared.rec")
    root = ET.fromstring(views.run("svg", "shared.rec").stdout)
    in_lane = [bar for bar in bars(root) if bar[2] > 200 and bar[0][0] == "#"]
    check({bar[0] for bar in in_lane} == {"#1 read", "#2 read", "#3 read", "#4 post"}, f"{in_lane}")
    for one in in_lane:
        for other in in_lane:
            check(one == other or one[2] != other[2] or one[1] + one[3] <= other[1] + 0.1
                  or other[1] + other[3] <= one[1] + 0.1, f"{one} and {other} overlap")  # fmt: skip


def check_large(views):
    """A row has no more bars than there is room for."""
    pool = schedule.Pool(2)
    for i in range(6000):
        pool.submit(i * 700, f"c{i % 100}", 1000, "post")
    pool.run().write(views.path / "large.rec")
    svg = views.run("svg", "large.rec").stdout
    rows = Counter(y for _, _, y, _ in bars(ET.fromstring(svg)))
    check(max(rows.values()) < 1200, f"bars in a row of 900 pixels: {max(rows.values())}")
    check(b"64 of 100 lanes are drawn" in svg, "it says that lanes are left out")


def check_short(views):
    """Runs much shorter than a pixel are drawn, also after a wait that is too short to draw."""
    pool = schedule.Pool(2)
    for i in range(100):
        pool.submit(i * 5 * schedule.MS, "A", 3 * schedule.US, "post")
    pool.run().write(views.path / "short.rec")
    root = ET.fromstring(views.run("svg", "short.rec").stdout)
    names = {text.text: float(text.get("y")) for text in root.iter(SVG + "text")}
    lane = [bar[0] for bar in bars(root) if abs(bar[2] + 18 - names["A"]) < 2]
    check(lane == [f"#{ticket} post" for ticket in range(1, 101)], f"lane A: {len(lane)} runs")


def main():
    views = Views()
    check_seed(views)
    check_window(views)
    check_failures(views)
    check_cut(views)
    for name in ("seed.rec", check_hostile_names(views)):
        check_harmless(views, name)
    for name, pool in (("over", schedule.overlapping()), ("worker", schedule.seed("worker"))):
        pool.write(views.path / f"{name}.rec")
        ET.fromstring(views.run("svg", f"{name}.rec").stdout)
    views.write("empty.rec", schedule.recording([]))
    ET.fromstring(views.run("svg", "empty.rec").stdout)
    check_shared(views)
    check_large(views)
    check_short(views)
    print("pictures: well-formed, and they show what happened")


if __name__ == "__main__":
    main()
