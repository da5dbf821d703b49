"""The examples for clusters run from an empty folder."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "cluster"


@pytest.mark.parametrize("engine", ["dask", "spark"])
def test_example(engine, tmp_path):
    if engine == "spark" and shutil.which("java") is None and os.environ.get("CI") != "true":
        pytest.skip("Spark needs Java: apt-get install openjdk-17-jre-headless")
    script = EXAMPLES / f"with_{engine}.py"
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "12000 rows predicted" in done.stdout and "rows held out" in done.stdout
    assert (tmp_path / "model.json").stat().st_size > 1000
