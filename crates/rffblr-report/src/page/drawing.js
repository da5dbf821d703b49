// What all figures share: numbers as people write them, plots in the style of the page, elements, tables.

const NEEDS_DATA = "Needs the training data: give them when the report is made.";
const NEEDS_ROWS = "Left out: this report was asked to show no single row.";

/** Four significant digits, as people write them. */
function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

function clipped(length) {
  return (text) => (String(text).length > length ? `${String(text).slice(0, length - 1)}…` : String(text));
}

/** A name at an axis, shortened to the room there is. */
const axisName = (name) => clipped(32)(name);

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
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

/** Width of one of several small plots side by side; the style sheet has the same columns. */
function smallWidth(width) {
  return width < 700 ? Math.floor((width - 16) / 2) : Math.floor(width / Math.floor(width / 256)) - 16;
}

function tableOf(header, rows, className = "") {
  const line = (cells, tag) => element("tr", {}, ...cells.map((text) => element(tag, { textContent: text })));
  return element(
    "div",
    { className: "scroll" },
    element(
      "table",
      { className },
      element("thead", {}, line(header, "th")),
      element("tbody", {}, ...rows.map((cells) => line(cells, "td"))),
    ),
  );
}

function moreThan(all, shown) {
  return all.length > shown.length
    ? element("p", { className: "note", textContent: `The ${shown.length} largest of ${all.length}; the CSV has all.` })
    : "";
}

/** Dark text on light cells and the other way round, in both themes: the cell says how full it is. */
const cellText = (share) => (share > 0.55 ? "var(--card)" : "var(--text)");

const needsData = (facts) => (facts.quality ? null : NEEDS_DATA);
const needsRows = (facts) => (!facts.quality ? NEEDS_DATA : facts.quality.rows ? null : NEEDS_ROWS);
