// What was known beforehand, the data, how to do it again; and putting the page together.

function landscape() {
  const land = HISTORY && REPORT.method === "auto" && HISTORY.landscape;
  if (!land) {
    section("landscape", "What was known beforehand", !HISTORY ? historyMissing("what was predicted before the search")
      : REPORT.method === "auto" ? missing("The surrogate of this search has no prior of errors.")
        : missing(`The method ${REPORT.method} does not begin with the mean errors of other tables, so that there is nothing to show here. The default method, auto, does.`));
    return;
  }
  const tables = land.n_datasets ? counted(land.n_datasets, "other table") : "other tables";
  const select = el("select", { "aria-label": "what a line of the map is" },
    el("option", { value: "kind" }, "a line for each kind of estimator"), el("option", { value: "setting" }, "a line for each setting"));
  const fig = figure("Mean predicted balanced error before the search, by estimator and by what is done to the columns; darker is better. Dots are pipelines that were run.",
    (width) => heatmap(land, select.value, width), { wide: 620 });
  const entry = FIGURES.at(-1);
  select.addEventListener("change", () => { entry.drawn = 0; drawFigures(); });
  section("landscape", "What was known beforehand",
    quiet(`Before a pipeline ran on this table, ${tables} had told how good each is on average. The search begins there, and learns from what comes.`),
    select, fig, asTable(["kind of estimator", ...land.preparations.map(shortPreparation)], () => landscapeRows(land)));
}

const shortPreparation = (text) => text.replace("unscaled > ", "").replace("standardise > ", "std + ");

/** The mean predicted error of each kind of estimator behind each preparation, best kind first. */
function landscapeRows(land) {
  const cells = landscapeCells(land, land.kinds);
  const lines = d3.groupSort([...cells.values()], (c) => d3.min(c, (d) => d.sum / d.n), (c) => c.line);
  return lines.map((line) => [line.replaceAll("_", " "), ...land.preparations.map((column) => {
    const cell = cells.get(`${line}|${column}`);
    return cell ? fixed(cell.sum / cell.n, 3) : "\u2013";
  })]);
}

function landscapeCells(land, lineOf) {
  const cells = new Map();
  land.errors.forEach((row, i) => row.forEach((error, j) => {
    if (error === null) return;
    const key = `${lineOf[i]}|${j}`;
    const cell = cells.get(key) ?? { line: lineOf[i], column: land.preparations[j], sum: 0, n: 0, low: Infinity };
    cell.sum += error; cell.n += 1; cell.low = Math.min(cell.low, error);
    cells.set(key, cell);
  }));
  return cells;
}

function heatmap(land, by, width) {
  const cells = landscapeCells(land, by === "kind" ? land.kinds : land.estimators);
  const kindOf = new Map(land.estimators.map((e, i) => [e, land.kinds[i]]));
  const run = new Map();
  for (const t of HISTORY.trials) {
    const steps = t.pipeline.split(" > ");
    const estimator = steps[4];
    const line = by === "kind" ? kindOf.get(estimator) : estimator;
    if (line === undefined) continue;
    const key = `${line}|${steps[2]} > ${steps[3]}`;
    const one = run.get(key) ?? { line, column: `${steps[2]} > ${steps[3]}`, n: 0, best: Infinity };
    one.n += 1; if (t.balanced_error !== null) one.best = Math.min(one.best, t.balanced_error);
    run.set(key, one);
  }
  const all = [...cells.values()];
  const lines = by === "kind" ? d3.groupSort(all, (c) => d3.min(c, (d) => d.sum / d.n), (c) => c.line) : [...new Set(land.estimators)];
  const runs = [...run.values()];
  const found = (c) => run.get(`${c.line}|${c.column}`);
  const size = by === "kind" ? 26 : 13;
  return plot({
    width, height: 180 + size * lines.length, marginLeft: by === "kind" ? 130 : 320, marginBottom: 140, padding: 0.04,
    x: { domain: land.preparations, label: null, tickRotate: -40, tickFormat: shortPreparation },
    y: { domain: lines, label: null, tickFormat: (t) => cut(t, 42) },
    color: { scheme: "viridis", label: "predicted balanced error", legend: true },
    ariaLabel: "Predicted landscape", ariaDescription: `Best predicted: ${lines.slice(0, 3).join(", ")}; ${runs.length} of ${all.length} cells were tried.`,
    marks: [
      Plot.cell(all, { x: (c) => c.column, y: (c) => c.line, fill: (c) => c.sum / c.n, tip: true,
        title: (c) => `${c.line}\n${c.column}\npredicted ${fixed(c.sum / c.n, 3)}, mean of ${counted(c.n, "setting")}, best ${fixed(c.low, 3)}\n${found(c) ? `${counted(found(c).n, "run")} here, best ${fixed(found(c).best === Infinity ? null : found(c).best)}` : "none was run here"}` }),
      Plot.dot(runs, { x: (r) => r.column, y: (r) => r.line, r: by === "kind" ? (r) => Math.sqrt(r.n) : 2.2, fill: "white", stroke: "black", strokeWidth: 0.6, pointerEvents: "none" }),
    ],
    r: { range: [2, 8] },
  });
}

