"""What a run can be asked for, declared once: keyword arguments in Python, flags of the command.

Each dataclass checks itself when it is made, whoever makes it. `keywords` gives a function its fields as
keyword arguments; the command line reads the same dataclass, its docstring and the `Parameter`s. Annotations
are not put off (`from __future__`): subclasses in other modules would look up these names in theirs.
"""

import inspect
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from textwrap import fill
from typing import Annotated, Concatenate, ParamSpec, TypeVar, get_type_hints

from cyclopts import Group, Parameter, Token
from docstring_parser import DocstringStyle, parse

from iree_tuner.errors import UsageError
from iree_tuner.execute.device_facts import usable_cores
from iree_tuner.program.source import ProgramSource
from iree_tuner.search.registry import DEFAULT, check_strategy, strategy_names
from iree_tuner.space.restriction import Restriction
from iree_tuner.targets import Target, target_for_devices
from iree_tuner.targets.registry import DEFAULT_DEVICE
from iree_tuner.tuning.compiler_flags import DEVICE, CompilerFlags
from iree_tuner.tuning.durations import parse_duration
from iree_tuner.tuning.effort import EffortName, effort_named

P = ParamSpec("P")
Options = TypeVar("Options")
R = TypeVar("R")

AMOUNT = Group("How much is tried", sort_key=3)
CANDIDATES = Group("What is tried", sort_key=4)
MEASURING = Group("How it is measured", sort_key=5)
DATABASE = Group("What is kept of it", sort_key=6)

_MOST_JOBS = 8  # a core: more only take memory
_BUDGET = "Time for all of it: 90s, 5m, 1h30m; spent where the program gains most by it."
_DB = (
    "Database that keeps every trial, by default iree_tuner/trials.db in the user's data folder; a run "
    "resumes where an earlier one under the same setting ended."
)
_STRATEGY = f"In what order candidates are tried: {', '.join(strategy_names())}."


def seconds(_: object, tokens: Sequence[Token]) -> float:
    """A flag's duration. Raises UsageError."""
    return parse_duration(tokens[0].value)


Duration = Annotated[float | None, Parameter(converter=seconds, n_tokens=1, metavar="TIME")]
"""Seconds; on the command line also with units."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DeviceOptions(CompilerFlags):
    """Where it runs.

    Attributes
    ----------
    device
        Device URI: local-task, local-sync, cuda://0, hip://0, vulkan://0. Several share the work: give it
        again.
    chip
        What to compile for, with options: host, znver4, host+data-tiling; a GPU's architecture;
        NAME:CHIP for another target than the device's own.
    jobs
        Compile workers; one a core by default.
    """

    device: Annotated[tuple[str, ...] | str, Parameter(negative="", group=DEVICE, metavar="URI...")] = (
        DEFAULT_DEVICE
    )
    chip: Annotated[str, Parameter(group=DEVICE)] = "host"
    jobs: Annotated[int | None, Parameter(group=DEVICE)] = None

    def __post_init__(self) -> None:
        """Raises UsageError for what makes no sense."""
        if not self.devices or len(set(self.devices)) < len(self.devices):
            raise UsageError("give each device once, and one at least")
        most = _MOST_JOBS * usable_cores()
        if self.jobs is not None and not 1 <= self.jobs <= most:
            raise UsageError(f"jobs must be from 1 to {most} on {usable_cores()} cores, and is {self.jobs}")

    @property
    def devices(self) -> tuple[str, ...]:
        """The URIs."""
        return (self.device,) if isinstance(self.device, str) else tuple(self.device)

    @property
    def targets(self) -> tuple[Target, tuple[str, ...]]:
        """The target of the first device, with the flags, and the others. Raises UsageError, TunerError."""
        target, others = target_for_devices(self.devices, self.chip)
        return self.on(target), others


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ClusterOptions(DeviceOptions):
    """Where it runs, which may be other machines.

    Attributes
    ----------
    scheduler
        Address of a dask scheduler, tcp://HOST:PORT: candidates are compiled and measured by its workers
        (`iree-tuner worker`), on all their devices with the URI. See docs/cluster.md.
    """

    scheduler: Annotated[str | None, Parameter(group=DEVICE, metavar="ADDRESS")] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DatabaseOptions:
    """What is kept of it.

    Attributes
    ----------
    db
        Database that keeps every trial, so that a run resumes where an earlier one under the same setting
        ended; None keeps nothing.
    fresh
        Try again what the database knows already.
    """

    db: Annotated[Path | str | None, Parameter(group=DATABASE, metavar="PATH", help=_DB)] = None
    fresh: Annotated[bool, Parameter(negative="", group=DATABASE)] = False


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TuningOptions(DatabaseOptions, ClusterOptions):
    """How a program is tuned.

    Attributes
    ----------
    effort
        How much is tried: smoke only sees that it works; full takes hours.
    budget_s
        Seconds for all of it; spent where the program gains most by them.
    candidates
        Configurations of a workload that are tried at most (and variants of a kernel); by default what effort
        and budget allow.
    in_model
        Candidates of a workload that are tried in the whole program: its best few, whether they win alone
        or not; what does not must win there.
    pipelines
        Search only spaces of this pipeline: TileAndFuse. May be given several times.
    knobs
        Search only these values of a knob: th_k=4, or wg_0=64,128. May be given several times; workloads
        without such a knob are left alone.
    strategy
        In what order candidates are tried, one of `search.registry.strategy_names()`.
    seed
        Of everything random.
    starters
        Specs whose configurations are tried first; may be given several times. Those that ship by default.
    try_flags
        Try compiler flags, too; by default in runs of a minute and more. None are tried where the chip has
        options.
    self_test
        Try nothing but the default itself, to see that the measurements call it a tie.
    warm
        Time with data in the caches; otherwise buffers are rotated through more memory than they hold.
    profile
        Look where the program's time goes, before and after; by default in runs of a minute and more.
    """

    effort: Annotated[EffortName, Parameter(group=AMOUNT)] = "default"
    budget_s: Annotated[Duration, Parameter(name="--budget", group=AMOUNT, help=_BUDGET)] = None
    candidates: Annotated[int | None, Parameter(group=AMOUNT)] = None
    in_model: Annotated[int, Parameter(group=AMOUNT)] = 1
    pipelines: Annotated[
        tuple[str, ...], Parameter(name="--pipeline", negative="", group=CANDIDATES, metavar="NAME")
    ] = ()
    knobs: Annotated[
        tuple[str, ...], Parameter(name="--knob", negative="", group=CANDIDATES, metavar="NAME=VALUES")
    ] = ()
    strategy: Annotated[str, Parameter(group=CANDIDATES, help=_STRATEGY)] = DEFAULT
    seed: Annotated[int, Parameter(group=CANDIDATES)] = 0
    starters: Annotated[
        tuple[Path | str, ...] | None,
        Parameter(name="--starter", negative="--no-starters", group=CANDIDATES, metavar="PATH..."),
    ] = None
    try_flags: Annotated[
        bool | None, Parameter(name="--try-flags", negative="--keep-flags", group=CANDIDATES)
    ] = None
    self_test: Annotated[bool, Parameter(negative="", group=CANDIDATES)] = False
    warm: Annotated[bool, Parameter(negative="", group=MEASURING)] = False
    profile: Annotated[bool | None, Parameter(group=MEASURING)] = None

    def __post_init__(self) -> None:
        """Raises UsageError for an unknown effort or strategy, and for numbers that make no sense."""
        super().__post_init__()
        effort_named(self.effort)
        check_strategy(self.strategy)
        at_least(1, candidates=self.candidates, in_model=self.in_model)
        at_least(0, seed=self.seed)
        check_budget(self.budget_s)
        Restriction.of(self.pipelines, self.knobs)

    @property
    def restriction(self) -> Restriction:
        """What of each space is searched."""
        return Restriction.of(self.pipelines, self.knobs)

    @property
    def told(self) -> dict[str, object]:
        """What the database keeps of a run's options."""
        return {
            "effort": self.effort, "strategy": self.strategy, "seed": self.seed, "device": self.devices[0],
            "chip": self.chip,
        }  # fmt: skip


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RecordingOptions(DatabaseOptions, ClusterOptions):
    """How samples of search spaces are measured.

    Attributes
    ----------
    count
        Members of each space; 0 is all of them.
    seed
        Of the sample.
    warm
        Time with data in the caches; otherwise buffers are rotated through more memory than they hold.
    """

    count: Annotated[int, Parameter(group=AMOUNT)] = 350
    seed: Annotated[int, Parameter(group=AMOUNT)] = 0
    warm: Annotated[bool, Parameter(negative="", group=MEASURING)] = False

    def __post_init__(self) -> None:
        """Raises UsageError for numbers that make no sense."""
        super().__post_init__()
        at_least(0, count=self.count, seed=self.seed)


