// The ensemble, its predictions, and what it makes of the columns.

function ensemble() {
  const learners = REPORT.base_learners;
  const how = REPORT.combination === "vote" ? "They vote, and the class with the most votes wins."
    : "Their probabilities are averaged by weight.";
  const rows = learners.map((l, i) => el("tr", {}, number(`report.base_learners.${i}.weight`, l.weight, fixed(l.weight, 3)),
    number(`report.base_learners.${i}.models`, l.models, whole(l.models)), el("td", {}, el("code", {}, l.pipeline))));
  section("ensemble", "The ensemble",
    quiet(`${counted(learners.length, "pipeline")}, each the mean of the models of its folds. ${how} A step that several share is drawn once; the thicker a line, the more weight goes through it.`),
    figure("From the table on the left, through the steps of each pipeline, to its estimator and weight.",
      (width) => ensembleTree(learners, width), { wide: 940 }),
    el("details", {}, el("summary", {}, "As a table"), el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ["weight", "models", "pipeline"].map((t) => el("th", { scope: "col" }, t)))), el("tbody", {}, rows)))));
}

function predictions() {
  const held = DATA.held_out;
  const curves = held ? held.curves : HISTORY && HISTORY.curves;
  if (!curves) {
    section("predictions", "Predictions", historyMissing("confusion, curves and calibration"));
    return;
  }
  const source = held
    ? el("p", { class: "quiet" }, "Of ", name(held.file), `, ${counted(curves.n_rows, "row")}${held.n_left_out ? `; ${whole(held.n_left_out)} more had no class that the model knows` : ""}.`)
    : quiet(`Measured ${measuredWords()}: these predictions did ${REPORT.measured === "chosen" ? "" : "not "}choose the model.`);
  section("predictions", "Predictions", source,
    el("h3", {}, "Which class was taken for which"), confusion(curves, held),
    el("h3", {}, "The decision"), decision(curves, held),
    el("div", { class: "side" }, rocCurves(curves), precisionRecall(curves), calibration(curves)));
}

function confusion(curves, held) {
  const matrix = curves.confusion;
  const n = matrix.length;
  if (n === 0) return missing(`There are ${whole(CLASSES.length)} classes: too many pairs to list.`);
  const key = held ? "held_out.evaluation.confusion" : "history.curves.confusion";
  const sums = matrix.map((row) => d3.sum(row));
  if (n > 30) return missing(`There are ${n} classes: a matrix of so many does not fit a page. pitchpipe evaluate --json prints it.`);
  const shade = (share) => `color-mix(in srgb, var(--one) ${Math.round(45 * share)}%, transparent)`;
  const rows = matrix.map((row, k) => el("tr", {}, el("th", { scope: "row" }, name(CLASSES[k], 24)),
    row.map((count, j) => {
      const share = sums[k] ? count / sums[k] : 0;
      const cell = number(`${key}.${k}.${j}`, count, whole(count));
      cell.style.background = shade(share);
      cell.title = `${percent(share)} of these rows`;
      if (j === k) cell.style.fontWeight = "700";
      return cell;
    }), el("td", { class: "n" }, sums[k] ? percent(row[k] / sums[k]) : "\u2013")));
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "confusion matrix" }, el("table", { class: "matrix" },
    el("caption", { class: "quiet" }, "A row for each true class, a column for each answer; at the end the share found (recall)."),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "true \\ answer"), CLASSES.slice(0, n).map((c) => el("th", { scope: "col", class: "n" }, name(c, 14))), el("th", { class: "n", scope: "col" }, "found"))),
    el("tbody", {}, rows)));
}

const DECISIONS = {
  accuracy: "its probability is largest",
  balanced_accuracy: "its probability is largest next to its share of the training rows, so that a rare class counts as much as a common one",
  balanced_error: "its probability is furthest above its share of the training rows, so that a rare class counts as much as a common one",
  native: "most base learners vote for it",
};

function decision(curves, held) {
  const words = el("p", {}, "A row gets the class where ", DECISIONS[REPORT.decision] ?? REPORT.decision, ".");
  if (curves.threshold !== null && CLASSES.length === 2) {
    words.append(" Of the two classes here that is ", el("b", {}, name(CLASSES[1], 40)), " where its probability is ",
      el("b", { "data-key": held ? "held_out.curves.threshold" : "history.curves.threshold", "data-value": String(curves.threshold) }, fixed(curves.threshold, 3)),
      " or more, and ", el("b", {}, name(CLASSES[0], 40)), " otherwise.");
  }
  return words;
}

const LINES = ["var(--one)", "var(--two)", "var(--three)", "var(--four)", "var(--five)"];

function lineStyle(i) {
  return { stroke: LINES[i % LINES.length], strokeDasharray: ["none", "6,3", "2,3", "8,3,2,3"][Math.floor(i / LINES.length) % 4] };
}

/** A sample of a line, for the key of a chart. */
function lineSample(i) {
  const mark = el("i", { class: "sample", "aria-hidden": "true" });
  mark.style.borderTop = `3px ${["solid", "dashed", "dotted", "double"][Math.floor(i / LINES.length) % 4]} ${lineStyle(i).stroke}`;
  return mark;
}

