#!/usr/bin/env python3
"""Draws a timeline that `ledgerbatch run --timeline FILE` recorded, as text.

usage: timeline.py FILE [WIDTH]

One row for each lane (client) and one for each worker; time runs to the right.
The window is the part of the run around its first month-end, or its beginning.
"""
import sys

LANES_MAX = 16
TASKS_SHOWN = 60
MARKS = {"statement": "S", "accrual": "A", "close": "C"}


class Task:
    def __init__(self, line):
        seq, self.kind, worker, start, end, clients = line.rstrip("\n").split("\t")
        self.seq, self.worker = int(seq), int(worker)
        self.start, self.end = int(start), int(end)
        self.clients = clients.split(",")

    def mark(self):
        """A rollup is drawn as a letter in each of its lanes, other tasks as their worker."""
        if self.kind in MARKS:
            return MARKS[self.kind]
        return "T" if len(self.clients) > 1 else format(self.worker % 16, "x")


def read(path):
    with open(path, encoding="utf-8") as source:
        next(source)
        return sorted((Task(line) for line in source), key=lambda task: task.start)


def choose_window(tasks):
    """The tasks around the first month-end, in the order in which they started."""
    middle = next((i for i, task in enumerate(tasks) if task.kind in MARKS), 0)
    first = max(0, middle - TASKS_SHOWN // 2)
    return tasks[first : first + TASKS_SHOWN]


def draw_row(name, name_width, tasks, start, step, width, mark):
    row = ["."] * width
    for task in sorted(tasks, key=lambda task: len(task.clients)):
        first = int((task.start - start) / step)
        last = max(first, int((task.end - start) / step - 0.001))
        for column in range(first, min(last, width - 1) + 1):
            row[column] = mark(task)
    print(f"{name:>{name_width}} |{''.join(row)}|")


def most_at_once(tasks):
    events = sorted([(task.start, 1) for task in tasks] + [(task.end, -1) for task in tasks])
    most = now = 0
    for _, change in events:
        now += change
        most = max(most, now)
    return most


def main(path, width):
    tasks = read(path)
    if not tasks:
        print("the timeline is empty: every task was done before")
        return
    shown = choose_window(tasks)
    start, end = shown[0].start, max(task.end for task in shown)
    step = max(1, end - start) / width
    clients = sorted({client for task in shown for client in task.clients})
    more = len(clients) - LANES_MAX
    clients = clients[:LANES_MAX]
    name_width = max(8, max(len(client) for client in clients))
    print(f"{len(shown)} of {len(tasks)} tasks; {(end - start) / 1e6:.3f} ms, a column is "
          f"{step / 1000:.1f} us")  # fmt: skip
    for client in clients:
        mine = [task for task in shown if client in task.clients]
        draw_row(client, name_width, mine, start, step, width, Task.mark)
    if more > 0:
        print(f"{'':>{name_width}}  ... and {more} more lanes")
    for worker in sorted({task.worker for task in shown}):
        mine = [task for task in shown if task.worker == worker]
        draw_row(f"worker {worker:x}", name_width, mine, start, step, width,
                 lambda task: MARKS.get(task.kind, "="))  # fmt: skip
    print("a digit: the worker that ran a task of this one lane; T: a transfer, in both its lanes;")
    print("S, A, C: statement, accrual, close: rollups over all lanes of a group; .: nothing ran.")
    print(f"Most tasks at one moment: {most_at_once(tasks)}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip())
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 84)
