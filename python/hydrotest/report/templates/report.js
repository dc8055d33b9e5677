"use strict";
// ---- figures: drawn as wide as the page, also where they are still closed; colours follow the page by themselves
const place = document.querySelector("main");
const config = {
  background: "transparent", font: "system-ui, sans-serif", view: { stroke: "var(--line)" },
  axis: { labelColor: "var(--dim)", titleColor: "var(--dim)", gridColor: "var(--line)", domainColor: "var(--dim)", tickColor: "var(--dim)", labelOverlap: true, labelFontSize: 12, titleFontSize: 12, titleFontWeight: 500 },
  legend: { labelColor: "var(--ink)", titleColor: "var(--dim)", labelFontSize: 12, titleFontSize: 12, symbolStrokeWidth: 2, columns: 3, labelLimit: 260 },
  text: { color: "var(--ink)", fontSize: 12 },
};
const options = { mode: "vega-lite", renderer: "svg", config, actions: { export: true, source: false, compiled: false, editor: false } };
let drawnFor = 0;
// Legends and titles of axes take no more than the width that there is.
const NARROW = 900, CHARACTER = 6.6, SYMBOL = 36;
function configFor(width) {
  const layout = { top: { direction: width < NARROW ? "vertical" : "horizontal" } };
  return { ...config, text: { ...config.text, fontSize: width < NARROW / 2 ? 10 : 12 }, legend: { ...config.legend, columns: Math.max(1, Math.min(3, Math.floor(width / 240))), layout } };
}
function columnsOf(names, width) {
  return Math.max(1, Math.min(8, Math.floor(width / (SYMBOL + CHARACTER * Math.max(...names.map(name => String(name).length))))));
}
function wrapped(title, width) {
  const lines = [""];
  for (const word of title.split(" ")) if ((lines.at(-1) + word).length * CHARACTER > width && lines.at(-1)) lines.push(word); else lines.push((lines.pop() + " " + word).trim());
  return lines.length > 1 ? lines : title;
}
function sized(spec, width, inside = "") {
  if (Array.isArray(spec)) return spec.map(part => sized(part, width, inside));
  if (spec && typeof spec === "object") {
    const copy = {};
    for (const [key, value] of Object.entries(spec)) {
      if (key === "datasets" || key === "data") copy[key] = value;
      else if (key === "width" && value === "container") copy[key] = width;
      else if (key === "labelLimit") copy[key] = Math.min(value, Math.round(width / 3));
      else if (key === "title" && typeof value === "string" && inside === "x") copy[key] = wrapped(value, width * .6);
      else copy[key] = sized(value, width, key === "axis" ? inside : key);
    }
    const names = spec.scale?.domain ?? spec.sort;
    if (copy.legend && spec.type === "nominal" && Array.isArray(names)) copy.legend.columns = columnsOf(names, width);
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
    const whole = JSON.parse(script.textContent), least = whole.usermeta?.minWidth ?? 0;
    const spec = sized(whole, Math.max(width - 40, least));
    // What cannot be drawn so narrow is scrolled, by keys as well.
    const isWide = chart.classList.toggle("wide", least > width - 40);
    for (const [key, value] of [["tabindex", "0"], ["role", "group"], ["aria-label", chart.dataset.label]]) if (isWide) chart.setAttribute(key, value); else chart.removeAttribute(key);
    spec.autosize = { type: "fit-x", contains: "padding" };
    if (spec.vconcat) delete spec.autosize, Object.assign(spec, sized(whole, width - 110));
    try { await vegaEmbed(chart, spec, { ...options, config: configFor(width) }); named(chart); } catch (error) { chart.textContent = "This figure failed: " + error.message; console.error(error); }
    await new Promise(resolve => setTimeout(resolve));
    if (width !== drawnFor) return;
  }
  document.documentElement.dataset.drawn = width;
}
// The drawing is an image; the menu next to it is none.
function named(chart) {
  const drawing = chart.querySelector("svg.marks"), menu = chart.querySelector("details > summary");
  drawing.setAttribute("role", "img");
  drawing.setAttribute("aria-label", chart.dataset.label);
  menu.setAttribute("aria-label", menu.parentElement.title = "Save this figure");
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
  led = { id: target.id, at: scrollY };
  mark();
}
addEventListener("hashchange", reveal);
addEventListener("click", event => { const link = event.target.closest('a[href^="#"]'); if (link && link.hash === location.hash) reveal(); });
let closed = [];
addEventListener("beforeprint", () => { closed = [...document.querySelectorAll("details:not([open], .vega-embed *)")]; for (const one of closed) one.open = true; });
addEventListener("afterprint", () => { for (const one of closed) one.open = false; });

// ---- the contents list follows the scroll: the section at the top of the window, or the one that a link led to
function mark() {
  if (led && Math.abs(scrollY - led.at) > 40) led = null;
  const begun = parts.filter(part => part.getBoundingClientRect().top <= 64);
  const isEnd = scrollY > 0 && scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
  const id = led && links.has(led.id) ? led.id : (isEnd ? parts.at(-1) : begun.at(-1) || parts[0]).id;
  for (const [own, link] of links) if (own === id) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
}
const links = new Map([...document.querySelectorAll("nav a")].map(link => [link.hash.slice(1), link]));
const parts = [...links.keys()].map(id => document.getElementById(id));
let led = null;
addEventListener("scroll", () => requestAnimationFrame(mark), { passive: true });
mark();
reveal();

// ---- tables: sorted by a click on a head, downloaded as CSV
for (const button of document.querySelectorAll("th button")) button.addEventListener("click", () => {
  const head = button.closest("th"), table = head.closest("table"), at = [...head.parentElement.children].indexOf(head);
  const up = head.getAttribute("aria-sort") !== "ascending";
  for (const other of head.parentElement.children) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", up ? "ascending" : "descending");
  const key = row => { const cell = row.children[at], text = cell.textContent.trim(); return cell.dataset.v !== undefined ? Number(cell.dataset.v) : text === "–" ? null : text; };
  const order = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : typeof a === "number" ? -1 : typeof b === "number" ? 1 : a.localeCompare(b);
  // What is not known is last in either order.
  const rows = [...table.tBodies[0].rows].map(row => [key(row), row]).sort(([a], [b]) => a === null || b === null ? (a === null) - (b === null) : (up ? 1 : -1) * order(a, b));
  table.tBodies[0].append(...rows.map(([, row]) => row));
});
const quoted = text => /[",\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
function text(cell) {
  const unit = cell.querySelector(".u")?.textContent ?? "", whole = (cell.querySelector(".t") || cell).textContent;
  return unit ? whole.slice(0, whole.lastIndexOf(unit)).trim() + " " + unit : whole.trim();
}
for (const button of document.querySelectorAll("button.csv")) button.addEventListener("click", () => {
  const table = document.getElementById(button.dataset.table);
  const cells = row => [
    ...[...row.children].filter(cell => cell.dataset.head).map(cell => [cell.dataset.head, text(cell)]),
    ...[...row.querySelectorAll("dt")].map(term => [term.textContent.trim(), text(term.nextElementSibling)]),
  ];
  const rows = [...table.tBodies[0].rows].map(cells);
  const lines = [rows[0].map(([head]) => head), ...rows.map(row => row.map(([, value]) => value))];
  const whole = lines.map(line => line.map(quoted).join(",")).join("\r\n") + "\r\n";
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([whole], { type: "text/csv" }));
  link.download = button.dataset.table + ".csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
});
