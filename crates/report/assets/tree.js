// An ensemble as a tree of steps: of a finished model, or while it grows.

/** Pipelines as paths through a tree of their steps, equal beginnings once. */
function ensembleTree(learners, width) {
  const root = { depth: 0, text: "table", weight: 1, children: new Map() };
  for (const learner of learners) {
    let at = root;
    for (const step of learner.pipeline.split(" > ")) {
      if (!at.children.has(step)) at.children.set(step, { depth: at.depth + 1, text: step, weight: 0, children: new Map() });
      at = at.children.get(step);
      at.weight += learner.weight;
    }
  }
  const nodes = [];
  const links = [];
  let next = 0;
  function place(node) {
    const children = [...node.children.values()].sort((a, b) => b.weight - a.weight);
    children.forEach(place);
    node.y = children.length ? d3.mean([children[0].y, children.at(-1).y]) : next++;
    node.leaf = children.length === 0;
    nodes.push(node);
    for (const child of children) links.push({ from: node, to: child });
  }
  place(root);
  const depth = d3.max(nodes, (n) => n.depth);
  // Imputers and reducers have the longest names.
  const at = (d) => [0, 0.42, 1.72, 2.6, 3.55, 5][d] ?? d;
  const shown = (n) => n.leaf ? `${percent(n.weight)}  ${cut(n.text, 45)}` : cut(n.text, 22);
  return plot({
    width, height: 46 + 26 * Math.max(next, 1), marginLeft: 16, marginRight: 360, marginTop: 34, marginBottom: 8,
    x: { domain: [0, at(depth)], axis: "top", ticks: d3.range(depth + 1).map(at), tickSize: 0, label: null,
      tickFormat: () => "" },
    y: { axis: null, domain: [-0.5, Math.max(next - 0.5, 0.5)], reverse: true },
    ariaLabel: "The ensemble as a tree of steps",
    ariaDescription: learners.map((l) => `${percent(l.weight)}: ${l.pipeline}`).join("; "),
    marks: [
      Plot.link(links, { x1: (l) => at(l.from.depth), y1: (l) => l.from.y, x2: (l) => at(l.to.depth), y2: (l) => l.to.y, curve: "bump-x",
        stroke: "var(--one)", strokeOpacity: 0.45, strokeWidth: (l) => 1 + 14 * l.to.weight }),
      Plot.text(["impute", "encode", "scale", "reduce", "weight and estimator"].slice(0, depth), { x: (_, i) => at(i + 1), text: (t) => t, frameAnchor: "top", textAnchor: "start", dx: 7, dy: -26, fill: "var(--quiet)" }),
      Plot.dot(nodes, { x: (n) => at(n.depth), y: (n) => n.y, r: 3.5, fill: "var(--one)" }),
      Plot.text(nodes, { x: (n) => at(n.depth), y: (n) => n.y, text: shown, textAnchor: "start", dx: 7, stroke: "var(--card)", strokeWidth: 4, fill: "var(--ink)", paintOrder: "stroke" }),
    ],
  });
}
