// The figures. Each says in which part of the page it stands, how to read it, what it needs, how it is drawn and what
// its data are as a table. `facts` is the block of numbers that the program computed.

const NEEDS_DATA = "Needs the training data: rffblr report MODEL DATA.";
const NEEDS_ROWS = "Left out: this report shows no single row (--no-row-data).";
const REACH = 1.6448536269514722; // of a 90 % interval, in standard deviations

/** Four significant digits, as people write them. */
function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

/** A plot in the style of the page. */
function plot(width, options) {
  return Plot.plot({
    width,
    marginLeft: 58,
    marginBottom: 42,
    ...options,
    style: { fontSize: "12px", background: "transparent", overflow: "visible", ...options.style },
  });
}

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

const needsData = (facts) => (facts.quality ? null : NEEDS_DATA);
const needsRows = (facts) => (!facts.quality ? NEEDS_DATA : facts.quality.rows ? null : NEEDS_ROWS);

/** The observed cells of a target, one object for each row. */
function leftOut(facts, task) {
  const { number, observed, mean, std } = facts.quality.rows;
  return number
    .map((row, i) => ({
      row,
      observed: observed[task][i],
      predicted: mean[task][i],
      std: std[task][i],
      lower: mean[task][i] - REACH * std[task][i],
      upper: mean[task][i] + REACH * std[task][i],
      residual: observed[task][i] - mean[task][i],
      inside: Math.abs(observed[task][i] - mean[task][i]) <= REACH * std[task][i],
    }))
    .filter((cell) => cell.observed !== null);
}

/** The inputs of the rows shown, one list for each column; empty if the page does not have them. */
function shownInputs(facts) {
  const rows = facts.quality?.rows;
  if (rows && !rows.inputs.length && facts.what_if.file?.machine) {
    rows.inputs = storedInputs(facts.what_if.file).map((column) => rows.position.map((n) => column[n]));
  }
  return rows?.inputs ?? [];
}

function rowsShown(facts) {
  const rows = facts.quality?.rows;
  return rows && rows.number.length < rows.total ? ` Shown are ${rows.number.length} of ${rows.total} rows.` : "";
}

const ofCell = { x: "predicted", title: (d) => `row ${d.row}\nobserved ${short(d.observed)}\npredicted ${short(d.predicted)} ± ${short(d.std)}` };

