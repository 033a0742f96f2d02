#!/usr/bin/env python3
"""Scenarios: those that come along are good, wrong ones are refused with the place and the reason.

usage: scenarios.py LANEVIEW
"""
from views import Views, check

SHIPPED = {"commuting", "latches", "hot", "independent", "layout-key", "layout-worker", "month-end", "month-end-cut", "overlapping", "poisoned",
           "seed", "shared", "slow-member"}  # fmt: skip

# A text, the line of its error, and the error.
WRONG = [
    ("workers 0", 1, "expected: workers NUMBER, from 1 to 1024"),
    ("workers 1025", 1, "expected: workers NUMBER, from 1 to 1024"),
    ("workers 2\nworkers 2", 2, "workers is given twice"),
    ("workers two", 1, "expected: workers NUMBER, from 1 to 1024"),
    ("layout lane", 1, "expected: layout key|worker"),
    ("layout key\n\nlayout key", 3, "layout is given twice"),
    ("client", 1, "expected: client NAME..."),
    ("client A B A", 1, "there is a client of this name already: A"),
    ("client A*", 1, "not a name for a client: A*"),
    ("client C5..C2", 1, "expected a range such as C1..C20"),
    ("client C1..D2", 1, "expected a range such as C1..C20"),
    ("client ..", 1, "expected a range such as C1..C20"),
    ("# one\nclient A # and a comment\ntask B for 5ms", 3, "there is no client of this name: B"),
    ("client A\ntask A for 5", 2, "not a time such as 20ms: 5"),
    ("client A\ntask A for 5min", 2, "not a time such as 20ms: 5min"),
    ("client A\ntask A", 2, "it must be said for how long: for TIME"),
    ("client A\ntask A for", 2, "a word is missing after for"),
    ("client A\ntask A during 5ms", 2,
     "expected for, visit, label, every, fails, retries, delay, then or at-poison, not during"),
    ("client A\ntask A for 5ms fails", 2, "a word is missing after fails"),
    ("client A\ntask A for 5ms fails often", 2, "not a number from 1 to 1000: often"),
    ("client A\ntask A for 5ms fails 0", 2, "not a number from 1 to 1000: 0"),
    ("client A\ntask A for 5ms fails 2 retries 1001", 2, "not a number from 1 to 1000: 1001"),
    ("client A\ntask A for 5ms retries 2", 2, "retries and then are for tasks that fail: fails NUMBER"),
    ("client A\ntask A for 5ms then go-on", 2, "retries and then are for tasks that fail: fails NUMBER"),
    ("client A\ntask A for 5ms fails 1 delay 1ms", 2,
     "delay is for tasks that are tried again: retries NUMBER"),
    ("client A\ntask A for 5ms fails 2 retries 1 delay soon", 2, "not a time such as 20ms: soon"),
    ("client A\ntask A for 5ms fails 1 then pause", 2, "expected: then go-on|poison"),
    ("client A B\nrollup A,B for 5ms at-poison run", 2, "expected: at-poison wait|fail|go-without"),
    ("client A\nresolve A", 2, "expected: resolve CLIENT retry|skip|drop"),
    ("client A\nresolve A again", 2, "expected: resolve CLIENT retry|skip|drop"),
    ("client A\nresolve B retry", 2, "there is no client of this name: B"),
    ("client A B\ntask A for 5ms fails 1 then poison\ntask B for 5ms fails 1\nresolve B skip", 4,
     "no task of this client before is parked (then poison): B"),
    ("client A B\ntask A,B for 5ms", 2, "a task over several clients is a rollup or a cut"),
    ("client A B\nrollup A for 5ms", 2, "a rollup needs more than one client"),
    ("client A B\nrollup A,A for 5ms", 2, "claimed twice: A"),
    ("client A B\nrollup A,B:exclusive for 5ms", 2,
     "after a client only :shared or :commuting may follow, not :exclusive"),
    ("client A B\ncut A,B for 5ms", 2, "it must be said how long a visit takes: visit TIME"),
    ("client A B\ncut A,B visit 1ms", 2, "it must be said for how long: for TIME"),
    ("client A B\ncut A,B visit slowly for 5ms", 2, "not a time such as 20ms: slowly"),
    ("client A B\ncut A:shared,B:commuting visit 1ms for 5ms", 2,
     "a cut cannot claim a client :commuting: B"),
    ("client A B\ncut each visit 1ms for 5ms", 2, "a cut needs clients: cut CLIENTS visit TIME"),
    ("client A B\ncut * visit 1ms for 5ms at-poison go-without", 2,
     "a cut waits in poisoned lanes: at-poison wait"),
    ("client A B\nrollup * visit 1ms for 5ms", 2, "visit is for cuts"),
    ("client A\ntask A for 5ms visit 1ms", 2, "visit is for cuts"),
    ("task each for 5ms", 1, "there are no clients yet"),
    ("repeat 3", 1, "expected: repeat NUMBER task|rollup|cut ..."),
    ("client A\nrepeat x task A for 5ms", 2, "expected: repeat NUMBER task|rollup|cut ..."),
    ("client A\nrepeat 999999 task A for 5ms every 1ms", 2, "more than 1000000 steps"),
    ("after", 1, "expected: after TIME, such as after 5ms"),
    ("after lunch", 1, "expected: after TIME, such as after 5ms"),
    ("pool 3", 1, "unknown statement pool"),
    ("client A\0", 1, "a zero byte: not a text"),
    ("tas\x1b[31mk", 1, "unknown statement tas?[31mk"),
]  # fmt: skip

