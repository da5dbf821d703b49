// Figures of which inputs matter, for all rows and row by row.

const NEEDS_BACKGROUND = "needs rows to look at the function around: give the training data when the report is made";
const needsLearned = (facts) => (facts.learned ? null : NEEDS_BACKGROUND);
const MOST_INPUTS = 30;
/** How Shapley values of a transformed target come into its unit. */
const SHARED_OUT =
  "Of a target that was learned as a transform, the difference between typical and own prediction is shared out in its own unit, in the " +
  "proportions that the inputs have on the scale of the transform.";

const RELEVANCE_FIGURES = [
  {
    section: "learned",
    id: "relevance-task",
    title: "Which inputs matter",
    read: (facts) =>
      "Share of each input in all that inputs do to the prediction; the shares add up to 100 %. Dark: the input alone; light: " +
      `together with others. Thin lines are 90 % intervals.${measuredOn(facts)}`,
    finding: (facts, task) => {
      const rows = relevanceOf(facts, task);
      const named = rows.filter((d) => d.share >= 0.05).slice(0, 4);
      const list = named.map((d) => `${d.input} ${percent(d.share)}${rangeOf(d)}`);
      return `${targetName(facts, task)} depends most on ${list.join(", ") || "no input in particular"}.${goTogether(facts, task)}`;
    },
    needs: needsLearned,
    table: (facts, task) => relevanceOf(facts, task),
    draw(facts, task, width) {
      const all = relevanceOf(facts, task);
      const shown = all.filter((d, i) => i < 3 || d.share >= 0.001).slice(0, 15);
      const rows = shown.map((d, at) => ({ ...d, at }));
      const names = rows.map((d) => d.input);
      const { room, ticks } = nameRoom(names, width);
      return element(
        "div",
        {},
        plot(width, {
          height: 50 + 22 * rows.length,
          marginLeft: room,
          marginRight: 20,
          x: { label: "share →", grid: true, zero: true, tickFormat: percent, ticks: width < 400 ? 4 : undefined },
          y: named(ticks),
          marks: [
            Plot.barX(rows, { x: "share", y: "at", fill: "var(--one)", fillOpacity: 0.35, insetTop: 2, insetBottom: 2 }),
            Plot.barX(rows, { x: "alone", y: "at", fill: "var(--one)", insetTop: 6, insetBottom: 6 }),
            Plot.ruleY(rows.filter((d) => d.low !== null), {
              y: "at",
              x1: (d) => Math.max(0, d.low),
              x2: (d) => Math.min(1, d.high),
              stroke: "var(--text)",
            }),
            Plot.ruleX([0]),
            Plot.tip(
              rows,
              Plot.pointerY({
                x: "share",
                y: "at",
                title: (d) =>
                  `${d.input}\n${percent(d.share)}${rangeOf(d)}\nalone ${percent(d.alone)}` +
                  (d.with ? `\ngoes with ${d.with}` : ""),
              }),
            ),
          ],
        }),
        moreThan(all, rows),
      );
    },
  },
  {
    section: "learned",
    id: "swarm",
    title: "What each input does, row by row",
    read: (facts) =>
      (facts.row_data
        ? "Each dot is a row: how far the input moves its prediction, made without that row, away from the average. Orange: the " +
          "row has a high value of the input; blue: a low one; grey: a text, or missing."
        : "How far each input moves predictions away from the average: the middle half of the rows (box), nine of ten (line), " +
          "the median (stroke).") +
      (facts.targets.some((_, c) => isTransformed(facts, c)) ? ` ${SHARED_OUT}` : "") +
      rowsExplained(facts),
    finding: (facts, task) => {
      const [first] = facts.swarms[task];
      if (!first) return "";
      const [low, , , , high] = first.quantiles;
      return `${inputName(facts, first.input)} moves nine of ten predictions of ${targetName(facts, task)} by ${signed(low)} to ${signed(high)}${ofTarget(facts, task)}.`;
    },
    needs: (facts) => (facts.swarms.length ? null : (needsLearned(facts) ?? NEEDS_DATA)),
    table: (facts, task) =>
      facts.swarms[task].flatMap((one) => {
        const input = inputName(facts, one.input);
        if (facts.row_data) return one.values.map((value, i) => ({ input, shapley: value, position: one.at[i] }));
        return [5, 25, 50, 75, 95].map((p, i) => ({ input, percentile: p, shapley: one.quantiles[i] }));
      }),
    draw(facts, task, width) {
      const all = facts.swarms[task].filter((one) => one.quantiles.some((q) => q !== 0));
      const names = all.map((one) => inputName(facts, one.input));
      const { room, ticks } = nameRoom(names, width);
      const options = {
        height: 50 + 34 * all.length,
        marginLeft: room,
        marginRight: 16,
        x: { label: `${targetAxis(facts, task)} →`, grid: true, nice: true, ticks: width < 400 ? 4 : undefined },
      };
      if (!facts.row_data) {
        const rows = all.map((one, at) => ({ at, q: one.quantiles }));
        return plot(width, {
          ...options,
          y: named(ticks),
          marks: [
            Plot.ruleX([0]),
            Plot.ruleY(rows, { y: "at", x1: (d) => d.q[0], x2: (d) => d.q[4], stroke: "var(--one)" }),
            Plot.barX(rows, { y: "at", x1: (d) => d.q[1], x2: (d) => d.q[3], fill: "var(--one)", fillOpacity: 0.5, insetTop: 8, insetBottom: 8 }),
            Plot.tickX(rows, { y: "at", x: (d) => d.q[2], stroke: "var(--text)", strokeWidth: 2, insetTop: 4, insetBottom: 4 }),
          ],
        });
      }
      const dots = all.flatMap((one, at) => stacked(one, at, width - room - 16));
      return plot(width, {
        ...options,
        y: { domain: [all.length - 0.5, -0.5], ticks: d3.range(all.length), tickFormat: (i) => ticks[i] ?? "", label: null, tickSize: 0 },
        marks: [
          Plot.ruleX([0]),
          Plot.dot(dots, {
            x: "value",
            y: "y",
            fill: (d) => (d.position === null ? "var(--grey)" : d.position > 0.5 ? "var(--two)" : "var(--one)"),
            fillOpacity: (d) => (d.position === null ? 0.7 : 0.3 + 0.7 * Math.abs(2 * d.position - 1)),
            r: 2.3,
            tip: true,
            title: (d) =>
              `${names[d.at]}\n${signed(d.value)}` +
              (d.position === null ? "" : `\nits value is above that of ${percent(d.position)} of the rows`),
          }),
        ],
        color: { type: "identity" },
        opacity: { type: "identity" },
      });
    },
  },
  {
    section: "learned",
    id: "relevance",
    once: true,
    title: "Inputs and targets",
    wide: true,
    read: (facts) =>
      "The shares of the figure above for all targets: every column adds up to 100 %." +
      ` Inputs that matter for no target are left out; the CSV has all.${measuredOn(facts)}`,
    finding: (facts) => {
      const first = facts.targets.map((_, c) => `${targetName(facts, c)} on ${inputName(facts, facts.learned.order[c][0])}`);
      return `Each target depends most on one input: ${first.slice(0, 6).join(", ")}${first.length > 6 ? " …" : ""}.`;
    },
    needs: (facts) => needsLearned(facts) ?? (facts.targets.length > 1 ? null : "there is one target"),
    table: (facts) => facts.targets.flatMap((_, c) => relevanceOf(facts, c)),
    draw(facts, task, width) {
      const share = facts.learned.relevance.share;
      const matters = (i, rank) => rank < 3 || d3.max(share, (task) => task[i]) >= 0.005;
      const inputs = relevantInputs(facts).filter(matters).slice(0, MOST_INPUTS);
      const cells = inputs.flatMap((i, y) => facts.targets.map((_, x) => ({ x, y, i, share: share[x][i] })));
      const most = Math.max(
        1e-12,
        d3.max(cells, (d) => d.share),
      );
      const names = inputs.map((i) => inputName(facts, i));
      const targets = facts.targets.map((_, c) => targetName(facts, c));
      const { room, ticks } = nameRoom(names, width);
      const used = Math.min(width, room + 130 * facts.targets.length + 10);
      const column = (used - room - 10) / facts.targets.length;
      // Where columns are narrow their names stand upright.
      const upright = targets.some((name) => widthOf(name) > column - 4);
      return plot(used, {
        height: (upright ? 136 : 40) + 25 * inputs.length,
        marginLeft: room,
        marginRight: 10,
        marginTop: upright ? 130 : 34,
        marginBottom: 4,
        x: named(shortened(targets, upright ? 118 : column - 4), { axis: "top", tickRotate: upright ? -90 : 0 }),
        y: named(ticks),
        marks: [
          Plot.cell(cells, { x: "x", y: "y", fill: "var(--soft)", inset: 1, rx: 2 }),
          Plot.cell(cells, {
            x: "x",
            y: "y",
            fill: "var(--one)",
            fillOpacity: (d) => tint(d.share / most),
            inset: 1,
            rx: 2,
            tip: true,
            title: (d) => `${names[d.y]} → ${targets[d.x]}\n${percent(d.share)}`,
          }),
          ...(column > 34
            ? [Plot.text(cells, { x: "x", y: "y", text: (d) => (d.share < 0.005 ? "" : percent(d.share)), fill: "var(--text)" })]
            : []),
        ],
        opacity: { type: "identity" },
        color: { type: "identity" },
      });
    },
  },
];

