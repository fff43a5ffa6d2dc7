// The verdict, the scores, and how the search went.

const REPORT = DATA.report;
const HISTORY = DATA.history;
const METRIC = REPORT.metric;
const [METRIC_NAME, HIGHER] = METRICS[METRIC];
const ERROR_NAME = HIGHER ? `1 \u2212 ${METRIC_NAME}` : METRIC_NAME;
const CLASSES = DATA.classes;

function measuredWords() {
  const rows = counted(REPORT.n_rows_scored, "row");
  if (REPORT.measured === "held-out") return `on ${rows} that were held out: nothing had seen them`;
  if (REPORT.measured === "cross-fitted") {
    return `on ${rows}, each predicted by models and by an ensemble that were made without it`;
  }
  return "on the rows that the ensemble was chosen by, which flatters it";
}

/** The standard error of the gap to something plain, over draws of the same rows; older model files have none. */
const gapSpread = (baseline) => (baseline.difference_standard_errors || {})[METRIC];

/** What a score says against something plain. */
function against(score, spread, baseline) {
  const other = baseline.scores[METRIC];
  if (other === null || other === undefined || score === null) return null;
  const better = HIGHER ? score - other : other - score;
  const words = baseline.name === "majority class" ? "always answering the most common class"
    : baseline.name === "random forest" ? "a plain random forest" : baseline.name;
  const paired = gapSpread(baseline);
  const margin = paired ?? spread ? Math.abs(better) / (paired ?? spread) : Infinity;
  const how = better > 0
    ? "better than" : better < 0 ? (margin > 2 ? "worse than" : "not better than") : "as good as";
  const gap = paired && better !== 0 ? `, by ${fixed(Math.abs(better))}\u00a0\u00b1\u00a0${fixed(paired)}` : "";
  const isClose = better > 0 && margin <= 2;
  const close = !isClose ? "" : gap ? ", which may be chance" : ", though by less than twice its own standard error";
  return `${how} ${words} (${fixed(other)})${gap}${close}`;
}

/** What the numbers after a sign of plus or minus are. */
function spreadWords(of) {
  if (!of.standard_errors) return "";
  const gaps = of.baselines.some(gapSpread) ? " Gaps are between answers to the same rows, and what is hard for both cancels out."
    : " This model file has no standard errors of the gaps, so that they are judged by that of the score.";
  return "\u00b1 is one standard error over draws of these rows." + gaps;
}

function verdict() {
  const held = DATA.held_out;
  const of = held ? held.evaluation : REPORT;
  const { scores } = of;
  const spread = (of.standard_errors || {})[METRIC];
  const score = scores[METRIC];
  const target = DATA.target;
  const title = target === null ? el("h1", {}, "A model") : el("h1", {}, "A model that predicts ", name(target));
  const plain = of.baselines.map((b) => against(score, spread, b)).filter((t) => t !== null);
  const range = spread ? `\u00a0\u00b1\u00a0${fixed(spread)}` : "";
  const on = held
    ? ["On ", name(held.file), `, ${counted(held.evaluation.n_rows, "row")} that it was not fitted on, `]
    : [];
  const sentence = el("p", { class: "verdict", id: "verdict-sentence" }, ...on,
    `${held ? "its" : "Its"} ${METRIC_NAME} is ${fixed(score)}${range}`,
    plain.length ? `: ${plain.join(", and ")}.` : ".");
  const facts = [
    [REPORT.n_evaluated, whole, "pipelines tried", "report.n_evaluated"],
    [REPORT.base_learners.length, whole, "in the ensemble", "report.base_learners.length"],
    [REPORT.n_rows, whole, "rows", "report.n_rows"],
    [REPORT.n_features, whole, "features", "report.n_features"],
    [REPORT.n_classes, whole, "classes", "report.n_classes"],
    [REPORT.elapsed_secs, secs, `of ${secs(REPORT.budget_secs)} used`, "report.elapsed_secs"],
  ];
  const node = el("section", { id: "verdict" }, title, sentence,
    quiet(held ? `In the fit, scores were measured ${measuredWords()}. ` : `Scores are measured ${measuredWords()}. `, spreadWords(of)),
    held || REPORT.baselines.some((b) => b.name === "random forest") ? null : quiet("No plain random forest was run to compare it with."),
    REPORT.measured === "chosen" ? el("p", { class: "warning" }, "These scores flatter: there were too few rows, or too little time, to measure on others.") : null,
    el("ul", { class: "facts" }, facts.map(([value, show, words, key]) =>
      el("li", {}, el("b", { "data-key": key, "data-value": String(value) }, show(value)), el("span", {}, words)))),
    scoreTable(), accuracyNote());
  SECTIONS.push(["verdict", "Verdict"]);
  document.getElementById("content").append(node);
}

