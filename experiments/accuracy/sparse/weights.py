"""Sizes of the weights of sinusoids, a quarter as many as rows, in standard deviations of the targets, on the development tables of
../../trust of 30 to 1000 rows: python weights.py BINARY weights.jsonl [every]"""

import csv, io, json, os, pathlib, subprocess, sys, tempfile, statistics, math

TRUST = pathlib.Path(__file__).parent.parent.parent / "trust"


def listed(n):
    l = io.StringIO()
    csv.writer(l, lineterminator="").writerow(n)
    return l.getvalue()


binary, out = sys.argv[1:3]
every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
tables = [
    t for t in json.loads((TRUST / "tables.json").read_text()) if t["part"] == "dev" and t["rows"] >= 30 and t["rows"] <= 1000
][::every]
with open(out, "w") as f:
    for t in tables:
        with tempfile.TemporaryDirectory() as d:
            w = [
                binary,
                "fit",
                str(TRUST / t["file"]),
                "--targets",
                listed(t["targets"]),
                "-o",
                d + "/m.json",
                "--threads",
                "1",
                "--quiet",
                "--check",
                "off",
                "--sparsity",
                "0.75",
            ]
            for role in ("ignore", "text"):
                w += [f"--{role}", listed(t[role])] if t[role] else []
            p = subprocess.run(w, capture_output=True, text=True)
            if p.returncode:
                print(t["name"], p.stderr[:200])
                continue
            m = json.load(open(d + "/m.json"))
            wv = m["function"]["sinusoids"]["waves"]
            mean = wv["mean"]
            C = mean["columns"]
            K = mean["rows"] - 1
            v = mean["values"]
            # Column after column; the last of each is the bias.
            size = [abs(v[c * (K + 1) + k]) for c in range(C) for k in range(K)]
            r = {
                "table": t["name"],
                "rows": t["rows"],
                "inputs": t["inputs"],
                "targets": C,
                "K": K,
                "max": max(size),
                "median": statistics.median(size),
            }
            f.write(json.dumps(r) + "\n")
            f.flush()
