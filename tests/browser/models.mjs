// Small tables, models and reports for the browser test, made by the real command.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const folder = join(process.env.BROWSER_TOOLS, "work");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

/** A name that would run if it were not escaped, with a comma and quotes in it. */
export const EVIL = `<img src=x onerror="window.hacked=1">, </script> {{facts}}`;
export const TARGETS = ["glucose", EVIL];

/**
 * Ninety rows: numbers with gaps, text with gaps, a number that is only there or not, a name that attacks, gaps in a
 * target. There is an even number of ages, so that their median is nobody's.
 */
export function table() {
  const rows = [];
  for (let n = 0; n < 90; n++) {
    const age = 20 + ((n * 37) % 61) + 0.123 * (n % 7),
      dose = (((n * 11) % 23) / 7).toFixed(5);
    const colour = ["red", "green", "blue"][n % 3];
    const noise = Math.sin(n * 12.9898) * 1.7;
    const glucose = 90 + 9 * Math.sin(age / 9) + 2 * dose + noise;
    const other = 1000 + 4 * age * dose + (colour === "red" ? 130 : 0) + 20 * Math.cos(n * 4.1);
    rows.push({
      age: n % 12 === 5 ? "" : age.toFixed(4),
      dose,
      colour: n % 17 === 3 ? "" : colour,
      ward: n % 5 ? "7" : "",
      weight: 1 + (n % 3),
      glucose: n % 8 === 1 ? "" : glucose.toFixed(6),
      [EVIL]: other.toFixed(6),
    });
  }
  return rows;
}

export const csv = (rows) => {
  const quote = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const columns = Object.keys(rows[0]);
  return (
    [columns, ...rows.map((row) => columns.map((name) => String(row[name])))]
      .map((line) => line.map(quote).join(","))
      .join("\n") + "\n"
  );
};