/** A model that is made for rare classes may be right less often than one that never names them. */
function accuracyNote() {
  const plain = REPORT.baselines.find((b) => b.name === "majority class");
  if (METRIC === "accuracy" || !plain || REPORT.scores.accuracy >= plain.scores.accuracy) return null;
  return quiet(`Its accuracy is below that of always answering the most common class: it was made for ${METRIC_NAME}, where a rare class counts as much as a common one. If only the share of right answers matters, fit with `,
    el("code", {}, "--metric accuracy"), ".");
}

function scoreTable() {
  const held = DATA.held_out;
  const head = ["score", held ? "in the fit" : "model", ...REPORT.baselines.map((b) => b.name)];
  if (held) head.push(["on ", name(held.file, 30)], ...held.evaluation.baselines.map((b) => `${b.name} there`));
  const rows = Object.entries(METRICS).map(([key, [words, higher]]) => {
    const own = REPORT.scores[key];
    const spread = (REPORT.standard_errors || {})[key];
    const cells = [number(`report.scores.${key}`, own, fixed(own) + (spread ? ` \u00b1\u00a0${fixed(spread)}` : ""))];
    REPORT.baselines.forEach((b, i) => cells.push(number(`report.baselines.${i}.scores.${key}`, b.scores[key])));
    if (held) {
      const [there, about] = [held.evaluation.scores[key], (held.evaluation.standard_errors || {})[key]];
      cells.push(number(`held_out.evaluation.scores.${key}`, there, fixed(there) + (about ? ` \u00b1\u00a0${fixed(about)}` : "")));
      held.evaluation.baselines.forEach((b, i) => cells.push(number(`held_out.evaluation.baselines.${i}.scores.${key}`, b.scores[key])));
    }
    return el("tr", { class: key === METRIC ? "strong" : null },
      el("th", { scope: "row" }, words, el("span", { class: "quiet" }, higher ? "  more is better" : "  less is better")), cells);
  });
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "scores" }, el("table", {},
    el("thead", {}, el("tr", {}, head.map((t, i) => el("th", { class: i ? "n" : null, scope: "col" }, [t].flat())))),
    el("tbody", {}, rows)));
}

function historyMissing(what) {
  return missing(`This model file keeps no history, so that ${what} cannot be shown. One is left out with --no-history or where it would be too large for the model\u2019s limit of size, and models of earlier versions have none.`);
}

/** In the place of what is made of the runs, where only they are left out. */
function runsMissing() {
  return missing(`This model file does not keep the ${whole(HISTORY.n_trials_left_out)} runs of its search, which would not have fitted its limit of size.`);
}

function search() {
  const children = [];
  if (!HISTORY) {
    children.push(historyMissing("how the search went"));
  } else {
    children.push(quiet(`${counted(REPORT.n_evaluated, "pipeline")} finished, ${whole(REPORT.n_failed)} failed, ${whole(REPORT.n_out_of_time)} ran out of time.`));
    children.push(overTime());
    children.push(el("div", { class: "side" }, predictedChart(), timeSpent()));
  }
  section("search", "How the search went", ...children);
  if (!HISTORY) document.getElementById("search").append(timeSpent());
}

const RUN = HISTORY && {
  trials: HISTORY.trials, ensemble: HISTORY.ensemble, levels: HISTORY.levels, confirming: HISTORY.confirming_secs, errorName: ERROR_NAME,
  end: Math.max(REPORT.elapsed_secs, d3.max(HISTORY.trials, (t) => t.ended_secs) ?? 0), now: REPORT.elapsed_secs,
};

