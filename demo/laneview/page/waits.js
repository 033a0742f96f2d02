/* Owns who waits for whom. The holder of a lane is the task at its head, as in a replay. */

/* The earlier one of two times, of which the second may be NaN. */
function earlier(time, other) {
  return other < time ? other : time;
}

/* When an entry began and ended to wait. */
function waitOf(entry) {
  const enter = entries.enter[entry];
  const end = earlier(earlier(earlier(run.end, entries.arrive[entry]), entries.release[entry]),
    tasks.end[entries.task[entry]]);
  return { from: Number.isNaN(enter) ? end : Math.min(enter, end), to: end };
}

/* When an entry had its lane. */
function holdOf(entry) {
  return { from: entries.arrive[entry], to: until(entries.release[entry]) };
}

/* Lists who held an entry's lane while the entry waited, in the order of the lane: the other entry,
 * and from when to when. */
function holdersOf(entry) {
  const wait = waitOf(entry), lane = entries.lane[entry], found = [];
  if (lane < 0) {
    return lane < -1 && wait.to > wait.from
      ? [{ task: -2 - lane, entry: -1, from: wait.from, to: wait.to }] : [];
  }
  const list = entries.ofLane;
  for (let at = entries.place[entry] - 1;
    at >= list.first[lane] && latest[at] > wait.from && wait.to > wait.from; at--) {
    const other = list.items[at], hold = holdOf(other);
    const from = Math.max(hold.from, wait.from), to = Math.min(hold.to, wait.to);
    if (to > from) {
      found.push({ task: entries.task[other], entry: other, from, to });
    }
  }
  return found.reverse();
}

/* The first task that a task waits for at a time: the head of the first lane that it has not been
 * granted. -1 if there is none. */
function blockerAt(task, time) {
  for (const entry of entries.ofTask.of(task)) {
    const { from, to } = waitOf(entry);
    if (!(from <= time && time < to)) {
      continue;
    }
    const lane = entries.lane[entry];
    if (lane < -1) {
      return -2 - lane;
    }
    const head = lane < 0 ? -1 : headAt(lane, time, entries.place[entry]);
    if (head >= 0 && entries.task[head] !== task) {
      return entries.task[head];
    }
  }
  return -1;
}

/* The first position in a lane's list at which an entry was not released at a time. */
function firstOpen(lane, time) {
  let low = entries.ofLane.first[lane], high = entries.ofLane.first[lane + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (latest[middle] > time) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/* The entry at the head of a lane at a time, before a position in the lane's list. -1: none. */
function headAt(lane, time, place) {
  for (let at = firstOpen(lane, time); at < place; at++) {
    const entry = entries.ofLane.items[at];
    if (endOf(entries, entry) > time && !(entries.enter[entry] > time)) {
      return entry;
    }
  }
  return -1;
}

/* Lists the entries that wait in a lane at a time. */
function queueAt(lane, time) {
  const list = entries.ofLane, found = [];
  for (let at = firstOpen(lane, time); at < list.first[lane + 1]; at++) {
    if (entries.enter[list.items[at]] > time) {
      break;
    }
    const { from, to } = waitOf(list.items[at]);
    if (from <= time && time < to) {
      found.push(list.items[at]);
    }
  }
  return found;
}

/* Lists the entries that waited in a lane while this entry held it. */
function waitersOf(entry) {
  const lane = entries.lane[entry], hold = holdOf(entry), list = entries.ofLane, found = [];
  if (lane < 0 || Number.isNaN(hold.from)) {
    return found;
  }
  for (let at = entries.place[entry] + 1; at < list.first[lane + 1]; at++) {
    const other = list.items[at], wait = waitOf(other);
    if (wait.from >= hold.to) {
      break;
    }
    if (Math.min(wait.to, hold.to) > Math.max(wait.from, hold.from)) {
      found.push(other);
    }
  }
  return found;
}

/* How many entries wait in a lane from each time on. */
const depthsOfLanes = new Map();
function depthsOf(lane) {
  if (!depthsOfLanes.has(lane)) {
    const changes = [];
    for (const entry of entries.ofLane.of(lane)) {
      const { from, to } = waitOf(entry);
      if (to > from) {
        changes.push([from, 1], [to, -1]);
      }
    }
    changes.sort((a, b) => a[0] - b[0]);
    const depths = { time: [], waiting: [], most: 0 };
    let waiting = 0;
    changes.forEach(([time, by], i) => {
      waiting += by;
      if (i + 1 === changes.length || changes[i + 1][0] !== time) {
        depths.time.push(time);
        depths.waiting.push(waiting);
        depths.most = Math.max(depths.most, waiting);
      }
    });
    depthsOfLanes.set(lane, depths);
  }
  return depthsOfLanes.get(lane);
}

/* The times of a task: how long it waited for lanes, was latched, was ready, and ran. NaN: not
 * known. */
function timesOf(task) {
  const first = attemptsOf(task)[0], ready = tasks.ready[task];
  let arrived = Infinity, granted = NaN;
  for (const entry of entries.ofTask.of(task)) {
    const arrive = entries.arrive[entry];
    arrived = Math.min(arrived, Number.isNaN(arrive) ? Infinity : arrive);
    granted = Number.isNaN(arrive) || granted > arrive ? granted : arrive;
  }
  const isOver = !Number.isNaN(tasks.end[task]);
  const waitEnd = Number.isNaN(ready) ? (isOver ? NaN : run.end) : ready;
  return {
    waited: waitEnd - tasks.submit[task],
    latched: tasks.kind[task] === ROLLUP ? Math.max(0, waitEnd - arrived) : NaN,
    ready: (Number.isNaN(first.start) ? (isOver ? NaN : run.end) : first.start) - ready,
    ran: attemptsOf(task).reduce((sum, { start, end }) =>
      Number.isNaN(start) ? sum : sum + until(end) - start, 0),
    granted,
  };
}
