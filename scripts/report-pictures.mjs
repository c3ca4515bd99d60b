#!/usr/bin/env node
// Draws the pictures in docs/images from records in studies/. Needs chromium.
//
//   scripts/report-pictures.mjs ABX

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { start } from "../crates/abx/tests/browser/chromium.mjs";

// Each picture shows the page of a study, from the heading `from`. Width and height are in pixels.
const PICTURES = [
  { file: "report.png", study: "event-servers", scheme: "light", width: 1280, height: 1020 },
  {
    file: "report-dark.png",
    study: "fastcgi",
    from: "slices-heading",
    scheme: "dark",
    width: 1100,
    height: 1690,
  },
];
const root = fileURLToPath(new URL("..", import.meta.url));
const abx = process.argv[2];
if (!abx) {
  console.error("usage: scripts/report-pictures.mjs ABX");
  process.exit(2);
}

const report = (study, ...flags) => {
  const record = join(root, "studies", study, "record.json.zst");
  const { status } = spawnSync(abx, ["report", record, ...flags]);
  // 3: some comparisons have no result.
  if (status !== 0 && status !== 3) throw new Error(`${abx} cannot report ${record}`);
};
const images = join(root, "docs", "images");
report("nginx-vs-lighttpd", "--svg", join(images, "verdict.svg"));
const folder = mkdtempSync(join(tmpdir(), "abx-pictures-"));
const browser = start();
try {
  for (const { file, study, from, scheme, width, height } of PICTURES) {
    const page = join(folder, `${study}.html`);
    report(study, "--html", page);
    const tab = await browser.tab(width, height);
    await tab.media("screen", scheme);
    await tab.open(pathToFileURL(page).href);
    // The sections below the first screen are folded.
    if (from) await tab.value("document.querySelectorAll('details.section').forEach((part) => { part.open = true; })");
    const top = `document.getElementById(${JSON.stringify(from ?? "")})?.getBoundingClientRect().top`;
    const y = Math.max(0, ((await tab.value(top)) ?? 0) - 40);
    const clip = { x: 0, y, width, height, scale: 1 };
    const picture = await tab.send("Page.captureScreenshot", { clip, captureBeyondViewport: true });
    writeFileSync(join(images, file), Buffer.from(picture.data, "base64"));
  }
} finally {
  await browser.end();
  rmSync(folder, { recursive: true });
}
