"""What patterns of missing target cells cost a streamed fit; prints a table.

    python patterns.py [--rffblr ../../target/release/rffblr] [--rows 200000] [--features 512] [--patterns 1,16,0]

A table of 16 targets in two CSV files, in which targets are missing in 1, 2, 4, 8 or 16 patterns of rows or, at the end, in any
cell (one in ten). Processor time and peak memory are those of the whole command, told by the system when it ends; each is
told beside that of the table without gaps.
"""

import argparse
import os
import pathlib
import sys
import tempfile

import numpy as np

INPUTS, TARGETS = 6, 16


def write(folder: pathlib.Path, rows: int, patterns: int) -> None:
    """Pattern k lacks target k; `patterns` 0 lacks cells at random."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, INPUTS))
    y = np.sin(x @ rng.normal(size=(INPUTS, TARGETS))) + 0.3 * rng.normal(size=(rows, TARGETS))
    if patterns == 0:
        y[rng.uniform(size=y.shape) < 0.1] = np.nan
    elif patterns > 1:
        kind = rng.integers(0, patterns, rows)
        y[np.arange(rows), kind] = np.nan
    names = [f"x{d}" for d in range(INPUTS)] + [f"y{c}" for c in range(TARGETS)]
    for number, part in enumerate(np.array_split(np.hstack([x, y]), 2)):
        with open(folder / f"{number}.csv", "w") as file:
            file.write(",".join(names) + "\n")
            file.writelines(",".join("" if np.isnan(v) else f"{v:.6g}" for v in row) + "\n" for row in part)


def fit(rffblr: str, folder: pathlib.Path, features: int) -> tuple[float, float]:
    """Processor seconds and peak memory in MB."""
    line = [rffblr, "fit", str(folder), f"--targets=last:{TARGETS}", f"--features={features}", "--max-iterations=5",
            "--check=off", "--threads=2", "-q", "--force", "-o", str(folder.parent / "m.json")]  # fmt: skip
    child = os.posix_spawn(line[0], line, os.environ)
    _, status, used = os.wait4(child, 0)
    if status:
        sys.exit("the fit failed")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rffblr", default="../../target/release/rffblr")
    options.add_argument("--rows", type=int, default=200_000)
    options.add_argument("--features", type=int, default=512)
    options.add_argument("--patterns", default="1,2,4,8,16,0", help="0 is any cell [%(default)s]")
    options = options.parse_args()
    print(f"{options.rows} rows, {INPUTS} inputs, {TARGETS} targets, {options.features} features\n")
    print("| patterns | sets of sums | processor time | × | peak memory | + |\n|---|---|---|---|---|---|")
    first = None
    for patterns in map(int, options.patterns.split(",")):
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place) / "data"
            folder.mkdir()
            write(folder, options.rows, patterns)
            seconds, memory = fit(options.rffblr, folder, options.features)
        first = first or (seconds, memory)
        name, sets = (patterns, patterns) if patterns else ("any cell", TARGETS)
        times, more = seconds / first[0], memory - first[1]
        print(f"| {name} | {sets} | {seconds:.1f} s | {times:.2f} | {memory:.0f} MB | {more:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()
