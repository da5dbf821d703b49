// The figures of what the model learned: relevance, curves, single predictions taken apart, correlations.

const NEEDS_BACKGROUND = "Needs rows to look at the function around: rffblr report MODEL DATA.";
const needsLearned = (facts) => (facts.learned ? null : NEEDS_BACKGROUND);
const nameOf = (facts, input) => facts.learned.inputs[input].name;
const MOST_INPUTS = 30;

/** Inputs that matter for any target, the most relevant first. */
function relevantInputs(facts) {
  const { total } = facts.learned.relevance;
  const largest = facts.learned.inputs.map((_, i) => d3.max(total, (task) => task[i]) ?? 0);
  return d3.range(largest.length).sort((a, b) => largest[b] - largest[a]);
}

function relevanceTable(facts) {
  const { first_order, total, shapley } = facts.learned.relevance;
  return facts.targets.flatMap((target, c) => facts.learned.inputs.map((input, i) => ({
    input: input.name, target, total: total[c][i], first_order: first_order[c][i], mean_absolute_shapley: shapley[c][i], kernel_scale: input.scale,
  })));
}

/** Dark text on light cells and the other way round, in both themes: the cell says how full it is. */
const cellText = (share) => (share > 0.55 ? "var(--card)" : "var(--text)");

const LEARNED_FIGURES = [
  {
    section: "learned", id: "relevance", title: "Relevance of inputs", wide: true,
    read: (facts) => `Share of the variance of each prediction that an input is responsible for, alone or together with others. Darker matters more; a column can add up to more than 1 where inputs act together.${facts.inputs.length > MOST_INPUTS ? ` The ${MOST_INPUTS} most relevant of ${facts.inputs.length} inputs; the CSV has all.` : ""}`,
    needs: needsLearned,
    table: relevanceTable,
    draw(facts, task, width) {
      const inputs = relevantInputs(facts).slice(0, MOST_INPUTS);
      const cells = inputs.flatMap((i) => facts.targets.map((target, c) => ({ input: nameOf(facts, i), target, share: facts.learned.relevance.total[c][i] })));
      const most = Math.max(1e-12, d3.max(cells, (d) => d.share));
      const room = Math.min(180, width / 3);
      const used = Math.min(width, room + 130 * facts.targets.length + 10);
      const column = (used - room - 10) / facts.targets.length;
      return plot(used, {
        height: 40 + 25 * inputs.length, marginLeft: room, marginTop: 34, marginBottom: 4,
        x: { label: null, domain: facts.targets, axis: "top", tickFormat: clipped(Math.max(4, Math.floor(column / 8))), tickSize: 0 },
        y: { label: null, domain: inputs.map((i) => nameOf(facts, i)), tickFormat: clipped(Math.floor(room / 7.5)), tickSize: 0 },
        marks: [
          Plot.cell(cells, { x: "target", y: "input", fill: "var(--soft)", inset: 1, rx: 2 }),
          Plot.cell(cells, { x: "target", y: "input", fill: "var(--one)", fillOpacity: (d) => d.share / most, inset: 1, rx: 2, tip: true,
            title: (d) => `${d.input} → ${d.target}\n${short(d.share)} of the variance` }),
          Plot.cell([{ target: facts.targets[task] }].flatMap((d) => inputs.map((i) => ({ ...d, input: nameOf(facts, i) }))), { x: "target", y: "input", stroke: "var(--quiet)", strokeOpacity: 0.5, inset: 0.5, rx: 2 }),
          ...(column > 34 ? [Plot.text(cells, { x: "target", y: "input", text: (d) => (d.share < 0.005 ? "" : d.share.toFixed(2)), fill: (d) => cellText(d.share / most) })] : []),
        ],
        opacity: { type: "identity" }, color: { type: "identity" },
      });
    },
  },
  {
    section: "learned", id: "relevance-task", title: "Relevance for this target",
    read: "Light: the input together with others; dark: the input alone. A long light part means that it acts through interactions.",
    needs: needsLearned,
    table: (facts, task) => relevanceTable(facts).filter((d) => d.target === facts.targets[task]),
    draw(facts, task, width) {
      const rows = this.table(facts, task).sort((a, b) => b.total - a.total).slice(0, 15);
      return plot(width, {
        height: 50 + 22 * rows.length, marginLeft: Math.min(150, width / 3), x: { label: "share of the variance →", grid: true, zero: true },
        y: { label: null, domain: rows.map((d) => d.input), tickFormat: clipped(18) },
        marks: [
          Plot.barX(rows, { x: "total", y: "input", fill: "var(--one)", fillOpacity: 0.35, insetTop: 2, insetBottom: 2, tip: true,
            title: (d) => `${d.input}\nwith others ${short(d.total)}\nalone ${short(d.first_order)}\nmean |Shapley value| ${short(d.mean_absolute_shapley)}` }),
          Plot.barX(rows, { x: "first_order", y: "input", fill: "var(--one)", insetTop: 6, insetBottom: 6 }),
          Plot.ruleX([0]),
        ],
      });
    },
  },
  {
    section: "learned", id: "shapley-mean", title: "Mean size of Shapley values",
    read: "How far each input moves a prediction of this target away from the average, in its own unit: a second way to say what matters.",
    needs: needsLearned,
    table: (facts, task) => relevanceTable(facts).filter((d) => d.target === facts.targets[task]),
    draw(facts, task, width) {
      const rows = this.table(facts, task).sort((a, b) => b.mean_absolute_shapley - a.mean_absolute_shapley).slice(0, 15);
      return plot(width, {
        height: 50 + 22 * rows.length, marginLeft: Math.min(150, width / 3), x: { label: `${facts.targets[task]} →`, grid: true, zero: true },
        y: { label: null, domain: rows.map((d) => d.input), tickFormat: clipped(18) },
        marks: [Plot.barX(rows, { x: "mean_absolute_shapley", y: "input", fill: "var(--three)", insetTop: 3, insetBottom: 3, tip: true }), Plot.ruleX([0])],
      });
    },
  },
  {
    section: "learned", id: "partial", title: "How the target depends on each input", wide: true,
    read: "The mean prediction when one input is set and the others stay as they are in the data, with two standard deviations. The strip below shows where the data are: believe the curve there.",
    needs: needsLearned,
    table: (facts, task) => curvesOf(facts, task).flatMap((curve) => curve.points.map((d) => ({ input: curve.name, value: d.value ?? d.label, mean: d.mean, std: d.std }))),
    draw(facts, task, width) {
      const curves = curvesOf(facts, task);
      const all = curves.flatMap((curve) => curve.points);
      const domain = [d3.min(all, (d) => d.lower), d3.max(all, (d) => d.upper)];
      const size = smallWidth(width);
      return element("div", { className: "several" }, ...curves.map((curve) =>
        element("div", {}, element("h4", { textContent: curve.name }), dependence(facts, curve, domain, size))));
    },
  },
  {
    section: "learned", id: "surface", title: "Two inputs together",
    read: "Mean prediction of this target when the two inputs are set that act most through interactions: orange is high, blue is low. If rows do not have the same pattern, the two interact.",
    needs: (facts) => needsLearned(facts) ?? (facts.inputs.length > 1 ? null : "Needs two inputs."),
    table: surfaceOf,
    draw(facts, task, width) {
      const cells = surfaceOf(facts, task);
      const { inputs } = facts.learned.surfaces[task];
      const [low, high] = d3.extent(cells, (d) => d.mean);
      const middle = (low + high) / 2, reach = Math.max((high - low) / 2, 1e-12);
      const ticks = (axis) => axis.filter((_, i) => i % Math.ceil(axis.length / 5) === 0);
      const [x, y] = ["first", "second"].map((key) => [...new Set(cells.map((d) => d[key]))]);
      const label = (value) => (typeof value === "number" ? short(Number(value.toPrecision(2))) : clipped(8)(value));
      return element("div", {}, plot(width, {
        height: Math.min(width * 0.8, 380), marginLeft: 64, padding: 0,
        x: { type: "band", label: `${nameOf(facts, inputs[0])} →`, domain: x, ticks: ticks(x), tickFormat: label },
        y: { type: "band", label: `↑ ${nameOf(facts, inputs[1])}`, domain: [...y].reverse(), ticks: ticks(y), tickFormat: label },
        marks: [Plot.cell(cells, { x: "first", y: "second", fill: (d) => (d.mean > middle ? "var(--two)" : "var(--one)"), fillOpacity: (d) => Math.abs(d.mean - middle) / reach, tip: true,
          title: (d) => `${nameOf(facts, inputs[0])} ${label(d.first)}\n${nameOf(facts, inputs[1])} ${label(d.second)}\n${short(d.mean)}` })],
        opacity: { type: "identity" }, color: { type: "identity" },
      }), element("p", { className: "read", textContent: `From ${short(low)} (blue) to ${short(high)} (orange).` }));
    },
  },
  {
    section: "learned", id: "scales", title: "Learned input scales",
    read: "How fast the function may change along each input. This is not relevance: an input can vary fast and matter little.",
    needs: needsLearned,
    table: (facts) => facts.learned.inputs.map((d) => ({ input: d.name, scale: d.scale })),
    draw(facts, task, width) {
      const rows = this.table(facts).sort((a, b) => b.scale - a.scale).slice(0, 15);
      return plot(width, {
        height: 50 + 22 * rows.length, marginLeft: Math.min(150, width / 3), x: { label: "scale (1 is typical) →", grid: true, zero: true },
        y: { label: null, domain: rows.map((d) => d.input), tickFormat: clipped(18) },
        marks: [Plot.ruleY(rows, { y: "input", x1: 0, x2: "scale", stroke: "var(--grey)" }), Plot.dot(rows, { x: "scale", y: "input", fill: "var(--grey)", r: 4, tip: true }), Plot.ruleX([0])],
      });
    },
  },
  {
    section: "single", id: "local", title: "A training row taken apart", wide: true,
    read: "From the average prediction to that of one row, input by input (Shapley values): orange raises it, blue lowers it; together they add up exactly. The row itself is among the data here.",
    needs: (facts) => (facts.quality && !facts.quality.rows ? NEEDS_ROWS : facts.local ? null : NEEDS_DATA),
    row: 0,
    table: (facts, task) => localTable(facts, task),
    draw(facts, task, width) {
      const select = element("select", { id: "local-row" }, ...facts.local.rows.map((at, i) => element("option", { value: i, textContent: `row ${facts.quality.rows.number[at]}` })));
      const body = element("div");
      select.value = this.row;
      const show = () => {
        this.row = Number(select.value);
        body.replaceChildren(...waterfall(facts, task, this.row, width));
      };
      select.addEventListener("change", show);
      show();
      const label = element("label", {}, "Row", select);
      return element("div", {}, element("div", { className: "choices" }, label), body);
    },
  },
  {
    section: "together", id: "correlation", title: "Correlation of targets", wide: true,
    read: "Left: of the targets as observed; middle: of what the model predicts; right: of what it misses. Blue goes together, orange against each other; colour at the right is what the inputs do not explain.",
    needs: (facts) => (facts.targets.length < 2 ? "There is one target only." : facts.together ? null : NEEDS_DATA),
    table: correlationOf,
    draw(facts, task, width) {
      const shown = facts.targets.length;
      const size = width < 700 ? Math.min(width, 420) : (width - 32) / 3;
      return element("div", { className: "side" }, ...["targets", "signal", "residuals"].map((view) => {
        const cells = correlationOf(facts).filter((d) => d.view === view);
        const title = { targets: "Observed", signal: "Predicted", residuals: "Missed (leave-one-out residuals)" }[view];
        const room = Math.min(90, size / 3.2);
        return element("div", {}, element("h4", { textContent: title }), plot(size, {
          height: Math.min(size, room + shown * 44), marginLeft: room, marginBottom: 34, x: { label: null, domain: facts.targets, tickFormat: clipped(Math.max(3, Math.floor((size - room) / shown / 8))), tickSize: 0, tickRotate: 0 },
          y: { label: null, domain: facts.targets, tickFormat: clipped(11), tickSize: 0 }, color: { type: "identity" }, opacity: { type: "identity" },
          marks: [
            Plot.cell(cells, { x: "one", y: "other", inset: 0.5, fill: (d) => (d.correlation >= 0 ? "var(--one)" : "var(--two)"), fillOpacity: (d) => Math.abs(d.correlation ?? 0), tip: true,
              title: (d) => `${d.one} and ${d.other}\n${short(d.correlation)}` }),
            ...(shown <= 8 ? [Plot.text(cells, { x: "one", y: "other", text: (d) => (d.correlation === null ? "–" : d.correlation.toFixed(2)), fill: (d) => cellText(Math.abs(d.correlation ?? 0)) })] : []),
          ],
        }));
      }));
    },
  },
];

