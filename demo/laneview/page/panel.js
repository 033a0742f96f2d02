/* Owns the panel, which tells about one thing in text: a task, what is at a place of a row, a lane or a
 * worker. Names come from the recording; they are only ever set as text. */

const LISTED_MAX = 8;
const panel = document.getElementById("panel");

/* Makes an element with a class, and adds texts and elements to it. */
function make(name, className, ...children) {
  const element = document.createElement(name);
  if (className) {
    element.className = className;
  }
  element.append(...children);
  return element;
}

function taskButton(task) {
  const swatch = make("span", "swatch");
  swatch.style.background = taskColour(task);
  const button = make("button", "link", swatch, taskName(task));
  button.type = "button";
  button.addEventListener("click", () => choose({ kind: "task", task }, true));
  return button;
}

function rowButton(kind, row, name) {
  const button = make("button", "link", name);
  button.type = "button";
  button.addEventListener("click", () => choose({ kind, row }, true));
  return button;
}

function laneButton(row) {
  return rowButton("lane", row, run.lanes[row]);
}

function addSection(title, ...children) {
  panel.append(make("h3", "", title), ...children);
}

function addList(title, items, makeItem) {
  const list = make("ul", "");
  for (const item of items.slice(0, LISTED_MAX)) {
    list.append(make("li", "", ...[makeItem(item)].flat()));
  }
  if (items.length > LISTED_MAX) {
    list.append(make("li", "soft", `and ${items.length - LISTED_MAX} more`));
  }
  addSection(title, list);
}

function addTerms(title, terms) {
  const list = make("dl", "");
  for (const [term, text] of terms) {
    if (text) {
      list.append(make("dt", "", term), make("dd", "", ...[text].flat()));
    }
  }
  addSection(title, list);
}

/* A length, or "" if it is not known. */
function lengthText(ns) {
  return Number.isNaN(ns) ? "" : timeText(ns);
}

function momentText(ns) {
  return Number.isNaN(ns) ? "not recorded" : `at ${exactText(ns)}`;
}

/* --- a task --- */

function kindText(task) {
  const lanes = [...entries.ofTask.of(task)].filter((entry) => entries.lane[entry] >= 0).length;
  const words = ["task in", "rollup over", "cut over"][tasks.kind[task]];
  return lanes === 0 ? "A task without lanes" : `A ${words} ${plural(lanes, "lane")}`;
}

function stateText(task) {
  const status = tasks.status[task];
  const state = ["submitted, not routed yet", "waits for lanes", "waits for a worker", "runs",
    "failed, will be retried", "parked, its lanes are poisoned", "ended", "was cancelled or refused"];
  const text = state[tasks.state[task]];
  return tasks.state[task] === ENDED && status !== 0
    ? `ended with status ${statuses.get(status) ?? status}` : text;
}

function addTimes(task) {
  const times = timesOf(task), first = attemptsOf(task)[0];
  const isOver = tasks.state[task] >= ENDED;
  addTerms("Times", [
    ["submitted", momentText(tasks.submit[task])],
    ["waited for lanes", lengthText(times.waited)],
    ["of it latched", tasks.kind[task] === ROLLUP ? lengthText(times.latched) : ""],
    ["ready", times.ready === 0 ? "taken at once"
      : lengthText(times.ready) && `${lengthText(times.ready)} until a worker took it`],
    ["started", Number.isNaN(first.start) ? "" : `${momentText(first.start)}, ${workerName(first.worker)}`],
    ["ran for", times.ran > 0 ? timeText(times.ran) : ""],
    [isOver ? "ended" : "at the end of the recording",
      isOver ? `${momentText(tasks.end[task])}${tasks.status[task] === 0 ? "" : `, ${stateText(task)}`}`
        : stateText(task)],
  ]);
}

