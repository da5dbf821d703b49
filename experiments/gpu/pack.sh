#!/bin/sh
# Builds what run.sh needs on a machine without cargo, network and pyarrow, into carried/ (not part of the repository):
# the command, the writer of the synthetic tables, and the flights that ../scale/collect.py wrote, all packed.
# Needs cargo, and a python3 with pandas and pyarrow, which PYTHON may name.
set -eu
cd "$(dirname "$0")"
root=../..
mkdir -p carried
cargo build --release --locked --manifest-path $root/Cargo.toml -p rffblr-cli
cargo build --release --locked --manifest-path $root/Cargo.toml -p rffblr-tables --example synthetic
for built in release/rffblr release/examples/synthetic; do
    strip -o carried/"$(basename $built)" $root/target/$built
    gzip -9 -f carried/"$(basename $built)"
done
${PYTHON:-python3} - <<'PYTHON'
import pandas as pd

for part in ["train", "test"]:
    table = pd.read_parquet(f"../scale/tables/flights-{part}.parquet")
    table.to_csv(f"carried/flights-{part}.csv.gz", index=False, compression={"method": "gzip", "mtime": 0})
PYTHON
du -h carried/*
