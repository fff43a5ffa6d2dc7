// How a search went: the same charts in a report and while it runs. A `run` has trials, ensemble, levels, times of confirming, the end of its
// time axis in seconds and the name of its error.

/** Points as one path for each colour: ten thousand of them are a few elements to draw. */
function cloud(data, { r, opacity, ...channels }) {
  return Plot.dot(data, {
    ...channels, r,
    render: (index, scales, values, dimensions, context) => {
      const paths = new Map();
      for (const i of index) {
        const colour = values.fill ? values.fill[i] : channels.fill;
        const spot = `M${values.x[i].toFixed(1)},${values.y[i].toFixed(1)}h0`;
        paths.set(colour, (paths.get(colour) ?? "") + spot);
      }
      const group = context.document.createElementNS("http://www.w3.org/2000/svg", "g");
      group.setAttribute("fill", "none");
      group.setAttribute("stroke-linecap", "round");
      group.setAttribute("stroke-width", String(2 * r));
      group.setAttribute("stroke-opacity", String(opacity));
      for (const [colour, spots] of paths) {
        const path = context.document.createElementNS("http://www.w3.org/2000/svg", "path");
        path.setAttribute("d", spots);
        path.setAttribute("stroke", colour);
        group.append(path);
      }
      return group;
    },
  });
}

/** Of the ticks of a logarithmic scale only some have room for a number. */
function powersOfTen(value) {
  const power = Math.log10(value);
  return Math.abs(power - Math.round(power)) < 1e-9 ? String(+value.toPrecision(1)) : "";
}

/** Viridis without its end that the background swallows. */
const readable = (t) => d3.interpolateViridis(isDark() ? 0.35 + 0.65 * t : 0.85 * t);

const spotSize = (n) => n > 5000 ? 1.3 : n > 1500 ? 1.7 : 2.6;

/** Lines of the best single pipeline so far: a new one wherever the search goes on with more rows, where the last one ends. */
function bestLines(done, now) {
  const lines = [];
  for (const t of done) {
    const line = lines.at(-1);
    if (!line || line[0].rows !== t.n_rows) lines.push([{ at: t.ended_secs, error: t.error, rows: t.n_rows, line: lines.length }]);
    else if (t.error < line.at(-1).error) line.push({ ...line.at(-1), at: t.ended_secs, error: t.error });
  }
  return lines.flatMap((line, i) => [...line, { ...line.at(-1), at: lines[i + 1] ? lines[i + 1][0].at : now }]);
}

function trialWords(t) {
  const predicted = t.predicted_error === null ? "" : `, predicted ${fixed(t.predicted_error)}`;
  return `${t.pipeline.split(" > ").join("\n")}\nerror ${fixed(t.error)}${predicted}\n${secs(t.secs)} of CPU, ${counted(t.n_rows, "row")}, ended at ${secs(t.ended_secs)}`;
}

/** Error against time. */
function errorsOverTime(run, width) {
  const done = run.trials.filter((t) => t.error !== null);
  const not = run.trials.filter((t) => t.error === null);
  const levels = run.levels.length > 1 ? run.levels : [];
  const best = bestLines(done, run.now);
  const last = run.ensemble.at(-1);
  const ensemble = last ? [...run.ensemble, { ...last, elapsed_secs: run.now }] : [];
  const errors = done.map((t) => t.error).sort(d3.ascending);
  const top = Math.max(d3.quantileSorted(errors, 0.98) ?? 1, d3.max(ensemble, (e) => e.error) ?? 0) * 1.08 || 1;
  const bottom = Math.min(errors[0] ?? 0, d3.min(ensemble, (e) => e.error) ?? Infinity) * 0.9 || 0;
  const height = Math.min(420, Math.max(280, width * 0.45));
  const inside = (t) => Math.min(t.error, top);
  const again = run.confirming.slice(0, 1);
  // Near the right end its words stand on the left of the line, where there is room.
  const isLate = again.length > 0 && (1 - again[0] / run.end) * (width - 72) < 170;
  const far = levels.filter((l, i) => !i || l.elapsed_secs - levels[i - 1].elapsed_secs > run.end * 90 / width);
  return plot({
    width, height, marginTop: 24,
    x: { label: "seconds", domain: [0, run.end || 1], nice: false },
    y: { label: run.errorName, domain: [Math.max(0, bottom), top], grid: true },
    ariaLabel: "Error against time",
    ariaDescription: `${done.length} pipelines; the ensemble's error went from ${fixed(run.ensemble[0]?.error)} to ${fixed(last?.error)}.`,
    marks: [
      Plot.ruleX(levels, { x: (l) => l.elapsed_secs, stroke: "var(--quiet)", strokeDasharray: "2,3" }),
      Plot.text(far, { x: (l) => l.elapsed_secs, text: (l) => `${whole(l.n_rows)} rows`, frameAnchor: "top", textAnchor: "start", dx: 3, dy: 2, fill: "var(--quiet)" }),
      Plot.ruleX(again, { x: (at) => at, stroke: "var(--quiet)", strokeDasharray: "6,3" }),
      Plot.text(again, { x: (at) => at, text: () => isLate ? "the best validated again" : "the best validated again \u2192", frameAnchor: "top", textAnchor: isLate ? "end" : "start", dx: isLate ? -3 : 3, dy: levels.length ? 17 : 2, fill: "var(--quiet)" }),
      cloud(done, { x: (t) => t.ended_secs, y: inside, r: spotSize(done.length), fill: "var(--dot)", opacity: 0.65 }),
      Plot.ruleX(not, { x: (t) => t.ended_secs, stroke: "var(--two)", strokeOpacity: 0.7, insetTop: height - 24 - 40 - 10 }),
      Plot.lineY(best, { z: (b) => b.line, x: (b) => b.at, y: (b) => Math.min(b.error, top), stroke: "var(--two)", strokeWidth: 1.5, curve: "step-after" }),
      Plot.lineY(ensemble, { x: (e) => e.elapsed_secs, y: (e) => Math.min(e.error, top), stroke: "var(--one)", strokeWidth: 2.5, curve: "step-after" }),
      Plot.tip(done, Plot.pointer({ x: (t) => t.ended_secs, y: inside, title: trialWords })),
    ],
  });
}