/** The curves of a target, the most relevant inputs first. */
function curvesOf(facts, task) {
  const byInput = new Map(facts.learned.curves.map((curve) => [curve.input, curve]));
  return facts.learned.order[task].slice(0, facts.learned.curves_each).map((input) => {
    const { at, mean, std } = byInput.get(input);
    const places = [...at.numbers.map((value) => ({ value })), ...at.labels.map((label) => ({ label }))];
    const points = places.map((place, i) => ({ ...place, mean: mean[task][i], std: std[task][i], lower: mean[task][i] - 2 * std[task][i], upper: mean[task][i] + 2 * std[task][i] }));
    return { input, name: nameOf(facts, input), points };
  });
}

function dependence(facts, curve, domain, width) {
  const y = { label: null, domain, grid: true, nice: true, ticks: 4 };
  const options = { height: 190, marginLeft: 44, marginRight: 8, marginBottom: 28, y };
  const numbers = curve.points.filter((d) => d.value !== undefined);
  if (!numbers.length) {
    return plot(width, { ...options, x: { label: null, domain: curve.points.map((d) => d.label), tickFormat: clipped(Math.max(3, Math.floor(width / curve.points.length / 8))) }, marks: [
      Plot.ruleX(curve.points, { x: "label", y1: "lower", y2: "upper", stroke: "var(--one)", strokeWidth: 7, strokeOpacity: 0.3 }),
      Plot.dot(curve.points, { x: "label", y: "mean", fill: "var(--one)", r: 4, tip: true, title: (d) => `${d.label}\n${short(d.mean)} ± ${short(d.std)}` }),
    ] });
  }
  const missing = curve.points.filter((d) => d.label);
  return plot(width, { ...options, x: { label: null, ticks: width < 200 ? 2 : 4, nice: false }, marks: [
    ...strip(facts, curve, numbers, domain),
    Plot.areaY(numbers, { x: "value", y1: "lower", y2: "upper", fill: "var(--one)", fillOpacity: 0.2 }),
    Plot.lineY(numbers, { x: "value", y: "mean", stroke: "var(--one)", strokeWidth: 2 }),
    ...(missing.length ? [Plot.ruleY(missing, { y: "mean", stroke: "var(--grey)", strokeDasharray: "3 3" })] : []),
    Plot.tip(numbers, Plot.pointerX({ x: "value", y: "mean", title: (d) => `${curve.name} ${short(d.value)}\n${short(d.mean)} ± ${short(d.std)}${missing.length ? `\nmissing: ${short(missing[0].mean)}` : ""}` })),
  ] });
}

