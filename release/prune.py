"""Leaves in the Cargo.lock of a source archive what its crates need, in the versions it had: `python prune.py ARCHIVE`."""

import gzip
import io
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path


def packages(lock):
    """Names, versions and checksums."""
    return set(re.findall(r'name = "(.*)"\nversion = "(.*)"\n(?:source = .*\nchecksum = "(.*)")?', lock))


archive = Path(sys.argv[1])
with tarfile.open(archive) as opened:
    members = [(member, opened.extractfile(member).read() if member.isfile() else None) for member in opened]
top = members[0][0].name.split("/")[0]
with tempfile.TemporaryDirectory() as folder:
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")
    lock = Path(folder, top, "Cargo.lock")
    before = lock.read_text()
    metadata = ["cargo", "metadata", "--format-version", "1", "--manifest-path", Path(folder, top, "python", "Cargo.toml")]
    subprocess.run([*metadata, "--offline"], stdout=subprocess.DEVNULL, check=True)
    after = lock.read_text()
    more = packages(after) - packages(before)
    if more:
        sys.exit(f"{archive}: cargo would add {more} to its Cargo.lock")
    subprocess.run([*metadata, "--locked"], stdout=subprocess.DEVNULL, check=True)
made = io.BytesIO()
with gzip.GzipFile(fileobj=made, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as written:
    for member, content in members:
        if member.name == f"{top}/Cargo.lock":
            content = after.encode()
            member.size = len(content)
        written.addfile(member, io.BytesIO(content) if content is not None else None)
archive.write_bytes(made.getvalue())
print(f"{archive.name}: {len(packages(before)) - len(packages(after))} packages fewer in its Cargo.lock")
