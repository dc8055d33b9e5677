// Facts on reports in a real browser: `node check.mjs CHROMIUM FACTS.json`, with a line of JSON for each report on its input. What they must be is in
// tests/test_browser.py.
import { writeFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { launch, openAll, opened, resized } from "./browser.mjs";
import { contrast, layout, pruned, sorted } from "./layout.mjs";
import { contents, keyboard, linked, print, saved } from "./steps.mjs";

const WIDTHS = [1280, 768, 390], MODES = ["light", "dark"];
const SERIOUS = ["serious", "critical"];
const AT_ONCE = 2; // pages

/** Each width, with everything unfolded. It ends with the narrowest. */
async function looks(page) {
  await openAll(page);
  const found = [];
  for (const width of WIDTHS) {
    await resized(page, width);
    found.push({ ...(await page.evaluate(layout)), contrast: await contrasts(page) });
  }
  return found;
}

/** Contrast of the text in figures in each mode. */
async function contrasts(page) {
  const found = {};
  for (const mode of MODES) {
    await page.emulateMedia({ colorScheme: mode });
    found[mode] = await page.evaluate(contrast);
  }
  await page.emulateMedia({ colorScheme: MODES[0] });
  return found;
}

/** Violations of accessibility that matter, at each width in each mode. It ends with a page that is not whole any more. */
async function accessible(page) {
  await openAll(page);
  await page.evaluate(pruned);
  await page.evaluate(axe.source);
  const found = [];
  for (const width of WIDTHS) {
    await resized(page, width);
    for (const mode of MODES) {
      await page.emulateMedia({ colorScheme: mode });
      // The mode changes nothing but colours.
      const { passed, violations } = await page.evaluate(async rules => {
        const done = await globalThis.axe.run(document, { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) });
        const violations = done.violations.map(one => ({
          rule: one.id, impact: one.impact, count: one.nodes.length,
          where: one.nodes.slice(0, 6).map(node => `${node.target.join(" ")}: ${node.any.concat(node.all, node.none)[0]?.message ?? ""}`),
        }));
        return { passed: done.passes.map(one => one.id), violations };
      }, mode === MODES[0] ? null : ["color-contrast"]);
      found.push({ width, mode, passed, violations: violations.filter(one => SERIOUS.includes(one.impact)) });
    }
  }
  return found;
}

async function facts(browser, { path, steps }) {
  const url = pathToFileURL(path).href;
  const { page, requests, messages, close } = await opened(browser, url);
  const found = { url, requests, messages, seconds: {} };
  const doing = {
    folded: () => page.evaluate(layout),
    keyboard: () => keyboard(page),
    contents: () => contents(page),
    print: () => print(page),
    looks: () => looks(page),
    wide: async () => { await openAll(page); return page.evaluate(layout); },
    sorted: () => page.evaluate(sorted),
    saved: () => saved(page),
    linked: () => linked(page, url),
    accessible: () => accessible(page),
  };
  for (const [step, does] of Object.entries(doing)) {
    if (!steps.includes(step)) continue;
    const began = performance.now();
    found[step] = await does();
    found.seconds[step] = Math.round(performance.now() - began) / 1000;
  }
  await close();
  return found;
}

const [chromium, answer] = process.argv.slice(2);
const browser = await launch(chromium);
try {
  const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator](), found = {};
  const work = async () => {
    for (let line; !(line = await lines.next()).done;) {
      const { name, ...report } = JSON.parse(line.value);
      found[name] = await facts(browser, report);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  await writeFile(answer, JSON.stringify(found));
} finally {
  await browser.close();
}
