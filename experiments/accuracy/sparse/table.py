"""Writes ../sparse.md: head.md, then tables made from the raw results beside this file. Usage: python table.py"""
import csv, json, os
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
GROUPS = ("dev", "syn")


def clipped(values):
    # A data set no method can predict must not decide the mean.
    return np.mean(np.maximum(values, -0.5))


def prototype(out):
    out.append("## Prototype: what was tried at K = N/4 (5 folds, mean task R², dev / syn)\n")
    out.append("The kernel machine itself: dev %.4f, syn %.4f.\n")
    out.append("| run | name | rows | times | ridge | pull | steps | distilled | refitted to targets | R² to dense, unseen rows |")
    out.append("|---|---|---|---|---|---|---|---|---|---|")
    for line in open(HERE + "/results.jsonl"):
        record = json.loads(line)
        s, res = record["set"], record["res"]
        column = lambda group, k: [v[k] for n, v in res.items() if n.startswith(group)]
        if record["ratio"] != 0.25:
            continue
        dense = tuple(clipped(column(g, 2)) for g in GROUPS)
        cells = [" / ".join("%.3f" % clipped(column(g, k)) for g in GROUPS) for k in (3, 4)]
        cells.append(" / ".join("%.3f" % np.median(column(g, 5)) for g in GROUPS))
        out.append("| %d | %s | %s | %s | %g | %g | %d | %s |" % (
            record["run"], record["name"], s["aug"], s["times"], s["lam"], s["eta"], s["steps"], " | ".join(cells)))
    out[1] %= dense
    return out


def curve(path, groups, title):
    results = {}
    for row in csv.reader(open(path)):
        results.setdefault(row[5], {}).setdefault(row[0], []).append([float(v) for v in row[6:]])
    out = ["## " + title + "\n", "| K/N | " + " | ".join(g + " task R² | NLPD, median | 90 % cover | R² to dense" for g in groups) + " | seconds, mean (largest) |"]
    out.append("|---" * (4 * len(groups) + 2) + "|")
    for ratio, sets in results.items():
        cells, seconds = [], []
        for group in groups:
            a = np.array([np.mean(v, 0) for n, v in sets.items() if n.startswith(group)])
            seconds += list(a[:, 6])
            apart = "" if ratio == "inf" else "%.3f" % np.median(a[:, 4])
            cells.append("%.4f | %.3f | %.3f | %s" % (clipped(a[:, 1]), np.median(a[:, 2]), np.mean(a[:, 3]), apart))
        time = "" if ratio == "inf" else "%.2f (%.2f)" % (np.mean(seconds), max(seconds))
        out.append("| %s | %s | %s |" % ("dense" if ratio == "inf" else ratio, " | ".join(cells), time))
    names = list(results["inf"])
    out += ["", "| K/N | " + " | ".join(n.split("/")[1] for n in names) + " |", "|---" * (len(names) + 1) + "|"]
    for ratio, sets in results.items():
        out.append("| %s | %s |" % ("dense" if ratio == "inf" else ratio, " | ".join("%.3f" % np.mean(sets[n], 0)[1] for n in names)))
    return out + [""]


lines = [open(HERE + "/head.md").read()]
lines += curve(HERE + "/dev.csv", GROUPS, "The curve (Rust, first 2 of 5 folds)")
if os.path.exists(HERE + "/eight.csv"):
    lines += curve(HERE + "/eight.csv", ("real",), "The eight data sets, ten folds (second look, with everything fixed)")
lines += prototype([])
open(os.path.dirname(HERE) + "/sparse.md", "w").write("\n".join(lines) + "\n")
