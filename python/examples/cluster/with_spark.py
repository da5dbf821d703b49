"""From a folder of Parquet files to predictions with Spark: here in one process of this machine, on loopback.

    pip install "rffblr[spark]"         # and Java 17 or newer

Without ``master`` the session is that of your cluster.
"""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)

from pyspark.ml import Pipeline
from pyspark.sql import SparkSession

from rffblr.spark import RFFBLRRegressor

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
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows").mkdir()
        for number in range(PARTS):
            part(number).to_parquet(folder / "rows" / f"part-{number}.parquet", index=False)

        table = spark.read.parquet(str(folder / "rows"))
        learner = RFFBLRRegressor(featuresCols=INPUTS, targetCols=TARGETS, features=64)
        model = Pipeline(stages=[learner]).fit(table)
        print(model.stages[0].headline)

        model.transform(table).write.parquet(str(folder / "predicted"))
        predicted = spark.read.parquet(str(folder / "predicted"))
        print(predicted.count(), "rows predicted:", ", ".join(predicted.columns))
        model.write().overwrite().save(str(folder / "pipeline"))
        ordinary = model.stages[0].estimator  # an rffblr.RFFBLRRegressor
        ordinary.save("model.json")  # rffblr inspect model.json
        print(f"R² on new rows {ordinary.score(part(PARTS)[INPUTS], part(PARTS)[TARGETS]):.3f}")
    spark.stop()


if __name__ == "__main__":
    main()
