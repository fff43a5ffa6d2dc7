"use strict";
// Everything that comes from a user (names of columns, classes, files) reaches the page by textContent, by setAttribute
// on harmless attributes, or as data of a chart; never as markup.

const DATA = JSON.parse(document.getElementById("data").textContent);

const METRICS = {
  balanced_error: ["balanced error", false], balanced_accuracy: ["balanced accuracy", true],
  accuracy: ["accuracy", true], log_loss: ["log loss", false], macro_f1: ["macro F1", true],
  roc_auc: ["ROC AUC", true], brier_score: ["Brier score", false],
};

/** An element with attributes and children; strings become text. */
function el(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) node.append(child);
  }
  return node;
}

/** A name from a user, shortened, in its own direction of writing; all of it is in the tooltip. */
function name(text, longest = 60) {
  const short = cut(text, longest);
  return el("bdi", { title: short === text ? null : cut(text, 2000) }, short === "" ? "\u201c\u201d" : short);
}

function cut(text, longest) {
  const letters = Array.from(String(text));
  return letters.length > longest ? letters.slice(0, longest - 1).join("") + "\u2026" : String(text);
}

/** A name inside a chart: isolated, so that marks of direction in it do not turn its neighbours. */
function label(text, longest = 24) {
  return "\u2068" + cut(text, longest).replace(/[\u0000-\u001f\u2066-\u2069\u202a-\u202e]/g, " ") + "\u2069";
}

const fixed = (value, digits = 4) => value === null || value === undefined ? "\u2013" : value.toFixed(digits);
// Made once: thousands of numbers are written with each drawing.
const GROUPED = new Intl.NumberFormat("en-GB");
const whole = (value) => value === null || value === undefined ? "\u2013" : GROUPED.format(value);
const secs = (value) => value === null || value === undefined ? "\u2013" :
  value >= 100 ? value.toFixed(0) + " s" : value >= 1 ? value.toFixed(1) + " s" : (value * 1000).toFixed(0) + " ms";
const percent = (value) => (100 * value).toFixed(value > 0 && value < 0.01 ? 2 : 1) + " %";
const counted = (n, noun) => `${whole(n)} ${noun}${n === 1 ? "" : noun.endsWith("s") ? "es" : "s"}`;
const bytes = (n) => n < 1e6 ? `${Math.ceil(n / 1e3)} kB` : `${(n / 1e6).toFixed(1)} MB`;

/** A number in a cell; the test reads all its digits from data-value. */
function number(key, value, text) {
  return el("td", { class: "n", "data-key": key, "data-value": value === null || value === undefined ? null : String(value) },
    text === undefined ? fixed(value) : text);
}

const SECTIONS = [];

/** How sections are called where there is little room. */
const SHORT = { search: "Search", ensemble: "Ensemble", landscape: "Beforehand", data: "Data", reproduce: "Reproduce" };

/** A section of the page, with its place in the contents. */
function section(id, title, ...children) {
  const node = el("section", { id, "aria-labelledby": id + "-title" },
    el("h2", { id: id + "-title" }, title), ...children);
  SECTIONS.push([id, SHORT[id] ?? title]);
  document.getElementById("content").append(node);
  return node;
}

const quiet = (...text) => el("p", { class: "quiet" }, ...text);
const missing = (...text) => el("p", { class: "missing" }, ...text);

const FIGURES = [];

/** A chart with a caption. `draw(width)` gives a plot; it is drawn again when the width changes. */
function figure(caption, draw, { most = 1030, least = 280, wide = 0 } = {}) {
  const place = el("div", { class: wide ? "scroll" : null });
  if (wide) place.setAttribute("tabindex", "0");
  // A caption that is a function is asked again with each drawing.
  const changes = typeof caption === "function";
  const words = el("figcaption", {}, changes ? caption() : caption);
  FIGURES.push({ place, draw, most, least, wide, drawn: 0, words: changes ? () => { words.textContent = caption(); } : null });
  return el("figure", {}, place, words);
}

/** Charts on paper are as wide as a page, or half of it where several stand side by side. */
let isPaper = false;
const paperWidth = (place) => place.closest(".side") ? 335 : 700;
const isDark = () => !isPaper && matchMedia("(prefers-color-scheme: dark)").matches;