def at_least(least: int, **numbers: int | None) -> None:
    """Raises UsageError for a number below that."""
    for name, value in numbers.items():
        if value is not None and (not _is_number(value) or value < least):
            raise UsageError(f"{name} must be at least {least}, and is {value!r}")


def check_budget(budget_s: float | None) -> None:
    """Raises UsageError for a budget that is none."""
    if budget_s is not None and (not _is_number(budget_s) or not 0.0 < budget_s < math.inf):
        raise UsageError(f"budget_s must be above 0 and finite, and is {budget_s!r}")


def _is_number(value: object) -> bool:
    """Python does not check types: a user may have written `"90s"`."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def keywords(
    options: Callable[P, Options],
) -> Callable[
    [Callable[[ProgramSource, Options], R]],
    Callable[Concatenate[ProgramSource, P], R],
]:
    """Have a function of a program and a dataclass take the dataclass' fields as keyword arguments.

    Its signature and its docstring say which there are.
    """

    def decorate(
        function: Callable[[ProgramSource, Options], R],
    ) -> Callable[Concatenate[ProgramSource, P], R]:
        @wraps(function)
        def called(module: ProgramSource, *args: P.args, **kwargs: P.kwargs) -> R:
            return function(module, options(*args, **kwargs))

        called.__signature__ = _signature(function, options)  # pyright: ignore[reportAttributeAccessIssue]
        called.__doc__ = f"{inspect.getdoc(function)}\n\nArgs:\n{_documented(options)}\n"
        return called

    return decorate


def _signature(function: object, options: object) -> inspect.Signature:
    """A function's program, and the fields without what is the command line's."""
    assert callable(function)
    assert isinstance(options, type)
    program, _ = inspect.signature(function).parameters.values()
    hints = get_type_hints(options)
    known = inspect.signature(options).parameters.values()
    return inspect.Signature([program, *(each.replace(annotation=hints[each.name]) for each in known)])


def _documented(options: object) -> str:
    """Lines on each field."""
    assert isinstance(options, type)
    told: dict[str, str] = {}
    for each in reversed(options.__mro__):
        parsed = parse(each.__doc__ or "", DocstringStyle.NUMPYDOC)
        told |= {one.arg_name: " ".join((one.description or "").split()) for one in parsed.params}
    return "\n".join(
        fill(f"{name}: {text}", 100, initial_indent="    ", subsequent_indent="        ")
        for name, text in told.items()
    )
