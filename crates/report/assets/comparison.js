// Several models on one table.

/** How many of the other models differ from the first. */
function significance(n, of, first) {
  if (of === 0) return ["There is nothing to compare it with."];
  const explained = " by more than chance explains (adjusted p < 0.05).";
  if (of === 1) return [n ? "The two differ" : "The two do not differ", explained];
  const others = n === 0 ? `None of the ${of} others differs from ` : `Of the ${of} others, ${n} ${n === 1 ? "differs" : "differ"} from `;
  return [others, name(first.file), explained];
}

function tableOf(words, head, rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": words }, el("table", {},
    el("thead", {}, el("tr", {}, head.map((t, i) => el("th", { scope: "col", class: i ? "n" : null }, t)))), el("tbody", {}, rows)));
}

function models() {
  const plain = DATA.models;
  const first = plain[0];
  const better = [...plain].sort((a, b) => a.error - b.error)[0];
  const others = plain.filter((m) => m.difference);
  const clear = others.filter((m) => m.difference.p_value_adjusted < 0.05);
  const [metricName, higher] = METRICS[DATA.metric];
  const errorName = higher ? `1 \u2212 ${metricName}` : metricName;
  document.getElementById("content").append(el("h1", { class: "page" }, "Models on ", name(DATA.table, 80)));
  section("verdict", "Verdict",
    el("p", { class: "verdict" }, "On ", name(DATA.table), `, ${counted(DATA.n_rows, "row")}, `, name(better.file), ` has the lowest ${errorName}: ${fixed(better.error)}. `,
      ...significance(clear.length, others.length, first)),
    quiet("Differences are of the same rows, so that what is hard for all cancels out. Intervals and p-values come from drawing the rows anew, with replacement; p-values are adjusted for the number of comparisons (Holm). Rows are taken to be independent."));
  const scored = Object.keys(METRICS).filter((key) => key !== DATA.metric || higher);
  const head = ["model", errorName, "difference from the first", "95 % interval", "p", "p, adjusted"];
  const rows = plain.map((m, i) => {
    const d = m.difference;
    const sign = (v) => (v >= 0 ? "+" : "\u2212") + fixed(Math.abs(v));
    return el("tr", {}, el("th", { scope: "row" }, name(m.file)), number(`models.${i}.error`, m.error),
      d ? number(`models.${i}.difference.difference`, d.difference, sign(d.difference)) : el("td", {}),
      el("td", { class: "n" }, d ? `${sign(d.low)} to ${sign(d.high)}` : ""),
      d ? number(`models.${i}.difference.p_value`, d.p_value, fixed(d.p_value, 3)) : el("td", {}),
      d ? number(`models.${i}.difference.p_value_adjusted`, d.p_value_adjusted, fixed(d.p_value_adjusted, 3)) : el("td", {}));
  });
  section("models", "Models side by side", tableOf("models", head, rows));
  section("scores", "All scores", quiet("\u00b1 is one standard error over draws of these rows."), tableOf("scores",
    ["model", ...scored.map((key) => METRICS[key][0])],
    plain.map((m, i) => el("tr", {}, el("th", { scope: "row" }, name(m.file)), scored.map((key) => {
      const [score, error] = [m.evaluation.scores[key], (m.evaluation.standard_errors ?? {})[key]];
      return number(`models.${i}.evaluation.scores.${key}`, score, fixed(score) + (error ? ` \u00b1\u00a0${fixed(error)}` : ""));
    })))));
  if (!others.length) return;
  const shown = others.map((m, i) => ({ ...m.difference, key: String(i), file: m.file }));
  section("differences", "Differences from the first",
    figure(`How much larger ${errorName} is than the first model's, with 95 % intervals; left of the line is better.`, (width) => plot({
      width, height: 50 + 30 * shown.length, marginLeft: Math.min(220, width * 0.4),
      x: { label: `difference of ${errorName}`, grid: true, insetLeft: 12, insetRight: 6 }, y: { label: null, domain: shown.map((s) => s.key), tickFormat: (d) => label(shown[+d].file, 28) },
      ariaLabel: "Differences from the first model", ariaDescription: shown.map((s) => `${cut(s.file, 40)} ${fixed(s.difference)}`).join(", "),
      marks: [Plot.ruleX([0], { stroke: "var(--quiet)" }),
        Plot.ruleY(shown, { y: (s) => s.key, x1: (s) => s.low, x2: (s) => s.high, stroke: "var(--one)", strokeWidth: 2 }),
        Plot.dot(shown, { x: (s) => s.difference, y: (s) => s.key, fill: "var(--one)", r: 4 })],
    }), { most: 800 }));
}

models();
document.getElementById("contents").append(...SECTIONS.map(([id, title]) => el("a", { href: "#" + id }, title)));
document.getElementById("made-by").textContent = `Made by pitchpipe ${DATA.version}. Charts: Observable Plot and D3, ISC licence.`;
document.title = "pitchpipe comparison";
drawFigures();
keepDrawn();
// How long it took until it could be used, in milliseconds since the page was opened.
document.documentElement.dataset.ready = String(Math.round(performance.now()));
