"""Tables in Markdown from the raw results of run.py.

    python table.py raw/references.jsonl raw/NAME.jsonl > table.md          every table, flags, summary
    python table.py --compare raw/references.jsonl raw/A.jsonl raw/B.jsonl  runs of one method side by side

Scores are means over the seeds. NLPD is in units of each target's standard deviation, so that tables can be averaged.
Standard library only.
"""

import argparse
import json
import math
import pathlib
import statistics
from collections import defaultdict

HERE = pathlib.Path(__file__).parent
LARGE = 100  # flags need as many rows
NLPD_SLACK = R2_SLACK = 0.05
COVERAGE = (0.86, 0.96)
LARGEST_Z = 20
ONE_VALUE = 0.5  # share of target cells that equal the most frequent value of their target
HEAVY = 25.0  # kurtosis of a target; 3 is normal
# What a table counts at least and at most in a mean over tables: a single one must not decide it.
FLOOR, CEILING, BOUND = -0.5, 3.0, 1.0  # R², NLPD, difference of two NLPD
REFERENCES = ["ridge", "gp", "mean"]
SCORES = ["task_r2", "r2_all", "nlpd_std", "coverage90", "fit_seconds"]


def read(paths: list[pathlib.Path]) -> tuple[dict, list[str]]:
    """Means over seeds by (label, method, table), and what failed."""
    found: dict[tuple, dict[int, dict]] = defaultdict(dict)
    for path in paths:
        for line in path.read_text().splitlines():
            record = json.loads(line)
            label = record["label"] or path.stem
            # The last record of a seed counts: it may be a second attempt, or of a table collected anew.
            found[label, record["method"], record["table"]][record["seed"]] = record
    means, failures = {}, []
    for (label, method, table), seeds in found.items():
        good = [record for record in seeds.values() if "error" not in record]
        errors = [record["error"] for record in seeds.values() if "error" in record]
        failures += [f"{table}, {method}, {label}: {error.splitlines()[0]}" for error in errors]
        if good:
            # JSON lacks infinity: a score that is not there is as bad as can be.
            worst = {"nlpd_std": math.inf, "task_r2": -math.inf, "r2_all": -math.inf, "coverage90": 0.0}
            means[label, method, table] = {
                key: statistics.fmean(worst.get(key, 0.0) if r[key] is None else r[key] for r in good) for key in SCORES
            }
            means[label, method, table]["largest_z"] = max(r.get("largest_z") or 0.0 for r in good)
    return means, failures


def references(means: dict) -> dict:
    """Scores by (method, table) of the methods to compare with; the first file that has them counts."""
    out: dict = {}
    for (_, method, table), scores in means.items():
        if method in REFERENCES:
            out.setdefault((method, table), scores)
    return out


def apart(table: dict, known: dict) -> str | None:
    """Why a table is listed apart: its targets cannot be described by a mean and a deviation, and ridge fails too."""
    about = table["about_targets"].values()
    cells = sum(each["observed"] for each in about)
    share = sum(each["mode_share"] * each["observed"] for each in about) / cells
    if share > ONE_VALUE:
        return f"{share:.0%} of the target cells are one value"
    kurtosis = max(each["kurtosis"] for each in about)
    ridge, mean = known.get(("ridge", table["name"])), known.get(("mean", table["name"]))
    if kurtosis > HEAVY and ridge and mean:
        if ridge["nlpd_std"] > mean["nlpd_std"]:
            return f"kurtosis {kurtosis:.0f}, ridge's NLPD is worse than the mean's"
        if not COVERAGE[0] <= ridge["coverage90"] <= COVERAGE[1]:
            return f"kurtosis {kurtosis:.0f}, ridge's intervals hold {ridge['coverage90']:.1%}"
    return None


def flags(scores: dict, table: dict, known: dict) -> list[str]:
    """What the table must not show; only for tables of enough rows."""
    if table["rows"] < LARGE:
        return []
    out = []
    for method in ["ridge", "gp"]:
        other = known.get((method, table["name"]))
        if other and scores["nlpd_std"] > other["nlpd_std"] + NLPD_SLACK:
            out.append(f"NLPD > {method}")
    if scores["coverage90"] < COVERAGE[0]:
        out.append("coverage low")
    if scores["coverage90"] > COVERAGE[1]:
        out.append("coverage high")
    if scores["largest_z"] > LARGEST_Z:
        out.append(f"|z| > {LARGEST_Z}")
    ridge = known.get(("ridge", table["name"]))
    if ridge and scores["task_r2"] < ridge["task_r2"] - R2_SLACK:
        out.append("R² < ridge")
    return out


