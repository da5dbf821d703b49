// The site in headless Chromium, from disk: nothing from the network, no errors, no page wider than the window, pictures there,
// search and menu usable by keyboard, accessible.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, relative } from "node:path";
import { after, before, test } from "node:test";
import { pathToFileURL } from "node:url";

const { CHROMIUM, SITE, TOOLS } = process.env;
const { chromium } = createRequire(join(TOOLS, "/"))("playwright-core");
const axe = readFileSync(join(TOOLS, "axe-core/axe.min.js"), "utf8");
const all = readdirSync(SITE, { recursive: true })
  .filter((path) => path.endsWith(".html") && !path.startsWith("pictures"))
  .map((path) => relative(SITE, join(SITE, path)));
// Sources of the program all look alike: two will do.
const pages = [...all.filter((path) => !path.startsWith("source")), ...all.filter((path) => path.startsWith("source")).slice(0, 2)];
const address = (path) => pathToFileURL(join(SITE, path)).href;
const DESKTOP = { width: 1280, height: 900 };
const PHONE = { width: 390, height: 800 };

let browser;
before(async () => {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] });
});
after(() => browser?.close());

/** A page that fails on what goes wrong in it. */
async function open(path, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const wrong = [];
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("requestfailed", (request) => {
    // A picture that was still being drawn when the page was left is no failure; a missing one is another.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") wrong.push(`failed: ${request.url()}`);
  });
  page.on("request", (request) => {
    if (!/^(file|data|blob|about):/.test(request.url())) wrong.push(`from the network: ${request.url()}`);
  });
  await page.goto(address(path));
  return { page, wrong, close: () => context.close() };
}

for (const [name, viewport] of [["desktop", DESKTOP], ["phone", PHONE]]) {
  test(`${pages.length} pages on a ${name}`, async () => {
    const { page, wrong, close } = await open("index.html", { viewport });
    for (const path of pages) {
      await page.goto(address(path));
      const [wide, broken] = await page.evaluate(() => [
        document.documentElement.scrollWidth - document.documentElement.clientWidth,
        [...document.images].filter((image) => image.complete && !image.naturalWidth).map((image) => image.src),
      ]);
      assert.ok(wide <= 0, `${path} is ${wide} pixels wider than the window`);
      assert.deepEqual(broken, [], path);
      assert.deepEqual(wrong, [], path);
    }
    await close();
  });
}

test("search from the keyboard", async () => {
  const { page, wrong, close } = await open("guide/tables.html", { viewport: DESKTOP });
  for (const [query, expected] of [
    ["leave-one-out lower", "faq.html"],
    ["sparsity", "html"],
    ["rffblr evaluate", "commands.html"],
    ["predict_interval", "python"],
    ["orthonormal", "derivation.html"],
    ["--quantiles", "commands.html"],
    ["marginal likelihood", "html"],
  ]) {
    await page.keyboard.press("/");
    await page.locator("#search").fill(query);
    const links = await page.locator("#found a").evaluateAll((found) => found.map((link) => link.href));
    assert.ok(links.length > 0, `nothing for ${query}`);
    assert.ok(links.slice(0, 5).some((link) => link.includes(expected)), `${query}: ${links.slice(0, 5)}`);
    await page.keyboard.press("Escape");
  }
  await page.keyboard.press("/");
  await page.locator("#search").fill("leave-one-out lower");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForURL(/faq\.html/);
  await page.locator("#search").fill("qqqqq");
  assert.match(await page.locator("#found").innerText(), /Nothing holds/);
  assert.deepEqual(wrong, []);
  await close();
});

test("the menu on a phone", async () => {
  const { page, close } = await open("faq.html", { viewport: PHONE });
  assert.equal(await page.locator("#nav").isVisible(), false);
  await page.locator("#menu").click();
  assert.equal(await page.locator("#nav").isVisible(), true);
  await close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`accessible, ${colorScheme}`, async () => {
    // Long pages take axe long: those of formulas in one scheme.
    const long = colorScheme === "light" ? ["notation.html", "derivation.html"] : ["settings.html"];
    for (const path of ["index.html", "guide/first-fit.html", "tutorials/python.html", ...long]) {
      const { page, close } = await open(path, { viewport: DESKTOP, colorScheme });
      await page.evaluate(axe);
      const found = await page.evaluate(() => axe.run(document, { runOnly: ["wcag2a", "wcag2aa"] }));
      const said = found.violations.map(({ id, nodes }) => `${id}: ${nodes.length}, ${nodes[0].html.slice(0, 120)} ${nodes[0].any[0]?.message ?? ""}`);
      assert.deepEqual(said, [], path);
      await close();
    }
  });
}
