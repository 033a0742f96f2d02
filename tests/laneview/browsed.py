#!/usr/bin/env python3
"""An HTML page in a real browser, from a file: zoom, panel, search, keys and link; nothing is requested.

usage: browsed.py LANEVIEW [--pictures FOLDER]
"""
import argparse
from pathlib import Path

import pages
import schedule
from browser import Browser
from views import Views, check

TASK = "choose({{ kind: 'task', task: byTicket.get({}) }}, true)"
MIDDLE = """(() => {{
  const part = parts[{part}], row = part.names.indexOf("{row}"), box = part.canvas.getBoundingClientRect();
  return [box.left + xOf({time}), box.top + part.top(row) + {below}];
}})()"""


class Visit:
    """A page that is open in the browser."""

    def __init__(self, browser, views):
        self.browser, self.views = browser, views

    def open(self, pool_or_bytes, name="x", **more):
        page = pages.page_of(self.views, pool_or_bytes, f"{name}.rec", **more)
        path = self.views.path / f"{name}.html"
        path.write_text(page.html, encoding="utf-8")
        self.url = path.as_uri()
        self.browser.open(self.url)
        check(set(self.browser.requests) == {self.url.replace(" ", "%20")}, f"{self.browser.requests}")

    def panel(self):
        return self.browser.evaluate("document.getElementById('panel').innerText")

    def says(self, *wanted):
        text = " ".join(self.panel().split())
        for one in wanted:
            check(one in text, f"the panel says {one!r}: {text}")
        return text

    def spot(self, part, row, milliseconds, below):
        return self.browser.evaluate(
            MIDDLE.format(part=part, row=row, time=milliseconds * schedule.MS, below=below))

    def view(self):
        return self.browser.evaluate("[view.from, view.to]")

    def press(self, text):
        """Clicks on the panel's first button with this text."""
        self.browser.evaluate("[...document.querySelectorAll('#panel button')].find((button) => "
                              f"button.textContent === '{text}').click()")  # fmt: skip
        self.browser.settle()

    def quiet(self, what):
        check(not self.browser.complaints, f"{what}: the page complains: {self.browser.complaints}")


def check_panel(visit):
    """What is pointed at is told in words: a latch, the tasks behind it, a blocked worker."""
    browser = visit.browser
    visit.open(schedule.seed(), "seed")
    visit.says("Nothing is chosen")
    browser.point(*visit.spot(1, "A", 27, 10))
    visit.says("#4 close", "A rollup over 2 lanes; label close, tag 2", "of it latched 15 ms",
               "in A for 20 ms", "#1 post ran for 20 ms", "in B for 35 ms", "#2 post ran for 35 ms",
               "Behind it: 2 tasks waited")  # fmt: skip
    tip = browser.evaluate("document.getElementById('tip').textContent")
    check(tip == "#4 close is latched here: 1/2 arrived", tip)
    browser.point(*visit.spot(1, "A", 27, 32))
    visit.says("1 task waits in A", "At the head #4 close", "#7 post for 60 ms")
    browser.point(*visit.spot(0, "worker 0", 27, 10))
    visit.says("blocked: #4 close is latched (1/2 arrived) and waits for #2 post, which runs on worker 1")
    browser.click(*visit.spot(1, "A", 70, 10))
    browser.point(*visit.spot(1, "C", 5, 10))
    visit.says("#7 post", "in A for 60 ms", "#4 close was latched for 15 ms, ran for 25 ms",
               "it waited for #2 post", "granted at 60.007 ms")  # fmt: skip
    visit.press("#2 post")
    visit.says("#2 post", "It did not wait for a lane", "ran for 35 ms", "at 7 us, on worker 1")
    visit.quiet("seed")


def check_zoom(visit):
    browser = visit.browser
    visit.open(schedule.seed(), "seed")
    whole = visit.view()
    spot = visit.spot(1, "B", 20, 10)
    browser.wheel(*spot, -300)
    part = visit.view()
    check(part[1] - part[0] < 0.6 * (whole[1] - whole[0]), f"the wheel zooms: {whole} {part}")
    after = visit.spot(1, "B", 20, 10)
    check(abs(after[0] - spot[0]) < 1, f"the time under the pointer remains there: {spot} {after}")
    browser.drag(*after, -100)
    moved = visit.view()
    check(moved[0] > part[0] and abs(moved[1] - moved[0] - part[1] + part[0]) < 2, f"a drag moves: {moved}")
    check(browser.evaluate("chosen") is None, "and chooses nothing")
    browser.click(*visit.spot(1, "C", 40, 34), count=2)
    check(visit.view() == whole, f"a double click shows all: {visit.view()}")
    for key, is_narrower in (("+", True), ("-", False), ("+", True), ("0", False)):
        before = visit.view()
        browser.key(key)
        now = visit.view()
        check((now[1] - now[0] < before[1] - before[0]) == is_narrower, f"key {key}: {before} {now}")
    check(visit.view() == whole, "0 shows all")
    before = browser.evaluate("chosen")
    browser.pinch(*spot, 100, 200)
    pinched = visit.view()
    check(abs((pinched[1] - pinched[0]) * 2 - (whole[1] - whole[0])) < 0.02 * whole[1], f"a pinch zooms: {pinched}")
    check(browser.evaluate("chosen") == before, "and chooses nothing")
    visit.quiet("zoom")


