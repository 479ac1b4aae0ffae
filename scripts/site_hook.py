"""A hook of mkdocs (mkdocs.yml): adds help, docstrings, code and pages outside docs/, and mends links.

A link that shows the name of its file in the repository, `[specs.md](specs.md)`, shows the page's title.

A paragraph that is a link to a file of code, `[`strategy.py`](../strategy.py):`, is followed by the file.

The reference of commands is made of the help texts that `test/unit/test_help.py` compares with the
commands, so the site has no copy of them.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from posixpath import basename, dirname, normpath, relpath

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parent.parent
HELP = ROOT / "test" / "unit" / "help"
PAGES = {"CONTRIBUTING.md": "contributing.md", "benchmarks/README.md": "benchmarks-results.md"}
"""Pages outside docs/, and where the site has them."""

PACKAGES = re.compile(r"^<!-- packages -->\n((?:`\w+`[,\s]+)+)", re.MULTILINE)
"""The order of packages, which the site shows with the first line of each docstring."""

_INCLUDED = re.compile(r"^\[`[^`]+`\]\(([^)\s]+\.(?:py|toml|mlir))\):$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of other folders."""
    for source, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Fill in the help texts and included files, and turn links out of docs/ into links of the site."""
    del config
    markdown = re.sub("^<!-- commands -->$", lambda _: commands(), markdown, flags=re.MULTILINE)
    markdown = PACKAGES.sub(lambda match: packages(match[1]), markdown)
    place = page.file.src_uri
    origin = {made: source for source, made in PAGES.items()}.get(place, f"docs/{place}")
    markdown = _INCLUDED.sub(lambda match: f"{match[0]}\n\n{code(ROOT / origin, match[1])}", markdown)
    return _LINK.sub(lambda match: link(match, origin, place, files), markdown)


def packages(names: str) -> str:
    """A table of packages."""
    rows = [f"| `{name}` | {summary(name)} |\n" for name in re.findall(r"\w+", names)]
    return f"| package | what it is for |\n|---|---|\n{''.join(rows)}\n"


def summary(package: str) -> str:
    """The first paragraph of a package's docstring, or of a module's."""
    path = ROOT / "iree_tuner" / package
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def code(page: Path, target: str) -> str:
    """A file that a page links to, as a code block."""
    text = (page.parent / target).read_text(encoding="utf-8")
    return f"```{target.rpartition('.')[2]}\n{text.rstrip()}\n```"


def link(match: re.Match[str], origin: str, place: str, files: Files) -> str:
    """A link of the page at `place`, made of the file `origin`. Only its text if the site lacks the file."""
    text, target, anchor = match[1], match[2], match[3] or ""
    source = normpath(f"{dirname(origin)}/{target}") if dirname(origin) else normpath(target)
    wanted = PAGES.get(source, source.removeprefix("docs/"))
    if files.get_file_from_path(wanted):
        shown = (
            title(ROOT / source)
            if source.endswith(".md") and text in (source, wanted, basename(source))
            else text
        )
        return f"[{shown}]({relpath(wanted, dirname(place) or '.')}{anchor})"
    return text if (ROOT / source).exists() else match[0]


def title(page: Path) -> str:
    """The first heading of a page."""
    return next(line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("# "))[2:]


def commands() -> str:
    """A section for each command, with its help."""
    sections: list[str] = []
    for path in sorted(HELP.glob("*.txt")):
        sections.append(f"## {path.stem.replace('_', ' ')}\n\n{block(path.read_text(encoding='utf-8'))}")
    return "\n\n".join(sections)


def block(text: str) -> str:
    """A code block."""
    return f"```text\n{text.rstrip()}\n```"
