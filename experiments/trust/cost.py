"""What a check costs, and what a fit costs beside an earlier program: processor seconds on one thread.

    python cost.py ../../target/release/rffblr raw/cost.jsonl [--base OTHER_RFFBLR] [--only NAMES]     resumable
    python cost.py --show raw/cost.jsonl
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

from run import HERE, names_list

ROUNDS = 3


def seconds(binary: str, table: dict, more: list[str]) -> float:
    """The least processor time of some runs."""
    with tempfile.TemporaryDirectory() as folder:
        words = [binary, "fit", str(HERE / table["file"]), "-q", "--force", "-o", str(pathlib.Path(folder) / "model.json"), *more]
        for role, names in {"targets": table["targets"], "ignore": table["ignore"], "text": table["text"]}.items():
            words += [f"--{role}", names_list(names)] if names else []
        best = float("inf")
        for _ in range(ROUNDS):
            child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "RAYON_NUM_THREADS": "1"})
            _, status, usage = os.wait4(child.pid, 0)
            if status != 0:
                return float("nan")
            best = min(best, usage.ru_utime + usage.ru_stime)
        return best


def show(path: pathlib.Path) -> None:
    records = [json.loads(line) for line in path.read_text().splitlines()]
    # Below that, starting the program is most of it.
    slow = [record for record in records if record["off"] > 0.05]
    ratios = [record["check"] / record["off"] for record in slow]
    print(f"{len(slow)} of {len(records)} tables take more than 0.05 s")
    print(f"fit with a check of five refits, in fits: median {statistics.median(ratios):.2f}, largest {max(ratios):.2f}")
    print(f"all together {sum(r['check'] for r in records) / sum(r['off'] for r in records):.2f}")
    based = [record for record in slow if record.get("base", 0) > 0]
    if based:
        ratios = [record["off"] / record["base"] for record in based]
        print(f"fit beside the earlier program, {len(based)} tables: median {statistics.median(ratios):.2f}, largest {max(ratios):.2f}")
        print(f"all together {sum(r['off'] for r in based) / sum(r['base'] for r in based):.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--base", help="an earlier program, without --check")
    parser.add_argument("--only", help="names of tables, separated by commas")
    options = parser.parse_args()
    if options.show:
        return show(pathlib.Path(options.paths[0]))
    binary, out = options.paths[0], pathlib.Path(options.paths[1])
    known = {json.loads(line)["table"] for line in out.read_text().splitlines()} if out.exists() else set()
    only = set(options.only.split(",")) if options.only else None
    with out.open("a") as file:
        for table in json.loads((HERE / "tables.json").read_text()):
            if table["name"] in known or (only is not None and table["name"] not in only):
                continue
            record = {"table": table["name"], "rows": table["rows"]}
            record["off"] = seconds(binary, table, ["--check", "off"])
            record["check"] = seconds(binary, table, ["--check", "5"])
            if options.base:
                record["base"] = seconds(options.base, table, [])
            file.write(json.dumps(record) + "\n")
            file.flush()


if __name__ == "__main__":
    main()
