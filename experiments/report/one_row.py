"""Milliseconds that the explanation of one row takes, elapsed on two threads and of the processor:
python one_row.py EXAMPLE > raw/one_row.jsonl

EXAMPLE is target/release/examples/one_row. A table of 1000 rows and 100 numbers, the same with a text of 300 levels in the
place of a number, and those tables of time.py in which no column of numbers is said to be a text. Standard library only.
"""

import csv
import io
import json
import math
import os
import pathlib
import random
import subprocess
import sys
import tempfile

TRUST = pathlib.Path(__file__).parent.parent / "trust"
ROWS, INPUTS, LEVELS = 1000, 100, 300


def listed(names: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def synthetic(path: str, text: bool) -> None:
    draw = random.Random(1)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow([f"x{d}" for d in range(INPUTS)] + ["y", "z"])
        for _ in range(ROWS):
            x: list = [draw.gauss(0, 1) for _ in range(INPUTS)]
            y, z = math.sin(x[0] + x[1]) + x[2], x[3] * x[4] + x[5]
            if text:
                level = draw.randrange(LEVELS)
                x[-1], y = f"level {level}", y + level % 3
            out.writerow(x + [y + 0.3 * draw.gauss(0, 1), z + 0.3 * draw.gauss(0, 1)])


def tables() -> list[dict]:
    found = [table for table in json.loads((TRUST / "tables.json").read_text()) if table["part"] == "dev"]
    found.sort(key=lambda table: -table["rows"] * table["inputs"])
    return [table for table in found[:40] + found[40::5] if not table["text"]]


def record(example: str, name: str, words: list[str]) -> None:
    done = subprocess.run([example, *words], env=os.environ | {"RAYON_NUM_THREADS": "2"}, capture_output=True)
    if done.returncode != 0:
        sys.exit(f"failed: {name}: {done.stderr.decode()}")
    print(json.dumps({"table": name} | json.loads(done.stdout)), flush=True)


def main() -> None:
    example = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("numbers", False), ("numbers and a text", True)):
            synthetic(f"{folder}/table.csv", text)
            record(example, name, [f"{folder}/table.csv", "y,z"])
    for table in tables():
        ignored = [listed(table["ignore"])] if table["ignore"] else []
        record(example, table["name"], [str(TRUST / table["file"]), listed(table["targets"]), *ignored])


if __name__ == "__main__":
    main()
