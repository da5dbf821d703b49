"""What one wild target cell does to predictions: a cell of the training rows times a thousand.

    python contaminate.py ../../target/release/rffblr raw/contaminated.jsonl [EARLIER]

Of each development table of 100 to 600 rows, every third row is kept for prediction. The others are learned from as they are,
and with a cell of the first target times 1000, the one at the median of the target: one in at most 400. Recorded is how far
the predictions move, root mean square over rows and targets in units of each target's standard deviation, and whether the
command named the cell. A second program, EARLIER, is measured in the same way. Standard library only.
"""

import csv
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
TRUST = HERE.parent / "trust"


def written(path: pathlib.Path, header: list[str], rows: list[list[str]]) -> pathlib.Path:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return path


def quoted(names: list[str]) -> str:
    return ",".join(f'"{name}"' if "," in name or '"' in name else name for name in names)


def predictions(binary: str, train: pathlib.Path, test: pathlib.Path, table: dict) -> tuple[list[dict], str]:
    model, out = train.with_suffix(".json"), train.with_suffix(".out.csv")
    words = [binary, "fit", str(train), "--targets", quoted(table["targets"]), "--check", "off", "-o", str(model), "--force"]
    for role in ("ignore", "text"):
        words += [f"--{role}", quoted(table[role])] if table[role] else []
    fitted = subprocess.run([*words, "--threads", "1"], capture_output=True, text=True)
    if fitted.returncode:
        raise RuntimeError(fitted.stderr[-300:])
    asked = subprocess.run([binary, "predict", str(model), str(test), "-o", str(out), "--force", "-q"], capture_output=True, text=True)
    if asked.returncode:
        raise RuntimeError(asked.stderr[-300:])
    with out.open(newline="") as file:
        return list(csv.DictReader(file)), fitted.stderr + fitted.stdout


def measured(binary: str, table: dict) -> dict:
    with (TRUST / table["file"]).open(newline="") as file:
        header, *rows = list(csv.reader(file))
    first = header.index(table["targets"][0])
    train, test = [row for n, row in enumerate(rows) if n % 3], [row for n, row in enumerate(rows) if n % 3 == 0]
    known = sorted((n for n, row in enumerate(train) if row[first] != ""), key=lambda n: float(train[n][first]))
    cell = known[len(known) // 2]
    wild = [list(row) for row in train]
    wild[cell][first] = repr(1000 * float(train[cell][first]))
    with tempfile.TemporaryDirectory() as folder:
        paths = [pathlib.Path(folder) / name for name in ("clean.csv", "wild.csv", "test.csv")]
        asked = written(paths[2], header, test)
        clean, _ = predictions(binary, written(paths[0], header, train), asked, table)
        moved, said = predictions(binary, written(paths[1], header, wild), asked, table)
    shares = []
    for name in table["targets"]:
        unit = table["about_targets"][name]["sd"]
        shares += [((float(a[name]) - float(b[name])) / unit) ** 2 for a, b in zip(clean, moved)]
    named = f"row {cell + 1}: " in said
    return {"moved": math.sqrt(statistics.fmean(shares)), "named": named, "factor": float(train[cell][first])}


def main() -> None:
    out = pathlib.Path(sys.argv[2])
    programs = {"now": sys.argv[1]} | ({"before": sys.argv[3]} if len(sys.argv) > 3 else {})
    tables = [t for t in json.loads((TRUST / "tables.json").read_text()) if t["part"] == "dev" and 100 <= t["rows"] <= 600]
    done = {(r["table"], r["program"]) for r in map(json.loads, out.read_text().splitlines())} if out.exists() else set()
    with out.open("a") as file:
        for table in tables:
            for program, binary in programs.items():
                if (table["name"], program) in done:
                    continue
                record = {"table": table["name"], "program": program}
                try:
                    record |= measured(binary, table)
                except (RuntimeError, ValueError, KeyError) as error:
                    record["error"] = str(error)
                file.write(json.dumps(record) + "\n")
                file.flush()
                print(record, flush=True)


if __name__ == "__main__":
    main()
