"""Colors of contenders: the same in all charts of a page."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt

from iree_tuner.report.charts.look import BEFORE, OTHERS, SERIES
from iree_tuner.suite.pages.contenders import BASE


def color_of(contender: str, all_: Sequence[str]) -> str:
    """Grey for IREE's default, and for contenders that no color is left for."""
    place = [each for each in all_ if each != BASE].index(contender) if contender != BASE else -1
    return BEFORE if contender == BASE else SERIES[place] if place < len(SERIES) else OTHERS


def colored(shown: Sequence[str], all_: Sequence[str]) -> alt.Color:
    """The encoding of `contender`, with a legend of the shown ones."""
    scale = alt.Scale(domain=list(shown), range=[color_of(each, all_) for each in shown])
    return alt.Color("contender:N", title=None, scale=scale)
