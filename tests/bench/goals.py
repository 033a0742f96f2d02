"""The goals of lanepool, most of them relative to a reference in the same round."""
from typing import NamedTuple, Optional


class Goal(NamedTuple):
    """A bound for lanepool's figure, divided by that of the reference if there is one."""
    workload: str
    figure: str               # a name in the JSON line
    reference: Optional[str]  # an engine; None: the figure itself is compared
    bound: float
    is_least: bool = False    # the bound is the least good value; otherwise the largest


# Workloads whose tasks arrive one by one; their figures are waits.
ARRIVALS = ["W11_10", "W11_50", "W11_80", "W11_sleeps", "W11_closed"]

GOALS = [
    Goal("W1", "ns_per_task", "floor", 1.6),
    Goal("W1", "ns_per_task", "tbb", 0.35),
    Goal("W1", "cpu_ns_per_task", "mutex", 0.15),
    Goal("W2", "ns_per_task", "floor", 1.6),
    Goal("W2", "ns_per_task", "tbb", 0.35),
    Goal("W3a", "ns_per_task", "mutex", 0.14),
    Goal("W3b", "ns_per_task", "mutex", 0.4),
    Goal("W3b", "ns_per_task", "hash", 0.6),
    Goal("W4", "ns_per_task", "mutex", 0.12),
    Goal("W4", "ns_per_task", "floor", 1.6),
    Goal("W4", "cpu_ns_per_task", "mutex", 0.15),
    Goal("W5", "efficiency", "bare", 0.85, is_least=True),
    Goal("W5", "efficiency", "hash", 1.0, is_least=True),
    Goal("W6_2", "ns_per_task", "mutex", 0.12),
    Goal("W6_4", "ns_per_task", "mutex", 0.12),
    Goal("W6_16", "ns_per_task", "mutex", 0.12),
    Goal("W7", "submit_ns", "mutex", 0.65),
    Goal("W7", "drain_ns", "mutex", 0.10),
    Goal("W7", "bytes_per_pending", None, 64),
    Goal("W8", "ns_per_task", "mutex", 0.12),
    Goal("W8", "ns_per_task", "floor", 1.6),
    Goal("W9", "efficiency", None, 0.75, is_least=True),
    Goal("W10a", "ns_per_task", "glib", 1.0),
    Goal("W10b", "ns_per_task", "plain", 1.1),
] + [
    Goal(workload, figure, "tbb", bound)
    for workload in ARRIVALS
    for figure, bound in (("p50_ns", 1.3), ("p90_ns", 1.0), ("p99_ns", 1.0))
]
