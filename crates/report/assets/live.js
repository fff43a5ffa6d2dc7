// A search while it runs. Events come in the order in which they happened, the same ones that `fit --json` prints; all
// that is shown is made of them, so that a page opened late shows what one opened early does.

const VIEWER = Math.random().toString(36).slice(2);
const POLL_MS = 500;
const NEVER = -1;

/** What is known so far, in the shape in which a model's history keeps it. */
const RUN = {
  trials: [], ensemble: [], levels: [], confirming: [], errorName: "error", end: DATA.budget_secs, now: 0,
  running: new Set(), startedSecs: 0, nRows: 0, learners: [], phase: "reading the table", begun: null, done: null,
  best: null, improvedSecs: NEVER, improvedFrom: null, notes: [],
};

function takeTrial(event, outcome) {
  RUN.running.delete(event.pipeline);
  RUN.trials.push({
    pipeline: event.pipeline, outcome, error: event.error ?? null, balanced_error: event.balanced_error ?? null,
    predicted_error: event.predicted_error ?? null, secs: event.secs ?? event.after_secs ?? null, n_rows: RUN.nRows,
    started_secs: RUN.startedSecs, ended_secs: event.elapsed_secs,
  });
}

const TAKE = {
  begun(event) {
    RUN.begun = event;
    RUN.phase = "searching";
    const [words, higher] = METRICS[event.metric];
    RUN.errorName = higher ? `1 \u2212 ${words}` : words;
    RUN.end = event.budget_secs;
  },
  level(event) { RUN.nRows = event.n_rows; RUN.levels.push(event); },
  started(event) { RUN.running = new Set(event.pipelines); RUN.startedSecs = event.elapsed_secs; },
  finished(event) { takeTrial(event, "finished"); },
  failed(event) { takeTrial(event, "failed"); },
  out_of_time(event) { takeTrial(event, "out_of_time"); },
  ensemble_changed(event) {
    const before = RUN.ensemble.at(-1);
    if (before && event.error < before.error) { RUN.improvedSecs = event.elapsed_secs; RUN.improvedFrom = before.error; }
    RUN.ensemble.push({ elapsed_secs: event.elapsed_secs, error: event.error, n_base_learners: event.base_learners.length });
    RUN.learners = event.base_learners;
  },
  confirming(event) {
    RUN.confirming.push(event.elapsed_secs);
    RUN.phase = `validating the best ${event.pipelines.length} again, round ${event.round} of at most ${event.n_rounds}`;
    RUN.running = new Set();
  },
  assembling() { RUN.phase = "putting the model together"; RUN.running = new Set(); },
  done(event) { RUN.done = event; RUN.phase = "the search is over"; },
  note(event) { RUN.notes.push(event.text); },
  warning(event) { RUN.notes.push(event.text); },
};

const PLACES = {};

/** A place on the page that is filled again and again. */
function slot(id, tag = "div", attributes = {}) {
  PLACES[id] = el(tag, { id, ...attributes });
  return PLACES[id];
}

function fact(id, words) {
  return el("li", {}, slot(id, "b"), el("span", {}, words));
}