function data() {
  const profile = HISTORY && HISTORY.data;
  const children = [];
  if (profile && profile.columns.length) {
    const cols = profile.columns.map((c, place) => ({ ...c, place, share: profile.n_rows ? c.n_missing / profile.n_rows : 0 }));
    children.push(el("h3", {}, "Classes"), classes(profile));
    children.push(el("h3", {}, `${counted(cols.length, "column")} that it learnt from`), sortable([
      { title: "place", numeric: true, value: (c) => c.place, cell: (c) => el("td", { class: "n" }, String(c.place + 1)) },
      { title: "column", value: (c) => c.name, cell: (c) => el("td", {}, name(c.name)) },
      { title: "kind", value: (c) => c.kind, cell: (c) => el("td", {}, c.kind + (c.n_levels === undefined ? "" : `, ${counted(c.n_levels, "level")}`)) },
      { title: "missing", numeric: true, value: (c) => -c.n_missing, cell: (c) => number(`history.data.columns.${c.place}.n_missing`, c.n_missing, c.n_missing ? `${whole(c.n_missing)} (${percent(c.share)})` : "none") },
    ], cols, { page: 20, label: "table of columns" }));
    if (profile.left_out.length) {
      children.push(el("h3", {}, "Columns left out"), el("ul", {}, profile.left_out.map((c) => el("li", {}, name(c.name), ": ", name(c.reason, 200)))));
    }
  } else if (DATA.columns.length) {
    children.push(historyMissing("missing cells and counts of classes"));
    children.push(el("ul", {}, DATA.columns.slice(0, 200).map((c) => el("li", {}, name(c)))));
  } else {
    children.push(historyMissing("the columns"));
  }
  const notes = [...(profile ? profile.notes : []), ...REPORT.notes];
  if (notes.length) children.push(el("h3", {}, "Notes and warnings"), el("ul", {}, notes.map((n) => el("li", {}, name(n, 500)))));
  section("data", "The data", ...children);
}

function classes(profile) {
  const all = profile.classes.map((c, i) => ({ ...c, key: String(i) }));
  const shown = [...all].sort((a, b) => b.n_rows - a.n_rows).slice(0, 30);
  const total = d3.sum(all, (c) => c.n_rows);
  return figure(all.length > shown.length ? `The ${shown.length} most common of ${all.length} classes.` : `${counted(all.length, "class")} in ${counted(total, "row")}.`,
    (width) => plot({
      width, height: 56 + 24 * shown.length, marginTop: 6, marginLeft: Math.min(160, width * 0.34), marginRight: 90,
      x: { label: "rows", grid: true }, y: { label: null, domain: shown.map((c) => c.key), tickFormat: (d) => label(all[+d].name, 20) },
      ariaLabel: "Rows of each class", ariaDescription: shown.slice(0, 10).map((c) => `${cut(c.name, 30)} ${c.n_rows}`).join(", "),
      marks: [Plot.barX(shown, { x: (c) => c.n_rows, y: (c) => c.key, fill: "var(--three)", fillOpacity: 0.7 }),
        Plot.text(shown, { x: (c) => c.n_rows, y: (c) => c.key, text: (c) => `${whole(c.n_rows)} (${percent(c.n_rows / total)})`, textAnchor: "start", dx: 4 })],
    }), { most: 640 });
}

function reproduce() {
  const origin = HISTORY && HISTORY.origin;
  const facts = [
    ["model", name(DATA.file, 200)],
    ["fitted by", origin ? `pitchpipe ${origin.version}` : "an unknown version"],
    ["method", REPORT.method], ["seed", String(REPORT.seed)], ["metric", METRIC_NAME],
    ["time budget", secs(REPORT.budget_secs)], ["folds", String(REPORT.n_folds)],
    ["rows learnt from", whole(REPORT.n_rows_used)],
    ["fingerprint of the training table", origin ? el("code", {}, origin.fingerprint) : "not kept"],
  ];
  if (DATA.file_bytes) facts.push(["size of the model file", bytes(DATA.file_bytes) + (DATA.history_bytes ? `, of which history ${bytes(DATA.history_bytes)}` : "")]);
  section("reproduce", "How to do it again",
    el("div", { class: "scroll" }, el("table", {}, el("tbody", {}, facts.map(([what, value]) => el("tr", {}, el("th", { scope: "row" }, what), el("td", {}, value)))))),
    origin && origin.command ? el("pre", { id: "command" }, el("bdi", {}, cut(origin.command, 4000))) : null,
    quiet("A search within a time budget depends on the machine. With --repeatable and --max-evaluations it is the same every time."));
}

function contents() {
  const nav = document.getElementById("contents");
  nav.append(...SECTIONS.map(([id, title]) => el("a", { href: "#" + id }, title)));
  document.getElementById("made-by").textContent = `Made by pitchpipe ${DATA.version}. Charts: Observable Plot and D3, ISC licence.`;
  document.title = "pitchpipe report" + (DATA.target === null ? "" : ": " + cut(DATA.target, 80));
}

for (const part of [verdict, search, leaderboard, ensemble, predictions, columns, landscape, data, reproduce, contents, drawFigures]) part();

keepDrawn();
// How long it took until it could be used, in milliseconds since the page was opened.
document.documentElement.dataset.ready = String(Math.round(performance.now()));
