// Figures of what the model learned: which inputs matter, how targets depend on them.

const NEEDS_BACKGROUND = "Needs rows to look at the function around: give the training data when the report is made.";
const needsLearned = (facts) => (facts.learned ? null : NEEDS_BACKGROUND);
const nameOf = (facts, input) => facts.learned.inputs[input].name;
const MOST_INPUTS = 30;

const LEARNED_FIGURES = [
  {
    section: "learned",
    id: "relevance",
    once: true,
    title: "Relevance of inputs",
    wide: true,
    read: (facts) =>
      "Share of the variance of each prediction that an input is responsible for, alone or together with others. " +
      "More colour matters more; a column can add up to more than 1 where inputs act together." +
      (facts.inputs.length > MOST_INPUTS
        ? ` The ${MOST_INPUTS} most relevant of ${facts.inputs.length} inputs; the CSV has all.`
        : ""),
    needs: needsLearned,
    table: relevanceTable,
    draw(facts, task, width) {
      const inputs = relevantInputs(facts).slice(0, MOST_INPUTS);
      const cells = inputs.flatMap((i) =>
        facts.targets.map((target, c) => ({
          input: nameOf(facts, i),
          target,
          share: facts.learned.relevance.total[c][i],
        })),
      );
      const most = Math.max(
        1e-12,
        d3.max(cells, (d) => d.share),
      );
      const room = Math.min(180, width / 3);
      const used = Math.min(width, room + 130 * facts.targets.length + 10);
      const column = (used - room - 10) / facts.targets.length;
      // Where columns are narrow their names stand upright.
      const upright = column < 70 && facts.targets.some((name) => name.length * 7 > column);
      return plot(used, {
        height: (upright ? 126 : 40) + 25 * inputs.length,
        marginLeft: room,
        marginTop: upright ? 120 : 34,
        marginBottom: 4,
        x: {
          label: null,
          domain: facts.targets,
          axis: "top",
          tickFormat: clipped(upright ? 15 : Math.max(4, Math.floor(column / 8))),
          tickRotate: upright ? -90 : 0,
          tickSize: 0,
        },
        y: {
          label: null,
          domain: inputs.map((i) => nameOf(facts, i)),
          tickFormat: clipped(Math.floor(room / 7.5)),
          tickSize: 0,
        },
        marks: [
          Plot.cell(cells, { x: "target", y: "input", fill: "var(--soft)", inset: 1, rx: 2 }),
          Plot.cell(cells, {
            x: "target",
            y: "input",
            fill: "var(--one)",
            fillOpacity: (d) => d.share / most,
            inset: 1,
            rx: 2,
            tip: true,
            title: (d) => `${d.input} → ${d.target}\n${short(d.share)} of the variance`,
          }),
          Plot.cell(
            [{ target: facts.targets[task] }].flatMap((d) => inputs.map((i) => ({ ...d, input: nameOf(facts, i) }))),
            { x: "target", y: "input", stroke: "var(--quiet)", strokeOpacity: 0.5, inset: 0.5, rx: 2 },
          ),
          ...(column > 34
            ? [
                Plot.text(cells, {
                  x: "target",
                  y: "input",
                  text: (d) => (d.share < 0.005 ? "" : d.share.toFixed(2)),
                  fill: (d) => cellText(d.share / most),
                }),
              ]
            : []),
        ],
        opacity: { type: "identity" },
        color: { type: "identity" },
      });
    },
  },
  {
    section: "learned",
    id: "relevance-task",
    title: "Relevance for this target",
    read:
      "Light: the input together with others; dark: the input alone. A long light part means that it acts " +
      "through interactions. The thin line is one posterior standard deviation of the light bar either way.",
    needs: needsLearned,
    table: (facts, task) => relevanceTable(facts).filter((d) => d.target === facts.targets[task]),
    draw(facts, task, width) {
      const rows = this.table(facts, task)
        .sort((a, b) => b.total - a.total)
        .slice(0, 15);
      return plot(width, {
        height: 50 + 22 * rows.length,
        marginLeft: Math.min(150, width / 3),
        x: { label: "share of the variance →", grid: true, zero: true },
        y: { label: null, domain: rows.map((d) => d.input), tickFormat: clipped(18) },
        marks: [
          Plot.barX(rows, {
            x: "total",
            y: "input",
            fill: "var(--one)",
            fillOpacity: 0.35,
            insetTop: 2,
            insetBottom: 2,
            tip: true,
            title: (d) =>
              [
                d.input,
                `with others ${short(d.total)} ± ${short(d.total_std)}`,
                `alone ${short(d.first_order)} ± ${short(d.first_order_std)}`,
              ].join("\n"),
          }),
          Plot.barX(rows, { x: "first_order", y: "input", fill: "var(--one)", insetTop: 6, insetBottom: 6 }),
          deviation(rows, "total"),
          Plot.ruleX([0]),
        ],
      });
    },
  },
  {
    section: "learned",
    id: "shapley-mean",
    title: "Mean size of Shapley values",
    read:
      "How far each input moves a prediction of this target away from the average, in its own unit: a " +
      "second way to say what matters. The thin line is at most one standard deviation either way; it is left out where " +
      "many inputs would make it slow.",
    needs: needsLearned,
    table: (facts, task) => relevanceTable(facts).filter((d) => d.target === facts.targets[task]),
    draw(facts, task, width) {
      const rows = this.table(facts, task)
        .sort((a, b) => b.mean_absolute_shapley - a.mean_absolute_shapley)
        .slice(0, 15);
      return plot(width, {
        height: 50 + 22 * rows.length,
        marginLeft: Math.min(150, width / 3),
        x: { label: `${axisName(facts.targets[task])} →`, grid: true, zero: true },
        y: { label: null, domain: rows.map((d) => d.input), tickFormat: clipped(18) },
        marks: [
          Plot.barX(rows, {
            x: "mean_absolute_shapley",
            y: "input",
            fill: "var(--three)",
            insetTop: 3,
            insetBottom: 3,
            tip: true,
          }),
          deviation(rows, "mean_absolute_shapley"),
          Plot.ruleX([0]),
        ],
      });
    },
  },
  {
    section: "learned",
    id: "partial",
    title: "How the target depends on each input",
    wide: true,
    read:
      "The mean prediction when one input is set and the others stay as they are in the data, with two " +
      "standard deviations. The strip below shows where the data are: believe the curve there.",
    needs: needsLearned,
    table: (facts, task) =>
      curvesOf(facts, task).flatMap((curve) =>
        curve.points.map((d) => ({ input: curve.name, value: d.value ?? d.label, mean: d.mean, std: d.std })),
      ),
    draw(facts, task, width) {
      const curves = curvesOf(facts, task);
      const all = curves.flatMap((curve) => curve.points);
      const domain = [d3.min(all, (d) => d.lower), d3.max(all, (d) => d.upper)];
      const size = smallWidth(width);
      return element(
        "div",
        { className: "several" },
        ...curves.map((curve) =>
          element("div", {}, element("h4", { textContent: curve.name }), dependence(facts, curve, domain, size)),
        ),
      );
    },
  },
  {
    section: "learned",
    id: "surface",
    title: "Two inputs together",
    read:
      "Mean prediction of this target when the two inputs are set that act most through interactions: " +
      "orange is high, blue is low. If rows do not have the same pattern, the two interact.",
    needs: (facts) => needsLearned(facts) ?? (facts.inputs.length > 1 ? null : "Needs two inputs."),
    table: surfaceOf,
    draw(facts, task, width) {
      const cells = surfaceOf(facts, task);
      const { inputs } = facts.learned.surfaces[task];
      const [low, high] = d3.extent(cells, (d) => d.mean);
      const middle = (low + high) / 2,
        reach = Math.max((high - low) / 2, 1e-12);
      const ticks = (axis) => axis.filter((_, i) => i % Math.ceil(axis.length / 5) === 0);
      const [x, y] = ["first", "second"].map((key) => [...new Set(cells.map((d) => d[key]))]);
      const label = (value) => (typeof value === "number" ? short(Number(value.toPrecision(2))) : clipped(8)(value));
      return element(
        "div",
        {},
        plot(width, {
          height: Math.min(width * 0.8, 380),
          marginLeft: 64,
          padding: 0,
          x: {
            type: "band",
            label: `${axisName(nameOf(facts, inputs[0]))} →`,
            domain: x,
            ticks: ticks(x),
            tickFormat: label,
          },
          y: {
            type: "band",
            label: `↑ ${axisName(nameOf(facts, inputs[1]))}`,
            domain: [...y].reverse(),
            ticks: ticks(y),
            tickFormat: label,
          },
          marks: [
            Plot.cell(cells, {
              x: "first",
              y: "second",
              fill: (d) => (d.mean > middle ? "var(--two)" : "var(--one)"),
              fillOpacity: (d) => Math.abs(d.mean - middle) / reach,
              tip: true,
              title: (d) =>
                [
                  `${nameOf(facts, inputs[0])} ${label(d.first)}`,
                  `${nameOf(facts, inputs[1])} ${label(d.second)}`,
                  short(d.mean),
                ].join("\n"),
            }),
          ],
          opacity: { type: "identity" },
          color: { type: "identity" },
        }),
        element("p", { className: "read", textContent: `From ${short(low)} (blue) to ${short(high)} (orange).` }),
      );
    },
  },
  {
    section: "learned",
    id: "scales",
    once: oneKernel,
    title: "Learned input scales",
    read:
      "How fast the function may change along each input. This is not relevance: an input can vary fast and " +
      "matter little.",
    needs: needsLearned,
    table: (facts, task) => facts.learned.inputs.map((d) => ({ input: d.name, scale: d.scale[task] })),
    draw(facts, task, width) {
      const rows = this.table(facts, task)
        .sort((a, b) => b.scale - a.scale)
        .slice(0, 15);
      return plot(width, {
        height: 50 + 22 * rows.length,
        marginLeft: Math.min(150, width / 3),
        x: { label: "scale (1 is typical) →", grid: true, zero: true },
        y: { label: null, domain: rows.map((d) => d.input), tickFormat: clipped(18) },
        marks: [
          Plot.ruleY(rows, { y: "input", x1: 0, x2: "scale", stroke: "var(--grey)" }),
          Plot.dot(rows, { x: "scale", y: "input", fill: "var(--grey)", r: 4, tip: true }),
          Plot.ruleX([0]),
        ],
      });
    },
  },
];

