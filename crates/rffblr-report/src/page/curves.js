// Figures of how targets depend on inputs: along one, and on two together.

const CURVE_FIGURES = [
  {
    section: "learned",
    id: "partial",
    title: "How the target depends on each input",
    wide: true,
    read: (facts) =>
      `The ${facts.targets.every((_, c) => isTransformed(facts, c)) ? "typical" : "mean"} prediction when one input is set and the ` +
      `others stay as they are in ${averagedOver(facts)}, with its 90 % band. The bars below show how many rows have such values: ` +
      `believe the curve where they are. Inputs that change nothing are left out.${aboutMeans(facts)}`,
    finding: (facts, task) => {
      const [first] = curvesOf(facts, task);
      const what = `${meanOf(facts, task)} prediction of ${targetName(facts, task)}`;
      if (!first) return `No input changes the ${what} by itself.`;
      const ends = d3.extent(first.points, (d) => d.mean);
      return `Over the values of ${first.name} the ${what} lies between ${amount(facts, task, ends[0])} and ${amount(facts, task, ends[1])}${ofTarget(facts, task)}.`;
    },
    needs: needsLearned,
    table: (facts, task) =>
      curvesOf(facts, task).flatMap((curve) =>
        curve.points.map((d) => ({ input: curve.name, value: d.label ?? writtenCell(facts, curve.input, d.value), mean: d.mean, lower: d.lower, upper: d.upper })),
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
          element(
            "div",
            {},
            element("h4", { textContent: curve.name + unitOf(facts.input_labels[curve.input]) }),
            dependence(facts, curve, domain, size),
          ),
        ),
      );
    },
  },
  {
    section: "learned",
    id: "surface",
    title: "Two inputs together",
    wide: true,
    narrowOnPaper: true,
    read: (facts) =>
      `${facts.targets.every((_, c) => isTransformed(facts, c)) ? "Typical" : "Mean"} prediction of this target when the two inputs ` +
      `are set that act most through interactions, and the others stay as they are in ${averagedOver(facts)}. Hatched: no row is ` +
      "near. If rows of the picture do not have the same pattern, the two act together.",
    finding: (facts, task) => {
      const cells = surfaceOf(facts, task).filter((d) => d.rows > 0);
      const { inputs } = facts.learned.surfaces[task];
      const [a, b] = inputs.map((i) => inputName(facts, i));
      const top = cells.reduce((best, d) => (best && best.mean >= d.mean ? best : d), null);
      return top
        ? `Of ${a} and ${b}, the ${meanOf(facts, task)} prediction of ${targetName(facts, task)} is highest (${amount(facts, task, top.mean)}${ofTarget(facts, task)}) at ` +
          `${label(facts, inputs[0], top.first, cells.map((d) => d.first))} and ${label(facts, inputs[1], top.second, cells.map((d) => d.second))}.`
        : `No row is near any pair of values of ${a} and ${b}.`;
    },
    needs: (facts) =>
      needsLearned(facts) ?? (facts.learned.surfaces.every((s) => s) ? null : "needs two inputs"),
    table: surfaceOf,
    draw(facts, task, whole) {
      const width = Math.min(whole, 640);
      const everything = surfaceOf(facts, task);
      const kept = facts.learned.surfaces[task].inputs.map((input) => frequent(facts, input, SURFACE));
      const cells = everything.filter((d) => kept[0](d.first) && kept[1](d.second));
      const seen = cells.filter((d) => d.rows > 0);
      const { inputs } = facts.learned.surfaces[task];
      const [low, high] = d3.extent(seen, (d) => d.mean);
      const middle = (low + high) / 2,
        reach = Math.max((high - low) / 2, 1e-12);
      const [x, y] = ["first", "second"].map((key) => [...new Set(cells.map((d) => d[key]))]);
      const written = (i) => (v) => label(facts, inputs[i], v, i ? y : x);
      const names = [x, y].map((axis, i) => {
        const all = everything.map((d) => (i ? d.second : d.first)).filter((v) => typeof v === "string");
        const texts = axis.map(written(i));
        const room = Math.min(i ? 130 : 90, width / 4);
        return new Map(axis.map((v, k) => [v, (all.length ? shortened(texts, room, [...new Set([...texts, ...all])]) : texts)[k]]));
      });
      const tick = (i) => (v) => names[i].get(v);
      const widest = (axis, i) => d3.max(axis, (v) => widthOf(tick(i)(v)));
      const room = widest(y, 1);
      const every = (axis, most) => axis.filter((_, i) => i % Math.ceil(axis.length / Math.max(1, Math.min(typeof axis[0] === "string" ? SURFACE + 1 : 6, most))) === 0);
      const paint = {
        fill: (value) => (value > middle ? "var(--two)" : "var(--one)"),
        fillOpacity: (value) => Math.abs(value - middle) / reach,
      };
      const steps = d3.range(11).map((i) => low + ((high - low) * i) / 10);
      return element(
        "div",
        {},
        plot(width, {
          height: Math.min(width * 0.8, 380),
          marginLeft: Math.max(48, 20 + room),
          marginTop: 34,
          marginBottom: 52,
          padding: 0,
          x: {
            type: "band",
            label: `${inputAxis(facts, inputs[0])} →`,
            domain: x,
            ticks: every(x, Math.floor((width - room - 40) / (widest(x, 0) + 12))),
            tickFormat: tick(0),
          },
          y: {
            type: "band",
            label: `↑ ${inputAxis(facts, inputs[1])}`,
            domain: [...y].reverse(),
            ticks: every(y, SURFACE + 1),
            tickFormat: tick(1),
            labelAnchor: "top",
            labelOffset: Math.max(40, 14 + room),
          },
          marks: [
            Plot.cell(cells.filter((d) => d.rows === 0), { x: "first", y: "second", fill: "url(#hatch)" }),
            Plot.cell(seen, {
              x: "first",
              y: "second",
              fill: (d) => paint.fill(d.mean),
              fillOpacity: (d) => paint.fillOpacity(d.mean),
              tip: true,
              title: (d) =>
                [
                  `${inputName(facts, inputs[0])} ${written(0)(d.first)}`,
                  `${inputName(facts, inputs[1])} ${written(1)(d.second)}`,
                  amount(facts, task, d.mean),
                  `${d.rows} rows near`,
                ].join("\n"),
            }),
            Plot.frame({ stroke: "var(--edge)" }),
          ],
          opacity: { type: "identity" },
          color: { type: "identity" },
        }),
        // The colour scale.
        plot(Math.min(width, 360), {
          height: 62,
          marginLeft: 20,
          marginRight: 20,
          marginTop: 4,
          marginBottom: 44,
          padding: 0,
          x: { type: "band", domain: steps, ticks: [steps[0], steps[5], steps[10]], tickFormat: (v) => apart(v, steps, 3), label: targetAxis(facts, task) },
          marks: [
            Plot.cellX(steps, { x: (d) => d, fill: paint.fill, fillOpacity: paint.fillOpacity }),
            Plot.frame({ stroke: "var(--edge)" }),
          ],
          opacity: { type: "identity" },
          color: { type: "identity" },
        }),
        ...(cells.length < everything.length
          ? [element("p", { className: "read", textContent: `Of a text with more than ${SURFACE} levels the most frequent ones; the CSV has all.` })]
          : []),
        ...(seen.length < cells.length
          ? [element("p", { className: "read legend" }, element("i", { className: "hatched" }), " no row is near")]
          : []),
      );
    },
  },
];

