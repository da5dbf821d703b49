"""Any number of rows: a model from files, and one from blocks that are added up in other processes.

Writes a folder of CSV files (Parquet is read as well), fits a model to it without reading it as a whole, writes predictions for all of its rows,
and makes a model of the same rows from blocks that two processes add up.
"""

import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd

from rffblr import Accumulator, Drawn, FeatureMap, RFFBLRRegressor

ROWS, PARTS = 2000, 4
INPUTS, TARGETS = ["east", "north", "soil"], ["yield", "protein"]


def part(number):
    """Rows of one file, or of one block."""
    rng = np.random.default_rng(number)
    frame = pd.DataFrame(rng.uniform(-2, 2, size=(ROWS, 2)), columns=INPUTS[:2])
    frame["soil"] = rng.choice(["clay", "loam", "sand"], ROWS)
    frame["yield"] = np.sin(2 * frame["east"]) + (frame["soil"] == "loam") + 0.1 * rng.normal(size=ROWS)
    frame["protein"] = frame["north"] ** 2 - 0.5 * frame["yield"] + 0.1 * rng.normal(size=ROWS)
    return frame


def added_up(features, numbers):
    """What one process has of the model: any number of rows in the memory of some blocks."""
    sums = Accumulator(features)
    for number in numbers:
        frame = part(number)
        sums.update(number, frame[INPUTS], frame[TARGETS])
    return sums


def main():
    with tempfile.TemporaryDirectory() as folder:
        for number in range(PARTS):
            part(number).to_csv(Path(folder) / f"part-{number}.csv", index=False)
        model = RFFBLRRegressor(form=Drawn(features=64)).fit_files(folder, TARGETS)
        print(model.headline_)
        print(model.predict_files(folder, Path(folder) / "predicted.parquet"), "rows predicted")

    sample = part(0)
    features = FeatureMap.learn(sample[INPUTS], sample[TARGETS], rows=PARTS * ROWS, features=64)
    with ProcessPoolExecutor(2) as pool:
        here, there = pool.map(added_up, [features] * 2, [[0, 1], [2, 3]])
    model = features.model(here.merge(there))
    new = part(PARTS)
    print(f"{here.rows} rows added up, R² on new ones {model.score(new[INPUTS], new[TARGETS]):.3f}")


if __name__ == "__main__":
    main()
