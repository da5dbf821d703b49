"""table.md from raw/results.jsonl alone.

    python3 table.py [RESULTS.jsonl]

The last run of a case on a device counts; a failure counts only where nothing else is known.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).parent
DEVICES = {"cuda": "GPU", "cpu": "processor", "boosting": "boosting (300), processor"}
CASES = [
    "flights", "flights-effort-4", "flights-effort-20", "synthetic-1e4", "synthetic-1e5", "synthetic-1e6", "synthetic-1e7", "exact-10000", "exact-40000",
]


def digits(value: float | None) -> str:
    """Three significant digits, all digits before the point."""
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def shares(values: list[float] | None) -> str:
    return " ".join(f"{100 * value:.1f}" for value in values) + " %" if values else "–"


def row(record: dict) -> str:
    commit = "–" if record["device"] == "boosting" else record["version"].split("(")[-1].rstrip(")")[:7]
    start = f"| {record['case']} | {' '.join(record['arguments']) or '–'} | {record['rows']:,} | {DEVICES[record['device']]} | {commit} | "
    start = start.replace(",", " ")
    if "error" in record:
        lines = record["error"].splitlines() or [""]
        line = next((line for line in lines if line.startswith("error")), lines[-1])
        return start + f"{line.replace('|', '/')[:120]} | – | – | – | – | – | – | – |"
    memory = [record["peak_mb"] / 1000, (record.get("peak_gpu_mb") or 0) / 1000 or None]
    cells = [digits(value) for value in [record["fit_seconds"], record["fit_cpu_seconds"], *memory, record["predict_seconds"]]]
    cells += [f"{record['mean_r2']:.4f}", " ".join(f"{value:.3f}" for value in record["r2"]), shares(record.get("coverage90"))]
    return start + " | ".join(cells) + " |"


def main() -> None:
    source = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "raw" / "results.jsonl"
    machines: dict[tuple, dict] = {}
    for line in source.read_text().splitlines():
        record = json.loads(line)
        # Boosting is the same with every version of the command.
        last = machines.setdefault((record["cpu"], record["cores"], record["gpu"]), {})
        place = record["case"], record["device"]
        if "error" not in record or "error" in last.get(place, record):
            last[place] = record
    out = [
        "# One GPU beside the processor of the same machine", "",
        "Made by `table.py` from `raw/results.jsonl`; README.md says what is measured. Seconds are those of the whole command.", "",
    ]
    for (cpu, cores, card), last in machines.items():
        versions = ", ".join(dict.fromkeys(record["version"] for record in last.values()))
        days = sorted(record["date"][:10] for record in last.values())
        out += [f"## {cores} cores ({cpu}), {card or 'no GPU'}", "", f"{versions}; {days[0]} to {days[-1]}.", ""]
        out += [
            "| case | arguments of `fit` | rows | device | commit | fit, s | processor, s | memory, GB | of the GPU, GB | predict, s | mean R² | R² | 90 % interval holds |",
            "|---|---|--:|---|---|--:|--:|--:|--:|--:|--:|---|---|",
        ]
        order = lambda record: (CASES.index(record["case"]), list(DEVICES).index(record["device"]))
        out += [row(record) for record in sorted(last.values(), key=order)]
        out.append("")
        seconds = {place: record["fit_seconds"] for place, record in last.items() if "error" not in record}
        ratios = [
            f"{case} {seconds[case, 'cpu'] / seconds[case, 'cuda']:.1f}"
            for case in CASES if (case, "cpu") in seconds and (case, "cuda") in seconds
        ]
        if ratios:
            out += [f"Seconds of the processor over those of the GPU: {', '.join(ratios)}.", ""]
    (HERE / "table.md").write_text("\n".join(out))


if __name__ == "__main__":
    main()
