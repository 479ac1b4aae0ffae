"""Choices of flags that a run has measured and that did not end: the next one need not measure them again.

Trials are kept one by one, and a run that was killed goes on with them. Comparisons of whole programs with
other flags take as long as many trials, and are kept as soon as all are there.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from iree_tuner.compiler.versions import RELEASE
from iree_tuner.errors import TunerError
from iree_tuner.measure.statistics import Comparison
from iree_tuner.program.source import Program
from iree_tuner.store.rows import comparison_from_json
from iree_tuner.targets import Target
from iree_tuner.targets.find import with_options
from iree_tuner.targets.options import options_of
from iree_tuner.tuning.effort import Effort
from iree_tuner.tuning.flags import FlagChoice
from iree_tuner.tuning.ledger import Records

KIND = "flags"
"""Of the finding: `key`, `choices` (see `_to_json`), and the seconds of `FlagChoices`."""


@dataclass(frozen=True)
class FlagChoices:
    """The findings of trying choices of flags.

    Attributes:
        choices: the fastest first.
        build_s, check_s: what compiling and checking the program took, as `ProgramVersions` has it.
        searched_s: for how long candidates were tried since then, by runs that did not end.
    """

    choices: tuple[FlagChoice, ...]
    build_s: float
    check_s: float
    searched_s: float = 0.0


def choices_key(program: Program, target: Target, effort: Effort) -> str:
    """The facts that must be equal for choices to be taken over."""
    parts = (
        hashlib.sha256(program.data).hexdigest(), str(target), target.device, target.axes, RELEASE,
        effort.options, effort.program_rounds, effort.program_batch_s,
    )  # fmt: skip
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def keep_choices(records: Records, key: str, looked: FlagChoices) -> None:
    """Write them down, whatever becomes of the run."""
    body = {
        "key": key,
        "choices": [_to_json(each, looked.choices) for each in looked.choices],
        "build_s": looked.build_s,
        "check_s": looked.check_s,
        "searched_s": looked.searched_s,
    }
    records.write(lambda store: store.add_finding(records.run, KIND, body))


def unfinished_choices(records: Records, key: str, target: Target) -> FlagChoices | None:
    """Those of the last run with this key, where it did not end; None for a fresh run, or of any other."""
    if records.store is None or records.fresh or records.failure is not None:
        return None
    try:
        for finding, state, tried_s in records.store.latest_findings(KIND):
            if finding.body.get("key") == key:
                return None if state == "done" else _from_json(finding.body, target, tried_s)
    except (TunerError, KeyError, TypeError, ValueError, IndexError, RecursionError):
        return None  # they are measured again
    return None


def _to_json(choice: FlagChoice, among: Sequence[FlagChoice]) -> dict[str, object]:
    base = next((index for index, each in enumerate(among) if each is choice.base), None)
    comparison = asdict(choice.comparison) if choice.comparison else None
    return {"options": list(options_of(choice.target)), "base": base, "comparison": comparison}


def _from_json(body: Mapping[str, Any], target: Target, tried_s: float) -> FlagChoices:
    rows = cast("list[dict[str, Any]]", body["choices"])
    made: dict[int, FlagChoice] = {}

    def choice(index: int) -> FlagChoice:
        if index not in made:
            row = rows[index]
            comparison: Comparison | None = (
                comparison_from_json(row["comparison"]) if row["comparison"] is not None else None
            )
            base = choice(row["base"]) if row["base"] is not None else None
            made[index] = FlagChoice(with_options(target, row["options"]), comparison, base)
        return made[index]

    choices = tuple(choice(index) for index in range(len(rows)))
    searched_s = float(body.get("searched_s", 0.0)) + tried_s
    return FlagChoices(choices, float(body["build_s"]), float(body["check_s"]), searched_s)