/** A value of an input in a tip or at an axis: with as many digits as tell it from the others, but a date needs its day. */
function label(facts, input, value, all) {
  if (typeof value !== "number") return value;
  return isDate(facts, input) ? tickOf(facts, input)(value) : apart(value, all, 2);
}

const writtenCell = (facts, input, value) => (isDate(facts, input) ? writtenValue(facts, input, value) : value);

/** Which rows a mean prediction is taken over. */
function averagedOver(facts) {
  const { averaged_over, rows } = facts.learned;
  return onSome(averaged_over, rows) || "the data";
}

/** The curves of a target, the most relevant inputs first, without those that are flat. */
function curvesOf(facts, task) {
  const byInput = new Map(facts.learned.curves.map((curve) => [curve.input, curve]));
  const curves = facts.learned.order[task].slice(0, facts.learned.curves_each).map((input) => {
    const { at, mean, lower, upper } = byInput.get(input);
    const places = [...at.numbers.map((value) => ({ value })), ...at.labels.map((label) => ({ label }))];
    const points = places.map((place, i) => ({
      ...place,
      mean: mean[task][i],
      lower: lower[task][i],
      upper: upper[task][i],
    }));
    return { input, name: inputName(facts, input), points, share: facts.learned.relevance.share[task][input] };
  });
  const kept = curves.filter((curve) => curve.share >= 0.002);
  return kept.length ? kept : curves.slice(0, 1);
}

/** Whether a value of an input is shown where there is room for so many: of a text, the levels of most rows. */
function frequent(facts, input, most) {
  const { counts } = facts.learned.inputs[input];
  if (counts.length <= most) return () => true;
  const axis = facts.learned.surfaces.flatMap((surface) => (surface ? surface.inputs.map((own, k) => [own, surface.at[k].labels]) : []));
  const labels = axis.find(([own]) => own === input)[1];
  const best = new Set(d3.sort(d3.range(counts.length), (i) => -counts[i]).slice(0, most).map((i) => labels[i]));
  return (value) => best.has(value);
}

/** Most levels of a text in a picture of two inputs. */
const SURFACE = 12;
/** Most levels of a text that are shown one below the other. */
const LEVELS = 12;

