// Figures of the model from inside: how the fit went, its kernel, its sinusoids, its straight lines.

const INSIDE_FIGURES = [
  {
    section: "inside",
    id: "trace",
    once: true,
    title: "How the fit went",
    wide: true,
    read:
      "The objective (log marginal likelihood plus log prior, or a lower bound on it) rises until the fit converges; " +
      "a mark is a step at which features were pruned (orange) or " +
      "the bandwidth moved by more than a tenth (blue).",
    finding: (facts) => {
      const { steps, stop, objective } = facts.model;
      const end = { converged: "converged", "max-iterations": "stopped at its limit", effort: "ended, as its effort allowed no more,", requested: "was stopped" }[stop] ?? "ended";
      return `The fit ${end} after ${counted(steps, "step")} at ${short(objective)} nats.`;
    },
    needs: (facts) => (facts.inside.trace.objective.length > 1 ? null : "the fit took one step"),
    table: (facts) => traceOf(facts),
    draw(facts, task, width) {
      const steps = traceOf(facts);
      const panel = (name, key, extra) => {
        const column = Math.max(220, (width - 32) / Math.max(1, Math.min(3, Math.floor(width / 240))));
        const moved = steps.filter((d) => (key === "active" ? d.pruned : key === "bandwidth" && d.moved));
        return element(
          "div",
          {},
          element("h4", { textContent: name }),
          plot(column, {
            height: 190,
            grid: true,
            x: { label: "step →", ticks: 4, tickFormat: "d" },
            y: { label: null, ...extra },
            marks: [
              Plot.lineY(steps, { x: "step", y: key, stroke: "var(--one)", strokeWidth: 1.8 }),
              Plot.tickX(moved.length ? moved : [], {
                x: "step",
                stroke: key === "active" ? "var(--two)" : "var(--one)",
                strokeOpacity: 0.35,
              }),
              Plot.dot(steps.slice(-1), { x: "step", y: key, fill: "var(--one)", r: 3 }),
              Plot.tip(
                steps,
                Plot.pointerX({ x: "step", y: key, title: (d) => `step ${d.step}\n${name} ${short(d[key])}` }),
              ),
            ],
          }),
        );
      };
      // The first steps are far below the rest and would flatten it.
      const values = steps.map((d) => d.objective).sort(d3.ascending);
      const low = d3.quantile(values, 0.05),
        high = values[values.length - 1];
      const domain = high > low ? [low - 0.1 * (high - low), high + 0.05 * (high - low)] : undefined;
      // What never changes needs no picture.
      const changes = (key) => new Set(steps.map((d) => d[key])).size > 1;
      return element(
        "div",
        { className: "side" },
        panel("Objective (nats)", "objective", { domain, clamp: true }),
        ...(changes("active") ? [panel("Active terms", "active", { zero: true })] : []),
        ...(changes("bandwidth") ? [panel("Bandwidth", "bandwidth", { type: "log", ticks: 4, tickFormat: short })] : []),
      );
    },
  },
  {
    section: "inside",
    id: "kernel",
    alike: sameKernel,
    title: "The kernel",
    wide: true,
    read:
      "Prior correlation of the function at two points, by their distance along one input: where the curve " +
      "drops fast, the function can change fast.",
    finding: (facts, task) => {
      const [first] = kernelFor(facts, task).profiles;
      if (!first) return "The function is straight lines alone.";
      const { input, level } = columnOf(facts, first.input);
      const along = `The function of ${targetName(facts, task)} can change fastest along ${facts.columns[first.input]}`;
      if (level) {
        const beyond = Math.max(1, first.distance.findIndex((d) => d >= 1));
        return `${along}: with and without it the function is correlated by ${first.kernel[beyond].toFixed(2)}.`;
      }
      const reach = first.distance.find((_, i) => first.kernel[i] < 0.5);
      const days = input !== null && isDate(facts, input) && first.input === facts.learned.inputs[input].columns[0];
      const unit = days ? " days" : input !== null && facts.input_labels[input][1] ? ` ${facts.input_labels[input][1]}` : "";
      return along + (reach === undefined ? "." : `: points ${short(reach)}${unit} apart are correlated by less than one half.`);
    },
    needs: (facts) => (facts.inside.kernels.some((kernel) => kernel.profiles.length) ? null : "the function is straight lines alone"),
    table: (facts, task) => kernelOf(facts, task),
    draw(facts, task, width) {
      const all = kernelOf(facts, task);
      const low = d3.min(all, (d) => d.correlation);
      const panels = kernelFor(facts, task).profiles.map((profile) => {
        const lines = all.filter((d) => d.input === facts.columns[profile.input]);
        return element(
          "div",
          {},
          element("h4", { textContent: facts.columns[profile.input] }),
          plot(smallWidth(width), {
            height: 150,
            marginLeft: 36,
            grid: true,
            x: { label: "distance →", ticks: 3 },
            y: { label: null, domain: [low, 1], nice: true, ticks: 3 },
            color: { domain: ["kernel", "sinusoids"], range: ["var(--one)", "var(--two)"] },
            marks: [
              Plot.lineY(lines, { x: "distance", y: "correlation", stroke: "view", strokeWidth: 1.8, tip: true }),
            ],
          }),
        );
      });
      const grid = element("div", { className: "several" }, ...panels);
      const legend = facts.inside.sinusoid_count
        ? [Plot.legend({ color: { domain: ["kernel", "sinusoids"], range: ["var(--one)", "var(--two)"] } })]
        : [];
      const note = facts.inside.sinusoid_count
        ? "Blue is the learned kernel; orange the kept sinusoids, each counted by its squared weight: " +
          "where the two agree, the sinusoids are a fair sample of the kernel."
        : "This model is a Gaussian process with this kernel: there is no list of sinusoids.";
      return element(
        "div",
        {},
        familyTable(facts, task),
        ...legend,
        grid,
        element("p", { className: "note", textContent: note + sharedBy(facts, task) }),
      );
    },
  },
  {
    section: "inside",
    id: "scales",
    alike: sameKernel,
    title: "Learned input scales",
    read:
      "How fast the function may change along each input (1 is typical). This is not relevance: an input can vary fast and matter " +
      "little.",
    finding: (facts, task) => {
      const first = d3.greatest(facts.learned.inputs, (d) => d.scale[task]);
      return `The function of ${targetName(facts, task)} may change fastest along ${first.name} (scale ${short(first.scale[task])}).`;
    },
    needs: needsLearned,
    table: (facts, task) => facts.learned.inputs.map((d, i) => ({ input: inputName(facts, i), scale: d.scale[task] })),
    draw(facts, task, width) {
      const all = this.table(facts, task).sort((a, b) => b.scale - a.scale);
      const rows = all.slice(0, 15).map((d, at) => ({ ...d, at }));
      const names = rows.map((d) => d.input);
      const { room, ticks } = nameRoom(names, width);
      return element(
        "div",
        {},
        plot(width, {
          height: 50 + 22 * rows.length,
          marginLeft: room,
          marginRight: 16,
          x: { label: "scale →", grid: true, zero: true },
          y: named(ticks),
          marks: [
            Plot.ruleY(rows, { y: "at", x1: 0, x2: "scale", stroke: "var(--quiet)" }),
            Plot.dot(rows, { x: "scale", y: "at", fill: "var(--one)", r: 4, tip: true, title: (d) => `${d.input}\n${short(d.scale)}` }),
            Plot.ruleX([0]),
          ],
        }),
        moreThan(all, rows),
      );
    },
  },
  {
    section: "inside",
    id: "sinusoids",
    title: "The formula: its sinusoids",
    wide: true,
    read: (facts) =>
      "The function is a sum of cosines. Each mark is one of them: how fast it turns along the inputs, and how large its weight " +
      "is for this target, on a logarithmic axis; dots are positive, crosses negative. Large weights of opposite sign at nearly " +
      "the same place cancel each other: read what they do together from the curves above, not from single weights." +
      ofAll(facts.inside.sinusoids.length, facts.inside.sinusoid_count),
    finding: (facts, task) => {
      const size = d3.median(wavesOf(facts, task), (d) => Math.abs(d.weight));
      const terms = `${counted(facts.inside.sinusoid_count, "cosine")} for ${counted(facts.model.rows, "row")}, a typical weight of ${short(size)}${ofScale(facts, task)}. `;
      return terms + costOf(facts);
    },
    needs: (facts) =>
      facts.inside.sinusoid_count ? null : "a Gaussian process is not made of sinusoids; a fit with sparsity 0.75 gives a formula",
    table: (facts, task) => wavesOf(facts, task),
    draw(facts, task, width) {
      const waves = wavesOf(facts, task)
        .filter((d) => d.weight !== 0)
        .map((d) => ({ ...d, size: Math.abs(d.weight), inside: d.weight > 0 }));
      const largest = [...waves].sort((a, b) => b.size - a.size).slice(0, 12);
      const title = (d) => `weight ${short(d.weight)} (${short(d.weight - d.reach)} to ${short(d.weight + d.reach)})\n${d.along}`;
      return element(
        "div",
        {},
        plot(width, {
          height: 260,
          grid: true,
          marginRight: 16,
          x: { label: "turns per standard deviation of the inputs →", ticks: width < 400 ? 4 : undefined },
          y: { type: "log", label: "↑ size of the weight", tickFormat: (v) => short(v), ticks: 5 },
          marks: hitsAndMisses(waves, { x: "turns", y: "size", title }),
        }),
        tableOf(
          ["shortest waves (wavelength in the unit of the input)", "weight", "90 % interval", "phase"],
          largest.map((d) => [d.along, short(d.weight), `${short(d.weight - d.reach)} to ${short(d.weight + d.reach)}`, short(d.phase)]),
          "The largest sinusoids",
        ),
      );
    },
  },
  {
    section: "inside",
    id: "links",
    title: "Straight lines",
    wide: true,
    read: (facts) =>
      "The linear part of the function: what one standard deviation more of an input adds to the target, " +
      "with its 90 % interval." +
      (facts.targets.some((_, c) => isTransformed(facts, c))
        ? " Of a target that was learned as a transform the line is straight there; in the unit of the target it adds this much in the middle."
        : ""),
    finding(facts, task) {
      const sure = this.table(facts, task).filter((d) => d.low > 0 || d.high < 0);
      const first = d3.greatest(sure, (d) => Math.abs(d.effect));
      return first
        ? `Of ${counted(facts.inside.links.length, "line")}, ${sure.length} ${sure.length === 1 ? "has" : "have"} a 90 % interval that excludes ` +
            `zero; the steepest is that of ${first.input} (${signed(first.effect)}${ofTarget(facts, task)}).`
        : "No line has a 90 % interval that excludes zero.";
    },
    needs: (facts) => (facts.inside.links.length ? null : "the function has no straight lines"),
    table: (facts, task) =>
      facts.inside.links.map((d) => ({
        input: facts.columns[d.input],
        effect: d.effect[task],
        low: d.low[task],
        high: d.high[task],
      })),
    draw(facts, task, width) {
      const all = this.table(facts, task).sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
      const shown = all.slice(0, 20).map((d, at) => ({ ...d, at }));
      const names = shown.map((d) => d.input);
      const { room, ticks } = nameRoom(names, width);
      return element(
        "div",
        {},
        plot(width, {
          height: 50 + 20 * shown.length,
          marginLeft: room,
          marginRight: 16,
          grid: true,
          x: { label: `${targetAxis(facts, task)} per ${width < 400 ? "std" : "standard deviation"} →`, ticks: width < 400 ? 4 : undefined },
          y: named(ticks),
          marks: [
            Plot.ruleX([0]),
            Plot.ruleY(shown, { y: "at", x1: "low", x2: "high", stroke: "var(--quiet)", strokeWidth: 2 }),
            Plot.dot(shown, {
              y: "at",
              x: "effect",
              fill: "var(--one)",
              r: 4,
              tip: true,
              title: (d) => `${d.input}\n${signed(d.effect)} (${short(d.low)} to ${short(d.high)})`,
            }),
          ],
        }),
        moreThan(all, shown),
      );
    },
  },
];

