// Formulas as HTML and MathML, by KaTeX: a list of LaTeX sources as JSON on standard input, a list of HTML on standard output.
// The first argument is the folder of KaTeX.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { default: katex } = await import(pathToFileURL(`${process.argv[2]}/dist/katex.mjs`).href);
const sources = JSON.parse(readFileSync(0, "utf8"));
const options = { displayMode: true, output: "htmlAndMathml", strict: (code) => (code === "unicodeTextInMathMode" ? "ignore" : "error") };
console.log(JSON.stringify(sources.map((source) => katex.renderToString(source, options))));
