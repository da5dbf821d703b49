"""From a folder of Parquet files to predictions on a Dask cluster: here two processes of this machine, on loopback.

    pip install "rffblr[dask]"

Give ``Client`` the address of a scheduler to use a cluster that is there.
"""

import tempfile
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
from distributed import Client

from rffblr import Drawn
from rffblr.dask import RFFBLRRegressor

ROWS, PARTS = 3000, 4
INPUTS, TARGETS = ["east", "north", "soil"], ["yield", "protein"]


def part(number):
    """Rows of one file."""
    rng = np.random.default_rng(number)
    frame = pd.DataFrame(rng.uniform(-2, 2, size=(ROWS, 2)), columns=INPUTS[:2])
    frame["soil"] = rng.choice(["clay", "loam", "sand"], ROWS)
    frame["yield"] = np.sin(2 * frame["east"]) + (frame["soil"] == "loam") + 0.1 * rng.normal(size=ROWS)
    frame["protein"] = frame["north"] ** 2 - 0.5 * frame["yield"] + 0.1 * rng.normal(size=ROWS)
    return frame


def main():
    cluster = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1"}
    cluster |= {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}
    with tempfile.TemporaryDirectory() as name, Client(**cluster):
        folder = Path(name)
        (folder / "rows").mkdir()
        for number in range(PARTS):
            part(number).to_parquet(folder / "rows" / f"part-{number}.parquet", index=False)

        table = dd.read_parquet(folder / "rows")
        model = RFFBLRRegressor(form=Drawn(features=64)).fit_table(table, TARGETS, checkpoint=folder / "checkpoint")
        print(model.headline_)

        # Lazy: the workers write the predictions, partition by partition.
        model.predict_frame(table[INPUTS]).to_parquet(folder / "predicted")
        predicted = pd.read_parquet(folder / "predicted")
        print(len(predicted), "rows predicted:", ", ".join(predicted.columns))
        model.save("model.json")  # rffblr inspect model.json
        print(f"R² on new rows {model.score(part(PARTS)[INPUTS], part(PARTS)[TARGETS]):.3f}")


if __name__ == "__main__":
    main()
