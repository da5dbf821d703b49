// Reports of small models opened from disk in headless Chromium.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { EVIL, TARGETS, makeReports, predict, read, table, visits } from "./models.mjs";
import { onPaper, splitOn } from "./paper.mjs";

const { chromium } = createRequire(join(process.env.BROWSER_TOOLS, "node_modules/"))("playwright-core");
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const AXE = readFileSync(join(process.env.BROWSER_TOOLS, "node_modules/axe-core/axe.min.js"), "utf8");
const shots = join(dirname(process.env.BROWSER_TOOLS), "screenshots");
mkdirSync(shots, { recursive: true });

const ROWS = ["influence", "local"];
const DATA = ["observed", "residuals", "parts", "calibration", "correlation", "swarm", ...ROWS];
const LEARNED = ["relevance", "relevance-task", "partial", "surface", "scales"];
const ALL = [...DATA, ...LEARNED, "comparison", "trace", "kernel", "sinusoids", "links"];
/** Figures that a report cannot show and says so; all others must be drawn. */
const ABSENT = {
  kernel: ["sinusoids"],
  sinusoids: ["links"],
  cosines: [],
  kernelWithoutRows: ["sinusoids", ...ROWS],
  sinusoidsWithoutRows: ["links", ...ROWS],
  kernelUnchecked: ["sinusoids"],
  kernelAlone: ["sinusoids", ...DATA],
  sinusoidsAlone: ["links", ...DATA, ...LEARNED],
  newRows: ["sinusoids", "influence"],
  wide: ["sinusoids", "relevance", "correlation"],
  skewed: ["sinusoids"],
  six: ["sinusoids"],
  levels: ["sinusoids", "relevance", "correlation"],
  visits: ["sinusoids", "relevance", "correlation"],
  visitsWithoutRows: ["links", "relevance", "correlation", ...ROWS],
};
/** Of one target nothing is said about several. */
const GONE = { wide: ["correlation"], levels: ["correlation"], visits: ["correlation"], visitsWithoutRows: ["correlation"] };
/** What needs no test in every kind of report. */
const FORMS = ["kernel", "sinusoids", "cosines"];

let browser;
const pages = makeReports();
before(async () => (browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: FLAGS })));
after(() => browser.close());

/** An open report, and everything it complained about or asked the network for. */
async function open(path, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.stack));
  page.on("request", (request) => request.url() !== `file://${path}` && problems.push(`asked for ${request.url()}`));
  await page.goto(`file://${path}`);
  await ready(page, 0);
  return { page, problems, close: () => context.close() };
}

/** The page says for which target it is drawn. */
const ready = (page, task) => page.waitForSelector(`html[data-ready="${task}"]`, { state: "attached" });

async function choose(page, task) {
  await page.selectOption("#task", String(task));
  await ready(page, task);
}

/** Writes raw values into the what-if panel as a person would: null is missing. */
async function fill(page, row) {
  await page.locator("#what-if details").evaluateAll((all) => all.forEach((d) => (d.open = true)));
  for (const [name, value] of Object.entries(row)) {
    const field = page.locator(`#what-if [data-input=${JSON.stringify(name)}]`);
    if (await field.evaluate((node) => node.tagName === "SELECT"))
      await field.selectOption({ label: value ?? "(missing)" });
    else await field.fill(value === null ? "" : String(value));
  }
}

const answer = (page) =>
  page
    .locator("#what-if-answer")
    .evaluate((node) => Object.fromEntries(Object.entries(node.dataset).map(([k, v]) => [k, Number(v)])));

function agrees(found, expected, what) {
  assert.ok(
    Math.abs(found - expected) <= 1e-9 * Math.max(1, Math.abs(expected)),
    `${what}: page ${found}, rffblr predict ${expected}`,
  );
}

