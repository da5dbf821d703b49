"""The code blocks of a page, and running them.

The first word after the fence says what is done with a block, the same on every page:

- `console`: a session. Every line that begins with `$ ` is run by bash, one process for a block, and the lines below it
  are what it prints, on standard output and standard error together. `…` in a line stands for anything, a line `…` for any
  lines; times such as 0.04 s are not compared.
- `bash`: commands that must succeed.
- `python`: run in one process for the whole page, so that later blocks know what earlier ones defined. An `output` block
  directly below is what it prints.
- `toml`, `json`, `csv` with `file=NAME`: written to this file. `toml` and `json` must be valid.
- `c`, `js` with `file=NAME`: written to this file, for a later block to compile or run.
- `rust`: compiled by the documentation tests of the crate that includes the page.
- `text`, `mermaid`, or no word: nothing to run. They may not hold a command.

`norun: REASON` after the word leaves a block out, and says why, `norun` in site.toml all blocks of a page; bash and Python are then
still parsed. Every page runs in a folder of its
own, with `soil.csv` in it, and with what `needs` in site.toml names. `<!-- picture: FILE "words" -->` below a block shows a
picture that it wrote.
"""

import json
import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,})(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)(?P=fence) *$", re.M | re.S)
PICTURE = re.compile(r'<!-- picture: (\S+) "([^"]*)" -->')
PLAIN = {"", "text", "mermaid", "output"}
RUNS = {"console", "bash", "python", "toml", "json", "csv", "rust"}
PROGRAMS = {"c", "js"}
TIME = re.compile(r"\b\d+(\.\d+)? (s|ms|min)\b")


@dataclass
class Block:
    """One fenced block."""

    line: int
    word: str
    rest: str
    text: str
    span: tuple[int, int]  # where its text stands in the page
    shown: str | None = None
    shown_span: tuple[int, int] | None = None

    @property
    def reason(self) -> str | None:
        found = re.search(r"norun: *(.+)", self.rest)
        return found and found[1].strip()

    @property
    def file(self) -> str | None:
        found = re.search(r"file=(\S+)", self.rest)
        return found and found[1]


@dataclass
class Outcome:
    """What became of the blocks of a page."""

    ran: int = 0
    compiled: int = 0
    left: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    changes: list[tuple[tuple[int, int], str]] = field(default_factory=list)  # what the page should show, and where

    def differs(self, place: str, words: str, span: tuple[int, int] | None, printed: str) -> None:
        self.problems.append(f"{place}: {words}")
        if span:
            self.changes.append((span, printed))

    def updated(self, text: str) -> str:
        """The page with what was printed in the place of what it shows."""
        for (start, end), printed in sorted(self.changes, reverse=True):
            lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
            text = text[:start] + "".join(line + "\n" for line in lines) + text[end:]
        return text


def blocks(text: str) -> list[Block]:
    """The blocks of a page, in order; the output shown below a block belongs to it."""
    found: list[Block] = []
    end = 0
    for match in FENCE.finditer(text):
        word, _, rest = match["info"].strip().partition(" ")
        word = word.split(",")[0]
        inner = re.sub(f"^{match['indent']}", "", match["text"], flags=re.M)
        line = text.count("\n", 0, match.start()) + 1
        between = PICTURE.sub("", text[end : match.start()]).strip()
        if word == "output" and found and not between:
            found[-1].shown, found[-1].shown_span = inner, match.span("text")
        else:
            found.append(Block(line, word, rest, inner, match.span("text")))
        end = match.end()
    return found


def plain(text: str) -> list[str]:
    """Lines to compare: no colours, no times, no spaces at the ends, no empty lines."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", text)
    lines = (TIME.sub("… s", line).rstrip() for line in text.splitlines())
    return [line for line in lines if line.strip()]


def rounded(text: str) -> str:
    """Long numbers with nine digits: the last of sixteen are not the same on every kind of processor."""
    return re.sub(r"\d+\.\d{9,}(e-?\d+)?", lambda number: format(float(number[0]), ".9g"), text)


def same(shown: str, printed: str) -> bool:
    """Whether what is shown is what was printed, to nine digits, `…` standing for anything."""
    shown, printed = rounded(shown), rounded(printed)
    pattern = []
    for line in plain(shown):
        if line.strip() == "…":
            pattern.append(r"(?:[^\n]*\n)*?")
        else:
            pattern.append(".*?".join(map(re.escape, re.split("…", line))) + r"\n")
    return re.fullmatch("".join(pattern), "".join(line + "\n" for line in plain(printed))) is not None


def session(text: str) -> list[tuple[str, str]]:
    """The commands of a console block with what is shown below each; a line that ends in a backslash goes on."""
    found: list[tuple[str, str]] = []
    goes_on = False
    for line in text.splitlines():
        if goes_on:
            command, shown = found[-1]
            found[-1] = (command + "\n" + line, shown)
            goes_on = line.endswith("\\")
        elif line.startswith("$ "):
            found.append((line[2:], ""))
            goes_on = line.endswith("\\")
        elif found:
            command, shown = found[-1]
            found[-1] = (command, shown + line + "\n")
        elif line.strip():
            raise ValueError("a console block begins with a line that begins with '$ '")
    return found


# Runs the Python blocks of a page, one for each line of its input, and answers each with what it printed, as JSON.
DRIVER = """
import contextlib, io, json, sys, traceback
answers = sys.stdout
space = {"__name__": "__main__"}
for request in sys.stdin:
    line, code = json.loads(request)
    printed, problem = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile("\\n" * line + code, sys.argv[1], "exec"), space)
    except BaseException:
        problem = traceback.format_exc()
    print(json.dumps([printed.getvalue(), problem]), file=answers, flush=True)