function layout() {
  const stop = slot("stop", "button", { type: "button", class: "stop" });
  stop.textContent = "Stop and keep the best";
  stop.addEventListener("click", askToStop);
  if (DATA.is_replay) stop.hidden = true;
  document.getElementById("content").append(el("section", { id: "now" },
    el("h1", {}, DATA.is_replay ? "A search replayed: " : "A search: ", name(DATA.title, 80)),
    slot("phase", "p", { class: "verdict", role: "status" }),
    el("div", { class: "budget", id: "budget", role: "progressbar", "aria-label": "time budget", "aria-valuemin": "0", "aria-valuemax": "100" }, slot("spent", "div", { class: "spent" })),
    el("div", { class: "ends quiet" }, slot("clock", "span"), slot("left", "span")),
    el("ul", { class: "facts" }, fact("n-finished", "pipelines finished"), fact("n-lost", "failed or out of time"),
      fact("best-error", "error of the best pipeline"), fact("ensemble-error", "error of the ensemble"), fact("rows", "rows searched with")),
    slot("progress", "p"), stop));
  section("threads", DATA.is_replay ? "What ran then" : "What runs now", slot("thread-list", "div", { class: "scroll", tabindex: "0" }));
  const over = figure(() => `${RUN.errorName[0].toUpperCase()}${RUN.errorName.slice(1)} against time, on the rows that pipelines and ensemble are chosen by. Move over a point to see its pipeline.`,
    (width) => errorsOverTime(RUN, width));
  over.append(searchKey());
  section("search", "How the search goes", over, el("div", { class: "side" },
    figure("What was predicted for each pipeline when it was chosen, and what came. Colour is the CPU time it took.",
      (width) => predictedAndCame(bothKnown(RUN), width), { most: 460 }),
    figure("CPU seconds that each kind of estimator took so far.", (width) => secondsBars(byKind(), width), { most: 560 })));
  section("ensemble", "The ensemble so far", figure(
    "From the table on the left, through the steps of each pipeline, to its weight and estimator.",
    (width) => ensembleTree(RUN.learners, width), { wide: 940 }));
  section("leaderboard", "The best so far", slot("best-list", "div", { class: "scroll", tabindex: "0" }));
  document.getElementById("contents").append(...[["now", "Now"], ...SECTIONS].map(([id, title]) => el("a", { href: "#" + id }, title)));
  document.getElementById("made-by").textContent = `pitchpipe ${DATA.version}, on this machine only. Charts: Observable Plot and D3, ISC licence.`;
}

function byKind() {
  const sums = d3.rollups(RUN.trials, (ts) => d3.sum(ts, (t) => t.secs ?? 0), (t) => t.pipeline.split(" > ").at(-1).split("(")[0]);
  return sums.map(([what, total]) => ({ what, secs: total })).filter((t) => t.secs > 0).sort((a, b) => b.secs - a.secs).slice(0, 14);
}

/** The lowest errors on the most rows. */
function bestTrials(n) {
  const done = RUN.trials.filter((t) => t.error !== null && t.n_rows === RUN.nRows);
  return d3.sort(done, (t) => t.error).slice(0, n);
}

function show(state) {
  const say = (id, text) => { if (PLACES[id].textContent !== text) PLACES[id].textContent = text; };
  const budget = RUN.begun ? RUN.begun.budget_secs : DATA.budget_secs;
  const share = Math.min(1, RUN.now / budget);
  say("phase", phaseWords(state));
  PLACES.spent.style.width = `${100 * share}%`;
  document.getElementById("budget").setAttribute("aria-valuenow", String(Math.round(100 * share)));
  say("clock", `${clock(RUN.now)} of ${clock(budget)} spent`);
  say("left", state.phase === "running" ? `${clock(Math.max(0, budget - RUN.now))} left` : "");
  const finished = RUN.trials.filter((t) => t.error !== null);
  const best = bestTrials(10);
  say("n-finished", whole(finished.length));
  say("n-lost", whole(RUN.trials.length - finished.length));
  say("best-error", best.length ? fixed(best[0].error) : "\u2013");
  say("ensemble-error", fixed(RUN.ensemble.at(-1)?.error));
  say("rows", RUN.nRows ? whole(RUN.nRows) + (RUN.begun && RUN.nRows < RUN.begun.n_rows ? ` of ${whole(RUN.begun.n_rows)}` : "") : "\u2013");
  say("progress", progressWords());
  PLACES.stop.disabled = state.phase !== "running";
  showThreads(state.threads ?? []);
  PLACES["best-list"].replaceChildren(el("table", { class: "wide" },
    el("thead", {}, el("tr", {}, ["error", "CPU", "pipeline"].map((t, i) => el("th", { scope: "col", class: i < 2 ? "n" : null }, t)))),
    el("tbody", {}, best.map((t) => el("tr", {}, el("td", { class: "n" }, fixed(t.error)), el("td", { class: "n" }, secs(t.secs)), el("td", { class: "pipeline" }, el("code", {}, t.pipeline)))))));
  document.title = `${Math.round(100 * share)} % ${RUN.errorName} ${fixed(RUN.ensemble.at(-1)?.error)}, pitchpipe`;
}

const clock = (s) => s >= 3600 ? `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min` : s >= 120 ? `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s` : `${s.toFixed(1)} s`;