/** Where the data are: darker where there are more rows. */
function strip(facts, curve, numbers, domain) {
  const found = facts.quality?.strips[facts.learned.inputs[curve.input].columns[0]];
  if (!found || !(found.high > found.low)) return [];
  const [first, last] = d3.extent(numbers, (d) => d.value);
  const step = (found.high - found.low) / found.counts.length;
  const most = d3.max(found.counts) || 1;
  const bars = found.counts
    .map((count, i) => ({ count, from: Math.max(first, found.low + i * step), to: Math.min(last, found.low + (i + 1) * step) }))
    .filter((d) => d.count && d.to > d.from);
  const thick = 0.05 * (domain[1] - domain[0]);
  return [Plot.rect(bars, { x1: "from", x2: "to", y1: domain[0], y2: domain[0] + thick, fill: "currentColor", fillOpacity: (d) => 0.15 + (0.65 * d.count) / most, insetRight: 0.5 })];
}

function surfaceOf(facts, task) {
  const { at, mean } = facts.learned.surfaces[task];
  const [first, second] = at.map((axis) => [...axis.numbers, ...axis.labels]);
  return first.flatMap((a, i) => second.map((b, j) => ({ first: a, second: b, mean: mean[i * second.length + j] })));
}

/** What a row has in an input, as a person would write it. */
function cellOf(facts, input, at) {
  const columns = shownInputs(facts);
  if (!columns.length) return "";
  const { columns: own, number, name } = facts.learned.inputs[input];
  if (number) return own.length > 1 && columns[own[1]][at] === 1 ? "missing" : short(columns[own[0]][at]);
  const found = own.find((d) => columns[d][at] === 1);
  if (found === undefined) return "none";
  const label = facts.columns[found];
  return label === `${name}?` ? "missing" : label.slice(name.length + 1);
}

