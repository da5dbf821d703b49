"""Prints the README's table of accuracy from the raw results beside this file."""

import json
import pathlib

here = pathlib.Path(__file__).parent
names = ["jura", "edm"]
results = [json.loads((here / f"{name}.json").read_text())["methods"] for name in names]
print("| | " + " | ".join(f"{name} {what}" for name in names for what in ("task R²", "pooled R²", "in 90 %")) + " |")
print("|---" * (1 + 3 * len(names)) + "|")
for method in results[0]:
    cells = [method]
    for result in results:
        scores = result[method]
        cells += [f"{scores[k]['mean']:.3f} ± {scores[k]['sd']:.3f}" for k in ("task_r2", "pooled_r2")]
        cells.append(f"{100 * scores['coverage90']['mean']:.0f} %")
    print("| " + " | ".join(cells) + " |")
