/* Owns the state of the page: the time that is shown, what is chosen and what is pointed at; and the
 * pointers, keys and the address that change it. */

const SPAN_MIN = 20; /* nanoseconds, the narrowest time that is shown */
const ZOOM = 1.25, CLICK_SLACK = 4;
const VISIBLE_MIN = 8; /* pixels of a bar that is in view */

const parts = [
  new Part("workers", run.workerSpans.map((_, i) => `worker ${i}`), workerSpans),
  new Part("lanes", run.lanes, laneSpans),
];
const [workersPart, lanesPart] = parts;
const axis = document.getElementById("axis"), tip = document.getElementById("tip");
const nowText = document.getElementById("now"), chart = document.getElementById("chart");
let chosen = null, isDrawing = false;

for (let lane = 0; lane < run.lanes.length; lane++) {
  mostWaiting = Math.max(mostWaiting, depthsOf(lane).most);
}

/* The tasks for which the chosen one waited. */
let chosenHolders = new Set();

function chosenTask() {
  return chosen?.kind === "task" ? chosen.task : -1;
}

function isChosenTask(task) {
  return task >= 0 && task === chosenTask();
}

function isChosenRow(part, row) {
  return chosen !== null && chosen.row === row
    && (chosen.kind === "lane" || chosen.kind === "queue" ? part.isLanes
      : chosen.kind === "worker" && !part.isLanes);
}

/* --- drawing --- */

function roundStep(span, count) {
  const wanted = span / count;
  for (let decade = 1; ; decade *= 10) {
    for (const factor of [1, 2, 5]) {
      if (decade * factor >= wanted) {
        return decade * factor;
      }
    }
  }
}

function listTicks() {
  const step = roundStep(view.to - view.from, Math.max(2, (view.width - view.left) / 90));
  const ticks = [];
  for (let tick = Math.ceil(view.from / step) * step; tick <= view.to; tick += step) {
    ticks.push(tick);
  }
  return { step, ticks };
}

function drawAxis({ step, ticks }) {
  const pen = preparePen(axis, view.width, 20);
  pen.font = FONT;
  pen.fillStyle = theme.soft;
  pen.textAlign = "center";
  for (const tick of ticks) {
    const text = tickText(tick, step), half = text.length * CHARACTER / 2;
    if (xOf(tick) - half > view.left - 20 && xOf(tick) + half < view.width) {
      pen.fillText(text, xOf(tick), 14);
    }
  }
}

function drawNow() {
  isDrawing = false;
  const ticks = listTicks();
  drawAxis(ticks);
  for (const part of parts) {
    part.draw(ticks.ticks);
  }
}

function draw() {
  if (!isDrawing) {
    isDrawing = true;
    requestAnimationFrame(drawNow);
  }
}

function resize() {
  const width = chart.clientWidth, scroller = lanesPart.scroller;
  const longest = run.lanes.reduce((most, name) => Math.max(most, [...name].length), 8);
  view.width = Math.max(160, Math.min(width, scroller.clientWidth || width));
  view.left = Math.min(Math.max(72, longest * CHARACTER + 18), width < 600 ? 84 : 150);
  draw();
}

function useTheme() {
  theme = darkScheme.matches ? DARK : LIGHT;
  patterns = new Map();
  drawLegend();
  draw();
}

/* --- time --- */

function setView(from, to) {
  const span = Math.min(Math.max(to - from, SPAN_MIN), Math.max(run.end, 1));
  const begin = Math.min(Math.max(from + (to - from - span) / 2, 0), Math.max(run.end, 1) - span);
  view.from = begin;
  view.to = begin + span;
  draw();
  noteAddress();
}

/* Zooms so that the time at x remains there. */
function zoomAt(x, factor) {
  const time = timeAt(Math.max(x, view.left)), full = Math.max(run.end, 1);
  const span = Math.min(Math.max((view.to - view.from) * factor, SPAN_MIN), full);
  const from = time - (time - view.from) * span / (view.to - view.from);
  setView(from, from + span);
}