function overTime() {
  const levels = HISTORY.levels.length > 1;
  const node = figure(
    `${ERROR_NAME[0].toUpperCase()}${ERROR_NAME.slice(1)} against time, measured on the rows that pipelines and ensemble are chosen by. The score above is of other predictions, which chose nothing.${levels ? " Upright lines are where the search went on with more rows." : ""}`,
    (width) => errorsOverTime(RUN, width));
  node.append(searchKey());
  return node;
}

function predictedChart() {
  const both = bothKnown(RUN);
  if (HISTORY.n_trials_left_out) return runsMissing();
  if (!both.length) return missing("The method of this search predicts no errors, so that nothing can be compared.");
  return figure(
    `What was predicted for each pipeline when it was chosen, and what came; half are off by less than ${fixed(typicalMiss(both), 3)}. Colour is the CPU time it took.`,
    (width) => predictedAndCame(both, width), { most: 460 });
}

function timeSpent() {
  const spent = [...REPORT.time_spent].filter((t) => t.secs > 0).sort((a, b) => b.secs - a.secs).slice(0, 14);
  return figure("What time went to: CPU seconds of components, seconds by the clock of the rest.",
    (width) => secondsBars(spent, width), { most: 560 });
}

function leaderboard() {
  const board = REPORT.leaderboard.map((c, i) => ({ ...c, place: i }));
  const columns = [
    { title: "error", numeric: true, value: (c) => c.error, cell: (c) => number(`report.leaderboard.${c.place}.error`, c.error) },
    { title: "weight", numeric: true, value: (c) => -c.weight, cell: (c) => number(`report.leaderboard.${c.place}.weight`, c.weight, c.weight ? fixed(c.weight, 2) : "") },
    { title: "pipeline", value: (c) => c.pipeline, cell: (c) => el("td", { class: "pipeline" }, el("code", {}, c.pipeline)) },
    ...["accuracy", "balanced_accuracy", "roc_auc", "log_loss"].filter((key) => key !== METRIC && key !== ({ balanced_error: "balanced_accuracy" })[METRIC]).map((key) => ({
      title: METRICS[key][0], numeric: true, extra: true, value: (c) => c.scores[key], cell: (c) => number(`report.leaderboard.${c.place}.scores.${key}`, c.scores[key]) })),
    { title: "CPU", numeric: true, value: (c) => c.secs, cell: (c) => number(`report.leaderboard.${c.place}.secs`, c.secs, secs(c.secs)) },
    { title: "rows", numeric: true, value: (c) => c.n_rows, cell: (c) => number(`report.leaderboard.${c.place}.n_rows`, c.n_rows, whole(c.n_rows)) },
  ];
  const all = HISTORY ? allRuns() : historyMissing("the others that were tried");
  section("leaderboard", "Leaderboard",
    quiet(`The best candidates; error is ${ERROR_NAME}. They were chosen by these numbers, which therefore flatter them a little.`),
    sortable(columns, board, { page: 15, label: "table of candidates" }), all);
}

function allRuns() {
  const columns = [
    { title: "error", numeric: true, value: (t) => t.error, cell: (t) => el("td", { class: "n" }, t.error === null ? t.outcome.replaceAll("_", " ") : fixed(t.error)) },
    { title: "predicted", numeric: true, value: (t) => t.predicted_error, cell: (t) => el("td", { class: "n" }, fixed(t.predicted_error)) },
    { title: "CPU", numeric: true, value: (t) => t.secs, cell: (t) => el("td", { class: "n" }, secs(t.secs)) },
    { title: "rows", numeric: true, value: (t) => t.n_rows, cell: (t) => el("td", { class: "n" }, whole(t.n_rows)) },
    { title: "ended at", numeric: true, value: (t) => t.ended_secs, cell: (t) => el("td", { class: "n" }, secs(t.ended_secs)) },
    { title: "pipeline", value: (t) => t.pipeline, cell: (t) => el("td", { class: "pipeline" }, el("code", {}, t.pipeline), t.reason ? el("div", { class: "quiet" }, name(t.reason, 300)) : null) },
  ];
  if (HISTORY.n_trials_left_out) return runsMissing();
  const details = el("details", { id: "all-runs", class: "on-demand" }, el("summary", {}, `All ${whole(HISTORY.trials.length)} runs`));
  // Thousands of rows are made when somebody asks for them.
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(sortable(columns, HISTORY.trials, { page: 50, label: "all runs" }));
  });
  return details;
}
