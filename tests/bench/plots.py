"""How each curve is drawn. A curve that is not here has its table only."""
from typing import NamedTuple


class Plot(NamedTuple):
    title: str
    x_label: str
    y_label: str   # with the unit
    log: str = ""  # the axes with logarithmic scales: "x", "y", "xy"


PLOTS = {
    "depth": Plot("One key for each task: cost beside what is pending", "pending tasks",
                  "ns for each task", "x"),
}
