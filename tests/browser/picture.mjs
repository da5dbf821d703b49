// The picture of a report in the README: the verdict, and which inputs matter.
//   rffblr demo
//   CHROMIUM=$(command -v chromium) BROWSER_TOOLS=target/browser node tests/browser/picture.mjs rffblr-demo/report.html docs/report.png

import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [report, picture] = process.argv.slice(2);
const { chromium } = createRequire(join(resolve(process.env.BROWSER_TOOLS), "node_modules/"))("playwright-core");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1180, height: 900 }, colorScheme: "light" });
await page.goto(pathToFileURL(report).href);
await page.waitForFunction(() => document.documentElement.dataset.ready !== undefined);
await page.addStyleTag({
  content:
    "main > section:not(#verdict, #learned), .facts, #lists, #checked-table, #learned figure:not(#relevance-task, #swarm), #learned .absent " +
    "{ display: none !important } .checks { margin-top: 1.2rem } main { padding-bottom: 1.2rem } h2 { margin-top: 1.6rem }",
});
await page.screenshot({ path: picture, fullPage: true });
await browser.close();
