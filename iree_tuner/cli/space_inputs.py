"""The input of `iree-tuner space`: workloads with their spaces, from a program or from JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from rich.markup import escape

from iree_tuner.cli.output import people
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError
from iree_tuner.files import parse_json
from iree_tuner.ops.workload import from_json
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.dynamic import sized
from iree_tuner.program.extract import extract
from iree_tuner.program.source import Program
from iree_tuner.space import Space, build_spaces
from iree_tuner.space.emitted import Emitted, emit
from iree_tuner.targets import CpuLimits, GpuLimits, Target
from iree_tuner.targets.limits import limits_from


@dataclass(frozen=True)
class WorkloadSpaces:
    """A workload's spaces. `dispatch` is None for a workload read from JSON."""

    name: str
    spaces: tuple[Space, ...]
    dispatch: Dispatch | None = None


def read_spaces(
    program: Program, target: Target, dims: Sequence[str] = (), *, supplements: bool
) -> Iterator[WorkloadSpaces]:
    """Build the spaces of each workload of a program or of a JSON file.

    Raises TunerError for any other file, and if no workload has a space.
    """
    if program.data.lstrip().startswith(b"{"):
        yield from _from_json(program.data.decode(), program.name, supplements)
        return
    context = new_context()
    with Workers(1) as workers:
        extraction = extract(sized(program, dims), target, workers)
        for diagnostic in extraction.diagnostics:
            people.print(str(diagnostic), style="yellow", markup=False)
        for dispatch in extraction.dispatches:
            if dispatch.workload is None or dispatch.harness is None:
                people.print(escape(f"{dispatch.name}: no space, {dispatch.reason}"))
                continue
            emitted = (
                emit(dispatch.harness, dispatch.workload, target, workers)
                if isinstance(dispatch.limits, GpuLimits)
                else Emitted()
            )
            try:
                spaces = build_spaces(
                    dispatch.workload, dispatch.limits, context, emitted.modules, supplements=supplements
                )
            except TunerError as error:
                note = f" ({emitted.note})" if emitted.note else ""
                people.print(escape(f"{dispatch.name}: {error}{note}"))
                continue
            yield WorkloadSpaces(dispatch.name, spaces, dispatch)


def _from_json(text: str, source: str, supplements: bool) -> Iterator[WorkloadSpaces]:
    context = new_context()
    for number, line in enumerate(text.splitlines(), start=1):
        location = f"{source}:{number}"
        if not line.strip():
            continue
        try:
            record = cast(dict[str, Any], parse_json(line, location))
            data = record.get("workload", record if "family" in record else None)
            if data is None:
                people.print(escape(f"{location}: skipped, as it has no workload"))
                continue
            workload = from_json(data)
            limits = limits_from(record["limits"]) if "limits" in record else CpuLimits()
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise TunerError(f"not a workload: {error}", location=location) from None
        spaces = build_spaces(workload, limits, context, supplements=supplements)
        yield WorkloadSpaces(str(record.get("dispatch", workload.name)), spaces)