for (const [kind, path] of Object.entries(pages)) {
  describe(kind, () => {
    test("opens without complaint, asks for nothing, and is small", async () => {
      assert.ok(statSync(path).size < 5e6);
      const { page, problems, close } = await open(path);
      const targets = await page.locator("#task option").count();
      for (const c of targets > 1 ? [1, 0] : [0]) await choose(page, c);
      assert.deepEqual(problems, []);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      assert.equal(await page.locator("img").count(), 0);
      await close();
    });

    test("every figure is drawn and says what it shows; what is absent is said in a line, not in an empty card", async () => {
      const { page, close } = await open(path);
      const found = await page.locator("figure[id]:not(#what-if)").evaluateAll((all) =>
        all.map((figure) => ({
          id: figure.id,
          read: figure.querySelector(".read").textContent,
          finding: figure.querySelector(".finding").textContent,
          alternatives: [...figure.querySelectorAll(".drawing svg[role=img]")].map((svg) => svg.getAttribute("aria-label")),
          marks: figure.querySelectorAll(".drawing svg path, .drawing svg circle, .drawing svg rect, .drawing svg line")
            .length,
          // Legends have small drawings of their own.
          empty: [...figure.querySelectorAll(".drawing svg")]
            .filter((svg) => svg.clientWidth > 60)
            .some((svg) => svg.querySelectorAll("path, circle, rect, line").length < 3),
          button: figure.querySelectorAll("button[aria-label*=CSV]").length,
          unreadable: /NaN|undefined|null|\[object/.test(figure.textContent),
        })),
      );
      assert.deepEqual(found.map((f) => f.id).sort(), ALL.filter((id) => !ABSENT[kind].includes(id)).sort());
      for (const figure of found) {
        assert.ok(figure.read.length > 30, `${figure.id} does not say how to read it`);
        assert.ok(figure.finding.length > 20, `${figure.id} does not say what it shows`);
        // The alternative text states the finding.
        assert.ok(figure.alternatives.length && figure.alternatives.every((text) => text.includes(figure.finding)), figure.id);
        assert.ok(!figure.unreadable, `${figure.id} shows something that is not a number`);
        assert.ok(
          figure.marks > 5 && !figure.empty && figure.button === 1,
          `${figure.id} is empty: ${JSON.stringify(figure)}`,
        );
      }
      const said = (await page.locator(".absent").allTextContents()).join(" ");
      if (ABSENT[kind].some((id) => !(GONE[kind] ?? []).includes(id))) assert.match(said, /^Not shown: .{20,}/);
      for (const link of await page.locator("nav a:visible").evaluateAll((all) => all.map((a) => a.hash)))
        assert.ok(await page.locator(link).isVisible(), link);
      await close();
    });

    test("axe finds nothing wrong, light and dark, and headings are in order", async () => {
      for (const colorScheme of FORMS.includes(kind) ? ["light", "dark"] : ["light"]) {
        const { page, close } = await open(path, { colorScheme });
        await page.evaluate(AXE);
        const violations = await page.evaluate(async () => {
          const found = await axe.run(document, { resultTypes: ["violations"] });
          return found.violations.map((v) => `${v.id}: ${v.nodes.length} × ${v.nodes[0].html.slice(0, 160)} ${v.nodes[0].failureSummary}`);
        });
        assert.deepEqual(violations, []);
        const levels = await page
          .locator("h1, h2, h3, h4")
          .evaluateAll((all) => all.filter((h) => h.closest("[hidden]") === null).map((h) => Number(h.tagName[1])));
        levels.forEach((level, i) => assert.ok(i === 0 ? level === 1 : level <= levels[i - 1] + 1, `heading ${i}`));
        await close();
      }
    });

    test("the target selector changes what is shown", { skip: !FORMS.includes(kind) }, async () => {
      const { page, close } = await open(path);
      const look = () =>
        page
          .locator("figure[id]:not(#what-if) .drawing")
          .evaluateAll((all) =>
            Object.fromEntries(all.map((d) => [d.parentNode.id, d.innerHTML.replaceAll(/aria-label="[^"]*"/g, "")])),
          );
      const before = await look();
      await choose(page, 1);
      assert.equal(await page.locator("#task option:checked").textContent(), TARGETS[1]);
      const after = await look();
      const same = ["comparison", "relevance", "correlation", "trace", "scales", "kernel"];
      for (const id of ALL.filter((id) => !ABSENT[kind].includes(id) && !same.includes(id)))
        assert.notEqual(before[id], after[id], id);
      await close();
    });

    if (!FORMS.includes(kind.replace("WithoutRows", ""))) return;
    const file = kind.startsWith("kernel")
      ? "kernel.json"
      : kind.startsWith("sinusoids")
        ? "sinusoids.json"
        : "cosines.json";
    if (kind === "kernelWithoutRows") {
      test("has no what-if panel, which would need its rows", async () => {
        const { page, close } = await open(path);
        assert.match(await page.locator("#single .absent").textContent(), /asked to show no row/);
        assert.equal(await page.locator("#what-if").count(), 0);
        await close();
      });
    } else {
      test("the what-if panel computes what rffblr predict computes", async () => {
        const { page, problems, close } = await open(path);
        const rows = [
          { age: 33.5, dose: 1.25, colour: "green", ward: "present" },
          { age: null, dose: 0.1, colour: "red", ward: "present" },
          { age: 71.0625, dose: 3.1, colour: null, ward: null },
          { age: 140, dose: -4, colour: "(another)", ward: "present" },
          { age: 20, dose: 0, colour: "blue", ward: null },
        ];
        const raw = rows.map((row) => ({
          age: row.age ?? "",
          dose: row.dose,
          colour: row.colour === "(another)" ? "violet" : (row.colour ?? ""),
          ward: row.ward ? "7" : "",
        }));
        const expected = predict(file, raw);
        const seen = new Set();
        for (const [i, row] of rows.entries()) {
          await fill(page, row);
          for (const [c, target] of TARGETS.entries()) {
            await choose(page, c);
            const found = await answer(page);
            agrees(found.mean, expected[target][i], `${target} row ${i}`);
            agrees(found.std, expected[`${target}_std`][i], `${target}_std row ${i}`);
            agrees(found.lower, expected[`${target}_lower`][i], `${target}_lower row ${i}`);
            agrees(found.upper, expected[`${target}_upper`][i], `${target}_upper row ${i}`);
            seen.add(found.mean);
          }
        }
        assert.equal(seen.size, 2 * rows.length);
        assert.ok(Number(await page.locator("#what-if-check").getAttribute("data-difference")) < 1e-8);
        assert.deepEqual(problems, []);
        await close();
      });
    }
  });
}

test("the verdict is that of the refits, and says so", async () => {
  const shown = async (path) => {
    const { page, close } = await open(path);
    const text = (id) => page.locator(id).textContent();
    const found = {
      headline: await text("#headline"),
      basis: await text("#basis"),
      grade: await page.locator("#grade").getAttribute("class"),
      targets: await page.locator("#targets > div").allTextContents(),
      facts: await text("#facts-line"),
      questions: await page.locator("#checks dt").allTextContents(),
      checked: await text("#checked-table"),
      left: await text("#left-out-table"),
    };
    await close();
    return found;
  };
  const check = JSON.parse(read("kernel.json")).check;
  const checked = await shown(pages.kernel);
  const r2 = check.model.scores.task_r2;
  assert.ok(checked.headline.includes(`${Math.round(100 * r2)}\u00a0%`), checked.headline);
  assert.match(checked.basis, /rows it has not seen: 5 refits, random folds/);
  assert.ok(checked.grade.endsWith(r2 >= 0.8 ? "strong" : r2 >= 0.5 ? "fair" : r2 >= 0.2 ? "weak" : "none"), checked.grade);
  // Every target in words and units, beside guessing the mean.
  const mae = (method) => Number(check[method].scores.per_task.mae[0].toPrecision(3));
  assert.equal(checked.targets.length, 2);
  assert.ok(checked.targets[0].includes(`Off by ${mae("model")} on average; guessing the mean: ${mae("mean")}`), checked.targets[0]);
  assert.match(checked.facts, /Learned from 90 rows, 4 inputs and 2 targets/);
  assert.match(checked.facts, /Missing cells, of 90 rows: ward 18, glucose 12, age 8, colour 6/);
  assert.match(checked.facts, /Rows of the table are inside this file/);
  assert.match(checked.facts, /Made by: rffblr report kernel\.json train\.csv/);
  assert.deepEqual(checked.questions, [
    "Do 90 % intervals hold 90 %?",
    "Are the errors without pattern?",
    "Does it beat straight lines?",
    "Was it tested on rows like those to come?",
    "Is it free of leaks?",
    "Are there enough values to judge by?",
  ]);
  assert.match(checked.checked, /5 refits, random folds/);
  assert.match(checked.left, /left out in turn, at fixed scales/);
  const unchecked = await shown(pages.kernelUnchecked);
  assert.match(unchecked.headline, /^Not checked by refits/);
  assert.equal(unchecked.checked, "");
  // Scores need no rows: a model alone still has its check.
  assert.equal((await shown(pages.kernelAlone)).headline, checked.headline);
  assert.match((await shown(pages.kernelWithoutRows)).facts, /No row of the table is inside this file/);
  assert.match((await shown(pages.sinusoids)).targets[0], /^Blood glucose.*\u00a0mg\/dl on average/);
  const fresh = await shown(pages.newRows);
  assert.match(fresh.basis, /on 30 rows that the model has never seen/);
  assert.ok(fresh.questions.includes("Are the new rows like the training rows?"));
});

test("every target is evaluated with the kernel of its group", async () => {
  const { page, close } = await open(pages.kernel);
  const differences = await page.evaluate(() => {
    const file = facts.what_if.file;
    const { groups } = file.function.kernel;
    const all = groups.flatMap((group) => group.tasks.map((task, i) => ({ task, group, i })));
    const [{ kernel }] = groups;
    const kernels = [kernel, { ...kernel, linear: 2, input_scales: kernel.input_scales.map((r) => 3 * r) }];
    // A group of one target, with either kernel; its coefficients need not be those of a fit.
    const alone = ({ task, group, i }, kernel) => ({
      tasks: [task],
      kernel,
      observed: [group.observed[i]],
      noise: [group.noise[i]],
      amplitude: [group.amplitude[i]],
      coefficients: {
        rows: group.coefficients.rows,
        columns: 1,
        values: group.coefficients.values.slice(i * group.coefficients.rows, (i + 1) * group.coefficients.rows),
      },
    });
    const predictor = (kernelFor) => {
      const groups = all.map((one) => alone(one, kernelFor(one.task))).reverse();
      return predictorOf({ ...file, function: { kernel: { ...file.function.kernel, groups } } });
    };
    const row = rowsOf(file.probes.inputs)[0];
    const mixed = predictor((task) => kernels[task]);
    const same = all.map(({ task }) => {
      const [a, b] = [mixed.predict([...row], task), predictor(() => kernels[task]).predict([...row], task)];
      return Math.max(Math.abs(a.mean[task] - b.mean[task]), Math.abs(a.std - b.std));
    });
    const own = (task) => groups.find((group) => group.tasks.includes(task)).kernel;
    const split = predictor(own).predict([...row], 1);
    const whole = predictorOf(file).predict([...row], 1);
    const moved = mixed.predict([...row], 1);
    const means = split.mean.map((value, c) => Math.abs(value - whole.mean[c]));
    return {
      same: Math.max(...same),
      split: Math.max(...means, Math.abs(split.std - whole.std)),
      moved: Math.abs(moved.std - whole.std),
    };
  });
  assert.equal(differences.same, 0);
  assert.ok(differences.split < 1e-9, `${differences.split}`);
  assert.ok(differences.moved > 1e-3, `${differences.moved}`);
  await close();
});

test("targets with kernels of their own are shown with them", async () => {
  const text = read("kernel.html");
  const block = /(<script type="application\/json" id="facts">)(.*?)(<\/script>)/s;
  const facts = JSON.parse(text.match(block)[2]);
  const [kernel] = facts.inside.kernels;
  facts.inside.kernels = [
    { ...kernel, targets: [1], profiles: [...kernel.profiles].reverse() },
    { ...kernel, targets: [0] },
  ];
  for (const input of facts.learned.inputs) input.scale = [1, 2];
  const path = join(dirname(pages.kernel), "two-kernels.html");
  const json = JSON.stringify(facts).replaceAll("<", "\\u003c");
  writeFileSync(path, text.replace(block, (_, start, __, end) => start + json + end));
  const { page, problems, close } = await open(path);
  const look = () =>
    page.locator("#kernel .drawing, #scales .drawing").evaluateAll((all) => all.map((drawing) => drawing.innerHTML));
  const before = await look();
  assert.match(await page.locator("#kernel .note").textContent(), /2 kernels; this one serves glucose\./);
  await choose(page, 1);
  const after = await look();
  before.forEach((drawing, i) => assert.notEqual(drawing, after[i]));
  // Paper shows both.
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.equal(await page.locator("#kernel .target").count(), 2);
  assert.deepEqual(problems, []);
  await close();
});

test("a training row can be loaded into the what-if panel", async () => {
  const { page, close } = await open(pages.kernel);
  const all = table();
  const expected = predict("kernel.json", all);
  for (const n of [0, 5, 20, 88]) {
    await page.selectOption("#what-if-row", { label: `row ${n + 1}` });
    agrees((await answer(page)).mean, expected.glucose[n], `row ${n + 1}`);
  }
  await close();
});

test("the what-if panel starts from a real central row, and says what the changes do to every target", async () => {
  const { page, close } = await open(pages.kernel);
  const start = await page.locator("#what-if-row option:checked").textContent();
  const number = Number(start.match(/^row (\d+) \(most central\)$/)[1]);
  const cut = await page.locator("#what-if-row").evaluate((node) => {
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = getComputedStyle(node).font;
    return pen.measureText(node.selectedOptions[0].textContent).width > node.clientWidth - 20;
  });
  assert.ok(!cut, "the row is cut off");
  agrees((await answer(page)).mean, predict("kernel.json", table()).glucose[number - 1], "central row");
  const cells = () =>
    page.locator("#what-if-targets tbody tr").evaluateAll((all) => all.map((row) => [...row.children].map((c) => c.textContent)));
  assert.equal(await page.locator("#what-if-change li").count(), 0);
  const before = await answer(page);
  await fill(page, { dose: 2.75, colour: "green" });
  await page.waitForTimeout(150);
  const shown = await cells();
  assert.deepEqual(shown.map((row) => row[0]), TARGETS);
  const after = await answer(page);
  assert.equal(shown[0][4].replace("−", "-").replace("+", ""), String(Number((after.mean - before.mean).toPrecision(4))));
  assert.ok(shown.every((row) => / to /.test(row[3])), "all targets have an interval");
  // What single changes add is what both add together.
  const parts = await page.locator("#what-if-change li").allTextContents();
  const sum = parts.map((text) => Number(text.match(/\(([+−][^)]*)\)$/)[1].replace("−", "-"))).reduce((a, b) => a + b, 0);
  assert.ok(Math.abs(sum - (after.mean - before.mean)) < 1e-3 * Math.abs(sum) + 1e-3, `${parts}: ${sum}`);
  await close();
});

test("the what-if panel says when it is asked about what the data do not know", async () => {
  const { page, close } = await open(pages.kernel);
  const far = page.locator("#what-if-far");
  assert.ok(await far.isHidden());
  const slider = page.locator("#what-if .field", { has: page.locator('[data-input="age"]') }).locator("input[type=range]");
  const [low, high] = await slider.evaluate((node) => [Number(node.min), Number(node.max)]);
  const ages = table().filter((row) => row.age !== "").map((row) => Number(row.age));
  assert.ok(Math.abs(low - Math.min(...ages)) < 1e-3 && Math.abs(high - Math.max(...ages)) < 1e-3);
  await fill(page, { age: 500 });
  assert.match(await far.textContent(), /Beyond the data: age/);
  assert.match(await page.locator("#what-if .field .flag", { hasText: "observed" }).textContent(), /20.* to 80/);
  await fill(page, { age: 50 });
  assert.ok(await far.isHidden());
  // Two inputs that were never missing, and are now.
  await fill(page, { dose: null });
  assert.match(await far.textContent(), /Beyond the data: dose/);
  assert.match(await page.locator("#what-if .field .flag", { hasText: "missing" }).textContent(), /never missing/);
  await fill(page, { dose: 1, colour: null });
  assert.ok(await far.isHidden(), "colour has gaps in the data");
  await fill(page, { colour: "red" });
  // An unseen level is no surer than those that are known.
  const widths = {};
  for (const colour of ["red", "green", "blue", "(another)"]) {
    await fill(page, { colour });
    widths[colour] = (await answer(page)).std;
  }
  assert.match(await far.textContent(), /colour/);
  for (const colour of ["red", "green", "blue"]) assert.ok(widths["(another)"] >= widths[colour] * 0.999, JSON.stringify(widths));
  await close();
});

test("rows are found by number and by value", async () => {
  const { page, close } = await open(pages.kernel);
  const options = () => page.locator("#local-row option").allTextContents();
  const all = await options();
  await page.fill("#local-search", "7");
  assert.deepEqual(await options(), ["row 7"]);
  assert.match(await page.locator("#local .finding").textContent(), /^Row 7: predicted/);
  await page.fill("#local-search", "colour red");
  const red = table().flatMap((row, n) => (row.colour === "red" ? [`row ${n + 1}`] : []));
  assert.deepEqual(await options(), red.filter((row) => all.includes(row)));
  // A whole cell counts before a part of one, and a decimal number is a value.
  const first = await page.evaluate(() => [short(facts.quality.rows.number[facts.local.rows[3]]), cellOf(facts, 1, facts.local.rows[3])]);
  await page.fill("#local-search", `dose = ${first[1]}`);
  assert.ok((await options()).includes(`row ${first[0]}`));
  await page.fill("#local-search", first[1]);
  assert.ok((await options()).includes(`row ${first[0]}`), `${first}: ${await options()}`);
  const found = await page.evaluate(() => {
    const own = cellOf;
    cellOf = (_, input, at) => (input ? "" : at % 2 ? "male" : "female");
    const rows = foundRows(facts, "male").map((i) => facts.local.rows[i] % 2);
    cellOf = own;
    return rows;
  });
  assert.ok(found.length > 10 && found.every((odd) => odd === 1), `${found}`);
  await page.fill("#local-search", "nothing like it");
  assert.equal((await options()).length, 0);
  await close();
});

test("tips can be read from the keyboard", async () => {
  const { page, close } = await open(pages.kernel);
  for (const [id, pattern] of [
    ["observed", /row \d+.*observed.*predicted/],
    ["partial", /age.*to/],
    ["comparison", /R²/],
  ]) {
    await page.locator(`#${id} svg[tabindex]`).first().focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => document.getElementById("spoken").textContent !== "");
    assert.match(await page.locator("#spoken").textContent(), pattern);
    const first = await page.locator("#spoken").textContent();
    for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(50);
    assert.notEqual(await page.locator("#spoken").textContent(), first, id);
    await page.evaluate(() => (document.getElementById("spoken").textContent = ""));
  }
  await close();
});

test("hits and misses differ by shape", async () => {
  const { page, close } = await open(pages.kernel);
  const shapes = await page.locator('#observed [data-mark="dot"]').evaluateAll((all) => all.map((g) => g.firstElementChild?.tagName));
  assert.deepEqual([...new Set(shapes)].sort(), ["circle", "path"]);
  await close();
});

test("names that are cut short stay apart, and nothing is clipped between 360 and 1600 pixels", async () => {
  for (const kind of ["wide", "kernel", "sinusoidsWithoutRows", "six", "skewed", "levels", "visits"]) {
    for (const width of kind === "six" ? [360, 768, 1280] : [360, 760, 1600]) {
      const { page, problems, close } = await open(pages[kind], { viewport: { width, height: 900 } });
      const wrong = await page.evaluate(() => {
        const out = [];
        const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4;
        if (document.documentElement.scrollWidth > innerWidth) out.push(`page is ${document.documentElement.scrollWidth} wide`);
        for (const svg of document.querySelectorAll("main svg[role=img]")) {
          const id = svg.closest("figure[id]").id;
          const axes = {};
          for (const text of svg.querySelectorAll("text")) {
            if (!text.textContent.trim()) continue;
            const box = text.getBoundingClientRect();
            if (box.right > innerWidth + 1 || box.left < -1) out.push(`${id}: ${text.textContent}`);
            const axis = text.closest('[data-mark*="tick label"]');
            if (axis) (axes[axis.dataset.mark + Math.round(axis.getBoundingClientRect().top / 1e4)] ??= []).push([text.textContent, box]);
          }
          for (const ticks of Object.values(axes)) {
            const names = ticks.map(([name]) => name);
            if (names.some((name) => name.includes("…")) && new Set(names).size < names.length) out.push(`${id}: two ticks are called alike`);
            for (const [i, [name, a]] of ticks.entries())
              for (const [other, b] of ticks.slice(i + 1))
                if (over(a, b)) out.push(`${id}: ${name} covers ${other}`);
          }
          // Texts of different kinds, such as the label of an axis and its ticks.
          const card = svg.closest("figure[id]").getBoundingClientRect();
          const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent.trim()).map((text) => [text.textContent, text.getBoundingClientRect()]);
          for (const [i, [text, a]] of texts.entries()) {
            if (a.right > card.right + 1 || a.left < card.left - 1) out.push(`${id}: ${text} leaves the card`);
            for (const [other, b] of texts.slice(i + 1)) if (over(a, b)) out.push(`${id}: ${text} covers ${other}`);
          }
        }
        return [...new Set(out)];
      });
      assert.deepEqual(wrong, [], `${kind} at ${width}`);
      assert.deepEqual(problems, []);
      await close();
    }
  }
});

test("of a transformed target everything but its weights is in its unit", async () => {
  const { page, close } = await open(pages.skewed);
  const { scale, rows, local } = await page.evaluate(() => ({ scale: facts.model.scale_of, rows: facts.quality.rows, local: facts.local }));
  assert.match(scale[0], /^asinh\(/);
  assert.equal(scale[1], "pain");
  const finding = (id) => page.locator(`#${id} .finding`).textContent();
  const near = (found, expected) => assert.ok(Math.abs(found - expected) <= 2e-3 * Math.abs(expected), `${found}, not ${expected}`);
  for (const i of [0, 40, 120]) {
    const at = local.rows[i];
    await page.selectOption("#local-row", String(i));
    const said = (await finding("local")).match(/predicted (\S+) days \((\S+) to (\S+)\), observed (\S+);.*\([+−]\S+ days\)/).slice(1).map(Number);
    [rows.mean, rows.lower, rows.upper, rows.observed].forEach((table, i) => near(said[i], table[0][at]));
    assert.ok(said[0] > said[1] && said[0] < said[2], `${said}`);
    // The parts lead from the typical prediction to the median of the row, in days.
    const sum = local.base[0][i] + local.rest[0][i] + local.parts[0][i].reduce((sum, [, value]) => sum + value, 0);
    near(sum, local.prediction[0][i]);
    assert.ok(sum > said[1] && sum < said[2], `${sum}`);
    const note = await page.locator("#local .note").textContent();
    near(Number(note.match(/typical prediction (\S+); green: median \S+; dashed: observed \S+ days\./)[1]), local.base[0][i]);
    assert.ok((await page.locator("#local svg [stroke-dasharray]").count()) > 0);
  }
  for (const id of ["swarm", "surface", "local", "links"]) {
    const texts = await page.locator(`#${id} svg text`).allTextContents();
    assert.ok(texts.some((text) => /Length of stay \(days\)/.test(text)), `${id}: ${texts}`);
    assert.ok(texts.every((text) => !/asinh/.test(text)), `${id}: ${texts}`);
  }
  for (const id of ["partial", "swarm", "surface"]) {
    assert.match(await finding(id), /\d days/);
    assert.doesNotMatch(await finding(id), /asinh/);
  }
  // The curve lies among the predictions, within its band, as does the one that the what-if panel would draw.
  const curves = await page.evaluate(() => curvesOf(facts, 0).flatMap((curve) => curve.points));
  const [least, most] = [Math.min(...rows.lower[0]), Math.max(...rows.upper[0])];
  assert.ok(curves.every((d) => least < d.lower && d.lower < d.mean && d.mean < d.upper && d.upper < most));
  assert.match(await page.locator("#partial .read").first().textContent(), /typical prediction of Length of stay .*asinh\(Length of stay.*own unit/);
  assert.match(await finding("observed"), /off by \S+ days/);
  await choose(page, 1);
  assert.equal(await page.locator("#scale-note").textContent(), "");
  assert.ok(await page.locator("#scale-note").isHidden());
  assert.match(await page.locator("#local .note").textContent(), /average prediction/);
  await close();
});

test("the largest part of a prediction may be that of the other inputs; intervals are named where there are any", async () => {
  const { page, close } = await open(pages.wide);
  const found = await page.evaluate(() => {
    const { local } = facts;
    const figure = SINGLE_FIGURES[0];
    local.rest[0][0] = 1e4;
    const std = local.parts[0].map((row) => row.map((part) => [...part]));
    const with_ = ((local.parts[0][0][0][2] = 1), figure.read(facts));
    local.parts[0][0].forEach((part) => (part[2] = null));
    figure.row = 0;
    return { finding: figure.finding(facts, 0), with_, without: figure.read(facts), others: local.others };
  });
  assert.match(found.finding, new RegExp(`largest part: ${found.others} other inputs \\(\\+1e?`));
  assert.match(found.with_, /Thin lines/);
  assert.doesNotMatch(found.without, /Thin lines/);
  await close();
});

test("names that are cut short can be those of one level only, and counts are not cut", async () => {
  const { page, close } = await open(pages.skewed, { viewport: { width: 360, height: 740 } });
  const { wrong, counts } = await page.evaluate(() => {
    const all = Array.from({ length: 120 }, (_, i) => `Hospital of the city number ${i + 1}`);
    const wrong = [60, 90, 120].flatMap((room) => {
      const [first, ...rest] = shortened(["Hospital of the city number 18", "Hospital of the city number 7"], room, all);
      const [head, tail] = first.split("…");
      const means = all.filter((name) => name.startsWith(head) && name.endsWith(tail));
      return means.length === 1 && widthOf(first) <= room ? [] : [`${first} is one of ${means.length}`];
    });
    const texts = [...document.querySelectorAll("#partial svg text")].map((text) => text.textContent);
    return { wrong, counts: texts.filter((text) => /\(\d/.test(text)) };
  });
  assert.deepEqual([wrong, counts], [[], []]);
  await close();
});

test("of 119 levels with long names each label can be one level only, and shows what differs", async () => {
  for (const width of [360, 1600]) {
    const { page, close } = await open(pages.levels, { viewport: { width, height: 900 } });
    const wrong = await page.evaluate(() => {
      const input = facts.learned.inputs.findIndex((d) => !d.number);
      const all = facts.learned.curves.find((curve) => curve.input === input).at.labels;
      const out = all.length === 119 ? [] : [`${all.length} levels`];
      // Whatever is left of a name is in it, in its order, and in no other name in the same way.
      const fits = (label, name) => {
        let from = 0;
        for (const part of label.split("…").map((part) => part.trim()).filter(Boolean)) {
          const at = name.indexOf(part, from);
          if (at < 0) return false;
          from = at + part.length;
        }
        return true;
      };
      for (const room of [60, 110, 160]) {
        const labels = shortened(all, room, all);
        if (new Set(labels).size < all.length) out.push(`alike in ${room}`);
        labels.forEach((label, i) => (widthOf(label) > room || !fits(label, all[i])) && out.push(`${label} for ${all[i]} in ${room}`));
      }
      const numbered = shortened(["aaaa bbbb cccc aaaa", "aaaa cccc bbbb aaaa"], 50);
      if (numbered[0] === numbered[1] || !numbered.every((name, i) => name.endsWith(`#${i + 1}`))) out.push(`${numbered}`);
      const rows = [...document.querySelectorAll('#surface [data-mark="y-axis tick label"] text')].map((text) => text.textContent);
      if (rows.length < 10 || rows.length > 13 || new Set(rows).size < rows.length) out.push(`surface: ${rows}`);
      return out;
    });
    assert.deepEqual(wrong, []);
    assert.match(await page.locator("#surface").textContent(), /with more than 12 levels the most frequent ones/);
    await close();
  }
});

test("numbers at axes and in sentences have digits enough to be told apart", async () => {
  const { page, close } = await open(pages.skewed);
  const found = await page.evaluate(() => ({
    years: [1932, 1936, 2012].map((v) => apart(v, [1932, 1936, 2012], 2)),
    few: apart(0.31234, [0.1, 0.31234, 0.5], 2),
    far: amount({ check: { methods: [0, 0, { rmse: [0.06] }] } }, 0, -118.28853),
    near: amount({ check: { methods: [0, 0, { rmse: [40] }] } }, 0, 118.28853),
    none: amount({ check: null, quality: null }, 0, 12.34567),
  }));
  assert.deepEqual(found, { years: ["1932", "1936", "2012"], few: "0.31", far: "-118.2885", near: "118.3", none: "12.35" });
  await close();
});

test("captions say on how many rows something was measured", async () => {
  const { page, close } = await open(pages.kernel);
  const read = (id) => page.locator(`#${id} .read`).first().textContent();
  const texts = () => page.evaluate(() => [...RELEVANCE_FIGURES, ...CURVE_FIGURES].map((figure) => (typeof figure.read === "string" ? figure.read : figure.read(facts))).join(" "));
  assert.doesNotMatch((await texts()).replace(/Explained are.*?\./, ""), /\d+ of \d+ rows/);
  await page.evaluate(() => {
    Object.assign(facts.learned.relevance, { rows: 44, interval_rows: 12 });
    facts.learned.averaged_over = 60;
  });
  const thinned = await texts();
  assert.match(thinned, /Measured on 44 of 90 rows, spread evenly\. The intervals rest on 12 rows/);
  assert.equal(thinned.match(/stay as they are in 60 of 90 rows, spread evenly/g).length, 2);
  await close();
});

test("dates are dates", async () => {
  const { page, close } = await open(pages.skewed);
  const i = await page.evaluate(() => facts.inputs.indexOf("day"));
  const [curve, cell, csv] = await page.evaluate(
    (i) => {
      const box = [...document.querySelectorAll("#partial .several > div")].find((node) => node.querySelector("h4").textContent === "day");
      const rows = CURVE_FIGURES.find((f) => f.id === "partial").table(facts, 0).filter((d) => d.input === "day");
      return [box ? [...box.querySelectorAll("text")].map((t) => t.textContent) : null, cellOf(facts, i, 0), rows.map((d) => d.value)];
    },
    i,
  );
  assert.match(cell, /^202[01]-\d\d-\d\d$/);
  if (curve) assert.ok(curve.some((text) => /^202[01]-\d\d-\d\d$/.test(text)) && !curve.some((text) => /^\d{3}$/.test(text)), `${curve}`);
  assert.ok(csv.every((value) => /^202[01]-\d\d-\d\d/.test(value)), `${csv[0]}`);
  await close();
});

test("dates of the what-if panel are fields of the calendar, bounded by what was observed", async () => {
  const { page, problems, close } = await open(pages.visits);
  const days = visits().map((row) => row.born).filter(Boolean).sort();
  const moments = visits().map((row) => row.admitted.replace(" ", "T")).sort();
  const clocks = visits().map((row) => row.woken).sort();
  const field = (name) => page.locator(`#what-if [data-input="${name}"]`);
  const kinds = { born: ["date", days], admitted: ["datetime-local", moments], woken: ["time", clocks] };
  for (const [name, [type, all]] of Object.entries(kinds)) {
    const found = await field(name).evaluate((node) => [node.type, node.min, node.max, node.value, node.validity.valid]);
    assert.equal(found[0], type);
    // Seconds may be left out where there are none.
    assert.deepEqual([found[1], found[2]].map((text) => text.slice(0, all[0].length)), [all[0], all.at(-1)]);
    assert.ok(all.includes(found[3].slice(0, all[0].length)) && found[4], `${name}: ${found[3]} is that of a row`);
    assert.doesNotMatch(await field(name).locator("xpath=..").locator("label").textContent(), /days since/);
  }
  // What is written there is what the command is given, and the same is predicted.
  const rows = [
    { born: days[0], admitted: moments[3].replace("T", " "), woken: "06:30", x: "0.5" },
    { born: "1953-02-28", admitted: "2021-12-24 18:00", woken: "23:59", x: "0.25" },
    { born: "", admitted: "2020-09-01 00:00", woken: "01:00", x: "0.75" },
    { born: "1931-07-04", admitted: "2035-01-01 12:00", woken: "12:00", x: "0.1" },
  ];
  const expected = predict("visits.json", rows.map((row) => ({ ...row, y: "0" })));
  for (const [n, row] of rows.entries()) {
    await fill(page, { born: row.born || null, admitted: row.admitted.replace(" ", "T"), woken: row.woken, x: row.x });
    const found = await answer(page);
    agrees(found.mean, expected.y[n], `mean of row ${n}`);
    agrees(found.lower, expected.y_lower[n], `lower end of row ${n}`);
    agrees(found.upper, expected.y_upper[n], `upper end of row ${n}`);
    const flags = await page.locator("#what-if .field .flag").allTextContents();
    const far = await page.locator("#what-if-far").textContent();
    if (n === 2) assert.ok(flags.includes("missing") && !/Beyond/.test(far), `${flags} ${far}`);
    if (n === 3) {
      const said = flags.filter((text) => /outside of what was observed/.test(text));
      assert.deepEqual(said, [
        `outside of what was observed: ${days[0]} to ${days.at(-1)}`,
        `outside of what was observed: ${moments[0].replace("T", " ")} to ${moments.at(-1).replace("T", " ")}`,
      ].filter((text) => said.includes(text)));
      assert.ok(said.length === 2 && /Beyond the data: (born, admitted|admitted, born)/.test(far), far);
    }
  }
  // By keyboard alone: a segment of the field with arrows and digits; the slider goes by days and says which.
  await fill(page, { born: days[5] });
  await field("born").focus();
  await page.keyboard.press("ArrowUp");
  assert.notEqual(await field("born").inputValue(), days[5]);
  await page.keyboard.type("03151947");
  assert.equal(await field("born").inputValue(), "1947-03-15");
  const slider = field("born").locator("xpath=..").locator("input[type=range]");
  assert.equal(await slider.getAttribute("aria-valuetext"), "1947-03-15");
  await slider.focus();
  await page.keyboard.press("ArrowRight");
  assert.equal(await field("born").inputValue(), "1947-03-16");
  assert.equal(await slider.getAttribute("aria-valuetext"), "1947-03-16");
  const clock = field("woken").locator("xpath=..").locator("input[type=range]");
  await clock.focus();
  await page.keyboard.press("Home");
  assert.equal((await field("woken").inputValue()).slice(0, 5), clocks[0]);
  assert.match(await page.locator("#what-if-change").textContent(), /born: .*\d{4}-\d\d-\d\d → 1947-03-16/);
  assert.doesNotMatch(await page.locator("#what-if").textContent(), /NaN|Invalid/);
  assert.deepEqual(problems, []);
  await close();
});

test("without row data the bounds of dates are whole days of nobody in particular", async () => {
  const { page, close } = await open(pages.visitsWithoutRows);
  const found = await page.locator('#what-if [data-input="born"]').evaluate((node) => [node.type, node.min, node.max, node.value]);
  const days = visits().map((row) => row.born).filter(Boolean).sort();
  assert.equal(found[0], "date");
  assert.ok(days[0] < found[1] && found[1] < found[3] && found[3] < found[2] && found[2] < days.at(-1), `${found}`);
  await fill(page, { born: days[0] });
  assert.match((await page.locator("#what-if .field .flag").allTextContents()).join(), new RegExp(`observed: ${found[1]} to ${found[2]}`));
  await close();
});

test("where no row is near, cells are hatched; colours have a scale", async () => {
  const { page, close } = await open(pages.kernel);
  const found = await page.evaluate(() => ({
    hatched: document.querySelectorAll('#surface [data-mark="cell"][fill="url(#hatch)"] > *, #surface [data-mark="cell"] > [fill="url(#hatch)"]').length,
    empty: surfaceOf(facts, 0).filter((d) => d.rows === 0).length,
    near: surfaceOf(facts, 0).filter((d) => d.rows > 0).length,
    legend: document.querySelector("#surface .legend")?.textContent,
  }));
  assert.ok(found.near > 0 && found.empty > 0 && found.hatched === found.empty, JSON.stringify(found));
  assert.match(found.legend, /no row is near/);
  assert.equal(await page.locator("#surface svg[role=img]").count(), 2);
  assert.ok((await page.locator("#surface svg[role=img]").last().locator("text").count()) >= 3);
  await close();
});

test("the page can be used from the keyboard", async () => {
  const { page, close } = await open(pages.kernel);
  const reached = new Set();
  for (let i = 0; i < 120; i++) {
    await page.keyboard.press("Tab");
    reached.add(
      await page.evaluate(
        () =>
          document.activeElement.dataset.input ||
          document.activeElement.id ||
          document.activeElement.getAttribute("aria-label"),
      ),
    );
  }
  for (const control of ["task", "theme", "print", "local-search", "local-row", "what-if-row", "age", "colour"])
    assert.ok(reached.has(control), `Tab does not reach ${control}`);
  await page.focus("#task");
  await page.keyboard.press("ArrowDown");
  assert.equal(await page.locator("#task").inputValue(), "1");
  const unlabelled = await page
    .locator("select, input")
    .evaluateAll((all) => all.filter((node) => !node.labels.length && !node.getAttribute("aria-label")).length);
  assert.equal(unlabelled, 0);
  await close();
});

test("figures give their data as CSV, and the card as Markdown", async () => {
  const { page, close } = await open(pages.kernel);
  const saved = async (selector) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.click(selector)]);
    return readFileSync(await download.path(), "utf8");
  };
  const observed = (await saved("#observed .tools button")).trim().split("\n");
  assert.equal(observed.length - 1, table().filter((row) => row.glucose !== "").length);
  assert.match(observed[0], /^row,observed,predicted,lower,upper/);
  const [number, value] = observed[1].split(",").map(Number);
  assert.ok(Math.abs(Number(table()[number - 1].glucose) - value) < 1e-4);
  assert.equal(await saved("#card"), read("kernel.md"));
  // Shares have a 90 % interval, and add up.
  const [header, ...shares] = (await saved("#relevance-task .tools button")).trim().split("\n");
  assert.ok(header.startsWith("target,input,share,low,high,alone"), header);
  const cells = shares.map((line) => line.split(",").slice(2, 5).map(Number));
  assert.ok(Math.abs(cells.reduce((sum, [share]) => sum + share, 0) - 1) < 1e-4);
  assert.ok(cells.every(([share, low, high]) => low < share && share < high));
  await close();
});

test("without row data no value of a row is in the file", () => {
  // The same search finds them where they may be.
  for (const value of [table()[0].glucose, table()[0].age])
    assert.ok(read("sinusoids.html").includes(String(Number(Number(value).toPrecision(7)))));
  for (const name of ["kernel-without-rows.html", "sinusoids-without-rows.html"]) {
    const page = read(name);
    const facts = page.match(/id="facts">(.*?)<\/script>/s)[1];
    for (const row of table()) {
      for (const value of [row.glucose, row[EVIL], row.age].filter((text) => text !== "")) {
        // Short numbers are found everywhere.
        for (const text of [String(Number(value)), Number(value).toPrecision(7)].filter((text) => text.length > 6))
          assert.ok(!facts.includes(text), `${name} has ${text}`);
      }
    }
  }
});

test("paper has the figures of every target", async () => {
  const { page, problems, close } = await open(pages.kernel);
  const targets = () => page.locator("#observed .drawing").evaluate((d) => d.querySelectorAll(".target").length);
  const names = () => page.locator("#observed .target > h4").allTextContents();
  await choose(page, 1);
  assert.equal(await targets(), 0);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.deepEqual((await names()).sort(), [...TARGETS].sort());
  assert.equal((await names())[0], TARGETS[1]);
  assert.equal(await page.locator("#observed .target svg").count(), TARGETS.length);
  const pictures = await page
    .locator("#observed .drawing svg")
    .evaluateAll((all) => all.map((svg) => svg.outerHTML).filter((text) => text.includes("<circle")));
  assert.equal(new Set(pictures).size, TARGETS.length);
  assert.equal(await page.locator("#correlation .target").count(), 0);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await targets(), 0);
  // The browser does the same by itself, and the page is as before when the paper is out.
  await page.evaluate(() =>
    addEventListener("beforeprint", () => (window.printed = document.querySelectorAll("#observed .target").length)),
  );
  await page.pdf({ format: "A4" });
  assert.equal(await page.evaluate(() => window.printed), TARGETS.length);
  // Forms are not printed.
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator("input:visible, select:visible, button:visible").count(), 0);
  await page.emulateMedia({ media: null });
  // Letters are as large on paper as they are drawn: pictures are not made smaller to fit.
  await page.setViewportSize({ width: 688, height: 900 });
  await page.waitForTimeout(400);
  await page.emulateMedia({ media: "print" });
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const shrunk = await page
    .locator("figure:visible .drawing svg[role=img]")
    .evaluateAll((all) => all.filter((svg) => svg.getBoundingClientRect().width < 0.97 * Number(svg.getAttribute("width"))).map((svg) => svg.closest("figure[id]").id));
  assert.deepEqual(shrunk, []);
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  await page.emulateMedia({ media: null });
  assert.equal(await targets(), 0);
  assert.deepEqual(problems, []);
  await close();
});

