// What all figures share: numbers as people write them, names that fit, plots in the style of the page, elements, tables.

const NEEDS_DATA = "needs the training data: give them when the report is made";
const NEEDS_ROWS = "this report was asked to show no single row";
/** Reach of a 90 % interval, in standard deviations: the only convention of this page. */
const REACH = 1.6448536269514722;

/** Four significant digits, as people write them. */
function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(4)));
}

/** The same with two digits, for places where more would be noise. */
const rough = (value) => short(Number(value.toPrecision(2)));
const percent = (share) => (share === null ? "–" : `${Math.round(100 * share)} %`);
const signed = (value) => `${value >= 0 ? "+" : "−"}${short(Math.abs(value))}`;

function clipped(length) {
  return (text) => (String(text).length > length ? `${String(text).slice(0, length - 1)}…` : String(text));
}

/** Shortened in the middle: names often differ at their ends. */
function folded(length) {
  return (text) => {
    if (text.length <= length) return text;
    const tail = Math.ceil((length - 1) / 2);
    return `${text.slice(0, length - 1 - tail)}…${text.slice(text.length - tail)}`;
  };
}

/** Names shortened to some length, so that no two become the same: from the end, else from the middle, else numbered. */
function shortened(names, length) {
  const texts = names.map(String);
  const distinct = (list) => new Set(list).size === new Set(texts).size;
  for (const way of [clipped(length), folded(length)]) {
    const list = texts.map(way);
    if (distinct(list)) return list;
  }
  return texts.map((text, i) => (text.length > length ? `${clipped(Math.max(2, length - 4))(text)}${i + 1}` : text));
}

/** What a target or an input is called; with its unit, at an axis. */
const targetName = (facts, task) => facts.target_labels[task][0];
const inputName = (facts, input) => facts.input_labels[input][0];
const unitOf = ([, unit]) => (unit ? ` (${unit})` : "");
const targetAxis = (facts, task) => folded(32)(targetName(facts, task)) + unitOf(facts.target_labels[task]);
const inputAxis = (facts, input) => folded(32)(inputName(facts, input)) + unitOf(facts.input_labels[input]);
const ofTarget = (facts, task) => (facts.target_labels[task][1] ? ` ${facts.target_labels[task][1]}` : "");

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

/** A plot in the style of the page. */
function plot(width, options) {
  const drawn = Plot.plot({
    width,
    marginLeft: 58,
    marginBottom: 42,
    ...options,
    style: { fontSize: "12px", background: "transparent", overflow: "visible", ...options.style },
  });
  return drawn;
}

/** Width of one of several small plots side by side; the style sheet has the same columns. */
function smallWidth(width) {
  return width < 560 ? width : Math.floor(width / Math.floor(width / 256)) - 16;
}

/** Room at the left for names, and how many letters fit into it. */
function nameRoom(names, width, most = 190) {
  const longest = Math.max(...names.map((name) => String(name).length), 4);
  const room = Math.min(most, width / 2.6, 16 + 7 * longest);
  return { room, letters: Math.max(4, Math.floor((room - 12) / 7)) };
}

/** An axis of names by their positions 0, 1, 2, …; two that are shortened stay apart. */
function named(names, letters, options = {}) {
  const shown = shortened(names, letters);
  return { type: "band", label: null, domain: names.map((_, i) => i), tickFormat: (i) => shown[i], tickSize: 0, ...options };
}

function tableOf(header, rows, caption) {
  const line = (cells, tag) =>
    element(
      "tr",
      {},
      ...cells.map((text, i) =>
        tag === "td" && i === 0
          ? element("th", { textContent: text, scope: "row" })
          : element(tag, { textContent: text, ...(tag === "th" ? { scope: "col" } : {}) }),
      ),
    );
  const box = element(
    "div",
    { className: "scroll", tabIndex: 0 },
    element(
      "table",
      {},
      element("caption", { className: "unseen", textContent: caption }),
      element("thead", {}, line(header, "th")),
      element("tbody", {}, ...rows.map((cells) => line(cells, "td"))),
    ),
  );
  box.setAttribute("role", "region");
  box.setAttribute("aria-label", caption);
  return box;
}

function moreThan(all, shown) {
  return all.length > shown.length
    ? element("p", { className: "note", textContent: `The ${shown.length} largest of ${all.length}; the CSV has all.` })
    : "";
}

/** How full a cell is painted: never so much that text on it could not be read. */
const tint = (share) => 0.5 * Math.min(1, Math.max(0, share));

/** Points that differ by shape as well as by colour: dots inside their interval, crosses outside. */
function hitsAndMisses(cells, options) {
  return [
    Plot.dot(
      cells.filter((d) => d.inside),
      { ...options, fill: "var(--one)", r: 2.6 },
    ),
    Plot.dot(
      cells.filter((d) => !d.inside),
      { ...options, stroke: "var(--two)", symbol: "times", strokeWidth: 2, r: 4.5 },
    ),
    Plot.tip(cells, Plot.pointer(options)),
  ];
}

const needsData = (facts) => (facts.quality ? null : NEEDS_DATA);
const needsRows = (facts) => (!facts.quality ? NEEDS_DATA : facts.quality.rows ? null : NEEDS_ROWS);
