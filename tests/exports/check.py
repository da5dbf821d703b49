"""Every export of several models, run by the real thing and compared with `rffblr predict`."""

import csv
import datetime
import json
import math
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import onnx
import onnxruntime
import openpyxl

RFFBLR = os.environ["RFFBLR"]
CI = os.environ.get("CI") == "true"
# Largest difference, relative to the larger of the number and its standard deviation.
EXACT, GRAPH = 1e-9, 1e-6
ENDINGS = ["", "_std", "_lower", "_upper"]
TEXTS, DATES, TIMES = {"colour", "land"}, {"when"}, {"clock"}


def rffblr(*arguments):
    ran = subprocess.run([RFFBLR, *map(str, arguments)], capture_output=True, text=True)
    if ran.returncode:
        sys.exit(f"rffblr {' '.join(map(str, arguments))}: {ran.stderr}")
    return ran.stdout


def write(path, rows):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def made_up(count, seed):
    """Numbers, a text, dates and times with gaps; one target that is skewed."""
    draw = random.Random(seed)
    rows = []
    for n in range(count):
        a, b, colour = draw.gauss(5, 2), draw.uniform(-1, 1), draw.choice(["red", "green", "it's \"blue\"", "ré\\d"])
        when = datetime.datetime(2021, 1, 1) + datetime.timedelta(days=draw.uniform(0, 1100))
        when, clock = when.replace(microsecond=0), datetime.time(draw.randrange(24), draw.randrange(60))
        season = math.cos(2 * math.pi * when.timetuple().tm_yday / 365)
        level = math.sin(a) + b * b + season + (colour == "red") + 0.1 * draw.gauss(0, 1)
        day = math.sin(2 * math.pi * clock.hour / 24)
        rows.append({
            "id": n, "a b": round(a, 4), "int": "" if draw.random() < 0.1 else round(b, 4),
            "colour": "" if draw.random() < 0.1 else colour,
            "when": "" if draw.random() < 0.1 else when.isoformat(sep=" "),
            "clock": clock.strftime("%H:%M"),
            "level": round(level + day, 4), "price": round(math.exp(level + draw.gauss(0, 0.3)), 4),
        })
    return rows


def is_missing(cell):
    return cell.strip() in ("", "NA", "n/a", "?")


def is_number(cell):
    try:
        return "_" not in cell and math.isfinite(float(cell))
    except ValueError:
        return False


def soil(count, seed):
    """Rows like those of the survey, with gaps in several spellings, blanks around cells and levels it did not have."""
    draw = random.Random(seed)
    with open("examples/soil.csv", newline="") as file:
        known = list(csv.DictReader(file))
    rows = []
    for n in range(count):
        row = {name: draw.choice(known)[name] for name in ["easting", "northing", "land", "ph", "organic"]}
        if draw.random() < 0.1:
            row[draw.choice(list(row))] = draw.choice(["", "NA", " n/a ", "?"])
        if draw.random() < 0.1:
            row["easting"] = f" {float(row['easting']):e} " if is_number(row["easting"]) else row["easting"]
        if draw.random() < 0.05:
            row["land"] = "moor"
        rows.append({"id": n, **row})
    return rows


def strict(count, seed):
    """Rows without gaps, for a model that refuses them; the levels may be new."""
    rows = [row for row in soil(2 * count, seed) if not any(map(is_missing, map(str, row.values())))][:count]
    return [{"id": n, **{name: row[name] for name in ["easting", "northing", "land", "organic"]}} for n, row in enumerate(rows)]


def predicted(model, table, *more):
    return list(csv.DictReader(rffblr("predict", model, table, "-q", *more).splitlines()))


def largest_difference(found, expected, targets, endings):
    """In units of the larger of the number and its standard deviation."""
    assert len(found) == len(expected), (len(found), len(expected))
    worst = 0.0
    for row, truth in zip(found, expected):
        for target in targets:
            for ending in endings:
                is_, should = float(row[target + ending]), float(truth[target + ending])
                unit = max(abs(should), float(truth[target + "_std"]))
                worst = max(worst, abs(is_ - should) / unit if math.isfinite(is_) else math.inf)
    return worst