function phaseWords(state) {
  if (state.phase === "failed") return `It ended without a model: ${cut(state.why ?? "", 500)}`;
  if (state.phase === "gone") return "The command has ended, or cannot be reached. This is the last that was heard of it.";
  if (state.phase === "done") return DATA.is_replay ? "The recorded run is over." : "The model is written.";
  if (state.phase === "stopping") return "Ending the search; the best so far is kept.";
  return RUN.phase[0].toUpperCase() + RUN.phase.slice(1) + ".";
}

/** Whether it still gets better: what one wants to know before stopping it. */
function progressWords() {
  if (!RUN.ensemble.length) return "There is no ensemble yet: stopping now leaves no model.";
  if (RUN.improvedSecs === NEVER) return "";
  return `The ensemble last got better ${clock(Math.max(0, RUN.now - RUN.improvedSecs))} ago, from ${fixed(RUN.improvedFrom)}.`;
}

function showThreads(threads) {
  const place = PLACES["thread-list"];
  if (DATA.is_replay || !threads.length) {
    const running = [...RUN.running];
    place.replaceChildren(running.length
      ? el("ul", {}, running.slice(0, 8).map((p) => el("li", {}, el("code", {}, p))), running.length > 8 ? el("li", {}, `and ${running.length - 8} more of the same step`) : null)
      : quiet(`No pipeline: ${RUN.phase}.`));
    return;
  }
  const rows = threads.map((t, i) => el("tr", {}, el("th", { scope: "row" }, `thread ${i + 1}`),
    el("td", {}, t ? `${t.estimator === null ? "preparing columns" : t.estimator.replaceAll("_", " ")}${t.n_settings > 1 ? `, ${t.n_settings} settings` : ""}` : "idle"),
    el("td", {}, t ? `fold ${t.fold + 1} of ${t.n_folds}` : ""), el("td", { class: "n" }, t ? `for ${secs(t.for_secs)}` : "")));
  place.replaceChildren(el("table", { class: "threads" }, el("tbody", {}, rows)));
}

async function askToStop() {
  PLACES.stop.disabled = true;
  try { await fetch("stop", { method: "POST" }); } catch { /* the next look says that it is gone */ }
}

const nextFrame = () => new Promise((resolve) => requestAnimationFrame(resolve));

function isNear(place) {
  const { top, bottom } = place.getBoundingClientRect();
  return bottom > -200 && top < innerHeight + 200;
}

/**
 * Draws again the charts that are looked at, one in a frame, so that the page stays at hand. Where that takes long it is
 * done less often, and a chart under the pointer waits a little, so that what it says can be read.
 */
const drawing = { next: 0, isAtIt: false };
async function drawAgain() {
  const now = performance.now();
  const hovered = document.querySelector("figure svg:hover") !== null;
  if (drawing.isAtIt || document.hidden || now < drawing.next + (hovered ? 4000 : 0)) return;
  drawing.isAtIt = true;
  let took = 0;
  for (const one of FIGURES.filter((f) => isNear(f.place))) {
    await nextFrame();
    const begun = performance.now();
    one.drawn = 0;
    drawFigure(one);
    took += performance.now() - begun;
  }
  document.documentElement.dataset.drawMs = took.toFixed(0);
  drawing.next = performance.now() + Math.max(900, 10 * took);
  drawing.isAtIt = false;
}

async function look() {
  let state = { phase: "gone" };
  let more = true;
  let next = 0;
  let tries = 0;
  while (more) {
    try {
      const answer = await fetch(`events?from=${next}&viewer=${VIEWER}`, { cache: "no-store" });
      if (!answer.ok) throw new Error("refused");
      state = await answer.json();
      tries = 0;
    } catch {
      tries += 1;
      if (tries > 3) {
        state = { ...state, phase: "gone", threads: [] };
        break;
      }
      await new Promise((r) => setTimeout(r, POLL_MS));
      continue;
    }
    for (const event of state.events) TAKE[event.event]?.(event);
    next = state.next;
    RUN.now = state.elapsed_secs;
    if (state.is_behind) continue;
    show(state);
    drawAgain();
    document.documentElement.dataset.ready ??= String(Math.round(performance.now()));
    more = state.phase === "running" || state.phase === "stopping";
    if (more) await new Promise((r) => setTimeout(r, POLL_MS));
  }
  drawAll();
  show(state);
  if (state.has_report) location.replace(`report?viewer=${VIEWER}`);
}

layout();
show({ phase: "running", threads: [] });
drawFigures();
keepDrawn();
look();
