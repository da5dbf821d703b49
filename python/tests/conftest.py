"""What the tests share: data with known truth, the command, and where real data may lie."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def smooth(rows=80, inputs=3, targets=2, seed=0, noise=0.1):
    """Inputs, and targets that are smooth functions of the first two of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, inputs))
    columns = [np.sin(1.5 * X[:, 0]) + (c - 0.5) * X[:, 1 % inputs] for c in range(targets)]
    return X, np.column_stack(columns) + noise * rng.normal(size=(rows, targets))


@pytest.fixture
def command(tmp_path):
    """Runs the real command in a folder of its own and returns what it wrote to standard output."""
    usual = ROOT / "target" / "debug" / ("rffblr.exe" if os.name == "nt" else "rffblr")
    binary = os.environ.get("RFFBLR_BINARY", usual)
    if not Path(binary).exists():
        pytest.fail(f"{binary} is not there: build the command, or name it in RFFBLR_BINARY")

    def run(*arguments):
        done = subprocess.run(
            [str(binary), *map(str, arguments)], cwd=tmp_path, capture_output=True, text=True, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.folder = tmp_path
    return run


@pytest.fixture(scope="session")
def shared():
    """The folder above ``datasets``, those of the paper, and ``folds``; tests that need it are skipped without it."""
    named = os.environ.get("RFFBLR_DATA")
    folders = [Path(named) / "..", Path(named)] if named else []
    for folder in [*folders, ROOT.parent / "shared"]:
        if (folder / "folds").is_dir() and (folder / "datasets").is_dir():
            return folder
    pytest.skip("datasets/ and folds/ are neither in $RFFBLR_DATA nor in ../shared")