function dependence(facts, curve, domain, width) {
  const y = { label: null, domain, grid: true, nice: true, ticks: 4 };
  const numbers = curve.points.filter((d) => d.value !== undefined);
  if (!numbers.length) return levels(facts, curve, domain, width);
  const missing = curve.points.filter((d) => d.label);
  const bars = histogram(facts, curve.input, d3.extent(numbers, (d) => d.value));
  const [low, high] = domain;
  const room = 0.22 * (high - low);
  const most = d3.max(bars, (d) => d.density) ?? 1;
  return plot(width, {
    height: 190,
    marginLeft: 48,
    marginRight: 10,
    marginBottom: 28,
    y: { ...y, domain: [low - room, high] },
    x: {
      label: null,
      ticks: ticksAlong(facts, curve.input, d3.extent(numbers, (d) => d.value), width - 58, width < 200 ? 3 : 4),
      nice: false,
      tickFormat: tickOf(facts, curve.input),
    },
    marks: [
      Plot.rect(bars, {
        x1: "from",
        x2: "to",
        y1: low - room,
        y2: (d) => low - room + (0.9 * room * d.density) / most,
        fill: "var(--grey)",
        fillOpacity: 0.6,
        insetRight: 0.5,
      }),
      Plot.areaY(numbers, { x: "value", y1: "lower", y2: "upper", fill: "var(--one)", fillOpacity: 0.2 }),
      Plot.lineY(numbers, { x: "value", y: "mean", stroke: "var(--one)", strokeWidth: 2 }),
      ...(missing.length ? [Plot.ruleY(missing, { y: "mean", stroke: "var(--quiet)", strokeDasharray: "3 3" })] : []),
      Plot.tip(
        numbers,
        Plot.pointerX({
          x: "value",
          y: "mean",
          title: (d) =>
            [
              `${curve.name} ${writtenValue(facts, curve.input, d.value)}`,
              `${short(d.mean)} (${short(d.lower)} to ${short(d.upper)})`,
              ...missing.map((m) => `missing: ${short(m.mean)} (dashed)`),
            ].join("\n"),
        }),
      ),
    ],
  });
}

/** The levels of a text one below the other, those of most rows first, with how many rows have each. */
function levels(facts, curve, domain, width) {
  const { counts, missing } = facts.learned.inputs[curve.input];
  const rowsOf = (d, i) => (d.label === "(missing)" ? missing : (counts[i] ?? facts.learned.rows - missing));
  const all = curve.points.map((d, i) => ({ ...d, rows: rowsOf(d, i) })).sort((a, b) => b.rows - a.rows);
  const shown = all.slice(0, LEVELS).map((d, at) => ({ ...d, at }));
  const { room, ticks } = nameRoom(shown.map((d) => d.label), width, 150, all.map((d) => d.label));
  return element(
    "div",
    {},
    plot(width, {
      height: 40 + 20 * shown.length,
      marginLeft: room,
      marginRight: 42,
      marginTop: 8,
      marginBottom: 28,
      x: { label: null, domain, grid: true, nice: true, ticks: 3 },
      y: named(ticks),
      marks: [
        Plot.ruleY(shown, { y: "at", x1: "lower", x2: "upper", stroke: "var(--one)", strokeWidth: 7, strokeOpacity: 0.3 }),
        Plot.dot(shown, {
          y: "at",
          x: "mean",
          fill: "var(--one)",
          r: 4,
          tip: true,
          title: (d) => `${d.label}\n${short(d.mean)} (${short(d.lower)} to ${short(d.upper)})\n${d.rows} rows`,
        }),
        // How many rows there are, in a column of their own.
        Plot.text(shown, { y: "at", frameAnchor: "right", dx: 40, textAnchor: "end", text: "rows", fill: "currentColor" }),
      ],
    }),
    all.length > shown.length
      ? element("p", { className: "read", textContent: `The ${shown.length} most frequent of ${all.length} levels; the CSV has all.` })
      : "",
  );
}

/** Where the values of a number lie, within some range: how many rows there are in a bar for its width. */
function histogram(facts, input, [first, last]) {
  const { edges, counts } = facts.learned.inputs[input].histogram;
  return counts
    .map((count, i) => ({
      density: count / (edges[i + 1] - edges[i]),
      from: Math.max(first, edges[i]),
      to: Math.min(last, edges[i + 1]),
    }))
    .filter((d) => d.density && d.to > d.from);
}

function surfaceOf(facts, task) {
  const { at, mean, rows } = facts.learned.surfaces[task];
  const [first, second] = at.map((axis) => [...axis.numbers, ...axis.labels]);
  const place = (i, j) => i * second.length + j;
  return first.flatMap((a, i) =>
    second.map((b, j) => ({ first: a, second: b, mean: mean[place(i, j)], rows: rows[place(i, j)] })),
  );
}