function localTable(facts, task) {
  return facts.local.rows.flatMap((at, i) => {
    const row = facts.quality.rows.number[at];
    const parts = facts.local.parts[task][i].map(([input, value, std]) => ({ row, input: nameOf(facts, input), value: cellOf(facts, input, at), shapley: value, std }));
    return [{ row, input: "(average prediction)", value: "", shapley: facts.local.base[task], std: null }, ...parts,
      ...(facts.local.others ? [{ row, input: "(all others)", value: "", shapley: facts.local.rest[task][i], std: null }] : [])];
  });
}

/** The average, then each input's share, then the prediction. */
function waterfall(facts, task, i, width) {
  const at = facts.local.rows[i];
  const base = facts.local.base[task];
  let level = base;
  const step = (label, value, std) => {
    const bar = { label, value, std, from: level, to: level + value };
    level += value;
    return bar;
  };
  const bars = facts.local.parts[task][i].map(([input, value, std]) => {
    const cell = cellOf(facts, input, at);
    return step(cell === "" ? nameOf(facts, input) : `${clipped(18)(nameOf(facts, input))} = ${clipped(12)(cell)}`, value, std);
  });
  if (facts.local.others) bars.push(step(`${facts.local.others} others`, facts.local.rest[task][i], null));
  const observed = facts.quality.rows.observed[task][at];
  const names = bars.map((d) => d.label);
  const words = `Row ${facts.quality.rows.number[at]}: predicted ${short(level)}${observed === null ? ", not observed" : `, observed ${short(observed)}`}; the average prediction is ${short(base)}.`;
  return [plot(width, {
    height: 50 + 24 * bars.length, marginLeft: Math.min(230, width / 2.4), marginRight: 60, x: { label: `${facts.targets[task]} →`, grid: true, nice: true },
    y: { label: null, domain: names, tickFormat: clipped(Math.floor(Math.min(230, width / 2.4) / 7)) },
    marks: [
      Plot.barX(bars, { y: "label", x1: "from", x2: "to", fill: (d) => (d.value >= 0 ? "var(--two)" : "var(--one)"), insetTop: 3, insetBottom: 3, tip: true,
        title: (d) => `${d.label}\n${d.value >= 0 ? "+" : ""}${short(d.value)}${d.std ? ` ± ${short(d.std)}` : ""}` }),
      Plot.ruleY(bars.filter((d) => d.std), { y: "label", x1: (d) => d.to - d.std, x2: (d) => d.to + d.std, stroke: "currentColor", strokeWidth: 1.5 }),
      Plot.text(bars, { y: "label", x: (d) => Math.max(d.from, d.to + (d.std ?? 0)), text: (d) => `${d.value >= 0 ? "+" : ""}${short(Number(d.value.toPrecision(3)))}`, dx: 5, textAnchor: "start", fill: "currentColor" }),
      Plot.ruleX([base], { stroke: "currentColor", strokeOpacity: 0.5 }),
      Plot.ruleX([level], { stroke: "var(--three)", strokeWidth: 2 }),
      ...(observed === null ? [] : [Plot.ruleX([observed], { stroke: "currentColor", strokeDasharray: "3 3" })]),
    ],
    color: { type: "identity" },
  }), element("p", { className: "note", textContent: `${words} Grey line: average; green: prediction; dashed: observed.` })];
}

function correlationOf(facts) {
  return ["targets", "signal", "residuals"].flatMap((view) =>
    facts.targets.flatMap((one, a) => facts.targets.map((other, b) => ({ view, one, other, correlation: facts.together[view][a][b] }))));
}