/* What a task did in a lane from one time to another: "ran for 20 ms on worker 1". */
function addDeeds(item, lane, task, from, to) {
  const spans = laneSpans[lane], lengths = new Array(6).fill(0);
  let latchedFrom = NaN;
  for (let i = firstAfter(spans, from); i < spans.count && spans.from[i] < to; i++) {
    if (spans.task[i] === task && spans.to[i] > from) {
      lengths[spans.kind[i]] += Math.min(spans.to[i], to) - Math.max(spans.from[i], from);
      if (spans.kind[i] === LATCHED && Number.isNaN(latchedFrom)) {
        latchedFrom = Math.max(spans.from[i], from);
      }
    }
  }
  const words = ["was latched for", "was ready for", "ran for", "waited for its next attempt for",
    "was parked for", "visited the lane for"];
  const noted = (to - from) / 100; /* what took less is left out */
  const deeds = lengths.flatMap((length, kind) =>
    length > noted ? [`${words[kind]} ${timeText(length)}`] : []);
  item.push(deeds.length > 0 ? ` ${deeds.join(", ")}` : ` held it for ${timeText(to - from)}`);
  const blocker = Number.isNaN(latchedFrom) ? -1 : blockerAt(task, latchedFrom);
  if (blocker >= 0) {
    item.push("; it waited for ", taskButton(blocker));
  }
}

/* Makes an item about an entry that waited: where, and who held the lane. */
function makeReason(entry) {
  const lane = entries.lane[entry], wait = waitOf(entry), holders = holdersOf(entry);
  const where = lane >= 0 ? ["in ", laneButton(lane)] : ["for a task that it conflicts with"];
  const inner = make("ul", ""), longest = longestOf(holders);
  for (const { task, from, to } of longest) {
    const deed = [taskButton(task)];
    if (lane >= 0) {
      addDeeds(deed, lane, task, from, to);
    }
    inner.append(make("li", "", ...deed));
  }
  if (holders.length > longest.length) {
    inner.append(make("li", "soft", `and ${plural(holders.length - longest.length, "shorter one")}`));
  }
  if (holders.length === 0) {
    inner.append(make("li", "soft", "the task that held it was not recorded"));
  }
  return [...where, ` for ${timeText(wait.to - wait.from)}`, inner];
}

function addReasons(task) {
  const waits = [...entries.ofTask.of(task)].map((entry) => ({ entry, ...waitOf(entry) }))
    .filter(({ from, to }) => to > from);
  if (waits.length > LISTED_MAX) {
    waits.sort((a, b) => (b.to - b.from) - (a.to - a.from)); /* only the longest are listed */
  }
  if (waits.length > 0) {
    addList("Why it waited", waits, ({ entry }) => makeReason(entry));
  } else {
    addSection("Why it waited", make("p", "soft", "It did not wait for a lane."));
  }
}

/* The longest ones, in the order of the lane. */
function longestOf(holders) {
  const sorted = [...holders].sort((a, b) => (b.to - b.from) - (a.to - a.from));
  const chosen = new Set(sorted.slice(0, LISTED_MAX));
  return holders.filter((holder) => chosen.has(holder));
}

function addAttempts(task) {
  const failed = tasks.failed.get(task) ?? [];
  addList("Failed attempts", failed, (attempt) => {
    const parked = Number.isNaN(attempt.parked) ? "" : `, parked ${momentText(attempt.parked)}`;
    const ready = Number.isNaN(attempt.ready) ? "" : `, ready again ${momentText(attempt.ready)}`;
    return `${momentText(attempt.end)} ${workerName(attempt.worker)}${parked}${ready}`;
  });
}

function addVisits(task) {
  const visits = [...entries.ofTask.of(task)].flatMap((entry) =>
    (entries.visits.get(entry) ?? []).map((visit) => ({ ...visit, lane: entries.lane[entry] })));
  visits.sort((a, b) => a.from - b.from);
  addList("Visits", visits, ({ lane, from, to, worker, hasFailed }) =>
    [lane >= 0 ? laneButton(lane) : "a lane",
      ` ${momentText(from)} for ${timeText(to - from)}, ${workerName(worker)}${hasFailed ? ", failed" : ""}`]);
}

function addWaiters(task) {
  const waiters = new Set();
  for (const entry of entries.ofTask.of(task)) {
    for (const other of waitersOf(entry)) {
      waiters.add(entries.task[other]);
    }
  }
  if (waiters.size > 0) {
    addList(`Behind it: ${plural(waiters.size, "task")} waited`, [...waiters], taskButton);
  }
}

