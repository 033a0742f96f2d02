/* Owns the search for lanes, labels and tickets. */

const FOUND_MAX = 12;
const findBox = document.getElementById("find"), results = document.getElementById("results");
const foundText = document.getElementById("found");

/* Lists what a text means: a ticket, then lanes, then labels with their first tasks. */
function search(text) {
  const wanted = text.trim().toLowerCase(), found = [];
  const ticket = /^#?(\d+)$/.exec(wanted);
  if (wanted === "") {
    return found;
  }
  if (ticket && byTicket.has(Number(ticket[1]))) {
    const task = byTicket.get(Number(ticket[1]));
    found.push({ text: taskName(task), what: "task", thing: { kind: "task", task } });
  }
  const lanes = run.lanes.map((name, row) => ({ name: name.toLowerCase(), row }))
    .filter(({ name }) => name.includes(wanted));
  lanes.sort((a, b) => (b.name === wanted) - (a.name === wanted) || a.row - b.row);
  for (const { row } of lanes) {
    found.push({ text: run.lanes[row], what: "lane", thing: { kind: "lane", row } });
  }
  const tags = new Set(run.tags.flatMap(([, name], i) => name.toLowerCase().includes(wanted) ? [i] : []));
  for (let task = 0; tags.size > 0 && task < tasks.count; task++) {
    if (tags.has(tasks.tag[task])) {
      found.push({ text: taskName(task), what: "label", thing: { kind: "task", task } });
    }
  }
  return found;
}

let found = [], foundAt = -1;

function showResults() {
  found = search(findBox.value);
  foundAt = -1;
  results.replaceChildren();
  results.hidden = found.length === 0;
  for (const [i, { text, what }] of found.slice(0, FOUND_MAX).entries()) {
    const button = make("button", "result", make("span", "what", what), text);
    button.type = "button";
    button.addEventListener("click", () => takeResult(i));
    results.append(make("li", "", button));
  }
  foundText.textContent = findBox.value.trim() === "" ? ""
    : found.length === 0 ? "nothing found" : `${found.length} found`;
}

function takeResult(i) {
  foundAt = i;
  foundText.textContent = `${i + 1} of ${found.length}`;
  choose(found[i].thing, true);
}

findBox.addEventListener("input", showResults);
findBox.addEventListener("focus", () => {
  results.hidden = found.length === 0;
});
findBox.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && found.length > 0) {
    const step = event.shiftKey ? found.length - 1 : 1;
    takeResult(foundAt < 0 ? 0 : (foundAt + step) % found.length);
    results.hidden = true;
    event.preventDefault();
  } else if (event.key === "ArrowDown" && !results.hidden) {
    results.querySelector("button").focus();
    event.preventDefault();
  } else if (event.key === "Escape") {
    results.hidden = true;
  }
});
results.addEventListener("keydown", (event) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const buttons = [...results.querySelectorAll("button")];
  if (event.key === "Escape") {
    results.hidden = true;
    findBox.focus();
  } else if (step) {
    const next = buttons.indexOf(document.activeElement) + step;
    (buttons[next] ?? findBox).focus();
    event.preventDefault();
  }
});
document.addEventListener("pointerdown", (event) => {
  if (!event.target.closest("#search")) {
    results.hidden = true;
  }
});