function traceOf(facts) {
  const { objective, active, bandwidth } = facts.inside.trace;
  return objective.map((value, i) => ({
    step: i + 1,
    objective: value,
    active: active[i],
    bandwidth: bandwidth[i],
    pruned: i > 0 && active[i] < active[i - 1],
    moved: i > 0 && Math.abs(Math.log(bandwidth[i] / bandwidth[i - 1])) > 0.1,
  }));
}

/** Targets that have one kernel: what is shown of it does not depend on which of them is looked at. */
function sameKernel(facts) {
  return facts.inside.kernels.map((kernel) => kernel.targets);
}

/** The kernel of a target. */
function kernelFor(facts, task) {
  return facts.inside.kernels.find((kernel) => kernel.targets.includes(task));
}

function sharedBy(facts, task) {
  if (facts.inside.kernels.length === 1) return "";
  const names = kernelFor(facts, task).targets.map((c) => targetName(facts, c));
  return ` The targets have ${facts.inside.kernels.length} kernels; this one serves ${names.join(", ")}.`;
}

/** The input that a column belongs to, as far as that is known, and whether the column marks one of its levels or its gaps. */
function columnOf(facts, column) {
  const input = facts.learned?.inputs.findIndex((d) => d.columns.includes(column)) ?? -1;
  if (input < 0) return { input: null, level: false };
  const { columns, number } = facts.learned.inputs[input];
  return { input, level: !number || (columns.length === 2 && column === columns[1]) };
}

