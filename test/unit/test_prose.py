"""The prose of pages, help, docstrings and comments: short sentences, no phrase that readers stumbled over.

`PHRASES` grows by what a review finds. A phrase that a page has to quote stands in code marks.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from house import sources

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    *(
        ROOT / name
        for name in (
            "README.md",
            "CONTRIBUTING.md",
            "benchmarks/README.md",
            "programs/README.md",
            "specs/README.md",
        )
    ),
    *sorted((ROOT / "docs").rglob("*.md")),
)
HELP = tuple(sorted((Path(__file__).parent / "help").glob("*.txt")))
WORDS = 40
REPEATED = 8
"""A sentence of more words than this, twice on a page, was left over by an edit."""


PHRASES = {
    r"(?<!\bsay )\bbeside\b": "next to, compared with, or in addition to",
    r"\bwhoever\b": "name the reader: you, users, callers",
    r"\b(?:is|are|was|were|be|been) told\b": "is reported, is printed, is passed",
    r"\bas told\b": "as described",
    r"\banything but\b": "any ... except",
    r"\bone way or another\b": "leave it out",
    r"\bneighbours?\b": "neighbor",
    r"^What [^?]*\.$": "name the subject: 'Missing inputs are ...'",
    r"^Who [^?]*\.$": "name the subject",
    r"\bno mistake\b": "not an error",
    r"\bnobody\b": "use the passive: 'the file is not read'",
    r"\bbut for\b": "except for, apart from",
    r"\b(?:hears?|speaks?|speak) of\b": "describe, contain, is reported",
    r"\bin the place of\b": "instead of",
    r"\bis to be had\b": "is available",
    r"\bat hand\b": "available",
    r"\bnot ever\b|\bnor\b": "two sentences",
    r"\bits kin\b|\band its like\b|\bof its own kind\b": "name them",
    r"\b(?:whence|thereof|hitherto|hence|lest|thus)\b": "so, therefore",
    r"\bworkgroup's worth\b": "the tile of a workgroup",
    r"\b(?:simply|obviously|of course|clearly|just|very|easily)\b": "leave it out",
    r"\bas far as\b": "where, up to",
    r"\bby other means\b": "say which",
    r"\bwarm up\b|\bwarmup\b": "warm-up",
}
"""Patterns, and what to write instead."""

_ANY = re.compile("|".join(each for each in PHRASES if each[0] != "^"), re.IGNORECASE)
_BEGINS = re.compile("|".join(each for each in PHRASES if each[0] == "^"))
"""Whether one of them is there: most sentences have none."""

_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|^<!--.*?-->$", re.DOTALL | re.MULTILINE)
_INDENTED = re.compile(r"^(?: {4}|\t)(?! *(?:[*-]|\d+\.) ).*$", re.MULTILINE)
_INLINE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"<[^>]+>")
_ITEM = re.compile(r"^\s*(?:[*+-]|\d+\.)\s+")
_END = re.compile(r"(?<=[.?!:])[\"')*]*\s+(?=[\"'(*]*[A-Z0-9_])|(?<=;)\s+")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|al|cf|No|Fig)\.(?= )")


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page: code, tables, headings and links' targets are left out."""
    text = _TAG.sub("", _LINK.sub(r"\1", _INLINE.sub("CODE", _CODE.sub("\n\n", text))))
    for part in re.split(r"\n\s*\n", text):
        yield from _of_block(part)


def _of_block(part: str) -> Iterator[str]:
    """The sentences of lines between two empty ones."""
    lines: list[str] = []
    for line in [*part.splitlines(), "* "]:
        starts = bool(_ITEM.match(line)) or line.startswith(("#", "|", ">", ":::"))
        if starts and lines:
            whole = _ABBREVIATION.sub(r"\1", " ".join(lines))
            yield from (each.strip() for each in _END.split(whole) if each.strip())
            lines = []
        if not line.startswith(("#", "|", ":::")):
            lines.append(_ITEM.sub("", line).strip())


def prose(page: Path) -> str:
    """A page without its indented code. Items of lists may be indented."""
    text = page.read_text(encoding="utf-8")
    kept: list[str] = []
    blank, in_list = True, False
    for line in text.splitlines():
        margin = 8 if in_list else 4  # of code; items of lists are indented by up to 4
        code = blank and _INDENTED.match(line) and line.startswith(" " * margin)
        code = code or (bool(kept) and kept[-1] == "\0" and line.startswith("    "))
        in_list = bool(_ITEM.match(line)) or (in_list and (not line.strip() or line.startswith(" ")))
        blank = not line.strip()
        kept.append("\0" if code else line)
    return "\n".join("" if line == "\0" else line for line in kept)


def phrases(text: str) -> list[str]:
    """The phrases in a text's sentences that others should stand for."""
    return [
        f"'{match[0][:40]}' ({better}): {sentence}"
        for sentence in sentences(text)
        if _ANY.search(sentence) or _BEGINS.search(sentence)
        for pattern, better in PHRASES.items()
        if (match := re.search(pattern, sentence, re.IGNORECASE if pattern[0] != "^" else 0))
    ]


