// The figure that takes the prediction of a training row apart.

const SINGLE_FIGURES = [
  {
    section: "single",
    id: "local",
    once: true,
    title: "A training row taken apart",
    wide: true,
    read: (facts) =>
      "From the average prediction to that of one row, input by input (Shapley values): orange raises it, blue " +
      `lowers it; together they add up exactly. The row itself is among the data here.${rowsExplained(facts)}`,
    needs: (facts) => (facts.quality && !facts.quality.rows ? NEEDS_ROWS : facts.local ? null : NEEDS_DATA),
    row: 0,
    table: (facts, task) => localTable(facts, task),
    draw(facts, task, width) {
      const select = element(
        "select",
        { id: "local-row" },
        ...facts.local.rows.map((at, i) =>
          element("option", { value: i, textContent: `row ${facts.quality.rows.number[at]}` }),
        ),
      );
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
];

/** The inputs of the rows shown, one list for each column; empty if the page does not have them. */
function shownInputs(facts) {
  const rows = facts.quality?.rows;
  if (rows && !rows.inputs.length && facts.what_if.file?.function.kernel) {
    rows.inputs = storedInputs(facts.what_if.file).map((column) => rows.position.map((n) => column[n]));
  }
  return rows?.inputs ?? [];
}

function rowsExplained(facts) {
  const [shown, all] = [facts.local?.rows.length, facts.model.rows];
  const against = facts.local?.background;
  if (shown < all) return ` Explained are ${shown} of ${all} rows, spread evenly, each against ${against}.`;
  return against < all ? ` Each row is compared with ${against} of all ${all}, spread evenly.` : "";
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
    const parts = facts.local.parts[task][i].map(([input, value, std]) => ({
      row,
      input: nameOf(facts, input),
      value: cellOf(facts, input, at),
      shapley: value,
      std,
    }));
    return [
      { row, input: "(average prediction)", value: "", shapley: facts.local.base[task], std: null },
      ...parts,
      ...(facts.local.others
        ? [{ row, input: "(all others)", value: "", shapley: facts.local.rest[task][i], std: null }]
        : []),
    ];
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
    return step(
      cell === "" ? nameOf(facts, input) : `${clipped(18)(nameOf(facts, input))} = ${clipped(12)(cell)}`,
      value,
      std,
    );
  });
  if (facts.local.others) bars.push(step(`${facts.local.others} others`, facts.local.rest[task][i], null));
  const observed = facts.quality.rows.observed[task][at];
  const names = bars.map((d) => d.label);
  const seen = observed === null ? "not observed" : `observed ${short(observed)}`;
  const row = facts.quality.rows.number[at];
  const words = `Row ${row}: predicted ${short(level)}, ${seen}; the average prediction is ${short(base)}.`;
  return [
    plot(width, {
      height: 50 + 24 * bars.length,
      marginLeft: Math.min(230, width / 2.4),
      marginRight: 60,
      x: { label: `${axisName(facts.targets[task])} →`, grid: true, nice: true },
      y: { label: null, domain: names, tickFormat: clipped(Math.floor(Math.min(230, width / 2.4) / 7)) },
      marks: [
        Plot.barX(bars, {
          y: "label",
          x1: "from",
          x2: "to",
          fill: (d) => (d.value >= 0 ? "var(--two)" : "var(--one)"),
          insetTop: 3,
          insetBottom: 3,
          tip: true,
          title: (d) => `${d.label}\n${d.value >= 0 ? "+" : ""}${short(d.value)}${d.std ? ` ± ${short(d.std)}` : ""}`,
        }),
        Plot.ruleY(
          bars.filter((d) => d.std),
          { y: "label", x1: (d) => d.to - d.std, x2: (d) => d.to + d.std, stroke: "currentColor", strokeWidth: 1.5 },
        ),
        Plot.text(bars, {
          y: "label",
          x: (d) => Math.max(d.from, d.to + (d.std ?? 0)),
          text: (d) => `${d.value >= 0 ? "+" : ""}${short(Number(d.value.toPrecision(3)))}`,
          dx: 5,
          textAnchor: "start",
          fill: "currentColor",
        }),
        Plot.ruleX([base], { stroke: "currentColor", strokeOpacity: 0.5 }),
        Plot.ruleX([level], { stroke: "var(--three)", strokeWidth: 2 }),
        ...(observed === null ? [] : [Plot.ruleX([observed], { stroke: "currentColor", strokeDasharray: "3 3" })]),
      ],
      color: { type: "identity" },
    }),
    element("p", {
      className: "note",
      textContent: `${words} Grey line: average; green: prediction; dashed: observed.`,
    }),
  ];
}
