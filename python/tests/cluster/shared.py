"""What the tests of clusters share: a table in parts of unequal sizes, and a fit in which one process does all steps."""

import ipaddress
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd

import rffblr
from rffblr import _cluster
from rffblr._cluster import Job, Layout

SIZES = [3000, 40_000, 10, 1990]  # two blocks in the second
TARGETS, INPUTS = ["t", "u"], ["a", "b", "c", "kind"]
# Few steps, as it is not about what is learned.
FEW = {"form": rffblr.Drawn(features=30), "max_iterations": 3}


def table(rows, seed=0):
    """Numbers, text, gaps in inputs and in a target, rows without a target, a column of weights and one without use."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    frame["kind"] = rng.choice(["red", "green", "blue"], rows)
    frame["t"] = np.sin(1.5 * frame["a"]) + (frame["kind"] == "red") + 0.1 * rng.normal(size=rows)
    frame["u"] = frame["a"] - frame["b"] ** 2 + 0.1 * rng.normal(size=rows)
    frame["weight"] = 1.0 + rng.integers(0, 3, rows)
    frame["note"] = [f"row {row}" for row in range(rows)]
    frame.loc[::11, "b"] = np.nan
    frame.loc[::13, "kind"] = None
    frame.loc[::7, "u"] = np.nan
    frame.loc[::50, ["t", "u"]] = np.nan
    return frame


def parts(sizes=SIZES):
    """The table cut into parts."""
    frame, ends = table(sum(sizes)), np.cumsum(sizes)
    return [frame[end - size : end].reset_index(drop=True) for size, end in zip(sizes, ends)]


def one_by_one(estimator, frames, job):
    """The steps of a fit, one partition after the other: the model as text."""
    layout = Layout.of(len(frame) for frame in frames)
    places = list(zip(layout.places, frames))
    summary = _cluster.merged_summaries([_cluster.summarised(job, place, [frame]) for place, frame in places])
    plan = _cluster.planned(job, layout, summary, 1)
    sums = _cluster.merged_sums([_cluster.added(job, plan, place, [frame]) for place, frame in places])
    model, _ = _cluster.finished(plan, layout.blocks, summary, sums, 1, False)
    return model.to_json()


def job_of(estimator, frame, targets=TARGETS, ignore=(), weight=None):
    """What :meth:`fit_table` is asked to do."""
    columns = _cluster.typed(frame)
    return Job(columns, list(targets), list(ignore), weight, "impute", True, None, estimator._settings())


# In the environment of every process that the tests start.
MARK = "RFFBLR_CLUSTER_TEST"
os.environ.setdefault(MARK, str(os.getpid()))


def listening():
    """The addresses at which this process and all that it has started listen."""
    sockets, found = set(), set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            ours = f"{MARK}={os.environ[MARK]}".encode() in (process / "environ").read_bytes().split(b"\0")
            if ours or process.name == str(os.getpid()):
                links = [os.readlink(link) for link in (process / "fd").iterdir()]
                sockets |= {link[len("socket:[") : -1] for link in links if link.startswith("socket:[")}
        except OSError:
            continue
    for name in ["tcp", "tcp6"]:
        for line in Path("/proc/net", name).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                words = re.findall("." * 8, fields[1].split(":")[0])  # of four bytes, the last of them first
                address = ipaddress.ip_address(b"".join(bytes.fromhex(word)[::-1] for word in words))
                found.add(getattr(address, "ipv4_mapped", None) or address)
    return found
