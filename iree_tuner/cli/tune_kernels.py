"""`iree-tuner tune --kernels`: external kernels compete with what was tuned."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from iree_tuner.cli.kernel import report_contests, report_program, tell_use
from iree_tuner.cli.output import people
from iree_tuner.compiler.context import to_bytecode
from iree_tuner.kernels.bench import (
    DEFAULT,
    TUNED,
    InProgram,
    choices_of,
    compare_in_program,
    hold_contests,
    look_at,
)
from iree_tuner.kernels.registry import usual_kernels
from iree_tuner.kernels.save import save_kernel_spec
from iree_tuner.measure.program_run import ProgramRun
from iree_tuner.targets import Target
from iree_tuner.tuned import TuningResult
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.whole import with_spec


@dataclass(frozen=True)
class Competition:
    """What becomes of a tuned program when kernels compete.

    Attributes:
        given: the target before flags were chosen.
        spec: where the tuning spec is.
        output: where the kernels' spec is to be.
        variants: of each kernel on each problem.
        jobs: compile workers.
        as_json: whether rows are printed.
    """

    given: Target
    spec: Path
    output: Path
    variants: int
    jobs: int | None
    as_json: bool

    def hold(self, program: str, result: TuningResult, run: ProgramRun) -> InProgram | None:
        """Contests on every problem of the program, and the program with the winners; None without any.

        Raises:
            TunerError: what the compiler and the runtime say of the program, or the spec cannot be written.
        """
        wanted = [each for each in usual_kernels(self.given.backend) if not each.missing()]
        if not wanted:
            people.print(f"there is no kernel for {self.given} (iree-tuner kernel list)", style="yellow")
            return None
        tuned = {each.task.workload.key: each.entry.configuration for each in result.results if each.entry}
        with Lab(self.given, self.jobs) as lab, people.status("kernels") as status:
            lab.start()
            outlook = look_at(result.program, self.given, wanted, lab)
            contests = hold_contests(
                outlook, lab, tuned=tuned, most=self.variants, watch=lambda line: status.update(line)
            )
            report_contests(contests, outlook, self.as_json)
            choices = choices_of(contests)
            if not choices:
                people.print("no kernel is faster than what the compiler makes")
                return None
            status.update("the whole program with kernels")
            spec = with_spec(result.program, to_bytecode(result.spec))
            bases = {DEFAULT: (result.program, self.given), TUNED: (spec, result.target)}
            found = compare_in_program(bases, choices, outlook, lab, run)
            report_program(found, self.as_json)
            if found.best is not None and found.chosen:
                save_kernel_spec(found.chosen, outlook.target, lab.context, self.output)
                tell_use(program, self.output, self.given, self.spec if found.is_tuned else None)
        return found