GOOD = """\
workers 3   # of them
layout worker
client A B C1..C3
task A for 20ms label post
rollup A:shared,C2 for 1.5s label close
repeat 2 task each for 300us every 2ms
task for 1ms
rollup * for 5ms
after 5ms
task B fails 3 retries 1 delay 4ms then poison for 2ms label post
rollup A,B for 1ms at-poison go-without
rollup A,B for 1ms at-poison wait
task A for 1ms fails 1 then go-on
resolve B drop
cut * visit 2ms for 3ms label totals
repeat 2 cut A:shared,B visit 1ms for 0ms every 4ms
cut C1 for 1ms visit 9us
"""
GOOD_STEPS = """\
3 workers, lanes per worker, 5 clients, 22 tasks
task A for 20 ms label post
rollup A:shared,C2 for 1.5 s label close
task A for 300 us
task B for 300 us
task C1 for 300 us
task C2 for 300 us
task C3 for 300 us
after 2 ms
task A for 300 us
task B for 300 us
task C1 for 300 us
task C2 for 300 us
task C3 for 300 us
after 2 ms
task for 1 ms
rollup A,B,C1,C2,C3 for 5 ms
after 5 ms
task B for 2 ms fails 3 retries 1 delay 4 ms then poison label post
rollup A,B for 1 ms at-poison go-without
rollup A,B for 1 ms
task A for 1 ms fails 1
resolve B drop
cut A,B,C1,C2,C3 visit 2 ms for 3 ms label totals
cut A:shared,B visit 1 ms for 0
after 4 ms
cut A:shared,B visit 1 ms for 0
after 4 ms
cut C1 visit 9 us for 1 ms
"""


def main():
    views = Views()
    listed = [line.split(None, 1) for line in views.text("scenario").splitlines()]
    check({name for name, _ in listed} == SHIPPED, f"those that come along: {listed}")
    for name, title in listed:
        check(not title.startswith("#") and title.endswith("."), f"{name} has a title: {title}")
        check(len(views.text("scenario", name).splitlines()) > 5, f"{name} has steps")
    check(views.text("scenario", views.write("own.scenario", GOOD)) == GOOD_STEPS,
          views.text("scenario", "own.scenario"))  # fmt: skip
    check(views.text("scenario", "./own.scenario") == GOOD_STEPS, "by its path, too")
    check(views.text("scenario", "-", input=GOOD.encode()) == GOOD_STEPS, "and from standard input")
    for text, line, message in WRONG:
        views.write("wrong.scenario", text)
        views.wrong(f"wrong.scenario:{line}: {message}", "scenario", "wrong.scenario")
    views.wrong("laneview: there is no scenario nothing; laneview scenario prints those there are",
                "scenario", "nothing")  # fmt: skip
    views.wrong("laneview: ./nothing cannot be opened: No such file or directory", "scenario",
                "./nothing", code=1)  # fmt: skip
    for size in range(len(GOOD)):
        result = views.run("scenario", views.write("cut.scenario", GOOD[:size]), expect=None)
        check(result.returncode in (0, 2), f"cut after {size} bytes: exit {result.returncode}")
    print(f"scenarios: {len(SHIPPED)} are good, {len(WRONG)} wrong ones were refused")


if __name__ == "__main__":
    main()