/** What is found of each class at every twentieth of the way along. */
function curveTable(curves, points, along, valueAt) {
  const head = [along, ...curves.classes.map((c) => name(CLASSES[c.class], 18))];
  return asTable(head, () => d3.range(0, 21).map((i) => [fixed(i / 20, 2), ...curves.classes.map((c) => fixed(valueAt(points(c), i / 20), 3))]));
}

const farthest = (points, x) => d3.max(points.filter((p) => p[0] <= x + 1e-9), (p) => p[1]);
const bestFrom = (points, x) => d3.max(points.filter((p) => p[0] >= x - 1e-9), (p) => p[1]);

function curveFigure(curves, points, options, caption, legendOf, valueAt) {
  const classes = curves.classes;
  if (!classes.length) return missing("There are rows of one class only, which has no curve.");
  const legend = classes.length > 1 ? el("div", { class: "quiet legend" }, classes.flatMap((c, i) => {
    return [el("span", {}, lineSample(i), name(CLASSES[c.class], 18), ": ", legendOf(c)), " "];
  })) : null;
  const node = figure(caption, (width) => plot({
    width, height: width, aspectRatio: 1, ...options,
    marks: [
      ...(options.diagonal ? [Plot.line([[0, 0], [1, 1]], { stroke: "var(--quiet)", strokeDasharray: "4,3" })] : []),
      ...classes.map((c, i) => Plot.line(points(c), { x: (p) => p[0], y: (p) => p[1], ...lineStyle(i), strokeWidth: classes.length > 6 ? 1.4 : 2 })),
    ],
  }), { most: 420 });
  if (legend) node.append(legend);
  node.append(curveTable(curves, points, options.x.label, valueAt));
  return node;
}

function rocCurves(curves) {
  const mean = d3.mean(curves.classes, (c) => c.roc_auc);
  return curveFigure(curves, (c) => c.roc, {
    x: { label: "share of other rows taken for it", domain: [0, 1] }, y: { label: "share of its rows found", domain: [0, 1], grid: true },
    diagonal: true, ariaLabel: "ROC curve", ariaDescription: `Area ${fixed(mean)}`,
  }, curves.classes.length === 1 ? ["ROC curve of ", name(CLASSES[curves.classes[0].class], 30), `: area ${fixed(mean)}.`] : `ROC curves, each class against the others: mean area ${fixed(mean)}.`,
  (c) => fixed(c.roc_auc, 3), farthest);
}

function precisionRecall(curves) {
  const mean = d3.mean(curves.classes, (c) => c.average_precision);
  return curveFigure(curves, (c) => c.precision_recall, {
    x: { label: "recall: share of its rows found", domain: [0, 1] }, y: { label: "precision", domain: [0, 1], grid: true },
    ariaLabel: "Precision and recall", ariaDescription: `Average precision ${fixed(mean)}`,
  }, curves.classes.length === 1 ? ["Precision and recall of ", name(CLASSES[curves.classes[0].class], 30), `: average precision ${fixed(mean)}.`] : `Precision and recall of each class: mean average precision ${fixed(mean)}.`,
  (c) => fixed(c.average_precision, 3), bestFrom);
}

function calibration(curves) {
  const bins = curves.calibration.map((b) => {
    // Wilson's interval, 95 %: it stays within 0 and 1.
    const [z, n] = [1.96, b.n_rows];
    const middle = (b.observed + z * z / (2 * n)) / (1 + z * z / n);
    const half = z / (1 + z * z / n) * Math.sqrt(b.observed * (1 - b.observed) / n + z * z / (4 * n * n));
    return { ...b, low: middle - half, high: middle + half };
  });
  const of = CLASSES.length === 2 ? ["the probability of ", name(CLASSES[1], 30)] : ["the largest probability of each row"];
  const node = figure(["Calibration: what ", ...of, " says, and how often it came true, with 95 % intervals; on the dashed line they agree."],
    (width) => plot({
      width, height: width, aspectRatio: 1,
      x: { label: "predicted probability", domain: [0, 1] }, y: { label: "share that came true", domain: [0, 1], grid: true },
      ariaLabel: "Calibration", ariaDescription: bins.map((b) => `${fixed(b.predicted, 2)}: ${fixed(b.observed, 2)}`).join(", "),
      marks: [
        Plot.line([[0, 0], [1, 1]], { stroke: "var(--quiet)", strokeDasharray: "4,3" }),
        Plot.ruleX(bins, { x: (b) => b.predicted, y1: (b) => b.low, y2: (b) => b.high, stroke: "var(--one)", strokeOpacity: 0.5 }),
        Plot.line(bins, { x: (b) => b.predicted, y: (b) => b.observed, stroke: "var(--one)", strokeOpacity: 0.5 }),
        Plot.dot(bins, { x: (b) => b.predicted, y: (b) => b.observed, fill: "var(--one)", r: 3.5, tip: true,
          title: (b) => `${counted(b.n_rows, "row")}\npredicted ${fixed(b.predicted, 3)}, came true ${fixed(b.observed, 3)}` }),
      ],
    }), { most: 420 });
  node.append(asTable(["predicted", "came true", "95 % interval", "rows"],
    () => bins.map((b) => [fixed(b.predicted, 3), fixed(b.observed, 3), `${fixed(b.low, 3)} to ${fixed(b.high, 3)}`, whole(b.n_rows)])));
  return node;
}