function showTask(task) {
  panel.append(make("h2", "", taskName(task)));
  panel.append(make("p", "soft",
    `${kindText(task)}; label ${tagName(task)}, tag ${run.tags[tasks.tag[task]][0]}`));
  addTimes(task);
  addReasons(task);
  const own = [...entries.ofTask.of(task)].filter((entry) => entries.lane[entry] >= 0);
  if (own.length > 0) {
    addList("Claims", own, (entry) => [laneButton(entries.lane[entry]),
      `${modeName(entries.mode[entry])}${isGivenUp(entry) ? " (given up)"
        : Number.isNaN(entries.arrive[entry]) ? "" : `, granted ${momentText(entries.arrive[entry])}`}`]);
  }
  if (tasks.failed.has(task)) {
    addAttempts(task);
  }
  if (tasks.kind[task] === CUT) {
    addVisits(task);
  }
  addWaiters(task);
}

/* --- other things --- */

function showIdle({ row, span }) {
  const spans = workerSpans[row], text = idleText(spans, span);
  const from = spans.from[span], to = spans.to[span];
  panel.append(make("h2", "", `worker ${row}`), make("p", "", text));
  panel.append(make("p", "soft", `idle for ${timeText(to - from)}, from ${exactText(from)} on`));
  const named = [spans.task[span], spans.kind[span] === BLOCKED ? spans.second[span] : -1]
    .filter((task) => task >= 0);
  if (named.length > 0) {
    addList("The tasks", [...new Set(named)], taskButton);
  }
}

function showQueue({ row, time }) {
  const queue = queueAt(row, time);
  const head = headAt(row, time, entries.ofLane.first[row + 1]);
  panel.append(make("h2", "", `${plural(queue.length, "task")} wait${queue.length === 1 ? "s" : ""} in `
    + run.lanes[row]));
  panel.append(make("p", "soft", `at ${exactText(Math.round(time))}`));
  if (head >= 0) {
    addSection("At the head", make("p", "", taskButton(entries.task[head])));
  }
  addList("They wait", queue, (entry) => {
    const wait = waitOf(entry);
    return [taskButton(entries.task[entry]), ` for ${timeText(wait.to - wait.from)}`];
  });
}

function showLane({ row }) {
  const own = [...entries.ofLane.of(row)], depths = depthsOf(row);
  const lengths = own.map((entry) => ({ entry, length: waitOf(entry).to - waitOf(entry).from }))
    .filter(({ length }) => length > 0).sort((a, b) => b.length - a.length);
  let busy = 0;
  const spans = laneSpans[row];
  for (let i = 0, reached = 0; i < spans.count; i++) {
    if (spans.kind[i] === LANE_RUNS || spans.kind[i] === VISITED) {
      busy += Math.max(0, spans.to[i] - Math.max(spans.from[i], reached));
      reached = Math.max(reached, spans.to[i]);
    }
  }
  panel.append(make("h2", "", run.lanes[row]));
  addTerms("This lane", [
    ["tasks", String(own.length)],
    ["busy", `${timeText(busy)} of ${timeText(run.end)}`],
    ["waited at once", `${depths.most} at most`],
  ]);
  if (lengths.length > 0) {
    addList("Longest waits in it", lengths, ({ entry, length }) =>
      [taskButton(entries.task[entry]), ` ${timeText(length)}`]);
  }
  addList("First tasks in it", own, (entry) => taskButton(entries.task[entry]));
}

function showWorker({ row }) {
  const spans = workerSpans[row], lengths = new Array(5).fill(0);
  for (let i = 0; i < spans.count; i++) {
    lengths[spans.kind[i]] += spans.to[i] - spans.from[i];
  }
  panel.append(make("h2", "", `worker ${row}`));
  addTerms("What it did", ["ran tasks", "had no work", "was blocked", "searched", "slept with work there"]
    .map((term, kind) => [term, timeText(lengths[kind])]));
}

/* Fills the panel. */
function show(thing) {
  panel.replaceChildren();
  if (!thing) {
    panel.append(make("h2", "", "Nothing is chosen"),
      make("p", "", "Point at a bar, or at the strip below a lane, to read about it here. "
        + "A click keeps it. With the keyboard: move to the chart with Tab, and use the arrow keys."));
    return;
  }
  const shows = { task: ({ task }) => showTask(task), idle: showIdle, queue: showQueue,
    lane: showLane, worker: showWorker };
  shows[thing.kind](thing);
}
