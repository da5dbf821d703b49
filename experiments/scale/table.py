"""table.md, figure.png and figure.svg from raw/results.jsonl alone.

    python table.py [RESULTS.jsonl] [--output FOLDER]

The last run of a case, method and arguments on a machine counts.
"""

import argparse
import json
import pathlib
from collections import defaultdict
from statistics import fmean

HERE = pathlib.Path(__file__).parent
DATA_SETS = ["diamonds", "flights", "synthetic"]
PEERS = {"boosting": "boosting (300)", "trees": "extra trees (200)", "nystroem": "Nyström (2048) + ridge"}
# Okabe and Ito's colours, which differ for all kinds of colour vision; markers differ too.
COLOURS = ["#0072B2", "#56B4E9", "#009E73", "#CC79A7", "#000000", "#F0E442"]
PEER_STYLES = {"boosting": ("#D55E00", "s"), "trees": ("#E69F00", "^"), "nystroem": ("#7F7F7F", "D")}
MARKERS = ["o", "v", "P", "X", "*", "p"]


def read(path: pathlib.Path) -> dict[tuple, list[dict]]:
    """The records that count, by machine: cores, processor, threads."""
    last = {}
    for line in path.read_text().splitlines():
        record = json.loads(line)
        machine = record["cores"], record["cpu"], record["threads"]
        last[machine, record["case"], record["method"], tuple(record["arguments"])] = record
    machines = defaultdict(list)
    for (machine, *_), record in sorted(last.items(), key=lambda item: (item[0][0], order(item[1]))):
        machines[machine].append(record)
    return machines


def order(record: dict) -> tuple:
    methods = ["rffblr", *PEERS]
    return DATA_SETS.index(record["data_set"]), record["rows"], methods.index(record["method"]), record["arguments"]


def label(record: dict) -> str:
    return PEERS.get(record["method"]) or " ".join([record["method"], *record["arguments"]])