def check_keys(visit):
    """Without a pointer: a bar by arrow keys, and the panel's buttons by Tab."""
    browser = visit.browser
    visit.open(schedule.seed(), "seed")
    browser.evaluate("document.getElementById('lanes').focus()")
    for key in ("ArrowRight", "ArrowRight"):
        browser.key(key)
    visit.says("#1 post")
    said = browser.evaluate("nowText.textContent")
    check(said.startswith("#1 post: waited"), f"a screen reader is told: {said}")
    browser.key("ArrowDown")
    visit.says("#2 post")
    browser.key("Enter")
    browser.key("Tab")
    check(browser.evaluate("panel.contains(document.activeElement)"), "Tab reaches the panel's buttons")
    browser.key("Enter")
    check(visit.panel().split("\n")[0] == "B", f"Enter presses one: {visit.panel()}")
    browser.key("Escape")
    visit.says("Nothing is chosen")
    reached = browser.evaluate("""[...document.querySelectorAll('button, input, .scroll')]
        .filter((element) => element.offsetParent && element.tabIndex < 0).length""")
    check(reached == 0, "everything can be reached by Tab")
    visit.quiet("keys")


def check_find(visit):
    browser = visit.browser
    visit.open(schedule.cut(), "cut")
    browser.key("/")
    browser.type("#5")
    check(browser.evaluate("foundText.textContent") == "1 found", "one has this ticket")
    browser.key("Enter")
    visit.says("#5 post", "in B for", "#3 totals visited the lane for 2 ms")
    for wanted, first in (("totals", "#3 totals"), ("b", "B"), ("C", "C")):
        browser.evaluate("findBox.value = ''; findBox.focus()")
        browser.type(wanted)
        browser.key("Enter")
        check(visit.panel().split("\n")[0] == first, f"{wanted}: {visit.panel()}")
    browser.evaluate("findBox.value = ''; findBox.focus()")
    browser.type("no such thing")
    check(browser.evaluate("foundText.textContent") == "nothing found", "it says so")
    visit.quiet("find")


def check_link(visit):
    """The address has the time and the task, and restores them."""
    browser = visit.browser
    visit.open(schedule.seed(), "seed")
    browser.evaluate("setView(10e6, 50e6); " + TASK.format(4))
    browser.until("location.hash === '#t=10000000-50000000&task=4'")
    link = browser.evaluate("location.href")
    browser.open(link)
    check(visit.view() == [10e6, 50e6], f"{visit.view()}")
    visit.says("#4 close")
    browser.evaluate("location.hash = '#t=0-20000000&task=2'")
    browser.until("chosenTask() === byTicket.get(2)")
    check(visit.view() == [0, 20e6], f"{visit.view()}")
    browser.open(visit.url + "#task=7")
    visit.says("#7 post")
    browser.open(visit.url + "#t=9-1&task=99&lane=%3Cb%3E")
    visit.says("Nothing is chosen")
    visit.quiet("link")


def head_of_lane(pool, ticket, time):
    """The task that a task waits for, from the events alone; None: it does not wait in a lane."""
    lanes, granted, order = {}, set(), []
    for (at, task, place, detail, _, type, _) in schedule.unpack(pool.events):
        if at - pool.zero > time:
            break
        if type == schedule.ENTER:
            lanes.setdefault(place, []).append(task)
            if task == ticket:
                order.append(place)
            if detail & schedule.GRANTED:
                granted.add((place, task))
        elif type == schedule.ARRIVE:
            granted.add((place, task))
        elif type == schedule.RELEASE:
            lanes[place].remove(task)
    for place in order:
        if ticket in lanes[place] and (place, ticket) not in granted and lanes[place][0] != ticket:
            return lanes[place][0]
    return None


def check_blockers(visit):
    """At many moments: who waits for whom is what the events say."""
    found = 0
    for pool in (schedule.seed(), schedule.overlapping(), schedule.poisoned(), schedule.cut(),
                 schedule.seed("worker")):  # fmt: skip
        visit.open(pool)
        tickets = visit.browser.evaluate("[...byTicket.keys()]")
        moments = [step * 1_700_001 for step in range(60)]
        shown = visit.browser.evaluate(
            f"{tickets}.map((ticket) => {moments}.map((time) => "
            "{ const task = blockerAt(byTicket.get(ticket), time); return task < 0 ? null : tasks.ticket[task]; }))")
        for ticket, row in zip(tickets, shown):
            for time, blocker in zip(moments, row):
                wanted = head_of_lane(pool, ticket, time)
                check(blocker == wanted, f"#{ticket} at {time}: waits for {blocker}, not {wanted}")
                found += blocker is not None
    check(found > 200, f"there were {found} waits")