"""


class Runner:
    """Runs the blocks of pages, each page in a folder of its own."""

    def __init__(self, root: Path, command: Path, doctests: set[str]) -> None:
        self.root, self.doctests = root, doctests
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(command.parent), str(Path(sys.executable).parent), os.environ["PATH"]]),
            "COLUMNS": "120",
            "NO_COLOR": "1",
            "PYTHONWARNINGS": "default",
            "MPLBACKEND": "Agg",
            "RFFBLR_DATA": "",
        }

    def bash(self, code: str, folder: Path) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", code],
            cwd=folder, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600,
        )  # fmt: skip
        return done.returncode, done.stdout

    def page(self, name: str, text: str, folder: Path, norun: str | None = None) -> Outcome:
        """Runs all blocks of a page in order, unless there is a reason not to."""
        outcome = Outcome()
        python = subprocess.Popen(
            [sys.executable, "-c", DRIVER, name],
            cwd=folder, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        with python:
            for block in blocks(text):
                place = f"{name}:{block.line}"
                if norun and block.word not in PLAIN and not block.reason:
                    block.rest += f" norun: {norun}"
                try:
                    self._block(place, block, folder, python, outcome, norun)
                except (subprocess.TimeoutExpired, ValueError) as problem:
                    outcome.problems.append(f"{place}: {problem}")
        return outcome

    def _block(
        self, place: str, block: Block, folder: Path, python: subprocess.Popen[str], outcome: Outcome, norun: str | None
    ) -> None:
        program = block.word in PROGRAMS and block.file
        if block.word not in RUNS | PLAIN and not program and not block.reason:
            outcome.problems.append(f"{place}: a block of {block.word!r} can be neither run nor checked; write norun: and why")
        elif block.word in PLAIN:
            if not norun and re.search(r"^(\$ |(rffblr|cargo|pip|python) [a-z-])", block.text, re.M):
                outcome.problems.append(f"{place}: commands belong into a block of bash or console, so that they are run")
        elif block.reason:
            outcome.left.append(f"{place}: {block.reason}")
            if block.word in ("bash", "console"):
                code = block.text if block.word == "bash" else "\n".join(command for command, _ in session(block.text))
                done = subprocess.run(["bash", "-n"], input=code, capture_output=True, text=True)
                if done.returncode:
                    outcome.problems.append(f"{place}: bash cannot read it: {done.stderr}")
            elif block.word == "python":
                try:
                    compile(block.text, place, "exec")
                except SyntaxError as problem:
                    outcome.problems.append(f"{place}: Python cannot read it: {problem}")
        elif block.word == "rust":
            if place.rsplit(":", 1)[0] not in self.doctests:
                outcome.problems.append(f"{place}: no crate includes this page in its documentation tests")
            outcome.compiled += 1
        elif block.word in ("toml", "json", "csv") or program:
            if block.word == "toml":
                tomllib.loads(block.text)
            elif block.word == "json":
                json.loads(block.text)
            if block.file:
                (folder / block.file).write_text(block.text)
            outcome.ran += 1
        elif block.word == "bash":
            code, printed = self.bash(block.text, folder)
            outcome.ran += 1
            if code:
                outcome.problems.append(f"{place}: exit code {code}, printed\n{printed}")
            elif block.shown is not None and not same(block.shown, printed):
                outcome.differs(place, f"shows\n{block.shown}\nbut prints\n{printed}", block.shown_span, printed)
        elif block.word == "console":
            outcome.ran += 1
            told, wrong = "", ""
            for command, shown in session(block.text):
                code, printed = self.bash(command, folder)
                right = same(shown, printed)
                told += f"$ {command}\n" + (shown if right else printed.rstrip() + "\n")
                if not right:
                    wrong += f"`{command}` (exit code {code}) shows\n{shown}\nbut prints\n{printed}"
            if wrong:
                outcome.differs(place, wrong, block.span, told)
        else:
            assert python.stdin and python.stdout
            print(json.dumps([block.line, block.text]), file=python.stdin, flush=True)
            printed, problem = json.loads(python.stdout.readline())
            outcome.ran += 1
            if problem:
                outcome.problems.append(f"{place}: {problem}")
            elif block.shown is not None and not same(block.shown, printed):
                outcome.differs(place, f"shows\n{block.shown}\nbut prints\n{printed}", block.shown_span, printed)
            elif block.shown is None and printed.strip():
                outcome.problems.append(f"{place}: prints what no output block shows:\n{printed}")