def digits(value: float) -> str:
    """Three significant digits, all digits before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def number(value: int) -> str:
    return f"{value:,}".replace(",", " ")


def shares(values: list[float] | None) -> str:
    return " ".join(f"{100 * value:.0f}" for value in values) + " %" if values else "–"


def scores(values: list[float]) -> str:
    return " ".join(f"{value:.3f}".replace("0.", ".", 1) for value in values)


def reason(record: dict) -> str:
    """The line of a failure that says why, short enough for a cell."""
    lines = record["error"].splitlines() or [""]
    line = next((line for line in lines if line.startswith("error")), lines[-1])
    return line.replace("|", "/")[:100]


def by_data_set(records: list[dict]) -> list[str]:
    first = records[0]
    best = first["best_r2"]
    known = f" The true function has R² {scores(best)} (mean {fmean(best):.4f}) on the test rows." if best else ""
    targets, held_out = ", ".join(first["targets"]), number(first["test_rows"])
    lines = [
        f"{first['inputs']} inputs; targets {targets}; {held_out} test rows.{known}",
        "",
        "| rows | method | version | fit, s | CPU, s | peak, GB | predict, s | model, MB | mean R² | R² | 90 % interval holds |",
        "|--:|---|---|--:|--:|--:|--:|--:|--:|---|---|",
    ]
    for record in records:
        start = f"| {number(record['rows'])} | {label(record)}"
        if "error" in record:
            lines.append(f"{start}: {reason(record)} | {version(record)} | – | – | – | – | – | – | – | – |")
            continue
        if record.get("rows_used", record["rows"]) < record["rows"]:
            start += f" on {number(record['rows_used'])} rows"
        spent = [record["fit_seconds"], record["fit_cpu_seconds"], record["peak_mb"] / 1000, record["predict_seconds"]]
        cells = [digits(value) for value in spent]
        cells += [digits(record["model_mb"]) if "model_mb" in record else "–", f"{record['mean_r2']:.4f}"]
        cells += [scores(record["r2"]), shares(record.get("coverage90"))]
        lines.append(f"{start} | {version(record)} | " + " | ".join(cells) + " |")
    return [*lines, ""]


def version(record: dict) -> str:
    """The commit of ours, the number of others."""
    return record["version"].rstrip(")").split("(")[-1].split()[-1]


def cost(records: list[dict]) -> list[str]:
    """Seconds, memory and R² of each method against the number of rows."""
    good = [record for record in records if "error" not in record]
    labels = list(dict.fromkeys(label(record) for record in sorted(good, key=lambda r: order(r)[2:])))
    cells = {(record["rows"], label(record)): record for record in good}
    lines = ["| rows | " + " | ".join(labels) + " |", "|--:|" + "---|" * len(labels)]
    for rows in sorted({record["rows"] for record in good}):
        row = []
        for name in labels:
            r = cells.get((rows, name))
            spent = f"{digits(r['fit_seconds'])} s, {digits(r['peak_mb'] / 1000)} GB" if r else ""
            row.append(f"{spent}, {scores([r['mean_r2']])}" if r else "–")
        lines.append(f"| {number(rows)} | " + " | ".join(row) + " |")
    return [*lines, ""]


def tables(machines: dict[tuple, list[dict]]) -> str:
    lines = [
        "# Many rows",
        "",
        "Made by `table.py` from `raw/results.jsonl`; README.md says what is measured. Peak memory is that of",
        "the fit; of the peers, in Python, that of fit and prediction.",
        "",
    ]
    for (cores, cpu, threads), records in machines.items():
        versions = ", ".join(dict.fromkeys(record["version"] for record in records))
        dates = sorted(record["date"][:10] for record in records)
        when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
        lines += [f"## {cpu}, {cores} cores, {threads} threads", "", f"{versions}; {when}.", ""]
        for name in DATA_SETS:
            chosen = [record for record in records if record["data_set"] == name]
            if chosen:
                lines += [f"### {name}", "", *by_data_set(chosen)]
            if chosen and name == "synthetic":
                lines += ["### Cost against rows (synthetic: fit, peak memory, mean R²)", "", *cost(chosen)]
    return "\n".join(lines)


def figure(machines: dict[tuple, list[dict]], folder: pathlib.Path) -> None:
    """Of the machine with the most synthetic runs."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    runs = {
        machine: [r for r in records if r["data_set"] == "synthetic" and "error" not in r]
        for machine, records in machines.items()
    }
    machine, records = max(runs.items(), key=lambda item: len(item[1]))
    if not records:
        return print("no synthetic runs: no figure")
    plt.rcParams |= {"font.size": 10, "svg.hashsalt": "scale", "axes.spines.top": False, "axes.spines.right": False}
    lines = defaultdict(list)
    for record in records:
        lines[record["method"], label(record)].append(record)
    panels, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
    ours = 0
    for (method, name), points in sorted(lines.items(), key=lambda item: order(item[1][0])[2:]):
        if method in PEER_STYLES:
            colour, marker = PEER_STYLES[method]
        else:
            colour, marker = COLOURS[ours % len(COLOURS)], MARKERS[ours % len(MARKERS)]
            ours += 1
        style = {"color": colour, "marker": marker, "markersize": 6, "linewidth": 2 if method == "rffblr" else 1.4}
        style["linestyle"] = "-" if method == "rffblr" else "--"
        rows = [point["rows"] for point in points]
        axes[0].plot(rows, [point["fit_seconds"] for point in points], label=name, **style)
        axes[1].plot(rows, [point["peak_mb"] / 1000 for point in points], **style)
        axes[2].plot(rows, [point["mean_r2"] for point in points], **style)
    best = fmean(records[0]["best_r2"])
    axes[2].axhline(best, color="black", linewidth=0.8, linestyle=":")
    axes[2].annotate("true function", (1, best), xycoords=("axes fraction", "data"), xytext=(0, 3),
                     textcoords="offset points", ha="right", fontsize=9)
    for axis, title in zip(axes, ["Fit, seconds", "Peak memory, GB", "Mean R² on 3000 new rows"]):
        axis.set_title(title, loc="left", fontsize=11)
        axis.set_xscale("log")
        axis.set_xlabel("training rows")
        axis.grid(True, color="#DDDDDD", linewidth=0.6)
        axis.set_axisbelow(True)
    axes[0].set_yscale("log")
    axes[1].set_yscale("log")
    lowest = min(record["mean_r2"] for record in records)
    axes[2].set_ylim(max(0.0, lowest - 0.05), min(1.0, best + 0.05))
    cores, cpu, threads = machine
    panels.suptitle(f"20 inputs, 4 targets; {cpu}, {cores} cores, {threads} threads", x=0.01, ha="left", fontsize=10)
    panels.legend(loc="outside lower center", ncols=4, frameon=False)
    panels.savefig(folder / "figure.png", dpi=150)
    panels.savefig(folder / "figure.svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=pathlib.Path, nargs="?", default=HERE / "raw" / "results.jsonl")
    parser.add_argument("--output", type=pathlib.Path, default=HERE, help="folder to write into")
    options = parser.parse_args()
    machines = read(options.results)
    (options.output / "table.md").write_text(tables(machines))
    figure(machines, options.output)


if __name__ == "__main__":
    main()
