"""A small simulated pool that writes recordings: what it does is known beforehand, to the nanosecond.

It schedules like the library, but by the plainest of means: one event after the other, in lists.
"""
import heapq
import struct
from pathlib import Path

US, MS = 1_000, 1_000_000
(SUBMIT, ROUTE, ENTER, ARRIVE, READY, START, END, RELEASE, STEAL, SLEEP, WAKE, CANCEL,
 NAME, RETRY, PARK, VISIT, VISITED) = range(1, 18)  # fmt: skip
ID, POINTER, BYTES, WORKER, TASK = range(1, 6)
SHARED, GRANTED, COMMUTING, CUT = 1, 2, 4, 8
EARLY = 1
OUTSIDE = 0x8000
CLOCK = OUTSIDE + 1
FAILED, POISONED = 9, 16  # how a task ends
ROUTING = 2 * US  # from the submit to the places in lanes
WAKING = 5 * US  # from the work to the worker


def record(time, type, task=0, object=0, detail=0, thread=0, object_type=0):
    """One event, byte for byte as docs/laneview.md lays it out."""
    return struct.pack("<QQQIHBB", time, task, object, detail, thread, type, object_type)


def unpack(records):
    """The members of each event, in their order."""
    return [struct.unpack("<QQQIHBB", one) for one in records]


def recording(events, workers=2, layout="key", zero=0, missed=0, tags=(), lanes=()):
    """The bytes of a file. Events are records; tags and lanes are lines of the header."""
    lines = ["lanepool-recording 1", f"workers {workers}", f"layout {layout}", f"zero {zero}",
             f"missed {missed}", *(f"tag {tag} {name}" for tag, name in tags),
             *(f"lane {lane}" for lane in lanes), f"events {len(events)}"]  # fmt: skip
    return "".join(line + "\n" for line in lines).encode() + b"".join(events)


def name_events(time, number, name, thread=OUTSIDE):
    """The NAME events of the lane of a byte string: long names are cut."""
    name = name[:64]
    for at in range(0, len(name), 8):
        part = int.from_bytes(name[at : at + 8], "little")
        yield record(time, NAME, part, number, at | len(name) << 16, thread, BYTES)


class Failure:
    """What becomes of a task that fails, in the words of scenarios."""

    def __init__(self, fails=0, retries=0, delay=0, then="go-on", at_poison="wait"):
        self.fails, self.retries, self.delay = fails, retries, delay
        self.then, self.at_poison = then, at_poison


class Task:
    def __init__(self, number, claims, duration, tag, failure):
        self.number, self.claims, self.duration, self.tag = number, claims, duration, tag
        self.failure, self.failed, self.retried, self.is_kept = failure, 0, 0, False
        self.is_refused = False
        self.ticket = self.worker = None
        self.lanes, self.waits = [], set()
        self.visit, self.is_cut = 0, False


class Visit:
    """Of a lane by a cut: it waits for a worker like a task."""

    worker, is_refused = None, False

    def __init__(self, task, lane):
        self.task, self.lane = task, lane