const FIGURES = [
  {
    section: "quality", id: "observed", title: "Observed against predicted",
    read: (facts) => `Each point is a row, predicted without it; on the line the prediction is right. Bars are 90 % intervals; those that miss are orange.${rowsShown(facts)}`,
    needs: needsRows,
    table: leftOut,
    draw(facts, task, width) {
      const cells = leftOut(facts, task);
      const range = d3.extent(cells.flatMap((d) => [d.observed, d.predicted]));
      return plot(width, {
        height: Math.min(width * 0.8, 420), grid: true, nice: true,
        x: { label: "predicted →", domain: range }, y: { label: "↑ observed", domain: range }, clip: true,
        marks: [
          Plot.link([0], { x1: range[0], y1: range[0], x2: range[1], y2: range[1], stroke: "currentColor", strokeOpacity: 0.5 }),
          Plot.ruleY(cells, { y: "observed", x1: "lower", x2: "upper", stroke: (d) => d.inside, strokeOpacity: 0.25, clip: true }),
          Plot.dot(cells, { ...ofCell, y: "observed", fill: (d) => d.inside, r: 2.6, tip: true }),
        ],
        color: { domain: [true, false], range: ["var(--one)", "var(--two)"] },
      });
    },
  },
  {
    section: "quality", id: "residuals", title: "Residuals",
    read: "What the prediction missed, in its own standard deviations: there should be no shape, and nine of ten points between the dashed lines.",
    needs: needsRows,
    table: leftOut,
    draw(facts, task, width) {
      const cells = leftOut(facts, task).map((d) => ({ ...d, z: d.residual / d.std }));
      return plot(width, {
        height: Math.min(width * 0.8, 420), grid: true, nice: true,
        x: { label: "predicted →" }, y: { label: "↑ (observed − predicted) / std" },
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
    section: "quality", id: "comparison", title: "Beside simpler models",
    read: "R² of each target with every row left out: longer is better. If ridge regression reaches as far, straight lines are enough.",
    needs: needsData,
    table: (facts) => facts.quality.methods.flatMap((m) => facts.targets.map((target, c) => ({ method: m.name, target, r2: m.r2[c], rmse: m.rmse[c] }))),
    draw(facts, task, width) {
      const bars = this.table(facts);
      const low = Math.max(Math.min(0, ...bars.map((d) => d.r2)), -0.5);
      const methods = facts.quality.methods.map((m) => m.name);
      return plot(width, {
        height: 40 + facts.targets.length * Math.max(34, Math.min(60, 360 / facts.targets.length)),
        marginLeft: Math.min(150, width / 3),
        x: { label: "R² →", domain: [low, 1], grid: true }, y: { axis: null, domain: methods }, fy: { label: null, domain: facts.targets },
        color: { legend: true, domain: methods, range: ["var(--one)", "var(--two)", "var(--grey)"] },
        marks: [
          Plot.axisFy({ text: clipped(18), anchor: "left", dx: -6, fontWeight: (d) => (d === facts.targets[task] ? "bold" : "normal") }),
          Plot.barX(bars, { x1: low < 0 ? 0 : low, x2: (d) => Math.max(d.r2, low), y: "method", fy: "target", fill: "method", tip: true,
            title: (d) => `${d.method}\n${d.target}\nR² ${short(d.r2)}\nRMSE ${short(d.rmse)}` }),
          Plot.ruleX([0]),
        ],
      });
    },
  },
  {
    section: "quality", id: "calibration", title: "Calibration",
    read: "Left: how many values lie in intervals of each probability; below the line intervals are too narrow. Right: where values lie in their predicted distribution; level bars are right.",
    needs: needsData,
    table: (facts, task) => facts.quality.levels.map((level, i) => ({ level, inside: facts.quality.inside[task][i], all_targets: insideAll(facts, i) })),
    draw(facts, task, width) {
      const points = this.table(facts, task);
      const counts = facts.quality.transform[task];
      const total = d3.sum(counts);
      const bars = counts.map((count, i) => ({ from: i / counts.length, to: (i + 1) / counts.length, count }));
      const level = total / counts.length;
      // What chance alone does to a count, nineteen times of twenty.
      const play = 1.96 * Math.sqrt(level * (1 - 1 / counts.length));
      const half = width < 460 ? width : (width - 16) / 2;
      return element("div", { className: "side" },
        plot(half, {
          height: 260, marginLeft: 40, grid: true, x: { label: "probability of the interval →", domain: [0, 1], ticks: 5 }, y: { label: "↑ share inside", domain: [0, 1], ticks: 5 },
          marks: [
            Plot.link([0], { x1: 0, y1: 0, x2: 1, y2: 1, stroke: "currentColor", strokeOpacity: 0.5 }),
            Plot.lineY(points, { x: "level", y: "inside", stroke: "var(--one)", strokeWidth: 2 }),
            Plot.dot(points, { x: "level", y: "inside", fill: "var(--one)", r: 3, tip: true, title: (d) => `intervals of ${Math.round(100 * d.level)} %\nhold ${Math.round(100 * d.inside)} %` }),
          ],
        }),
        plot(half, {
          height: 260, marginLeft: 40, x: { label: "predicted probability of less →", domain: [0, 1], ticks: 5 }, y: { label: "↑ values", grid: true },
          marks: [
            Plot.rect([0], { x1: 0, x2: 1, y1: Math.max(level - play, 0), y2: level + play, fill: "var(--grey)", fillOpacity: 0.25 }),
            Plot.rectY(bars, { x1: "from", x2: "to", y: "count", fill: "var(--one)", fillOpacity: 0.8, inset: 1 }),
            Plot.ruleY([level], { stroke: "currentColor", strokeOpacity: 0.6 }),
            Plot.ruleY([0]),
          ],
        }));
    },
  },
  {
    section: "quality", id: "influence", title: "Influential rows", wide: true,
    read: "How far the fit at each row moves when the row is left out, in predicted standard deviations. Look at the longest sticks: such rows may be wrong, or the only ones of their kind.",
    needs: needsRows,
    table: influenceOf,
    draw(facts, task, width) {
      const cells = influenceOf(facts, task);
      const far = [...cells].sort((a, b) => Math.abs(b.influence) - Math.abs(a.influence)).slice(0, 6);
      const most = facts.quality.rows.most_influential;
      return element("div", {}, plot(width, {
        height: 240, grid: true, marginRight: 50, x: { label: "row →", tickFormat: "d" }, y: { label: "↑ influence", nice: true },
        marks: [
          Plot.ruleY([0]),
          Plot.ruleX(cells, { x: "row", y: "influence", stroke: "var(--one)", strokeOpacity: 0.5 }),
          Plot.dot(cells, { x: "row", y: "influence", fill: "var(--one)", r: 2.4, tip: true, title: (d) => `row ${d.row}\nleverage ${short(d.leverage)}\ninfluence ${short(d.influence)}` }),
          Plot.text(far, { x: "row", y: "influence", text: (d) => `row ${d.row}`, dx: 6, textAnchor: "start", fill: "currentColor" }),
        ],
      }), element("p", { className: "note", textContent: `Over all targets: ${most.map(([row, size]) => `row ${row} (${short(size)})`).join(", ")}.` }));
    },
  },
  ...LEARNED_FIGURES,
  {
    section: "inside", id: "trace", title: "How the fit went", wide: true,
    read: "The bound rises until nothing is gained; a mark is a step at which features were pruned (orange) or the bandwidth moved by more than a tenth (blue).",
    table: (facts) => traceOf(facts),
    draw(facts, task, width) {
      const steps = traceOf(facts);
      const panel = (name, key, extra) => {
        const column = Math.max(220, (width - 32) / Math.max(1, Math.min(3, Math.floor(width / 240))));
        const moved = steps.filter((d) => (key === "active" ? d.pruned : key === "bandwidth" && d.moved));
        return element("div", {}, element("h4", { textContent: name }), plot(column, {
          height: 190, grid: true, x: { label: "step →", ticks: 4, tickFormat: "d" }, y: { label: null, ...extra },
          marks: [
            Plot.lineY(steps, { x: "step", y: key, stroke: "var(--one)", strokeWidth: 1.8 }),
            Plot.tickX(moved.length ? moved : [], { x: "step", stroke: key === "active" ? "var(--two)" : "var(--one)", strokeOpacity: 0.35 }),
            Plot.dot(steps.slice(-1), { x: "step", y: key, fill: "var(--one)", r: 3 }),
            Plot.tip(steps, Plot.pointerX({ x: "step", y: key, title: (d) => `step ${d.step}\n${name} ${short(d[key])}` })),
          ],
        }));
      };
      // The first steps are far below the rest and would flatten it.
      const bounds = steps.map((d) => d.bound).sort(d3.ascending);
      const low = d3.quantile(bounds, 0.05), high = bounds[bounds.length - 1];
      const domain = high > low ? [low - 0.1 * (high - low), high + 0.05 * (high - low)] : undefined;
      return element("div", { className: "side" },
        panel("Bound (nats)", "bound", { domain, clamp: true }),
        panel("Active terms", "active", { zero: true }),
        panel("Bandwidth", "bandwidth", { type: "log", ticks: 4, tickFormat: short }));
    },
  },
  {
    section: "inside", id: "kernel", title: "The kernel", wide: true,
    read: "How alike the function is at two points, by how far they lie apart along one input: a curve that drops fast lets the function change fast there.",
    table: (facts, task) => kernelOf(facts, task),
    draw(facts, task, width) {
      const all = kernelOf(facts, task);
      const low = d3.min(all, (d) => d.alike);
      const panels = facts.inside.kernel.map((profile) => {
        const lines = all.filter((d) => d.input === facts.columns[profile.input]);
        return element("div", {}, element("h4", { textContent: facts.columns[profile.input] }), plot(smallWidth(width), {
          height: 150, marginLeft: 36, grid: true, x: { label: "distance →", ticks: 3 }, y: { label: null, domain: [low, 1], nice: true, ticks: 3 },
          color: { domain: ["kernel", "sinusoids"], range: ["var(--one)", "var(--two)"] },
          marks: [Plot.lineY(lines, { x: "distance", y: "alike", stroke: "view", strokeWidth: 1.8, tip: true })],
        }));
      });
      const grid = element("div", { className: "several" }, ...panels);
      const legend = facts.inside.sinusoid_count ? [Plot.legend({ color: { domain: ["kernel", "sinusoids"], range: ["var(--one)", "var(--two)"] } })] : [];
      const note = facts.inside.sinusoid_count
        ? "Blue is the learned kernel; orange the kept sinusoids, each counted by its squared weight for this target. Where the two agree, the sinusoids are a fair sample of the kernel."
        : "This model is the kernel itself, all cosines at once: there is no list of sinusoids.";
      return element("div", {}, familyTable(facts), ...legend, grid, element("p", { className: "note", textContent: note }));
    },
  },
  {
    section: "inside", id: "sinusoids", title: "The sinusoids", wide: true,
    read: (facts) => `Each stick is one kept cosine: how fast it turns, and its weight for this target with two standard deviations.${facts.inside.sinusoids.length < facts.inside.sinusoid_count ? ` The ${facts.inside.sinusoids.length} largest of ${facts.inside.sinusoid_count}.` : ""}`,
    needs: (facts) => (facts.inside.sinusoid_count ? null : "This model is a kernel machine: the sum of all cosines at once. fit --sparsity 0.75 gives a model of few sinusoids."),
    table: (facts, task) => wavesOf(facts, task),
    draw(facts, task, width) {
      const waves = wavesOf(facts, task);
      const largest = [...waves].sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight)).slice(0, 12);
      return element("div", {}, plot(width, {
        height: 240, grid: true, x: { label: "turns per standard deviation of the inputs →" }, y: { label: "↑ weight" },
        marks: [
          Plot.ruleY([0]),
          Plot.ruleX(waves, { x: "turns", y1: 0, y2: "weight", stroke: "var(--one)", strokeOpacity: 0.6 }),
          Plot.ruleX(waves, { x: "turns", y1: (d) => d.weight - 2 * d.weight_std, y2: (d) => d.weight + 2 * d.weight_std, stroke: "var(--grey)", strokeOpacity: 0.6 }),
          Plot.dot(waves, { x: "turns", y: "weight", fill: "var(--one)", r: 2.8, tip: true, title: (d) => `weight ${short(d.weight)} ± ${short(d.weight_std)}\n${d.along}` }),
        ],
      }), tableOf(["shortest waves (wavelength in the unit of the input)", "weight", "± std", "phase"],
        largest.map((d) => [d.along, short(d.weight), short(d.weight_std), short(d.phase)])));
    },
  },
  {
    section: "inside", id: "links", title: "Straight lines", wide: true,
    read: "The linear part of the function: what one standard deviation more of an input adds to the target, with two standard deviations.",
    needs: (facts) => (facts.inside.links.length ? null : "This model has no direct links: its function is made of sinusoids alone."),
    table: (facts, task) => facts.inside.links.map((d) => ({ input: facts.columns[d.input], effect: d.effect[task], std: d.effect_std[task] })),
    draw(facts, task, width) {
      const all = this.table(facts, task).sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
      const shown = all.slice(0, 25);
      const names = shown.map((d) => d.input);
      return element("div", {}, plot(width, {
        height: 50 + 20 * shown.length, marginLeft: Math.min(190, width / 2.6), grid: true,
        x: { label: `${facts.targets[task]} per standard deviation →` }, y: { label: null, domain: names, tickFormat: clipped(24) },
        marks: [
          Plot.ruleX([0]),
          Plot.ruleY(shown, { y: "input", x1: (d) => d.effect - 2 * d.std, x2: (d) => d.effect + 2 * d.std, stroke: "var(--grey)", strokeWidth: 2 }),
          Plot.dot(shown, { y: "input", x: "effect", fill: "var(--one)", r: 4, tip: true }),
        ],
      }), moreThan(all, shown));
    },
  },
];

function insideAll(facts, i) {
  const cells = facts.quality.tasks.map((t) => t.observed);
  return d3.sum(cells, (n, c) => n * facts.quality.inside[c][i]) / d3.sum(cells);
}

function influenceOf(facts, task) {
  const { number, leverage, influence } = facts.quality.rows;
  return number.map((row, i) => ({ row, leverage: leverage[task][i], influence: influence[task][i] })).filter((d) => d.influence !== null);
}

/** Width of one of several small plots side by side; the style sheet has the same columns. */
function smallWidth(width) {
  return width < 700 ? Math.floor((width - 16) / 2) : Math.floor(width / Math.floor(width / 256)) - 16;
}

function moreThan(all, shown) {
  return all.length > shown.length
    ? element("p", { className: "note", textContent: `The ${shown.length} largest of ${all.length}; the CSV has all.` })
    : "";
}

function clipped(length) {
  return (text) => (String(text).length > length ? `${String(text).slice(0, length - 1)}…` : String(text));
}

function traceOf(facts) {
  const { bound, active, bandwidth } = facts.inside.trace;
  return bound.map((value, i) => ({
    step: i + 1, bound: value, active: active[i], bandwidth: bandwidth[i],
    pruned: i > 0 && active[i] < active[i - 1],
    moved: i > 0 && Math.abs(Math.log(bandwidth[i] / bandwidth[i - 1])) > 0.1,
  }));
}

function kernelOf(facts, task) {
  return facts.inside.kernel.flatMap((profile) => {
    const line = (view, values) => profile.distance.map((distance, i) => ({ input: facts.columns[profile.input], view, distance, alike: values[i] }));
    return [...line("kernel", profile.kernel), ...(profile.sinusoids.length ? line("sinusoids", profile.sinusoids[task]) : [])];
  });
}

function wavesOf(facts, task) {
  return facts.inside.sinusoids.map((wave) => ({
    turns: wave.turns, weight: wave.weight[task], weight_std: wave.weight_std[task], phase: wave.phase,
    along: wave.along.map(([input, length]) => `${facts.columns[input]} ${short(length)}`).join(", "),
  }));
}

function familyTable(facts) {
  const families = facts.inside.families;
  if (!families) return "";
  const total = d3.sum(families, (d) => d.variance);
  return tableOf(["share of the function before data", "variance", "of all", "bandwidth"],
    families.map((d) => [d.name, short(d.variance), `${Math.round((100 * d.variance) / total)} %`, d.scale === null ? "–" : short(d.scale)]));
}

function tableOf(header, rows, className = "") {
  const line = (cells, tag) => element("tr", {}, ...cells.map((text) => element(tag, { textContent: text })));
  return element("div", { className: "scroll" },
    element("table", { className }, element("thead", {}, line(header, "th")), element("tbody", {}, ...rows.map((cells) => line(cells, "td")))));
}