function drawFigure(one) {
  const room = isPaper ? paperWidth(one.place) : Math.floor(one.place.getBoundingClientRect().width);
  const width = Math.max(one.least, one.wide, Math.min(one.most, room || 700));
  if (width === one.drawn) return;
  one.drawn = width;
  const plot = one.draw(width);
  one.place.replaceChildren(plot);
  one.words?.();
  // One picture with a text alternative, for those who do not see it.
  const svg = plot.tagName === "svg" ? plot : plot.querySelector("svg:last-of-type");
  if (svg) svg.setAttribute("role", "img");
  // The names of its parts are those of marks, not of what they mean here.
  for (const part of plot.querySelectorAll("g[aria-label]")) part.removeAttribute("aria-label");
}

function drawFigures() {
  FIGURES.forEach(drawFigure);
}

function drawAll() {
  for (const one of FIGURES) one.drawn = 0;
  drawFigures();
}

/** Draws charts again where the room or the colours change, and for paper, on which folded parts are open. */
function keepDrawn() {
  let waiting = 0;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawFigures, 150);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  window.addEventListener("beforeprint", () => {
    for (const folded of document.querySelectorAll("details:not(.on-demand)")) folded.open = true;
    isPaper = true;
    drawAll();
  });
  window.addEventListener("afterprint", () => {
    isPaper = false;
    drawAll();
  });
}

/** The numbers behind a chart, for those who read them better: made when somebody asks, and not printed. */
function asTable(head, rows) {
  const details = el("details", { class: "on-demand" }, el("summary", {}, "As a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.childElementCount > 1) return;
    const cells = (row, first) => row.map((cell, i) => i ? el("td", { class: "n" }, cell) : el(first, { scope: "row" }, cell));
    details.append(el("div", { class: "scroll", tabindex: "0" }, el("table", {},
      el("thead", {}, el("tr", {}, head.map((words, i) => el("th", { scope: "col", class: i ? "n" : null }, words)))),
      el("tbody", {}, rows().map((row) => el("tr", {}, cells(row, "th")))))));
  });
  return details;
}

/** A table whose columns can be sorted; a page of rows at a time. */
function sortable(columns, rows, { page = 25, by = 0, descending = false, caption, label: words = "table" } = {}) {
  const state = { by, descending, shown: page };
  const body = el("tbody");
  const head = columns.map((column, i) => {
    const button = el("button", { type: "button" }, column.title);
    const cell = el("th", { class: (column.numeric ? "n" : "") + (column.extra ? " extra" : ""), scope: "col" }, button);
    button.addEventListener("click", () => {
      state.descending = state.by === i ? !state.descending : false;
      state.by = i;
      fill();
    });
    return cell;
  });
  const more = el("button", { type: "button", class: "more" });
  more.addEventListener("click", () => { state.shown += 200; fill(); });
  function fill() {
    const value = columns[state.by].value;
    const order = [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || x === undefined) return 1;
      if (y === null || y === undefined) return -1;
      return (x < y ? -1 : x > y ? 1 : 0) * (state.descending ? -1 : 1);
    });
    head.forEach((cell, i) => cell.setAttribute("aria-sort",
      i !== state.by ? "none" : state.descending ? "descending" : "ascending"));
    body.replaceChildren(...order.slice(0, state.shown).map((row) =>
      el("tr", {}, columns.map((column) => {
        const cell = column.cell(row);
        // Paper is narrow, and does without.
        if (column.extra) cell.classList.add("extra");
        return cell;
      }))));
    more.hidden = state.shown >= rows.length;
    more.textContent = `Show more of ${whole(rows.length)}`;
  }
  fill();
  const table = el("table", { class: "wide" }, caption ? el("caption", { class: "quiet" }, caption) : null,
    el("thead", {}, el("tr", {}, head)), body);
  return el("div", {}, el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words }, table), more);
}

/** The scale of a chart: all charts look alike. */
function plot(options) {
  return Plot.plot({
    marginLeft: 52, marginBottom: 40, style: { fontSize: "12px", background: "transparent" }, ...options,
  });
}
