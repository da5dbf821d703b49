// The page: fills the words, draws the figures, and draws them again when target, width or theme change.

const facts = JSON.parse(document.getElementById("facts").textContent);
const taskChoice = document.getElementById("task");
const drawn = [];
/** The figures as paper has them: of its width, and of all targets. */
const onPaper = [];
const PAPER = 640;
let whatIf = null;

facts.targets.forEach((_, c) => taskChoice.append(element("option", { value: c, textContent: targetName(facts, c) })));
const chosenTask = () => Number(taskChoice.value);

const GRADES = {
  strong: "predicts well",
  fair: "usable, wide intervals",
  weak: "shows a tendency",
  none: "hardly better than the mean",
  open: "not judged",
};
const STATES = { pass: "✓ yes", warn: "! mind", fail: "✗ no", unknown: "? not known" };

function gradeOf(grade) {
  return { className: `grade ${grade}`, textContent: GRADES[grade] };
}

function fillVerdict() {
  const { verdict } = facts;
  Object.assign(document.getElementById("grade"), gradeOf(verdict.grade));
  document.getElementById("headline").textContent = verdict.headline;
  document.getElementById("basis").textContent = verdict.basis ? `Measured ${verdict.basis}. Ranges in brackets are 90 %.` : "";
  const card = (target, c) => {
    const meter = element("div", { className: "meter" });
    const share = (value) => 100 * Math.min(1, Math.max(0, value ?? 0));
    const bar = element("i");
    bar.style.width = `${share(target.r2)}%`;
    const range = element("b");
    if (target.low !== null) {
      range.style.left = `${share(target.low)}%`;
      range.style.width = `${share(target.high) - share(target.low)}%`;
    }
    meter.append(bar, range);
    meter.setAttribute("aria-hidden", "true");
    return element(
      "div",
      {},
      element("h3", { textContent: targetName(facts, c) }),
      element("span", gradeOf(target.grade)),
      meter,
      element("p", { textContent: sentence(`${target.error}; it ${target.explained}.`) }),
    );
  };
  document.getElementById("targets").append(...verdict.targets.map(card));
  const line = (textContent) => element("li", { textContent });
  document.getElementById("facts-line").append(...factLines().map(line));
  const question = ({ question, state, answer }) =>
    element(
      "div",
      {},
      element("dt", { textContent: question }),
      element("dd", {}, element("span", { className: `state ${state}`, textContent: `${STATES[state]} ` }), answer),
    );
  if (facts.questions.length)
    document.getElementById("checks").append(element("dl", {}, ...facts.questions.map(question)));
  const lists = [
    ["Good for", verdict.good_for, "good"],
    ["Not for", verdict.not_for, "not"],
    ["Warnings", verdict.warnings, "warn"],
  ];
  document
    .getElementById("lists")
    .append(
      ...lists
        .filter(([, lines]) => lines.length)
        .map(([title, lines, className]) =>
          element(
            "div",
            { className },
            element("h3", { textContent: title }),
            element("ul", {}, ...lines.map((text) => element("li", { textContent: text }))),
          ),
        ),
    );
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** What it was learned from, what is missing, who is in this file, and how it was made. */
function factLines() {
  const { model, gaps } = facts;
  const form = {
    kernel: `a Gaussian process on ${model.terms} rows`,
    sinusoids: `a formula of ${counted(model.terms, "sinusoid")}`,
    cosines: `${model.terms} cosines and straight lines`,
    drawn: `${model.terms} cosines and straight lines, drawn from a learned kernel`,
  }[model.form];
  const origin = Object.fromEntries(facts.origin);
  const dates = [
    ["the model file is of", origin["model file written"]],
    ["this report of", origin["report made"]],
  ].filter(([, date]) => date);
  const written = dates.map(([what, date]) => `; ${what} ${date}`).join("");
  const lines = [
    `Learned from ${counted(model.rows, "row")}, ${counted(facts.inputs.length, "input")} and ` +
      `${counted(facts.targets.length, "target")}: ${form}${written}.`,
  ];
  if (facts.quality?.new) lines.push(`This report is about ${counted(gaps.rows, "row")} that the model was not fitted to.`);
  if (gaps) {
    const named = [
      ...gaps.inputs.map(([i, count]) => [inputName(facts, i), count]),
      ...gaps.targets.map((count, c) => [targetName(facts, c), count]).filter(([, count]) => count),
    ].sort((a, b) => b[1] - a[1]);
    const list = named.slice(0, 6).map(([name, count]) => `${name} ${count}`);
    lines.push(
      named.length
        ? `Missing cells, of ${gaps.rows} rows: ${list.join(", ")}${named.length > 6 ? ` and ${named.length - 6} more columns` : ""}.`
        : `No cell of ${gaps.rows === 1 ? "this row" : `these ${gaps.rows} rows`} is missing.`,
    );
  }
  lines.push(privacy());
  if (origin.command) lines.push(`Made by: ${origin.command}`);
  return lines;
}

/** Whether rows of the table, and so perhaps of people, are inside this file. */
function privacy() {
  if (!facts.row_data) return "No row of the table is inside this file: it may be passed on as far as its summaries may.";
  const inFormula = facts.what_if.file?.function.kernel;
  if (facts.quality?.rows)
    return (
      "Rows of the table are inside this file, with their values: if they are about people, pass it on only to those who may " +
      "see them. The option to leave out row data makes one without."
    );
  return inFormula
    ? "The inputs of all training rows are inside this file, as the model is made of them: if they are about people, pass it on " +
        "only to those who may see them."
    : "No row of the table is inside this file.";
}

function counted(count, what) {
  return count === 1 ? `1 ${what}` : `${count} ${what}s`;
}

/** The scores of the refits come with the verdict, those of rows left out at fixed scales with the diagnostics. */
function fillTargets(task) {
  const fill = (place, title, marks, header, more) => {
    const ridge = marks.methods[1].r2.some((r2) => r2 !== null);
    const rows = marks.tasks.map((t, c) => [
      targetName(facts, c) + unitOf(facts.target_labels[c]),
      t.observed,
      score(t.r2) + (t.r2_se === null ? "" : ` (${score(t.r2 - REACH * t.r2_se)} to ${score(Math.min(1, t.r2 + REACH * t.r2_se))})`),
      ...(ridge ? [score(marks.methods[1].r2[c])] : []),
      short(t.mae),
      short(marks.methods[2].mae[c]),
      short(t.rmse),
      percent(t.coverage),
      ...more(c),
    ]);
    const names = ["values", "R²", ...(ridge ? ["ridge R²"] : []), "mean error", "of the mean", "RMSE", "in 90 % interval", ...header];
    const table = tableOf([title, ...names], rows, `Scores: ${title}`);
    table.querySelectorAll("tbody tr")[task].className = "chosen";
    document.getElementById(place).replaceChildren(table);
  };
  if (facts.check) fill("checked-table", facts.check.how, facts.check, [], () => []);
  if (facts.quality) {
    const title = facts.quality.new ? "new rows" : "each row left out in turn, at fixed scales";
    fill("left-out-table", title, facts.quality, ["nugget std"], (c) => [short(facts.model.nugget_std[c])]);
  }
  document.getElementById("quality-note").textContent = facts.quality?.new
    ? "The table and the figures are of rows that the model was not fitted to."
    : facts.quality
      ? "The scores of the verdict count, where the model was checked: they are those of refits that have not seen the rows they " +
        "are tested on. The table and the figures below, unless they say otherwise, leave out one row at a time and keep the scales " +
        "that were learned with it. They show where a model fails, and flatter it."
      : "The training data were not given: how single rows are predicted is not known here.";
  document.getElementById("scale-note").textContent =
    !isTransformed(facts, task)
      ? ""
      : `${targetName(facts, task)} was learned as ${scaleName(facts, task)}. Predictions, intervals, curves and shares of rows are in its ` +
        "own unit; the weights of sinusoids, the nugget and the shares in which inputs matter are those of the transform.";
}

function csvOf(rows) {
  if (!rows.length) return "";
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const columns = Object.keys(rows[0]);
  return (
    [columns, ...rows.map((row) => columns.map((name) => row[name]))]
      .map((line) => line.map(cell).join(","))
      .join("\n") + "\n"
  );
}

function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Why figures of a section are left out: one line for each reason, not an empty card for each figure. */
const leftAway = new Map();

/** The frame of a figure; `draw` fills it for a target. */
function frame(figure) {
  const missing = figure.needs?.(facts) ?? null;
  if (missing) {
    const reasons = leftAway.get(figure.section) ?? new Map();
    leftAway.set(figure.section, reasons.set(missing, [...(reasons.get(missing) ?? []), figure.title]));
    return;
  }
  const drawing = element("div", { className: "drawing" });
  const read = typeof figure.read === "function" ? figure.read(facts) : figure.read;
  const title = element("h3", { textContent: figure.title, id: `${figure.id}-title` });
  const finding = element("p", { className: "finding" });
  const tools = element("div", { className: "tools" });
  if (figure.table) {
    const button = element("button", { type: "button", textContent: "CSV" });
    button.setAttribute("aria-label", `Data of “${figure.title}” as CSV`);
    button.addEventListener("click", () =>
      download(`${figure.id}.csv`, csvOf(figure.table(facts, chosenTask())), "text/csv"),
    );
    tools.append(button);
  }
  const node = element(
    "figure",
    { id: figure.id, className: figure.wide ? "wide" : "" },
    element("div", { className: "head" }, title, tools),
    finding,
    element("p", { className: "read", textContent: read }),
    drawing,
  );
  node.setAttribute("aria-labelledby", title.id);
  document.querySelector(`#${figure.section} .figures`).append(node);
  const picture = (task, width = Math.max(260, drawing.clientWidth)) => {
    const say = () => {
      finding.textContent = figure.finding(facts, chosenTask());
      tidied(drawing, `${figure.title}. ${finding.textContent}`);
    };
    return tidied(figure.draw(facts, task, width, say), `${figure.title}. ${figure.finding(facts, task)}`);
  };
  // The frame keeps its height while its content is exchanged: the page must not jump.
  drawn.push((task) => {
    finding.textContent = figure.finding(facts, task);
    drawing.replaceChildren(picture(task));
  });
  onPaper.push({ drawing, picture, groups: groupsOf(figure), wide: figure.wide && !figure.narrowOnPaper });
}

/** Which targets have the same picture in a figure: all, those it says are alike, or none. */
function groupsOf(figure) {
  const all = facts.targets.map((_, task) => task);
  if (figure.once) return [all];
  return figure.alike?.(facts) ?? all.map((task) => [task]);
}

/** Drawings as those who do not see or point need them: a text that says what they show, and tips from the keyboard. */
function tidied(node, text) {
  const all = [node, ...node.querySelectorAll("svg")].filter((part) => part.tagName === "svg" && !part.dataset.tidy);
  for (const svg of all) {
    svg.dataset.tidy = "yes";
    // Plot names its marks for assistive technology, where names are not allowed.
    for (const part of svg.querySelectorAll("[aria-label], [aria-description]")) {
      part.dataset.mark = part.getAttribute("aria-label") ?? "";
      part.removeAttribute("aria-label");
      part.removeAttribute("aria-description");
    }
    svg.removeAttribute("aria-description");
    if (svg.closest(".plot-swatches, [class*=swatch]") || svg.getAttribute("width") < 60) {
      svg.setAttribute("aria-hidden", "true");
      continue;
    }
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", text);
    if (svg.querySelector('[data-mark="tip"]')) tipsFromKeyboard(svg);
  }
  for (const svg of [node, ...node.querySelectorAll("svg")].filter((part) => part.tagName === "svg" && part.getAttribute("role") === "img"))
    svg.setAttribute("aria-label", text);
  return node;
}

/** Arrow keys go from mark to mark of a drawing as a pointer would, and its tip is spoken. */
function tipsFromKeyboard(svg) {
  svg.tabIndex = 0;
  let at = -1;
  const point = (type, x, y) =>
    svg.dispatchEvent(new PointerEvent(type, { clientX: x, clientY: y, pointerType: "mouse", bubbles: true }));
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step && event.key !== "Escape") return;
    event.preventDefault();
    if (!step) return point("pointerleave", 0, 0);
    const places = placesOf(svg);
    if (!places.length) return;
    at = (at + step + places.length) % places.length;
    const [x, y] = places[at];
    point("pointerenter", x, y);
    point("pointermove", x, y);
    requestAnimationFrame(() => {
      const tip = svg.querySelector('[aria-label="tip"], [data-mark="tip"]');
      const texts = [...(tip?.querySelectorAll("tspan") ?? [])].map((line) => line.textContent.trim()).filter(Boolean);
      document.getElementById("spoken").textContent = texts.join(", ");
    });
  });
  svg.addEventListener("blur", () => point("pointerleave", 0, 0));
}

