// Figures of how well the model predicts: of rows left out one by one at fixed scales, and beside simpler models in the
// refits on held-out folds. Every figure says in which part of the page it stands, how to
// read it, what it needs, what its data are as a table, and how it is drawn; `facts` are what the program computed.

const REACH = 1.6448536269514722; // of a 90 % interval, in standard deviations

const QUALITY_FIGURES = [
  {
    section: "quality",
    id: "observed",
    title: "Observed against predicted",
    read: (facts) =>
      "Each point is a row, predicted without it at fixed scales; on the line the prediction is right. " +
      `Bars are 90 % intervals; those that miss are orange.${rowsShown(facts)}`,
    needs: needsRows,
    table: leftOut,
    draw(facts, task, width) {
      const cells = leftOut(facts, task);
      const range = d3.extent(cells.flatMap((d) => [d.observed, d.predicted]));
      return plot(width, {
        height: Math.min(width * 0.8, 420),
        grid: true,
        nice: true,
        x: { label: "predicted →", domain: range },
        y: { label: "↑ observed", domain: range },
        clip: true,
        marks: [
          Plot.link([0], {
            x1: range[0],
            y1: range[0],
            x2: range[1],
            y2: range[1],
            stroke: "currentColor",
            strokeOpacity: 0.5,
          }),
          Plot.ruleY(cells, {
            y: "observed",
            x1: "lower",
            x2: "upper",
            stroke: (d) => d.inside,
            strokeOpacity: 0.25,
            clip: true,
          }),
          Plot.dot(cells, { ...ofCell, y: "observed", fill: (d) => d.inside, r: 2.6, tip: true }),
        ],
        color: { domain: [true, false], range: ["var(--one)", "var(--two)"] },
      });
    },
  },
  {
    section: "quality",
    id: "residuals",
    title: "Residuals",
    read:
      "What the prediction missed, in its own standard deviations (of a transformed target, of its transform): there should be no shape, and nine of " +
      "ten points between the dashed lines.",
    needs: needsRows,
    table: leftOut,
    draw(facts, task, width) {
      const cells = leftOut(facts, task);
      return plot(width, {
        height: Math.min(width * 0.8, 420),
        grid: true,
        nice: true,
        x: { label: "predicted →" },
        y: { label: "↑ (observed − predicted) / std" },
        marks: [
          Plot.ruleY([0], { strokeOpacity: 0.5 }),
          Plot.ruleY([-REACH, REACH], { stroke: "currentColor", strokeOpacity: 0.5, strokeDasharray: "4 4" }),
          Plot.dot(cells, { ...ofCell, y: "z", fill: (d) => d.inside, r: 2.6, tip: true }),
        ],
        color: { domain: [true, false], range: ["var(--one)", "var(--two)"] },
      });
    },
  },
  {
    section: "quality",
    id: "comparison",
    once: true,
    title: "Beside simpler models",
    read: (facts) =>
      `R² of each target, ${facts.check ? `on rows not seen (${facts.check.how})` : "with each row left out at fixed scales"}: ` +
      "longer is better. If ridge regression reaches as far, straight lines are enough.",
    needs: (facts) => (facts.check ? null : needsData(facts)),
    table: (facts) =>
      marksOf(facts).methods.flatMap((m) =>
        facts.targets.map((target, c) => ({ method: m.name, target, r2: m.r2[c], rmse: m.rmse[c] })),
      ),
    draw(facts, task, width) {
      const bars = this.table(facts);
      const low = Math.max(Math.min(0, ...bars.map((d) => d.r2 ?? 0)), -0.5);
      const methods = marksOf(facts).methods.map((m) => m.name);
      return plot(width, {
        height: 40 + facts.targets.length * Math.max(34, Math.min(60, 360 / facts.targets.length)),
        marginLeft: Math.min(150, width / 3),
        x: { label: "R² →", domain: [low, 1], grid: true },
        y: { axis: null, domain: methods },
        fy: { label: null, domain: facts.targets },
        color: { legend: true, domain: methods, range: ["var(--one)", "var(--two)", "var(--grey)"] },
        marks: [
          Plot.axisFy({
            text: clipped(18),
            anchor: "left",
            dx: -6,
            fontWeight: (d) => (d === facts.targets[task] ? "bold" : "normal"),
          }),
          Plot.barX(bars, {
            x1: low < 0 ? 0 : low,
            x2: (d) => Math.max(d.r2, low),
            y: "method",
            fy: "target",
            fill: "method",
            tip: true,
            title: (d) => `${d.method}\n${d.target}\nR² ${short(d.r2)}\nRMSE ${short(d.rmse)}`,
          }),
          Plot.ruleX([0]),
        ],
      });
    },
  },
  {
    section: "quality",
    id: "calibration",
    title: "Calibration",
    read:
      "Left: how many values lie in intervals of each probability; below the line intervals are too narrow. " +
      "Right: where values lie in their predicted distribution; level bars are right.",
    needs: needsData,
    table: (facts, task) =>
      facts.quality.levels.map((level, i) => ({
        level,
        inside: facts.quality.inside[task][i],
        all_targets: insideAll(facts, i),
      })),
    draw(facts, task, width) {
      const points = this.table(facts, task);
      const counts = facts.quality.transform[task];
      const total = d3.sum(counts);
      const bars = counts.map((count, i) => ({ from: i / counts.length, to: (i + 1) / counts.length, count }));
      const level = total / counts.length;
      // What chance alone does to a count, nineteen times of twenty.
      const play = 1.96 * Math.sqrt(level * (1 - 1 / counts.length));
      const half = width < 460 ? width : (width - 16) / 2;
      return element(
        "div",
        { className: "side" },
        plot(half, {
          height: 260,
          marginLeft: 40,
          grid: true,
          x: { label: "probability of the interval →", domain: [0, 1], ticks: 5 },
          y: { label: "↑ share inside", domain: [0, 1], ticks: 5 },
          marks: [
            Plot.link([0], { x1: 0, y1: 0, x2: 1, y2: 1, stroke: "currentColor", strokeOpacity: 0.5 }),
            Plot.lineY(points, { x: "level", y: "inside", stroke: "var(--one)", strokeWidth: 2 }),
            Plot.dot(points, {
              x: "level",
              y: "inside",
              fill: "var(--one)",
              r: 3,
              tip: true,
              title: (d) => `intervals of ${Math.round(100 * d.level)} %\nhold ${Math.round(100 * d.inside)} %`,
            }),
          ],
        }),
        plot(half, {
          height: 260,
          marginLeft: 40,
          x: { label: "predicted probability of less →", domain: [0, 1], ticks: 5 },
          y: { label: "↑ values", grid: true },
          marks: [
            Plot.rect([0], {
              x1: 0,
              x2: 1,
              y1: Math.max(level - play, 0),
              y2: level + play,
              fill: "var(--grey)",
              fillOpacity: 0.25,
            }),
            Plot.rectY(bars, { x1: "from", x2: "to", y: "count", fill: "var(--one)", fillOpacity: 0.8, inset: 1 }),
            Plot.ruleY([level], { stroke: "currentColor", strokeOpacity: 0.6 }),
            Plot.ruleY([0]),
          ],
        }),
      );
    },
  },
  {
    section: "quality",
    id: "influence",
    title: "Influential rows",
    wide: true,
    read:
      "How far the fit at each row moves when the row is left out, in predicted standard deviations. Look " +
      "at the longest sticks: such rows may be wrong, or the only ones of their kind.",
    needs: needsRows,
    table: influenceOf,
    draw(facts, task, width) {
      const cells = influenceOf(facts, task);
      const far = [...cells].sort((a, b) => Math.abs(b.influence) - Math.abs(a.influence)).slice(0, 6);
      const most = facts.quality.rows.most_influential;
      return element(
        "div",
        {},
        plot(width, {
          height: 240,
          grid: true,
          marginRight: 50,
          x: { label: "row →", tickFormat: "d" },
          y: { label: "↑ influence", nice: true },
          marks: [
            Plot.ruleY([0]),
            Plot.ruleX(cells, { x: "row", y: "influence", stroke: "var(--one)", strokeOpacity: 0.5 }),
            Plot.dot(cells, {
              x: "row",
              y: "influence",
              fill: "var(--one)",
              r: 2.4,
              tip: true,
              title: (d) => `row ${d.row}\nleverage ${short(d.leverage)}\ninfluence ${short(d.influence)}`,
            }),
            Plot.text(far, {
              x: "row",
              y: "influence",
              text: (d) => `row ${d.row}`,
              dx: 6,
              textAnchor: "start",
              fill: "currentColor",
            }),
          ],
        }),
        element("p", {
          className: "note",
          textContent: `Over all targets: ${most.map(([row, size]) => `row ${row} (${short(size)})`).join(", ")}.`,
        }),
      );
    },
  },
];

