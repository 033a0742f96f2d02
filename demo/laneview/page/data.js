"use strict";
/* Owns the recording: reads the numbers that laneview wrote, and answers questions about them.
 * Times are nanoseconds since the recording's zero; NaN: not seen. Indexes: -1 is none. */

const run = JSON.parse(document.getElementById("data").textContent);

const TASK = 0, ROLLUP = 1, CUT = 2;
const SUBMITTED = 0, WAITING = 1, READY = 2, RUNNING = 3, RETRYING = 4, PARKED = 5, ENDED = 6,
  CANCELLED = 7;
const LATCHED = 0, LANE_READY = 1, LANE_RUNS = 2, LANE_RETRYING = 3, LANE_PARKED = 4, VISITED = 5;
const RUNS = 0, NO_WORK = 1, BLOCKED = 2, SEARCHES = 3, SLEEPS = 4;
const SHARED_MODE = 1;

/* Reads a flat array of numbers from its begin, row by row. */
class Rows {
  constructor(numbers, width) {
    this.numbers = numbers;
    this.count = numbers.length / width;
    this.at = 0;
  }

  next() {
    return this.numbers[this.at++];
  }

  /* A time that is written as the difference to the last one that was seen. */
  time() {
    const difference = this.next();
    if (difference === null) {
      return NaN;
    }
    this.last += difference;
    return this.last;
  }
}

function readTasks() {
  const rows = new Rows(run.tasks, 8), count = rows.count;
  const tasks = {
    count, ticket: new Float64Array(count), tag: new Int32Array(count),
    kind: new Uint8Array(count), state: new Uint8Array(count), status: new Float64Array(count),
    worker: new Int32Array(count), shade: new Int32Array(count), submit: new Float64Array(count),
    ready: new Float64Array(count), start: new Float64Array(count), end: new Float64Array(count),
    failed: new Map(),
  };
  let ticket = 0, submit = 0, shade = 0;
  for (let i = 0; i < count; i++) {
    rows.last = ticket;
    tasks.ticket[i] = rows.time();
    ticket = rows.last;
    tasks.tag[i] = rows.next();
    const state = rows.next();
    tasks.kind[i] = state % 4;
    tasks.state[i] = Math.floor(state / 4) % 8;
    tasks.status[i] = Math.floor(state / 32);
    tasks.worker[i] = rows.next();
    tasks.shade[i] = tasks.kind[i] === TASK ? -1 : shade++;
    rows.last = submit;
    tasks.submit[i] = rows.time();
    submit = rows.last;
    tasks.ready[i] = rows.time();
    tasks.start[i] = rows.time();
    tasks.end[i] = rows.time();
  }
  return tasks;
}

function readAttempts(tasks) {
  const rows = new Rows(run.attempts, 6);
  for (let i = 0, task = 0; i < rows.count; i++) {
    task += rows.next();
    const attempt = { worker: rows.next() };
    rows.last = 0;
    attempt.start = rows.time();
    attempt.end = rows.time();
    attempt.parked = rows.time();
    attempt.ready = rows.time();
    tasks.failed.set(task, [...(tasks.failed.get(task) ?? []), attempt]);
  }
}

/* Lists the indexes of entries by a number of theirs: those of `number` are
 * items[first[number]] to items[first[number + 1] - 1]. */
function listBy(numbers, count) {
  const first = new Int32Array(count + 1), items = new Int32Array(numbers.length);
  for (const number of numbers) {
    if (number >= 0) {
      first[number + 1]++;
    }
  }
  for (let i = 0; i < count; i++) {
    first[i + 1] += first[i];
  }
  const next = first.slice();
  numbers.forEach((number, i) => {
    if (number >= 0) {
      items[next[number]++] = i;
    }
  });
  return { first, items, of: (number) => items.subarray(first[number], first[number + 1]) };
}

function readEntries(taskCount) {
  const rows = new Rows(run.entries, 6), count = rows.count;
  const entries = {
    count, task: new Int32Array(count), lane: new Int32Array(count), mode: new Uint8Array(count),
    enter: new Float64Array(count), arrive: new Float64Array(count),
    release: new Float64Array(count), place: new Int32Array(count), visits: new Map(),
  };
  let task = 0, enter = 0;
  for (let i = 0; i < count; i++) {
    task += rows.next();
    entries.task[i] = task;
    entries.lane[i] = rows.next();
    entries.mode[i] = rows.next();
    rows.last = enter;
    entries.enter[i] = rows.time();
    enter = rows.last;
    entries.arrive[i] = rows.time();
    entries.release[i] = rows.time();
  }
  entries.ofTask = listBy(entries.task, taskCount);
  entries.ofLane = listBy(entries.lane, run.lanes.length);
  return entries;
}

