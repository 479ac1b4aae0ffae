"""A package imports those before it and never those after it, in functions too (docs/architecture.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

import pytest
from core import PLUG_INS
from house import PACKAGE, Source, sources

ORDER = (
    "errors",
    "installed",
    "files",
    "compiler",
    "targets",
    "cluster",
    "ops",
    "program",
    "space",
    "search.cost",
    "search",
    "device",
    "check",
    "measure",
    "store",
    "search.replay",
    "spec",
    "space.verify",
    "reduce",
    "profiling",
    "tuning",
    "cluster.lab",
    "kernels",
    "script",
    "report",
    "result",
    "tuning.loop",
    "tune",
    "suite",
    "",  # iree_tuner/__init__.py: the names a user needs
    "cli",
    "cluster.commands",
    "reduce.commands",
    "kernels.commands",
    "script.commands",
    "suite.commands",
    "__main__",
)
"""Names below iree_tuner/, lowest first. A new package is given its place here.

A package inside another may have a place of its own: it is the same room, but needs others.
"""


def test_the_page_has_the_order() -> None:
    page = (PACKAGE.parent / "docs" / "architecture.md").read_text()
    (listed,) = re.findall(r"^<!-- packages -->\n(.*?)\n\n", page, re.DOTALL | re.MULTILINE)
    whole = [name for name in ORDER if name.isidentifier() and name != "__main__"]
    assert re.findall(r"\w+", listed) == whole


def layer_of(module: str) -> str:
    """`iree_tuner.ops.family` -> `ops`; `iree_tuner.search.cost.cpu` -> `search.cost`; `iree_tuner` -> ""."""
    first, second, *_ = [*module.split(".")[1:], "", ""]
    return inner if (inner := f"{first}.{second}") in ORDER else first


def module_of(path: Path) -> str:
    parts = ("iree_tuner", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(nodes: Iterable[ast.AST], module: str, is_package: bool) -> Iterator[tuple[int, str]]:
    """Line and full name of everything from iree_tuner that is imported anywhere in the file."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = module.split(".")
                up = node.level - int(is_package)
                base = ".".join((*parts[: len(parts) - up], *([base] if base else [])))
            names = [base if base != "iree_tuner" else submodule(alias.name) for alias in node.names]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == "iree_tuner")


def submodule(name: str) -> str:
    """What `from iree_tuner import name` imports: a package below it, or a name of the root's own."""
    is_module = (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").exists()
    return f"iree_tuner.{name}" if is_module else "iree_tuner"


def violations(nodes: Iterable[ast.AST], module: str, is_package: bool = False) -> list[str]:
    own = layer_of(module)
    return [
        f"line {line}: {module} imports {name}, which comes after it"
        for line, name in imports(nodes, module, is_package)
        if ORDER.index(layer_of(name)) > ORDER.index(own)
    ]


def test_imports_only_what_comes_before() -> None:
    found: list[str] = []
    for file in sources():
        module = module_of(file.path)
        assert layer_of(module) in ORDER, f"'{layer_of(module)}' has no place in ORDER"
        found += violations(file.nodes, module, file.path.name == "__init__.py")
    assert found == []


def plug_ins_of(file: Source) -> set[str]:
    """The plug-ins that a file imports."""
    found = imports(file.nodes, module_of(file.path), file.path.name == "__init__.py")
    names = (name.split(".") for _, name in found)
    return {part for _, *parts in names for part in parts[:1] if part in PLUG_INS}


def test_the_core_imports_no_plug_in() -> None:
    core = [file for file in sources() if file.name.partition("/")[0] not in PLUG_INS]
    found = {file.name: tuple(sorted(plug_ins_of(file))) for file in core}
    assert {file: rooms for file, rooms in found.items() if rooms} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import iree_tuner.space.space",
        "from iree_tuner.space import Space",
        "from iree_tuner import tune_module",
        "from iree_tuner.tune import tune_module",
        "from ..space import Space",
        "def late():\n    from iree_tuner.cli import main",
    ],
)
def test_later_imports_are_found(source: str) -> None:
    assert len(violations(ast.walk(ast.parse(source)), "iree_tuner.ops.family")) == 1


@pytest.mark.parametrize(
    "source",
    [
        "import numpy",
        "from iree_tuner import errors",
        "from iree_tuner.ops.workload import Workload",
        "from .workload import Workload",
        "from ..targets import Target",
    ],
)
def test_earlier_imports_are_not(source: str) -> None:
    assert violations(ast.walk(ast.parse(source)), "iree_tuner.ops.family") == []


@pytest.mark.parametrize("folder", ["benchmarks", "scripts", "examples"])
def test_scripts_import_what_there_is(folder):
    for script in (PACKAGE.parent / folder).glob("*.py"):
        for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("iree_tuner"):
                module = import_module(node.module)
                missing = [each.name for each in node.names if not hasattr(module, each.name)]
                assert not missing, f"{script.name}: {node.module}"
