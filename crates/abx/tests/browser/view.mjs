// What the pages of `abx view` do in a real browser:
//   node view.mjs URL
// The list must have two records, a study among them. Ends with 0 when all of it
// holds, and says what does not hold otherwise.

import assert from "node:assert/strict";

import { start } from "./chromium.mjs";

const WIDTHS = [1280, 360];
const DEADLINE_MS = 60_000;
const [, , url] = process.argv;

const browser = start();
try {
  for (const width of WIDTHS) await walk(width);
} finally {
  await browser.end();
}

async function walk(width) {
  const tab = await browser.tab(width, 800);
  await tab.open(url);
  await fits(tab, `the list, ${width} pixels`);
  const count = await tab.value(`(() => {
    const boxes = [...document.querySelectorAll('input[type="checkbox"]')];
    boxes.forEach((box) => box.click());
    return boxes.length;
  })()`);
  assert.equal(count, 2);
  await tab.value("document.querySelector('form[action=\"/side\"] button').click()");
  await arrives(tab, "/side");
  const rows = await tab.value("document.querySelectorAll('table.ratios tbody tr').length");
  assert.equal(rows, 1);
  await fits(tab, `side by side, ${width} pixels`);
  await tab.value("document.querySelector('a[href^=\"/record/\"]').click()");
  await arrives(tab, "/record/");
  await fits(tab, `a report, ${width} pixels`);
  assert.deepEqual(tab.troubles, []);
  assert.deepEqual(tab.dialogs, []);
  const elsewhere = tab.requests.filter((one) => !one.startsWith(url) && !one.startsWith("data:"));
  assert.deepEqual(elsewhere, []);
}

// Waits for a page that a click leads to. While one page goes and the next comes
// there is nobody to answer.
async function arrives(tab, path) {
  const isThere = `document.readyState === "complete" && location.pathname.startsWith("${path}")`;
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await tab.value(isThere).catch(() => false))) {
    assert.ok(Date.now() < deadline, `waited in vain for ${path}`);
    await new Promise((next) => setTimeout(next, 10));
  }
}

async function fits(tab, where) {
  const [wide, room] = await tab.value(
    "[document.documentElement.scrollWidth, document.documentElement.clientWidth]",
  );
  assert.equal(wide, room, `scrolls sideways: ${where}`);
  assert.equal(await tab.value("document.querySelectorAll('h1').length"), 1, where);
  const unnamed = await tab.value(
    "[...document.querySelectorAll('input, button')].filter((one) => !(one.labels?.length || one.ariaLabel || one.textContent)).length",
  );
  assert.equal(unnamed, 0, `controls without a name: ${where}`);
}
