// The figure that takes the prediction of a row apart.

const SINGLE_FIGURES = [
  {
    section: "single",
    id: "local",
    once: true,
    title: "A row taken apart",
    wide: true,
    read: (facts) =>
      "From the average prediction to that of one row, input by input (Shapley values): orange raises it, blue lowers it; together " +
      `they add up exactly. ${facts.quality?.new ? "The model has never seen the row." : "The prediction is the one made without that row."}` +
      (facts.local?.parts[0]?.[0]?.some(([, , std]) => std !== null) ? " Thin lines are 90 % intervals." : "") +
      (facts.targets.some((_, c) => isTransformed(facts, c)) ? ` ${SHARED_OUT}` : "") +
      rowsExplained(facts),
    finding(facts, task) {
      const i = Math.min(this.row, facts.local.rows.length - 1);
      const at = facts.local.rows[i];
      const { number, mean, observed, lower, upper } = facts.quality.rows;
      const seen = observed[task][at] === null ? "not observed" : `observed ${amount(facts, task, observed[task][at])}`;
      const parts = facts.local.parts[task][i].map(([input, value]) => [inputName(facts, input), value]);
      if (facts.local.others) parts.push([counted(facts.local.others, "other input"), facts.local.rest[task][i]]);
      const first = d3.greatest(parts, ([, value]) => Math.abs(value));
      return (
        `Row ${number[at]}: predicted ${amount(facts, task, mean[task][at])}${ofTarget(facts, task)} ` +
        `(${amount(facts, task, lower[task][at])} to ${amount(facts, task, upper[task][at])}), ${seen}` +
        (first ? `; largest part: ${first[0]} (${signed(first[1])}${ofTarget(facts, task)}).` : ".")
      );
    },
    needs: (facts) => (facts.quality && !facts.quality.rows ? NEEDS_ROWS : facts.local ? null : NEEDS_DATA),
    row: 0,
    search: "",
    table: (facts, task) => localTable(facts, task),
    draw(facts, task, width, said) {
      const search = element("input", { id: "local-search", type: "search", value: this.search, autocomplete: "off" });
      search.placeholder = "number of a row, or a value";
      const select = element("select", { id: "local-row" });
      const body = element("div");
      const list = () => {
        const found = foundRows(facts, search.value);
        select.replaceChildren(
          ...found.map((i) =>
            element("option", { value: i, textContent: `row ${facts.quality.rows.number[facts.local.rows[i]]}` }),
          ),
        );
        select.disabled = !found.length;
        if (!found.includes(this.row)) this.row = found[0] ?? this.row;
        select.value = this.row;
        count.textContent = search.value.trim() ? `${found.length} found` : "";
      };
      const show = () => {
        body.replaceChildren(...waterfall(facts, task, this.row, width));
        said();
      };
      const count = element("span", { className: "read" });
      count.setAttribute("role", "status");
      list();
      search.addEventListener("input", () => {
        this.search = search.value;
        list();
        show();
      });
      select.addEventListener("change", () => {
        this.row = Number(select.value);
        show();
      });
      body.replaceChildren(...waterfall(facts, task, this.row, width));
      return element(
        "div",
        {},
        element("div", { className: "choices" }, element("label", {}, "Find rows", search), element("label", {}, "Row", select), count),
        body,
      );
    },
  },
];

/** The rows with a number that was asked for, else with a whole cell like it, else with a text that has it in it. */
function foundRows(facts, text) {
  const all = d3.range(facts.local.rows.length);
  const wanted = text.trim().toLowerCase().replace(/\s*=\s*/, " ");
  if (!wanted) return all;
  const cells = all.map((i) =>
    facts.learned.inputs.flatMap((_, input) => {
      const cell = cellOf(facts, input, facts.local.rows[i]).toLowerCase();
      return [cell, `${inputName(facts, input).toLowerCase()} ${cell}`];
    }),
  );
  const numeric = !Number.isNaN(Number(wanted));
  const ways = [
    (i) => String(facts.quality.rows.number[facts.local.rows[i]]) === wanted,
    (i) => cells[i].includes(wanted),
    (i) => !numeric && cells[i].some((cell) => cell.includes(wanted)),
  ];
  return ways.map((way) => all.filter(way)).find((found) => found.length) ?? [];
}

/** The inputs of the rows shown, one list for each column; empty if the page does not have them. */
function shownInputs(facts) {
  const rows = facts.quality?.rows;
  if (rows && !rows.inputs.length && !facts.quality.new && facts.what_if.file?.function.kernel) {
    rows.inputs = storedInputs(facts.what_if.file).map((column) => rows.position.map((n) => column[n]));
  }
  return rows?.inputs ?? [];
}

