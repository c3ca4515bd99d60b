// What a page does in a real browser, claim by claim:
//   node page.mjs CLAIM PAGE [RECORD]
// Ends with 0 when the claim holds, and says what does not hold otherwise.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { start } from "./chromium.mjs";

const WIDTHS = [1280, 360];
const [, , claim, page, record] = process.argv;
const address = pathToFileURL(page).href;

const claims = {
  fits, begins, capacities, tips, keyboard, phases, toggles, flames, gives, asks, stands, prints,
};

const browser = start();
try {
  await claims[claim](browser);
} finally {
  await browser.end();
}

// Nothing said on the console, nothing asked but the file itself.
function assertQuiet(tab) {
  assert.deepEqual(tab.troubles, []);
  assert.deepEqual(tab.dialogs, []);
  assert.deepEqual([...new Set(tab.requests)], [address]);
}

async function opened(browser, width = WIDTHS[0]) {
  const tab = await browser.tab(width, 800);
  await tab.open(address);
  await unfold(tab);
  return tab;
}

// Opens everything that is folded.
function unfold(tab) {
  return tab.value("document.querySelectorAll('details').forEach((part) => { part.open = true; })");
}

// At each width and in both colours: no scrolling sideways, pictures as wide as
// their place, and no label over another.
async function fits(browser) {
  for (const width of WIDTHS) {
    for (const scheme of ["light", "dark"]) {
      const tab = await browser.tab(width, 800);
      await tab.media("screen", scheme);
      await tab.open(address);
      await unfold(tab);
      const found = await tab.value(`(${look})()`);
      const where = `${width} pixels, ${scheme}`;
      assert.equal(found.wide, found.room, `scrolls sideways: ${where}`);
      assert.ok(found.plots >= 5, `${found.plots} plots: ${where}`);
      assert.deepEqual(found.collapsed, [], where);
      assert.deepEqual(found.overlapping, [], where);
      assert.deepEqual(found.cut, [], where);
      assert.deepEqual(found.faint, [], where);
      assertQuiet(tab);
    }
  }
}

// The first screen of a large study says what was decided, and on a desk its matrix begins
// there; a cell leads to its details, nothing is cut, and no box stands in the way.
async function begins(browser) {
  for (const [width, height] of [[1280, 800], [390, 844]]) {
    const tab = await browser.tab(width, height);
    await tab.open(address);
    const where = `${width} pixels`;
    const found = await tab.value(`(() => {
      const cells = [...document.querySelectorAll(".matrix .cell a")];
      const seen = (one) => { const box = one.getBoundingClientRect(); return box.top >= 0 && box.bottom <= innerHeight; };
      const rows = [...document.querySelectorAll(".matrix tbody tr")].filter(seen);
      const boxes = [...document.querySelectorAll(".verdicts > .verdict")];
      const decided = document.querySelector("#verdicts p");
      return { decided: seen(decided), cells: cells.length, seen: cells.filter(seen).length, rows: rows.length,
        boxes: boxes.filter((one) => one.checkVisibility()).length,
        clipped: [...document.querySelectorAll(".scroll")].filter((one) => one.querySelector(".matrix") && one.scrollWidth > one.clientWidth).length,
        lost: cells.filter((one) => !document.querySelector(one.getAttribute("href"))).length };
    })()`);
    const rows = width > 1000 ? 1 : 0;
    assert.ok(found.decided && found.cells > 6 && found.rows >= rows, `${JSON.stringify(found)}: ${where}`);
    assert.deepEqual([found.lost, found.boxes], [0, 0], where);
    if (width > 1000) assert.equal(found.clipped, 0, `the matrix is clipped: ${where}`);
    const looked = await tab.value(`(${look})()`);
    assert.equal(looked.wide, looked.room, `scrolls sideways: ${where}`);
    assert.deepEqual(looked.cut, [], where);
    await tab.value("document.querySelector('.matrix .cell a').click()");
    await tab.until("the details", `(() => {
      const box = document.querySelector(":target")?.getBoundingClientRect();
      return box && box.top >= 0 && box.bottom <= innerHeight;
    })()`);
    assertQuiet(tab);
  }
}

