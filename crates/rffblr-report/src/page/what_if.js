// The what-if panel: a field for each input, and the prediction of every target recomputed by formula.js at every change.

/** Raw inputs with what a field needs: kind, levels, range, and where to start if no row may be shown. */
function fieldsOf(file, facts) {
  const raws = file.encoder
    ? file.encoder.inputs
    : file.inputs.names.map((name, d) => ({
        name,
        encoding: { numeric: { median: file.inputs.mean[d], indicator: false } },
      }));
  const mayMiss = file.encoder ? file.encoder.missing === "impute" : false;
  let column = 0;
  return raws.map(({ name, encoding }, i) => {
    const first = column;
    const known = facts.learned?.inputs[i];
    const field = { name, label: inputAxis(facts, i), position: i, mayMiss, hadGaps: true, column: first };
    if (encoding === "presence") {
      column += 1;
      return { ...field, levels: ["present"], start: 0, presence: true };
    }
    if (encoding.categorical) {
      const { levels } = encoding.categorical;
      column += levels.length + 1;
      const most = known?.counts.length ? d3.maxIndex(known.counts) : 0;
      return { ...field, levels, start: levels[most], hadGaps: encoding.categorical.gaps };
    }
    const { date } = encoding;
    const number = date ?? encoding.numeric;
    column += 1 + (date ? 2 * date.cycles.length : 0) + (number.indicator ? 1 : 0);
    const spread = 2.5 * file.inputs.scale[first];
    const seen = known?.histogram;
    const range = seen
      ? [seen.edges[0], seen.edges.at(-1)]
      : [file.inputs.mean[first] - spread, file.inputs.mean[first] + spread];
    // Without row data the ends are between two rows: whole days only.
    if (date && !facts.dates[i].times && Math.ceil(range[0]) <= Math.floor(range[1])) {
      range[0] = Math.ceil(range[0]);
      range[1] = Math.floor(range[1]);
    }
    return {
      ...field,
      levels: null,
      date: date ? calendarOf(facts, i) : null,
      start: date ? number.median : Number(number.median.toPrecision(4)),
      range,
      observed: Boolean(seen),
      hadGaps: number.indicator,
      bars: seen ? seen.counts.map((count, k) => ({ count, width: (seen.edges[k + 1] - seen.edges[k]) / (range[1] - range[0] || 1) })) : [],
    };
  });
}

/**
 * How the days of a date become what a field of the calendar holds, and the way back: a day, a day with its time, or the time of
 * a day. `whole` brings any number of days to one that the field can hold.
 */
function calendarOf(facts, input) {
  const { since, times, clock } = facts.dates[input];
  const type = clock ? "time" : times ? "datetime-local" : "date";
  const part = { time: [11, 19], "datetime-local": [0, 19], date: [0, 10] }[type];
  const text = (days) => {
    const moment = momentOf(facts, input, days);
    return Number.isNaN(moment.getTime()) ? "" : moment.toISOString().slice(...part);
  };
  const step = type === "date" ? 86_400 : 60;
  const whole = (days) => (step * Math.round((since + 86_400 * days) / step) - since) / 86_400;
  return { type, text, whole, days: (control) => (control.valueAsNumber / 1000 - since) / 86_400 };
}

/** The 90 % interval of a prediction of one target. */
function intervalOf(found) {
  return found.interval ?? null;
}

/**
 * What each of some changes adds to a prediction, over all orders of making them (Shapley values); with many changes, over
 * sixteen orders. `at(changed)` gives the means with some of them made.
 */
function contributions(count, at) {
  const zero = at([]).map(() => 0);
  const sums = d3.range(count).map(() => [...zero]);
  const orders = [];
  if (count <= 4) permute([], d3.range(count), orders);
  else
    for (let k = 0; k < 8; k++) {
      const order = d3.range(count).map((i) => (i * coprime(count, k) + Math.floor((k * count) / 8)) % count);
      orders.push(order, [...order].reverse());
    }
  const known = new Map();
  const value = (some) => {
    const key = [...some].sort((a, b) => a - b).join();
    if (!known.has(key)) known.set(key, at(some));
    return known.get(key);
  };
  for (const order of orders) {
    order.forEach((input, k) => {
      const [before, after] = [value(order.slice(0, k)), value(order.slice(0, k + 1))];
      after.forEach((mean, c) => (sums[input][c] += (mean - before[c]) / orders.length));
    });
  }
  return { sums, exact: count <= 4 };
}

