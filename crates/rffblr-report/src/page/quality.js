// Figures of how well the model predicts: of rows predicted without them, and beside simpler models in the refits on held-out
// folds. Every figure says in which part of the page it stands, how to read it, what it shows in a sentence (its
// alternative text), what it needs, what its data are as a table, and how it is drawn; `facts` are what the program computed.

const QUALITY_FIGURES = [
  {
    section: "quality",
    id: "observed",
    title: "Observed against predicted",
    read: (facts) =>
      facts.quality?.rows
        ? `Each mark is a row, ${withoutItself(facts)}; on the line the prediction is right. Bars are 90 % intervals; ` +
          `rows outside of theirs are crosses.${rowsShown(facts)}`
        : "How many rows lie in each square; darker is more, and squares of fewer than five rows are left empty. On the line the " +
          "prediction is right.",
    finding: (facts, task) =>
      `${targetName(facts, task)}: R² ${score(facts.quality.tasks[task].r2)}, off by ` +
      `${short(facts.quality.tasks[task].mae)}${ofTarget(facts, task)} on average; ` +
      `${percent(facts.quality.tasks[task].coverage)} of the values lie in their 90 % interval.`,
    needs: needsData,
    table: (facts, task) => (facts.quality.rows ? leftOut(facts, task) : squaresOf(facts, task, "observed")),
    draw(facts, task, width) {
      if (!facts.quality.rows) return squares(facts, task, "observed", width);
      const cells = leftOut(facts, task);
      const range = d3.extent(cells.flatMap((d) => [d.observed, d.predicted]));
      const options = { ...ofCell, x: "predicted", y: "observed" };
      return plot(width, {
        height: Math.min(width * 0.8, 420),
        grid: true,
        nice: true,
        x: { label: `predicted ${targetAxis(facts, task)} →`, domain: range, ticks: width < 400 ? 4 : undefined },
        y: { label: "↑ observed", domain: range },
        marks: [
          diagonal(range),
          Plot.ruleY(cells, {
            y: "observed",
            x1: "lower",
            x2: "upper",
            stroke: (d) => (d.inside ? "var(--one)" : "var(--two)"),
            strokeOpacity: 0.25,
            clip: true,
          }),
          ...hitsAndMisses(cells, options),
        ],
        color: { type: "identity" },
      });
    },
  },
  {
    section: "quality",
    id: "residuals",
    title: "Residuals",
    read: (facts) =>
      "What the prediction missed, in its own standard deviations (of a transformed target, of its transform): there should be no " +
      "shape, and nine of ten " +
      (facts.quality?.rows ? "marks between the dashed lines." : "rows between the dashed lines; darker squares hold more rows."),
    finding: (facts, task) =>
      facts.questions.find((q) => q.id === "patternless")?.answer ??
      `${percent(facts.quality.tasks[task].coverage)} of the values lie between the dashed lines.`,
    needs: needsData,
    table: (facts, task) => (facts.quality.rows ? leftOut(facts, task) : squaresOf(facts, task, "residual")),
    draw(facts, task, width) {
      if (!facts.quality.rows) return squares(facts, task, "residual", width);
      const cells = leftOut(facts, task);
      return plot(width, {
        height: Math.min(width * 0.8, 420),
        grid: true,
        nice: true,
        x: { label: `predicted ${targetAxis(facts, task)} →`, ticks: width < 400 ? 4 : undefined },
        y: { label: "↑ (observed − predicted) / std" },
        marks: [
          Plot.ruleY([0], { strokeOpacity: 0.5 }),
          dashed(facts.model.reach[task]),
          ...hitsAndMisses(cells, { ...ofCell, x: "predicted", y: "standardised" }),
        ],
      });
    },
  },
  {
    section: "quality",
    id: "parts",
    title: "Where does it fail?",
    wide: true,
    read: (facts) =>
      "Mean size of the error in parts of the table (each level of a text, each quarter of a number, each group), with its 90 % " +
      `interval; the line is that of all rows. Each row counts as ${facts.quality?.new ? "the model predicts it" : "it is predicted without itself"}. ` +
      "Triangles are larger than chance explains, among all parts looked at; they are on top.",
    finding: (facts, task) => {
      const worst = partsOf(facts, task).find((d) => d.larger);
      const all = `${short(facts.quality.tasks[task].mae)}${ofTarget(facts, task)}`;
      return worst
        ? `Errors of ${targetName(facts, task)} are larger where ${worst.column} is ${worst.value}: ` +
            `${short(worst.size)} on average over ${worst.rows} rows; over all rows ${all}.`
        : `In no part are errors of ${targetName(facts, task)} clearly larger than over all rows (${all} on average).`;
    },
    needs: (facts) => needsData(facts) ?? (facts.parts.length ? null : "no part of the table has five rows"),
    table: (facts, task) => partsOf(facts, task),
    draw(facts, task, width) {
      const all = partsOf(facts, task);
      const shown = all.slice(0, 16);
      const names = shown.map((d) => `${d.column}: ${d.value}`);
      const { room, ticks } = nameRoom(names, width, 300);
      const mae = facts.quality.tasks[task].mae;
      const rows = shown.map((d, at) => ({ ...d, at }));
      return element(
        "div",
        {},
        plot(width, {
          height: 50 + 20 * rows.length,
          marginLeft: room,
          marginRight: 70,
          x: { label: `${width < 500 ? "error" : "mean size of the error"}, ${targetAxis(facts, task)} →`, grid: true, zero: true },
          y: named(ticks),
          marks: [
            Plot.ruleX([mae], { stroke: "currentColor", strokeDasharray: "4 4" }),
            Plot.ruleY(rows, { y: "at", x1: (d) => Math.max(0, d.low), x2: "high", stroke: "var(--quiet)", strokeWidth: 2 }),
            Plot.dot(rows, {
              y: "at",
              x: "size",
              symbol: (d) => (d.larger ? "triangle" : "circle"),
              fill: (d) => (d.larger ? "var(--two)" : "var(--one)"),
              r: 4.5,
              tip: true,
              title: (d) =>
                `${d.column}: ${d.value}\n${counted(d.rows, "value")}\nerror ${short(d.size)} (${short(d.low)} to ${short(d.high)})\n` +
                `mean error ${signed(d.bias)}\n${percent(d.inside)} in the 90 % interval`,
            }),
            Plot.text(rows, {
              y: "at",
              frameAnchor: "right",
              dx: 62,
              textAnchor: "end",
              text: (d) => `n = ${d.rows}`,
              fill: "currentColor",
            }),
          ],
          color: { type: "identity" },
          symbol: { type: "identity" },
        }),
        shown.length < facts.parts_total
          ? element("p", {
              className: "note",
              textContent:
                `${shown.length} of ${counted(facts.parts_total, "part")}; the CSV has ` +
                (facts.parts.length < facts.parts_total ? `the ${facts.parts.length} that stand out most.` : "all."),
            })
          : "",
      );
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
    finding: (facts) => facts.questions.find((q) => q.id === "ridge")?.answer ?? facts.verdict.headline,
    needs: (facts) =>
      facts.check ? null : facts.quality?.new ? "needs a model that was checked by refits" : needsData(facts),
    table: (facts) =>
      marksOf(facts).methods.flatMap((m) =>
        facts.targets.map((_, c) => ({ method: m.name, target: targetName(facts, c), at: c, r2: m.r2[c], rmse: m.rmse[c] })),
      ),
    draw(facts, task, width) {
      const bars = this.table(facts).filter((d) => d.r2 !== null);
      const low = Math.max(Math.min(0, ...bars.map((d) => d.r2)), -0.5);
      const methods = marksOf(facts).methods.map((m) => m.name);
      const names = facts.targets.map((_, c) => targetName(facts, c));
      const { room, ticks } = nameRoom(names, width, 150);
      return plot(width, {
        height: 50 + facts.targets.length * Math.max(34, Math.min(60, 360 / facts.targets.length)),
        marginLeft: room,
        x: { label: "R² →", domain: [low, 1], grid: true, ticks: 5 },
        y: { axis: null, domain: methods },
        fy: { label: null, domain: d3.range(names.length) },
        color: { legend: true, domain: methods, range: ["var(--one)", "var(--two)", "var(--grey)"] },
        marks: [
          Plot.axisFy({ text: (c) => ticks[c], anchor: "left", dx: -6 }),
          Plot.barX(bars, {
            x1: 0,
            x2: (d) => Math.max(d.r2, low),
            y: "method",
            fy: "at",
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
      "Right: where values lie in their predicted distribution; bars within the grey band are as level as chance allows.",
    finding: (facts, task) =>
      `Intervals of 50 % hold ${percent(insideAt(facts, task, 0.5))} of the values of ${targetName(facts, task)}, intervals of 90 % ` +
      `hold ${percent(insideAt(facts, task, 0.9))}.`,
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
      // What chance alone does to a count, nine times of ten.
      const play = REACH * Math.sqrt(level * (1 - 1 / counts.length));
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
            diagonal([0, 1]),
            Plot.lineY(points, { x: "level", y: "inside", stroke: "var(--one)", strokeWidth: 2 }),
            Plot.dot(points, {
              x: "level",
              y: "inside",
              fill: "var(--one)",
              r: 3,
              tip: true,
              title: (d) => `intervals of ${percent(d.level)}\nhold ${percent(d.inside)}`,
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
    finding: (facts) => {
      const most = facts.quality.rows.most_influential;
      return `Most influential over all targets: ${most.map(([row, size]) => `row ${row} (${rough(size)})`).join(", ")}.`;
    },
    needs: (facts) => needsRows(facts) ?? (facts.quality.new ? "new rows do not influence the fit" : null),
    table: influenceOf,
    draw(facts, task, width) {
      const cells = influenceOf(facts, task);
      const far = [...cells].sort((a, b) => Math.abs(b.influence) - Math.abs(a.influence)).slice(0, width < 500 ? 2 : 6);
      // A label gives way to one of a longer stick nearby.
      const [rows, sizes] = ["row", "influence"].map((key) => d3.extent(cells, (d) => d[key]));
      const apart = (a, b) =>
        Math.abs(a.row - b.row) * (width - 120) > 56 * (rows[1] - rows[0]) ||
        Math.abs(a.influence - b.influence) * 180 > 16 * (sizes[1] - sizes[0]);
      const labelled = far.filter((d, i) => far.slice(0, i).every((other) => apart(d, other)));
      return plot(width, {
        height: 240,
        grid: true,
        marginRight: 60,
        x: { label: "row →", tickFormat: "d", ticks: width < 400 ? 4 : undefined },
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
          Plot.text(labelled, {
            x: "row",
            y: "influence",
            text: (d) => `row ${d.row}`,
            dx: 6,
            textAnchor: "start",
            fill: "currentColor",
          }),
        ],
      });
    },
  },
];

/** The refits on held-out folds, if there are any; else what rows left out at fixed scales say. */
function marksOf(facts) {
  return facts.check ?? facts.quality;
}

const score = (value) => (value === null ? "–" : value.toFixed(3));

/** How the rows of the figures were predicted. */
function withoutItself(facts) {
  return facts.quality?.new ? "which the model has never seen" : "predicted without itself at fixed scales";
}

function diagonal([low, high]) {
  return Plot.link([0], { x1: low, y1: low, x2: high, y2: high, stroke: "currentColor", strokeOpacity: 0.5 });
}

/** The ends of the 90 % interval, in standard deviations: farther out where held-out rows have made intervals wider. */
function dashed(reach) {
  return Plot.ruleY(reach, { stroke: "currentColor", strokeOpacity: 0.7, strokeDasharray: "4 4" });
}

/** The observed cells of a target, one object for each row. */
function leftOut(facts, task) {
  const { number, observed, mean, lower, upper, standardised } = facts.quality.rows;
  return number
    .map((row, i) => ({
      row,
      observed: observed[task][i],
      predicted: mean[task][i],
      lower: lower[task][i],
      upper: upper[task][i],
      residual: observed[task][i] - mean[task][i],
      standardised: standardised[task][i],
      inside: lower[task][i] <= observed[task][i] && observed[task][i] <= upper[task][i],
    }))
    .filter((cell) => cell.observed !== null);
}

function rowsShown(facts) {
  const rows = facts.quality?.rows;
  return rows && rows.number.length < rows.total ? ` Shown are ${rows.number.length} of ${rows.total} rows.` : "";
}

const ofCell = {
  title: (d) =>
    `row ${d.row}\nobserved ${short(d.observed)}\npredicted ${short(d.predicted)} (${short(d.lower)} to ${short(d.upper)})`,
};

/** Squares that stand for rows: their middles and how many rows are in each. */
function squaresOf(facts, task, what) {
  const found = facts.quality.squares[task];
  const counts = what === "observed" ? found.counts : found.residual_counts;
  const middle = ([low, high], i, side) => low + ((high - low) * (i + 0.5)) / side;
  return counts.flatMap((column, i) =>
    column
      .map((rows, j) => ({
        predicted: middle(found.predicted, i, counts.length),
        [what]: middle(found[what], j, column.length),
        rows,
      }))
      .filter((d) => d.rows > 0),
  );
}

function squares(facts, task, what, width) {
  const cells = squaresOf(facts, task, what);
  const found = facts.quality.squares[task];
  const side = found.counts.length;
  const [dx, dy] = [found.predicted, found[what]].map(([low, high]) => (high - low) / side / 2);
  const most = d3.max(cells, (d) => d.rows) ?? 1;
  return plot(width, {
    height: Math.min(width * 0.8, 420),
    grid: true,
    x: { label: `predicted ${targetAxis(facts, task)} →`, domain: found.predicted, ticks: width < 400 ? 4 : undefined },
    y: { label: what === "observed" ? "↑ observed" : "↑ (observed − predicted) / std", domain: found[what] },
    opacity: { type: "identity" },
    marks: [
      ...(what === "observed"
        ? [Plot.link([0], { x1: found.predicted[0], y1: found.predicted[0], x2: found.predicted[1], y2: found.predicted[1], stroke: "currentColor", strokeOpacity: 0.5, clip: true })]
        : [dashed(facts.model.reach[task].filter((y) => y > found.residual[0] && y < found.residual[1]))]),
      Plot.rect(cells, {
        x1: (d) => d.predicted - dx,
        x2: (d) => d.predicted + dx,
        y1: (d) => d[what] - dy,
        y2: (d) => d[what] + dy,
        fill: "var(--one)",
        fillOpacity: (d) => 0.15 + (0.85 * d.rows) / most,
        tip: true,
        title: (d) => `${d.rows} rows\npredicted about ${short(d.predicted)}\n${what} about ${short(d[what])}`,
      }),
    ],
  });
}

function partsOf(facts, task) {
  return facts.parts
    .map((part) => ({ part, errors: part.tasks[task] }))
    .filter(({ errors }) => errors.size !== null)
    .map(({ part, errors }) => ({
      column: part.input === null ? part.column : inputName(facts, part.input),
      value: part.value,
      rows: errors.rows,
      size: errors.size,
      low: errors.size - errors.size_reach,
      high: errors.size + errors.size_reach,
      bias: errors.mean,
      bias_low: errors.mean - errors.mean_reach,
      bias_high: errors.mean + errors.mean_reach,
      inside: errors.inside,
      larger: errors.larger,
    }))
    .sort((a, b) => b.larger - a.larger || b.size - a.size);
}

function insideAt(facts, task, level) {
  return facts.quality.inside[task][facts.quality.levels.findIndex((l) => Math.abs(l - level) < 1e-9)] ?? null;
}

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
