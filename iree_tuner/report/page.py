"""A page: one HTML file that contains its styles, scripts, charts and data."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from iree_tuner.errors import TunerError
from iree_tuner.files import write
from iree_tuner.report.numbers import FILTERS
from iree_tuner.report.view import ReportedRun, RunReport, Slice, TimeProfile, WorkloadPart
from iree_tuner.store.record import versus
from iree_tuner.store.rows import text

if TYPE_CHECKING:
    from iree_tuner.report.charts.look import Drawing
    from iree_tuner.report.charts.space import Explored

_LIBRARIES = ("altair", "vl_convert", "jinja2")
_FOLDER = "iree_tuner.report"
_MOST_LEFT = 8  # parts with the most time above the roofline


@dataclass(frozen=True)
class Spaces:
    """The charts of a workload's spaces."""

    part: WorkloadPart
    explored: Sequence[Explored]


def check_installed() -> None:
    """Raise TunerError if a library for charts is missing."""
    missing = [name for name in _LIBRARIES if find_spec(name) is None]
    if missing:
        raise TunerError(
            f"a report requires {', '.join(missing)}", hint="pip install 'iree-tuner[report]'"
        )  # fmt: skip


def page_of(report: RunReport) -> str:
    """Render a report. Raises TunerError if a library for charts is missing."""
    check_installed()
    return filled(
        "template.html.jinja",
        report=report,
        headline=headline(report),
        charts=_charts(report),
        spaces=list(_spaces(report)),
        saved=_saved(report),
        above=above_the_roof(report),
        left=left_over(report),
        again=report.use.again or _again(report.run),
    )


def filled(template: str, *, package: str = _FOLDER, **values: object) -> str:
    """Render a template that extends `frame.html.jinja`.

    Args:
        package: the package that contains it. It may include files of this package, too.
        values: the template's variables. All of them are escaped.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(each, "") for each in (package, _FOLDER)]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters.update(FILTERS)
    # These three files are part of this package. Everything else is escaped.
    own = {"style": Markup(_own("style.css")), "script": Markup(_own("page.js")), "vega": Markup(_vega())}
    return text(environment.get_template(template).render(**own, versus=versus, **values))


def headline(report: RunReport) -> str:
    """Summarize the result in one sentence."""
    whole, wins = report.whole, report.wins
    if whole is not None and whole.speedup is not None and whole.verdict == "win":
        return f"The program is {whole.speedup:.2f}x as fast as with the compiler's defaults"
    if whole is not None and whole.verdict == "lose":
        return "The program would be slower: the compiler's defaults stay"
    if whole is None and not any(each.verdict or each.trials for each in report.workloads):
        return "Nothing was compared"
    if not wins:
        return "No candidate beats the compiler's defaults"
    parts = f"{len(wins)} of {len(report.workloads)} workloads are faster alone"
    if whole is None or not whole.verdict:
        return f"{parts}; the whole program was not compared"
    return f"{parts}; the whole program is not measurably faster"


def above_the_roof(report: RunReport) -> list[str]:
    """The parts that took less time than the roofline permits, without duplicates."""
    parts = [part for each in report.profiles for part in each.slices]
    return list(dict.fromkeys(each.label for each in parts if each.time_us < (each.attainable_us or 0.0)))


def left_over(report: RunReport) -> list[tuple[Slice, Slice | None]]:
    """The parts with the most time above the roofline in the last profile, each with itself before."""
    first, *_, last = [*report.profiles, *report.profiles] or [TimeProfile()] * 2
    before = {each.label: each for each in first.slices if first is not last}
    left = [
        (each.time_us - each.attainable_us, each) for each in last.slices if each.attainable_us is not None
    ]
    found = [each for left_us, each in sorted(left, key=lambda pair: -pair[0]) if left_us > 0]
    return [(each, before.get(each.label)) for each in found[:_MOST_LEFT]]


def _again(run: ReportedRun) -> str:
    """The command that repeats the run."""
    names = ("effort", "budget", "strategy", "seed", "device", "chip")
    options = [f"--{name} {shlex.quote(str(run.options[name]))}" for name in names if name in run.options]
    return " ".join(["iree-tuner tune", shlex.quote(run.program), *options, "--fresh"])


def _charts(report: RunReport) -> dict[str, Drawing | None]:
    from iree_tuner.report.charts.overview import draw_convergence, draw_gain, draw_outcomes, draw_timeline
    from iree_tuner.report.charts.profile import draw_profile
    from iree_tuner.report.charts.roofline import draw_roofline

    charts: dict[str, Callable[[RunReport], Drawing | None]] = {
        "profile": draw_profile, "gain": draw_gain, "convergence": draw_convergence,
        "outcomes": draw_outcomes, "roofline": draw_roofline, "timeline": draw_timeline,
    }  # fmt: skip
    return {name: draw(report) for name, draw in charts.items()}


def _spaces(report: RunReport) -> Iterator[Spaces]:
    from iree_tuner.report.charts.space import draw_spaces

    for part in report.workloads:
        found = draw_spaces(part)
        if found:
            yield Spaces(part, found)


def _saved(report: RunReport) -> float | None:
    """The time saved in one invocation, in microseconds. None if it may be noise."""
    whole = report.whole
    if whole and whole.verdict == "tie":
        return None
    if whole and whole.default_us and whole.time_us:
        return whole.default_us - whole.time_us
    before, after = (each.whole_us if each else None for each in (report.before, report.after))
    return None if before is None or after is None else before - after


def _own(name: str) -> str:
    return files(_FOLDER).joinpath(name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _vega() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, in the release that altair targets."""
    import altair as alt
    import vl_convert

    version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    # The text that would end the script element or begin a comment can occur only in strings.
    return bundle.replace("</script", "<\\/script").replace("<!--", "\\x3C!--")


_FRAME_HEIGHT_PX = 900


@dataclass(frozen=True)
class Report:
    """The report of a run (see `TuningResult.report`). Notebooks display it."""

    data: RunReport

    def html(self) -> str:
        """Render the page, which needs no network. Raises TunerError if a library for charts is missing."""
        return page_of(self.data)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file. Raises TunerError if that fails."""
        path = Path(path)
        write(path, self.html())
        return path

    def _repr_html_(self) -> str:
        """A frame, so that styles and scripts of the page and of the notebook stay apart."""
        return (
            f'<iframe srcdoc="{escape(self.html(), quote=True)}" width="100%" height="{_FRAME_HEIGHT_PX}" '
            'sandbox="allow-scripts" allow="clipboard-write" title="tuning report" '
            'style="border: 0" loading="lazy"></iframe>'
        )