function readVisits(entries) {
  const rows = new Rows(run.visits, 5);
  for (let i = 0, entry = 0; i < rows.count; i++) {
    entry += rows.next();
    const visit = { worker: rows.next() };
    rows.last = 0;
    visit.from = rows.time();
    visit.to = rows.time();
    visit.hasFailed = rows.next() === 1;
    entries.visits.set(entry, [...(entries.visits.get(entry) ?? []), visit]);
  }
}

/* For each entry in the order of its lane, the latest release of it and of all before it. Entries
 * whose release is early enough need not be looked at. */
function latestReleases(entries) {
  const latest = new Float64Array(entries.count), list = entries.ofLane;
  for (let lane = 0; lane < run.lanes.length; lane++) {
    let release = 0;
    for (let at = list.first[lane]; at < list.first[lane + 1]; at++) {
      entries.place[list.items[at]] = at;
      release = Math.max(release, endOf(entries, list.items[at]));
      latest[at] = release;
    }
  }
  return latest;
}

/* When an entry was released; Infinity if that was not seen. */
function endOf(entries, entry) {
  const release = entries.release[entry];
  return Number.isNaN(release) ? Infinity : release;
}

/* The spans of a row, sorted by their begin. `latest` is the latest end so far. */
function newSpans(count) {
  return {
    count, from: new Float64Array(count), to: new Float64Array(count),
    latest: new Float64Array(count), kind: new Uint8Array(count), task: new Int32Array(count),
    slot: new Uint8Array(count), slots: new Uint8Array(count).fill(1),
    extra: new Int32Array(count), second: new Int32Array(count).fill(-1),
  };
}

function noteLatest(spans) {
  let latest = 0;
  for (let i = 0; i < spans.count; i++) {
    latest = Math.max(latest, spans.to[i]);
    spans.latest[i] = latest;
  }
}

/* `extra` is the number of lanes in which a latched task has arrived, or the number of an attempt. */
function readLaneSpans(numbers) {
  const rows = new Rows(numbers, 4), spans = newSpans(rows.count);
  rows.last = 0;
  for (let i = 0, task = 0; i < rows.count; i++) {
    spans.from[i] = rows.time();
    spans.to[i] = spans.from[i] + rows.next();
    const look = rows.next();
    spans.kind[i] = look % 8;
    spans.slot[i] = Math.floor(look / 8) % 8;
    spans.slots[i] = Math.floor(look / 64) % 8;
    spans.extra[i] = Math.floor(look / 512);
    task += rows.next();
    spans.task[i] = task;
  }
  noteLatest(spans);
  return spans;
}

/* `extra` is the holder's state; `second` the row of a visited lane, or the holder. */
function readWorkerSpans(numbers) {
  const rows = new Rows(numbers, 4), spans = newSpans(rows.count);
  let time = 0, task = 0;
  for (let i = 0; i < rows.count; i++) {
    spans.from[i] = time;
    time += rows.next();
    spans.to[i] = time;
    const look = rows.next();
    spans.kind[i] = look % 8;
    spans.extra[i] = Math.floor(look / 8) % 8;
    task += rows.next();
    spans.task[i] = look >= 64 ? task : -1;
    spans.second[i] = rows.next() - 1;
  }
  noteLatest(spans);
  return spans;
}

const tasks = readTasks();
readAttempts(tasks);
const entries = readEntries(tasks.count);
readVisits(entries);
const latest = latestReleases(entries);
const laneSpans = run.laneSpans.map(readLaneSpans);
const workerSpans = run.workerSpans.map(readWorkerSpans);
const statuses = new Map(run.statuses);

/* --- questions --- */

/* The end of what lasts, or of the recording. */
function until(time) {
  return Number.isNaN(time) ? run.end : Math.min(time, run.end);
}

/* All attempts at a task. The last one may not have begun. */
function attemptsOf(task) {
  const last = { worker: tasks.worker[task], start: tasks.start[task], end: tasks.end[task],
    parked: NaN, ready: NaN };
  return [...(tasks.failed.get(task) ?? []), last];
}

function isGivenUp(entry) {
  return Number.isNaN(entries.arrive[entry]) && !Number.isNaN(entries.release[entry]);
}

/* In how many lanes a task has arrived at a time, and how many there are: "1/2". */
function arrivedAt(task, time) {
  let arrived = 0, all = 0;
  for (const entry of entries.ofTask.of(task)) {
    arrived += entries.arrive[entry] <= time;
    all += !Number.isNaN(entries.arrive[entry]) || !(entries.release[entry] <= time);
  }
  return `${arrived}/${all}`;
}

/* Finds the first span of a row that ends after a time. */
function firstAfter(spans, time) {
  let low = 0, high = spans.count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (spans.latest[middle] > time) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/* Finds a task by its ticket. */
const byTicket = new Map();
for (let i = 0; i < tasks.count; i++) {
  if (!Number.isNaN(tasks.ticket[i])) {
    byTicket.set(tasks.ticket[i], i);
  }
}
