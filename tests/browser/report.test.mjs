// Reports of small models opened from disk in headless Chromium.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { EVIL, TARGETS, makeReports, predict, read, table } from "./models.mjs";

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
const shots = join(dirname(process.env.BROWSER_TOOLS), "screenshots");
mkdirSync(shots, { recursive: true });

const ALL = [
  "observed",
  "residuals",
  "comparison",
  "calibration",
  "influence",
  "relevance",
  "relevance-task",
  "shapley-mean",
  "partial",
  "surface",
  "scales",
  "local",
  "correlation",
  "trace",
  "kernel",
  "sinusoids",
  "links",
];
const ROWS = ["observed", "residuals", "influence", "local"];
const DATA = [...ROWS, "calibration", "correlation"];
/** Figures that a report says it cannot show; all others must be drawn. */
const ABSENT = {
  kernel: ["sinusoids"],
  sinusoids: ["links"],
  cosines: [],
  kernelWithoutRows: ["sinusoids", ...ROWS],
  sinusoidsWithoutRows: ["links", ...ROWS],
  kernelUnchecked: ["sinusoids"],
  kernelAlone: ["sinusoids", ...DATA],
  sinusoidsAlone: ["links", ...DATA, "relevance", "relevance-task", "shapley-mean", "partial", "surface", "scales"],
};

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
      for (const c of [1, 0]) await choose(page, c);
      assert.deepEqual(problems, []);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      assert.equal(await page.locator("img").count(), 0);
      await close();
    });

    test("every figure is drawn, or says why not", async () => {
      const { page, close } = await open(path);
      const found = await page.locator("figure[id]:not(#what-if)").evaluateAll((all) =>
        all.map((figure) => ({
          id: figure.id,
          read: figure.querySelector(".read").textContent,
          note: figure.querySelector(".drawing > .note")?.textContent ?? "",
          marks: figure.querySelectorAll(".drawing svg path, .drawing svg circle, .drawing svg rect, .drawing svg line")
            .length,
          // Legends have small drawings of their own.
          empty: [...figure.querySelectorAll(".drawing svg")]
            .filter((svg) => svg.clientWidth > 60)
            .some((svg) => svg.querySelectorAll("path, circle, rect, line").length < 3),
          button: figure.querySelectorAll("button[aria-label*=CSV]").length,
          unreadable: /NaN|undefined|\[object/.test(figure.textContent),
        })),
      );
      assert.deepEqual(found.map((f) => f.id).sort(), [...ALL].sort());
      for (const figure of found) {
        const drawn = !ABSENT[kind].includes(figure.id);
        assert.ok(figure.read.length > 30, `${figure.id} does not say how to read it`);
        assert.ok(!figure.unreadable, `${figure.id} shows something that is not a number`);
        if (drawn)
          assert.ok(
            figure.marks > 5 && !figure.empty && figure.button === 1,
            `${figure.id} is empty: ${JSON.stringify(figure)}`,
          );
        else
          assert.ok(
            figure.marks === 0 && figure.note.length > 20,
            `${figure.id} should say why it is absent: ${JSON.stringify(figure)}`,
          );
      }
      await close();
    });

    test("the target selector changes what is shown", async () => {
      const { page, close } = await open(path);
      const look = () =>
        page
          .locator("figure[id]:not(#what-if) .drawing")
          .evaluateAll((all) => Object.fromEntries(all.map((d) => [d.parentNode.id, d.innerHTML])));
      const before = await look();
      await choose(page, 1);
      assert.equal(await page.locator("#task option:checked").textContent(), TARGETS[1]);
      const after = await look();
      const same = ["comparison", "correlation", "trace", "scales", "kernel"];
      for (const id of ALL.filter((id) => !ABSENT[kind].includes(id) && !same.includes(id)))
        assert.notEqual(before[id], after[id], id);
      await close();
    });

    const file = kind.startsWith("kernel")
      ? "kernel.json"
      : kind.startsWith("sinusoids")
        ? "sinusoids.json"
        : "cosines.json";
    if (kind === "kernelWithoutRows") {
      test("has no what-if panel, which would need its rows", async () => {
        const { page, close } = await open(path);
        assert.match(await page.locator("#what-if .note").textContent(), /asked to show no row/);
        assert.equal(await page.locator("#what-if input, #what-if select").count(), 0);
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
    const found = { headline: await text("#headline"), checked: await text("#checked-table"), left: await text("#left-out-table") };
    await close();
    return found;
  };
  const check = JSON.parse(read("kernel.json")).check;
  const score = (number) => number.toFixed(3);
  const checked = await shown(pages.kernel);
  assert.match(checked.headline, /rows it has not seen/);
  assert.ok(checked.headline.includes(score(check.model.scores.task_r2)), checked.headline);
  assert.match(checked.checked, /5 refits, random folds/);
  assert.match(checked.left, /left out in turn, at fixed scales/);
  const unchecked = await shown(pages.kernelUnchecked);
  assert.match(unchecked.headline, /^Not checked by refits/);
  assert.equal(unchecked.checked, "");
  // Scores need no rows: a model alone still has its check.
  assert.equal((await shown(pages.kernelAlone)).headline, checked.headline);
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

test("the page can be used from the keyboard", async () => {
  const { page, close } = await open(pages.kernel);
  const reached = new Set();
  for (let i = 0; i < 80; i++) {
    await page.keyboard.press("Tab");
    reached.add(
      await page.evaluate(
        () =>
          document.activeElement.id ||
          document.activeElement.dataset.input ||
          document.activeElement.getAttribute("aria-label"),
      ),
    );
  }
  for (const control of ["task", "theme", "print", "local-row", "what-if-row", "what-if-level", "age", "colour"])
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
  assert.match(observed[0], /^row,observed,predicted,std/);
  const [number, value] = observed[1].split(",").map(Number);
  assert.ok(Math.abs(Number(table()[number - 1].glucose) - value) < 1e-4);
  assert.equal(await saved("#card"), read("kernel.md"));
  // Every share of the variance has its deviation, in the table and in the drawing.
  const [header, ...shares] = (await saved("#relevance-task .tools button")).trim().split("\n");
  assert.ok(header.includes("total,total_std,first_order,first_order_std,mean_absolute_shapley"), header);
  const known = shares.filter((line) => Number(line.split(",")[header.split(",").indexOf("total_std")]) > 0);
  assert.equal(known.length, shares.length);
  assert.equal(await page.locator("#relevance-task g[aria-label=rule] line").count(), Math.min(15, shares.length) + 1);
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
  assert.equal(await targets(), 0);
  assert.deepEqual(problems, []);
  await close();
});

test("light, dark, phone and paper", async () => {
  const look = {
    light: {},
    dark: { colorScheme: "dark" },
    phone: { viewport: { width: 390, height: 844 }, deviceScaleFactor: 2 },
    "phone-dark": { viewport: { width: 390, height: 844 }, colorScheme: "dark" },
  };
  const grounds = new Set();
  for (const [name, options] of Object.entries(look)) {
    for (const kind of ["kernel", "sinusoids"]) {
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
