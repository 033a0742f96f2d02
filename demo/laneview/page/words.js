/* Owns the words for what is shown: those of laneview's other pictures. */

const UNITS = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];

/* Writes a time with about three digits: "12.5 ms". */
function timeText(ns) {
  if (ns === 0) {
    return "0";
  }
  const [name, unit] = UNITS.find(([, size]) => Math.abs(ns) >= size) ?? UNITS[3];
  const whole = Math.floor(Math.abs(ns) / unit);
  const decimals = unit === 1 ? 0 : whole < 10 ? 2 : whole < 100 ? 1 : 0;
  return `${Number((ns / unit).toFixed(decimals))} ${name}`;
}

/* Writes a moment with more digits, which tell it from others nearby: "47.904 ms". */
function exactText(ns) {
  const [name, unit] = UNITS.find(([, size]) => ns >= size) ?? UNITS[3];
  return ns === 0 ? "0" : `${Number((ns / unit).toFixed(3))} ${name}`;
}

/* Writes a tick of an axis whose ticks have this distance. */
function tickText(ns, step) {
  const [name, unit] = UNITS.find(([, size]) => step >= size) ?? UNITS[3];
  return ns === 0 ? "0" : `${Math.round(ns / unit)} ${name}`;
}

function tagName(task) {
  return run.tags[tasks.tag[task]][1];
}

function taskNumber(task) {
  return Number.isNaN(tasks.ticket[task]) ? "submission" : `#${tasks.ticket[task]}`;
}

/* "#4 close" */
function taskName(task) {
  return `${taskNumber(task)} ${tagName(task)}`;
}

function workerName(worker) {
  return worker < 0 ? "outside the pool's workers" : `on worker ${worker}`;
}

function modeName(mode) {
  return mode === 0 ? "" : mode === SHARED_MODE ? " (shared)" : " (commuting)";
}

function plural(count, word) {
  return `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
}

function factsText() {
  let text = `${plural(run.workers, "worker")}, lanes per ${run.layout}, `
    + `${plural(tasks.count, "task")} in ${timeText(run.end)}`;
  if (run.missed > 0) {
    text += `; ${plural(run.missed, "event")} missed: some tasks have no times`;
  }
  return text + (run.endsEarly ? "; the recording ends early" : "");
}

/* What the task that others wait for did at a time. */
function holderText(holder, state, time) {
  if (state === PARKED) {
    return ", which has failed and is parked";
  }
  if (state === RETRYING) {
    return ", which has failed and will be retried";
  }
  if (tasks.kind[holder] === CUT) {
    return ", which visits its lanes";
  }
  const attempt = attemptsOf(holder).find(({ start, end }) => start <= time && !(end <= time));
  return attempt ? `, which runs ${workerName(attempt.worker)}` : "";
}

/* Why a worker does nothing: "blocked: #4 close is latched (1/2 arrived) and waits for #2 post, which
 * runs on worker 1". */
function idleText(spans, i) {
  const task = spans.task[i], holder = spans.second[i], state = spans.extra[i];
  switch (spans.kind[i]) {
  case NO_WORK:
    return "no work: nothing is pending that does not run already";
  case SEARCHES:
    return "searches: there is work";
  case SLEEPS:
    return "asleep: there is work, and the worker has not been woken yet";
  }
  if (task < 0 && holder >= 0 && state !== RUNNING) {
    return `blocked: ${taskName(holder)}${holderText(holder, state, 0).replace(", which", "")}`;
  }
  const who = task < 0 ? "blocked: what is pending waits for "
    : `blocked: ${taskName(task)} is latched (${arrivedAt(task, spans.from[i])} arrived) `
      + "and waits for ";
  return holder < 0 || holder === task ? `${who}a task that was not recorded`
    : who + taskName(holder) + holderText(holder, state, spans.from[i]);
}

/* What is at the head of a lane. */
function headText(spans, i) {
  const name = taskName(spans.task[i]);
  switch (spans.kind[i]) {
  case LATCHED:
    return `${name} is latched here: ${arrivedAt(spans.task[i], spans.from[i])} arrived`;
  case LANE_READY:
    return `${name} is ready and waits for a worker`;
  case LANE_RETRYING:
    return `${name} failed, attempt ${spans.extra[i] + 2} follows`;
  case LANE_PARKED:
    return `${name} is parked, the lane is poisoned`;
  case VISITED:
    return `${name}: a visit of this lane`;
  }
  return name;
}
