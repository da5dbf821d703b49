"""Markdown to HTML: headings with GitHub's anchors, formulas by KaTeX, code in colours, links between pages."""

import html
import itertools
import json
import posixpath
import re
import subprocess
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import TextLexer, get_lexer_by_name
from pygments.util import ClassNotFound

FORMULA = re.compile(r"^\$\$(.+?)\$\$$", re.M | re.S)
TAG = re.compile(r"\\tag\{(.*?)\}")
# What a fence is called here, and the lexer that colours it.
LEXERS = {"console": "console", "output": "text", "csv": "text", "mermaid": "text", "": "text"}
# Where a formula that is too wide may be broken.
BREAK = re.compile(r"\\qquad")


def slug(text: str) -> str:
    """The anchor that GitHub gives a heading."""
    text = re.sub(r"[^\w\- ]", "", text.strip().lower(), flags=re.UNICODE)
    return text.replace(" ", "-")


def formulas(text: str, katex: Path) -> list[str]:
    """The displayed formulas of a page, numbers to the right. Parts between wide spaces may go to lines of their own."""
    sources = FORMULA.findall(text)
    if not sources:
        return []
    split = [[part.strip() for part in BREAK.split(TAG.sub("", source)) if part.strip()] for source in sources]
    done = subprocess.run(
        ["node", Path(__file__).with_name("formulas.mjs"), katex],
        input=json.dumps([part for parts in split for part in parts]), capture_output=True, text=True, check=True,
    )  # fmt: skip
    ready = iter(json.loads(done.stdout))
    shown = []
    for source, parts in zip(sources, split):
        body = "".join(f"<span>{next(ready)}</span>" for _ in parts)
        tag = TAG.search(source)
        number = html.escape(tag[1]) if tag else ""
        anchor = f' id="eq-{number}"' if tag else ""
        link = f'<a href="#eq-{number}">({number})</a>' if tag else ""
        shown.append(f'<div class="formula"{anchor}><div tabindex="0">{body}</div>{link}</div>')
    return shown


def coloured(code: str, word: str) -> str:
    """Code in colours."""
    name = LEXERS.get(word, word)
    try:
        lexer = get_lexer_by_name(name, stripnl=False)
    except ClassNotFound:
        lexer = TextLexer(stripnl=False)
    return highlight(code, lexer, HtmlFormatter(nowrap=True))


@dataclass
class Page:
    """A page of the site: where it comes from, where it goes, what is on it."""

    source: str  # path in the repository, or a name of the generator
    url: str  # path in the site
    text: str  # Markdown
    title: str = ""
    body: str = ""
    section: str = ""
    headings: list[tuple[int, str, str]] = field(default_factory=list)  # level, anchor, words
    anchors: set[str] = field(default_factory=set)
    links: list[tuple[str, str]] = field(default_factory=list)  # as written, as an address in the site
    search: list[tuple[str, str, str, str]] = field(default_factory=list)  # anchor, heading, text, code


def words(token: Token) -> str:
    """Text of inline Markdown without its marks."""
    breaks = {"softbreak", "hardbreak"}
    kept = (child for child in token.children or [] if child.type in {"text", "code_inline", *breaks})
    return "".join(" " if child.type in breaks else child.content for child in kept)


def render(page: Page, resolve: Callable[[Page, str, bool], str], katex: Path) -> None:
    """Fills body, title, headings, anchors, links and search of a page. `resolve` turns a link into an address."""
    ready = formulas(page.text, katex)
    numbers = itertools.count()
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(FORMULA.sub(lambda _: f"\n<!-- formula {next(numbers)} -->\n", page.text))
    seen: dict[str, int] = {}
    here = ("", "", [], [])
    parts = [here]
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            inline = tokens[number + 1]
            said = words(inline)
            anchor = slug(said)
            count = seen.get(anchor, 0)
            seen[anchor] = count + 1
            anchor = f"{anchor}-{count}" if count else anchor
            level = int(token.tag[1])
            token.attrSet("id", anchor)
            if level == 1 and not page.title:
                page.title = said
            else:
                inline.content += f' <a class="here" href="#{anchor}" aria-label="Link to this section">#</a>'
                inline.children += parser.parseInline(f'<a class="here" href="#{anchor}" aria-label="Link to this section">#</a>')[0].children
            page.headings.append((level, anchor, said))
            here = (anchor if level > 1 else "", said, [], [])
            parts.append(here)
        elif token.type == "inline" and tokens[number - 1].type != "heading_open":
            here[2].append(words(token))
        elif token.type in ("fence", "code_block"):
            here[3].append(token.content)
        for child in token.children or []:
            for attribute in ("href", "src"):
                link = child.attrGet(attribute)
                if link and not link.startswith("#"):
                    address = resolve(page, link, child.type == "image")
                    child.attrSet(attribute, address)
                    page.links.append((link, address))
                elif link:
                    page.links.append((link, link))
            if child.type == "image":
                child.attrSet("loading", "lazy")
    def fence(self, tokens, index, options, env):
        token = tokens[index]
        word = token.info.split(" ")[0].split(",")[0]
        kind = html.escape(word or "text")
        return f'<pre class="code {kind}" tabindex="0"><code>{coloured(token.content, word)}</code></pre>\n'

    def block(self, tokens, index, options, env):
        return re.sub(r"<!-- formula (\d+) -->", lambda found: ready[int(found[1])], tokens[index].content)

    parser.add_render_rule("fence", fence)
    parser.add_render_rule("html_block", block)
    parser.add_render_rule("code_block", fence)
    parser.add_render_rule("table_open", lambda self, *rest: '<div class="table" tabindex="0"><table>\n')
    parser.add_render_rule("table_close", lambda self, *rest: "</table></div>\n")
    page.body = parser.renderer.render(tokens, parser.options, {})
    page.anchors = set(re.findall(r'\bid="([^"]+)"', page.body))
    page.search = [(anchor, said, " ".join(text), " ".join(" ".join(code).split())) for anchor, said, text, code in parts if said]


def relative(base: str, address: str) -> str:
    """An address in the site as seen from one of its pages."""
    path, mark, anchor = address.partition("#")
    return posixpath.relpath(path, posixpath.dirname(base) or ".") + mark + anchor


def folded(text: str) -> str:
    """For the search: lower case, accents gone."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
