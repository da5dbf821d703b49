// The what-if panel: a form with one field for each input, and the prediction recomputed by formula.js at every change.

/** Raw inputs with what a field needs: kind, levels, where to start. */
function fieldsOf(file, facts) {
  const raws = file.encoder
    ? file.encoder.inputs
    : file.inputs.names.map((name, d) => ({
        name,
        encoding: { numeric: { median: file.inputs.mean[d], indicator: false } },
      }));
  const mayMiss = file.encoder ? file.encoder.missing === "impute" : false;
  let column = 0;
  return raws.map(({ name, encoding }) => {
    const first = column;
    const strip = facts.quality?.strips[first];
    if (encoding === "presence") {
      column += 1;
      return { name, levels: ["present"], start: "present", presence: true, mayMiss, column: first };
    }
    if (encoding.categorical) {
      const { levels } = encoding.categorical;
      column += levels.length + 1;
      return { name, levels, start: levels[0], mayMiss, column: first };
    }
    column += encoding.numeric.indicator ? 2 : 1;
    const spread = 2.5 * file.inputs.scale[first];
    const range = strip
      ? [strip.low, strip.high]
      : [file.inputs.mean[first] - spread, file.inputs.mean[first] + spread];
    return { name, levels: null, start: Number(encoding.numeric.median.toPrecision(4)), mayMiss, column: first, range };
  });
}