def check_odd(visit):
    """Hostile names, an empty recording, and one that lost events."""
    browser = visit.browser
    pool = schedule.Pool(1)
    pool.submit(0, pages.HOSTILE[:60], schedule.MS, pages.HOSTILE)
    pool.submit(0, pages.HOSTILE[:60], schedule.MS, pages.HOSTILE)
    visit.open(pool.run(), "hostile")
    browser.evaluate(TASK.format(2))
    visit.says("#2 </script><script>document.title='taken'</script>")
    browser.evaluate("findBox.focus()")
    browser.type("<img")
    browser.key("Enter")
    check(browser.evaluate("document.querySelectorAll('img').length") == 0, "no name is an element")
    check(browser.evaluate("document.title") == "hostile - laneview", "no name is a script")
    refused = browser.evaluate("""new Promise((done) => {
        addEventListener("securitypolicyviolation", (event) => done(event.effectiveDirective));
        fetch("http://127.0.0.1:1/").catch(() => {});
    })""")
    check(refused == "connect-src", f"the policy refuses requests: {refused}")
    browser.complaints.clear()
    visit.open(schedule.recording([]), "empty")
    check("no lanes" in browser.evaluate("document.getElementById('chart').innerText"), "it says so")
    for key in ("+", "-", "0"):
        browser.key(key)
    pool = schedule.seed()
    del pool.events[: len(pool.events) // 3]
    visit.open(pool, "lost", missed=40)
    facts = browser.evaluate("document.getElementById('facts').textContent")
    check("40 events missed" in facts, facts)
    for ticket in browser.evaluate("[...byTicket.keys()]"):
        browser.evaluate(TASK.format(ticket))
        text = visit.says(f"#{ticket}")
        check("NaN" not in text and "undefined" not in text and "Infinity" not in text, text)
    visit.quiet("odd recordings")


def check_schemes(visit, folder):
    """Light and dark, wide and narrow; texts have a contrast of 4.5 at least."""
    browser = visit.browser
    for scheme in ("light", "dark"):
        browser.use_scheme(scheme)
        for width, height in ((1200, 700), (390, 780)):
            browser.resize(width, height)
            visit.open(schedule.poisoned(), "poisoned")
            browser.evaluate(TASK.format(6))
            browser.settle()
            wide = browser.evaluate("document.documentElement.scrollWidth")
            check(wide <= width, f"nothing is wider than {width}: {wide}")
            poor = browser.evaluate(CONTRAST)
            check(poor == [], f"{scheme}: too little contrast: {poor}")
            if folder:
                browser.picture(folder / f"poisoned-{scheme}-{width}.png")
    browser.use_scheme("light")
    browser.resize(1200, 760)
    visit.quiet("schemes")


CONTRAST = """(() => {
  const light = (colour) => {
    const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255)
      .map((part) => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (; element; element = element.parentElement) {
      const colour = getComputedStyle(element).backgroundColor;
      if (!colour.startsWith("rgba(0, 0, 0, 0")) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("h1, h2, h3, p, li, dt, dd, label, button, span")].flatMap((element) => {
    const [a, b] = [light(getComputedStyle(element).color), light(ground(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    return contrast >= 4.5 || !element.offsetParent || !element.textContent ? [] : [element.outerHTML];
  });
})()"""


def check_large(visit):
    """Many tasks: rows stay narrow, and a frame is drawn from the visible part only."""
    pool = schedule.Pool(4)
    for i in range(8000):
        pool.submit(i * 500, f"c{i % 400}", 1000, "post")
    pool.submit(7900 * 500, ",".join(f"c{i}" for i in range(400)), 1000, "close")
    visit.open(pool.run(), "large")
    check(visit.browser.evaluate("tasks.count") == 8001, "all tasks")
    drawn = visit.browser.evaluate("""(() => {
        let bars = 0;
        const draw = Part.prototype.drawBar;
        Part.prototype.drawBar = function (...more) { bars++; draw.apply(this, more); };
        drawNow();
        return [bars, lanesPart.shown.last - lanesPart.shown.first + 1];
    })()""")
    check(drawn[1] < 40 and drawn[0] < (drawn[1] + 4) * 1500, f"bars and rows: {drawn}")
    check(drawn[0] > 20 * drawn[1], f"the 20 tasks of a lane are drawn, although they are narrow: {drawn}")
    visit.browser.evaluate(TASK.format("tasks.ticket[tasks.kind.indexOf(ROLLUP)]"))
    visit.says("#7902 close", "A rollup over 400 lanes", "and 392 more")
    visit.browser.evaluate(TASK.format(7999))
    visit.browser.settle()
    shown = visit.browser.evaluate("[lanesPart.shown.first, lanesPart.shown.last, placeOf(chosen).lane]")
    check(shown[0] <= shown[2] <= shown[1], f"its lane is scrolled to: {shown}")
    visit.quiet("many tasks")


def main():
    views = Views()
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=Path)
    options = parser.parse_args()
    with Browser() as browser:
        visit = Visit(browser, views)
        check_panel(visit)
        check_zoom(visit)
        check_keys(visit)
        check_find(visit)
        check_link(visit)
        check_blockers(visit)
        check_odd(visit)
        check_schemes(visit, options.pictures)
        check_large(visit)
    print("browsed: the page works in Chromium")


if __name__ == "__main__":
    main()