/** Where the marks of a drawing are, from left to right: of a curve, places along it. */
function placesOf(svg) {
  const marks = svg.querySelectorAll('[data-mark="dot"] > *, [data-mark="bar"] > *, [data-mark="cell"] > *, [data-mark="rect"] > *');
  const box = svg.getBoundingClientRect();
  const middle = (node) => {
    const { left, top, width, height } = node.getBoundingClientRect();
    return [left + width / 2, top + height / 2];
  };
  const line = svg.querySelector('[data-mark="line"] path');
  const places = line
    ? d3.range(21).map((i) => {
        const { left, width, top, height } = line.getBoundingClientRect();
        return [left + (width * i) / 20, top + height / 2];
      })
    : [...marks].map(middle);
  return places.filter(([x]) => x >= box.left && x <= box.right).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
}

/** What is left out of a section is said in a line; of one target nothing has to be said about several. */
function fillAbsent() {
  for (const section of document.querySelectorAll("main section")) {
    const figures = section.querySelector(".figures");
    if (!figures) continue;
    const reasons = [...(leftAway.get(section.id) ?? [])];
    if (section.id === "together" && facts.targets.length === 1) {
      section.hidden = true;
      document.querySelector(`nav a[href="#${section.id}"]`).hidden = true;
    } else if (reasons.length) {
      const text = reasons.map(([reason, titles]) => `${titles.join(", ")} (${reason})`).join("; ");
      section.append(element("p", { className: "note absent", textContent: `Not shown: ${text}.` }));
    }
  }
}