class Pool:
    def __init__(self, workers=2, layout="key", zero=7_000_000_000, first_ticket=1):
        self.workers, self.layout, self.zero = workers, layout, zero
        self.time, self.sequence, self.ticket = 0, 0, first_ticket
        self.agenda, self.events = [], []
        self.tags = {}
        self.lanes, self.numbers = {}, {}  # a lane is a list of [task, shared, granted]
        self.ready, self.free = [], list(range(workers))
        self.active = []

    # --- the program's side ---

    def submit(self, at, claims, duration, label="task", visit=None, **failure):
        """Claims are words, one for each key; a word that ends in / is a SHARED claim. With a visit the
        task is a cut."""
        tag = self.tags.setdefault(label, len(self.tags) + 1)
        claims = [(word.rstrip("/"), word.endswith("/")) for word in claims.split(",") if word]
        self.sequence += 1
        task = Task(1000 + self.sequence, claims, duration, tag, Failure(**failure))
        task.visit, task.is_cut = visit or 0, visit is not None
        self.plan(at, lambda: self.accept(task))
        return task

    def resolve(self, at, task, how):
        """Of a task that is kept then: retry or skip."""
        self.plan(at, lambda: self.try_anew(task) if how == "retry" else self.end(task, FAILED, OUTSIDE))

    def run(self):
        for worker in range(self.workers):
            self.note(SLEEP, thread=worker)
        while self.agenda:
            self.time, _, step = heapq.heappop(self.agenda)
            step()
        return self

    def bytes(self, **more):
        return recording(self.events, self.workers, self.layout, self.zero,
                         tags=[(tag, label) for label, tag in self.tags.items()], **more)  # fmt: skip

    def write(self, path, **more):
        Path(path).write_bytes(self.bytes(**more))
        return str(path)

    # --- the pool's side ---

    def plan(self, time, step):
        self.sequence += 1
        heapq.heappush(self.agenda, (time, self.sequence, step))

    def note(self, type, task=None, object=0, detail=0, thread=OUTSIDE, object_type=0):
        ticket = task.ticket if task and task.ticket else 0
        self.events.append(
            record(self.zero + self.time, type, ticket, object, detail, thread, object_type)
        )

    def accept(self, task):
        self.note(SUBMIT, None, task.number)
        self.plan(self.time + ROUTING, lambda: self.route(task))

    def route(self, task):
        task.ticket, self.ticket = self.ticket, (self.ticket + 1) % 2**40
        self.note(ROUTE, task, task.number, task.tag)
        places = self.places(task)
        for lane, shared in places:
            self.enter(task, lane, shared)
        for lane in [lane for lane in task.lanes if any(e[0].is_kept for e in self.lanes[lane])]:
            self.give_up(task, lane)
        self.active.append(task)
        if task.is_cut:
            for lane in [lane for lane in task.lanes if lane not in task.waits]:
                self.make_visit(task, lane)
        elif not task.waits:
            self.make_ready(task)

    def places(self, task):
        if self.layout == "key":
            return task.claims
        conflicts = [other for other in self.active if self.conflict(task, other)]
        chosen = set()
        while conflicts:  # the lane that covers most of them
            best = max(range(self.workers), key=lambda w: sum(w in c.lanes for c in conflicts))
            chosen.add(best)
            conflicts = [other for other in conflicts if best not in other.lanes]
        if not chosen:
            chosen = {min(range(self.workers), key=lambda w: len(self.lanes.get(w, [])))}
        return [(lane, False) for lane in sorted(chosen)]

    @staticmethod
    def conflict(one, other):
        return any(a == b and not (s and t) for a, s in one.claims for b, t in other.claims)

    def lane_event(self, type, task, lane, detail=0, thread=OUTSIDE):
        if self.layout == "worker":
            self.note(type, task, lane, detail, thread, WORKER)
            return
        if lane not in self.numbers:
            self.numbers[lane] = 500 + len(self.numbers)
            self.events += name_events(self.zero + self.time, self.numbers[lane], lane.encode())
        self.note(type, task, self.numbers[lane], detail, thread, BYTES)

    def enter(self, task, lane, shared):
        queue = self.lanes.setdefault(lane, [])
        granted = self.layout == "key" and all(e[2] and e[1] and shared for e in queue)
        self.lane_event(ENTER, task, lane, SHARED * shared | GRANTED * granted | CUT * task.is_cut)
        queue.append([task, shared, granted])
        task.lanes.append(lane)
        if not granted:
            task.waits.add(lane)
        if self.layout == "worker" and len(queue) == 1:
            self.arrive(queue[0], lane)

    def arrive(self, entry, lane, thread=OUTSIDE):
        entry[2] = True
        self.lane_event(ARRIVE, entry[0], lane, thread=thread)
        entry[0].waits.discard(lane)
        entry[0].worker = lane if self.layout == "worker" else None

    def make_ready(self, task, thread=OUTSIDE):
        self.note(READY, task, thread=thread)
        self.ready.append(task)
        self.plan(self.time + WAKING, self.dispatch)

    def make_visit(self, task, lane):
        self.ready.append(Visit(task, lane))
        self.plan(self.time + WAKING, self.dispatch)

    def dispatch(self):
        for task in list(self.ready):
            worker = task.worker if self.layout == "worker" else min(self.free, default=None)
            if worker not in self.free:
                continue
            self.ready.remove(task)
            if task.is_refused:
                self.end(task, POISONED, worker)
                continue
            self.free.remove(worker)
            self.note(WAKE, thread=worker)
            if isinstance(task, Visit):
                self.lane_event(VISIT, task.task, task.lane, thread=worker)
                self.plan(self.time + task.task.visit, lambda v=task, w=worker: self.end_visit(v, w))
                continue
            self.note(START, task, thread=worker)
            self.plan(self.time + task.duration, lambda t=task, w=worker: self.finish(t, w))

    def finish(self, task, worker):
        if task.failed == task.failure.fails:
            self.end(task, 0, worker)
        else:
            self.fail(task, worker)
        self.leave(worker)

    def leave(self, worker):
        self.free.append(worker)
        self.dispatch()
        if worker in self.free:
            self.note(SLEEP, thread=worker)

    def end_visit(self, visit, worker):
        task, lane = visit.task, visit.lane
        self.lane_event(VISITED, task, lane, thread=worker)
        task.lanes.remove(lane)
        queue = self.lanes[lane]
        queue[:] = [entry for entry in queue if entry[0] is not task]
        self.lane_event(RELEASE, task, lane, EARLY, thread=worker)
        self.advance(queue, lane, worker)
        if not task.lanes:
            self.make_ready(task, worker)
        self.leave(worker)

    def end(self, task, status, thread):
        self.note(END, task, detail=status, thread=thread)
        self.active.remove(task)
        task.is_kept = False
        for lane in task.lanes:
            queue = self.lanes[lane]
            queue[:] = [entry for entry in queue if entry[0] is not task]
            self.lane_event(RELEASE, task, lane, thread=thread)
            self.advance(queue, lane, thread)

    # --- failures ---

    def fail(self, task, worker):
        task.failed += 1
        if task.retried < task.failure.retries:
            task.retried += 1
            self.note(RETRY, task, detail=FAILED, thread=worker)
            self.plan(self.time + task.failure.delay, lambda: self.make_ready(task, CLOCK))
        elif task.failure.then == "poison":
            self.note(PARK, task, detail=FAILED, thread=worker)
            task.is_kept = True
            for lane in task.lanes:
                for entry in list(self.lanes[lane]):
                    self.give_up(entry[0], lane)
        else:
            self.end(task, FAILED, worker)

    def give_up(self, task, lane):
        """A task that does not wait in the poisoned lane, but fails or goes without it."""
        if lane not in task.waits or task.failure.at_poison == "wait":
            return
        task.waits.discard(lane)
        task.lanes.remove(lane)
        self.lanes[lane] = [entry for entry in self.lanes[lane] if entry[0] is not task]
        self.lane_event(RELEASE, task, lane, EARLY)
        task.is_refused = task.failure.at_poison == "fail"
        if not task.waits and task in self.active:
            self.make_ready(task)

    def try_anew(self, task):
        task.is_kept, task.retried = False, 0
        self.make_ready(task)

    def advance(self, queue, lane, worker):
        for place, entry in enumerate(queue):
            ahead = queue[:place]
            if entry[2] or (ahead and not (entry[1] and all(e[1] and e[2] for e in ahead))):
                continue
            self.arrive(entry, lane, worker)
            if entry[0].is_cut:
                self.make_visit(entry[0], lane)
            elif not entry[0].waits:
                self.make_ready(entry[0], worker)