function columns() {
  if (!DATA.importance) {
    section("columns", "Columns", missing("Importance is measured on a table with the target: ", el("code", {}, "pitchpipe report MODEL --table HOLDOUT"), ". ", DATA.why_no_importance ?? ""));
    return;
  }
  const top = [...DATA.importance].sort((a, b) => b.error_increase - a.error_increase);
  const shown = top.slice(0, 25).map((i, place) => ({ ...i, place }));
  // Five shuffles: Student's t with four degrees of freedom.
  const half = (i) => 2.776 * i.standard_error;
  const key = (i) => String(i.place);
  const rows = top.map((i, place) => el("tr", {}, el("td", {}, name(i.column)),
    number(`importance.${place}.error_increase`, i.error_increase, (i.error_increase >= 0 ? "+" : "\u2212") + fixed(Math.abs(i.error_increase))),
    number(`importance.${place}.standard_error`, i.standard_error, "\u00b1 " + fixed(half(i)))));
  section("columns", "Columns",
    quiet(`How much ${ERROR_NAME} grows when a column's cells change places, on `, name(DATA.importance_on, 160), `: mean and 95 % interval of five shuffles. Columns that tell the same take importance from each other.`),
    figure(top.length > shown.length ? `The ${shown.length} most important of ${top.length} columns.` : "All columns.",
      (width) => plot({
        width, height: 56 + 22 * shown.length, marginTop: 6, marginLeft: Math.min(180, width * 0.36),
        x: { label: `growth of ${ERROR_NAME}`, grid: true, insetLeft: 10 }, y: { label: null, domain: shown.map(key), tickFormat: (d) => label(shown[+d].column) },
        ariaLabel: "Importance of columns", ariaDescription: shown.slice(0, 8).map((i) => `${cut(i.column, 40)} ${fixed(i.error_increase)}`).join(", "),
        marks: [
          Plot.ruleX([0], { stroke: "var(--quiet)" }),
          Plot.barX(shown, { x: (i) => i.error_increase, y: key, fill: "var(--one)", fillOpacity: 0.55 }),
          Plot.ruleY(shown, { y: key, x1: (i) => i.error_increase - half(i), x2: (i) => i.error_increase + half(i), stroke: "var(--ink)", strokeWidth: 1.5 }),
        ],
      }), { most: 760 }),
    el("details", {}, el("summary", {}, "As a table"), el("div", { class: "scroll" }, el("table", {},
      el("thead", {}, el("tr", {}, ["column", "growth of the error", "95 % interval"].map((t) => el("th", { scope: "col" }, t)))), el("tbody", {}, rows)))),
    DATA.dependence.length ? el("h3", {}, "How predictions depend on the most important") : null,
    DATA.dependence.length ? quiet("Mean probability where all rows are given the same value in this column and keep their own in the others.") : null,
    el("div", { class: "side" }, DATA.dependence.map(dependence)));
}

function dependence(one) {
  const classes = CLASSES.length === 2 ? [1] : d3.range(Math.min(CLASSES.length, 6));
  const lines = classes.map((k) => ({ k, points: one.values.map((v, i) => ({ v, p: one.probabilities[i][k], i: String(i) })) }));
  const isNumber = one.kind === "numeric";
  const node = figure([name(one.column, 40), `, over ${counted(one.n_rows, "row")}`, CLASSES.length === 2 ? [": probability of ", name(CLASSES[1], 30)] : ""].flat(),
    (width) => plot({
      width, height: 220, marginBottom: isNumber ? 40 : 70,
      x: isNumber ? { label: "value" } : { type: "point", label: null, domain: one.values.map((_, i) => String(i)), tickFormat: (d) => label(one.values[+d], 14), tickRotate: -30 },
      y: { label: "mean probability", domain: [0, 1], grid: true },
      ariaLabel: "Dependence on a column", ariaDescription: `${cut(one.column, 60)}`,
      marks: lines.flatMap(({ k, points }, i) => {
        const x = isNumber ? (p) => p.v : (p) => p.i;
        return [isNumber ? Plot.line(points, { x, y: (p) => p.p, ...lineStyle(i), strokeWidth: 2 }) : Plot.dot(points, { x, y: (p) => p.p, fill: lineStyle(i).stroke, r: 4 })];
      }),
    }), { most: 480 });
  if (classes.length > 1) {
    node.append(el("div", { class: "quiet legend" }, classes.flatMap((k, i) => {
      return [el("span", {}, lineSample(i), name(CLASSES[k], 18)), " "];
    })));
  }
  node.append(asTable([isNumber ? "value" : "category", ...classes.map((k) => name(CLASSES[k], 18))],
    () => one.values.map((v, i) => [isNumber ? String(v) : name(v), ...classes.map((k) => fixed(one.probabilities[i][k], 3))])));
  return node;
}
