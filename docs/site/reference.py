"""Pages made from the program itself: the help of every command, and the docstrings of the Python package."""

import importlib
import inspect
import re
import subprocess
import types
from pathlib import Path


def commands(command: Path) -> str:
    """Every command with its help, as `rffblr help` prints it."""

    def help_of(*path: str) -> str:
        done = subprocess.run(
            [command, "help", *path], capture_output=True, text=True, check=True, env={"COLUMNS": "100", "NO_COLOR": "1"}
        )
        return done.stdout.rstrip()

    def below(text: str) -> list[str]:
        listed = re.search(r"^Commands:\n((?:  .*\n)+)", text, re.M)
        names = re.findall(r"^  (\w[\w-]*)", listed[1], re.M) if listed else []
        return [name for name in names if name != "help"]

    parts = ["# Commands\n\nWhat `rffblr help` prints, command by command. Settings have [a page of their own](settings.md).\n"]

    def add(path: list[str]) -> None:
        text = help_of(*path)
        parts.append(f"{'#' * (1 + max(1, len(path)))} {' '.join(['rffblr', *path])}\n\n````text help\n{text}\n````\n")
        for name in below(text):
            add([*path, name])

    add([])
    return "\n".join(parts)


# What the page of the Python package is about, in its order. What a module lists in __all__ and is not here is added below.
MODULES = ["rffblr", "rffblr.scorers", "rffblr.metrics", "rffblr.baselines"]


def python() -> str:
    """The public names of the package, from their docstrings."""
    parts = [
        "# Python API\n\nMade from the docstrings, which `help(rffblr.RFFBLRRegressor)` shows too; their examples are run by the "
        "tests. The [tutorial](tutorials/python.md) shows how the parts go together, [Python](guide/python.md) what to know.\n"
    ]
    done: set[int] = set()
    for name in MODULES:
        module = importlib.import_module(name)
        parts.append(f"## `{name}`\n\n{docstring(inspect.getdoc(module) or '')}\n")
        for public in module.__all__:
            thing = getattr(module, public)
            if isinstance(thing, types.ModuleType) or not callable(thing) or id(thing) in done:
                continue
            home = getattr(thing, "__module__", name)
            if home in MODULES and home != name:
                continue
            done.add(id(thing))
            parts.append(described(f"{name}.{public}", thing))
    return "\n".join(parts)


def described(name: str, thing: object) -> str:
    """A class with its methods, or a function."""
    parts = [f"### `{name}`\n", signature(name, thing), docstring(inspect.getdoc(thing) or "")]
    if inspect.isclass(thing):
        for label, member in sorted(members(thing), key=lambda pair: pair[0]):
            target = member.fget if isinstance(member, property) else member
            parts.append(f"#### `{label}`\n")
            if not isinstance(member, property):
                parts.append(signature(label, target))
            parts.append(docstring(inspect.getdoc(target) or ""))
    return "\n".join(parts)


def members(thing: type) -> list[tuple[str, object]]:
    """Methods and properties that this package documents, not those that scikit-learn brings along."""
    found = {}
    for owner in reversed(thing.__mro__):
        if not owner.__module__.startswith("rffblr"):
            continue
        for label, member in vars(owner).items():
            plain = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            public = not label.startswith("_") and (callable(plain) or isinstance(plain, property))
            if public and inspect.getdoc(plain.fget if isinstance(plain, property) else plain):
                found[label] = plain
    return list(found.items())


def signature(name: str, thing: object) -> str:
    try:
        found = inspect.signature(thing)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for key, parameter in found.parameters.items()
        if key not in ("self", "cls")
    ]
    found = found.replace(parameters=plain, return_annotation=inspect.Signature.empty)
    text = f"{name.rsplit('.', 1)[-1]}{found}"
    if len(text) > 90:
        text = f"{name.rsplit('.', 1)[-1]}(\n    " + ",\n    ".join(map(str, plain)) + ",\n)"
    return f"```python signature\n{text}\n```\n"


SECTION = re.compile(r"^(\w[\w ]+)\n-{3,}\n", re.M)


def docstring(text: str) -> str:
    """A docstring of NumPy's style as Markdown."""
    pieces = SECTION.split(text)
    parts = [prose(pieces[0])]
    for title, body in zip(pieces[1::2], pieces[2::2]):
        parts.append(f"**{title}**\n")
        if title == "Examples":
            parts.append(prose(body))
        elif title == "See Also":
            parts.append(prose(body.replace(" :", ":")))
        else:
            parts.append(listed(body))
    return "\n".join(parts)


def listed(body: str) -> str:
    """Names with their types, and what they mean below."""
    rows = []
    for entry in re.split(r"\n(?=\S)", body.strip("\n")):
        head, _, rest = entry.partition("\n")
        name, colon, kind = head.partition(" : ")
        meaning = " ".join(inline(line.strip()) for line in rest.splitlines() if line.strip())
        shown = f"- **`{name}`**" + (f" *{escaped(kind)}*" if colon else "")
        rows.append(f"{shown}{': ' + meaning if meaning else ''}")
    return "\n".join(rows) + "\n"


def escaped(text: str) -> str:
    return text.replace("*", r"\*").replace("_", r"\_").replace("<", "&lt;")


def inline(text: str) -> str:
    """Marks of reStructuredText as those of Markdown."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    return re.sub(r"``([^`]+)``", r"`\1`", text)


def prose(text: str) -> str:
    """Paragraphs, and sessions of Python as code."""
    parts = []
    for paragraph in re.split(r"\n\s*\n", text.strip("\n")):
        if paragraph.lstrip().startswith(">>>"):
            parts.append(f"```pycon doctest\n{inspect.cleandoc(paragraph)}\n```")
        else:
            parts.append("\n".join(inline(line) for line in paragraph.splitlines()))
    return "\n\n".join(parts) + "\n"