/** A key to the lines of that chart: colours alone do not tell it. */
function searchKey() {
  const entry = (colour, sign, words) => {
    const mark = el("span", { "aria-hidden": "true" }, sign + " ");
    mark.style.color = colour;
    return el("span", {}, mark, words);
  };
  return el("div", { class: "legend quiet" }, entry("var(--dot)", "\u25cf", "a pipeline"),
    entry("var(--two)", "\u25ac", "the best pipeline so far"), entry("var(--one)", "\u25ac", "the ensemble"),
    entry("var(--two)", "|", "failed or out of time"));
}

const bothKnown = (run) => run.trials.filter((t) => t.predicted_error !== null && t.balanced_error !== null);
const typicalMiss = (both) => d3.median(both, (t) => Math.abs(t.predicted_error - t.balanced_error));

/** What was predicted for each pipeline, and what came. */
function predictedAndCame(both, width) {
  const most = Math.min(1, 1.05 * (d3.max(both, (t) => Math.max(t.predicted_error, t.balanced_error)) ?? 1)) || 1;
  // A few dozen colours tell as much as a continuum, and are drawn sooner.
  const step = (t) => 2 ** (Math.round(4 * Math.log2(Math.max(t.secs, 1e-3))) / 4);
  return plot({
    width, height: width, aspectRatio: 1,
    x: { label: "predicted balanced error", domain: [0, most] }, y: { label: "balanced error", domain: [0, most], grid: true },
    color: { type: "log", interpolate: readable, label: "CPU seconds", legend: true, tickFormat: powersOfTen },
    ariaLabel: "Predicted and observed error",
    ariaDescription: `${both.length} pipelines; the median difference is ${fixed(typicalMiss(both), 3)}.`,
    marks: [
      Plot.line([[0, 0], [most, most]], { stroke: "var(--quiet)", strokeDasharray: "4,3" }),
      cloud(both, { x: (t) => t.predicted_error, y: (t) => t.balanced_error, fill: step, r: spotSize(both.length), opacity: 0.8 }),
      Plot.tip(both, Plot.pointer({ x: (t) => t.predicted_error, y: (t) => t.balanced_error, title: trialWords })),
    ],
  });
}

/** Seconds by what they went to. */
function secondsBars(spent, width) {
  return plot({
    width, marginLeft: 150, marginRight: 60, height: 56 + 24 * Math.max(spent.length, 1), marginTop: 6,
    x: { label: "seconds", grid: true }, y: { label: null, domain: spent.map((t) => t.what), tickFormat: (w) => w.replaceAll("_", " ") },
    ariaLabel: "Time spent", ariaDescription: spent.map((t) => `${t.what} ${secs(t.secs)}`).join(", "),
    marks: [Plot.barX(spent, { x: (t) => t.secs, y: (t) => t.what, fill: "var(--one)", fillOpacity: 0.8 }),
      Plot.text(spent, { x: (t) => t.secs, y: (t) => t.what, text: (t) => secs(t.secs), textAnchor: "start", dx: 4 })],
  });
}
