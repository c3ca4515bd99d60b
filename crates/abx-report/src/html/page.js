// What a page can do beyond being read: say what a point is, hide a subject,
// give the record away. Without it nothing is missing that is not in a table.
"use strict";

// A point says what it is when the pointer is near or the keyboard is on it.

const tip = document.createElement("div");
tip.id = "tip";
tip.setAttribute("aria-hidden", "true");
tip.hidden = true;
document.body.append(tip);

const REACH = 24;
let shown = null;

function middle(point) {
  // A box of a flame graph is as large as what is drawn first in it.
  const box = (point.querySelector("use") ?? point).getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2, box.height / 2];
}

function show(point) {
  if (shown !== point) {
    hide();
    shown = point;
    point.classList.add("near");
    tip.textContent = point.getAttribute("aria-label");
  }
  tip.hidden = false;
  const [x, y, half] = middle(point);
  const width = document.documentElement.clientWidth;
  const left = Math.max(8, Math.min(x - tip.offsetWidth / 2, width - tip.offsetWidth - 8));
  const above = y - half - tip.offsetHeight - 8;
  tip.style.left = `${left}px`;
  tip.style.top = `${above < 8 ? y + half + 8 : above}px`;
}

function hide() {
  shown?.classList.remove("near");
  shown = null;
  tip.hidden = true;
}

function isSeen(point) {
  return !point.closest(".off");
}

function nearest(points, event) {
  let best = null;
  let least = REACH;
  for (const point of points) {
    const [x, y] = middle(point);
    const distance = Math.hypot(x - event.clientX, y - event.clientY);
    if (distance < least && isSeen(point)) {
      best = point;
      least = distance;
    }
  }
  return best;
}

// The arrow keys walk along the points; one of them is where Tab stops.
function step(points, from, key) {
  const seen = points.filter(isSeen);
  const at = seen.indexOf(from);
  const to = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: seen.length - 1 }[key];
  return to === undefined ? undefined : seen[to];
}

// The parts of a table, which it has no more where a narrow page lays it out otherwise.
const ROLES = { thead: "rowgroup", tbody: "rowgroup", tfoot: "rowgroup", tr: "row", td: "cell", "th[scope=col]": "columnheader", "th[scope=row]": "rowheader" };
for (const table of document.querySelectorAll("table.ratios")) {
  for (const [parts, role] of Object.entries(ROLES)) {
    for (const part of table.querySelectorAll(parts)) part.setAttribute("role", role);
  }
  table.setAttribute("role", "table");
}

for (const entry of document.querySelectorAll(".legend [data-key]")) {
  entry.dataset.name = [...entry.childNodes].filter((node) => node.nodeName !== "SMALL").map((node) => node.textContent).join("");
}

// The words of a point are in parts in the page: those of its subject in the legend and its unit
// once, and those of a bar in its row.
function name(plot, point) {
  const own = point.getAttribute("aria-label");
  const row = plot.closest("tr");
  if (row) {
    const isText = (node) => node.nodeName === "#text" || node.nodeName === "BDI";
    const text = (part) => [...(row.querySelector(part)?.childNodes ?? [])].filter(isText).map((node) => node.textContent).join("");
    const listed = (parts) => parts.filter(Boolean).join(", ");
    const [who, of, ratio, verdict] = [".who", ".of", ".ratio", ".verdict"].map(text);
    return own === null ? `${listed([who, of])}: ${listed([ratio, verdict])}` : listed([who, own]);
  }
  const key = point.parentNode.dataset.subject;
  const of = plot.closest("figure")?.querySelector(`.legend [data-key="${key}"]`)?.dataset.name;
  const unit = plot.dataset.unit;
  return (of ? `${of}, ` : "") + own + (unit ? ` ${unit}` : "");
}

