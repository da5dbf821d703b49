"""Processor seconds of a fit and of the report on it, one thread: python time.py BINARY > raw/times.jsonl

The development tables of ../trust, those with most cells first; a line for each. Standard library only.
"""

import csv
import io
import json
import os
import pathlib
import sys
import tempfile

TRUST = pathlib.Path(__file__).parent.parent / "trust"


def processor_seconds(words: list[str]) -> float:
    nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
    _, status, used = os.wait4(os.posix_spawnp(words[0], words, os.environ, file_actions=nowhere), 0)
    if status != 0:
        sys.exit(f"failed: {' '.join(words)}")
    return round(used.ru_utime + used.ru_stime, 3)


def listed(names: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


def main() -> None:
    binary = sys.argv[1]
    tables = [table for table in json.loads((TRUST / "tables.json").read_text()) if table["part"] == "dev"]
    tables.sort(key=lambda table: -table["rows"] * table["inputs"])
    for table in tables:
        with tempfile.TemporaryDirectory() as folder:
            model, file = f"{folder}/model.json", str(TRUST / table["file"])
            fit = [binary, "fit", file, "--targets", listed(table["targets"]), "-o", model, "--threads", "1", "--quiet"]
            for role in ("ignore", "text"):
                fit += [f"--{role}", listed(table[role])] if table[role] else []
            report = [binary, "report", model, file, "-o", f"{folder}/report.html", "--threads", "1", "--quiet"]
            seconds = [processor_seconds(words) for words in ([*fit, "--check", "off"], [*fit, "--force"], report)]
            record = {"table": table["name"], "rows": table["rows"], "inputs": table["inputs"], "targets": len(table["targets"])}
            record |= dict(zip(("fit", "fit_with_check", "report"), seconds))
            print(json.dumps(record | {"bytes": os.path.getsize(f"{folder}/report.html")}), flush=True)


if __name__ == "__main__":
    main()
