"""The figure of the way of the data: boxes in two rows, joined by arrows."""

from __future__ import annotations

from xml.sax.saxutils import escape

from looks import FONT

BOXES = (
    ("Program", "MLIR, ONNX"),
    ("Dispatches", "one function each"),
    ("Workloads", "equal ones once"),
    ("Spaces", "knobs and constraints"),
    ("Candidates", "a strategy proposes"),
    ("Executables", "compiled in workers"),
    ("Times", "results checked"),
    ("Verdicts", "against the default"),
    ("Tuning spec", "wins only"),
)
"""What there is, and a word on how it is made."""

STEPS = ("extract", "describe", "constrain", "search", "compile", "measure", "compare", "write")
COLUMNS, WIDTH, HEIGHT, GAP, ROW = 5, 158, 62, 42, 120


def pipeline(ink: str, accent: str, faint: str) -> str:
    """The figure in three colors. The second row runs from right to left, below the first."""
    parts = [box(place, ink, accent, faint) for place in range(len(BOXES))]
    parts += [arrow(place, ink) for place in range(len(STEPS))]
    loop = "times and failures go back to the strategy, which proposes the next candidates"
    x, y = corner(6)
    parts.append(text(x + WIDTH / 2, y + HEIGHT + 46, loop, ink, 13, "middle", style="italic"))
    width = COLUMNS * WIDTH + (COLUMNS - 1) * GAP + 20
    height = ROW + HEIGHT + 60
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}">'
    return "\n".join([head, *parts, "</svg>"])


def corner(place: int) -> tuple[float, float]:
    """The upper left corner of a box."""
    row, column = divmod(place, COLUMNS)
    column = column if row == 0 else COLUMNS - 1 - column
    return 10 + column * (WIDTH + GAP), 10 + row * ROW


def box(place: int, ink: str, accent: str, faint: str) -> str:
    """A box with its name and a word."""
    (name, word), (x, y) = BOXES[place], corner(place)
    edge = accent if place in (0, len(BOXES) - 1) else faint
    shape = (
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="8" fill="none" stroke="{edge}" '
        'stroke-width="2"/>'
    )
    middle = x + WIDTH / 2
    return "\n".join(
        [shape, text(middle, y + 26, name, ink, 16, "middle", weight="bold"),
         text(middle, y + 47, word, ink, 12.5, "middle")]
    )  # fmt: skip


def arrow(place: int, ink: str) -> str:
    """From a box to the next, with the step's name."""
    (x, y), (other_x, other_y) = corner(place), corner(place + 1)
    if y != other_y:
        middle = x + WIDTH / 2
        line = (middle, y + HEIGHT, middle, other_y)
        label = text(middle + 8, (y + HEIGHT + other_y) / 2 + 4, STEPS[place], ink, 12, "start")
    else:
        right = other_x > x
        line = (x + WIDTH, y + HEIGHT / 2, other_x, y + HEIGHT / 2) if right else (
            x, y + HEIGHT / 2, other_x + WIDTH, y + HEIGHT / 2)  # fmt: skip
        label = text((line[0] + line[2]) / 2, y + HEIGHT + 14, STEPS[place], ink, 12, "middle")
    return f"{shaft(*line, ink)}\n{label}"


def shaft(x: float, y: float, to_x: float, to_y: float, ink: str) -> str:
    """A line with a head."""
    along = (to_x > x) - (to_x < x), (to_y > y) - (to_y < y)
    back_x, back_y = to_x - 7 * along[0], to_y - 7 * along[1]
    side_x, side_y = 4 * along[1], 4 * along[0]
    head = f"{to_x},{to_y} {back_x - side_x},{back_y - side_y} {back_x + side_x},{back_y + side_y}"
    return (
        f'<line x1="{x}" y1="{y}" x2="{back_x}" y2="{back_y}" stroke="{ink}" stroke-width="1.5"/>'
        f'<polygon points="{head}" fill="{ink}"/>'
    )


def text(
    x: float, y: float, words: str, ink: str, size: float, anchor: str,
    weight: str = "normal", style: str = "normal",
) -> str:  # fmt: skip
    """One line of text."""
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{ink}" font-size="{size:g}" font-weight="{weight}" '
        f'font-style="{style}" text-anchor="{anchor}">{escape(words)}</text>'
    )
