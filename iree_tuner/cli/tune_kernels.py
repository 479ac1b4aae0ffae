"""`iree-tuner tune --kernels`: external kernels compete with what was tuned."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from iree_tuner.cli.kernel_report import report_contests, report_program, tell_use
from iree_tuner.cli.output import people
from iree_tuner.compiler.context import to_bytecode
from iree_tuner.errors import TunerError
from iree_tuner.kernels.bench import (
    DEFAULT,
    TUNED,
    InProgram,
    choices_of,
    compare_in_program,
    hold_contests,
    look_at,
)
from iree_tuner.kernels.contest import ROUNDS
from iree_tuner.kernels.kernel import Kernel
from iree_tuner.kernels.registry import usual_kernels
from iree_tuner.kernels.save import save_kernel_spec
from iree_tuner.measure.program_run import ProgramRun
from iree_tuner.targets import Target
from iree_tuner.tuned import TuningResult
from iree_tuner.tuning.effort import Effort
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.ledger import Records, open_records
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.versions import with_spec

# Of a budget kernels are kept half, but not more than this, and a quarter at least; what tuning leaves of the
# rest is theirs, too.
_HALF, _MOST_OF_HALF_S, _PART = 0.5, 120.0, 0.25
_PROGRAM_PART, _MOST_PROGRAM_PART = 0.4, 0.75  # of their time, to compare whole programs
_VERSIONS = 6  # of the program, at most: as it is and tuned, each with two choices of kernels and without
_COMPARED_S = 120.0


@dataclass(frozen=True)
class Competition:
    """What becomes of a tuned program when kernels compete.

    Attributes:
        given: the target before flags were chosen.
        kernels: those that compete.
        output: where the kernels' spec is to be.
        variants: of each kernel on each problem.
        effort: how long they are compared.
        jobs: compile workers.
        as_json: whether rows are printed.
        db: where trials are kept; None for nowhere.
        fresh: try again what is known.
        until: when the budget is spent, on the monotonic clock; infinite without one.
    """

    given: Target
    kernels: tuple[Kernel, ...]
    output: Path
    variants: int
    effort: Effort
    jobs: int | None
    as_json: bool
    db: Path | None
    fresh: bool
    until: float = math.inf

    def hold(self, program: str, result: TuningResult, spec: Path, run: ProgramRun) -> InProgram | None:
        """Contests on every problem of the program, and the program with the winners; None without any.

        The trials are kept as those of the tuning run, which goes on.

        Args:
            program: what the user calls it.
            result: what tuning found.
            spec: where the tuning spec is.
            run: how the program is run.

        Raises:
            TunerError: what the compiler and the runtime say of the program, the spec cannot be written, or
                trials could not be kept.
        """
        if not self.kernels:
            people.print(f"there is no kernel for {self.given} (iree-tuner kernel list)", style="yellow")
            return None
        db = None if result.failure else self.db
        with open_records(
            db, result.program.name, {}, stop=StopRequest(), fresh=self.fresh, run=result.run
        ) as records:
            found = self._compete(program, result, spec, run, records)
            failure = records.rescue()
        if failure:
            raise TunerError(failure)
        return found

    def _compete(
        self, program: str, result: TuningResult, spec: Path, run: ProgramRun, records: Records
    ) -> InProgram | None:
        with Lab(self.given, self.jobs) as lab, people.status("kernels") as status:
            lab.start()
            lab.settle()  # what follows tells how long the program compiles
            start = time.monotonic()
            outlook = look_at(result.program, self.given, self.kernels, lab)
            looked = time.monotonic()
            seconds = contests_s(self.until - looked, looked - start)
            tuned = {
                each.task.workload.key: each.entry.configuration for each in result.results if each.entry
            }
            contests = hold_contests(
                outlook, lab, tuned=tuned, most=self.variants,
                rounds=min(ROUNDS, self.effort.rounds), seconds=seconds,
                watch=lambda line: status.update(line), records=records,
            )  # fmt: skip
            report_contests(contests, outlook, self.as_json)
            choices = choices_of(contests)
            if not choices:
                people.print("no kernel is faster than what the compiler makes")
                return None
            status.update("the whole program with kernels")
            made = with_spec(result.program, to_bytecode(result.spec))
            bases = {DEFAULT: (result.program, self.given), TUNED: (made, result.target)}
            left_s = max(0.0, self.until - time.monotonic())
            found = compare_in_program(
                bases,
                choices,
                outlook,
                lab,
                run,
                rounds=min(ROUNDS, self.effort.program_rounds),
                seconds=min(_COMPARED_S, left_s / 2),
            )
            report_program(found, self.as_json)
            if found.best is not None and found.chosen:
                save_kernel_spec(found.chosen, outlook.target, lab.context, self.output)
                tell_use(program, self.output, self.given, spec if found.is_tuned else None)
        return found


def kernels_for(target: Target) -> tuple[Kernel, ...]:
    """The installed kernels that can be made for a target, but examples."""
    return tuple(each for each in usual_kernels(target.backend) if not each.missing())


def tuning_s(budget_s: float | None, kernels: Sequence[Kernel]) -> float | None:
    """What tuning may take of a budget: all but the part that is kept for kernels, where there are any."""
    if budget_s is None or not kernels:
        return budget_s
    return budget_s - max(_PART * budget_s, min(_HALF * budget_s, _MOST_OF_HALF_S))


def contests_s(left_s: float, look_s: float) -> float:
    """What contests may take of the time that is left; the rest is for the program with and without kernels.

    Args:
        left_s: seconds; infinite without a budget, 0 or less when it is spent.
        look_s: what it took to compile the program as far as kernels are put in.
    """
    if left_s == math.inf:
        return math.inf
    program_s = min(_MOST_PROGRAM_PART * left_s, max(_PROGRAM_PART * left_s, _VERSIONS * look_s))
    return max(0.0, left_s - program_s)