function drawWhatIf(facts, order) {
  const file = facts.what_if.file;
  const { predict } = predictorOf(file);
  const fields = fieldsOf(file, facts);
  const values = Object.fromEntries(fields.map((field) => [field.name, field.presence ? 0 : field.start]));
  let task = 0;

  const answer = element("div", { className: "answer", id: "what-if-answer" });
  answer.setAttribute("aria-live", "polite");
  const curve = element("div", { className: "drawing" });
  const level = element(
    "select",
    { id: "what-if-level" },
    ...facts.what_if.levels.map(([p]) => element("option", { value: p, textContent: `${p * 100} %` })),
  );
  level.value = "0.9";
  const swept = element(
    "select",
    { id: "what-if-sweep" },
    ...order.map((i) => element("option", { value: i, textContent: fields[i].name })),
  );
  const controls = new Map();

  const predictAt = (raw) => predict(encodeRow(file, raw), facts.what_if.intervals ? task : undefined);
  function show() {
    const found = predictAt(values);
    const reach = facts.what_if.levels[level.selectedIndex][1];
    const [mean, std] = [found.mean[task], found.std];
    const [lower, upper] = std === undefined ? [] : [found.at(-reach), found.at(reach)];
    // What a test reads, with every digit.
    answer.dataset.mean = mean;
    answer.dataset.std = std ?? "";
    answer.dataset.lower = lower ?? "";
    answer.dataset.upper = upper ?? "";
    answer.replaceChildren(
      `${facts.targets[task]} = ${short(mean)}`,
      element("small", {
        textContent:
          std === undefined
            ? ""
            : `${short(lower)} to ${short(upper)} with ${level.value * 100} % probability; ` +
              `standard deviation ${short(std)}, without noise ${short(found.latentStd)}`,
      }),
    );
    curve.replaceChildren(sweep(fields[swept.value], reach));
  }

  /** The prediction while one input runs through its range and the others stay. */
  function sweep(field, reach) {
    const width = Math.max(260, curve.clientWidth || 520);
    const at = (value) => {
      const { mean, at } = predictAt({ ...values, [field.name]: value });
      const [lower, upper] = at ? [at(-reach), at(reach)] : [mean[task], mean[task]];
      return { value, mean: mean[task], lower, upper };
    };
    const now = { ...at(values[field.name]), value: values[field.name] };
    if (field.levels) {
      const points = field.presence ? [0, null].map(at) : field.levels.slice(0, 30).map(at);
      const name = (d) => (field.presence ? (d.value === null ? "missing" : "present") : (d.value ?? "missing"));
      return plot(width, {
        height: 260,
        marginBottom: 46,
        x: { label: field.name, tickFormat: clipped(10), domain: points.map(name) },
        y: { label: `↑ ${axisName(facts.targets[task])}`, grid: true, nice: true },
        marks: [
          Plot.ruleX(points, {
            x: name,
            y1: "lower",
            y2: "upper",
            stroke: "var(--one)",
            strokeOpacity: 0.35,
            strokeWidth: 6,
          }),
          Plot.dot(points, {
            x: name,
            y: "mean",
            fill: (d) => (d.value === now.value ? "var(--two)" : "var(--one)"),
            r: 4,
            tip: true,
          }),
        ],
      });
    }
    const steps = 48;
    const [low, high] = [
      Math.min(field.range[0], now.value ?? field.range[0]),
      Math.max(field.range[1], now.value ?? field.range[1]),
    ];
    const points = d3.range(steps + 1).map((i) => at(low + ((high - low) * i) / steps));
    return plot(width, {
      height: 260,
      x: { label: `${axisName(field.name)} →` },
      y: { label: `↑ ${axisName(facts.targets[task])}`, grid: true, nice: true },
      marks: [
        Plot.areaY(points, { x: "value", y1: "lower", y2: "upper", fill: "var(--one)", fillOpacity: 0.16 }),
        Plot.lineY(points, { x: "value", y: "mean", stroke: "var(--one)", strokeWidth: 2 }),
        ...(now.value === null
          ? []
          : [
              Plot.ruleX([now], { x: "value", stroke: "var(--two)", strokeDasharray: "3 3" }),
              Plot.dot([now], { x: "value", y: "mean", fill: "var(--two)", r: 5 }),
            ]),
        Plot.tip(
          points,
          Plot.pointerX({
            x: "value",
            y: "mean",
            title: (d) => `${field.name} ${short(d.value)}\n${short(d.mean)}\n${short(d.lower)} to ${short(d.upper)}`,
          }),
        ),
      ],
    });
  }

  /** A field for an input. An empty number is a missing one, where the model knows such. */
  function fieldFor(field) {
    let control;
    if (field.levels) {
      const extra = [...(field.mayMiss ? ["(missing)"] : []), ...(field.presence ? [] : ["(another)"])];
      control = element(
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
      control.load = (value) =>
        (control.value =
          value === null
            ? field.mayMiss
              ? field.levels.length
              : 0
            : field.presence
              ? 0
              : field.levels.indexOf(value));
    } else {
      control = element("input", { type: "number", step: "any" });
      control.addEventListener("input", () => {
        const empty = control.value.trim() === "";
        const bad = control.validity.badInput || (empty && !field.mayMiss);
        control.setCustomValidity(bad ? "write a number" : "");
        if (bad) return;
        values[field.name] = empty ? null : Number(control.value);
        show();
      });
      control.load = (value) => (control.value = value === null ? "" : value);
      if (field.mayMiss) control.placeholder = "missing";
    }
    control.dataset.input = field.name;
    control.load(field.presence ? 0 : field.start);
    control.addEventListener("focus", () => {
      if (order.includes(fields.indexOf(field)) && swept.value !== String(fields.indexOf(field))) {
        swept.value = fields.indexOf(field);
        show();
      }
    });
    controls.set(field.name, control);
    return element("label", {}, field.name, control);
  }

  function load(raw) {
    for (const field of fields) {
      values[field.name] = raw[field.name];
      controls.get(field.name).load(raw[field.name]);
    }
    show();
  }

  const MOST = 12;
  const first = element("div", { className: "fields" }, ...order.slice(0, MOST).map((i) => fieldFor(fields[i])));
  const others = order.slice(MOST);
  const rest = others.length
    ? [
        element(
          "details",
          {},
          element("summary", { textContent: `${others.length} more inputs` }),
          element("div", { className: "fields" }, ...others.map((i) => fieldFor(fields[i]))),
        ),
      ]
    : [];
  const choices = element(
    "div",
    { className: "choices" },
    element("label", {}, "Interval", level),
    element("label", {}, "Curve along", swept),
  );
  const rows = facts.quality?.rows;
  const inputs = shownInputs(facts);
  if (inputs.length) {
    const pick = element(
      "select",
      { id: "what-if-row" },
      element("option", { value: "", textContent: "typical values" }),
      ...rows.number.map((number, i) => element("option", { value: i, textContent: `row ${number}` })),
    );
    const typical = { ...values };
    pick.addEventListener("change", () =>
      load(
        pick.value === ""
          ? typical
          : decodeRow(
              file,
              inputs.map((column) => column[pick.value]),
            ),
      ),
    );
    choices.prepend(element("label", {}, "Start from", pick));
  }
  level.addEventListener("change", show);
  swept.addEventListener("change", show);
  const note = facts.what_if.absent ? [element("p", { className: "note", textContent: facts.what_if.absent })] : [];
  const panel = element(
    "div",
    { className: "what-if" },
    element("div", {}, choices, first, ...rest),
    element("div", {}, answer, ...note, curve),
  );
  return {
    panel,
    update: (chosen) => {
      task = chosen;
      show();
    },
  };
}
