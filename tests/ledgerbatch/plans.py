#!/usr/bin/env python3
"""The command plan: what it says about books whose plans are known.

usage: plans.py LEDGERBATCH
"""
import os
import tempfile

import books
from books import check, run

LEDGERBATCH = books.program()
CLIENTS, TIMES = 4, 10
HOUSE = ("--commutative", "Bank:*")


def journal(is_slow=False):
    """Each client pays the bank so many times. One of them may have as many payments as all others."""
    lines = []
    for time in range(TIMES):
        for client in range(1, CLIENTS + 1):
            count = CLIENTS if is_slow and client == 1 else 1
            lines += [f"2020-01-{time + 1:02} Pay", f"  C{client}:Cash  -1.00 USD", "  Bank:Cash",
                      ""] * count  # fmt: skip
    return "\n".join(lines) + "\n"


def plan(*arguments):
    found = run(LEDGERBATCH, "plan", *arguments).stdout.decode()
    again = run(LEDGERBATCH, "plan", *arguments).stdout.decode()
    check(found == again, "the same text each time")
    return found.splitlines()


def has(lines, *wanted):
    for line in wanted:
        check(line in lines, f"{line!r} is missing: {lines}")


def check_workers():
    """Without the house's lane the clients are independent."""
    lines = plan(*HOUSE, "pay.journal")
    check(lines[0].startswith("durations: assumed, 1000 ns for a transaction"), lines[0])
    has(lines, "work: 40.00 us, 40 tasks", "longest chain: 10.00 us, 10 tasks",
        "at best: 4.00 times as fast as one worker", "1          40.00 us      1.00    0.0 %",
        "2          20.00 us      2.00    0.0 %", "4          10.00 us      4.00    0.0 %",
        "16         10.00 us      4.00   75.0 %")  # fmt: skip
    lines = plan(*HOUSE, "--workers", "3,1000", "pay.journal")
    has(lines, "1000       10.00 us      4.00   99.6 %")
    check([line.split()[:1] for line in lines[5:8]] == [["workers"], ["3"], ["1000"]], lines)
    check(os.listdir() == ["pay.journal"], "no file is written")


def check_hot_account():
    """The bank's account is a client like others: each transaction waits for the one before."""
    lines = plan("--workers", "1,4", "pay.journal")
    has(lines, "longest chain: 40.00 us, 40 tasks", "4          40.00 us      1.00   75.0 %",
        "   30.00 us  COMMUTING claims of Bank: 10.00 us")  # fmt: skip


def check_rollups():
    """Three clients wait for a rollup, and that for the slow client. Statements are cuts, unless
    rollups must hold."""
    with open("slow.journal", "w", encoding="utf-8") as file:
        file.write(journal(is_slow=True))
        for client in range(1, CLIENTS + 1):
            file.write(f"\n2020-02-01 Pay\n  C{client}:Cash  -1.00 USD\n  Bank:Cash\n" * 8)
    month_ends = HOUSE + ("--monthly", "statement", "--workers", "2,4", "slow.journal")
    lines = plan(*month_ends)
    check(not any(" as a cut" in line for line in lines), f"they are cuts: {lines}")
    lines = plan("--on-quarantine", "hold", *month_ends)
    found = [line for line in lines if "the rollup #71 statement 2020-01 of all as a cut: " in line]
    check(len(found) == 1, f"the statement: {lines}")
    found = [line for line in lines if "all rollups statement as cuts: " in line]
    check(len(found) == 1, f"all statements: {lines}")


def check_planted():
    """In three months a client that posts in no other month is slow. It begins after a usual client.
    The statement of the month waits for it, and all others for the statement."""
    slow = {1: 40, 3: 90, 5: 60}
    with open("planted.journal", "w", encoding="utf-8") as file:
        for month in range(1, 7):
            pay = f"2020-{month:02}-{{:02}} Pay\n  {{}}:Cash  -1.00 USD\n  Bank:Cash\n\n"
            for day in range(1, 11):
                for client in range(10):
                    file.write(pay.format(day, f"C{client}") * 10)
            file.write(f"2020-{month:02}-11 Begin\n  C{month}:Cash  -1.00 USD\n  S{month}:Cash\n\n")
            file.write(pay.format(11, f"S{month}") * slow.get(month, 1))
        file.write("2020-07-01 Pay\n  C1:Cash  -1.00 USD\n  Bank:Cash\n")
    lines = plan("--on-quarantine", "hold", *HOUSE, "--monthly", "statement", "--workers", "12",
                 "planted.journal")  # fmt: skip
    found = [line.split(" statement ")[1][:7] for line in lines if "  the rollup " in line]
    check(found == ["2020-03", "2020-05", "2020-01"], f"the order of costs: {lines}")


def check_durations():
    """With a recording, the durations are those of its tasks."""
    run(LEDGERBATCH, "run", *HOUSE, "--workers", "1", "--trace", "pay.rec", "--task-wait-us", "1000",
        "pay.journal")  # fmt: skip
    lines = plan(*HOUSE, "--durations", "pay.rec", "pay.journal")
    check(lines[0] == "durations: measured, from pay.rec", lines[0])
    number, unit = lines[1].split()[1:3]
    check(unit == "ms," and float(number) >= 40, f"each task waits for 1 ms: {lines[1]}")
    check(lines[2].endswith(" 10 tasks"), lines[2])
    lines = plan(*HOUSE, "--task-wait-us", "1000", "pay.journal")
    check(lines[0].endswith(", and 1000 us of --task-wait-us"), lines[0])
    has(lines, "work: 40.04 ms, 40 tasks")


def wrong(message, *arguments, code=2):
    said = run(LEDGERBATCH, "plan", *arguments, expect=code).stderr.decode()
    check(said == f"ledgerbatch: {message}\n", f"{arguments}: {said!r}")


def check_refused():
    numbers = "--workers takes up to 16 numbers from 1 to 1024, as in 1,2,4, not "
    for value in "0", "1,", ",1", "1,,2", "x", "1 2", "1025", ",".join(["1"] * 17):
        result = run(LEDGERBATCH, "plan", "--workers", value, "pay.journal", expect=2)
        check(numbers + value in result.stderr.decode(), f"{value}: {result.stderr}")
    result = run(LEDGERBATCH, "plan", "--durations", "pay.journal", "pay.journal", expect=2)
    check(b"pay.journal: not a recording" in result.stderr, f"{result.stderr}")
    wrong("missing.journal: No such file or directory", "missing.journal", code=1)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        with open("pay.journal", "w", encoding="utf-8") as file:
            file.write(journal())
        check_workers()
        check_hot_account()
        check_rollups()
        check_planted()
        check_durations()
        check_refused()
        os.chdir("/")
    print("plans: as they must be")


if __name__ == "__main__":
    main()
