"""Whether `verify` and the compiler agree: on legal samples of spaces, and on the same with one knob changed.

    nice python benchmarks/verify_agreement.py --samples 2000 --jobs 1 --outcomes outcomes.jsonl

Each configuration is printed as attributes, as a program or a spec carries it, read back, and judged by the
constraints alone (`iree_tuner/space/legality.py`). Then it is compiled, in a worker that may die. Prints a
line for each target and family and below it every disagreement. What the compiler did is kept in
`--outcomes`, so that the same seed judges again without compiling.

A compilation that takes longer than `--timeout` says neither yes nor no. It is counted by itself.

The rulings (`iree_tuner/space/rulings.py`) were made with the outcomes of seeds 0 and 1, and corrected by
what seed 2 showed: take another one to judge them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

from iree.compiler import ir
from space_compile_rate import COMPILES_PER_WORKER, general, wait
from space_programs import PROGRAMS, programs, spaces_of

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.measure.candidate import Built, build_here
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.compilers_choice import Written
from iree_tuner.space.configuration import Assignment, Configuration
from iree_tuner.space.legality import Judgement, Rules
from iree_tuner.space.space import Space
from iree_tuner.space.verify.constraints import Constraints
from iree_tuner.targets import Target, parse_target

FAMILIES: dict[str, dict[str, tuple[str, ...]]] = {
    "llvm-cpu": {
        "matmul": ("cpu_matmul_f32", "cpu_matmul_f16"),
        "batch matmul": ("cpu_batch_matmul",),
        "convolution": ("cpu_conv_stride_1", "cpu_grouped_conv"),
        "attention": ("cpu_attention",),
        "reduction": ("cpu_row_reduction", "cpu_softmax"),
    },
    "gpu": {
        "matmul": ("matmul_1024_f16_f32", "matmul_1000x1200x1280_f16", "matmul_512x256x384_f32"),
        "batch matmul": ("batch_matmul_4x1024x2048x512_f16",),
        "convolution": ("conv_nhwc_hwcf_f16", "depthwise_conv_nhwc_hwc_f16"),
        "attention": ("attention_20x4096x64_keys_1024_f16",),
        "reduction": ("cpu_row_reduction", "matmul_1x4096x4096_f16"),
    },
}
"""Programs of `programs/ops/` by family, on CPUs and on GPUs."""

COLUMNS = ("both accept", "both refuse", "timeout", "not checked")

_CHOICES = ("idx", "promote", "pad_rows", "reorder", "no_reduce", "flush", "waves", "swizzle")
"""Knobs that choose one of several attributes: only these values can be written down."""


@dataclass(frozen=True)
class Case:
    """One configuration. `changed` says which knob was changed and how; empty for a legal sample."""

    target: str
    family: str
    program: str
    space: str
    assignment: Assignment
    changed: str = ""

    @property
    def key(self) -> str:
        """What its outcome is kept under."""
        values = ",".join(f"{name}={value}" for name, value in self.assignment.items())
        return f"{self.target} {self.program} {self.space} {values}"


@dataclass(frozen=True)
class Outcome:
    """What the compiler made of it."""

    outcome: str
    message: str


@dataclass
class Cell:
    """What came of one family on one target."""

    counts: Counter[str] = field(default_factory=Counter[str])
    disagreements: list[tuple[Case, Judgement, Outcome]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list[float])

    @property
    def compared(self) -> int:
        """Configurations on which both said something."""
        return self.counts["both accept"] + self.counts["both refuse"] + len(self.disagreements)


def main() -> int:
    """Judge and compile. Exit status 1 when fewer than 99 % agree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--targets", default="llvm-cpu:znver4,cuda:sm_80,hip:gfx942,vulkan:ampere")
    parser.add_argument("--families", default="", help="separated by commas; all without")
    parser.add_argument("--samples", type=int, default=2000, help="configurations in all")
    parser.add_argument("--seed", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for one compilation")
    parser.add_argument(
        "--outcomes", type=Path, help="read what is known from this file, and append the rest"
    )
    parser.add_argument("--reasons", action="store_true", help="show how often each constraint was right")
    parser.add_argument("--own", action="store_true", help="judge the compiler's own choices instead")
    arguments = parser.parse_args()
    if arguments.own:
        return judge_own(arguments.targets.split(","))
    known = read_outcomes(arguments.outcomes)
    context = new_context()
    heads = " ".join(f"{name.split()[-1]:>8}" for name in COLUMNS)
    print(f"{'target':16} {'family':13} {heads} {'agree':>10} {'':6} {'ms':>6} {'99 %':>6}")
    cells: dict[tuple[str, str], Cell] = {}
    reasons: Counter[tuple[str, str]] = Counter()
    names = [name for name in arguments.families.split(",") if name]
    targets = arguments.targets.split(",")
    share = arguments.samples // sum(len(families_of(target, names)) for target in targets)
    with Workers(arguments.jobs, tasks_per_worker=COMPILES_PER_WORKER) as workers:
        for target in map(parse_target, targets):
            for family, programs in families_of(str(target), names).items():
                cell = Cell()
                for case, judged, outcome in compare(
                    target, family, programs, cell, share, workers, context, known, arguments
                ):
                    count(cell, case, judged, outcome)
                    for each in judged.violations:
                        reasons[f"{each.severity} {generalized(each.rule)}", outcome.outcome] += 1
                cells[str(target), family] = cell
                show(str(target), family, cell)
    if arguments.reasons:
        for (message, outcome), times in sorted(reasons.items()):
            print(f"{outcome:16} {times:4} x {message}")
    return summary(list(cells.values()))


def judge_own(targets: list[str]) -> int:
    """Judge what the compiler chooses for all programs. Exit status 1 when a choice is refused."""
    context = new_context()
    states: Counter[str] = Counter()
    with Workers(1) as workers:
        for target in map(parse_target, targets):
            for program in programs([], str(target)):
                for dispatch in extract(load_program(str(program)), target, workers).dispatches:
                    written = Written.by_compiler(dispatch)
                    judged = Constraints.of(dispatch, target, context, workers).judge(written)
                    found = {each.severity: each.message for each in judged.findings}
                    state = next((each for each in ("unchecked", "error") if each in found), "accepted")
                    states[state] += 1
                    if state in found:
                        print(f"{target!s:16} {program.stem:40} {state}: {found[state]}", flush=True)
    print(", ".join(f"{count} {state}" for state, count in states.most_common()))
    return 1 if states["error"] else 0


def families_of(target: str, wanted: list[str]) -> dict[str, tuple[str, ...]]:
    """The families of a target, with their programs."""
    backend = target.partition(":")[0]
    found = FAMILIES["llvm-cpu" if backend == "llvm-cpu" else "gpu"]
    lowered = {name: each for name, each in found.items() if (backend, name) != ("vulkan", "attention")}
    return {name: each for name, each in lowered.items() if not wanted or name in wanted}


def compare(
    target: Target,
    family: str,
    programs: tuple[str, ...],
    cell: Cell,
    share: int,
    workers: Workers,
    context: ir.Context,
    known: dict[str, Outcome],
    arguments: argparse.Namespace,
) -> Iterator[tuple[Case, Judgement, Outcome]]:
    """Every case of a family on a target, judged and compiled."""
    found = [
        (program, dispatch, space)
        for program in programs
        for dispatch, spaces in spaces_of(PROGRAMS / f"{program}.mlir", target, workers, context)
        for space in spaces
    ]
    waiting: list[tuple[Case, Judgement, Future[Built] | Outcome]] = []
    for place, (program, dispatch, space) in enumerate(found):
        wanted = share // len(found) + (place < share % len(found))
        rules = Rules(space, dispatch.limits)
        for case in cases(target, family, program, space, wanted, arguments.seed):
            configuration = space.configuration(case.assignment)
            start = time.process_time()
            judged = rules.judge(Written.of(configuration, context))
            cell.seconds.append(time.process_time() - start)
            outcome = known.get(case.key) or submit(
                dispatch, target, configuration, workers, arguments.timeout
            )
            waiting.append((case, judged, outcome))
    for case, judged, outcome in waiting:
        if isinstance(outcome, Future):
            built = wait(outcome, workers)
            outcome = Outcome(built.outcome, general(built.message) if built.outcome != "ok" else "")
            keep(arguments.outcomes, case, outcome)
        yield case, judged, outcome


def submit(
    dispatch: Dispatch, target: Target, configuration: Configuration, workers: Workers, timeout: float
) -> Future[Built]:
    """Begin to compile a configuration."""
    assert dispatch.harness is not None
    return workers.submit(build_here, dispatch.harness.module, target.flags, configuration, timeout_s=timeout)


def cases(target: Target, family: str, program: str, space: Space, count: int, seed: int) -> Iterator[Case]:
    """Half of them legal samples, and each of these again with one knob changed."""
    drawn = random.Random(f"{seed} {target} {program} {space.label}")
    for sample in space.sample((count + 1) // 2, seed):
        yield Case(str(target), family, program, space.label, sample)
        name = drawn.choice(space.names)
        value = drawn.choice(others(space, name, sample[name]))
        changed = Assignment.of({**sample, name: value})
        yield Case(str(target), family, program, space.label, changed, f"{name}: {sample[name]} -> {value}")


def others(space: Space, name: str, value: int) -> list[int]:
    """Values that a knob may be changed to: some of its own, and near ones that it may not have."""
    own = [each for each in space.domain(name) if each != value]
    if any(part in name for part in _CHOICES) or (own and max([*own, value]) <= 1):
        return own or [value]
    near = {value * 2, value * 4, value * 3, value + 1, max(1, value // 2), max(1, value - 1)} - {value}
    return [*own[:3], *own[-3:], *sorted(near)]


def count(cell: Cell, case: Case, judged: Judgement, outcome: Outcome) -> None:
    """Note a case in its cell."""
    if outcome.outcome == "compile_timeout":
        cell.counts["timeout"] += 1
    elif judged.unread:
        cell.counts["not checked"] += 1
    elif judged.legal == (outcome.outcome == "ok"):
        cell.counts["both accept" if judged.legal else "both refuse"] += 1
    else:
        cell.disagreements.append((case, judged, outcome))


def show(target: str, family: str, cell: Cell) -> None:
    """One line of the table, and the disagreements below it."""
    agree = cell.compared - len(cell.disagreements)
    share = f"{agree / cell.compared:.1%}" if cell.compared else ""
    times = sorted(cell.seconds) or [0.0]
    median, late = times[len(times) // 2] * 1000, times[len(times) * 99 // 100] * 1000
    counts = " ".join(f"{cell.counts[name]:>8}" for name in COLUMNS)
    agreed = f"{agree:>5}/{cell.compared:<4} {share:>6}"
    print(f"{target:16} {family:13} {counts} {agreed} {median:>6.1f} {late:>6.1f}", flush=True)
    for case, judged, outcome in cell.disagreements:
        who = (
            "the compiler refuses, verify accepts" if judged.legal else "the compiler accepts, verify refuses"
        )
        print(f"    {who} {outcome.message}")
        print(f"      {case.program} {case.space} {case.changed or 'a legal sample'}")
        print(f"      {' '.join(f'{n}={v}' for n, v in case.assignment.items())}")
        for each in judged.violations:
            print(f"      {each.severity}: {each.message}")


def generalized(rule: str) -> str:
    """A constraint without the numbers that differ from workload to workload."""
    return re.sub(r"\d+", "N", rule)


def summary(cells: list[Cell]) -> int:
    """The last line; exit status 1 when fewer than 99 % agree."""
    compared = sum(cell.compared for cell in cells)
    wrong = sum(len(cell.disagreements) for cell in cells)
    share = (compared - wrong) / compared if compared else 0.0
    print(f"{compared - wrong} of {compared} agree: {share:.2%}")
    return 0 if share >= 0.99 else 1


def read_outcomes(path: Path | None) -> dict[str, Outcome]:
    """What an earlier run found out."""
    if path is None or not path.exists():
        return {}
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return {record["key"]: Outcome(record["outcome"], record["message"]) for record in records}


def keep(path: Path | None, case: Case, outcome: Outcome) -> None:
    """Append an outcome."""
    if path is not None:
        with path.open("a") as file:
            record = {"key": case.key, "outcome": outcome.outcome, "message": outcome.message}
            file.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    sys.exit(main())