/**
 * Paper is narrower than most windows: pictures that shrink to it have letters too small to read, so that they are drawn
 * again. It has no selector of targets: what that would choose is printed for all of them, the chosen one first; what is the
 * same for several, once.
 */
function toPaper() {
  document.querySelectorAll("details").forEach((node) => (node.open = true));
  const chosen = chosenTask();
  const first = (task) => (task === chosen ? -1 : task);
  const sorted = (groups) => groups.map((own) => d3.sort(own, first)).sort(([a], [b]) => first(a) - first(b));
  for (const entry of onPaper.filter((entry) => !entry.shown)) {
    entry.shown = [...entry.drawing.childNodes];
    const groups = sorted(entry.groups);
    const width = entry.wide ? PAPER : groups.length > 1 ? PAPER / 2 : 0.75 * PAPER;
    const block = (tasks) => {
      const title = element("h4", { textContent: tasks.map((task) => targetName(facts, task)).join(", ") });
      return element("div", { className: `target${entry.wide ? "" : " half"}` }, title, entry.picture(tasks[0], width));
    };
    entry.drawing.replaceChildren(...(groups.length > 1 ? groups.map(block) : [entry.picture(chosen, width)]));
  }
}

function toScreen() {
  for (const entry of onPaper.filter((entry) => entry.shown)) {
    entry.drawing.replaceChildren(...entry.shown);
    entry.shown = null;
  }
}

