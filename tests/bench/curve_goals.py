"""The goals of the curves. Each goal bounds a figure that is computed from medians of points."""
import os
from typing import Callable, NamedTuple


class Goal(NamedTuple):
    what: str
    figure: Callable        # a function of the points, made by the functions below
    bound: float
    is_least: bool = False  # the bound is the least good value; otherwise the largest


# Points are a dictionary: (curve, series, x) -> median. If a point is missing, the figure raises
# KeyError, and the goal is left out.

def at(curve, series, x):
    """Returns a figure: one point."""
    return lambda points: points[curve, series, x]


def ratio(above, below):
    """Returns a figure: one figure divided by another."""
    return lambda points: above(points) / below(points)


def spread(curve, series, first, last=float("inf")):
    """Returns a figure: the largest of the points from `first` to `last`, divided by the least."""
    def figure(points):
        values = [value for (of, name, x), value in points.items()
                  if (of, name) == (curve, series) and first <= x <= last]
        if len(values) < 2:
            raise KeyError(curve)
        return max(values) / min(values)
    return figure


def most(curve, series):
    """Returns a figure: the largest of all points of the series."""
    def figure(points):
        values = [value for (of, name, _), value in points.items()
                  if (of, name) == (curve, series)]
        if not values:
            raise KeyError(curve)
        return max(values)
    return figure


def with_cpus(least, figure):
    """Returns the figure if there are at least `least` CPUs; otherwise the goal is left out."""
    def judged(points):
        if len(os.sched_getaffinity(0)) < least:
            raise KeyError(least)
        return figure(points)
    return judged


BATCHES, SEVERAL = "one submitter, batches of 64", "four submitters, one by one"

GOALS = [
    Goal("submit with 1 claim / an exchange",
         ratio(at("submit", "submit", 1), at("submit", "an exchange", 1)), 3),
    Goal("10 claims from submit to end inside one worker, ns",
         at("inside", "keys in common", 10), 150),
    Goal("the same, no conflicts, ns", at("inside", "no conflicts", 10), 150),
    Goal("allocations a task with 1 claim, second fill", at("allocations", "1 claim", 2), 0),
    Goal("the same, 3 claims", at("allocations", "3 claims", 2), 0),
    Goal("the same, 10 claims", at("allocations", "10 claims", 2), 0),
    Goal("submit at 100 to 1,000,000 pending: largest / least", spread("depth", "submit", 100), 1.6),
    Goal("submit with a rule and 16 kinds, 32,000 pending / 32",
         ratio(at("rule", "16 kinds", 32000), at("rule", "16 kinds", 32)), 2),
    Goal("submit with a rule, no conflict, 32,000 pending / a bare loop",
         ratio(at("rule", "no conflict", 32000), at("rule", "a bare loop, no conflict", 32000)), 1.2),
    Goal("submit with a rule, the newest conflicts: largest / least",
         spread("rule", "conflicts with the newest", 32), 1.6),
    Goal("submit and wait beside a parked client, 100,000 tasks behind it / none",
         ratio(at("beside_parked", "beside a detached task", 100000),
               at("beside_parked", "beside a detached task", 0)), 1.2),
    Goal("resolving a parked task, of 100,000 / of 10,000",
         ratio(at("resolve", "one by one", 100000), at("resolve", "one by one", 10000)), 2),
    Goal("start of a task, workers asleep / of a bare semaphore's thread, median",
         ratio(at("wake", "lanepool", 2), at("wake", "semaphore", 2)), 1.3),
    Goal("the same, 99th percentile",
         ratio(at("wake", "lanepool", 100), at("wake", "semaphore", 100)), 1.3),
    Goal("waiting at 70 % load in task lengths, 99th percentile", at("load_p99", "lanepool", 70), 5),
    Goal("start of a task beside one of 1 ms, us, 99th percentile",
         at("beside_long", "lanepool", 100), 50),
    Goal("cold task beside 1 flooded key, 99th percentile / bound",
         at("cold_to_bound", "workers route", 1), 1),
    Goal("the same, 2 flooded keys: all workers busy", at("cold_to_bound", "workers route", 2), 1),
    Goal("the same, 4 flooded keys", at("cold_to_bound", "workers route", 4), 1),
    Goal("the same, 4 flooded keys, submitters route",
         at("cold_to_bound", "submitters route", 4), 1),
    Goal("credits of one account, COMMUTING / unclaimed",
         ratio(at("hot", "COMMUTING", 1), at("hot", "unclaimed", 1)), 1.15),
    Goal("bank's account, bodies at once: COMMUTING / accumulator",
         at("bank_ratio", "COMMUTING", 0), 0.9, is_least=True),
    Goal("idle pool of 1 to 16 workers, ms of CPU time per second", most("idle_cpu", "lanepool"), 1),
    Goal("efficiency of 16 workers, 10 us, batches",
         with_cpus(16, at("workers_10us", BATCHES, 16)), 0.85, is_least=True),
    Goal("the same, 4 submitters",
         with_cpus(16, at("workers_10us", SEVERAL, 16)), 0.85, is_least=True),
    Goal("efficiency of 16 workers, 1 us, batches",
         with_cpus(16, at("workers_1us", BATCHES, 16)), 0.6, is_least=True),
    Goal("the same, 4 submitters",
         with_cpus(16, at("workers_1us", SEVERAL, 16)), 0.6, is_least=True),
]
