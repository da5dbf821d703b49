// Figures of what the model learned: which inputs matter, how targets depend on them.

const NEEDS_BACKGROUND = "needs rows to look at the function around: give the training data when the report is made";
const needsLearned = (facts) => (facts.learned ? null : NEEDS_BACKGROUND);
const MOST_INPUTS = 30;
/** How Shapley values of a transformed target come into its unit. */
const SHARED_OUT =
  "Of a target that was learned as a transform, the difference between typical and own prediction is shared out in its own unit, in the " +
  "proportions that the inputs have on the scale of the transform.";

const LEARNED_FIGURES = [
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

/** Which rows a mean prediction is taken over. */
function averagedOver(facts) {
  const { averaged_over, rows } = facts.learned;
  return onSome(averaged_over, rows) || "the data";
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
