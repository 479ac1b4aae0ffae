"""`iree-tuner verify` with `--fuzz`: test the compiler on random operations and legal configurations."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli import verify as core
from iree_tuner.cli.inputs import NO_FLAGS
from iree_tuner.cli.output import OUTPUT, answers_to, counted, people, print_json
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.files import planned_folder
from iree_tuner.program.source import read_program
from iree_tuner.report.progress import tell_stopping
from iree_tuner.suite.drawn import drawn
from iree_tuner.suite.fuzz import Defect, Fuzzer, command, reduced, written
from iree_tuner.suite.programs import module_of
from iree_tuner.targets import parse_target, target_for_device
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.options import CompilerFlags, Duration, at_least, check_budget
from iree_tuner.tuning.stop import StopRequest

_TOLD = 10
"""How often progress is printed where it cannot be shown."""


@Parameter(name="*", group="Fuzzing")
@dataclass(frozen=True, kw_only=True)
class FuzzFlags:
    """Testing the compiler.

    Attributes
    ----------
    fuzz
        Compile and run random operations with the compiler's choice and with legal configurations, and
        compare the results with a reference. With a program: its dispatches instead.
    ops
        Number of operations.
    samples
        Number of legal configurations for each dispatch.
    seed
        Seed of all random choices.
    budget
        Time limit for testing: 90s, 5m. Reducing what was found comes after it.
    timeout
        Time limit for one compilation in seconds.
    output
        Write a program for each kind of defect to this folder, and a smaller one. Default: do not write.
    jobs
        Number of concurrent compilations.
    """

    fuzz: Annotated[bool, Parameter(negative="")] = False
    ops: int = 100
    samples: int = 3
    seed: int = 0
    budget: Duration = None
    timeout: float = 60.0
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], group=OUTPUT)] = None
    jobs: int | None = None

    def __post_init__(self) -> None:
        """Raises UsageError for values out of range."""
        at_least(0, samples=self.samples, seed=self.seed)
        at_least(1, ops=self.ops, jobs=self.jobs or 1)
        check_budget(self.budget)
        if self.timeout <= 0:
            raise UsageError(f"--timeout must be above 0, but is {self.timeout:g}")


_CHECKED = FuzzFlags()


def verify(
    source: Annotated[str | None, Parameter(allow_leading_hyphen=True, validator=core.no_option)] = None,
    /,
    *,
    checks: core.VerifyFlags = core.CHECKS,
    fuzzing: FuzzFlags = _CHECKED,
    compiling: CompilerFlags = NO_FLAGS,
    as_json: Annotated[bool, Parameter(name="--json", negative="", group=OUTPUT)] = False,
) -> int:
    """Check lowering configs against constraints, without compiling; or test the compiler on random ops.

    An error means that the compiler rejects the configuration or generates wrong code. A warning means that
    the configuration violates a constraint that the compiler does not check. Exit status 1 if there is an
    error. With --fuzz, exit status 1 if a defect is found. Ctrl-C keeps what was found.

    Example: `iree-tuner verify model.mlir --target hip:gfx942`

    Example: `iree-tuner verify --fuzz --ops 1000 --budget 1h -o defects`

    Parameters
    ----------
    source
        A tuning spec, or a program whose ops have compilation_info, or a program compiled to
        executable-configurations. `-` reads standard input.
    as_json
        Print JSON, one object per finding.
    """
    if not fuzzing.fuzz:
        if fuzzing != _CHECKED:
            raise UsageError("--ops, --samples, --seed, --budget, --timeout, --jobs and -o require --fuzz")
        if source is None:
            raise UsageError("give a program or a spec, or --fuzz")
        return core.verify(source, checks=checks, compiling=compiling, as_json=as_json)
    if checks != core.VerifyFlags(device=checks.device, target=checks.target):
        raise UsageError("--fuzz excludes --program, --dim, --strict and --diagnostics")
    if fuzzing.output is not None:
        planned_folder(fuzzing.output)
    target = compiling.on(parse_target(checks.target) if checks.target else target_for_device(checks.device))
    runs, asked = target.device is not None, command(checks.target, checks.device)
    target = replace(target, device=target.device or core.DEFAULT_DEVICE)  # which is then not used
    with Lab(target, fuzzing.jobs) as lab, StopRequest(tell_stopping) as stop:
        lab.builder.timeout_s = fuzzing.timeout
        fuzzer = Fuzzer(lab, stop, fuzzing.samples, fuzzing.seed, runs=runs)
        found = _Found(fuzzer, fuzzing, asked, as_json=as_json)
        try:
            with stop.cancelling(lab.compilers, lab.measurer.workers):
                found.test(source)
        finally:
            found.summarize()
        if not stop.requested:
            found.reduce()
    if stop.requested:
        raise KeyboardInterrupt
    return 1 if found.defects else 0


class _Found:
    """The defects so far, each printed and written when it is found."""

    def __init__(self, fuzzer: Fuzzer, flags: FuzzFlags, asked: str, *, as_json: bool) -> None:
        self.defects: dict[tuple[str, str], Defect] = {}
        self._fuzzer = fuzzer
        self._tested = self._seen = 0
        self._flags = flags
        self._asked = asked
        self._as_json = as_json

    def test(self, source: str | None) -> None:
        end = time.monotonic() + (self._flags.budget or float("inf"))
        count = self._flags.ops if source is None else 1
        with people.status("testing") as status:
            for name, text in _programs(source, self._flags):
                if self._fuzzer.stop.requested or time.monotonic() > end:
                    break
                done = f"{self._tested} of {counted(count, 'program')}, {len(self.defects)} kinds of defects"
                status.update(f"{done}: {name}")
                if not people.is_terminal and self._tested and self._tested % -(-count // _TOLD) == 0:
                    people.print(done)
                for defect in self._fuzzer.defects(name, text):
                    self._seen += 1
                    if defect.key not in self.defects:
                        self._add(defect)
                self._tested += 1

    def summarize(self) -> None:
        kinds = f"{counted(self._seen, 'defect')} of {counted(len(self.defects), 'kind')}"
        people.print(f"{counted(self._tested, 'program')} tested: {kinds}")

    def _add(self, defect: Defect) -> None:
        self.defects[defect.key] = defect
        path = None
        if self._flags.output is not None:
            path = written(self._flags.output, defect, self._fuzzer.lab.target, self._asked)
        self._tell(defect, path)

    def _tell(self, defect: Defect, path: Path | None, note: str = "") -> None:
        if self._as_json:
            print_json({
                "operation": defect.operation, "own_choice": defect.own, "outcome": defect.outcome,
                "kind": defect.kind, "message": defect.message, "file": path and str(path), "note": note,
            })  # fmt: skip
        console = answers_to(as_json=self._as_json)
        said = note or " ".join(defect.message.split())[:300]
        console.print(f"{defect.operation}: {defect.kind}", soft_wrap=True)
        console.print(f"  {said}{f' ({path})' if path else ''}", soft_wrap=True)

    def reduce(self) -> None:
        if self._flags.output is None:
            return
        for defect in self.defects.values():
            with people.status(f"reducing {defect.operation}"):
                try:
                    smaller = reduced(defect, self._fuzzer)
                except TunerError as error:
                    self._tell(defect, None, f"not reduced: {error}")
                    continue
            path = written(self._flags.output, smaller, self._fuzzer.lab.target, self._asked, ".reduced.mlir")
            self._tell(
                smaller, path, f"reduced to {counted(smaller.program.strip().count(chr(10)) + 1, 'line')}"
            )
            if self._fuzzer.stop.requested:
                return


def _programs(source: str | None, flags: FuzzFlags) -> Iterator[tuple[str, str]]:
    if source is not None:
        program = read_program(source)
        yield program.name, program.data.decode()
        return
    for operation in islice(drawn(flags.seed), flags.ops):
        yield operation.name, str(module_of(operation))
