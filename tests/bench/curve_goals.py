"""What the curves are to show. Every goal is a figure made of points' medians, against a bound."""
from typing import Callable, NamedTuple


class Goal(NamedTuple):
    what: str
    figure: Callable        # of the points: a function made by those below
    bound: float
    is_least: bool = False  # the bound is the least that is good; otherwise the most


# Points are a dictionary: (curve, series, x) -> median. A missing point is a KeyError, and the goal is
# left out.

def at(curve, series, x):
    """The point itself."""
    return lambda points: points[curve, series, x]


def ratio(above, below):
    """One figure divided by another."""
    return lambda points: above(points) / below(points)


def spread(curve, series, first, last=float("inf")):
    """How far from flat: the largest of the points from `first` to `last`, divided by the least."""
    def figure(points):
        values = [value for (of, name, x), value in points.items()
                  if (of, name) == (curve, series) and first <= x <= last]
        if len(values) < 2:
            raise KeyError(curve)
        return max(values) / min(values)
    return figure


GOALS = [
    Goal("submit at 100 to 1,000,000 pending: largest / least", spread("depth", "submit", 100), 1.6),
]
