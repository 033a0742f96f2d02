"""How each curve is drawn. A curve that is missing here, or is not drawn, has only a table."""
from typing import NamedTuple


class Plot(NamedTuple):
    title: str
    x_label: str
    y_label: str   # including the unit
    log: str = ""  # the axes with logarithmic scales: "x", "y", "xy"
    is_drawn: bool = True


PLOTS = {
    "submit": Plot("A submit by itself, while no worker is free", "claims of the task",
                   "ns for each task"),
    "inside": Plot("From submit to end inside one worker: submitted, routed, run, released",
                   "claims of the task", "ns for each task"),
    "depth": Plot("One key for each task: cost beside what is pending", "pending tasks",
                  "ns for each task", "x"),
    "allocations": Plot("What the library asks of the system's allocator", "fill of the same pool",
                        "allocations for each task", is_drawn=False),
    "claims": Plot("Tasks with many of 131,072 keys: cost of each claim", "claims of the task",
                   "ns for each claim", "x"),
    "rule": Plot("A submit where a rule of the program's decides what conflicts", "pending tasks",
                 "ns for each task", "xy"),
    "memory_task": Plot("Resident memory of a pending task", "claims of the task",
                        "bytes for each task"),
    "memory_lane": Plot("Resident memory of lanes, beside their tasks'", "lanes",
                        "bytes for each lane", "x"),
    "wake": Plot("From submit to start, all workers asleep", "one task in so many waits longer",
                 "us", "xy"),
    "beside_long": Plot("From submit to start, beside a task of 1 ms on the only other worker",
                        "one task in so many waits longer", "us", "xy"),
    "load_p50": Plot("Random arrivals of 50 us for two workers: half of all tasks wait longer",
                     "load (% of two processors)", "waiting in task lengths"),
    "load_p99": Plot("Random arrivals of 50 us for two workers: one task in 100 waits longer",
                     "load (% of two processors)", "waiting in task lengths", "y"),
    "load_p999": Plot("Random arrivals of 50 us for two workers: one task in 1,000 waits longer",
                      "load (% of two processors)", "waiting in task lengths", "y"),
    "cold_p50": Plot("A cold key's task beside keys with 100,000 tasks each: half wait longer",
                     "flooded keys (two workers)", "us", "y"),
    "cold_p99": Plot("A cold key's task beside keys with 100,000 tasks each: one in 100 waits longer",
                     "flooded keys (two workers)", "us", "y"),
    "cold_max": Plot("A cold key's task beside keys with 100,000 tasks each: the longest waiting",
                     "flooded keys (two workers)", "us", "y"),
    "cold_by_backlog": Plot("A cold key's task beside two flooded keys: one in 100 waits longer",
                            "pending tasks of each flooded key (two workers)", "us", "xy"),
    "cold_to_bound": Plot("99th percentile of a cold key's waiting, divided by its bound",
                          "flooded keys (two workers)", "times (flooded keys + 1) quanta", "y"),
    "idle_cpu": Plot("CPU time of an idle pool", "workers", "ms per second"),
    "idle_switches": Plot("Threads of an idle pool that wake up", "workers", "per second"),
    "workers_1us": Plot("Bodies of 1 us: what is used of the processors' time", "workers",
                        "share of min(workers, processors)"),
    "workers_10us": Plot("Bodies of 10 us: what is used of the processors' time", "workers",
                         "share of min(workers, processors)"),
    "workers_empty": Plot("Empty bodies: cost beside the number of workers", "workers",
                          "ns for each task"),
    "serial_us": Plot("Requests one after the other", "", "us for each", is_drawn=False),
    "serial_gain": Plot("Only the requests of one of 64 customers in order, beside one after the other",
                        "workers", "times as fast", is_drawn=False),
    "submitters_empty": Plot("Empty bodies, two workers: cost beside the number of submitters",
                             "submitting threads", "ns for each task"),
}
