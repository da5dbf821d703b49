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

/** So many significant digits, and more where numbers that differ by `step` would else look alike. */
function resolved(value, step, least) {
  const size = Math.abs(value);
  if (!Number.isFinite(value) || size < 1e-3 || size >= 1e9 || !(step > 0)) return short(value);
  const digits = Math.min(12, Math.max(least, Math.ceil(Math.log10(size / step)) + 1));
  return digits <= 4 ? short(Number(value.toPrecision(digits))) : String(Number(value.toPrecision(digits)));
}

/** One of some numbers, so that it can be told from the others. */
function apart(value, all, least) {
  const numbers = [...new Set(all.filter((v) => typeof v === "number"))].sort(d3.ascending);
  return resolved(value, d3.min(d3.pairs(numbers), ([a, b]) => b - a), least);
}

/** An amount of a target: where it varies little around a large number, digits enough to see that. */
function amount(facts, task, value) {
  const marks = facts.check ?? facts.quality;
  return value === null ? "–" : resolved(value, (marks?.methods[2].rmse[task] ?? 0) / 100, 4);
}
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

const pen = document.createElement("canvas").getContext("2d");
pen.font = "12px system-ui, sans-serif";
/** How many pixels a text takes in a drawing. */
const widthOf = (text) => pen.measureText(text).width;

/** The longest beginning and end of a text that fit, with dots between them; `head` is the share of the beginning. */
function ends(text, room, head) {
  for (let left = text.length - 1; left > 1; left--) {
    const first = Math.round(head * left);
    const cut = [text.slice(0, first), text.slice(text.length - (left - first))];
    if (widthOf(`${cut[0]}…${cut[1]}`) <= room) return cut;
  }
  return [text.slice(0, 1), ""];
}

/**
 * Names shortened to fit into so many pixels, so that each can be that of one of `all` only: from the end, else from the
 * middle, else from the front, else to what differs, else with their places in the list.
 */