/** A line from one standard deviation below a value to one above; none where it is not known. */
function deviation(rows, key) {
  return Plot.ruleY(
    rows.filter((d) => d[`${key}_std`] !== null),
    {
      y: "input",
      x1: (d) => Math.max(0, d[key] - d[`${key}_std`]),
      x2: (d) => d[key] + d[`${key}_std`],
      stroke: "var(--text)",
    },
  );
}

/** Inputs that matter for any target, the most relevant first. */
function relevantInputs(facts) {
  const { total } = facts.learned.relevance;
  const largest = facts.learned.inputs.map((_, i) => d3.max(total, (task) => task[i]) ?? 0);
  return d3.range(largest.length).sort((a, b) => largest[b] - largest[a]);
}

function relevanceTable(facts) {
  const { first_order, total, shapley, first_order_std, total_std, shapley_std } = facts.learned.relevance;
  return facts.targets.flatMap((target, c) =>
    facts.learned.inputs.map((input, i) => ({
      input: input.name,
      target,
      total: total[c][i],
      total_std: total_std[c][i],
      first_order: first_order[c][i],
      first_order_std: first_order_std[c][i],
      mean_absolute_shapley: shapley[c][i],
      mean_absolute_shapley_std: shapley_std ? shapley_std[c][i] : null,
      kernel_scale: input.scale[c],
    })),
  );
}

