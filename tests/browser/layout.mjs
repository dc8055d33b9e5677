// What is seen of a page, as facts. Each function runs in the page, so it uses nothing from outside itself.

/** What reaches beyond the page, beyond its own box, or beyond its drawing; figures; columns of tables. */
export function layout() {
  const SLACK = 1; // of rounding, in pixels
  const width = document.documentElement.clientWidth;
  const name = one => [one.tagName.toLowerCase(), one.id && `#${one.id}`, one.getAttribute("class") && `.${one.getAttribute("class").split(" ").join(".")}`]
    .filter(Boolean).join("") + ` in ${one.parentElement.closest("[id]")?.id} “${one.textContent.trim().slice(0, 40)}”`;
  const scrolls = one => ["auto", "scroll"].includes(getComputedStyle(one).overflowX);
  const isInScroller = one => { for (let up = one.parentElement; up; up = up.parentElement) if (scrolls(up)) return true; return false; };
  const beyond = [], overfull = [];
  for (const one of document.body.querySelectorAll("*:not(script):not(.skip):not(svg *)")) {
    const box = one.getBoundingClientRect();
    if (!box.width || !one.checkVisibility()) continue;
    if ((box.left < -SLACK || box.right > width + SLACK) && !isInScroller(one)) beyond.push(name(one));
    if (one.clientWidth && one.scrollWidth > one.clientWidth + SLACK && !scrolls(one) && !isInScroller(one)) overfull.push(name(one));
  }
  const charts = [...document.querySelectorAll(".chart")].map(chart => {
    const svg = chart.querySelector("svg"), frame = svg?.getBoundingClientRect();
    const cut = svg ? [...svg.querySelectorAll("text")].filter(text => {
      const box = text.getBoundingClientRect();
      return box.width && (box.left < frame.left - SLACK || box.right > frame.right + SLACK || box.top < frame.top - SLACK || box.bottom > frame.bottom + SLACK);
    }).map(text => text.textContent) : [];
    const boxes = svg ? [...svg.querySelectorAll(".mark-text.role-mark text")].map(text => [text.textContent, text.getBoundingClientRect()]) : [];
    const over = boxes.flatMap(([text, one], at) => boxes.slice(at + 1).filter(([, two]) =>
      one.left < two.right - SLACK && two.left < one.right - SLACK && one.top < two.bottom - 3 && two.top < one.bottom - 3).map(([other]) => `${text} | ${other}`));
    return {
      id: chart.id,
      marks: chart.querySelectorAll("svg .role-mark > *").length,
      failed: chart.textContent.includes("This figure failed") || /NaN|undefined/.test(chart.innerHTML),
      scale: svg ? frame.width / svg.width.baseVal.value : 0,
      cut, over,
    };
  });
  const tables = [...document.querySelectorAll("table")].map(table => ({
    id: table.id,
    columns: [...table.tHead.rows[0].cells].filter(cell => cell.checkVisibility()).length,
    // Where a table has no head, each cell says what it is.
    named: [...table.tBodies[0].rows[0].cells].filter(cell => cell.dataset.head && getComputedStyle(cell, "::before").content.includes(cell.dataset.head)).length,
    cells: [...table.tBodies[0].rows[0].cells].filter(cell => cell.dataset.head).length,
  }));
  return { width: document.scrollingElement.scrollWidth, inner: innerWidth, beyond, overfull, charts, tables };
}

/** Cells of each table after a click on each head: once for rising, once for falling order. */
export function sorted() {
  return [...document.querySelectorAll("table")].flatMap(table => [...table.tHead.rows[0].cells].map((head, at) => {
    const button = head.querySelector("button");
    if (!button) return null;
    const column = () => [...table.tBodies[0].rows].map(row => row.cells[at].querySelector(".t").textContent.trim());
    const orders = {};
    for (let click = 0; click < 2; click++) { button.click(); orders[head.getAttribute("aria-sort")] = column(); }
    return { table: table.id, head: head.textContent.trim(), isFigure: head.classList.contains("n"), ...orders };
  }).filter(Boolean));
}

/** What can be seen of colours and folds while a page is printed. */
export function printed() {
  const style = getComputedStyle(document.body);
  return {
    closed: document.querySelectorAll("main details:not([open], .vega-embed *)").length,
    ink: style.color,
    paper: getComputedStyle(document.documentElement).backgroundColor,
    body: style.backgroundColor,
    labels: [...new Set([...document.querySelectorAll(".chart svg text")].map(text => getComputedStyle(text).fill))],
    hasContents: document.querySelector("nav").checkVisibility(),
  };
}

/** The least contrast of a figure's text to the page, with that text. */
export function contrast() {
  const channels = color => color.match(/[\d.]+/g).slice(0, 3).map(Number);
  const light = color => channels(color).map(value => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
    .reduce((sum, value, at) => sum + value * [0.2126, 0.7152, 0.0722][at], 0);
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll(".chart svg text")].filter(text => text.textContent.trim()).map(text => {
    const ink = light(getComputedStyle(text).fill);
    return { text: text.textContent, ratio: (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05) };
  }).sort((a, b) => a.ratio - b.ratio)[0] ?? null;
}

/** Leaves away what is more of the same: rows of a table, lines of a file, and the inside of drawings, which are images. */
export function pruned() {
  for (const one of document.querySelectorAll("tbody tr:nth-child(n+4), pre span:nth-child(n+4), .chart svg > *, script[type='application/json']")) one.remove();
}