for (const plot of document.querySelectorAll("svg.plot, svg.bar")) {
  const points = [...plot.querySelectorAll(plot.matches(".plot") ? "use, .pt" : ".pt")];
  if (points.length === 0) continue;
  // A browser would show the title of the whole over each of its parts.
  const words = [...plot.querySelectorAll(":scope > title, :scope > desc")];
  if (words.length > 0) {
    plot.setAttribute("aria-label", words.map((word) => word.textContent).join(". "));
    plot.removeAttribute("aria-labelledby");
    words.forEach((word) => word.remove());
  }
  plot.setAttribute("role", "group");
  points.forEach((point, index) => {
    point.setAttribute("aria-label", name(plot, point));
    point.classList.add("pt");
    point.setAttribute("role", "img");
    point.setAttribute("tabindex", index === 0 ? "0" : "-1");
    point.addEventListener("focus", () => show(point));
    point.addEventListener("blur", hide);
  });
  plot.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return hide();
    const next = step(points, event.target, event.key);
    if (next) {
      event.preventDefault();
      event.target.setAttribute("tabindex", "-1");
      next.setAttribute("tabindex", "0");
      next.focus();
    }
  });
  const look = (event) => {
    const point = nearest(points, event);
    if (point) show(point);
    else if (document.activeElement !== shown) hide();
  };
  plot.addEventListener("pointermove", look);
  plot.addEventListener("pointerdown", look);
  plot.addEventListener("pointerleave", () => {
    if (document.activeElement !== shown) hide();
  });
}

// Flame graphs: a box says its time, is enlarged with all that it calls, and is walked to by arrows.

for (const frame of document.querySelectorAll(".flames")) {
  const graph = frame.querySelector(".flame");
  const who = frame.dataset.who.split("\n").filter(Boolean);
  const part = (box, attribute) => parseFloat(box.getAttribute(attribute) ?? "0");
  // Each box with its place when nothing is enlarged, its row, and its name.
  const boxes = [...graph.querySelectorAll(".f")].map((mark) => ({
    mark,
    from: part(mark, "x"),
    width: part(mark, "width"),
    depth: part(mark.parentNode, "y"),
    us: mark.dataset.us.split(" ").map(Number),
    name: mark.querySelector("text").textContent,
  }));
  const known = new Map(boxes.map((box) => [box.mark, box]));
  const SLACK = 0.002;
  const isWithin = (box, other) => box.from >= other.from - SLACK && box.from + box.width <= other.from + other.width + SLACK;
  const whole = boxes[0];
  let enlarged = whole;

  function words({ name, us }) {
    const [ours, theirs] = us;
    if (who.length < 2) {
      const share = whole.us[0] > 0 ? `, ${((100 * ours) / whole.us[0]).toFixed(1)} %` : "";
      return `${name}: ${ours} \u00b5s${share}`;
    }
    const apart = ours - theirs;
    return `${name}: ${ours} \u00b5s in ${who[0]}, ${theirs} \u00b5s in ${who[1]} (${apart < 0 ? "\u2212" : "+"}${Math.abs(apart).toFixed(2)})`;
  }

  function enlarge(target) {
    enlarged = target;
    for (const box of boxes) {
      const isAround = box.depth < target.depth && isWithin(target, box);
      const isInside = box.depth >= target.depth && isWithin(box, target);
      box.mark.classList.toggle("around", isAround);
      box.mark.classList.toggle("outside", !isAround && !isInside);
      const scale = 100 / target.width;
      box.mark.setAttribute("x", isAround ? "0%" : `${(box.from - target.from) * scale}%`);
      box.mark.setAttribute("width", isAround ? "100%" : `${box.width * scale}%`);
    }
    hide();
  }

  function go(box) {
    if (!box) return;
    boxes.forEach((other) => other.mark.setAttribute("tabindex", "-1"));
    box.mark.setAttribute("tabindex", "0");
    box.mark.focus();
  }

  // Where an arrow leads to from a box: its caller, what it calls, or the next of its row.
  function neighbour(box, key) {
    const seen = boxes.filter((other) => !other.mark.matches(".outside"));
    const row = seen.filter((other) => other.depth === box.depth);
    const at = row.indexOf(box);
    const callers = seen.filter((other) => other.depth < box.depth && isWithin(box, other));
    const callees = seen.filter((other) => other.depth > box.depth && isWithin(other, box));
    return { ArrowRight: row[at + 1], ArrowLeft: row[at - 1], ArrowUp: callers.at(-1), ArrowDown: callees[0], Home: whole }[key];
  }

  const title = graph.querySelector(":scope > title");
  const description = graph.querySelector(":scope > desc");
  graph.setAttribute("aria-label", `${title.textContent}. ${description.textContent}`);
  graph.removeAttribute("aria-labelledby");
  title.remove();
  description.remove();
  graph.setAttribute("role", "group");
  boxes.forEach((box, index) => {
    box.mark.setAttribute("role", "button");
    box.mark.setAttribute("aria-label", words(box));
    box.mark.setAttribute("tabindex", index === 0 ? "0" : "-1");
    box.mark.addEventListener("focus", () => show(box.mark));
    box.mark.addEventListener("blur", hide);
    box.mark.addEventListener("pointerenter", () => show(box.mark));
    box.mark.addEventListener("pointerleave", hide);
    box.mark.addEventListener("click", () => {
      enlarge(box);
      go(box);
    });
  });
  graph.addEventListener("keydown", (event) => {
    const box = known.get(event.target);
    if (!box) return;
    if (event.key === "Enter" || event.key === " ") enlarge(box);
    else if (event.key === "Escape") {
      hide();
      if (enlarged !== whole) enlarge(whole);
    } else {
      const next = neighbour(box, event.key);
      if (!next) return;
      go(next);
    }
    event.preventDefault();
  });

  const search = document.createElement("label");
  search.className = "search";
  const input = document.createElement("input");
  input.type = "search";
  const found = document.createElement("span");
  found.setAttribute("role", "status");
  search.append("Find functions ", input, found);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    const matches = boxes.filter((box) => wanted !== "" && box.name.toLowerCase().includes(wanted));
    boxes.forEach((box) => box.mark.classList.toggle("found", matches.includes(box)));
    // A function within another that was found counts once.
    const outer = matches.filter((box) => !matches.some((other) => other.depth < box.depth && isWithin(box, other)));
    const us = (side) => outer.reduce((sum, box) => sum + box.us[side], 0).toFixed(2);
    const time = who.length < 2 ? `${us(0)} \u00b5s` : `${us(0)} and ${us(1)} \u00b5s`;
    found.textContent = wanted === "" ? "" : `${matches.length} found, ${time}`;
  });
  frame.prepend(search);
}