def findings(text: str) -> list[str]:
    """The faults of a text's sentences."""
    counts = ((len(re.findall(r"[\w'-]+", sentence)), sentence) for sentence in sentences(text))
    long = [f"{count} words, at most {WORDS}: {sentence}" for count, sentence in counts if count > WORDS]
    return long + phrases(text)


def cells(text: str) -> list[str]:
    """The cells of tables that are sentences or parts of them."""
    rows = (line for line in _CODE.sub("", text).splitlines() if line.startswith("|"))
    return [cell.strip() for row in rows for cell in row.strip("|").split(" | ") if cell.count(" ") > 1]


_SECTION = re.compile(r"^(?:Args|Attributes|Members|Raises|Returns|Yields):$")
_NAMED = re.compile(r"^ {4}(?=[\w*]+(?:, [\w*]+)*: )")
_OPTIONS = re.compile(r"^(?:Parameters|Attributes)\n-{3,}.*", re.DOTALL | re.MULTILINE)  # tested as help
_DEEPER = re.compile(r"(?<=\n\n)(?: {4,}(?!\w+: ).*\n?)+")  # code
_FOR_TOOLS = re.compile(r"#+:? *(?:noqa|type:|pyright|fmt:|pragma)")


_STRING = (
    r'"""(?:\\.|[^\\])*?"""' + r"|'''(?:\\.|[^\\])*?'''" + r'|"(?:\\.|[^"\\\n])*"' + r"|'(?:\\.|[^'\\\n])*'"
)
_COMMENT = re.compile(rf"{_STRING}|(?P<comment>#[^\n]*)", re.DOTALL)
"""Strings, which may have the sign of a comment, and comments. To make tokens of all takes far longer."""


def docstrings(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """The docstrings of a file, also of names; attributes and arguments become items of lists."""
    for node in nodes:
        body = getattr(node, "body", None)
        for each in body if isinstance(body, list) else []:
            value = each.value if isinstance(each, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                lines = _OPTIONS.sub("", inspect.cleandoc(value.value)).splitlines()
                split = ("\n" if _SECTION.match(line) else _NAMED.sub("* ", line) for line in lines)
                yield _DEEPER.sub("\n", "\n".join(split))


def comments(source: str) -> Iterator[str]:
    """The comments of a file; lines below each other are one."""
    block: list[str] = []
    last = 0
    line = at = 0
    for match in _COMMENT.finditer(source):
        found = match["comment"]
        if found and not _FOR_TOOLS.match(found):
            line, at = line + source.count("\n", at, match.start()), match.start()
            alone = not source[source.rfind("\n", 0, at) + 1 : at].strip()
            if not (alone and last == line):
                yield " ".join(block)
                block = []
            block.append(found.partition("# noqa")[0].lstrip("#: "))
            last = line + 1 if alone else 0
    yield " ".join(block)


def in_source(source: str, nodes: Iterable[ast.AST]) -> list[str]:
    return [wrong for text in (*docstrings(nodes), *comments(source)) for wrong in phrases(text)]


def test_phrases_of_code() -> None:
    found = {file.name: in_source(file.text, file.nodes) for file in sources()}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_phrases_of_code_are_found() -> None:
    source = (
        '"""One.\n\nArgs:\n    a, b: those that hear\n        of.\n    c: What it is.\n"""\n'
        "x = 1  # noqa: nobody\n# It is\n# told.\n\n# Nobody.\n"
    )
    found = [wrong.rpartition(": ")[2] for wrong in in_source(source, ast.walk(ast.parse(source)))]
    assert found == ["those that hear of.", "What it is.", "It is told.", "Nobody."]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_sentences_of_pages(page: Path) -> None:
    assert findings(prose(page)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_says_things_once(page: Path) -> None:
    long = [each for each in sentences(prose(page)) if each.count(" ") >= REPEATED]
    assert [each for each, count in Counter(long).items() if count > 1] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_cells_of_tables(page: Path) -> None:
    assert [wrong for cell in cells(page.read_text(encoding="utf-8")) for wrong in findings(cell)] == []


@pytest.mark.parametrize("text", HELP, ids=lambda path: path.stem)
def test_sentences_of_help(text: Path) -> None:
    plain = re.sub(r"^│?[ *]*│?$|[│*]|^[╭╰].*", "", text.read_text(encoding="utf-8"), flags=re.MULTILINE)
    rows = re.sub(r"^ {0,5}(?=--|-[a-z] |[A-Z_]{3,} |[a-z-]+  )", "\n", plain, flags=re.MULTILINE)
    assert findings("\n\n".join(" ".join(part.split()) for part in rows.split("\n\n"))) == []


def test_the_check_finds_what_it_should() -> None:
    text = "# What a head is.\n\nWhat? What is not given is generated.\n\n* It is beside `beside`.\n  Two.\n"
    assert [each.partition(":")[2].strip() for each in findings(text)] == [
        "'Missing inputs are ...'): What is not given is generated.",
        "It is beside CODE.",
    ]
    assert list(sentences("One, e.g. this. [Two](three.md#x)?\n| 4 |")) == ["One, e.g this.", "Two?"]
    assert findings("word " * WORDS + "end.") != []
    assert findings("word " * (WORDS - 1) + "end.") == []
