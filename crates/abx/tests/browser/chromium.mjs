// A headless Chromium that is told what to do over a pipe, in its own protocol:
// no other program, no port, no package. Start at `start`.

import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-dev-shm-usage",
  "--hide-scrollbars",
  "--remote-debugging-pipe",
];

// How long one answer of the browser may take: far more than it ever needs.
const DEADLINE_MS = 60_000;

// Starts a browser with a profile of its own, to be ended by `end`.
export function start(program = "chromium") {
  const profile = mkdtempSync(join(tmpdir(), "abx-browser-"));
  const child = spawn(program, [...FLAGS, `--user-data-dir=${profile}`, "about:blank"], {
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    // What it keeps outside of its profile goes there too.
    env: { ...process.env, HOME: profile, XDG_CONFIG_HOME: profile, XDG_CACHE_HOME: profile },
  });
  return new Browser(child, profile);
}

class Browser {
  #child;
  #profile;
  #waiting = new Map();
  #listeners = [];
  #last = 0;
  #said = "";

  constructor(child, profile) {
    this.#child = child;
    this.#profile = profile;
    child.stderr.on("data", (text) => (this.#said += text));
    child.on("error", (error) => this.#fail(error));
    child.on("exit", (code) => this.#fail(new Error(`the browser ended (${code}): ${this.#said}`)));
    child.stdio[3].on("error", () => {});
    let rest = "";
    child.stdio[4].setEncoding("utf8");
    child.stdio[4].on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      messages.forEach((message) => this.#take(JSON.parse(message)));
    });
  }

  #take(message) {
    if (message.id === undefined) {
      this.#listeners.forEach((listener) => listener(message));
      return;
    }
    const { resolve, reject } = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (message.error) reject(new Error(`${message.error.message} (${message.error.data ?? ""})`));
    else resolve(message.result);
  }

  #fail(error) {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }

  // Sends one command and answers its result.
  send(method, params = {}, sessionId = undefined) {
    const id = ++this.#last;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`no answer to ${method}`)), DEADLINE_MS);
      const ends = (finish) => (value) => {
        clearTimeout(late);
        finish(value);
      };
      this.#waiting.set(id, { resolve: ends(resolve), reject: ends(reject) });
      this.#child.stdio[3].write(JSON.stringify({ id, method, params, sessionId }) + "\0");
    });
  }

  // Calls `listener` with every event.
  on(listener) {
    this.#listeners.push(listener);
  }

  // Opens an empty tab that is as wide and high as this.
  async tab(width, height) {
    const { targetId } = await this.send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.send("Target.attachToTarget", { targetId, flatten: true });
    const tab = new Tab(this, sessionId);
    for (const domain of ["Page", "Runtime", "Network", "Log"]) {
      await tab.send(`${domain}.enable`);
    }
    await tab.resize(width, height);
    return tab;
  }

  // Ends it, with all that it kept.
  async end() {
    const ended = new Promise((resolve) => this.#child.on("exit", resolve));
    await this.send("Browser.close").catch(() => this.#child.kill("SIGKILL"));
    await ended;
    rmSync(this.#profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

class Tab {
  #browser;
  #session;
  // What the page said or did that it should not.
  troubles = [];
  // Every address that it asked for.
  requests = [];
  dialogs = [];

  constructor(browser, session) {
    this.#browser = browser;
    this.#session = session;
    browser.on((event) => {
      if (event.sessionId === session) this.#see(event);
    });
  }

  #see({ method, params }) {
    switch (method) {
      case "Runtime.exceptionThrown":
        this.troubles.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
        break;
      case "Runtime.consoleAPICalled":
        this.troubles.push(params.args.map((one) => one.value ?? one.description).join(" "));
        break;
      case "Log.entryAdded":
        this.troubles.push(params.entry.text);
        break;
      case "Network.requestWillBeSent":
        this.requests.push(params.request.url);
        break;
      case "Page.javascriptDialogOpening":
        this.dialogs.push(params.message);
        this.send("Page.handleJavaScriptDialog", { accept: true });
        break;
    }
  }

  send(method, params = {}) {
    return this.#browser.send(method, params, this.#session);
  }

  // Opens an address and waits until all of it is there.
  async open(url) {
    const loaded = this.#next("Page.loadEventFired");
    await this.send("Page.navigate", { url });
    await loaded;
  }

  #next(method) {
    return new Promise((resolve) => {
      this.#browser.on((event) => {
        if (event.sessionId === this.#session && event.method === method) resolve(event.params);
      });
    });
  }

  resize(width, height, isMobile = width < 600) {
    const metrics = { width, height, deviceScaleFactor: 1, mobile: isMobile };
    return this.send("Emulation.setDeviceMetricsOverride", metrics);
  }

  // `screen` or `print`, `light` or `dark`.
  media(media, scheme) {
    const features = [{ name: "prefers-color-scheme", value: scheme }];
    return this.send("Emulation.setEmulatedMedia", { media, features });
  }

  // What an expression is in the page.
  async value(expression) {
    const found = await this.send("Runtime.evaluate", {
      expression,
      returnByValue: true,
      awaitPromise: true,
    });
    if (found.exceptionDetails) {
      throw new Error(found.exceptionDetails.exception?.description ?? expression);
    }
    return found.result.value;
  }

  // Waits until an expression holds in the page.
  async until(what, expression) {
    const wait = `new Promise((resolve) => {
      const look = () => ((${expression}) ? resolve(true) : requestAnimationFrame(look));
      look();
      setTimeout(() => resolve(false), ${DEADLINE_MS / 2});
    })`;
    if (!(await this.value(wait))) throw new Error(`waited in vain for ${what}`);
  }

  point(x, y) {
    return this.send("Input.dispatchMouseEvent", { type: "mouseMoved", x, y });
  }

  async click(x, y) {
    await this.point(x, y);
    for (const type of ["mousePressed", "mouseReleased"]) {
      await this.send("Input.dispatchMouseEvent", { type, x, y, button: "left", clickCount: 1 });
    }
  }

  async press(key) {
    const codes = { Tab: 9, Escape: 27, ArrowLeft: 37, ArrowUp: 38, ArrowRight: 39, ArrowDown: 40, End: 35, Home: 36, Enter: 13 };
    for (const type of ["rawKeyDown", "keyUp"]) {
      const params = { type, key, code: key, windowsVirtualKeyCode: codes[key] };
      await this.send("Input.dispatchKeyEvent", params);
    }
  }

  // Lets downloads go into this folder, and tells of them.
  downloadsInto(folder) {
    const params = { behavior: "allow", downloadPath: folder, eventsEnabled: true };
    return this.#browser.send("Browser.setDownloadBehavior", params);
  }

  // Waits until a download is whole.
  downloaded() {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error("no download")), DEADLINE_MS);
      this.#browser.on(({ method, params }) => {
        if (method === "Browser.downloadProgress" && params.state === "completed") {
          clearTimeout(late);
          resolve();
        }
      });
    });
  }

  // All of the page as a picture, in PNG.
  async picture(clip = undefined) {
    const params = { format: "png", captureBeyondViewport: true, clip };
    const { data } = await this.send("Page.captureScreenshot", params);
    return Buffer.from(data, "base64");
  }
}