def typed(name, cell):
    """A cell as a program has it that reads no spellings of a missing cell."""
    if is_missing(cell):
        return None
    return cell if name in TEXTS | DATES | TIMES else float(cell)


def loose(name, cell):
    """A cell as it comes from a file: a number if it is nothing but one."""
    if cell == "":
        return None
    return float(cell) if name not in TEXTS | DATES | TIMES and is_number(cell) and cell == cell.strip() else cell


def seconds(name, cell):
    """Dates and times as numbers."""
    if is_missing(cell):
        return math.nan
    if name in DATES:
        return (datetime.datetime.fromisoformat(cell) - datetime.datetime(1970, 1, 1)).total_seconds()
    if name in TIMES:
        hours, minutes = cell.split(":")
        return 3600.0 * int(hours) + 60 * int(minutes)
    return float(cell)


def run_python(model, rows, folder):
    rffblr("export", model, "-o", folder / "exported.py", "--force", "-q")
    write(folder / "rows.csv", rows)
    # No package of the tests is in reach.
    ran = subprocess.run([sys.executable, "-I", "-S", folder / "exported.py", folder / "rows.csv"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return list(csv.DictReader(ran.stdout.splitlines()))


def run_javascript(model, rows, folder):
    rffblr("export", model, "-o", folder / "exported.mjs", "--force", "-q")
    (folder / "rows.json").write_text(json.dumps([{name: loose(name, cell) for name, cell in row.items()} for row in rows]))
    program = """
      import { predict } from "./exported.mjs";
      import { readFileSync } from "node:fs";
      console.log(JSON.stringify(JSON.parse(readFileSync("rows.json")).map(predict)));
    """
    (folder / "main.mjs").write_text(program)
    ran = subprocess.run(["node", "main.mjs"], cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def run_c(model, rows, folder):
    rffblr("export", model, "-o", folder / "exported.h", "--force", "-q")
    header = (folder / "exported.h").read_text()
    fields = re.findall(r"(?:double |const char \*)(\w+);", re.search(r"struct exported_inputs \{(.*?)\n\};", header, re.S)[1])
    names = re.findall(r'"(.*?)"', re.search(r"exported_names\[.*?\] = \{(.*?)\};", header)[1])
    inputs = [name for name in rows[0] if name != "id" and not name.endswith("unused")]
    assert len(fields) == len(inputs), (fields, inputs)

    def literal(name, cell):
        if name in TEXTS:
            return "NULL" if is_missing(cell) else json.dumps(cell, ensure_ascii=False)
        return "NAN" if is_missing(cell) else repr(seconds(name, cell))

    table = ",\n".join("{" + ", ".join(literal(name, row[name]) for name in inputs) + "}" for row in rows)
    (folder / "main.c").write_text(
        '#include <stdio.h>\n#include "exported.h"\nstatic const struct exported_inputs rows[] = {\n' + table + "\n};\n"
        "int main(void) {\n    struct exported_prediction p[exported_TARGETS];\n    size_t i, c;\n"
        f"    for (i = 0; i < {len(rows)}; i++) {{\n        if (exported_predict(&rows[i], p)) return 1;\n"
        "        for (c = 0; c < exported_TARGETS; c++)\n"
        '            printf("%.17g %.17g %.17g %.17g\\n", p[c].value, p[c].std, p[c].lower, p[c].upper);\n    }\n    return 0;\n}\n'
    )
    strict = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O1"]
    built = subprocess.run(["cc", *strict, "main.c", "-o", "main", "-lm"], cwd=folder, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[:2000]
    ran = subprocess.run([folder / "main"], capture_output=True, text=True)
    assert ran.returncode == 0
    lines = [line.split() for line in ran.stdout.splitlines()]
    found = []
    for n in range(len(rows)):
        own = lines[n * len(names):(n + 1) * len(names)]
        found.append({name + ending: cell for name, line in zip(names, own) for ending, cell in zip(ENDINGS, line)})
    return found


def run_onnx(model, rows, folder):
    rffblr("export", model, "-o", folder / "exported.onnx", "--force", "-q")
    graph = onnx.load(folder / "exported.onnx")
    onnx.checker.check_model(graph, full_check=True)
    facts = json.loads((folder / "exported.inputs.json").read_text())
    given = {}
    numbers = [[seconds(of["name"], row[of["name"]]) for of in facts["numbers"]] for row in rows]
    texts = [[typed(of["name"], row[of["name"]]) or "" for of in facts["texts"]] for row in rows]
    if facts["numbers"]:
        given["numbers"] = np.array(numbers)
    if facts["texts"]:
        given["texts"] = np.array(texts, dtype=object)
    session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
    results = dict(zip((output.name for output in session.get_outputs()), session.run(None, given)))
    names = dict(zip(["prediction", "std", "lower", "upper"], ENDINGS))
    return [
        {target + names[output]: results[output][n, c] for output in results for c, target in enumerate(facts["targets"])}
        for n in range(len(rows))
    ]


def declared(rows, text, number, date="TEXT", clock="TEXT"):
    """Columns of a table; those of numbers are text if one of them has other cells, as in a file that was imported."""
    numbers = [cell for row in rows for name, cell in row.items() if name not in {"id"} | TEXTS | DATES | TIMES]
    cells = number if all(cell == "" or is_number(cell) for cell in numbers) else text
    kind = {name: text if name in TEXTS else date if name in DATES else clock if name in TIMES else cells for name in rows[0]}
    kind["id"] = number
    return ", ".join(f'"{name}" {kind[name]}' for name in rows[0])


def statement(model, dialect, folder):
    path = folder / f"exported.{dialect}.sql"
    rffblr("export", model, "--to", "sql", "--dialect", dialect, "--table", "the table", "--keep", "id", "-o", path, "--force",
           "-q")
    return path.read_text()


def run_database(connection, kinds, query, rows):
    connection.execute(f'CREATE TABLE "the table" ({declared(rows, *kinds)})')
    marks = ", ".join("?" for _ in rows[0])
    cells = [[loose(name, cell) for name, cell in row.items()] for row in rows]
    connection.executemany(f'INSERT INTO "the table" VALUES ({marks})', cells)
    cursor = connection.execute(query)
    names = [column[0] for column in cursor.description]
    found = [dict(zip(names, line)) for line in cursor.fetchall()]
    return sorted(found, key=lambda row: row["id"])


def run_sqlite(model, rows, folder):
    return run_database(sqlite3.connect(":memory:"), ("TEXT", "REAL"), statement(model, "sqlite", folder), rows)


def run_duckdb(model, rows, folder):
    kinds = ("VARCHAR", "DOUBLE", "TIMESTAMP", "TIME")
    return run_database(duckdb.connect(), kinds, statement(model, "duckdb", folder), rows)


class Postgresql:
    """A server of its own in a folder, reached by a socket there. It does not run as root."""

    def __init__(self, folder):
        self.folder = folder
        places = [Path(path) for path in os.environ["PATH"].split(":")] + sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        self.bin = next((place for place in places if (place / "initdb").exists()), None)
        self.started = False

    def as_owner(self, *command, **more):
        user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []
        return subprocess.run([*user, *map(str, command)], capture_output=True, text=True, cwd=self.folder, **more)

    def start(self):
        data = self.folder / "data"
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres")
        made = self.as_owner(self.bin / "initdb", "-D", data, "-A", "trust", "-N")
        options = f"-k {self.folder} -c listen_addresses='' -c fsync=off -c jit=off"
        begun = self.as_owner(self.bin / "pg_ctl", "-D", data, "-o", options, "-l", self.folder / "log", "-w", "start")
        assert begun.returncode == 0, made.stderr + begun.stderr + begun.stdout
        self.started = True

    def stop(self):
        if self.started:
            self.as_owner(self.bin / "pg_ctl", "-D", self.folder / "data", "-m", "immediate", "stop")

    def __call__(self, model, rows, folder):
        if not self.started:
            self.start()
        kinds = ("text", "double precision", "timestamp", "time")
        buffer = "\n".join("\t".join(cell if cell != "" else "\\N" for cell in map(escaped, row.values())) for row in rows)
        script = f'DROP TABLE IF EXISTS "the table"; CREATE TABLE "the table" ({declared(rows, *kinds)});\n' \
            f'COPY "the table" FROM stdin;\n{buffer}\n\\.\n\\pset format csv\n{statement(model, "postgresql", folder)} ' \
            "ORDER BY id;\n"
        psql = self.as_owner("psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-d", "postgres", input=script)
        assert psql.returncode == 0, psql.stderr[:2000]
        return list(csv.DictReader(psql.stdout.splitlines()))


# What a file may hold in place of a number, and what no way may take for one.
WRONG = ["abc", "-", "1,5", "0x10", "1_000", "<0.5", "inf"]


def refused(run, model, rows, folder):
    """Whether an input that is not there, and text in place of numbers, are errors that name the input or the text."""
    name = next(name for name in rows[0] if name not in {"id"} | TEXTS | DATES | TIMES and name != "site")
    tables = [(name, [{key: cell for key, cell in row.items() if key != name} for row in rows])]
    tables += [(wrong, [*rows, {**rows[0], "id": str(len(rows)), name: wrong}]) for wrong in WRONG]
    for says, table in tables:
        try:
            run(model, table, folder)
        except Exception as problem:
            if says.lower() not in str(problem).lower():
                raise
        else:
            return f"{says} is taken"
    return ""


def escaped(cell):
    """For COPY."""
    return str(cell).replace("\\", "\\\\")


def run_xlsx(model, rows, folder):
    """Types each row into a copy of the workbook; LibreOffice computes all copies."""
    rffblr("export", model, "-o", folder / "exported.xlsx", "--force", "-q")
    book = openpyxl.load_workbook(folder / "exported.xlsx")
    names = [cell.value for cell in book["Predict"]["A"][3:] if cell.value]
    typed_in, computed = folder / "typed", folder / "computed"
    shutil.rmtree(typed_in, ignore_errors=True)
    typed_in.mkdir()
    for n, row in enumerate(rows):
        for place, name in enumerate(names):
            value = typed(name, row[name])
            if value is not None and name in DATES:
                value = datetime.datetime.fromisoformat(value)
            elif value is not None and name in TIMES:
                value = datetime.time.fromisoformat(value)
            book["Predict"].cell(4 + place, 2).value = value
        book.save(typed_in / f"{n}.xlsx")
    profile = f"-env:UserInstallation=file://{folder / 'profile'}"
    command = ["soffice", profile, "--headless", "--convert-to", "xlsx", "--outdir", computed]
    ran = subprocess.run([*command, *(typed_in / f"{n}.xlsx" for n in range(len(rows)))], capture_output=True, text=True, timeout=300)
    found = []
    for n in range(len(rows)):
        assert (computed / f"{n}.xlsx").exists(), ran.stdout + ran.stderr
        sheet = openpyxl.load_workbook(computed / f"{n}.xlsx", data_only=True)["Predict"]
        lines = [[cell.value for cell in line[3:8]] for line in sheet.iter_rows(min_row=4) if line[3].value]
        found.append({line[0] + ending: cell for line in lines for ending, cell in zip(ENDINGS, line[1:])})
    return found


def main():
    started = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="exports-"))
    os.chmod(folder, 0o755)
    postgresql = Postgresql(folder)
    missing = [program for program in ("cc", "node", "soffice") if not shutil.which(program)]
    if postgresql.bin is None:
        missing.append("postgresql")
    write(folder / "made.csv", made_up(300, 1))
    write(folder / "many.csv", made_up(1600, 2))
    ours = ["--targets", "level,price", "--ignore", "id", "--check", "off", "-q", "--force"]
    one = ["--targets", "level", "--ignore", "id,price", "--transform", "none", "--check", "off", "-q", "--force"]
    metals = ["--targets", "cadmium,copper,lead", "--check", "off", "-q", "--force"]
    site = [*metals, "--ignore", "site"]
    back = ["--transform", "level=asinh,price=log"]
    # Name, table, settings, rows to predict.
    models = [
        ("exact", "examples/soil.csv", site, soil),
        ("formula", "examples/soil.csv", [*site, "--sparsity", "0.75"], soil),
        ("paper", "examples/soil.csv", [*site, "--preset", "paper"], soil),
        ("sinusoids", folder / "made.csv", [*ours, *back, "--sparsity", "0.8"], made_up),
        ("drawn", folder / "made.csv", [*ours, *back, "--preset", "cosines", "--features", "60"], made_up),
        ("free", folder / "made.csv", [*ours, "--preset", "cosines", "--features", "80", "--precision", "free"], made_up),
        ("strict", "examples/soil.csv", [*metals, "--sparsity", "0.9", "--ignore", "site,ph", "--missing", "error"], strict),
        # More than 1500 rows: variances are those of a sample, corrected.
        ("large", folder / "many.csv", [*one, "--preset", "exact", "--max-iterations", "5"], made_up),
    ]
    code = {"python": run_python, "javascript": run_javascript, "c": run_c}
    small = {"sqlite": run_sqlite, "duckdb": run_duckdb, "postgresql": postgresql, "xlsx": run_xlsx}
    needs = {"javascript": "node", "c": "cc", "postgresql": "postgresql", "xlsx": "soffice"}
    # Those that read cells as they come.
    refusing = {"python", "javascript", "sqlite", "duckdb", "postgresql"}
    # How many rows each runs: a workbook takes a second for each, a statement compiles longer than it runs.
    counts = {"onnx": 1000, "python": 40, "javascript": 200, "c": 200, "xlsx": 3}
    failed = False
    try:
        # Words on the command line choose models and ways.
        chosen = set(sys.argv[1:])
        named = {name for name, *_ in models}
        for name, table, settings, drawn in models:
            if chosen & named and name not in chosen:
                continue
            model = folder / f"{name}.model.json"
            rffblr("fit", table, "-o", model, *settings)
            known = json.loads(rffblr("inspect", model, "--json"))
            targets = [target["name"] for target in known["targets"]]
            rows = [{key: cell for key, cell in row.items() if key not in ("level", "price")} for row in drawn(1000, 3)]
            rows = [{key: str(cell) for key, cell in row.items()} for row in rows]
            write(folder / "new.csv", rows)
            expected = predicted(model, folder / "new.csv")
            ways = {"onnx": run_onnx, **code, **(small if name != "large" else {})}
            if chosen - named:
                ways = {way: run for way, run in ways.items() if way in chosen}
            for way, run in ways.items():
                if needs.get(way) in missing:
                    continue
                count = min(counts.get(way, 60), 5 if name == "large" and way != "onnx" else 1000)
                begun = time.monotonic()
                try:
                    found = run(model, rows[:count], folder)
                    worst = largest_difference(found, expected[:count], targets, ENDINGS)
                except Exception as problem:
                    print(f"{name}, {way}: {type(problem).__name__}: {str(problem)[:1000]}")
                    worst = math.inf
                if name == "formula" and way in refusing:
                    taken = refused(run, model, rows[:3], folder)
                    failed |= bool(taken)
                    print(f"{'WRONG ' if taken else ''}{name:10} {way:11} {taken or 'a missing column and text for numbers are refused'}")
                wrong = not worst <= (GRAPH if way == "onnx" else EXACT)
                failed |= wrong
                took = time.monotonic() - begun
                print(f"{'WRONG ' if wrong else ''}{name:10} {way:11} {count:5} rows  {worst:.1e}  {took:.1f} s", flush=True)
    finally:
        postgresql.stop()
        shutil.rmtree(folder, ignore_errors=True)
    for program in missing:
        print(f"exports SKIPPED: there is no {program}, and it could not be installed", file=sys.stderr)
    used = os.times()
    cpu = used.user + used.system + used.children_user + used.children_system
    print(f"{time.monotonic() - started:.0f} s, {cpu:.0f} s of processor time")
    sys.exit(1 if failed or (CI and missing) else 0)


if __name__ == "__main__":
    main()
