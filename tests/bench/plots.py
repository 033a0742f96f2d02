"""How each curve is drawn. A curve that is missing here, or is not drawn, has only a table."""
from typing import NamedTuple


class Plot(NamedTuple):
    title: str     # what the curve shows
    x_label: str
    y_label: str   # the unit
    log: str = ""  # the axes with logarithmic scales: "x", "y", "xy"
    is_drawn: bool = True
    better: str = "lower"
    # Names of x values that are categories. These have no lines between their points.
    categories: dict = {}


PERCENTILES = {2: "median", 10: "90th", 100: "99th", 1000: "99.9th"}
PERCENTILES_LABEL = "percentile of the tasks"
FLOODED = {0: "none", 1: "1", 2: "2", 4: "4"}
FLOODED_LABEL = "flooded keys with 100,000 pending tasks each, on two workers"
LOAD_LABEL = "load in % of two CPUs; random arrivals of tasks of 50 µs"
WAITING = "task lengths"

PLOTS = {
    "submit": Plot("Time of a submit, while no worker is free", "claims of the task",
                   "ns for each task"),
    "inside": Plot("Time of a task inside one worker, from its submit to its release",
                   "claims of the task", "ns for each task"),
    "depth": Plot("Time of a task with one key, by what is pending", "pending tasks",
                  "ns for each task", "x"),
    "allocations": Plot("Calls of the system's allocator", "fill of the same pool",
                        "allocations for each task", is_drawn=False),
    "claims": Plot("Time of each claim, for tasks with many of 131,072 keys", "claims of the task",
                   "ns for each claim", "x"),
    "rule": Plot("Time of a submit in a pool with a rule of the program's", "pending tasks",
                 "ns for each task", "xy"),
    "beside_parked": Plot("Submit and wait of a client, beside a parked one",
                          "tasks behind the parked task", "µs", is_drawn=False),
    "resolve": Plot("Time to resolve a parked task", "parked tasks", "ns for each task",
                    is_drawn=False),
    "memory_task": Plot("Memory of a pending task", "claims of the task", "bytes for each task"),
    "memory_lane": Plot("Memory of a lane, without its tasks", "lanes", "bytes for each lane", "x"),
    "wake": Plot("Time from submit to start, all workers asleep", PERCENTILES_LABEL, "µs", "y",
                 categories=PERCENTILES),
    "beside_long": Plot("Time from submit to start, beside a task of 1 ms on the only other worker",
                        PERCENTILES_LABEL, "µs", "y", categories=PERCENTILES),
    "load_p50": Plot("Waiting time by load: median", LOAD_LABEL, WAITING),
    "load_p99": Plot("Waiting time by load: 99th percentile", LOAD_LABEL, WAITING, "y"),
    "load_p999": Plot("Waiting time by load: 99.9th percentile", LOAD_LABEL, WAITING, "y"),
    "cold_p50": Plot("Waiting time of a task whose key is idle, beside flooded keys: median",
                     FLOODED_LABEL, "µs", "y", categories=FLOODED),
    "cold_p99": Plot("Waiting time of a task whose key is idle, beside flooded keys: "
                     "99th percentile",
                     FLOODED_LABEL, "µs", "y", categories=FLOODED),
    "cold_max": Plot("Waiting time of a task whose key is idle, beside flooded keys: longest",
                     FLOODED_LABEL, "µs", "y", categories=FLOODED),
    "cold_by_backlog": Plot("Waiting time of a task whose key is idle: 99th percentile",
                            "pending tasks of each of two flooded keys, on two workers", "µs", "xy"),
    "cold_to_bound": Plot("Waiting time of a task whose key is idle, beside its bound: "
                     "99th percentile",
                          "flooded keys; the bound is (flooded keys + 1) quanta",
                          "multiples of the bound", "y", categories=FLOODED),
    "submit_stall": Plot("Time of a submit while memory goes back, after four million tasks",
                         "one submit in so many takes longer", "µs", is_drawn=False),
    "submit_stall_max": Plot("The longest submit while memory goes back", "", "µs",
                             is_drawn=False),
    "submit_interrupted": Plot("Submits in which the thread lost its processor", "", "submits",
                               is_drawn=False),
    "idle_cpu": Plot("CPU time of an idle pool", "workers", "ms per second", "x"),
    "idle_switches": Plot("Threads of an idle pool that wake up", "workers", "per second",
                          is_drawn=False),
    "workers_1us": Plot("CPU time that runs bodies of 1 µs", "workers, on two CPUs",
                        "shares of the usable CPUs", "x", better="higher"),
    "workers_10us": Plot("CPU time that runs bodies of 10 µs", "workers, on two CPUs",
                         "shares of the usable CPUs", "x", better="higher"),
    "workers_empty": Plot("Time of an empty task, by workers", "workers, on two CPUs",
                          "ns for each task", "x"),
    "serial_us": Plot("Requests one after the other", "", "us for each", is_drawn=False),
    "serial_gain": Plot("Only the requests of one of 64 customers in order, beside one after the "
                        "other",
                        "workers", "times as fast", is_drawn=False, better="higher"),
    "hot": Plot("One account that every task credits, by the mode of the claim", "",
                "ns for each task", is_drawn=False),
    "bank": Plot("Postings that all touch the bank's account, by the mode of the claim", "",
                 "bodies at once", is_drawn=False, better="higher"),
    "bank_ratio": Plot("The same with COMMUTING claims and exact reads", "",
                       "of that without a lane", is_drawn=False, better="higher"),
    "posting_late": Plot("Lateness of paced postings while totals over 20,000 lanes are made",
                         "one posting in so many is later", "µs", is_drawn=False),
    "posting_late_max": Plot("The latest posting while totals are made", "", "µs",
                             is_drawn=False),
    "posting_late_2ms": Plot("Postings that started over 2 ms late", "", "postings",
                             is_drawn=False),
    "posting_submit_2ms": Plot("Postings that were submitted over 2 ms late", "", "submits",
                               is_drawn=False),
    "total_time": Plot("Time of a total, from submit to end: median", "", "ms", is_drawn=False),
    "total_time_max": Plot("Time of a total, from submit to end: longest", "", "ms",
                           is_drawn=False),
    "total_cpu": Plot("CPU time of a total without postings", "", "ns for each lane",
                      is_drawn=False),
    "plan": Plot("A plan for two workers, from durations measured with one, and their run",
                 "2,500 tasks of 10 to 35 µs", "ms for all tasks",
                 categories={0: "own keys", 1: "hot key", 2: "transfers", 3: "rollups", 4: "cuts"}),
    "plan_off": Plot("How far the plan is off", "", "%", is_drawn=False),
    "submitters_empty": Plot("Time of an empty task on two workers, by submitting threads",
                             "submitting threads, on two CPUs", "ns for each task", "x"),
}
