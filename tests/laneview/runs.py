"""Reads recordings of real pools, without laneview's help, and judges them."""
import struct
from collections import defaultdict

import schedule
from views import check


class Run:
    """The header's lines by their first word, and the events, each a dictionary."""

    FIELDS = ("time", "task", "object", "detail", "thread", "type", "object_type")

    def __init__(self, contents):
        lines, marker, rest = contents.partition(b"\nevents ")
        check(marker, "a header")
        self.header = [line.split(" ", 1) for line in lines.decode().split("\n")]
        count, _, records = rest.partition(b"\n")
        check(len(records) == 32 * int(count), f"{count} records have {len(records)} bytes")
        self.events = [dict(zip(self.FIELDS, fields)) for fields in struct.iter_unpack("<QQQIHBB", records)]
        self.check_attempts()
        self.starts = {event["task"]: event for event in reversed(self.of(schedule.START))}
        self.ends = self.once(schedule.END)
        self.visits = self.read_visits()

    def values(self, word):
        return [line[1] for line in self.header if line[0] == word]

    def of(self, type, **wanted):
        return [event for event in self.events if event["type"] == type
                and all(event[name] == value for name, value in wanted.items())]  # fmt: skip

    def once(self, type):
        """The events of a type that comes once for each task, by ticket."""
        found = {}
        for event in self.of(type):
            check(event["task"] not in found, f"twice: {event}")
            found[event["task"]] = event
        return found

    def check_attempts(self):
        """What starts fails, is parked, or ends, before it starts again; who is parked is ready again, or ends."""
        states = {}
        follows = {schedule.START: ("ready",), schedule.RETRY: ("runs",), schedule.PARK: ("runs", "to retry"),
                   schedule.READY: (None, "to retry", "parked"),
                   schedule.END: ("runs", "parked", "ready")}  # fmt: skip
        names = {schedule.START: "runs", schedule.RETRY: "to retry", schedule.PARK: "parked",
                 schedule.READY: "ready", schedule.END: "over"}  # fmt: skip
        for event in self.events:
            if event["type"] in follows:
                check(states.get(event["task"]) in follows[event["type"]],
                      f"{event} of one that is {states.get(event['task'])}")  # fmt: skip
                states[event["task"]] = names[event["type"]]

    def read_visits(self):
        """The time of each visit, by the cut and the lane's name."""
        names = dict(value.split(" ", 2)[1:] for value in self.values("lane"))
        begins, visits = {}, {}
        for event in self.events:
            place = event["task"], names.get(str(event["object"]))
            if event["type"] == schedule.VISIT:
                check(place not in visits, f"visited twice: {event}")
                begins[place] = event
            elif event["type"] == schedule.VISITED:
                check(begins[place]["thread"] == event["thread"], f"on another thread: {event}")
                visits[place] = begins[place]["time"], event["time"]
        check(begins.keys() == visits.keys(), "each visit ends")
        return visits

    def lanes(self):
        """The lanes of each task by name, with the claims' modes; not those that it went without."""
        names = dict(value.split(" ", 2)[1:] for value in self.values("lane"))
        claims = defaultdict(dict)
        visited = {(event["task"], event["object"]) for event in self.of(schedule.VISIT)}
        for event in self.of(schedule.ENTER):
            claims[event["task"]][names[str(event["object"])]] = event["detail"] & (schedule.SHARED | schedule.COMMUTING)
        for event in self.of(schedule.RELEASE, detail=schedule.EARLY):
            if (event["task"], event["object"]) in visited:
                continue
            claims[event["task"]].pop(names[str(event["object"])])
        return claims

    def overlap(self, one, other):
        return (self.starts[one]["time"] < self.ends[other]["time"]
                and self.starts[other]["time"] < self.ends[one]["time"])  # fmt: skip

    def check_order(self):
        """Of two tasks that conflict, the earlier one has ended before the other starts, even if that
        has failed in between. A cut is in a lane while it visits it."""
        claims = self.lanes()
        for one in claims:
            for other in claims:
                for lane in claims[one].keys() & claims[other].keys():
                    if one < other and not claims[one][lane] & claims[other][lane]:
                        check(self.times(one, lane)[1] <= self.times(other, lane)[0],
                              f"#{one} and #{other} conflict in {lane}")  # fmt: skip

    def times(self, task, lane):
        """From when to when a task is in a lane."""
        visit = self.visits.get((task, lane))
        return visit or (self.starts[task]["time"], self.ends[task]["time"])