// The keyboard may scroll to the point that it reaches: its tip goes along.
function follow() {
  if (shown && document.activeElement === shown) show(shown);
  else hide();
}
addEventListener("scroll", follow, { passive: true });

// Each subject in a legend hides and shows its marks in all pictures.

function toggle(subject) {
  const buttons = [...document.querySelectorAll(`.legend [data-key="${subject}"] button`)];
  const isOn = buttons[0].getAttribute("aria-pressed") === "true";
  buttons.forEach((button) => button.setAttribute("aria-pressed", String(!isOn)));
  for (const marks of document.querySelectorAll(`[data-subject="${subject}"]`)) {
    marks.classList.toggle("off", isOn);
  }
  hide();
}

for (const entry of document.querySelectorAll(".legend [data-key]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.title = "Hide or show";
  button.setAttribute("aria-pressed", "true");
  button.append(...entry.childNodes);
  button.addEventListener("click", () => toggle(Number(entry.dataset.key)));
  entry.append(button);
}

// The record, letter for letter: the page holds each sign that could end a
// script as an escape, and JSON holds backslashes in pairs.

// A list of records has none of its own.
const download = document.getElementById("download");
if (download) download.hidden = false;
download?.addEventListener("click", () => {
  const held = document.getElementById("record").textContent;
  const text = held.replace(/\\(?:\\|u003c)/g, (found) => (found === "\\u003c" ? "<" : found));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = download.dataset.file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
});

// A link opens what its place is folded in, for browsers that do not do so themselves.

function reveal() {
  const place = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const closed = [];
  for (let part = place?.closest("details:not([open])"); part; part = part.parentElement?.closest("details:not([open])")) {
    closed.push(part);
  }
  closed.forEach((part) => { part.open = true; });
  if (closed.length > 0) place.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();

// On paper everything is open.

const folded = () => document.querySelectorAll("details");
addEventListener("beforeprint", () => {
  for (const part of folded()) {
    part.dataset.was = part.open ? "open" : "";
    part.open = true;
  }
});
addEventListener("afterprint", () => {
  for (const part of folded()) part.open = part.dataset.was === "open";
});