export function rffblr(...words) {
  return execFileSync(process.env.RFFBLR, words, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
}

/** The cells of a CSV table of numbers, by column. */
export function numbers(text) {
  const cells = (line) =>
    [...line.matchAll(/("(?:[^"]|"")*"|[^,]*)(?:,|$)/g)]
      .slice(0, -1)
      .map((m) => m[1].replace(/^"|"$/g, "").replaceAll('""', '"'));
  const [header, ...lines] = text
    .trim()
    .split("\n")
    .map((line) => (line.endsWith('"') ? line + "," : line))
    .map(cells);
  return Object.fromEntries(header.map((name, j) => [name, lines.map((line) => Number(line[j]))]));
}

/** What the command predicts for raw rows. */
export function predict(model, rows) {
  writeFileSync(join(folder, "new.csv"), csv(rows));
  return numbers(rffblr("predict", model, "new.csv", "-q"));
}

/** A wide table: names that are the same but for their ends, and a text of many levels. */
function wideTable() {
  const draw = (n, d) => Math.sin(n * 12.9898 + d * 78.233) * 2;
  return Array.from({ length: 70 }, (_, n) => ({
    ...Object.fromEntries(Array.from({ length: 60 }, (_, d) => [`measurement of the concentration ${d + 1}`, draw(n, d).toFixed(4)])),
    place: `place ${(n * n) % 33}`,
    y: (draw(n, 0) + draw(n, 1) ** 2 + 0.2 * draw(n, 99)).toFixed(5),
  }));
}

/** Rows of the same kind that no model has seen, half of them older than any before. */
function newTable() {
  return table()
    .filter((_, n) => n % 3 === 1)
    .map((row, n) => ({ ...row, age: String(50.5 + n * 2.1), glucose: row.glucose || "91.5" }));
}

/**
 * Lengths of stay, skewed and positive, which are learned as a transform; visits on dates, hospitals whose names end in
 * numbers of which some end others, a number that is mostly zero; a second target that is not transformed.
 */
function skewedTable() {
  const draw = (n, d) => (((Math.sin(n * 12.9898 + d * 78.233) * 43758.5453) % 1) + 1) % 1;
  return Array.from({ length: 160 }, (_, n) => {
    const age = 20 + 70 * draw(n, 0);
    const hospital = Math.floor(draw(n, 1) * 21) + 1;
    const rock = n % 10 === 3 ? 1 : 0;
    const noise = draw(n, 2) + draw(n, 3) + draw(n, 4) - 1.5;
    return {
      age: age.toFixed(1),
      hospital: `Hospital of the city number ${hospital > 10 ? 100 + hospital - 10 : hospital}`,
      rock,
      day: new Date(Date.UTC(2020, 0, 1 + Math.floor(700 * draw(n, 5)))).toISOString().slice(0, 10),
      crp: Math.exp(2 + 3 * draw(n, 6)).toFixed(1),
      stay: Math.exp(0.02 * age + 0.1 * (hospital % 5) + 0.8 * rock + 0.9 * noise).toFixed(3),
      pain: (5 + rock + 2 * noise + 0.02 * age).toFixed(3),
    };
  });
}

/** Days, some of them missing, days with times, and times of the day; what was observed depends on all of them. */
export function visits() {
  const draw = (n, d) => (((Math.sin(n * 12.9898 + d * 78.233) * 43758.5453) % 1) + 1) % 1;
  const text = (days) => new Date(86_400_000 * days).toISOString();
  return Array.from({ length: 110 }, (_, n) => {
    const [born, admitted, woken] = [Math.floor(-9000 + 8000 * draw(n, 0)), 18500 + 900 * draw(n, 1), draw(n, 2)];
    return {
      born: n % 13 === 4 ? "" : text(born).slice(0, 10),
      admitted: text(admitted).slice(0, 16).replace("T", " "),
      woken: text(woken).slice(11, 16),
      x: draw(n, 3).toFixed(3),
      y: (born / 2000 + Math.sin(admitted / 200) + 2 * Math.cos(2 * Math.PI * woken) + draw(n, 3) + 0.3 * draw(n, 4)).toFixed(4),
    };
  });
}

/** A text of 119 levels with long names that differ in the middle, at the end or by a digit, and an input and a target whose names are long too. */
function manyLevels() {
  const draw = (n, d) => (((Math.sin(n * 12.9898 + d * 78.233) * 43758.5453) % 1) + 1) % 1;
  const sides = ["northern", "southern", "eastern", "western"];
  return Array.from({ length: 357 }, (_, n) => {
    const level = n % 119;
    const place = `Administrative district ${level + 1} of the ${sides[level % 4]} provinces and islands`;
    const years = 40 * draw(n, 0);
    return {
      "district in which the household was registered at the time of the survey": place,
      "years_since_the_household_was_first_registered_anywhere": years.toFixed(2),
      "expenditure of the household on food and drinks in the last month": (50 + 6 * Math.sin(level) + years / 4 + 3 * draw(n, 1)).toFixed(3),
    };
  });
}

/** Six targets with long names that differ at their ends. */
function sixTargets() {
  return Array.from({ length: 60 }, (_, n) => {
    const row = { a: Math.sin(n * 1.3).toFixed(4), b: Math.cos(n * 2.1).toFixed(4) };
    for (let c = 1; c <= 6; c++)
      row[`concentration in the sample of the year ${2000 + c}`] = (Number(row.a) * c + Number(row.b) + Math.sin(n * c * 3.7)).toFixed(4);
    return row;
  });
}

const LABELS = "name,label,unit\nage,Age at entry,years\nglucose,Blood glucose,mg/dl\n";

/** Fits and reports every kind of model; gives the path of each page. */
export function makeReports() {
  writeFileSync(join(folder, "train.csv"), csv(table()));
  writeFileSync(join(folder, "wide.csv"), csv(wideTable()));
  writeFileSync(join(folder, "unseen.csv"), csv(newTable()));
  writeFileSync(join(folder, "labels.csv"), LABELS);
  writeFileSync(join(folder, "skewed.csv"), csv(skewedTable()));
  writeFileSync(join(folder, "skewed-labels.csv"), "name,label,unit\nstay,Length of stay,days\n");
  writeFileSync(join(folder, "six.csv"), csv(sixTargets()));
  writeFileSync(join(folder, "visits.csv"), csv(visits()));
  writeFileSync(join(folder, "levels.csv"), csv(manyLevels()));
  const fit = (name, ...flags) =>
    rffblr("fit", "train.csv", "--targets", "last:2", "-o", `${name}.json`, "-q", ...flags);
  fit("kernel", "--weight", "weight");
  fit("kernel-unchecked", "--weight", "weight", "--check", "off");
  fit("sinusoids", "--ignore", "weight", "--sparsity", "0.75");
  fit("cosines", "--ignore", "weight", "--preset", "paper", "--links", "true", "--max-iterations", "80");
  rffblr("fit", "wide.csv", "--targets", "y", "-o", "wide.json", "-q", "--check", "2");
  rffblr("fit", "skewed.csv", "--targets", "stay,pain", "--transform", "none,stay=asinh", "-o", "skewed.json", "-q", "--check", "2");
  rffblr("fit", "six.csv", "--targets", "last:6", "-o", "six.json", "-q", "--check", "2");
  rffblr("fit", "visits.csv", "--targets", "y", "-o", "visits.json", "-q", "--check", "2");
  rffblr("fit", "visits.csv", "--targets", "y", "--sparsity", "0.75", "-o", "visits-sparse.json", "-q", "--check", "2");
  rffblr("fit", "levels.csv", "--targets", "last:1", "-o", "levels.json", "-q", "--check", "2");
  const report = (page, ...words) => {
    rffblr("report", ...words, "-o", `${page}.html`, "-q");
    return join(folder, `${page}.html`);
  };
  return {
    kernel: report("kernel", "kernel.json", "train.csv", "--card", "kernel.md"),
    sinusoids: report("sinusoids", "sinusoids.json", "train.csv", "--labels", "labels.csv"),
    cosines: report("cosines", "cosines.json", "train.csv"),
    kernelWithoutRows: report("kernel-without-rows", "kernel.json", "train.csv", "--no-row-data"),
    sinusoidsWithoutRows: report("sinusoids-without-rows", "sinusoids.json", "train.csv", "--no-row-data"),
    kernelUnchecked: report("kernel-unchecked", "kernel-unchecked.json", "train.csv", "--check", "off"),
    kernelAlone: report("kernel-alone", "kernel.json"),
    sinusoidsAlone: report("sinusoids-alone", "sinusoids.json"),
    newRows: report("new-rows", "kernel.json", "unseen.csv"),
    wide: report("wide", "wide.json", "wide.csv"),
    skewed: report("skewed", "skewed.json", "skewed.csv", "--labels", "skewed-labels.csv"),
    six: report("six", "six.json", "six.csv"),
    levels: report("levels", "levels.json", "levels.csv"),
    visits: report("visits", "visits.json", "visits.csv"),
    visitsWithoutRows: report("visits-without-rows", "visits-sparse.json", "visits.csv", "--no-row-data"),
  };
}

export const read = (name) => readFileSync(join(folder, name), "utf8");