/** The refits on held-out folds, if there are any; else what rows left out at fixed scales say. */
function marksOf(facts) {
  return facts.check ?? facts.quality;
}

/** The observed cells of a target, one object for each row. */
function leftOut(facts, task) {
  const { number, observed, mean, std, laws } = facts.quality.rows;
  const of = (i) => {
    if (laws) return { lower: laws[0][task][i], upper: laws[1][task][i], z: laws[2][task][i] };
    const half = REACH * std[task][i];
    const residual = observed[task][i] - mean[task][i];
    return { lower: mean[task][i] - half, upper: mean[task][i] + half, z: residual / std[task][i] };
  };
  return number
    .map((row, i) => ({
      row,
      observed: observed[task][i],
      predicted: mean[task][i],
      std: std[task][i],
      residual: observed[task][i] - mean[task][i],
      ...of(i),
    }))
    .filter((cell) => cell.observed !== null)
    .map((cell) => ({ ...cell, inside: Math.abs(cell.z) <= REACH }));
}

function rowsShown(facts) {
  const rows = facts.quality?.rows;
  return rows && rows.number.length < rows.total ? ` Shown are ${rows.number.length} of ${rows.total} rows.` : "";
}

const ofCell = {
  x: "predicted",
  title: (d) => `row ${d.row}\nobserved ${short(d.observed)}\npredicted ${short(d.predicted)} ± ${short(d.std)}`,
};

function insideAll(facts, i) {
  const cells = facts.quality.tasks.map((t) => t.observed);
  return d3.sum(cells, (n, c) => n * facts.quality.inside[c][i]) / d3.sum(cells);
}

function influenceOf(facts, task) {
  const { number, leverage, influence } = facts.quality.rows;
  return number
    .map((row, i) => ({ row, leverage: leverage[task][i], influence: influence[task][i] }))
    .filter((d) => d.influence !== null);
}