function kernelOf(facts, task) {
  const { profiles, targets } = kernelFor(facts, task);
  return profiles.flatMap((profile) => {
    // A mark is 0 or 1: no two points are farther apart.
    const most = columnOf(facts, profile.input).level ? Math.max(2, profile.distance.filter((d) => d <= 1).length + 1) : Infinity;
    const line = (view, values) =>
      profile.distance.slice(0, most).map((distance, i) => ({
        input: facts.columns[profile.input],
        view,
        distance,
        correlation: values[i],
      }));
    return [
      ...line("kernel", profile.kernel),
      ...(profile.sinusoids.length ? line("sinusoids", profile.sinusoids[targets.indexOf(task)]) : []),
    ];
  });
}

function wavesOf(facts, task) {
  return facts.inside.sinusoids.map((wave) => ({
    turns: wave.turns,
    weight: wave.weight[task],
    reach: REACH * wave.weight_std[task],
    phase: wave.phase,
    along: wave.along.map(([input, length]) => `${facts.columns[input]} ${short(length)}`).join(", "),
  }));
}

function familyTable(facts, task) {
  const families = kernelFor(facts, task).families;
  if (!families) return "";
  const total = d3.sum(families, (d) => d.variance);
  return tableOf(
    ["part of the kernel", "variance", "of all", "bandwidth"],
    families.map((d) => [
      d.name,
      short(d.variance),
      `${Math.round((100 * d.variance) / total)} %`,
      d.scale === null ? "–" : short(d.scale),
    ]),
    "What the kernel is made of",
  );
}

/** What the formula costs in accuracy, each row left out at fixed scales. */
function costOf(facts) {
  const own = facts.quality?.methods[0].task_r2;
  if (facts.process_r2 === null || own === undefined || own === null) return "";
  return (
    `They explain ${percent(Math.max(0, own))} of the variance, the Gaussian process that they reproduce ` +
    `${percent(Math.max(0, facts.process_r2))} (each row left out at fixed scales).`
  );
}

function ofAll(shown, all) {
  return shown < all ? ` The ${shown} largest of ${all}.` : "";
}
