#!/usr/bin/env python3
"""The data of an HTML page are those of the recording; nothing in a page refers to anything outside.

usage: pages.py LANEVIEW
"""
import base64
import hashlib
import json
import re

import schedule
from runs import Run
from views import Views, check

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)> \"'\\u003c & é"
KINDS = ("task", "rollup", "cut")
LATCHED, READY, RUNS, RETRYING, PARKED, VISITED = range(6)


class Page:
    """A page's data, decoded anew: the rows of each array, with times as in the recording."""

    def __init__(self, html):
        self.html = html
        text = re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1]
        check("<" not in text, "no < is in the data")
        self.data = json.loads(text)
        self.tasks, self.entries, ticket, submit = [], [], 0, 0
        for row in self.rows("tasks", 8):
            (number,), ticket = times(ticket, row[:1])
            seen, submit = times(submit, row[4:], keep=1)
            tag = self.data["tags"][row[1]]
            self.tasks.append(dict(zip(("submit", "ready", "start", "end"), seen), ticket=number, tag=tag[0],
                                   name=tag[1], kind=KINDS[row[2] % 4], state=row[2] // 4 % 8,
                                   status=row[2] // 32, worker=row[3]))  # fmt: skip
        task = enter = 0
        for row in self.rows("entries", 6):
            task += row[0]
            seen, enter = times(enter, row[3:], keep=1)
            self.entries.append(dict(zip(("enter", "arrive", "release"), seen), task=task, lane=row[1],
                                     mode=row[2]))  # fmt: skip
        self.by_ticket = {task["ticket"]: task for task in self.tasks}

    def rows(self, name, width):
        flat = self.data[name]
        check(len(flat) % width == 0, f"{name} has whole rows")
        return [flat[at : at + width] for at in range(0, len(flat), width)]

    def lane(self, name):
        """(kind, from, to, ticket, arrived or attempt) of each span."""
        flat, spans, begin, task = self.data["laneSpans"][self.data["lanes"].index(name)], [], 0, 0
        for at in range(0, len(flat), 4):
            begin, task = begin + flat[at], task + flat[at + 3]
            look = flat[at + 2]
            spans.append((look % 8, begin, begin + flat[at + 1], self.tasks[task]["ticket"], look // 512))
        return spans

    def worker(self, number):
        """(kind, from, to, task, second) of each span."""
        flat, spans, time, task = self.data["workerSpans"][number], [], 0, 0
        for at in range(0, len(flat), 4):
            task += flat[at + 2]
            spans.append((flat[at + 1] % 8, time, time + flat[at], task if flat[at + 1] >= 64 else None,
                          flat[at + 3] - 1))  # fmt: skip
            time += flat[at]
        return spans


def times(before, differences, keep=0):
    """The times of a row, and the one that the next row continues from: the last one, or the first."""
    seen, base = [], before
    for difference in differences:
        before += difference or 0
        seen.append(None if difference is None else before)
    return seen, (seen[0] if seen[0] is not None else base) if keep else before


def page_of(views, pool_or_bytes, name="x.rec", **more):
    contents = pool_or_bytes if isinstance(pool_or_bytes, bytes) else pool_or_bytes.bytes(**more)
    views.write(name, contents)
    return Page(views.text("html", name))


def check_events(views, pool, what):
    """Each time of each task and entry is that of its event."""
    page, run, zero = page_of(views, pool), Run(pool.bytes()), pool.zero
    numbers = {number: name for name, number in pool.numbers.items()}

    def name_of(event):
        return f"worker {event['object']}" if pool.layout == "worker" else numbers[event["object"]]

    sums = {}
    for event in run.events:
        sums.setdefault((event["type"], event["task"]), []).append(event)
    check(len(page.tasks) == len({key[1] for key in sums if key[0] == schedule.ROUTE}), f"{what}: all tasks")
    for task in page.tasks:
        ticket = task["ticket"]
        ready, start, end = (sums[type, ticket] for type in (schedule.READY, schedule.START, schedule.END))
        check(task["ready"] == ready[0]["time"] - zero, f"{what}: #{ticket} is ready: {task}")
        check(task["start"] == start[-1]["time"] - zero, f"{what}: #{ticket} starts: {task}")
        check(task["end"] == end[0]["time"] - zero and task["status"] == end[0]["detail"], f"{what}: {task}")
        check(task["worker"] == start[-1]["thread"], f"{what}: #{ticket} runs on {task['worker']}")
        check(pool.tags[task["name"]] == task["tag"] == sums[schedule.ROUTE, ticket][0]["detail"], f"{task}")
    members = (("enter", schedule.ENTER), ("arrive", schedule.ARRIVE), ("release", schedule.RELEASE))
    for entry in page.entries:
        ticket, lane = page.tasks[entry["task"]]["ticket"], page.data["lanes"][entry["lane"]]
        for member, type in members:
            found = [event["time"] - zero for event in sums.get((type, ticket), []) if name_of(event) == lane]
            if type == schedule.ARRIVE and not found and entry["arrive"] is not None:
                found = [entry["enter"]]  # granted when it entered
            check([entry[member]] == (found or [None]), f"{what}: #{ticket} in {lane}: {entry} {found}")
    for lane in page.data["lanes"]:
        for one, other in zip(page.lane(lane), page.lane(lane)[1:]):
            check(one[2] <= other[1], f"{what}: {lane}: {one} and {other} do not overlap")
    for worker in range(pool.workers):
        check(page.worker(worker)[-1][2] == page.data["end"], f"{what}: worker {worker} has no gap")
    return page


def check_seed(views):
    page = check_events(views, schedule.seed(), "seed")
    kinds = [(kind, ticket) for kind, _, _, ticket, _ in page.lane("A") if kind != READY]
    check(kinds == [(RUNS, 1), (LATCHED, 4), (RUNS, 4), (RUNS, 7)], f"lane A: {kinds}")
    latched, = [span for span in page.lane("A") if span[0] == LATCHED]
    check(latched[4] == 1 and latched[2] - latched[1] > 14 * schedule.MS, f"in one of two lanes: {latched}")
    check(page.by_ticket[4]["kind"] == "rollup" and page.by_ticket[1]["kind"] == "task", "kinds")
    blocked = [span for worker in range(3) for span in page.worker(worker) if span[0] == 2]
    close, holder = page.by_ticket[4], page.by_ticket[2]
    check(any(task is not None and page.tasks[task] is close and page.tasks[second] is holder
              for _, _, _, task, second in blocked), f"blocked by the latch: {blocked}")  # fmt: skip


def check_failures(views):
    page = page_of(views, schedule.poisoned())
    kinds = [(kind, ticket) for kind, _, _, ticket, _ in page.lane("B") if kind != READY]
    check(kinds == [(RUNS, 2), (RETRYING, 2), (RUNS, 2), (PARKED, 2), (RUNS, 2), (RUNS, 4), (RUNS, 6)], f"{kinds}")
    attempts = page.rows("attempts", 6)
    check(len(attempts) == 2 and attempts[0][4] is None and attempts[1][4] == 0, f"{attempts}")
    check(dict(page.data["statuses"])[schedule.POISONED] == "LANEPOOL_POISONED", f"{page.data['statuses']}")
    refused = [task for task in page.tasks if task["status"] == schedule.POISONED]
    check(len(refused) == 1 and refused[0]["start"] is None, f"{refused}")


def check_cut(views):
    page = page_of(views, schedule.cut())
    check(page.by_ticket[3]["kind"] == "cut", "a cut")
    visits = page.rows("visits", 5)
    lanes = [page.data["lanes"][page.entries[entry]["lane"]] for entry in running_sum(row[0] for row in visits)]
    check(sorted(lanes) == ["A", "B", "C"], f"{lanes}")
    check({row[3] for row in visits} == {2 * schedule.MS}, f"each takes 2 ms: {visits}")
    for name in "ABC":
        check((VISITED, 3) in [(span[0], span[3]) for span in page.lane(name)], f"in {name}")


def running_sum(numbers):
    total = 0
    for number in numbers:
        total += number
        yield total


def check_odd(views):
    """A recording without events, one that lost some, and one that ends early."""
    empty = page_of(views, schedule.recording([]))
    check(empty.data["end"] == 0 and empty.tasks == [] and empty.data["lanes"] == [], "empty")
    pool = schedule.seed()
    del pool.events[: len(pool.events) // 3]
    lost = page_of(views, pool, missed=40)
    check(lost.data["missed"] == 40 and any(task["submit"] is None for task in lost.tasks), "lost")
    check(all(task["ticket"] is not None or task["submit"] is not None for task in lost.tasks), "known")


def check_hostile(views):
    """A name never ends the element that it is in."""
    pool = schedule.Pool(1)
    pool.submit(0, HOSTILE[:60], schedule.MS, HOSTILE)
    page = page_of(views, pool.run(), "<b>.rec")
    check(page.data["tags"] == [[1, HOSTILE]] and page.data["lanes"] == [HOSTILE[:60]], f"{page.data}")
    check(page.data["title"] == "<b>" and "<title>&lt;b&gt; - laneview</title>" in page.html, "the title")
    check(page.html.count("<script") == 2 and "<img" not in page.html, "nothing becomes an element")


def check_closed(views):
    """The page refers to nothing outside, and its policy allows its own script and style only."""
    page = page_of(views, schedule.seed(), "seed.rec")
    check(not re.search(r"https?:|//[a-z]|@import|url\(|\bsrc=|\bhref=", page.html), "no reference")
    check(not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b", page.html),
          "texts never become elements")  # fmt: skip
    script = re.search(r"</script>\n<script>(.*?)</script>", page.html, re.S)[1]
    style = re.search(r"<style>(.*?)</style>", page.html, re.S)[1]
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', page.html)[1]
    hashes = ["sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
              for text in (script, style)]  # fmt: skip
    check(policy == f"default-src 'none'; script-src '{hashes[0]}'; style-src '{hashes[1]}'; "
          "base-uri 'none'; form-action 'none'", policy)  # fmt: skip
    check(page.html.index("Content-Security-Policy") < page.html.index("<style>"), "it comes first")
    check(page.html == views.text("html", "seed.rec"), "the same bytes each time")


def main():
    views = Views()
    check_seed(views)
    check_events(views, schedule.seed("worker"), "lanes per worker")
    check_events(views, schedule.overlapping(), "overlapping")
    check_failures(views)
    check_cut(views)
    check_odd(views)
    check_hostile(views)
    check_closed(views)
    print("pages: their data are those of the recordings")


if __name__ == "__main__":
    main()