/** The curves of a target, the most relevant inputs first. */
function curvesOf(facts, task) {
  const byInput = new Map(facts.learned.curves.map((curve) => [curve.input, curve]));
  return facts.learned.order[task].slice(0, facts.learned.curves_each).map((input) => {
    const { at, mean, std } = byInput.get(input);
    const places = [...at.numbers.map((value) => ({ value })), ...at.labels.map((label) => ({ label }))];
    const points = places.map((place, i) => ({
      ...place,
      mean: mean[task][i],
      std: std[task][i],
      lower: mean[task][i] - 2 * std[task][i],
      upper: mean[task][i] + 2 * std[task][i],
    }));
    return { input, name: nameOf(facts, input), points };
  });
}

function dependence(facts, curve, domain, width) {
  const y = { label: null, domain, grid: true, nice: true, ticks: 4 };
  const options = { height: 190, marginLeft: 44, marginRight: 8, marginBottom: 28, y };
  const numbers = curve.points.filter((d) => d.value !== undefined);
  if (!numbers.length) {
    return plot(width, {
      ...options,
      x: {
        label: null,
        domain: curve.points.map((d) => d.label),
        tickFormat: clipped(Math.max(3, Math.floor(width / curve.points.length / 8))),
      },
      marks: [
        Plot.ruleX(curve.points, {
          x: "label",
          y1: "lower",
          y2: "upper",
          stroke: "var(--one)",
          strokeWidth: 7,
          strokeOpacity: 0.3,
        }),
        Plot.dot(curve.points, {
          x: "label",
          y: "mean",
          fill: "var(--one)",
          r: 4,
          tip: true,
          title: (d) => `${d.label}\n${short(d.mean)} ± ${short(d.std)}`,
        }),
      ],
    });
  }
  const missing = curve.points.filter((d) => d.label);
  return plot(width, {
    ...options,
    x: { label: null, ticks: width < 200 ? 2 : 4, nice: false },
    marks: [
      ...strip(facts, curve, numbers, domain),
      Plot.areaY(numbers, { x: "value", y1: "lower", y2: "upper", fill: "var(--one)", fillOpacity: 0.2 }),
      Plot.lineY(numbers, { x: "value", y: "mean", stroke: "var(--one)", strokeWidth: 2 }),
      ...(missing.length ? [Plot.ruleY(missing, { y: "mean", stroke: "var(--grey)", strokeDasharray: "3 3" })] : []),
      Plot.tip(
        numbers,
        Plot.pointerX({
          x: "value",
          y: "mean",
          title: (d) =>
            [
              `${curve.name} ${short(d.value)}`,
              `${short(d.mean)} ± ${short(d.std)}`,
              ...missing.map((m) => `missing: ${short(m.mean)}`),
            ].join("\n"),
        }),
      ),
    ],
  });
}

