"""`iree-tuner docs`: print the pages of the documentation, which ship with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.markdown import Markdown

from iree_tuner.cli.output import answers
from iree_tuner.cli.table import print_table, table
from iree_tuner.errors import UsageError

_PACKAGE = Path(__file__).parent.parent
_SUFFIX = ".md"


def docs(
    page: Annotated[str, Parameter(help="Name of the page: measuring, targets/cuda, docs/kernels.md.")] = "",
    /,
) -> None:
    """Print a page of the documentation. Without a name, list the pages.

    Example: `iree-tuner docs measuring | less`
    """
    folder = next(
        (each for each in (_PACKAGE / "_docs", _PACKAGE.parent / "docs") if each.is_dir()), _PACKAGE
    )
    found = sorted(folder.rglob(f"*{_SUFFIX}"))
    pages = {path.relative_to(folder).as_posix().removesuffix(_SUFFIX): path for path in found}
    if not page:
        listed = table("page", "title", words=("page", "title"))
        for name, path in pages.items():
            listed.add_row(name, path.read_text(encoding="utf-8").splitlines()[0].lstrip("# "))
        print_table(answers, listed)
        return
    wanted = page.removeprefix("docs/").removesuffix(_SUFFIX)
    if wanted not in pages:
        raise UsageError(f"unknown page '{page}'", hint="iree-tuner docs lists the pages")
    text = pages[wanted].read_text(encoding="utf-8")
    if answers.is_terminal:
        answers.print(Markdown(text))
    else:
        answers.print(text, highlight=False, soft_wrap=True, end="")