function rowsExplained(facts) {
  const [shown, all] = [facts.local?.rows.length, facts.quality?.rows?.total];
  const against = facts.local?.background;
  if (shown < all) return ` Explained are ${shown} of ${all} rows, spread evenly, each against ${against}.`;
  return against < all ? ` Each row is compared with ${against} of all ${all}, spread evenly.` : "";
}

/** What a row has in an input, as a person would write it. */
function cellOf(facts, input, at) {
  const columns = shownInputs(facts);
  if (!columns.length) return "";
  const { columns: own, number, name } = facts.learned.inputs[input];
  if (number) return own.length > 1 && columns[own[1]][at] === 1 ? "missing" : writtenValue(facts, input, columns[own[0]][at]);
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
      input: inputName(facts, input),
      value: cellOf(facts, input, at),
      shapley: value,
      reach: std === null ? null : REACH * std,
    }));
    return [
      { row, input: "(average prediction)", value: "", shapley: facts.local.base[task][i], reach: null },
      ...parts,
      ...(facts.local.others
        ? [{ row, input: "(all others)", value: "", shapley: facts.local.rest[task][i], reach: null }]
        : []),
    ];
  });
}

function waterfall(facts, task, i, width) {
  const at = facts.local.rows[i];
  const base = facts.local.base[task][i];
  const { mean, observed: seen } = facts.quality.rows;
  const observed = seen[task][at];
  const parts = facts.local.parts[task][i].map(([input, value, std]) => ({
    name: inputName(facts, input) + (cellOf(facts, input, at) === "" ? "" : ` = ${cellOf(facts, input, at)}`),
    value,
    reach: std === null ? null : REACH * std,
  }));
  if (facts.local.others)
    parts.push({ name: `${counted(facts.local.others, "other input")}`, value: facts.local.rest[task][i], reach: null });
  let level = base;
  const bars = parts.map((part, row) => {
    const from = level;
    level += part.value;
    return { ...part, row, from, to: level };
  });
  const names = bars.map((d) => d.name);
  const { room, ticks } = nameRoom(names, width, 260);
  const has = observed !== null;
  // Of a transformed target the median is taken apart, which need not be the number predicted.
  const median = isTransformed(facts, task);
  const value = (number) => amount(facts, task, number);
  const elsewhere = median && value(level) !== value(mean[task][at]);
  const unit = ofTarget(facts, task);
  return [
    plot(width, {
      height: 60 + 24 * bars.length,
      marginLeft: room,
      marginRight: 64,
      x: { label: `${targetAxis(facts, task)} →`, grid: true, nice: true, ticks: width < 400 ? 4 : undefined },
      y: named(ticks),
      marks: [
        Plot.barX(bars, {
          y: "row",
          x1: "from",
          x2: "to",
          fill: (d) => (d.value >= 0 ? "var(--two)" : "var(--one)"),
          insetTop: 3,
          insetBottom: 3,
          tip: true,
          title: (d) => `${d.name}\n${signed(d.value)}${d.reach === null ? "" : ` (${short(d.value - d.reach)} to ${short(d.value + d.reach)})`}`,
        }),
        Plot.ruleY(
          bars.filter((d) => d.reach),
          { y: "row", x1: (d) => d.to - d.reach, x2: (d) => d.to + d.reach, stroke: "currentColor", strokeWidth: 1.5 },
        ),
        Plot.text(bars, {
          y: "row",
          x: (d) => Math.max(d.from, d.to + (d.reach ?? 0)),
          text: (d) => signed(Number(d.value.toPrecision(3))),
          dx: 5,
          textAnchor: "start",
          fill: "currentColor",
        }),
        Plot.ruleX([base], { stroke: "currentColor", strokeOpacity: 0.5 }),
        Plot.ruleX([level], { stroke: "var(--three)", strokeWidth: 2 }),
        ...(has ? [Plot.ruleX([observed], { stroke: "currentColor", strokeDasharray: "3 3" })] : []),
      ],
      color: { type: "identity" },
    }),
    element("p", {
      className: "note",
      textContent:
        `Thin line: ${median ? "typical" : "average"} prediction ${value(base)}; green: ${median ? "median" : "prediction"} ${value(level)}` +
        `${has ? `; dashed: observed ${value(observed)}` : ""}${unit}.` +
        (elsewhere ? ` The number predicted is the mean, ${value(mean[task][at])}${unit}, which lies elsewhere as the distribution is skewed.` : ""),
    }),
  ];
}
