"""Builds the site: runs the code of its pages, renders them, checks every link, writes a folder that opens from disk.

`docs/build` calls it. `python build.py --command PATH --out FOLDER [--only PAGE]… [--update]`
"""

import argparse
import concurrent.futures
import html
import json
import posixpath
import re
import shutil
import sys
import tempfile
import time
import tomllib
from pathlib import Path

import reference
from blocks import PICTURE, Outcome, Runner
from render import Page, coloured, folded, relative, render

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SHOWN = {".png", ".svg", ".jpg", ".json", ".csv", ".html"}  # copied as they are; other files become pages

# What an address of another site looks like. Nobody is asked whether it is there: the site is built offline.
ELSEWHERE = re.compile(r"https://[\w-]+(\.[\w-]+)+([/?#]\S*)?|mailto:\S+@\S+\.\S+")


class Site:
    """All pages, and the files they link to."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.pages: dict[str, Page] = {}  # by source
        self.sections: list[tuple[str, list[Page]]] = []
        self.needs: dict[str, list[str]] = {}
        self.norun: dict[str, str | None] = {}
        self.files: dict[str, str] = {}  # path in the repository → address in the site
        self.problems: list[str] = []

    def read(self, plan: dict, made: dict[str, str]) -> None:
        """The pages that site.toml lists. `made` has those that are generated."""
        for section in plan["section"]:
            pages = []
            for entry in section["pages"]:
                entry = {"source": entry} if isinstance(entry, str) else entry
                source = entry["source"]
                names = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob(source)) if "*" in source else [source]
                for name in names:
                    if name in made:
                        text = made[name]
                    elif (ROOT / name).exists():
                        text = (ROOT / name).read_text()
                    else:
                        self.problems.append(f"site.toml names {name}, which is not there")
                        continue
                    page = Page(name, self.address(name), text, section=section["title"])
                    self.pages[name] = page
                    self.needs[name] = entry.get("needs", [])
                    self.norun[name] = entry.get("norun")
                    pages.append(page)
            self.sections.append((section["title"], pages))

    @staticmethod
    def address(source: str) -> str:
        """Where a page goes: the README is the front page, docs/ the root."""
        path = source.removeprefix("docs/")
        if path == "README.md":
            return "index.html"
        if path.endswith("/README.md"):
            return path.removesuffix("README.md") + "index.html"
        return path.lower().removesuffix(".md") + ".html"

    def resolve(self, page: Page, link: str, image: bool) -> str:
        """The address of a link: a page, a file that is copied, a source that is shown, or somewhere else."""
        if re.match(r"[a-z]+:", link):
            if image:
                self.problems.append(f"{page.source}: the picture {link} is not in the repository")
            elif not ELSEWHERE.fullmatch(link):
                self.problems.append(f"{page.source}: {link} is no address; write https://… or mailto:…")
            return link
        path, mark, anchor = link.partition("#")
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), path))
        found = next((name for name in (target, f"{target}/README.md") if name in self.pages), None)
        if found:
            return relative(page.url, self.pages[found].url) + mark + anchor
        if not (ROOT / target).exists():
            self.problems.append(f"{page.source}: link to {link}, which is not there")
            return link
        address = f"files/{target}" if Path(target).suffix in SHOWN and (ROOT / target).is_file() else f"source/{target}.html"
        self.files[target] = address
        return relative(page.url, address) + mark + anchor

    def check(self) -> None:
        """Every link inside the site leads to a page and to an anchor on it."""
        anchors = {page.url: page.anchors for page in self.pages.values()}
        for page in self.pages.values():
            for link, address in page.links:
                if re.match(r"[a-z]+:", address):
                    continue
                path, mark, anchor = address.partition("#")
                target = posixpath.normpath(posixpath.join(posixpath.dirname(page.url), path)) if path else page.url
                if target in anchors and anchor and anchor not in anchors[target]:
                    self.problems.append(f"{page.source}: {link} names an anchor that {target} does not have")
                if target not in anchors and not (self.out / target).exists():
                    self.problems.append(f"{page.source}: {link} leads to {target}, which was not written")

    def write(self) -> None:
        """Pages, sources, files, styles, the index of the search."""
        template = (HERE / "page.html").read_text()
        for page in self.pages.values():
            self.put(page.url, self.filled(template, page))
        for target, address in sorted(self.files.items()):
            path = ROOT / target
            if address.startswith("files/"):
                (self.out / address).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, self.out / address)
            else:
                if path.is_dir():
                    names = sorted(child.name for child in path.iterdir() if not child.name.startswith("."))
                    body = "<ul>" + "".join(f"<li>{html.escape(name)}</li>" for name in names) + "</ul>"
                else:
                    word = {".rs": "rust", ".py": "python", ".toml": "toml"}.get(path.suffix, "text")
                    body = f'<pre class="code" tabindex="0"><code>{coloured(path.read_text(), word)}</code></pre>'
                page = Page(target, address, "", title=target, body=f"<h1>{html.escape(target)}</h1>{body}")
                self.put(address, self.filled(template, page))
        self.put("style.css", (HERE / "style.css").read_text())
        self.put("search.js", (HERE / "search.js").read_text())
        entries = [
            [page.url + (f"#{anchor}" if anchor else ""), page.title, said, folded(f"{said} {text} {code}"), text[:400]]
            for page in self.pages.values()
            for anchor, said, text, code in page.search
        ]
        self.put("index.js", f"window.searchable = {json.dumps(entries, ensure_ascii=False)};\n")

    def put(self, address: str, text: str) -> None:
        path = self.out / address
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def filled(self, template: str, page: Page) -> str:
        """The template with what belongs to a page."""
        root = relative(page.url, "index.html").removesuffix("index.html") or "./"
        nav = []
        for title, pages in self.sections:
            items = "".join(
                f'<li><a href="{html.escape(relative(page.url, other.url))}"'
                f"{' aria-current=page' if other is page else ''}>{html.escape(short(other))}</a></li>"
                for other in pages
            )
            opened = " open" if title == page.section or not page.section else ""
            nav.append(f"<details{opened}><summary>{html.escape(title)}</summary><ul>{items}</ul></details>")
        inner = [
            f'<li class="l{level}"><a href="#{anchor}">{html.escape(said)}</a></li>'
            for level, anchor, said in page.headings
            if 2 <= level <= 3
        ]
        contents = f'<nav class="inner" aria-label="On this page"><ul>{"".join(inner)}</ul></nav>' if len(inner) > 2 else ""
        order = [other for _, pages in self.sections for other in pages]
        steps = ""
        if page in order:
            at = order.index(page)
            before = order[at - 1] if at else None
            after = order[at + 1] if at + 1 < len(order) else None
            for other, label, name in ((before, "←", "prev"), (after, "→", "next")):
                if other:
                    steps += f'<a rel="{name}" href="{relative(page.url, other.url)}">{label} {html.escape(short(other))}</a>'
        katex = f'<link rel="stylesheet" href="{root}katex/katex.min.css">\n' if 'class="formula"' in page.body else ""
        values = {
            "styles": katex,
            "title": html.escape(page.title if page.url == "index.html" else f"{page.title} · rffblr"),
            "root": root, "nav": "".join(nav), "contents": contents, "body": page.body, "steps": steps,
        }  # fmt: skip
        return re.sub(r"\{\{(\w+)\}\}", lambda found: values[found[1]], template)


def short(page: Page) -> str:
    """What a page is called in the navigation."""
    return "Overview" if page.url == "index.html" else page.title


def included() -> set[str]:
    """Pages whose Rust code is compiled by documentation tests."""
    found = set()
    for source in ROOT.glob("crates/*/src/lib.rs"):
        for path in re.findall(r'#\[doc = include_str!\("([^"]+)"\)\]', source.read_text()):
            found.add((source.parent / path).resolve().relative_to(ROOT).as_posix())
    return found


def run(site: Site, runner: Runner, folder: Path, only: list[str], update: bool) -> list[str]:
    """Runs the code of all pages, three at a time; pictures go where the pages show them."""
    basis = folder / "basis"
    basis.mkdir()
    shutil.copyfile(ROOT / "examples/soil.csv", basis / "soil.csv")
    code, printed = runner.bash("rffblr fit soil.csv --targets cadmium,copper,lead --ignore site -q", basis)
    if code:
        return [f"the example cannot be fitted: {printed}"]

    def one(page: Page) -> tuple[Page, Outcome, float]:
        started = time.monotonic()
        own = folder / re.sub(r"\W", "_", page.source)
        own.mkdir()
        for name in ["soil.csv", *site.needs[page.source]]:
            shutil.copyfile(basis / name, own / name)
        outcome = runner.page(page.source, page.text, own, site.norun[page.source])
        for name, words in PICTURE.findall(page.text):
            if not (own / name).exists():
                outcome.problems.append(f"{page.source}: no block wrote {name}")
                continue
            address = f"pictures/{page.url.removesuffix('.html')}/{name}"
            (site.out / address).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(own / name, site.out / address)
        return page, outcome, time.monotonic() - started

    wanted = [page for page in site.pages.values() if not page.source.startswith(("experiments/", "made/"))]
    wanted = [page for page in wanted if not only or any(name in page.source for name in only)]
    problems, ran, compiled, left = [], 0, 0, []
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for page, outcome, seconds in pool.map(one, wanted):
            ran, compiled = ran + outcome.ran, compiled + outcome.compiled
            left += outcome.left
            problems += outcome.problems
            if update and outcome.changes:
                (ROOT / page.source).write_text(outcome.updated(page.text))
                print(f"  {page.source}: {len(outcome.changes)} blocks now show what was printed")
            if outcome.ran:
                print(f"  {page.source}: {outcome.ran} blocks, {seconds:.1f} s")
    print(f"{ran} blocks were run, {compiled} are compiled by documentation tests, {len(left)} only shown:")
    for line in left:
        print(f"  {line}")
    return problems


def pictured(page: Page) -> str:
    """Markdown with the pictures that its code made. HTML files are shown in a frame, with a link."""

    def shown(match: re.Match[str]) -> str:
        name, words = match[1], html.escape(match[2])
        address = relative(page.url, f"pictures/{page.url.removesuffix('.html')}/{name}")
        if name.endswith(".html"):
            return (
                f'<figure class="frame"><iframe src="{address}" title="{words}" loading="lazy"></iframe>'
                f'<figcaption>{words} <a href="{address}">Open it alone.</a></figcaption></figure>'
            )
        return f'<figure><img src="{address}" alt="{words}" loading="lazy"><figcaption>{words}</figcaption></figure>'

    return PICTURE.sub(shown, page.text)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--command", type=Path, required=True, help="the command rffblr")
    parser.add_argument("--katex", type=Path, required=True, help="the folder of KaTeX")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", action="append", default=[], help="run the code of pages with this in their name alone")
    parser.add_argument("--update", action="store_true", help="write what was printed into pages that show something else")
    given = parser.parse_args()
    command, out = given.command.resolve(), given.out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    site = Site(out)
    made = {"docs/commands.md": reference.commands(command), "docs/python-api.md": reference.python()}
    site.read(tomllib.loads((HERE / "site.toml").read_text()), made)
    with tempfile.TemporaryDirectory() as folder:
        for source in made:
            site.pages[source].text = made[source]
        coded = {source: page for source, page in site.pages.items() if source not in made}
        everything, site.pages = site.pages, coded
        problems = run(site, Runner(ROOT, command, included()), Path(folder), given.only, given.update)
        site.pages = everything
    for page in site.pages.values():
        page.text = pictured(page)
        render(page, site.resolve, given.katex.resolve())
    site.write()
    fonts = out / "katex/fonts"
    fonts.mkdir(parents=True)
    for font in (given.katex / "dist/fonts").glob("*.woff2"):
        shutil.copyfile(font, fonts / font.name)
    shutil.copyfile(given.katex / "dist/katex.min.css", out / "katex/katex.min.css")
    site.check()
    problems += site.problems
    for problem in problems:
        print(f"\nPROBLEM {problem}", file=sys.stderr)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / 1e6
    print(f"{len(site.pages)} pages, {size:.1f} MB: {out / 'index.html'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
