"""Every example runs, from an empty folder, and leaves its picture."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


def test_there_are_examples():
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example(example, tmp_path):
    text = example.read_text()
    if "matplotlib" in text:
        pytest.importorskip("matplotlib")
    done = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout
    if "png" in text:
        picture = tmp_path / f"{example.stem}.png"
        assert picture.stat().st_size > 10_000