// Runs in the page.
function look() {
  const root = document.documentElement;
  const plots = [...document.querySelectorAll("svg.plot")];
  const box = (one) => one.getBoundingClientRect();
  const texts = (plot) => [...plot.querySelectorAll("text")].filter((text) => box(text).width > 0);
  const touch = (a, b) => a.left < b.right && b.left < a.right && a.top + 2 < b.bottom && b.top + 2 < a.bottom;
  const overlapping = [];
  for (const plot of plots) {
    const all = texts(plot);
    all.forEach((one, index) => {
      for (const other of all.slice(index + 1)) {
        if (touch(box(one), box(other))) overlapping.push(`${one.textContent} and ${other.textContent}`);
      }
    });
  }
  // What stands beyond an edge of the window is not seen; tables may scroll in their frames.
  const letters = [...document.querySelectorAll("svg.plot text, svg.bar text, table, figcaption, h3")];
  const within = (one) => box(one).left >= 0 && box(one).right <= root.clientWidth;
  const cut = letters.filter((one) => box(one).width > 0 && !one.closest(".scroll") && !within(one));
  // The contrast of text, after the formula of WCAG 2.
  const channels = (color) => color.match(/[\d.]+/g).slice(0, 3).map((one) => one / 255);
  const light = (color) => {
    const [red, green, blue] = channels(color).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const contrast = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
  const ground = getComputedStyle(root).backgroundColor;
  const enough = (one, property, least) => contrast(getComputedStyle(one)[property], ground) >= least;
  const words = [...document.querySelectorAll("h1, h2, p, th, td, a, summary, figcaption, .sign")];
  const faint = words.filter((one) => !enough(one, "color", 4.5));
  const marks = [...document.querySelectorAll(".s use, .plot text")].filter((one) => !enough(one, "fill", 3));
  return {
    wide: root.scrollWidth,
    room: root.clientWidth,
    plots: plots.length,
    collapsed: plots.filter((plot) => box(plot).width < 250 || box(plot).height < 150).map((plot) => plot.id),
    overlapping,
    cut: cut.map((one) => one.textContent.slice(0, 80)),
    faint: [...faint, ...marks].map((one) => one.outerHTML.slice(0, 80)),
  };
}

// Each capacity has a picture as wide as its place, its bar within, and its unit
// beside it; ticks below keep apart.
async function capacities(browser) {
  for (const width of WIDTHS) {
    const tab = await opened(browser, width);
    const rows = await tab.value(`[...document.querySelectorAll("#capacity tbody tr")].map((row) => {
      const box = (one) => one.getBoundingClientRect();
      const picture = box(row.querySelector("svg.bar"));
      const bar = box(row.querySelector("path.interval"));
      return { width: picture.width, inside: bar.left >= picture.left - 1 && bar.right <= picture.right + 1,
        bar: bar.width, text: row.querySelector(".ratio").textContent };
    })`);
    assert.equal(rows.length, 2);
    for (const row of rows) {
      assert.ok(row.width >= 250 && row.inside && row.bar >= 5, JSON.stringify(row));
      assert.match(row.text, /\d\u00a0requests\/s/);
    }
    const ticks = await tab.value(`[...document.querySelectorAll("#capacity tfoot text")]
      .map((one) => one.getBoundingClientRect()).filter((box) => box.width > 0).map((box) => [box.left, box.right])`);
    assert.ok(ticks.length >= 2, `${ticks.length} ticks`);
    ticks.slice(1).forEach(([left], index) => assert.ok(left > ticks[index][1], `${ticks}`));
    assert.equal(await tab.value("document.documentElement.scrollWidth"), width);
    assert.equal(await tab.value("document.getElementById('sweep')"), null);
    assertQuiet(tab);
  }
}

// The tip of a point comes with the pointer and goes with it.
async function tips(browser) {
  const tab = await opened(browser);
  assert.equal(await tab.value("document.getElementById('tip').hidden"), true);
  const point = await tab.value(`(() => {
    const point = document.querySelector("#slices svg.plot .pt");
    point.scrollIntoView({ block: "center", behavior: "instant" });
    const box = point.getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2, label: point.getAttribute("aria-label") };
  })()`);
  assert.match(point.label, /requests\/s/);
  // The scrolling itself hides tips: wait until the browser has told of it.
  await tab.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  await tab.point(point.x + 2, point.y + 2);
  await tab.until("the tip", "!document.getElementById('tip').hidden");
  const tip = await tab.value("document.getElementById('tip').textContent");
  assert.match(tip, /requests\/s/);
  const inside = await tab.value(`(() => {
    const box = document.getElementById("tip").getBoundingClientRect();
    return box.left >= 0 && box.right <= innerWidth && box.top >= 0 && box.bottom <= innerHeight;
  })()`);
  assert.ok(inside, "the tip is cut");
  await tab.point(1, 1);
  await tab.until("no tip", "document.getElementById('tip').hidden");
  assertQuiet(tab);
}

// The same by keyboard: Tab stops once in each plot, arrows walk, Escape hides.
async function keyboard(browser) {
  const tab = await opened(browser);
  const stops = await tab.value(`[...document.querySelectorAll("svg.plot")].map(
    (plot) => plot.querySelectorAll('.pt[tabindex="0"]').length)`);
  assert.ok(stops.length > 0 && stops.every((count) => count === 1), `${stops}`);
  const focused = "document.activeElement.getAttribute('aria-label')";
  const shown = "(() => { const tip = document.getElementById('tip'); return tip.hidden ? null : tip.textContent; })()";
  for (let presses = 0; !(await tab.value("document.activeElement.matches('.pt')")); presses += 1) {
    assert.ok(presses < 60, "Tab reaches no point");
    await tab.press("Tab");
  }
  const plot = "document.activeElement.closest('svg')";
  assert.equal(await tab.value(shown), await tab.value(focused));
  assert.equal(await tab.value(`${plot}.getAttribute("role")`), "group");
  await tab.value("document.querySelector('#slices .pt[tabindex=\"0\"]').focus({ preventScroll: false })");
  await tab.value("new Promise((done) => setTimeout(done, 0))");
  const first = await tab.value(focused);
  await tab.press("ArrowRight");
  const second = await tab.value(focused);
  assert.notEqual(second, first);
  await tab.until("the tip of the next", `${shown} === ${focused}`);
  // Reaching a point may scroll the page: the tip goes along.
  await tab.value("scrollBy({ top: 40, behavior: 'instant' })");
  await tab.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
  assert.equal(await tab.value(shown), await tab.value(focused));
  await tab.press("End");
  assert.equal(await tab.value(`${plot}.querySelectorAll('.pt[tabindex="0"]').length`), 1);
  await tab.press("Escape");
  assert.equal(await tab.value(shown), null);
  assertQuiet(tab);
}

// Bars of phases: on one axis, as long as they say, cut without gaps into parts
// that differ in pattern, and walked along by keyboard.
async function phases(browser) {
  for (const width of WIDTHS) {
    for (const scheme of ["light", "dark"]) {
      const tab = await browser.tab(width, 800);
      await tab.media("screen", scheme);
      await tab.open(address);
      await unfold(tab);
      const { rows, fills } = await tab.value(`(${cut})()`);
      const where = `${width} pixels, ${scheme}`;
      assert.equal(rows.length, 2, where);
      const [scale] = rows.map((row) => (row.right - row.left) / row.mean);
      for (const row of rows) {
        assert.ok(Math.abs(row.left - rows[0].left) < 1, `${row.left} and ${rows[0].left}: ${where}`);
        assert.ok(Math.abs((row.right - row.left) / row.mean / scale - 1) < 0.03, `${JSON.stringify(row)}: ${where}`);
        assert.ok(row.gaps.every((gap) => Math.abs(gap) < 1), `${row.gaps}: ${where}`);
      }
      const longest = Math.max(...rows.map((row) => row.right - row.left));
      assert.ok(longest > 60, `${JSON.stringify(rows)}: ${where}`);
      assert.equal(new Set(fills).size, 4, `${fills}: ${where}`);
      // All but one are patterns: they differ on grey paper too.
      assert.equal(fills.filter((fill) => fill.startsWith("url")).length, 3, `${fills}: ${where}`);
      assertQuiet(tab);
    }
  }
  const tab = await opened(browser);
  await tab.value("document.querySelector('#phases .pt').focus()");
  const focused = "document.activeElement.getAttribute('aria-label')";
  assert.match(await tab.value(focused), /waiting .*µs/);
  await tab.press("ArrowRight");
  assert.match(await tab.value(focused), /first byte .*µs/);
  await tab.until("the tip of the phase", `document.getElementById('tip').textContent === ${focused}`);
  assertQuiet(tab);
}

// Runs in the page.
function cut() {
  const box = (one) => one.getBoundingClientRect();
  const rows = [...document.querySelectorAll("#phases table[role=table] tbody tr")].map((row) => {
    const parts = [...row.querySelectorAll(".pt")].map(box);
    return {
      mean: Number(row.querySelector(".ratio").textContent.replace(/[^\d.]/g, "")),
      left: parts[0].left,
      right: parts.at(-1).right,
      gaps: parts.slice(1).map((part, index) => part.left - parts[index].right),
    };
  });
  const keys = [...document.querySelectorAll("#phases .key .phase")];
  return { rows, fills: keys.map((key) => getComputedStyle(key).fill) };
}

// A subject in a legend hides its marks in every picture, and shows them again.
async function toggles(browser) {
  const tab = await opened(browser);
  const state = `[...document.querySelectorAll('[data-subject="1"]')].map(
    (marks) => getComputedStyle(marks).visibility)`;
  const others = state.replace('"1"', '"0"');
  const click = `document.querySelector('.legend [data-key="1"] button').click()`;
  const before = await tab.value(state);
  assert.ok(before.length >= 4 && before.every((one) => one === "visible"), `${before}`);
  await tab.value(click);
  assert.ok((await tab.value(state)).every((one) => one === "hidden"));
  assert.ok((await tab.value(others)).every((one) => one === "visible"));
  const pressed = `[...document.querySelectorAll('[data-key="1"] button')].map((one) => one.ariaPressed)`;
  assert.deepEqual([...new Set(await tab.value(pressed))], ["false"]);
  await tab.value(click);
  assert.ok((await tab.value(state)).every((one) => one === "visible"));
  assertQuiet(tab);
}

// Flame graphs: a box is enlarged by a click or Enter and left by Escape, arrows lead to callers and
// callees, a search marks boxes, and without the program boxes are as wide as they say.
async function flames(browser) {
  const boxes = `[...document.querySelector(".flame").querySelectorAll(".f")]`;
  const seen = `${boxes}.filter((box) => getComputedStyle(box).display !== "none").map((box) => {
    const place = box.querySelector("use").getBoundingClientRect();
    return { name: box.querySelector("text").textContent, width: place.width, left: place.left };
  })`;
  for (const width of [1280, 390]) {
    const tab = await opened(browser, width);
    assert.equal(await tab.value("document.querySelectorAll('.flame').length"), 3);
    const before = await tab.value(seen);
    assert.deepEqual(before.map((box) => box.name).sort(), ["all", "main", "read", "work"]);
    const whole = before[0].width;
    assert.ok(whole > width * 0.8 && whole <= width, `${whole} of ${width}`);
    const labels = await tab.value(`${boxes}.map((box) => box.getAttribute("aria-label"))`);
    assert.ok(labels.some((label) => /^work: .* µs in new, .* µs in old \(\+/.test(label)), `${labels}`);
    // Enlarged, a box is as wide as all, and its callers stay.
    await tab.value(`${boxes}.find((box) => box.textContent === "work").dispatchEvent(new MouseEvent("click", { bubbles: true }))`);
    const enlarged = await tab.value(seen);
    assert.deepEqual(enlarged.map((box) => box.name).sort(), ["all", "main", "work"]);
    assert.ok(enlarged.every((box) => Math.abs(box.width - whole) < 1), JSON.stringify(enlarged));
    await tab.press("Escape");
    assert.deepEqual(await tab.value(seen), before);
    const focused = "document.activeElement.querySelector('text')?.textContent";
    await tab.press("ArrowUp");
    assert.equal(await tab.value(focused), "main");
    await tab.press("ArrowDown");
    assert.equal(await tab.value(focused), "read");
    await tab.press("ArrowRight");
    assert.equal(await tab.value(focused), "work");
    assert.equal(await tab.value("document.activeElement.matches(':focus-visible')"), true);
    await tab.press("Enter");
    assert.equal((await tab.value(seen)).length, 3);
    await tab.press("Escape");
    await tab.value(`(() => {
      const input = document.querySelector(".flames input");
      input.value = "WOR";
      input.dispatchEvent(new Event("input"));
    })()`);
    assert.equal(await tab.value("document.querySelectorAll('.flames')[0].querySelectorAll('.found').length"), 1);
    assert.match(await tab.value("document.querySelector('.flames [role=status]').textContent"), /^1 found, /);
    assert.equal(await tab.value("document.documentElement.scrollWidth"), width);
    assertQuiet(tab);
  }
  const tab = await browser.tab(WIDTHS[0], 800);
  await tab.send("Emulation.setScriptExecutionDisabled", { value: true });
  await tab.open(address);
  const { root } = await tab.send("DOM.getDocument", {});
  const { nodeIds } = await tab.send("DOM.querySelectorAll", { nodeId: root.nodeId, selector: "svg.flame[role=img] > title:first-child + desc" });
  assert.equal(nodeIds.length, 3);
}

// The button gives the record, letter for letter.
async function gives(browser) {
  const tab = await opened(browser);
  const folder = mkdtempSync(join(tmpdir(), "abx-download-"));
  await tab.downloadsInto(folder);
  const at = await tab.value(`(() => {
    const button = document.getElementById("download");
    button.scrollIntoView({ block: "center", behavior: "instant" });
    const box = button.getBoundingClientRect();
    return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  })()`);
  const done = tab.downloaded();
  await tab.click(at.x, at.y);
  await done;
  const files = readdirSync(folder);
  assert.equal(files.length, 1, `${files}`);
  assert.match(files[0], /^abx-study-\d+\.json$/);
  assert.equal(readFileSync(join(folder, files[0]), "utf8"), readFileSync(record, "utf8"));
  assert.deepEqual(tab.troubles, []);
}

// Whatever got into the page could ask nothing of a network and run nothing.
async function asks(browser) {
  let asked = 0;
  const server = createServer((_, answer) => {
    asked += 1;
    answer.end();
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const tab = await opened(browser);
    assertQuiet(tab);
    const url = `http://127.0.0.1:${server.address().port}`;
    const refused = await tab.value(`(async () => {
      const refused = [];
      addEventListener("securitypolicyviolation", (event) => refused.push(event.effectiveDirective));
      const put = (tag, set) => document.body.append(Object.assign(document.createElement(tag), set));
      put("img", { src: "${url}/image" });
      put("script", { src: "${url}/program" });
      put("script", { textContent: "window.ran = true" });
      put("style", { textContent: "body { display: none }" });
      put("link", { rel: "stylesheet", href: "${url}/style" });
      put("iframe", { src: "${url}/frame" });
      await fetch("${url}/data").catch(() => {});
      document.body.insertAdjacentHTML("beforeend", '<p onclick="window.ran = true" id="handler">');
      document.getElementById("handler").click();
      for (let turns = 0; turns < 3000 && new Set(refused).size < 6; turns += 1) {
        await new Promise((next) => setTimeout(next, 10));
      }
      return [...new Set(refused)].sort();
    })()`);
    const all = ["connect-src", "frame-src", "img-src", "script-src-attr", "script-src-elem", "style-src-elem"];
    for (const one of all) assert.ok(refused.includes(one), `${one} is not among ${refused}`);
    assert.equal(await tab.value("window.ran"), undefined);
    assert.equal(await tab.value("getComputedStyle(document.body).display"), "block");
    assert.equal(asked, 0);
  } finally {
    server.close();
  }
}

// Without its program the page still tells everything: each plot has a title, a
// description and its table.
async function stands(browser) {
  const tab = await browser.tab(WIDTHS[0], 800);
  await tab.send("Emulation.setScriptExecutionDisabled", { value: true });
  await tab.open(address);
  const { root } = await tab.send("DOM.getDocument", {});
  const count = async (selector) => {
    const { nodeIds } = await tab.send("DOM.querySelectorAll", { nodeId: root.nodeId, selector });
    return nodeIds.length;
  };
  const plots = await count("svg.plot");
  assert.ok(plots >= 5);
  assert.equal(await count("svg.plot[role=img] > title:first-child + desc"), plots);
  assert.equal(await count("#tip"), 0);
  assert.equal(await count("#download[hidden]"), 1);
  // The distribution shares the table of the quantiles.
  assert.ok((await count("figure > details table")) >= plots - 1);
  const headers = await count("th");
  assert.equal(await count("th[scope=col], th[scope=row]"), headers);
  assert.equal(await count("table > caption:first-child"), await count("table"));
  assert.equal(await count("h1"), 1);
  const headings = "section > h2:first-child, section > details > summary:first-child > h2";
  assert.equal(await count(headings), await count("section"));
  assertQuiet(tab);
}

// On paper: black on white whatever the reader prefers, everything open.
async function prints(browser) {
  const tab = await browser.tab(WIDTHS[0], 800);
  await tab.open(address);
  await tab.media("print", "dark");
  const ground = await tab.value("getComputedStyle(document.documentElement).backgroundColor");
  assert.equal(ground, "rgb(255, 255, 255)");
  await tab.value("dispatchEvent(new Event('beforeprint'))");
  assert.equal(await tab.value("document.querySelectorAll('details:not([open])').length"), 0);
  await tab.value("dispatchEvent(new Event('afterprint'))");
  assert.equal(await tab.value("document.querySelectorAll('details[open]').length"), 0);
  const { data } = await tab.send("Page.printToPDF", {});
  assert.equal(Buffer.from(data, "base64").subarray(0, 5).toString(), "%PDF-");
  assertQuiet(tab);
}
