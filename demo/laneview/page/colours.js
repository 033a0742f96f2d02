/* Owns colours and patterns. Bars have the colours of laneview's other pictures, in light and in dark;
 * the ground, texts and outlines have those of the page. */

const TAG_COLOURS = ["#a9c8ea", "#a8d8b9", "#cfc3ec", "#a5dadd", "#e2cfa8", "#c3ccd8", "#ecc3d4",
  "#c9dd9a"];
const ROLLUP_COLOURS = ["#c8570b", "#7a3fa8", "#b3243f", "#15726f", "#8a6a00", "#34569c"];
const ON_TAG = "#1d2733", ON_ROLLUP = "#ffffff";

const LIGHT = {
  surface: "#ffffff", ground: "#f1f4f7", text: "#1d2733", soft: "#4f5d6f", grid: "#8795a6",
  depth: "#b9c4d0", blocked: "#fbe3e3", onBlocked: "#9c2b2b", late: "#fbe9b7",
  retrying: "#e9f2fb", dots: "#0b5fa5", parked: "#f6e6ef", crosses: "#8e2a6b", hatch: 0.6,
  chosen: "#0a58ca", outline: "rgba(255,255,255,0)",
};
const DARK = {
  surface: "#12171e", ground: "#1e262f", text: "#e6ebf1", soft: "#a5b1bf", grid: "#64748a",
  depth: "#4f6073", blocked: "#4a2228", onBlocked: "#f7b4b4", late: "#5c4a12",
  retrying: "#16283c", dots: "#6db3f2", parked: "#3a1c30", crosses: "#e58cc0", hatch: 0.85,
  chosen: "#7cb7ff", outline: "rgba(255,255,255,0.55)",
};
const darkScheme = window.matchMedia("(prefers-color-scheme: dark)");
let theme = LIGHT;
let patterns = new Map();

/* The first tag with a name is 1. */
function tagColour(tag) {
  return TAG_COLOURS[(tag + TAG_COLOURS.length - 1) % TAG_COLOURS.length];
}

function rollupColour(task) {
  return ROLLUP_COLOURS[tasks.shade[task] % ROLLUP_COLOURS.length];
}

function taskColour(task) {
  return tasks.kind[task] === TASK ? tagColour(run.tags[tasks.tag[task]][0]) : rollupColour(task);
}

/* Makes a pattern of size x size pixels, drawn by `paint`. */
function makePattern(name, size, paint) {
  if (!patterns.has(name)) {
    const scale = window.devicePixelRatio || 1, tile = document.createElement("canvas");
    tile.width = tile.height = Math.max(1, Math.round(size * scale));
    const pen = tile.getContext("2d");
    pen.scale(tile.width / size, tile.height / size);
    paint(pen);
    const pattern = pen.createPattern(tile, "repeat");
    pattern.setTransform(new DOMMatrix().scale(size / tile.width, size / tile.height));
    patterns.set(name, pattern);
  }
  return patterns.get(name);
}

function latchedPattern(colour) {
  return makePattern(`latched ${colour}`, 8, (pen) => {
    pen.fillStyle = theme.surface;
    pen.fillRect(0, 0, 8, 8);
    pen.globalAlpha = 0.12;
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 8, 8);
    pen.globalAlpha = theme.hatch;
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.stroke(new Path2D("M-2 2L2 -2M-2 10L10 -2M6 10L10 6"));
  });
}

function retryingPattern() {
  return makePattern("retrying", 6, (pen) => {
    pen.fillStyle = theme.retrying;
    pen.fillRect(0, 0, 6, 6);
    pen.fillStyle = theme.dots;
    pen.globalAlpha = 0.75;
    pen.beginPath();
    pen.arc(3, 3, 1.2, 0, 7);
    pen.fill();
  });
}

function parkedPattern() {
  return makePattern("parked", 8, (pen) => {
    pen.fillStyle = theme.parked;
    pen.fillRect(0, 0, 8, 8);
    pen.strokeStyle = theme.crosses;
    pen.globalAlpha = 0.55;
    pen.stroke(new Path2D("M0 0L8 8M8 0L0 8"));
  });
}

/* The look of a bar: fill, outline with its dashes, and the colour of a text on it; `haloed` texts
 * need the ground behind them. */
function laneLook(kind, task) {
  switch (kind) {
  case LATCHED:
    return { fill: latchedPattern(taskColour(task)), outline: taskColour(task), text: theme.text,
      haloed: true };
  case LANE_READY:
    return { fill: theme.surface, outline: theme.grid, dashes: [3, 2], text: theme.soft };
  case LANE_RETRYING:
    return { fill: retryingPattern(), outline: theme.dots, dashes: [1.5, 2], text: theme.text,
      haloed: true };
  case LANE_PARKED:
    return { fill: parkedPattern(), outline: theme.crosses, text: theme.text, haloed: true };
  }
  return busyLook(task);
}

function busyLook(task) {
  const isDark = tasks.kind[task] !== TASK;
  return { fill: taskColour(task), outline: isDark ? theme.outline : null,
    text: isDark ? ON_ROLLUP : ON_TAG, bold: isDark };
}

function workerLook(kind, task) {
  switch (kind) {
  case RUNS:
    return busyLook(task);
  case NO_WORK:
    return { fill: theme.ground, text: theme.soft };
  case BLOCKED:
    return { fill: theme.blocked, text: theme.onBlocked };
  }
  return { fill: theme.late, text: theme.text };
}