/** The shares of a target, the most relevant input first. */
function relevanceOf(facts, task) {
  const { share, share_std, alone } = facts.learned.relevance;
  return facts.learned.order[task].map((i) => ({
    target: targetName(facts, task),
    input: inputName(facts, i),
    share: share[task][i],
    low: share_std[task][i] === null ? null : share[task][i] - REACH * share_std[task][i],
    high: share_std[task][i] === null ? null : share[task][i] + REACH * share_std[task][i],
    alone: alone[task][i],
    with: partners(facts, i)
      .map(({ name, r }) => `${name} (r ${r.toFixed(2)})`)
      .join(", "),
    kernel_scale: facts.learned.inputs[i].scale[task],
  }));
}

/** The 90 % interval of a share, where it is known. */
const rangeOf = (d) => (d.low === null ? "" : ` (${percent(Math.max(0, d.low))} to ${percent(Math.min(1, d.high))})`);

/** On how many rows relevance was measured, and its intervals, if not on all. */
function measuredOn(facts) {
  const { rows, interval_rows } = facts.learned.relevance;
  const [shares, intervals] = [onSome(rows, facts.learned.rows), onSome(interval_rows, facts.learned.rows)];
  return (shares && ` Measured on ${shares}.`) + (intervals && interval_rows < rows ? ` The intervals rest on ${interval_rows} rows.` : "");
}