test("on paper no picture is split, none is without its words, and no page is empty", async () => {
  for (const [kind, path] of Object.entries(pages)) {
    const { page, problems, close } = await open(path);
    for (const format of ["A4", "Letter"]) {
      const paper = onPaper(await page.pdf({ format, tagged: true }));
      // The structure says where the pictures are: without, nothing is tested.
      const drawn = await page.locator("figure[id]:not(#what-if)").count();
      assert.ok(paper.elements.filter((one) => one.kind === "Figure").length >= 2 * drawn, kind);
      assert.deepEqual(splitOn(paper), [], `${kind} on ${format}`);
    }
    assert.deepEqual(problems, []);
    await close();
  }
});

test("paper shows once what is the same for several targets", async () => {
  const { page, close } = await open(pages.kernel);
  const facts = await page.evaluate(() => JSON.parse(document.getElementById("facts").textContent));
  const groups = facts.inside.kernels.map((kernel) => kernel.targets);
  assert.deepEqual(groups.flat().sort(), [0, 1]);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  for (const id of ["kernel", "scales"])
    assert.equal(await page.locator(`#${id} .target`).count(), groups.length > 1 ? groups.length : 0);
  await close();
  // The same with kernels of three targets, of one and of two.
  const text = read("six.html");
  const block = /(<script type="application\/json" id="facts">)(.*?)(<\/script>)/s;
  const six = JSON.parse(text.match(block)[2]);
  const kernel = six.inside.kernels[0];
  six.inside.kernels = [[0, 2, 5], [1], [4, 3]].map((targets) => ({ ...kernel, targets }));
  const path = join(dirname(pages.six), "three-kernels.html");
  const json = JSON.stringify(six).replaceAll("<", "\\u003c");
  writeFileSync(path, text.replace(block, (_, start, __, end) => start + json + end));
  const opened = await open(path);
  await choose(opened.page, 3);
  await opened.page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  const year = (c) => `concentration in the sample of the year ${2001 + c}`;
  const expected = [[3, 4], [0, 2, 5], [1]].map((tasks) => tasks.map(year).join(", "));
  for (const id of ["kernel", "scales"])
    assert.deepEqual(await opened.page.locator(`#${id} .target > h4`).allTextContents(), expected);
  await opened.close();
});

test("light, dark, phone and paper", async () => {
  const look = {
    light: {},
    dark: { colorScheme: "dark" },
    phone: { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2 },
  };
  const grounds = new Set();
  for (const [name, options] of Object.entries(look)) {
    for (const kind of ["kernel", "sinusoids", "wide", "kernelWithoutRows", "newRows"].slice(0, name === "phone" ? 5 : 2)) {
      const { page, problems, close } = await open(pages[kind], options);
      assert.ok(
        await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth),
        `${name} is wider than its window`,
      );
      await page.screenshot({ path: join(shots, `${kind}-${name}.png`), fullPage: true });
      grounds.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
      await page.click("#theme");
      grounds.add(await page.evaluate(() => getComputedStyle(document.body).backgroundColor));
      assert.deepEqual(problems, []);
      if (name === "light") await page.pdf({ path: join(shots, `${kind}.pdf`), format: "A4" });
      await close();
    }
  }
  assert.equal(grounds.size, 2);
});
