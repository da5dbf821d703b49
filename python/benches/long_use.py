"""Many small fits and predictions in one process: memory and open files after a third of them and at the end.

    python benches/long_use.py [--fits 20000]

Exits with 1 if either has grown: memory by more than 2 MB.
"""

import argparse
import os
import pickle
import resource
import sys
import warnings
from pathlib import Path

import numpy as np

from rffblr import RFFBLRRegressor


def memory() -> int:
    """Resident kilobytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 1024


def files() -> int:
    return len(os.listdir("/proc/self/fd"))


def once(number: int) -> None:
    """A fit, what is mostly asked of a model, and a copy of it."""
    random = np.random.default_rng(number)
    X = random.standard_normal((30, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] + 0.1 * random.standard_normal(30)])
    model = RFFBLRRegressor().fit(X, Y)
    model.predict(X, return_std=True)
    if number % 10 == 0:
        model.explain(X[:2])
        pickle.loads(pickle.dumps(model)).predict(X[:1])


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--fits", type=int, default=20000)
    fits = options.parse_args().fits
    warnings.simplefilter("ignore")
    before = (0, 0)
    for number in range(fits):
        once(number)
        if number + 1 == fits // 3:
            before = (memory(), files())
    after = (memory(), files())
    print(f"{fits} fits: {before[0]} kB and {before[1]} files after a third of them, {after[0]} kB and {after[1]} at the end")
    return int(after[0] > before[0] + 2048 or after[1] > before[1])


if __name__ == "__main__":
    sys.exit(main())