def number(value: float) -> str:
    return f"{value:.2g}" if abs(value) >= 1000 else f"{value:.3f}"


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def limited(value: float, key: str) -> float:
    return max(value, FLOOR) if "r2" in key else min(value, CEILING) if key == "nlpd_std" else value


def middle(values: list[float]) -> str:
    return f"{number(statistics.fmean(values))} / {number(statistics.median(values))}" if values else "–"


def full(means: dict, failures: list[str], tables: list[dict], method: str, label: str | None) -> None:
    known = references(means)
    labels = [each for each, name, _ in means if name == method and label in (None, each)]
    shown = labels[-1] if labels else ""
    own = {name: scores for (each, used, name), scores in means.items() if (each, used) == (shown, method)}
    reasons = {table["name"]: apart(table, known) for table in tables}
    header = ["table", "part", "N", "inputs", "targets"]
    header += [f"{score} {who}" for score in ("R²", "NLPD", "90 %") for who in (method, "ridge", "gp")] + ["flags"]
    groups = {
        "Tables": [t for t in tables if not reasons[t["name"]] and "noise" not in t["kinds"]],
        "Pure noise": [t for t in tables if not reasons[t["name"]] and "noise" in t["kinds"]],
        "Listed apart": [t for t in tables if reasons[t["name"]]],
    }
    for title, group in groups.items():
        print(f"## {title}\n\n| {' | '.join(header)} |\n|{'---|' * len(header)}")
        for table in group:
            name = table["name"]
            three = [own.get(name), known.get(("ridge", name)), known.get(("gp", name))]
            cells = [name, table["part"], str(table["rows"]), str(table["inputs"]), str(len(table["targets"]))]
            for key, show in [("task_r2", number), ("nlpd_std", number), ("coverage90", percent)]:
                cells += [show(scores[key]) if scores else "" for scores in three]
            raised = flags(own[name], table, known) if name in own else []
            cells.append(", ".join([*raised, reasons[name] or ""]).strip(", "))
            print(f"| {' | '.join(cells)} |")
        print()
    for title, group in groups.items():
        summary(title, [t for t in group if t["name"] in own], own, known, method)
    if failures:
        print("## Failures\n\n" + "\n".join(f"- {failure}" for failure in failures) + "\n")


def summary(title: str, tables: list[dict], own: dict, known: dict, method: str) -> None:
    if not tables:
        return
    large = [table for table in tables if table["rows"] >= LARGE]
    print(f"## Summary: {title.lower()}\n\n{len(tables)} tables, {len(large)} of {LARGE} rows or more.\n")
    print("| mean / median | " + " | ".join([method, *REFERENCES]) + " |\n|" + "---|" * (len(REFERENCES) + 2))
    rows = {"task_r2": f"task R² (at least {FLOOR:g})", "nlpd_std": f"NLPD (at most {CEILING:g})"}
    for key, what in {**rows, "coverage90": "coverage"}.items():
        cells = []
        for who in [method, *REFERENCES]:
            scores = [own[t["name"]] if who == method else known.get((who, t["name"])) for t in tables]
            values = [each[key] for each in scores if each]
            cells.append(middle([limited(value, key) for value in values]))
        print(f"| {what} | {' | '.join(cells)} |")
    raised = {table["name"]: flags(own[table["name"]], table, known) for table in large}
    kinds = ["NLPD > ridge", "NLPD > gp", "coverage low", "coverage high", f"|z| > {LARGEST_Z}", "R² < ridge"]
    print(f"\n| flag (N ≥ {LARGE}) | tables | of them |\n|---|---|---|")
    for kind in kinds:
        names = [name for name, each in raised.items() if kind in each]
        print(f"| {kind} | {len(names)} | {', '.join(names)} |")
    tags = sorted({tag for table in large for tag in table["kinds"]})
    print(f"\n| kind (N ≥ {LARGE}) | tables | {' | '.join(kinds)} |\n|---|---|{'---|' * len(kinds)}")
    for tag in tags:
        names = [table["name"] for table in large if tag in table["kinds"]]
        counts = [str(sum(kind in raised[name] for name in names)) for kind in kinds]
        print(f"| {tag} | {len(names)} | {' | '.join(counts)} |")
    for other in ["ridge", "gp"]:
        worst = sorted(difference(tables, own, known, other, "nlpd_std"), reverse=True)[:8]
        print(f"\nWorst NLPD minus {other}'s: " + ", ".join(f"{name} {number(value)}" for value, name in worst) + ".")
    worst = sorted(difference(tables, own, known, "ridge", "task_r2"))[:8]
    print("\nWorst task R² minus ridge's: " + ", ".join(f"{name} {number(value)}" for value, name in worst) + ".\n")