function frameWhatIf() {
  if (!facts.what_if.file) {
    const reasons = leftAway.get("single") ?? new Map();
    leftAway.set("single", reasons.set(facts.what_if.absent, ["What if"]));
    return;
  }
  const title = element("h3", { textContent: "What if?", id: "what-if-title" });
  const read =
    "Change an input and see the predictions of all targets move; this page evaluates the model's own formula, as a prediction from the " +
    "model file does. The bars above each slider show where the data are.";
  const node = element(
    "figure",
    { id: "what-if", className: "wide" },
    title,
    element("p", { className: "read", textContent: read }),
  );
  node.setAttribute("aria-labelledby", title.id);
  document.querySelector("#single .figures").append(node);
  whatIf = drawWhatIf(facts, inputOrder());
  node.append(whatIf.panel);
  const difference = probeDifference(facts.what_if.file);
  const by = `(largest difference ${difference.toExponential(1)} standard deviations)`;
  const check = element("p", {
    className: "note",
    id: "what-if-check",
    textContent:
      difference < 1e-8
        ? `Checked when this page was opened: it computes the probe predictions stored in the model file ${by}.`
        : `This browser does not compute what the model file stored ${by}: do not use this panel.`,
  });
  check.dataset.difference = difference;
  node.append(check);
}

