/* Owns the two parts of the chart: a row for each worker, and one for each lane. A part is a canvas
 * of the size that is visible. Spans that are narrower than what a row already shows are left out, so
 * that a row never has more bars than pixels. */

const WIDTH_MIN = 0.8, WIDTH_NOTED = 2, CHARACTER = 6.7, SLOTS_MAX = 8, DENSE_FROM = 24;
const FONT = "12px sans-serif", BOLD = "600 12px sans-serif", SMALL = "10px sans-serif";

const view = { from: 0, to: Math.max(run.end, 1), left: 88, width: 800 };
let mostWaiting = 1;

function xOf(time) {
  return view.left + (time - view.from) / (view.to - view.from) * (view.width - view.left);
}

function timeAt(x) {
  return view.from + (x - view.left) / (view.width - view.left) * (view.to - view.from);
}

/* Sizes a canvas in CSS pixels, and returns its pen. */
function preparePen(canvas, width, height) {
  const scale = window.devicePixelRatio || 1;
  const wide = Math.round(width * scale), high = Math.round(height * scale);
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/* Cuts a text to the room. */
function cutText(text, room) {
  const characters = [...text], most = Math.max(1, Math.floor(room / CHARACTER));
  return characters.length <= most ? text : `${characters.slice(0, most - 1).join("")}…`;
}

class Part {
  constructor(name, names, spans) {
    this.isLanes = name === "lanes";
    this.scroller = document.getElementById(name);
    this.room = this.scroller.firstElementChild;
    this.canvas = this.room.firstElementChild;
    this.names = names;
    this.spans = spans;
    this.scrolled = 0; /* when the part was drawn; reading scrollTop takes long */
    const isDense = names.length > DENSE_FROM;
    this.bar = isDense ? 17 : 26;
    this.depth = !this.isLanes ? 0 : isDense ? 6 : 11;
    this.step = this.bar + this.depth + (this.isLanes ? 7 : 5);
    this.room.style.height = `${names.length * this.step + 4}px`;
  }

  top(row) {
    return 2 + row * this.step - this.scrolled;
  }

  rowAt(y) {
    const row = Math.floor((y - 2 + this.scrolled) / this.step);
    return row >= 0 && row < this.names.length ? row : -1;
  }

  showRow(row) {
    const above = row * this.step, room = this.scroller.clientHeight - this.step;
    if (this.scroller.scrollTop > above || this.scroller.scrollTop < above - room) {
      this.scroller.scrollTop = above - room / 2;
    }
  }

  /* The bar of a span: its top and height. */
  place(spans, i, row) {
    const height = this.bar / spans.slots[i];
    return { y: this.top(row) + height * spans.slot[i], height };
  }

  draw(ticks) {
    const height = this.scroller.clientHeight;
    this.scrolled = this.scroller.scrollTop;
    this.pen = preparePen(this.canvas, view.width, height);
    this.pen.lineWidth = 1;
    const first = Math.max(0, this.rowAt(0)), last = this.rowAt(height);
    this.shown = { first, last: last < 0 ? this.names.length - 1 : last };
    this.drawGround(ticks, height);
    if (this.isLanes) {
      this.drawTies();
    }
    for (let row = this.shown.first; row <= this.shown.last; row++) {
      this.drawRow(row);
    }
    if (this.isLanes) {
      this.drawCuts();
    }
    this.drawNames(height);
  }

  drawGround(ticks, height) {
    this.pen.fillStyle = theme.ground;
    for (let row = this.shown.first; row <= this.shown.last; row++) {
      this.pen.fillRect(view.left, this.top(row), view.width - view.left, this.bar);
    }
    this.pen.strokeStyle = theme.grid;
    this.pen.globalAlpha = 0.35;
    this.pen.setLineDash([2, 3]);
    for (const tick of ticks) {
      this.pen.beginPath();
      this.pen.moveTo(xOf(tick), 0);
      this.pen.lineTo(xOf(tick), height);
      this.pen.stroke();
    }
    this.pen.setLineDash([]);
    this.pen.globalAlpha = 1;
  }

  drawNames(height) {
    this.pen.fillStyle = theme.surface;
    this.pen.fillRect(0, 0, view.left - 1, height);
    this.pen.textAlign = "right";
    for (let row = this.shown.first; row <= this.shown.last; row++) {
      this.pen.font = this.isLanes ? BOLD : FONT;
      this.pen.fillStyle = isChosenRow(this, row) ? theme.chosen : theme.text;
      this.pen.fillText(cutText(this.names[row], view.left - 16), view.left - 8,
        this.top(row) + this.bar / 2 + 4);
    }
  }

  drawRow(row) {
    const spans = this.spans[row], reached = new Float64Array(SLOTS_MAX);
    this.outlines = [];
    if (this.isLanes) {
      this.drawDepth(row);
    }
    for (let i = firstAfter(spans, view.from); i < spans.count && spans.from[i] < view.to; i++) {
      const slot = spans.slot[i], end = xOf(Math.min(spans.to[i], view.to));
      if (spans.to[i] <= view.from || end <= reached[slot]) {
        continue;
      }
      const x = Math.max(xOf(Math.max(spans.from[i], view.from)), reached[slot]);
      const width = Math.max(end - x, WIDTH_MIN);
      if (this.isLanes && width < leastWidth(spans.kind[i])) {
        continue;
      }
      reached[slot] = x + width;
      this.drawSpan(spans, i, row, x, width);
    }
    this.drawOutlines();
  }

  /* Draws a line around the bars of the chosen task, and a dashed one around those of the tasks for
   * which it waited. */
  drawOutlines() {
    this.pen.strokeStyle = theme.chosen;
    for (const { x, y, width, height, isOfHolder } of this.outlines) {
      this.pen.lineWidth = isOfHolder ? 1.5 : 2.5;
      this.pen.setLineDash(isOfHolder ? [4, 3] : []);
      this.pen.strokeRect(x - 0.5, y - 0.5, width + 0.5, height + 1);
    }
    this.pen.setLineDash([]);
    this.pen.lineWidth = 1;
  }

  drawSpan(spans, i, row, x, width) {
    const kind = spans.kind[i], task = spans.task[i];
    const look = this.isLanes ? laneLook(kind, task) : workerLook(kind, task);
    const { y, height } = this.place(spans, i, row);
    this.drawBar(x, y, width, height, look);
    const isOfHolder = chosenHolders.has(task);
    if ((isChosenTask(task) || isOfHolder) && (this.isLanes || kind === RUNS)) {
      this.outlines.push({ x, y, width, height, isOfHolder });
    }
    if (width > 22 && height > 13) {
      this.drawLabel(spans, i, x, y, width, height, look);
    }
  }

  drawBar(x, y, width, height, look) {
    const pen = this.pen;
    pen.fillStyle = look.fill;
    if (width <= 4) {
      pen.fillRect(x, y, width, height);
      return;
    }
    pen.beginPath();
    pen.roundRect(x, y, width - 0.5, height, 2.5);
    pen.fill();
    if (look.outline) {
      pen.strokeStyle = look.outline;
      pen.setLineDash(look.dashes ?? []);
      pen.stroke();
      pen.setLineDash([]);
    }
  }

  /* Draws the longest text that fits. */
  drawLabel(spans, i, x, y, width, height, look) {
    const label = this.labels(spans, i).find((text) => text.length * CHARACTER + 6 <= width);
    if (!label) {
      return;
    }
    this.pen.font = look.bold || look.haloed ? BOLD : FONT;
    this.pen.textAlign = "center";
    if (look.haloed) {
      this.pen.strokeStyle = theme.surface;
      this.pen.lineWidth = 3.5;
      this.pen.lineJoin = "round";
      this.pen.strokeText(label, x + width / 2, y + height / 2 + 4);
      this.pen.lineWidth = 1;
    }
    this.pen.fillStyle = look.text;
    this.pen.fillText(label, x + width / 2, y + height / 2 + 4);
  }

  labels(spans, i) {
    const task = spans.task[i], kind = spans.kind[i];
    if (!this.isLanes && kind === BLOCKED) {
      return blockedLabels(spans, i);
    }
    if (task < 0 || (!this.isLanes && kind !== RUNS)) {
      return [];
    }
    const number = taskNumber(task), name = taskName(task);
    if (!this.isLanes && spans.second[i] >= 0) {
      return [`${name} at ${run.lanes[spans.second[i]]}`, name, number];
    }
    if (this.isLanes && kind === LATCHED) {
      const arrived = arrivedAt(task, spans.from[i]);
      return spans.extra[i] > 0 ? [`${number}: ${arrived} arrived`, arrived] : [`${number}: latched`];
    }
    if (this.isLanes && (kind === LANE_RETRYING || kind === LANE_PARKED)) {
      return [headText(spans, i).replace(", the lane is poisoned", ""),
        `${number} ${kind === LANE_PARKED ? "parked" : "failed"}`];
    }
    return [name, number];
  }

  /* Draws steps below the bars, as high as the number of tasks that wait; and a line where the
   * chosen task waits. */
  drawDepth(row) {
    const depths = depthsOf(row), bottom = this.top(row) + this.bar + 2 + this.depth;
    let reached = 0, peak = 0, peakX = 0;
    this.pen.fillStyle = theme.depth;
    for (let i = 0; i < depths.time.length && depths.time[i] < view.to; i++) {
      const to = depths.time[i + 1] ?? run.end;
      if (depths.waiting[i] === 0 || to <= view.from) {
        continue;
      }
      const x = xOf(Math.max(depths.time[i], view.from)), end = xOf(Math.min(to, view.to));
      if (end <= reached || end - x < 0.05) {
        continue;
      }
      const height = Math.max(1, this.depth * depths.waiting[i] / mostWaiting);
      this.pen.fillRect(x, bottom - height, end - x, height);
      reached = end;
      if (depths.waiting[i] > peak && end - x > 7) {
        peak = depths.waiting[i];
        peakX = x;
      }
    }
    if (peak > 0 && this.depth > 8) {
      this.pen.font = SMALL;
      this.pen.textAlign = "left";
      this.pen.strokeStyle = theme.surface;
      this.pen.lineWidth = 2.5;
      this.pen.strokeText(peak, peakX + 3, bottom - 1);
      this.pen.fillStyle = theme.text;
      this.pen.fillText(peak, peakX + 3, bottom - 1);
      this.pen.lineWidth = 1;
    }
    this.drawChosenWait(row, bottom);
  }

  drawChosenWait(row, bottom) {
    const task = chosenTask();
    if (task < 0) {
      return;
    }
    this.pen.fillStyle = theme.chosen;
    for (const entry of entries.ofTask.of(task)) {
      const { from, to } = waitOf(entry);
      if (entries.lane[entry] === row && to > view.from && from < view.to && to > from) {
        const x = xOf(Math.max(from, view.from));
        this.pen.fillRect(x, bottom - 2, Math.max(1, xOf(Math.min(to, view.to)) - x), 3);
      }
    }
  }

  /* Draws an area that ties the lanes of each rollup while it runs. */
  drawTies() {
    for (const { task, first, last } of tiedRows) {
      if (first > this.shown.last || last < this.shown.first) {
        continue;
      }
      for (const { start, end } of attemptsOf(task)) {
        const to = until(end);
        if (start < view.to && to > view.from) {
          const x = xOf(Math.max(start, view.from)), y = this.top(first);
          this.pen.globalAlpha = 0.3;
          this.pen.fillStyle = rollupColour(task);
          this.pen.fillRect(x, y, xOf(Math.min(to, view.to)) - x, this.top(last) + this.bar - y);
          this.pen.globalAlpha = 1;
        }
      }
    }
  }

  /* Draws the line of each cut, from the middle of each visit to the next one below. */
  drawCuts() {
    this.pen.save();
    this.pen.beginPath();
    this.pen.rect(view.left, 0, view.width - view.left, this.scroller.clientHeight);
    this.pen.clip();
    this.pen.lineWidth = 2;
    for (const { task, visits } of cutLines) {
      this.pen.strokeStyle = rollupColour(task);
      this.pen.beginPath();
      for (let i = 1; i < visits.length; i++) {
        const above = visits[i - 1], below = visits[i];
        if (below.row >= this.shown.first && above.row <= this.shown.last) {
          this.pen.moveTo(xOf(above.time), this.top(above.row) + this.bar);
          this.pen.lineTo(xOf(below.time), this.top(below.row));
        }
      }
      this.pen.stroke();
    }
    this.pen.restore();
  }

  /* Finds what is at a point: a span, the queue of a lane, or the name of a row. */
  at(x, y) {
    const row = this.rowAt(y), part = this;
    if (row < 0) {
      return null;
    }
    if (x < view.left) {
      return { part, row, span: -1, time: NaN };
    }
    const below = y - this.top(row) - this.bar, time = timeAt(x), spans = this.spans[row];
    if (below > 0) {
      return this.isLanes && queueAt(row, time).length > 0 ? { part, row, span: -1, time } : null;
    }
    const slack = 1.5 * (view.to - view.from) / (view.width - view.left);
    let best = null, bestDistance = slack;
    for (let i = firstAfter(spans, time - slack); i < spans.count && spans.from[i] <= time + slack; i++) {
      const { y: top, height } = this.place(spans, i, row);
      const distance = Math.max(spans.from[i] - time, time - spans.to[i], 0);
      if (y >= top && y < top + height && (distance < bestDistance || distance === 0)) {
        best = { part, row, span: i, time };
        bestDistance = distance;
      }
    }
    return best;
  }
}

/* Outlined bars must be wider than their outline; short waits for a worker are not noted. */
function leastWidth(kind) {
  return kind === LANE_RUNS || kind === VISITED ? WIDTH_MIN : kind === LANE_READY ? WIDTH_NOTED : 1;
}

function blockedLabels(spans, i) {
  const task = spans.task[i], holder = spans.second[i], state = spans.extra[i];
  if (holder < 0) {
    return ["blocked"];
  }
  const number = taskNumber(holder);
  if (state !== RUNNING) {
    const text = `${number} ${state === PARKED ? "is parked" : "has failed"}`;
    return [`blocked: ${text}`, text, "blocked"];
  }
  return task < 0 ? [`blocked, waits for ${number}`, `waits for ${number}`, "blocked"]
    : [`blocked: ${taskNumber(task)} is latched, waits for ${number}`,
      `${taskNumber(task)} waits for ${number}`, "blocked"];
}

/* The rows that each rollup ties. */
const tiedRows = [];
/* The last visits of each cut's lanes, from top to bottom. */
const cutLines = [];
for (let task = 0; task < tasks.count; task++) {
  if (tasks.kind[task] === TASK) {
    continue;
  }
  const own = [...entries.ofTask.of(task)].filter((entry) => entries.lane[entry] >= 0);
  if (tasks.kind[task] === ROLLUP) {
    const rows = own.filter((entry) => !Number.isNaN(entries.arrive[entry]))
      .map((entry) => entries.lane[entry]);
    if (rows.length > 1) {
      rows.sort((a, b) => a - b);
      tiedRows.push({ task, first: rows[0], last: rows.at(-1) });
    }
  } else {
    const visits = own.filter((entry) => entries.visits.has(entry)).map((entry) => {
      const visit = entries.visits.get(entry).at(-1);
      return { row: entries.lane[entry], time: (visit.from + visit.to) / 2 };
    });
    visits.sort((a, b) => a.row - b.row);
    if (visits.length > 1) {
      cutLines.push({ task, visits });
    }
  }
}
