"""The checker is checked: pages with mistakes, each of which must be found. `python blocks_test.py COMMAND`, called by docs/check."""

import sys
import tempfile
from pathlib import Path

from blocks import Runner, same
from build import ROOT, Site
from render import Page, render, slug

FENCE = "```"


def problems(text: str, runner: Runner) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        return runner.page("page.md", text.replace("~~~", FENCE), Path(folder)).problems


def main() -> None:
    runner = Runner(ROOT, Path(sys.argv[1]), {"compiled.md"})
    right = [
        "~~~console\n$ echo a; echo b >&2\na\nb\n$ false\n~~~",
        "~~~console\n$ printf '1.50 s\\nx y z\\n1\\n2\\n3\\n'\n0.01 s\nx … z\n…\n3\n~~~",
        "~~~bash\ntrue\n~~~\n~~~python\nx = 1\n~~~\nwords\n~~~python\nprint(x + 1)\n~~~\n\n~~~output\n2\n~~~",
        "~~~toml file=a.toml\na = 1\n~~~\n~~~bash\ngrep 'a = 1' a.toml\n~~~",
        "~~~c file=a.h\n#define A 1\n~~~\n~~~bash\ngrep A a.h\n~~~",
        "~~~python\nfrom pathlib import Path\nPath('made').write_text('x')\n~~~\n~~~bash\ncat made\n~~~",
        "~~~bash norun: it takes hours\nrffblr reproduce table2\n~~~",
        "~~~text\na drawing\n~~~\n\n~~~\na map\n~~~",
    ]
    wrong = [
        "~~~console\n$ echo a\nb\n~~~",
        "~~~console\n$ printf 'a\\nb\\n'\na\n~~~",
        "~~~bash\nfalse\n~~~",
        "~~~bash norun: why\nif then\n~~~",
        "~~~python norun: why\nif then\n~~~",
        "~~~python\n1 / 0\n~~~",
        "~~~python\nprint(1)\n~~~\n\n~~~output\n2\n~~~",
        "~~~python\nprint(1)\n~~~",
        "~~~toml\na =\n~~~",
        "~~~json\n{\n~~~",
        "~~~rust\nfn main() {}\n~~~",
        "~~~cobol\nSTOP RUN.\n~~~",
        "~~~c\nint x;\n~~~",
        "~~~text\nrffblr fit soil.csv\n~~~",
        "~~~\n$ ls\n~~~",
    ]
    for text in right:
        assert not problems(text, runner), (text, problems(text, runner))
    for text in wrong:
        assert problems(text, runner), text
    with tempfile.TemporaryDirectory() as folder:
        shown = runner.page("page.md", wrong[0].replace("~~~", FENCE), Path(folder), "it needs a cluster")
        assert shown.left and not shown.problems
    assert same("", "") and not same("", "a") and not same("a", "")
    assert same("1.595951779455751,2\n", "1.595951779455747,2\n") and not same("1.5959517794\n", "1.5959617794\n")
    assert slug("`rffblr fit`: 90 % of *R²*?") == "rffblr-fit-90--of-r²"

    # Links: to a page, to an anchor, to a file; and those that lead nowhere.
    for link, found in [
        ("README.md", True), ("README.md#how-well", True), ("README.md#nowhere", False), ("docs/faq.md#nowhere", False),
        ("#here", True), ("#gone", False), ("nothing.md", False), ("Cargo.toml", True), ("examples/soil.csv", True),
        ("https://example.org/a#b", True), ("https:/example.org", False), ("http://example.org", False),
    ]:  # fmt: skip
        with tempfile.TemporaryDirectory() as folder:
            site = Site(Path(folder))
            for source, text in [("README.md", "# a\n\n## How well\n"), ("docs/faq.md", "# q\n"), ("page.md", f"# p\n\n## Here\n\n[x]({link})\n")]:
                site.pages[source] = Page(source, site.address(source), text)
            for page in site.pages.values():
                render(page, site.resolve, Path())
            site.write()
            site.check()
            assert bool(site.problems) != found, (link, site.problems)
    print(f"{len(right) + len(wrong)} pages and 12 links judged as they should be")


if __name__ == "__main__":
    main()
