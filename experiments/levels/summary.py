"""Differences of each rule to one column for every level: python summary.py raw/tables.jsonl"""

import collections
import json
import statistics
import sys

found = collections.defaultdict(dict)
for line in open(sys.argv[1], encoding="utf8"):
    record = json.loads(line)
    if "error" not in record:
        found[record["label"]][record["table"]] = record
RULES = {
    "r2m1000": "levels of one row together",
    "r3m1000": "levels of one or two rows together",
    "r1m100": "the 100 most frequent, the rest together",
    "r1m30": "the 30 most frequent, the rest together",
}
every = found["rare1"]
print("| rule | tables | mean R² | median R² | worst R² | mean NLPD (middle 90 %) | 90 % holds |")
print("|---|---|---|---|---|---|---|")
for label, rule in RULES.items():
    tables = sorted(set(every) & set(found[label]))
    held = lambda record: max(-0.5, record["task_r2"])
    r2 = [held(found[label][name]) - held(every[name]) for name in tables]
    nlpd = sorted(found[label][name]["nlpd"] - every[name]["nlpd"] for name in tables)
    cut = len(nlpd) // 20
    worst = min(zip(r2, tables))
    holds = [statistics.fmean(of[name]["coverage90"] for name in tables) for of in (every, found[label])]
    print(
        f"| {rule} | {len(tables)} | {statistics.fmean(r2):+.3f} | {statistics.median(r2):+.3f} | {worst[0]:+.3f} ({worst[1]}) "
        f"| {statistics.fmean(nlpd[cut : len(nlpd) - cut] or nlpd):+.3f} | {holds[0]:.3f} → {holds[1]:.3f} |"
    )