function permute(done, left, out) {
  if (!left.length) out.push(done);
  left.forEach((next, i) => permute([...done, next], [...left.slice(0, i), ...left.slice(i + 1)], out));
}

/** A step through 0 … count − 1 that comes by every place. */
function coprime(count, k) {
  const gcd = (a, b) => (b ? gcd(b, a % b) : a);
  let step = 1 + ((k * 7) % count);
  while (gcd(step, count) !== 1) step++;
  return step;
}

/**
 * Whether rows have values like these together: a function that gives the inputs that do not go together, none if there is
 * no doubt; null where the page has no rows. Two numbers do not if both are extreme and no row is as far out in both, or if they
 * are farther from the nearest row than every row from its neighbour; all inputs, by how much they matter, if they are
 * farther than nearly every row.
 */
function nearnessOf(facts, file, fields) {
  const columns = shownInputs(facts);
  if (!columns.length || columns[0].length < 20) return null;
  const step = Math.ceil(columns[0].length / 500);
  const rows = d3.range(0, columns[0].length, step).map((n) => decodeRow(file, columns.map((column) => column[n])));
  const share = facts.learned.relevance.share;
  const weight = fields.map((field) => d3.mean(share, (task) => task[field.position]));
  const used = [...fields].sort((a, b) => weight[b.position] - weight[a.position]).slice(0, 20);
  const along = (field, a, b) => {
    if (a === null || b === null || field.levels) return a === b ? 0 : 1;
    return Math.min(2, Math.abs(a - b) / (field.range[1] - field.range[0] || 1));
  };
  const distance = (a, b) => d3.sum(used, (field) => weight[field.position] * along(field, a[field.name], b[field.name]));
  const nearest = (row, but) => d3.min(rows, (other) => (other === but ? Infinity : distance(row, other)));
  const sample = rows.filter((_, i) => i % Math.ceil(rows.length / 120) === 0);
  const limit = 1.2 * d3.quantile(sample.map((row) => nearest(row, row)).sort(d3.ascending), 0.98);
  // One of a hundred rows has less, or more.
  const sorted = new Map(used.map((field) => [field, rows.map((row) => row[field.name]).filter((v) => v !== null).sort(d3.ascending)]));
  const tailOf = (field, value) => {
    const all = sorted.get(field);
    return 100 * d3.bisectRight(all, value) <= all.length ? -1 : 100 * (all.length - d3.bisectLeft(all, value)) <= all.length ? 1 : 0;
  };
  // Of two numbers all rows are compared with each other, those without gaps.
  const plane = ([a, b]) => {
    const place = (row) => [a, b].map((field) => row[field.name] / (field.range[1] - field.range[0] || 1));
    const full = (row) => row[a.name] !== null && row[b.name] !== null;
    const points = rows.filter(full).map(place);
    const nearest = ([x, y], but) => {
      let least = Infinity;
      for (let i = 0; i < points.length; i++)
        if (i !== but) least = Math.min(least, Math.abs(points[i][0] - x) + Math.abs(points[i][1] - y));
      return least;
    };
    const limit = 1.25 * d3.max(points, (point, i) => nearest(point, i));
    const lonely = (row) => {
      const tails = [a, b].map((field) => tailOf(field, row[field.name]));
      const asFar = (field, i, other) => tails[i] * (other[field.name] - row[field.name]) >= 0;
      return tails.every((tail) => tail) && !rows.some((other) => full(other) && asFar(a, 0, other) && asFar(b, 1, other));
    };
    return { inputs: [a, b], far: (row) => full(row) && (lonely(row) || nearest(place(row)) > limit) };
  };
  const numbers = used.filter((field) => !field.levels).slice(0, 12);
  const planes = d3.cross(numbers, numbers).filter(([a, b]) => a.position < b.position).map(plane);
  return (row) => planes.find(({ far }) => far(row))?.inputs ?? (nearest(row, null) > limit ? used : []);
}

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
