import os
import sys

import pytest

# Modules that are pickled by name are found by the workers too.
os.environ["PYTHONPATH"] = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
sys.path.insert(0, os.path.dirname(__file__))

from shared import parts, one_by_one, job_of, FEW  # noqa: E402

from rffblr import RFFBLRRegressor  # noqa: E402


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A folder of Parquet files, one for each part."""
    folder = tmp_path_factory.mktemp("files")
    for number, part in enumerate(parts()):
        part.drop(columns=["note", "weight"]).to_parquet(folder / f"part-{number}.parquet", index=False)
    return folder


@pytest.fixture(scope="session")
def expected():
    """The model of these files, fitted in one process."""
    frames = [part.drop(columns=["note", "weight"]) for part in parts()]
    estimator = RFFBLRRegressor(**FEW)
    return one_by_one(estimator, frames, job_of(estimator, frames[0]))