/** Where the data are: darker where there are more rows. */
function strip(facts, curve, numbers, domain) {
  const found = facts.quality?.strips[facts.learned.inputs[curve.input].columns[0]];
  if (!found || !(found.high > found.low)) return [];
  const [first, last] = d3.extent(numbers, (d) => d.value);
  const step = (found.high - found.low) / found.counts.length;
  const most = d3.max(found.counts) || 1;
  const bars = found.counts
    .map((count, i) => ({
      count,
      from: Math.max(first, found.low + i * step),
      to: Math.min(last, found.low + (i + 1) * step),
    }))
    .filter((d) => d.count && d.to > d.from);
  const thick = 0.05 * (domain[1] - domain[0]);
  return [
    Plot.rect(bars, {
      x1: "from",
      x2: "to",
      y1: domain[0],
      y2: domain[0] + thick,
      fill: "currentColor",
      fillOpacity: (d) => 0.15 + (0.65 * d.count) / most,
      insetRight: 0.5,
    }),
  ];
}

function surfaceOf(facts, task) {
  const { at, mean } = facts.learned.surfaces[task];
  const [first, second] = at.map((axis) => [...axis.numbers, ...axis.labels]);
  return first.flatMap((a, i) => second.map((b, j) => ({ first: a, second: b, mean: mean[i * second.length + j] })));
}
