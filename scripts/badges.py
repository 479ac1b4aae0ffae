"""Draw README's badges from pyproject.toml: the release of IREE, the versions of Python, the license.

    python scripts/badges.py

Writes docs/pictures/badge-{iree,python,license}.svg. `test_pages.py` compares them with pyproject.toml.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from string import Template

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
COMPILER = "iree-base-compiler=="
PYTHON = "Programming Language :: Python :: "
LETTER, MARGIN = 6.4, 7.0
"""Pixels. `textLength` makes the text as wide in any font."""

BADGE = Template("""\
<svg xmlns="http://www.w3.org/2000/svg" width="$width" height="20" role="img" aria-label="$label: $value">
<rect width="$width" height="20" rx="3" fill="#0969da"/>
<path d="M3 0h${right}v20h-${right}a3 3 0 0 1-3-3v-14a3 3 0 0 1 3-3z" fill="#24292f"/>
<g fill="#fff" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">
<text x="$margin" y="14" textLength="$label_width">$label</text>
<text x="$value_x" y="14" textLength="$value_width">$value</text>
</g>
</svg>
""")


def badges() -> dict[Path, str]:
    """The pictures, by their files."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (release,) = (each for each in project["dependencies"] if each.startswith(COMPILER))
    versions = [each for each in project["classifiers"] if each.startswith(PYTHON)]
    values = {
        "IREE": release.removeprefix(COMPILER),
        "Python": " | ".join(each.removeprefix(PYTHON) for each in versions),
        "license": project["license"],
    }
    return {PICTURES / f"badge-{label.lower()}.svg": badge(label, value) for label, value in values.items()}


def badge(label: str, value: str) -> str:
    """A label and its value, as SVG."""
    label_width, value_width = (round(len(text) * LETTER) for text in (label, value))
    left = label_width + 2 * MARGIN
    return BADGE.substitute(
        label=label,
        value=value,
        width=f"{left + value_width + 2 * MARGIN:g}",
        right=f"{left - 3:g}",
        margin=f"{MARGIN:g}",
        label_width=label_width,
        value_x=f"{left + MARGIN:g}",
        value_width=value_width,
    )


if __name__ == "__main__":
    for path, svg in badges().items():
        path.write_text(svg, encoding="utf-8")
        print(path.relative_to(ROOT))
