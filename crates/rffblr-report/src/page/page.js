// The page: fills the words, draws the figures, and draws them again when target, width or theme change.

const facts = JSON.parse(document.getElementById("facts").textContent);
const taskChoice = document.getElementById("task");
const drawn = [];
/** What paper has beside the screen: figures of the other targets. */
const onPaper = [];
let whatIf = null;

facts.targets.forEach((name, c) => taskChoice.append(element("option", { value: c, textContent: name })));
const chosenTask = () => Number(taskChoice.value);

function fillVerdict() {
  const { verdict, model } = facts;
  document.getElementById("headline").textContent = verdict.headline;
  const form = {
    kernel: `a Gaussian process on ${model.terms} rows`,
    sinusoids: `${model.terms} sinusoids`,
    cosines: `${model.terms} cosines and straight lines`,
  }[model.form];
  document.getElementById("facts-line").textContent =
    `Learned from ${counted(model.rows, "row")}, ${counted(facts.inputs.length, "input")} and ` +
    `${counted(facts.targets.length, "target")}; ${form}.`;
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

function counted(count, what) {
  return count === 1 ? `1 ${what}` : `${count} ${what}s`;
}

/** The scores of the refits come with the verdict, those of rows left out at fixed scales with the diagnostics. */
function fillTargets(task) {
  const score = (value) => (value === null ? "–" : value.toFixed(3));
  const fill = (place, title, marks, header, more) => {
    const rows = marks.tasks.map((t, c) => [
      facts.targets[c],
      t.observed,
      score(t.r2) + (t.r2_se === null ? "" : ` ± ${score(t.r2_se)}`),
      score(marks.methods[1].r2[c]),
      score(marks.methods[2].r2[c]),
      short(t.rmse),
      short(t.mae),
      `${Math.round(100 * t.coverage)} %`,
      ...more(c),
    ]);
    const names = ["values", "R²", "ridge R²", "mean R²", "RMSE", "MAE", "in 90 % interval", ...header];
    const table = tableOf([title, ...names], rows);
    table.querySelectorAll("tbody tr")[task].className = "chosen";
    document.getElementById(place).replaceChildren(table);
  };
  if (facts.check) fill("checked-table", facts.check.how, facts.check, [], () => []);
  if (facts.quality)
    fill("left-out-table", "each row left out in turn, at fixed scales", facts.quality, ["nugget std"], (c) => [
      short(facts.model.nugget_std[c]),
    ]);
  const [target, scale] = [facts.targets[task], facts.model.scale_of[task]];
  document.getElementById("scale-note").textContent =
    scale === target
      ? ""
      : `${target} was learned as ${scale}. Predictions and intervals are on its own scale; what explains them, here and ` +
        "under “One prediction” and “Inside the model”, adds up on the scale of the transform, and so does the nugget.";
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

/** The frame of a figure; `draw` fills it for a target. */
function frame(figure) {
  const drawing = element("div", { className: "drawing" });
  const missing = figure.needs?.(facts) ?? null;
  const read = typeof figure.read === "function" ? figure.read(facts) : figure.read;
  const title = element("h3", { textContent: figure.title, id: `${figure.id}-title` });
  const tools = element("div", { className: "tools" });
  if (!missing && figure.table) {
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
    element("p", { className: "read", textContent: read }),
    drawing,
  );
  node.setAttribute("aria-labelledby", title.id);
  document.querySelector(`#${figure.section} .figures`).append(node);
  if (missing) {
    drawing.append(element("p", { className: "note", textContent: missing }));
    return;
  }
  const picture = (task) => {
    const drawn = figure.draw(facts, task, Math.max(260, drawing.clientWidth));
    for (const svg of [drawn, ...drawn.querySelectorAll("svg")].filter((node) => node.tagName === "svg")) {
      svg.setAttribute("role", "img");
      svg.setAttribute("aria-label", `${figure.title}. ${read}`);
    }
    return drawn;
  };
  // The frame keeps its height while its content is exchanged: the page must not jump.
  drawn.push((task) => drawing.replaceChildren(picture(task)));
  const once = typeof figure.once === "function" ? figure.once(facts) : figure.once;
  if (!once) onPaper.push({ drawing, picture });
}

/** Paper has no selector of targets: what it would choose is printed for all of them, the chosen one first. */
function addTargets() {
  if (facts.targets.length === 1) return;
  const chosen = chosenTask();
  const order = [chosen, ...d3.range(facts.targets.length).filter((task) => task !== chosen)];
  for (const entry of onPaper) {
    entry.shown = [...entry.drawing.childNodes];
    const block = (task) => {
      const title = element("h4", { textContent: facts.targets[task] });
      return element("div", { className: "target" }, title, ...(task === chosen ? entry.shown : [entry.picture(task)]));
    };
    entry.drawing.replaceChildren(...order.map(block));
  }
}

function removeTargets() {
  for (const entry of onPaper.filter((entry) => entry.shown)) {
    entry.drawing.replaceChildren(...entry.shown);
    entry.shown = null;
  }
}

function frameWhatIf() {
  const title = element("h3", { textContent: "What if?", id: "what-if-title" });
  const read =
    "Change an input and see the prediction move; this page evaluates the model's own formula, as a prediction from the model file does.";
  const node = element(
    "figure",
    { id: "what-if", className: "wide" },
    title,
    element("p", { className: "read", textContent: read }),
  );
  node.setAttribute("aria-labelledby", title.id);
  document.querySelector("#single .figures").append(node);
  if (!facts.what_if.file) {
    node.append(element("p", { className: "note", textContent: facts.what_if.absent }));
    return;
  }
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
  [...QUALITY_FIGURES, ...LEARNED_FIGURES, ...SINGLE_FIGURES, ...TOGETHER_FIGURES, ...INSIDE_FIGURES].forEach(frame);
  frameWhatIf();
  fillOrigin();
  chooseTheme();
  document.getElementById("print").addEventListener("click", () => print());
  addEventListener("beforeprint", addTargets);
  addEventListener("afterprint", removeTargets);
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
