// One Chromium, and pages that say what they asked for and complained about.
import { chromium } from "playwright-core";

// Nothing of the browser's own may ask a network: a request that is seen is the report's.
const FLAGS = [
  "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
  "--disable-background-networking", "--disable-component-update", "--disable-sync",
];
const DEADLINE_MS = 60_000;

/** A browser with an empty profile of its own. */
export function launch(executablePath) {
  return chromium.launch({ executablePath, args: FLAGS });
}

/** A page, and what it has asked for and said: lists that grow. */
export async function opened(browser, url, { width = 1280, height = 900, mode = "light" } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: mode, reducedMotion: "reduce" });
  const page = await context.newPage();
  page.setDefaultTimeout(DEADLINE_MS);
  const requests = [], messages = [];
  page.on("request", request => requests.push(request.url()));
  page.on("console", message => { if (["error", "warning"].includes(message.type())) messages.push(message.text()); });
  page.on("pageerror", error => messages.push(String(error)));
  await page.goto(url);
  await drawn(page);
  return { page, requests, messages, close: () => context.close() };
}

/** Waits until all figures are drawn for the width that the page has. */
export function drawn(page) {
  return page.waitForFunction(() => {
    const width = document.querySelector("main").clientWidth;
    return Math.abs(Number(document.documentElement.dataset.drawn) - width) < 40;
  });
}

/** Another width, in which the figures are drawn anew. */
export async function resized(page, width, height = 900) {
  await page.setViewportSize({ width, height });
  await drawn(page);
}

/** Opens whatever can be opened. */
export function openAll(page) {
  return page.evaluate(() => { for (const one of document.querySelectorAll("main details:not(.vega-embed *)")) one.open = true; });
}
