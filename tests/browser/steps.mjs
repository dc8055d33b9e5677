// What a reader does with a page: keys, links, sorting, saving, printing.
import { readFile } from "node:fs/promises";
import { drawn, openAll } from "./browser.mjs";
import { layout, printed } from "./layout.mjs";

const TABS_MAX = 600, CLICKS_MAX = 40;
const A4 = { width: 718, height: 1047 }; // at 96 dots per inch, less a margin of 1 cm

/** Tab from the first to the last; Enter opens the closed section `#bottlenecks` and sorts by its first head. */
export async function keyboard(page) {
  const stops = [];
  let opens = null, sorts = null;
  for (let tab = 0; tab < TABS_MAX; tab++) {
    await page.keyboard.press("Tab");
    const stop = await page.evaluate(() => {
      const one = document.activeElement;
      if (one === document.body || one.dataset.stop) return null;
      const all = [...document.querySelectorAll("*")];
      one.dataset.stop = "1";
      const box = one.getBoundingClientRect();
      return {
        at: all.indexOf(one), what: one.matches("th button") ? "sort" : one.matches(".csv") ? "csv" : one.tagName.toLowerCase(),
        isFolded: one.tagName === "SUMMARY" && !one.parentElement.open, section: one.closest("section[id]")?.id ?? "",
        name: one.getAttribute("aria-label") || one.textContent.trim(),
        isMarked: getComputedStyle(one).outlineStyle !== "none", isSeen: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
      };
    });
    if (!stop) break;
    stops.push(stop);
    const isSection = stop.what === "summary" && stop.section === "bottlenecks" && opens === null;
    if (isSection || (stop.section === "bottlenecks" && stop.isFolded && sorts === null)) {
      await page.keyboard.press("Enter");
      if (isSection) opens = await page.evaluate(() => document.activeElement.parentElement.open);
    } else if (stop.what === "sort" && stop.section === "bottlenecks" && sorts === null) {
      await page.keyboard.press("Enter");
      sorts = await page.evaluate(() => document.activeElement.closest("th").getAttribute("aria-sort"));
    }
  }
  const missed = await page.evaluate(() => [...document.querySelectorAll("a[href], button, summary, [tabindex='0']")]
    .filter(one => one.checkVisibility() && !one.dataset.stop).map(one => one.outerHTML.slice(0, 120)));
  return { stops, opens, sorts, missed };
}

/** Each link of the contents: is its section opened, at the top if there is room, and marked? Then the same by scrolling. */
export async function contents(page) {
  const current = () => page.evaluate(() => [...document.querySelectorAll("nav a[aria-current]")].map(link => link.hash.slice(1)));
  const marked = async id => {
    try {
      await page.waitForFunction(id => { const all = document.querySelectorAll("nav a[aria-current]"); return all.length === 1 && all[0].hash === `#${id}`; }, id, { timeout: 5_000 });
      return id;
    } catch { return (await current()).join(); }
  };
  const ids = await page.evaluate(() => [...document.querySelectorAll("nav a")].map(link => link.hash.slice(1)));
  const links = [];
  for (const id of ids) {
    await page.click(`nav a[href="#${id}"]`);
    const seen = await marked(id);
    links.push({ id, marked: seen, isOpen: await page.evaluate(id => document.querySelector(`#${CSS.escape(id)} > details`)?.open ?? true, id) });
  }
  const scrolls = [];
  for (const id of ids.slice(0, -2)) {
    await page.evaluate(id => scrollTo(0, document.getElementById(id).getBoundingClientRect().top + scrollY + 5), id);
    scrolls.push({ id, marked: await marked(id) });
  }
  return { links, scrolls };
}

/** A page that is opened by a link to a folded section. */
export async function linked(page, url) {
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.goto("about:blank");
  await page.goto(`${url}#bottlenecks`);
  await drawn(page);
  return page.evaluate(() => ({
    isOpen: document.querySelector("#bottlenecks > details").open,
    isSeen: document.getElementById("bottlenecks").getBoundingClientRect().top < innerHeight,
  }));
}

/** Chromium saves at most ten files a second: then the next click does. */
async function downloaded(page, button, id) {
  const saves = () => page.waitForEvent("download", { predicate: one => one.suggestedFilename() === `${id}.csv`, timeout: 500 }).catch(() => null);
  for (let click = 0; click < CLICKS_MAX; click++) {
    const [download] = await Promise.all([saves(), button.click()]);
    if (download) return download;
  }
  throw new Error(`nothing was saved as ${id}.csv after ${CLICKS_MAX} clicks`);
}

/** Each table as its CSV button saves it. */
export async function saved(page) {
  await openAll(page);
  const found = [];
  for (const button of await page.$$("button.csv")) {
    const table = await button.evaluate(one => {
      const table = document.getElementById(one.dataset.table), first = table.tBodies[0].rows[0];
      return {
        id: table.id, title: document.getElementById(`${table.id}-title`).textContent, rows: table.tBodies[0].rows.length,
        columns: first.querySelectorAll("[data-head]:not([data-head=''])").length + first.querySelectorAll("dt").length,
      };
    });
    const download = await downloaded(page, button, table.id);
    found.push({ ...table, file: download.suggestedFilename(), text: await readFile(await download.path(), "utf8") });
  }
  return found;
}

/** On paper, from a dark screen: what the page looks like as wide as A4, and what a PDF of it finds unfolded. */
export async function print(page) {
  const screen = page.viewportSize();
  await page.emulateMedia({ media: "screen", colorScheme: "dark" });
  await page.evaluate(() => {
    for (const one of document.querySelectorAll("main details:not(.vega-embed *)")) one.open = one.matches("#limits > details");
    globalThis.foldedAt = [];
    for (const when of ["beforeprint", "afterprint"]) addEventListener(when, () => foldedAt.push(document.querySelectorAll("main details:not([open], .vega-embed *)").length));
  });
  const folded = await page.evaluate(() => document.querySelectorAll("main details:not([open], .vega-embed *)").length);
  const pdf = await page.pdf({ format: "A4", margin: { top: "1cm", bottom: "1cm", left: "1cm", right: "1cm" } });
  const [before, after] = await page.evaluate(() => foldedAt);
  await page.emulateMedia({ media: "print", colorScheme: "dark" });
  // A printer draws no figure anew for its width.
  await page.evaluate(() => { globalThis.stop = event => event.stopImmediatePropagation(); addEventListener("resize", stop, { capture: true }); });
  await page.setViewportSize(A4);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const seen = { ...(await page.evaluate(printed)), layout: await page.evaluate(layout) };
  await page.emulateMedia({ media: "screen", colorScheme: "light" });
  await page.setViewportSize(screen);
  await page.evaluate(() => removeEventListener("resize", stop, { capture: true }));
  return { folded, before, after, pages: pdf.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0, ...seen };
}
