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
      return element(
        "div",
        { className: "side" },
        panel("Objective (nats)", "objective", { domain, clamp: true }),
        panel("Active terms", "active", { zero: true }),
        panel("Bandwidth", "bandwidth", { type: "log", ticks: 4, tickFormat: short }),
      );
    },
  },
  {
    section: "inside",
    id: "kernel",
    once: oneKernel,
    title: "The kernel",
    wide: true,
    read:
      "Prior correlation of the function at two points, by their distance along one input: where the curve " +
      "drops fast, the function can change fast.",
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
    id: "sinusoids",
    title: "The sinusoids",
    wide: true,
    read: (facts) =>
      "Each stick is one kept cosine: how fast it turns, and its weight for this target with two standard deviations." +
      ofAll(facts.inside.sinusoids.length, facts.inside.sinusoid_count),
    needs: (facts) =>
      facts.inside.sinusoid_count
        ? null
        : "This model is a Gaussian process: the limit of infinitely many cosines. " +
          "A fit with sparsity 0.75 gives a model of few sinusoids.",
    table: (facts, task) => wavesOf(facts, task),
    draw(facts, task, width) {
      const waves = wavesOf(facts, task);
      const largest = [...waves].sort((a, b) => Math.abs(b.weight) - Math.abs(a.weight)).slice(0, 12);
      return element(
        "div",
        {},
        plot(width, {
          height: 240,
          grid: true,
          x: { label: "turns per standard deviation of the inputs →" },
          y: { label: "↑ weight" },
          marks: [
            Plot.ruleY([0]),
            Plot.ruleX(waves, { x: "turns", y1: 0, y2: "weight", stroke: "var(--one)", strokeOpacity: 0.6 }),
            Plot.ruleX(waves, {
              x: "turns",
              y1: (d) => d.weight - 2 * d.weight_std,
              y2: (d) => d.weight + 2 * d.weight_std,
              stroke: "var(--grey)",
              strokeOpacity: 0.6,
            }),
            Plot.dot(waves, {
              x: "turns",
              y: "weight",
              fill: "var(--one)",
              r: 2.8,
              tip: true,
              title: (d) => `weight ${short(d.weight)} ± ${short(d.weight_std)}\n${d.along}`,
            }),
          ],
        }),
        tableOf(
          ["shortest waves (wavelength in the unit of the input)", "weight", "± std", "phase"],
          largest.map((d) => [d.along, short(d.weight), short(d.weight_std), short(d.phase)]),
        ),
      );
    },
  },
  {
    section: "inside",
    id: "links",
    title: "Straight lines",
    wide: true,
    read:
      "The linear part of the function: what one standard deviation more of an input adds to the target, " +
      "with two standard deviations.",
    needs: (facts) =>
      facts.inside.links.length ? null : "This model has no direct links: its function is made of sinusoids alone.",
    table: (facts, task) =>
      facts.inside.links.map((d) => ({
        input: facts.columns[d.input],
        effect: d.effect[task],
        std: d.effect_std[task],
      })),
    draw(facts, task, width) {
      const all = this.table(facts, task).sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect));
      const shown = all.slice(0, 25);
      const names = shown.map((d) => d.input);
      return element(
        "div",
        {},
        plot(width, {
          height: 50 + 20 * shown.length,
          marginLeft: Math.min(190, width / 2.6),
          grid: true,
          x: { label: `${axisName(facts.targets[task])} per standard deviation →` },
          y: { label: null, domain: names, tickFormat: clipped(24) },
          marks: [
            Plot.ruleX([0]),
            Plot.ruleY(shown, {
              y: "input",
              x1: (d) => d.effect - 2 * d.std,
              x2: (d) => d.effect + 2 * d.std,
              stroke: "var(--grey)",
              strokeWidth: 2,
            }),
            Plot.dot(shown, { y: "input", x: "effect", fill: "var(--one)", r: 4, tip: true }),
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

/** Whether one kernel serves all targets: what is shown of it then does not depend on the target. */
function oneKernel(facts) {
  return facts.inside.kernels.length === 1;
}

/** The kernel of a target. */
function kernelFor(facts, task) {
  return facts.inside.kernels.find((kernel) => kernel.targets.includes(task));
}

function sharedBy(facts, task) {
  if (oneKernel(facts)) return "";
  const names = kernelFor(facts, task).targets.map((c) => facts.targets[c]);
  return ` The targets have ${facts.inside.kernels.length} kernels; this one serves ${names.join(", ")}.`;
}

function kernelOf(facts, task) {
  const { profiles, targets } = kernelFor(facts, task);
  return profiles.flatMap((profile) => {
    const line = (view, values) =>
      profile.distance.map((distance, i) => ({
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
    weight_std: wave.weight_std[task],
    phase: wave.phase,
    along: wave.along.map(([input, length]) => `${facts.columns[input]} ${short(length)}`).join(", "),
  }));
}

function familyTable(facts, task) {
  const families = kernelFor(facts, task).families;
  if (!families) return "";
  const total = d3.sum(families, (d) => d.variance);
  return tableOf(
    ["share of the prior variance", "variance", "of all", "bandwidth"],
    families.map((d) => [
      d.name,
      short(d.variance),
      `${Math.round((100 * d.variance) / total)} %`,
      d.scale === null ? "–" : short(d.scale),
    ]),
  );
}

function ofAll(shown, all) {
  return shown < all ? ` The ${shown} largest of ${all}.` : "";
}
