# The model: what is above in numbers. Equations are those of the documentation of rffblr, docs/exports.md.

import math
import re
from datetime import date, datetime, time

INPUTS = [_input["name"] for _input in MODEL["inputs"]]
TARGETS = [_target["name"] for _target in MODEL["targets"]]
_EPOCH = datetime(1970, 1, 1)
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
# Nodes and weights by which the mean of a transformed target is computed.
_NODES = [(0.25 * k, math.exp(-0.5 * (0.25 * k) ** 2)) for k in range(-32, 33)]


def predict(row):
    """Predicts one row.

    `row` maps names of inputs to numbers, texts and dates: datetime, date and time objects, or texts in ISO format; numbers may
    be texts too. None, NaN, the empty text and words such as NA mean missing. Raises ValueError, with the name of the
    input, if a cell is something else or is not there. Gives a dict: the prediction of each target and, with the endings _std, _lower and
    _upper, its standard deviation and interval.
    """
    cells = [_read(row, given) for given in MODEL["inputs"]]
    z = [(_encode(column["cell"], cells[column["input"]], MODEL["inputs"][column["input"]]) - column["mean"])
         / column["scale"] for column in MODEL["columns"]]
    mean, variance = [0.0] * len(TARGETS), [0.0] * len(TARGETS)
    for part in MODEL["parts"]:
        phi, prior, far = _terms(part, z)
        for task, weights in zip(part["tasks"], part["weights"]):
            mean[task] = _dot(weights, phi)
        for spread in part["spreads"]:
            own = [phi[k] for k in spread["terms"]] if spread["terms"] else phi
            left = sum(_dot(line, own) ** 2 for line in spread["factor"])
            near = 0.0
            if part["kind"] == "kernel":
                left = max(prior - left, 0.0)
                near = min(max(1 - left / far, 0.0), 1.0) if far > 0 else 1.0
            for task, unit, correction in zip(spread["tasks"], spread["unit"], spread["correction"]):
                variance[task] = unit * left * (1 - correction * near)
    out = {}
    for target, f, v in zip(MODEL["targets"], mean, variance):
        location = target["shift"] + target["scale"] * f
        back = (lambda u, of=target: _back(of["transform"][0], u)) if target["transform"] else (lambda u: u)
        name, point = target["name"], back(location)
        out[name] = point
        if not MODEL["coverage"]:
            continue
        std = target["scale"] * math.sqrt(v + target["noise"])
        out[name + "_std"] = std
        if target["transform"]:
            total = sum(weight for _, weight in _NODES)
            offsets = [(weight, back(location + std * node) - point) for node, weight in _NODES]
            first = sum(weight * y for weight, y in offsets) / total
            second = sum(weight * y * y for weight, y in offsets) / total
            out[name + "_std"] = math.sqrt(max(second - first * first, 0.0))
            if not target["transform"][0]["median"]:
                out[name] = point + first
        for ending, reach in zip(("_lower", "_upper"), target["reach"]):
            out[name + ending] = back(location + reach * std)
    return out


def _read(row, given):
    column = f"column {given['name']!r}"
    if given["name"] not in row:
        raise ValueError(f"{column} is not there; the model needs {', '.join(INPUTS)}")
    value = row[given["name"]]
    if isinstance(value, str) and value not in given["levels"]:
        value = value.strip()
    word = isinstance(value, str) and value.upper() in MODEL["missing"] and value not in given["levels"]
    missing = value is None or word or (isinstance(value, float) and math.isnan(value))
    if missing and given["required"]:
        raise ValueError(f"{column} is missing, and this model does not take that; give a value")
    if missing:
        return None
    if given["kind"] == "text":
        return str(value)
    try:
        number = _number(value, given["kind"])
    except (AttributeError, OverflowError, TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        meant = {"number": "finite number", "date": "date such as 2024-12-31", "time": "time such as 23:59"}[given["kind"]]
        raise ValueError(f"{column}: {value!r} is no {meant}; correct it, or leave it empty if the value is missing")
    return number


def _number(value, kind):
    if kind == "number":
        return math.nan if isinstance(value, str) and not _NUMBER.fullmatch(value) else float(value)
    if kind == "time":
        value = time.fromisoformat(value) if isinstance(value, str) else value
        return 3600 * value.hour + 60 * value.minute + value.second + 1e-6 * value.microsecond
    value = datetime.fromisoformat(value) if isinstance(value, str) else value
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    # By the clock of the place, whatever its offset.
    return (value.replace(tzinfo=None) - _EPOCH).total_seconds()


def _encode(cell, value, given):
    kind = cell["kind"]
    if kind == "missing":
        return float(value is None)
    if kind == "level":
        return float(value == cell["level"])
    if kind == "rare":
        return float(value is not None and value not in given["levels"])
    if kind == "unknown":
        return float(value not in given["levels"])
    if value is None:
        return cell.get("median", 0.0)
    if kind == "number":
        return value
    if kind == "days":
        return (value - cell["start"]) / 86400
    days = value / 86400
    phase = ((math.floor(days) if cell["whole"] else days) + cell["shift"]) / cell["period"]
    return (math.cos if kind == "cos" else math.sin)(2 * math.pi * (phase - math.floor(phase)))


def _terms(part, z):
    """The terms of a part; of kernels also the variance before any row was seen, and far from all rows."""
    if part["kind"] == "waves":
        waves = [part["amplitude"] * math.cos(_dot(omega, z) + phase)
                 for omega, phase in zip(part["frequencies"], part["phases"])]
        return waves + [part["link"] * z[d] for d in part["links"]] + [1.0], 0.0, 0.0
    linear, (rbf, gamma), (laplace,), scales = part["linear"], part["rbf"], part["laplace"], part["scales"]

    def kernel(row):
        square = sum((a - b) ** 2 for a, b in zip(row, z))
        absolute = sum(r * abs(a - b) for r, a, b in zip(scales, row, z))
        return 1 + linear * _dot(row, z) + rbf * math.exp(-gamma * square) + laplace * math.exp(-absolute)

    return [kernel(row) for row in part["rows"]], kernel(z), rbf + laplace


def _back(transform, u):
    u = min(max(u, transform["low"]), transform["high"])
    value = transform["centre"] + transform["width"] * (math.exp(u) if transform["shape"] == "exp" else math.sinh(u))
    return min(max(value, transform["least"]), transform["most"])


def _dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def _predict_table(table):
    """Predictions of all rows of a CSV file; an error names the line."""
    import csv

    reader, found = csv.DictReader(table), []
    try:
        absent = [name for name in INPUTS if name not in (reader.fieldnames or [])]
        if absent:
            raise ValueError(f"there is no column {', '.join(map(repr, absent))}; name all columns there, separated by commas")
        for row in reader:
            if None in row or None in row.values():
                raise ValueError("there are more or fewer cells than names in line 1; write a comma between any two cells")
            found.append(predict(row))
    except (ValueError, csv.Error) as problem:
        raise ValueError(f"line {reader.line_num}: {problem}") from None
    return found


def _main():
    import csv
    import sys

    name = sys.argv[1] if len(sys.argv) > 1 else "standard input"
    try:
        with open(name if len(sys.argv) > 1 else 0, newline="", encoding="utf-8-sig") as table:
            found = _predict_table(table)
    except (OSError, ValueError) as problem:
        sys.exit(f"error: {name}: {problem}")
    writer = csv.DictWriter(sys.stdout, list(found[0]) if found else TARGETS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(found)


if __name__ == "__main__":
    _main()
