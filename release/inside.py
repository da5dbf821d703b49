"""What must be inside a wheel or a source archive, and what must not: `python inside.py ARCHIVE VERSION`."""

import re
import sys
import tarfile
import zipfile
from pathlib import Path

archive, version = Path(sys.argv[1]), sys.argv[2]
if archive.suffix == ".whl":
    with zipfile.ZipFile(archive) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
else:
    with tarfile.open(archive) as opened:
        files = {member.name: opened.extractfile(member).read() for member in opened if member.isfile()}
problems = []
metadata = next(text.decode() for name, text in files.items() if name.endswith(("dist-info/METADATA", f"rffblr-{version}/PKG-INFO")))
for line in (f"Version: {version}", "License-Expression: MIT OR Apache-2.0", "License-File: LICENSE-MIT", "License-File: LICENSE-APACHE"):
    if line not in metadata:
        problems.append(f"its metadata have no line '{line}'")
if not re.search("^Author(-email)?: ", metadata, re.M):
    problems.append("its metadata name no author")
for extra in ("frames", "plots", "dask", "spark"):
    if f"Provides-Extra: {extra}" not in metadata:
        problems.append(f"it has no extra [{extra}]")
for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
    if not any(name.endswith(f"/{licence}") for name in files):
        problems.append(f"it has no {licence}")
if archive.suffix == ".whl":
    for name in ("rffblr/__init__.py", "rffblr/py.typed"):
        if name not in files:
            problems.append(f"it has no {name}")
    for name, text in files.items():
        found = re.search(rb"(/root|/home/\w+|/Users/\w+|[A-Z]:\\Users\\\w+)/?[\w./\\-]{0,60}", text)
        if found:
            problems.append(f"{name} names a folder of the machine that built it: {found[0].decode(errors='replace')}")
print(f"{archive.name}: {len(files)} files, {archive.stat().st_size / 1e6:.1f} MB" + ("" if problems else ", as it should be"))
for problem in problems:
    print(f"  PROBLEM: {problem}", file=sys.stderr)
sys.exit(bool(problems))