/** Inputs that go together with one. */
function partners(facts, input) {
  return facts.learned.correlated
    .filter(([a, b]) => a === input || b === input)
    .map(([a, b, r]) => ({ name: inputName(facts, a === input ? b : a), r }));
}

/** A sentence on correlated inputs among those that matter. */
function goTogether(facts, task) {
  const { share } = facts.learned.relevance;
  const pairs = facts.learned.correlated.filter(([a, b]) => Math.max(share[task][a], share[task][b]) >= 0.03);
  if (!pairs.length) return "";
  const list = pairs.slice(0, 3).map(([a, b, r]) => `${inputName(facts, a)} and ${inputName(facts, b)} (r ${r.toFixed(2)})`);
  return ` Correlated inputs share what they do, partly by chance: ${list.join(", ")}${pairs.length > 3 ? " …" : ""}.`;
}

/** Inputs that matter for any target, the most relevant first. */
function relevantInputs(facts) {
  const { share } = facts.learned.relevance;
  const largest = facts.learned.inputs.map((_, i) => d3.max(share, (task) => task[i]) ?? 0);
  return d3.range(largest.length).sort((a, b) => largest[b] - largest[a]);
}

/** Dots beside each other where they would cover one another, within their lane. */
function stacked({ values, at }, lane, width) {
  const [low, high] = d3.extent(values);
  const bins = Math.max(8, Math.floor(width / 5));
  const filled = new Map();
  const dots = values.map((value, i) => {
    const bin = high > low ? Math.round(((value - low) / (high - low)) * bins) : 0;
    const place = filled.get(bin) ?? 0;
    filled.set(bin, place + 1);
    return { value, place, bin, position: at[i], at: lane };
  });
  const most = Math.max(1, ...filled.values());
  const step = Math.min(0.14, 0.8 / most);
  return dots.map((d) => ({ ...d, y: lane + step * (d.place % 2 ? 1 : -1) * Math.ceil(d.place / 2) }));
}
