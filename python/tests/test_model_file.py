"""The model file is what docs/model-file.md and its schema say."""

import hashlib
import json
import struct
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from conftest import smooth

from rffblr import Cosines, RFFBLRRegressor, Sinusoids

DOCS = Path(__file__).parents[2] / "docs"
SCHEMA = json.loads((DOCS / "model-file.schema.json").read_text(encoding="utf-8"))
FORMS = [
    {},
    {"form": Sinusoids(sparsity=0.5)},
    {"preset": "cosines", "max_iterations": 20},
    {"form": Cosines(features=30, bandwidth=0.1, input_scales=[1.0, 0.5, 0.2], pruning=0.5)},
]


def content(value) -> bytes:
    """The bytes that the checksum is made of."""

    def sized(kind: bytes, size: int) -> bytes:
        return kind + struct.pack("<Q", size)

    match value:
        case None:
            return b"n"
        case True:
            return b"t"
        case False:
            return b"f"
        case int() | float():
            return b"d" + struct.pack("<d", float(value))
        case str():
            return sized(b"s", len(value.encode())) + value.encode()
        case list():
            return sized(b"a", len(value)) + b"".join(map(content, value))
        case _:
            fields = sorted(value.items(), key=lambda field: field[0].encode())
            return sized(b"o", len(value)) + b"".join(content(name) + content(field) for name, field in fields)


def saved(model: RFFBLRRegressor, folder: Path) -> dict:
    model.save(folder / "model.json")
    return json.loads((folder / "model.json").read_text(encoding="utf-8"))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("settings", FORMS)
def test_files_are_of_the_schema_and_have_the_checksum(settings, tmp_path):
    X, Y = smooth()
    Y[3:9, 1] = np.nan
    weights = np.where(np.arange(len(X)) % 2, 1.0, 2.0)
    file = saved(RFFBLRRegressor(**settings).fit(X, Y, sample_weight=weights), tmp_path)
    jsonschema.validate(file, SCHEMA)
    stored = file.pop("sha256")
    assert hashlib.sha256(content(file)).hexdigest() == stored


def test_a_file_of_a_frame_with_a_check_is_of_the_schema(tmp_path):
    X, Y = smooth()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.where(X[:, 0] > 0, "high", "löw")
    frame.loc[::9, "a"] = np.nan
    model = RFFBLRRegressor().fit(frame, Y)
    model.check(frame, Y)
    jsonschema.validate(saved(model, tmp_path), SCHEMA)


def test_the_schema_refuses_what_is_wrong(tmp_path):
    X, Y = smooth()
    file = saved(RFFBLRRegressor().fit(X, Y), tmp_path)
    for path, value in [(("format_version",), 2), (("function", "kernel", "root_weights"), ["1"]), (("more",), 1)]:
        changed = json.loads(json.dumps(file))
        at = changed
        for name in path[:-1]:
            at = at[name]
        at[path[-1]] = value
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(changed, SCHEMA)
