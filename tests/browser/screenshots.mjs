// Pictures of a report for docs/: `node screenshots.mjs report.html FOLDER [CHROMIUM]`.
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { launch, opened } from "./browser.mjs";

const SHOTS = [
  { name: "report-light", width: 1280, height: 900 },
  { name: "report-dark", width: 1280, height: 900, mode: "dark" },
  { name: "report-phone", width: 390, height: 844 },
  { name: "report-bottlenecks", width: 1280, height: 900, section: "bottlenecks" },
];

const [report, folder, chromium = "/usr/bin/chromium"] = process.argv.slice(2);
if (!report || !folder) {
  console.error("error: what to draw and where to is missing\nhelp: node screenshots.mjs RUN/report.html docs/images [/usr/bin/chromium]");
  process.exit(2);
}
await mkdir(folder, { recursive: true });
const browser = await launch(chromium);
try {
  for (const { name, section, ...screen } of SHOTS) {
    const url = pathToFileURL(resolve(report)).href + (section ? `#${section}` : "");
    const { page, close } = await opened(browser, url, screen);
    // Figures above a section push it down while they are drawn.
    if (section) await page.evaluate(id => document.getElementById(id).scrollIntoView(), section);
    const path = join(folder, `${name}.png`);
    await page.screenshot({ path });
    console.log(path);
    await close();
  }
} finally {
  await browser.close();
}
