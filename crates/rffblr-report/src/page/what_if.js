// The what-if panel: a field for each input, and the prediction of every target recomputed by formula.js at every change.

function drawWhatIf(facts, order) {
  const file = facts.what_if.file;
  const { predict } = predictorOf(file);
  const fields = fieldsOf(file, facts);
  const typical = Object.fromEntries(fields.map((field) => [field.name, field.start]));
  const central = facts.learned?.central ? decodeRow(file, facts.learned.central) : null;
  let start = { ...(central ?? typical) };
  const values = { ...start };
  let task = 0,
    others = 0,
    isFar;

  const answer = element("div", { className: "answer", id: "what-if-answer" });
  answer.setAttribute("aria-live", "polite");
  const warning = element("p", { className: "flag", id: "what-if-far" });
  warning.setAttribute("role", "status");
  const table = element("div", { id: "what-if-targets" });
  const change = element("div", { id: "what-if-change" });
  const curve = element("div", { className: "drawing" });
  const swept = element(
    "select",
    { id: "what-if-sweep" },
    ...order.map((i) => element("option", { value: i, textContent: fields[i].label })),
  );
  const controls = new Map();

  const predictAt = (raw, which) => predict(encodeRow(file, raw), facts.what_if.intervals ? which : undefined);

  function show() {
    const found = predictAt(values, task);
    const interval = intervalOf(found);
    const mean = found.mean[task];
    // What a test reads, with every digit.
    answer.dataset.mean = mean;
    answer.dataset.std = found.std ?? "";
    answer.dataset.lower = interval ? interval[0] : "";
    answer.dataset.upper = interval ? interval[1] : "";
    answer.replaceChildren(
      `${targetName(facts, task)}: ${amount(facts, task, mean)}${ofTarget(facts, task)}`,
      element("small", {
        textContent: interval ? `${amount(facts, task, interval[0])} to ${amount(facts, task, interval[1])} with 90 % probability` : "",
      }),
    );
    flag();
    curve.replaceChildren(tidied(sweep(fields[swept.value]), `What if: ${targetName(facts, task)} along ${fields[swept.value].label}`));
    showTargets(found);
    clearTimeout(others);
    others = setTimeout(() => showTargets(found, true), 60);
  }

  /** What the data say nothing about. */
  function flag() {
    const outside = [];
    for (const field of fields) {
      const value = values[field.name];
      const why =
        typeof value === "symbol"
          ? "a level the model has never seen"
          : value === null
            ? field.hadGaps
              ? ""
              : "never missing in the data"
            : !field.levels && field.observed && (value < field.range[0] || value > field.range[1])
              ? `outside of what was observed: ${ofField(field, field.range[0])} to ${ofField(field, field.range[1])}`
              : "";
      if (why) outside.push(field);
      const own = controls.get(field.name)?.flag;
      // An empty field of the calendar does not say so itself.
      if (own) own.textContent = why || (field.date && value === null ? "missing" : "");
    }
    // The start is a row, or has no rows to be compared with.
    const moved = fields.some((field) => values[field.name] !== start[field.name]);
    if (moved && isFar === undefined) isFar = nearnessOf(facts, file, fields);
    const apart = outside.length || !moved ? [] : (isFar?.({ ...values }) ?? []);
    const names = (list) => list.map((field) => inputName(facts, field.position));
    warning.textContent = outside.length
      ? `Beyond the data: ${names(outside).join(", ")}. The prediction is a guess; believe its interval at most.`
      : apart.length === 2
        ? `Far from all rows: none has such values of ${names(apart).join(" and ")} together. The prediction rests on others.`
        : apart.length
          ? "Far from all rows: no row has a combination of inputs like this one. The prediction rests on others."
          : "";
    warning.hidden = !warning.textContent;
  }

  /** All targets, before and after; intervals of those that are not chosen come a moment later. */
  function showTargets(found, all = false) {
    // The mean of a transformed target takes as long as its interval.
    const transformed = (c) => Boolean(file.transforms?.[c]);
    const pointOf = (raw, c) => (transformed(c) ? predictAt(raw, c) : predict(encodeRow(file, raw), undefined)).mean[c];
    const rows = facts.targets.map((_, c) => {
      const name = targetName(facts, c) + unitOf(facts.target_labels[c]);
      if (transformed(c) && !all && c !== task) return [name, "–", "–", "–", "–"];
      const [before, after] = [pointOf(start, c), c === task ? found.mean[c] : pointOf(values, c)];
      const interval = c === task ? intervalOf(found) : all ? intervalOf(predictAt(values, c)) : null;
      return [
        name,
        amount(facts, c, before),
        amount(facts, c, after),
        interval ? `${amount(facts, c, interval[0])} to ${amount(facts, c, interval[1])}` : "–",
        signed(after - before),
      ];
    });
    table.replaceChildren(tableOf(["target", "before", "after", "90 % interval", "change"], rows, "All targets"));
    table.querySelectorAll("tbody tr")[task].className = "chosen";
    const changed = fields.filter((field) => values[field.name] !== start[field.name]);
    if (!changed.length) {
      change.replaceChildren(element("p", { className: "read", textContent: "Nothing is changed yet: change an input." }));
      return;
    }
    const at = (some) => {
      const raw = { ...start };
      some.forEach((i) => (raw[changed[i].name] = values[changed[i].name]));
      return predict(encodeRow(file, raw), undefined).mean;
    };
    const { sums, exact } = contributions(changed.length, at);
    const lines = changed
      .map((field, i) => ({ field, by: sums[i][task] }))
      .sort((a, b) => Math.abs(b.by) - Math.abs(a.by))
      .slice(0, 12)
      .map(({ field, by }) => `${field.label}: ${written(field, start[field.name])} → ${written(field, values[field.name])} (${signed(by)})`);
    change.replaceChildren(
      element("p", {
        className: "read",
        textContent: `What the changes add to ${transformed(task) ? "the median of " : ""}${targetName(facts, task)}${exact ? "" : ", averaged over 16 orders of making them"}:`,
      }),
      element("ul", {}, ...lines.map((textContent) => element("li", { textContent }))),
    );
  }

  const ofField = (field, value) => writtenValue(facts, field.position, value);
  const written = (field, value) =>
    value === null ? "missing" : typeof value === "symbol" ? "another" : field.presence ? "present" : field.levels ? value : ofField(field, value);

  /** The prediction while one input runs through its range and the others stay. */
  function sweep(field) {
    const width = Math.max(260, curve.clientWidth || 520);
    const at = (value) => {
      const found = predictAt({ ...values, [field.name]: value }, task);
      const [lower, upper] = intervalOf(found) ?? [found.mean[task], found.mean[task]];
      return { value, mean: found.mean[task], lower, upper };
    };
    const now = { ...at(values[field.name]), value: values[field.name] };
    const title = (d) => `${short(d.mean)}\n${short(d.lower)} to ${short(d.upper)}`;
    if (field.levels) {
      const points = (field.presence ? [0, null] : field.levels.slice(0, 20)).map((value, i) => ({ ...at(value), i }));
      const names = points.map((d) => (field.presence ? (d.value === null ? "missing" : "present") : String(d.value)));
      const { room, ticks } = nameRoom(names, width, 150);
      return plot(width, {
        height: 50 + 20 * points.length,
        marginLeft: room,
        marginRight: 12,
        y: named(ticks),
        x: { label: `${targetAxis(facts, task)} →`, grid: true, nice: true, ticks: 4 },
        marks: [
          Plot.ruleY(points, { y: "i", x1: "lower", x2: "upper", stroke: "var(--one)", strokeOpacity: 0.35, strokeWidth: 6 }),
          Plot.dot(points, {
            y: "i",
            x: "mean",
            fill: (d) => (d.value === now.value ? "var(--two)" : "var(--one)"),
            symbol: (d) => (d.value === now.value ? "diamond" : "circle"),
            r: 4.5,
            tip: true,
            title: (d) => `${names[d.i]}\n${title(d)}`,
          }),
        ],
        color: { type: "identity" },
        symbol: { type: "identity" },
      });
    }
    const steps = 40;
    const [low, high] = [
      Math.min(field.range[0], now.value ?? field.range[0]),
      Math.max(field.range[1], now.value ?? field.range[1]),
    ];
    const along = d3.range(steps + 1).map((i) => low + ((high - low) * i) / steps);
    const points = (field.date ? [...new Set(along.map(field.date.whole))] : along).map(at);
    return plot(width, {
      height: 240,
      marginRight: 14,
      x: {
        label: `${field.label} →`,
        ticks: ticksAlong(facts, field.position, [low, high], width - 72, width < 400 ? 4 : undefined),
        tickFormat: isDate(facts, field.position) ? tickOf(facts, field.position) : undefined,
      },
      y: { label: `↑ ${targetAxis(facts, task)}`, grid: true, nice: true },
      marks: [
        // What was not observed is hatched by its edge.
        ...(field.observed
          ? [Plot.ruleX(field.range.filter((v) => v > low && v < high), { stroke: "var(--quiet)", strokeDasharray: "2 3" })]
          : []),
        Plot.areaY(points, { x: "value", y1: "lower", y2: "upper", fill: "var(--one)", fillOpacity: 0.16 }),
        Plot.lineY(points, { x: "value", y: "mean", stroke: "var(--one)", strokeWidth: 2 }),
        ...(now.value === null
          ? []
          : [
              Plot.ruleX([now], { x: "value", stroke: "var(--two)", strokeDasharray: "3 3" }),
              Plot.dot([now], { x: "value", y: "mean", fill: "var(--two)", symbol: "diamond", r: 6 }),
            ]),
        Plot.tip(points, Plot.pointerX({ x: "value", y: "mean", title: (d) => `${field.label} ${ofField(field, d.value)}\n${title(d)}` })),
      ],
    });
  }

  /** The number or the level of an input. An empty number is a missing one, where the model knows such. */
  function controlOf(field) {
    if (field.levels) {
      const extra = [...(field.mayMiss ? ["(missing)"] : []), ...(field.presence ? [] : ["(another)"])];
      const control = element(
        "select",
        {},
        ...[...field.levels, ...extra].map((text, i) => element("option", { value: i, textContent: text })),
      );
      control.addEventListener("change", () => {
        const index = Number(control.value);
        const missing = field.mayMiss && index === field.levels.length;
        values[field.name] = missing
          ? null
          : field.presence
            ? 0
            : index < field.levels.length
              ? field.levels[index]
              : Symbol.for("another");
        show();
      });
      control.load = (value) => {
        const at = value === null ? (field.mayMiss ? field.levels.length : 0) : field.presence ? 0 : field.levels.indexOf(value);
        control.value = at;
      };
      return { control, parts: [control] };
    }
    const { date } = field;
    const [low, high] = field.range;
    const control = element("input", { type: date ? date.type : "number", step: date?.type === "date" ? 1 : "any" });
    if (date && field.observed) Object.assign(control, { min: date.text(low), max: date.text(high) });
    const text = (value) => (value === null ? "" : date ? date.text(value) : value);
    const slider = element("input", { type: "range", min: low, max: high, step: date?.type === "date" ? 1 : (high - low) / 200 || "any" });
    slider.setAttribute("aria-label", `${field.label}, slider over what was observed`);
    const slide = (value) => {
      if (value !== null) slider.value = value;
      if (date) slider.setAttribute("aria-valuetext", value === null ? "missing" : ofField(field, value));
    };
    control.addEventListener("input", () => {
      const empty = control.value.trim() === "";
      const bad = control.validity.badInput || (empty && !field.mayMiss);
      const kind = date ? { date: "date", time: "time", "datetime-local": "date and a time" }[date.type] : "number";
      control.setCustomValidity(bad ? `write a ${kind}` : "");
      if (bad) {
        control.flag.textContent = `needs a ${kind}; the prediction is that of the last one`;
        return;
      }
      values[field.name] = empty ? null : date ? date.days(control) : Number(control.value);
      slide(values[field.name]);
      show();
    });
    slider.addEventListener("input", () => {
      const value = Number(slider.value);
      values[field.name] = date ? date.whole(value) : Number(value.toPrecision(4));
      control.value = text(values[field.name]);
      slide(values[field.name]);
      show();
    });
    control.load = (value) => {
      control.value = text(value);
      slide(value);
    };
    if (field.mayMiss) control.placeholder = "missing";
    const most = d3.max(field.bars, (d) => d.count / d.width) || 1;
    const bars = element(
      "div",
      { className: "density" },
      ...field.bars.map(({ count, width }) => {
        const bar = element("i");
        bar.style.height = `${(100 * count) / width / most}%`;
        bar.style.flexGrow = width;
        return bar;
      }),
    );
    bars.setAttribute("aria-hidden", "true");
    return { control, parts: [control, ...(field.bars.length ? [bars] : []), slider] };
  }

  function fieldFor(field) {
    const { control, parts } = controlOf(field);
    control.id = `what-if-${field.position}`;
    control.dataset.input = field.name;
    control.flag = element("span", { className: "flag" });
    control.flag.setAttribute("role", "status");
    control.load(values[field.name]);
    for (const part of parts.filter((part) => part.matches("input, select")))
      part.addEventListener("focus", () => {
        if (swept.value !== String(field.position)) {
          swept.value = field.position;
          show();
        }
      });
    controls.set(field.name, control);
    return element("div", { className: "field" }, element("label", { htmlFor: control.id, textContent: field.label }), ...parts, control.flag);
  }

  function load(raw) {
    start = { ...raw };
    for (const field of fields) {
      values[field.name] = raw[field.name];
      controls.get(field.name).load(raw[field.name]);
    }
    show();
  }

  const MOST = 10;
  const first = element("div", { className: "fields" }, ...order.slice(0, MOST).map((i) => fieldFor(fields[i])));
  const more = order.slice(MOST);
  const rest = more.length
    ? [
        element(
          "details",
          {},
          element("summary", { textContent: `${more.length} more inputs` }),
          element("div", { className: "fields" }, ...more.map((i) => fieldFor(fields[i]))),
        ),
      ]
    : [];
  const choices = element("div", { className: "choices" }, element("label", {}, "Curve along", swept));
  const rows = facts.quality?.rows;
  const inputs = shownInputs(facts);
  const centre = central ? (rows && !facts.quality.new ? numberOf(rows) : "the most central row") : "typical values";
  function numberOf(rows) {
    const at = rows.position.indexOf(facts.learned.central_row);
    return at < 0 ? "the most central row" : `row ${rows.number[at]} (most central)`;
  }
  const pick = element(
    "select",
    { id: "what-if-row" },
    element("option", { value: "", textContent: centre }),
    ...(inputs.length ? rows.number.map((number, i) => element("option", { value: i, textContent: `row ${number}` })) : []),
  );
  pick.addEventListener("change", () =>
    load(
      pick.value === ""
        ? (central ?? typical)
        : decodeRow(
            file,
            inputs.map((column) => column[pick.value]),
          ),
    ),
  );
  choices.prepend(element("label", {}, "Start from", pick));
  swept.addEventListener("change", show);
  const note = facts.what_if.absent ? [element("p", { className: "note", textContent: facts.what_if.absent })] : [];
  const panel = element(
    "div",
    { className: "what-if" },
    element("div", {}, choices, first, ...rest),
    element("div", {}, element("div", { className: "sticky" }, answer, warning), table, change, ...note, curve),
  );
  return {
    panel,
    update: (chosen) => {
      task = chosen;
      show();
    },
  };
}