function zoom(factor) {
  const spot = placeOf(chosen);
  const x = spot && spot.to > view.from && spot.from < view.to ? xOf((spot.from + spot.to) / 2)
    : (view.left + view.width) / 2;
  zoomAt(Math.min(Math.max(x, view.left), view.width), factor);
}

function pan(by) {
  const from = Math.min(Math.max(view.from + by, 0), Math.max(run.end, 1) - (view.to - view.from));
  setView(from, from + view.to - view.from);
}

function seeAll() {
  setView(0, Math.max(run.end, 1));
}

/* --- choosing --- */

/* From when to when a thing is, with its row in each part; null if it has no place. */
function placeOf(thing) {
  if (!thing) {
    return null;
  }
  if (thing.kind === "idle") {
    const spans = workerSpans[thing.row];
    return { from: spans.from[thing.span], to: spans.to[thing.span], worker: thing.row };
  }
  if (thing.kind !== "task") {
    return thing.kind === "worker" ? { worker: thing.row } : { lane: thing.row };
  }
  const task = thing.task, first = attemptsOf(task)[0];
  const entry = [...entries.ofTask.of(task)].find((own) => entries.lane[own] >= 0);
  const begin = [first.start, tasks.ready[task], tasks.submit[task], tasks.end[task], 0]
    .find((time) => !Number.isNaN(time));
  return { from: begin, to: Math.max(begin, until(tasks.end[task])), worker: tasks.worker[task],
    lane: entry === undefined ? undefined : entries.lane[entry] };
}

/* Brings a thing into view: its row, and its time if that is outside or too narrow
 * to see. */
function bringIntoView(thing) {
  const spot = placeOf(thing);
  if (spot.lane >= 0) {
    lanesPart.showRow(spot.lane);
  }
  if (spot.worker >= 0) {
    workersPart.showRow(spot.worker);
  }
  if (spot.from === undefined) {
    return;
  }
  const visible = Math.min(xOf(spot.to), view.width) - Math.max(xOf(spot.from), view.left);
  if (visible < VISIBLE_MIN) {
    const length = Math.max(spot.to - spot.from, SPAN_MIN), span = view.to - view.from;
    const isWide = length / span * (view.width - view.left) >= VISIBLE_MIN;
    const wanted = isWide ? span : length * 8, middle = (spot.from + spot.to) / 2;
    setView(middle - wanted / 2, middle + wanted / 2);
  }
}

function sayNow(thing) {
  nowText.textContent = thing ? summaryOf(thing) : "";
}

/* Keeps a thing in the panel; null: nothing. */
function choose(thing, isToBeSeen) {
  chosen = thing;
  chosenHolders = new Set(thing?.kind !== "task" ? [] : [...entries.ofTask.of(thing.task)]
    .flatMap((entry) => holdersOf(entry).map(({ task }) => task)));
  show(thing);
  panel.scrollTop = 0;
  sayNow(thing);
  if (thing && isToBeSeen) {
    bringIntoView(thing);
  }
  draw();
  noteAddress();
}

/* What a place of the chart is about. */
function thingAt(spot) {
  if (!spot) {
    return null;
  }
  const { part, row, span, time } = spot;
  if (span < 0) {
    return Number.isNaN(time) ? { kind: part.isLanes ? "lane" : "worker", row }
      : { kind: "queue", row, time };
  }
  const spans = part.spans[row];
  return part.isLanes || spans.kind[span] === RUNS ? { kind: "task", task: spans.task[span], row, span }
    : { kind: "idle", row, span };
}