function shortened(names, room, all = names) {
  const texts = names.map(String);
  if (texts.every((text) => widthOf(text) <= room)) return texts;
  const known = [...new Set(all.map(String))];
  const means = ([first, last]) =>
    known.filter((text) => text.length > first.length + last.length && text.startsWith(first) && text.endsWith(last)).length;
  for (const head of [1, 0.5, 0.25, 0]) {
    const cuts = texts.map((text) => (widthOf(text) <= room ? null : ends(text, room, head)));
    if (cuts.every((cut) => !cut || means(cut) === 1)) return texts.map((text, i) => (cuts[i] ? cuts[i].join("…") : text));
  }
  for (const own of [differing(known), ...differingWords(known)]) {
    const middles = texts.map((text) => own.get(text));
    if (new Set(own.values()).size === known.length && middles.every((text) => widthOf(text) <= room)) return middles;
  }
  return texts.map((text, i) => (widthOf(text) <= room ? text : `${ends(text, room - widthOf(`#${i + 1}`), 1)[0]}…#${i + 1}`));
}

/** Names without the words that all of them have, then the words at one place of what is left, and of each only the letters that differ. */
function differingWords(names) {
  const words = names.map((name) => name.split(/\s+/));
  const everywhere = new Set(words[0].filter((word) => words.every((own) => own.includes(word))));
  const left = words.map((own) => own.filter((word) => !everywhere.has(word)));
  const joined = words.map((own) => own.map((word) => (everywhere.has(word) ? "…" : word)).join(" ").replace(/…( …)*/g, "…"));
  const places = d3.range(d3.min(left, (own) => own.length) ?? 0).map((k) => left.map((own) => `…${own[k]}…`));
  return [joined, ...places].map((texts) => new Map(names.map((name, i) => [name, texts[i]])));
}

/** What each of several names has between their common beginning and their common end, from word to word. */
function differing(names) {
  const same = (at) => names.every((name) => at(name) !== undefined && at(name) === at(names[0]));
  let [first, last] = [0, 0];
  while (same((name) => name[first])) first++;
  while (same((name) => name[name.length - 1 - last])) last++;
  while (first && /[\p{L}\p{N}]/u.test(names[0][first - 1])) first--;
  while (last && /[\p{L}\p{N}]/u.test(names[0][names[0].length - last])) last--;
  const middle = (name) => `${first ? "…" : ""}${name.slice(first, Math.max(first, name.length - last))}${last ? "…" : ""}`;
  return new Map(names.map((name) => [name, middle(name)]));
}

/** What a target or an input is called; with its unit, at an axis. */
const targetName = (facts, task) => facts.target_labels[task][0];
const inputName = (facts, input) => facts.input_labels[input][0];
const unitOf = ([, unit]) => (unit ? ` (${unit})` : "");
const targetAxis = (facts, task) => folded(32)(targetName(facts, task)) + unitOf(facts.target_labels[task]);
const inputAxis = (facts, input) => folded(32)(inputName(facts, input)) + unitOf(facts.input_labels[input]);
const ofTarget = (facts, task) => (facts.target_labels[task][1] ? ` ${facts.target_labels[task][1]}` : "");

/**
 * What the function of a target is made of (sinusoids, the nugget) is on the scale on which it was learned: a
 * transform has its own name, no unit. Everything else is in the unit of the target.
 */
const isTransformed = (facts, task) => facts.model.scale_of[task] !== facts.targets[task];
const scaleName = (facts, task) => facts.model.scale_of[task].replace(facts.targets[task], () => targetName(facts, task));
const ofScale = (facts, task) => (isTransformed(facts, task) ? "" : ofTarget(facts, task));

/** What a mean over rows is, of a target that was learned as a transform: it is taken there and brought back. */
const meanOf = (facts, task) => (isTransformed(facts, task) ? "typical" : "mean");
const aboutMeans = (facts) => {
  const some = facts.targets.map((_, c) => c).filter((c) => isTransformed(facts, c));
  if (!some.length) return "";
  const [names, scales] = [targetName, scaleName].map((of) => some.slice(0, 3).map((c) => of(facts, c)).join(", "));
  const dots = some.length > 3 ? " …" : "";
  return ` The typical prediction of ${names}${dots} is the mean of the medians of the rows, taken on the scale on which it was learned (${scales}${dots}) and brought back to its own unit.`;
};

const isDate = (facts, input) => facts.dates[input] !== null;

/** The moment of a value of a date, which is kept as days since the first one; to the second. */
function momentOf(facts, input, value) {
  return new Date(1000 * Math.round(facts.dates[input].since + 86_400 * value));
}

/** A value of an input as a person would write it: of a date the day, with the time if it has one; of a clock the time. */
function writtenValue(facts, input, value) {
  if (!isDate(facts, input)) return short(value);
  const moment = momentOf(facts, input, value);
  if (Number.isNaN(moment.getTime())) return short(value);
  const text = moment.toISOString();
  if (facts.dates[input].clock) return text.slice(11, 16);
  return `${text.slice(0, 10)} ${text.slice(11, 16)}`.replace(" 00:00", "");
}

/** The same at an axis, where a date needs its day only. */
const tickOf = (facts, input) => (value) => writtenValue(facts, input, value).replace(/ .*/, "");

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
  for (const axis of drawn.querySelectorAll('[aria-label="x-axis tick label"]')) thinned(axis);
  return drawn;
}

/** Leaves every second label of an axis away, or more, until none touches the next; names that stand upright stay. */
function thinned(axis) {
  const labels = [...axis.querySelectorAll("text")].map((text) => {
    const [x] = /translate\(([-\d.e]+)/.exec(text.getAttribute("transform"))?.slice(1) ?? [NaN];
    return { text, x: Number(x), half: widthOf(text.textContent) / 2 + 3, upright: /rotate\(-?[1-9]/.test(text.getAttribute("transform")) };
  });
  if (labels.length < 3 || labels.some(({ x, upright }) => Number.isNaN(x) || upright)) return;
  labels.sort((a, b) => a.x - b.x);
  const touch = (every) => d3.pairs(labels.filter((_, i) => i % every === 0)).some(([a, b]) => a.x + a.half > b.x - b.half);
  let every = 1;
  while (every < labels.length && touch(every)) every++;
  labels.forEach(({ text }, i) => i % every && text.remove());
}

/** Where ticks are along an input, between two ends so many pixels apart: dates need more room than numbers. */
function ticksAlong(facts, input, [low, high], width, usual) {
  if (!isDate(facts, input)) return usual;
  const count = Math.max(1, Math.floor(width / 90));
  return d3.range(count).map((i) => low + ((high - low) * (i + 0.5)) / count);
}

/** Width of one of several small plots side by side; the style sheet has the same columns. */
function smallWidth(width) {
  return width < 560 ? width : Math.floor(width / Math.floor(width / 256)) - 16;
}

/** Room at the left for names, and the names as they fit into it. */
function nameRoom(names, width, most = 190, all = names) {
  const longest = Math.max(...names.map(widthOf), 24);
  const room = Math.min(most, width / 2.6, 16 + longest);
  return { room, ticks: shortened(names, room - 12, all) };
}

/** An axis of names by their positions 0, 1, 2, … */
function named(shown, options = {}) {
  return { type: "band", label: null, domain: shown.map((_, i) => i), tickFormat: (i) => shown[i], tickSize: 0, ...options };
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

/** On how many rows something was measured, if not on all. */
const onSome = (some, all) => (some < all ? `${some} of ${all} rows, spread evenly` : "");

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
