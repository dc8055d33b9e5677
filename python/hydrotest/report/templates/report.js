"use strict";
// ---- figures: drawn as wide as the page, also where they are still closed; colours follow the page by themselves
const place = document.querySelector("main");
const config = {
  background: "transparent", font: "system-ui, sans-serif", view: { stroke: "var(--line)" },
  axis: { labelColor: "var(--dim)", titleColor: "var(--dim)", gridColor: "var(--line)", domainColor: "var(--dim)", tickColor: "var(--dim)", labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 },
  legend: { labelColor: "var(--ink)", titleColor: "var(--dim)", labelFontSize: 12, titleFontSize: 12, symbolStrokeWidth: 2, columns: 3, labelLimit: 260 },
  text: { color: "var(--ink)", fontSize: 12 },
};
const options = { mode: "vega-lite", renderer: "svg", config, actions: { export: true, source: false, compiled: false, editor: false } };
let drawnFor = 0;
function sized(spec, width) {
  if (Array.isArray(spec)) return spec.map(part => sized(part, width));
  if (spec && typeof spec === "object") {
    const copy = {};
    for (const [key, value] of Object.entries(spec)) copy[key] = key === "datasets" || key === "data" ? value : key === "width" && value === "container" ? width : sized(value, width);
    return copy;
  }
  return spec;
}
async function draw() {
  const width = place.clientWidth;
  if (Math.abs(width - drawnFor) < 40) return;
  drawnFor = width;
  for (const script of document.querySelectorAll('script[type="application/json"][id$="-spec"]')) {
    const chart = document.getElementById(script.id.slice(0, -5));
    const spec = sized(JSON.parse(script.textContent), width - 40);
    spec.autosize = { type: "fit-x", contains: "padding" };
    if (spec.vconcat) delete spec.autosize, Object.assign(spec, sized(JSON.parse(script.textContent), width - 110));
    try { await vegaEmbed(chart, spec, options); } catch (error) { chart.textContent = "This figure failed: " + error.message; console.error(error); }
    await new Promise(resolve => setTimeout(resolve));
    if (width !== drawnFor) return;
  }
  document.documentElement.dataset.drawn = width;
}
let waiting;
addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(draw, 200); });
draw();

// ---- what a link names is opened; everything is in print
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.tagName === "SECTION" && target.firstElementChild && target.firstElementChild.tagName === "DETAILS") target.firstElementChild.open = true;
  for (let one = target; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
  target.scrollIntoView();
}
addEventListener("hashchange", reveal);
reveal();
let closed = [];
addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("details:not([open])")]; for (const one of closed) one.open = true; });
addEventListener("afterprint", () => { for (const one of closed) one.open = false; });

// ---- the contents list follows the scroll
const links = new Map([...document.querySelectorAll("nav a")].map(link => [link.hash.slice(1), link]));
const seen = new Set();
const watcher = new IntersectionObserver(entries => {
  for (const entry of entries) if (entry.isIntersecting) seen.add(entry.target.id); else seen.delete(entry.target.id);
  const first = [...links.keys()].find(id => seen.has(id));
  for (const [id, link] of links) if (id === first) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
}, { rootMargin: "0px 0px -55% 0px" });
for (const id of links.keys()) { const part = document.getElementById(id); if (part) watcher.observe(part); }

// ---- tables: sorted by a click on a head, downloaded as CSV
for (const button of document.querySelectorAll("th button")) button.addEventListener("click", () => {
  const head = button.closest("th"), table = head.closest("table"), at = [...head.parentElement.children].indexOf(head);
  const up = head.getAttribute("aria-sort") !== "ascending";
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = row => { const cell = row.children[at]; return cell.dataset.v === undefined ? cell.textContent.trim() : Number(cell.dataset.v); };
  const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : typeof a === "number" ? -1 : typeof b === "number" ? 1 : a.localeCompare(b);
  const rows = [...table.tBodies[0].rows].sort((a, b) => (up ? 1 : -1) * order(key(a), key(b)));
  table.tBodies[0].append(...rows);
});
const quoted = text => /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
for (const button of document.querySelectorAll("button.csv")) button.addEventListener("click", () => {
  const table = document.getElementById(button.dataset.table);
  const lines = [...table.tBodies[0].rows].map(row => Object.fromEntries([
    ...[...row.children].filter(cell => cell.dataset.head).map(cell => [cell.dataset.head, (cell.querySelector(".t") || cell).textContent.trim()]),
    ...[...row.querySelectorAll("dt")].map(term => [term.textContent.trim(), term.nextElementSibling.textContent.trim()]),
  ]));
  const heads = Object.keys(lines[0] || {});
  const text = [heads, ...lines.map(line => heads.map(head => line[head]))].map(cells => cells.map(quoted).join(",")).join("\r\n") + "\r\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = button.dataset.table + ".csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