/* One line about a thing, for the tool tip and for screen readers. */
function summaryOf(thing) {
  switch (thing.kind) {
  case "task": {
    const times = timesOf(thing.task);
    return `${taskName(thing.task)}: waited ${lengthText(times.waited) || "?"}, `
      + `ran ${timeText(times.ran)}`;
  }
  case "idle":
    return idleText(workerSpans[thing.row], thing.span);
  case "queue": {
    const queue = queueAt(thing.row, thing.time);
    return `waiting in ${run.lanes[thing.row]}: `
      + queue.slice(0, 4).map((entry) => taskName(entries.task[entry])).join(", ")
      + (queue.length > 4 ? `, and ${queue.length - 4} more` : "");
  }
  case "lane":
    return run.lanes[thing.row];
  }
  return `worker ${thing.row}`;
}

function tipText(spot, thing) {
  return thing.kind === "task" && spot.part.isLanes && spot.span >= 0
    && spot.part.spans[spot.row].kind[spot.span] !== LANE_RUNS
    ? headText(spot.part.spans[spot.row], spot.span) : summaryOf(thing);
}

function hover(spot, x, y) {
  const thing = thingAt(spot);
  tip.hidden = !thing;
  if (thing) {
    tip.textContent = tipText(spot, thing);
    const left = Math.min(x + 14, document.documentElement.clientWidth - tip.offsetWidth - 8);
    const isLow = y + 20 + tip.offsetHeight > document.documentElement.clientHeight;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${isLow ? y - tip.offsetHeight - 10 : y + 16}px`;
  }
  if (!chosen) {
    show(thing);
  }
}

/* --- pointers --- */

const pointers = new Map();
let moved = 0;

function spotOf(part, event) {
  const box = part.canvas.getBoundingClientRect();
  return { x: event.clientX - box.left, y: event.clientY - box.top };
}

function distanceOf([a, b]) {
  return Math.max(10, Math.abs(a.x - b.x));
}

function dragPointer(part, event) {
  const before = pointers.get(event.pointerId), now = { x: event.clientX, y: event.clientY };
  const [first, second] = [...pointers.values()];
  if (pointers.size === 2) {
    const other = first === before ? second : first;
    const left = part.canvas.getBoundingClientRect().left;
    zoomAt((now.x + other.x) / 2 - left, distanceOf([before, other]) / distanceOf([now, other]));
  } else {
    moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
    if (moved > CLICK_SLACK) {
      pan((before.x - now.x) * (view.to - view.from) / (view.width - view.left));
      part.scroller.scrollTop += before.y - now.y;
      part.canvas.classList.add("dragged");
    }
  }
  pointers.set(event.pointerId, now);
}

function listenTo(part) {
  const { canvas, scroller } = part;
  canvas.addEventListener("pointerdown", (event) => {
    moved = pointers.size === 0 ? 0 : CLICK_SLACK + 1;
    pointers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (pointers.has(event.pointerId)) {
      dragPointer(part, event);
    } else {
      const { x, y } = spotOf(part, event);
      hover(part.at(x, y), event.clientX, event.clientY);
    }
  });
  const lift = (event) => {
    const { x, y } = spotOf(part, event);
    if (pointers.delete(event.pointerId) && event.type === "pointerup" && moved <= CLICK_SLACK) {
      const spot = part.at(x, y);
      if (spot) {
        cursors.set(part, { row: spot.row, span: spot.span });
      }
      choose(thingAt(spot), false);
    }
    canvas.classList.remove("dragged");
  };
  canvas.addEventListener("pointerup", lift);
  canvas.addEventListener("pointercancel", lift);
  canvas.addEventListener("pointerleave", () => hover(null));
  canvas.addEventListener("dblclick", seeAll);
  scroller.addEventListener("scroll", draw);
  scroller.addEventListener("wheel", (event) => {
    if (event.shiftKey && !event.ctrlKey) {
      scroller.scrollTop += event.deltaY || event.deltaX;
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      pan(event.deltaX * (view.to - view.from) / (view.width - view.left));
    } else {
      const lines = event.deltaY * (event.deltaMode === 1 ? 16 : 1) * (event.ctrlKey ? 4 : 1);
      zoomAt(spotOf(part, event).x, Math.exp(Math.max(-300, Math.min(300, lines)) / 400));
    }
    event.preventDefault();
  }, { passive: false });
  scroller.addEventListener("keydown", (event) => moveByKey(part, event));
}

/* --- keys --- */

/* Where the keys are in a part: a row, and one of its spans or -1. */
const cursors = new Map();

function cursorOf(part) {
  return cursors.get(part) ?? { row: 0, span: -1 };
}

function moveByKey(part, event) {
  const { row, span } = cursorOf(part);
  const across = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const down = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (event.ctrlKey || event.altKey || event.metaKey || part.names.length === 0) {
    return;
  }
  if (event.shiftKey && across) {
    pan(across * (view.to - view.from) / 5);
  } else if (across) {
    moveCursor(part, row, nextSpan(part, row, span, across));
  } else if (down) {
    const next = Math.min(Math.max(row + down, 0), part.names.length - 1);
    moveCursor(part, next, spanNear(part, next, part.spans[row], span));
  } else if (event.key === "Enter") {
    panel.focus();
  } else {
    return;
  }
  event.preventDefault();
}

/* The next span of a row that can be chosen: those without work are left out. */
function nextSpan(part, row, span, by) {
  const spans = part.spans[row];
  let next = span < 0 && by > 0 ? firstAfter(spans, view.from) : span + by;
  while (!part.isLanes && next >= 0 && next < spans.count && spans.kind[next] === NO_WORK) {
    next += by;
  }
  return next >= 0 && next < spans.count ? next : span;
}

/* The span of a row at the time where the cursor was in another row. */
function spanNear(part, row, others, span) {
  const time = span >= 0 ? (others.from[span] + others.to[span]) / 2 : view.from;
  const near = firstAfter(part.spans[row], time);
  return Math.min(near, part.spans[row].count - 1);
}

function moveCursor(part, row, span) {
  cursors.set(part, { row, span });
  const thing = thingAt({ part, row, span, time: NaN }), spans = part.spans[row];
  choose(thing, false);
  part.showRow(row);
  if (span >= 0 && (spans.to[span] <= view.from || spans.from[span] >= view.to)) {
    pan((spans.from[span] + spans.to[span] - view.from - view.to) / 2);
  }
}

function pageBy(by) {
  lanesPart.scroller.scrollTop += by * lanesPart.scroller.clientHeight * 0.9;
}

const keys = {
  "+": () => zoom(1 / ZOOM), "=": () => zoom(1 / ZOOM), "-": () => zoom(ZOOM), "0": seeAll,
  "/": () => findBox.focus(), "?": () => toggleKeys(), Escape: () => choose(null, false),
  PageUp: () => pageBy(-1), PageDown: () => pageBy(1),
};

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input");
  if (!event.ctrlKey && !event.altKey && !event.metaKey && !isTyping && keys[event.key]) {
    keys[event.key]();
    event.preventDefault();
  }
});

function toggleKeys() {
  const isHidden = document.getElementById("keys").toggleAttribute("hidden");
  document.getElementById("help").setAttribute("aria-expanded", String(!isHidden));
  resize();
}

/* --- the address --- */

let isReading = false;

/* "t=12500000-40000000&task=4", with times in nanoseconds. */
function addressText() {
  const words = [`t=${Math.round(view.from)}-${Math.round(view.to)}`];
  if (chosen?.kind === "task" && !Number.isNaN(tasks.ticket[chosen.task])) {
    words.push(`task=${tasks.ticket[chosen.task]}`);
  } else if (chosen?.kind === "lane") {
    words.push(`lane=${encodeURIComponent(run.lanes[chosen.row])}`);
  }
  return `#${words.join("&")}`;
}

let addressTimer = 0;

/* Browsers limit how often a page may change its address. */
function noteAddress() {
  if (isReading || addressTimer) {
    return;
  }
  addressTimer = setTimeout(() => {
    addressTimer = 0;
    if (location.hash !== addressText()) {
      history.replaceState(null, "", addressText());
    }
  }, 250);
}

function readAddress() {
  const words = new URLSearchParams(location.hash.slice(1));
  const times = /^(\d+)-(\d+)$/.exec(words.get("t") ?? "");
  const task = byTicket.get(Number(words.get("task") ?? NaN));
  const lane = run.lanes.indexOf(words.get("lane"));
  isReading = true;
  if (times && Number(times[1]) < Number(times[2])) {
    setView(Number(times[1]), Number(times[2]));
  }
  const thing = task !== undefined ? { kind: "task", task } : lane >= 0 ? { kind: "lane", row: lane } : null;
  choose(thing, !times);
  const spot = placeOf(thing);
  if (spot?.lane >= 0) {
    lanesPart.showRow(spot.lane);
  }
  isReading = false;
}

/* --- the legend --- */

function addSample(text, look, paint) {
  const canvas = document.createElement("canvas"), pen = preparePen(canvas, 28, 16);
  pen.translate(1, 1);
  if (look) {
    pen.fillStyle = look.fill;
    pen.fillRect(0, 0, 26, 14);
    pen.strokeStyle = look.outline ?? "transparent";
    pen.setLineDash(look.dashes ?? []);
    pen.strokeRect(0.5, 0.5, 25, 13);
  }
  paint?.(pen);
  document.getElementById("legend").append(make("li", "", canvas, text));
}

function hasLook(rows, kinds) {
  return rows.some((spans) => spans.kind.some((kind) => kinds.includes(kind)));
}

function drawLegend() {
  const first = (kind) => tasks.kind.indexOf(kind);
  const rollup = first(ROLLUP), cut = first(CUT);
  document.getElementById("legend").replaceChildren();
  const names = new Map();
  for (let task = 0; task < tasks.count && names.size < 12; task++) {
    if (tasks.kind[task] === TASK && !names.has(tasks.tag[task])) {
      names.set(tasks.tag[task], task);
    }
  }
  for (const task of names.values()) {
    addSample(tagName(task), busyLook(task));
  }
  if (rollup >= 0) {
    addSample("a rollup runs, in all of its lanes", busyLook(rollup));
  }
  if (cut >= 0) {
    addSample("a cut visits its lanes: one place in their order", null, (pen) => {
      pen.strokeStyle = rollupColour(cut);
      pen.lineWidth = 2;
      pen.stroke(new Path2D("M6 0v5l14 4v5"));
    });
  }
  const looks = [[LATCHED, "latched: at the lane's head, waits for its other lanes"],
    [LANE_READY, "ready, waits for a worker"], [LANE_RETRYING, "failed, will be retried"],
    [LANE_PARKED, "parked: has failed for good, the lane is poisoned"]];
  for (const [kind, text] of looks) {
    if (hasLook(laneSpans, [kind])) {
      addSample(text, laneLook(kind, Math.max(rollup, 0)));
    }
  }
  if (hasLook(workerSpans, [BLOCKED])) {
    addSample("worker blocked: all that is pending waits in lanes or has failed",
      workerLook(BLOCKED, -1));
  }
  if (hasLook(workerSpans, [SEARCHES, SLEEPS])) {
    addSample("worker about to take work", workerLook(SEARCHES, -1));
  }
  addSample("no work", workerLook(NO_WORK, -1));
  addSample("below a lane: how many wait in it", { fill: theme.depth });
}

/* --- the beginning --- */

document.getElementById("title").textContent = run.title;
document.getElementById("facts").textContent = factsText();
document.getElementById("empty").hidden = run.lanes.length > 0;
document.getElementById("in").addEventListener("click", () => zoom(1 / ZOOM));
document.getElementById("out").addEventListener("click", () => zoom(ZOOM));
document.getElementById("all").addEventListener("click", seeAll);
document.getElementById("help").addEventListener("click", toggleKeys);
parts.forEach(listenTo);
new ResizeObserver(resize).observe(chart);
window.addEventListener("hashchange", readAddress);
darkScheme.addEventListener("change", useTheme);
useTheme();
resize();
readAddress();