/** Inputs in the order in which the panel lists them: the most relevant first, where that is known. */
function inputOrder() {
  return facts.learned ? relevantInputs(facts) : d3.range(facts.inputs.length);
}

function fillOrigin() {
  const pairs = (rows) => {
    const line = ([label, value]) =>
      element("tr", {}, element("th", { textContent: label, scope: "row" }), element("td", { textContent: value }));
    return element("table", { className: "pairs" }, element("tbody", {}, ...rows.map(line)));
  };
  const settings = Object.entries(facts.settings).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value),
  ]);
  const card = element("button", { type: "button", textContent: "Model card (Markdown)", id: "card" });
  card.addEventListener("click", () => download("model-card.md", facts.card, "text/markdown"));
  document
    .getElementById("origin-tables")
    .append(
      pairs(facts.origin),
      element("details", {}, element("summary", { textContent: "Settings of the fit" }), pairs(settings)),
      element(
        "p",
        { className: "screen-only" },
        card,
        " with the headings of Annex IV of the EU AI Act and of TRIPOD+AI; what a person has to add is marked.",
      ),
    );
}

function redraw() {
  const task = chosenTask();
  fillTargets(task);
  for (const draw of drawn) draw(task);
  // After the figures are there: the first interval of a kernel machine may take a second.
  setTimeout(() => {
    whatIf?.update(task);
    document.documentElement.dataset.ready = task;
  });
}

function chooseTheme() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const label = () => (button.textContent = dark() ? "Light" : "Dark");
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    label();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", label);
  label();
}

function start() {
  fillVerdict();
  [...QUALITY_FIGURES, ...RELEVANCE_FIGURES, ...CURVE_FIGURES, ...SINGLE_FIGURES, ...TOGETHER_FIGURES, ...INSIDE_FIGURES].forEach(frame);
  frameWhatIf();
  fillAbsent();
  fillOrigin();
  chooseTheme();
  document.getElementById("print").addEventListener("click", () => print());
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", toScreen);
  taskChoice.addEventListener("change", redraw);
  // A phone changes the height of its window while it scrolls: only the width counts.
  let width = innerWidth,
    waiting = 0;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(redraw, 150);
  });
  redraw();
}
start();