def difference(tables: list[dict], own: dict, known: dict, other: str, key: str) -> list[tuple[float, str]]:
    out = []
    for table in tables:
        theirs = known.get((other, table["name"]))
        if theirs and math.isfinite(theirs[key]):
            out.append((own[table["name"]][key] - theirs[key], table["name"]))
    return out


def compare(means: dict, tables: list[dict], method: str) -> None:
    """Runs of one method side by side, on the tables that all of them and the references have."""
    known = references(means)
    labels = list(dict.fromkeys(label for label, used, _ in means if used == method))
    common = [t for t in tables if all((label, method, t["name"]) in means for label in labels)]
    common = [t for t in common if all((other, t["name"]) in known for other in ["ridge", "gp"])]
    groups = {
        "Tables": [t for t in common if not apart(t, known) and "noise" not in t["kinds"]],
        "Listed apart": [t for t in common if apart(t, known) and "noise" not in t["kinds"]],
        "Pure noise": [t for t in common if "noise" in t["kinds"]],
    }
    for title, group in groups.items():
        if not group:
            continue
        large = [table for table in group if table["rows"] >= LARGE]
        print(f"## {title}: {len(group)}, of them {len(large)} with N ≥ {LARGE}\n")
        runs = [{t["name"]: means[label, method, t["name"]] for t in group} for label in labels]
        columns = [aspects(group, large, own, known) for own in runs]
        print(f"| {method} | {' | '.join(labels)} |\n|---|{'---|' * len(labels)}")
        for row in columns[0] if columns else []:
            print(f"| {row} | {' | '.join(column[row] for column in columns)} |")
        print()


def aspects(group: list[dict], large: list[dict], own: dict, known: dict) -> dict[str, str]:
    raised = {table["name"]: flags(own[table["name"]], table, known) for table in large}

    def count(kind: str) -> str:
        names = [name for name, each in raised.items() if kind in each]
        return f"{len(names)}" + (f" ({', '.join(names[:12])}{', …' if len(names) > 12 else ''})" if names else "")

    def worst(other: str) -> str:
        three = sorted(difference(large, own, known, other, "nlpd_std"), reverse=True)[:3]
        return ", ".join(f"{name} {number(value)}" for value, name in three)

    def all_of(key: str) -> str:
        return middle([limited(own[table["name"]][key], key) for table in group])

    def less(other: str) -> str:
        values = [value for value, _ in difference(group, own, known, other, "nlpd_std")]
        return middle([max(-BOUND, min(value, BOUND)) for value in values])

    return {
        f"task R² (at least {FLOOR:g}), mean / median": all_of("task_r2"),
        f"R² of all held-out cells (at least {FLOOR:g}), mean / median": all_of("r2_all"),
        f"NLPD (at most {CEILING:g}), mean / median": all_of("nlpd_std"),
        f"NLPD minus ridge's (within ±{BOUND:g}), mean / median": less("ridge"),
        f"NLPD minus gp's (within ±{BOUND:g}), mean / median": less("gp"),
        f"NLPD > ridge + {NLPD_SLACK}": count("NLPD > ridge"),
        f"NLPD > gp + {NLPD_SLACK}": count("NLPD > gp"),
        "worst NLPD minus ridge's": worst("ridge"),
        "worst NLPD minus gp's": worst("gp"),
        "coverage, mean / median": all_of("coverage90"),
        f"coverage < {COVERAGE[0]:.0%}": count("coverage low"),
        f"coverage > {COVERAGE[1]:.0%}": count("coverage high"),
        f"R² < ridge − {R2_SLACK}": count("R² < ridge"),
        "seconds of a fit, mean / median": all_of("fit_seconds"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("raw", type=pathlib.Path, nargs="+")
    parser.add_argument("--compare", action="store_true", help="runs of one method side by side")
    parser.add_argument("--method", default="rffblr")
    parser.add_argument("--label", help="the run to show; otherwise the last in the files")
    parser.add_argument("--part", choices=["dev", "confirm", "all"], default="all")
    options = parser.parse_args()
    tables = json.loads((HERE / "tables.json").read_text())
    tables = [table for table in tables if options.part in ("all", table["part"])]
    means, failures = read(options.raw)
    if options.compare:
        compare(means, tables, options.method)
    else:
        full(means, failures, tables, options.method, options.label)


if __name__ == "__main__":
    main()