# --- schedules that tests and pictures use ---


def seed(layout="key", workers=3):
    """A and B in parallel, a rollup over both, C unaffected, then A and B in parallel again."""
    pool = Pool(workers, layout)
    for claims, milliseconds, label in (
        ("A", 20, "post"), ("B", 35, "post"), ("C", 15, "post"), ("A,B", 25, "close"),
        ("C", 20, "post"), ("C", 30, "post"), ("A", 25, "post"), ("B", 20, "post"),
        ("C", 15, "post")):  # fmt: skip
        pool.submit(0, claims, milliseconds * MS, label)
    return pool.run()


def overlapping():
    """Rollups over A,B,C and C,D,E; D had time of its own."""
    pool = Pool(4)
    for claims, milliseconds, label in (
        ("A", 10, "post"), ("B", 25, "post"), ("C", 15, "post"), ("D", 20, "post"),
        ("E", 5, "post"), ("A,B,C", 20, "close"), ("C,D,E", 15, "close"), ("D", 10, "post"),
        ("A", 12, "post"), ("F", 40, "post")):  # fmt: skip
        pool.submit(0, claims, milliseconds * MS, label)
    return pool.run()


def poisoned():
    """A posting of B fails at 10 and at 32 ms, is kept until 70 ms, and is good then. Meanwhile a close
    over A and B waits, a report over B and C goes without B, and a check over B and C fails."""
    pool = Pool(3)
    pool.submit(0, "A", 15 * MS, "post")
    failing = pool.submit(0, "B", 10 * MS, "post", fails=2, retries=1, delay=12 * MS, then="poison")
    pool.submit(0, "C", 40 * MS, "post")
    pool.submit(0, "B", 8 * MS, "post")
    pool.submit(20 * MS, "B,C", 7 * MS, "check", at_poison="fail")
    pool.submit(40 * MS, "A,B", 15 * MS, "close")
    pool.submit(41 * MS, "B,C", 15 * MS, "report", at_poison="go-without")
    pool.submit(42 * MS, "A", 5 * MS, "post")
    pool.resolve(70 * MS, failing, "retry")
    return pool.run()


def cut():
    """A cut over A, B and C visits C at once, A after 10 ms and B after 30 ms. A and C go on meanwhile."""
    pool = Pool(3)
    for claims, milliseconds in (("A", 10), ("B", 30)):
        pool.submit(0, claims, milliseconds * MS, "post")
    pool.submit(0, "A,B,C", 5 * MS, "totals", visit=2 * MS)
    for claims, milliseconds in (("A", 8), ("B", 4), ("C", 6)):
        pool.submit(0, claims, milliseconds * MS, "post")
    return pool.run()


def hot(tasks=40):
    """One client has nearly all of the work."""
    pool = Pool(2)
    for i in range(tasks):
        pool.submit(i * 300 * US, "hot", 1 * MS, "post")
        if i % 8 == 0:
            pool.submit(i * 300 * US, f"client {i}", 2 * MS, "post")
    return pool.run()
