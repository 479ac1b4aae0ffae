"""The options of a run, declared once, for Python (keyword arguments) and for the command line (flags).

Each dataclass validates itself when it is created. `keywords` gives a function the fields as keyword
arguments. The command line reads the same dataclass, its docstring and its `Parameter`s. This module does not
import `annotations` from `__future__`: subclasses in other modules would look the names up in their own
module. The levels of effort are one table, `EFFORTS`.
"""

import inspect
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from textwrap import fill
from typing import Annotated, Concatenate, Literal, ParamSpec, TypeVar, get_type_hints

from cyclopts import Group, Parameter, Token
from docstring_parser import DocstringStyle, parse

from iree_tuner.device.device_facts import usable_cores
from iree_tuner.errors import UsageError
from iree_tuner.program.source import ProgramSource
from iree_tuner.search.strategy import DEFAULT, check_strategy, strategy_names
from iree_tuner.space.build import Restriction
from iree_tuner.targets import Target, target_for_devices
from iree_tuner.targets.find import flags_given, with_user_flags
from iree_tuner.targets.registry import DEFAULT_DEVICE


@dataclass(frozen=True)
class Effort:
    """The limits of one level of effort."""

    name: str  # the level's name
    # number of candidates for a workload with a quarter of the program's time or more; 0 for no search
    trials: int
    batch: int  # number of candidates to compile together, and then to measure together
    finalists: int  # number of candidates in the final comparison with the default
    rounds: int  # maximum number of interleaved pairs per comparison. Most are decided after a few
    least_share: float  # workloads with a smaller share of the program's time are skipped
    program_rounds: int  # number of interleaved pairs in a comparison of the whole program
    # how long a candidate may compile, as a multiple of the default's time. Code that takes much longer is
    # unrolled without measure, and slow (docs/measuring.md has the figures)
    patience: float
    program_batch_s: float = 0.05  # minimum duration of one of its samples, in seconds
    most_places: int = 4  # maximum number of code addresses at which to compare. The target requests a number
    options: int = 16  # maximum number of compilations with other compiler flags
    # maximum number of comparisons of the whole program to find winners that slow it down
    model_steps: int = 8
    final_s: float = 240.0  # time limit for the final comparison of a workload, in seconds

    def places(self, target: Target) -> int:
        """Addresses of the code at which a verdict is taken."""
        return min(self.most_places, target.placements)

    def trials_for(self, share: float) -> int:
        """Candidates for a workload with that share of the time: in proportion, but a third at least."""
        return round(self.trials * min(1.0, max(1 / 3, share / _FULL_SHARE)))

    def compile_limit_s(self, default_s: float, *, waited_for: bool) -> float:
        """Seconds that a candidate may compile, where the default takes `default_s`.

        `waited_for`: nothing is measured during it; else more patience costs little.
        """
        least = _LEAST_PATIENCE_S if waited_for else _LEAST_PATIENCE_BESIDE_S
        return max(least, self.patience * default_s)

    def most_ops(self, default_ops: int) -> int:
        """Operations that a candidate may have before code generation: LLVM's time grows faster."""
        return max(_LEAST_OPS, round(_OPS_A_TIME * self.patience * default_ops))


INSTANT = "instant"
EffortName = Literal["instant", "smoke", "quick", "default", "full"]
"""All levels."""

_FULL_SHARE = 0.25
_LEAST_PATIENCE_S = 1.0
_LEAST_PATIENCE_BESIDE_S = 5.0
_LEAST_OPS = 8000
_OPS_A_TIME = 2.0  # times as many operations as patience has times as many seconds

EFFORTS: dict[str, Effort] = {
    # No search: what specs, the database and kernels' cost models would choose, compared once.
    INSTANT: Effort(
        INSTANT, trials=0, batch=16, finalists=1, rounds=64, least_share=0.03, program_rounds=40,
        patience=4.0, program_batch_s=0.01, most_places=1, final_s=4.0, options=0, model_steps=0,
    ),
    # To see that all of it works on a program and a device, in seconds: it decides little.
    "smoke": Effort(
        "smoke", trials=4, batch=4, finalists=1, rounds=16, least_share=0.05, program_rounds=8,
        patience=4.0, program_batch_s=0.001, most_places=1, final_s=8.0, options=3, model_steps=1,
    ),
    "quick": Effort(
        "quick", trials=24, batch=8, finalists=2, rounds=320, least_share=0.05, program_rounds=80,
        patience=4.0, program_batch_s=0.01, most_places=2, final_s=8.0, options=8, model_steps=4,
    ),
    "default": Effort(
        "default", trials=160, batch=16, finalists=6, rounds=1280, least_share=0.01, program_rounds=160,
        patience=4.0,
    ),
    "full": Effort(
        "full", trials=800, batch=16, finalists=8, rounds=2560, least_share=0.0, program_rounds=320,
        patience=20.0,
    ),
}  # fmt: skip


def effort_named(name: str) -> Effort:
    """Raises UsageError for an unknown name."""
    if name not in EFFORTS:
        raise UsageError(f"unknown effort '{name}'", hint=f"one of: {', '.join(EFFORTS)}")
    return EFFORTS[name]


DEVICE = Group("Device and target", sort_key=2)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class CompilerFlags:
    """Compiler flags that the user passes.

    Attributes
    ----------
    compiler_flags
        Pass this flag to the compiler: --compiler-flag=--iree-opt-level=O3. Repeatable. Trials and specs
        record the flags: `tune` reuses only trials with the same flags.
    flags_file
        Read compiler flags from this file, one per line.
    """

    compiler_flags: Annotated[
        tuple[str, ...],
        Parameter(
            name="--compiler-flag", negative="", group=DEVICE, metavar="FLAG", allow_leading_hyphen=True
        ),
    ] = ()
    flags_file: Annotated[Path | str | None, Parameter(group=DEVICE, metavar="PATH")] = None

    @property
    def flags(self) -> tuple[str, ...]:
        """All flags, from both sources. Raises TunerError if the file cannot be read."""
        return flags_given(self.compiler_flags, self.flags_file)

    def on(self, target: Target) -> Target:
        """Add the flags to a target. Raises UsageError for text that is not a flag."""
        return with_user_flags(target, self.flags)


_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0}
_PARTS = re.compile(r"(\d+(?:\.\d+)?)([hms]?)")


def parse_duration(text: str) -> float:
    """Seconds. Raises UsageError for anything else than numbers with h, m, s or nothing."""
    parts = _PARTS.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise UsageError(f"'{text}' is not a duration", hint="write 90s, 5m or 1h30m")
    seconds = sum(float(number) * _SECONDS[unit or "s"] for number, unit in parts)
    if seconds <= 0:
        raise UsageError("a budget must be positive")
    return seconds


_LONG_S = 60.0

P = ParamSpec("P")
Options = TypeVar("Options")
R = TypeVar("R")

AMOUNT = Group("Search effort", sort_key=3)
CANDIDATES = Group("Search", sort_key=4)
MEASURING = Group("Measurement", sort_key=5)
DATABASE = Group("Database", sort_key=6)

_MOST_JOBS = 8  # a core: more only take memory
_BUDGET = (
    "Time limit for the whole run: 90s, 5m, 1h30m. The search spends it on the workloads that promise the "
    "largest gain for the program. Default: no limit."
)
_DB = (
    "Store every trial in this database, and resume from the trials that it has for the same compiler, "
    "target and flags. Default: iree_tuner/trials.db in the user's data folder."
)
_STRATEGY = f"Search strategy: {', '.join(strategy_names())}."


def seconds(_: object, tokens: Sequence[Token]) -> float:
    """A flag's duration. Raises UsageError."""
    return parse_duration(tokens[0].value)


Duration = Annotated[float | None, Parameter(converter=seconds, n_tokens=1, metavar="TIME")]
"""Seconds; on the command line also with units."""


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DeviceOptions(CompilerFlags):
    """The device to run on and the chip to compile for.

    Attributes
    ----------
    device
        Run on this device: local-task, local-sync, cuda://0, hip://0, vulkan://0. Repeat it to share the work
        between several devices.
    chip
        Compile for this chip: host, znver4, or a GPU's architecture. Options follow a +: host+data-tiling.
        NAME:CHIP selects another target than the device's own.
    jobs
        Number of compile workers. Default: one per core.
    """

    device: Annotated[tuple[str, ...] | str, Parameter(negative="", group=DEVICE, metavar="URI...")] = (
        DEFAULT_DEVICE
    )
    chip: Annotated[str, Parameter(group=DEVICE)] = "host"
    jobs: Annotated[int | None, Parameter(group=DEVICE)] = None

    def __post_init__(self) -> None:
        """Raises UsageError for values out of range."""
        if not self.devices or len(set(self.devices)) < len(self.devices):
            raise UsageError("give at least one device, and each device once")
        most = _MOST_JOBS * usable_cores()
        if self.jobs is not None and not 1 <= self.jobs <= most:
            raise UsageError(f"jobs must be from 1 to {most} on {usable_cores()} cores, but is {self.jobs}")

    @property
    def devices(self) -> tuple[str, ...]:
        return (self.device,) if isinstance(self.device, str) else tuple(self.device)

    @property
    def targets(self) -> tuple[Target, tuple[str, ...]]:
        """The target of the first device, with the flags, and the others. Raises UsageError, TunerError."""
        target, others = target_for_devices(self.devices, self.chip)
        return self.on(target), others


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ClusterOptions(DeviceOptions):
    """The devices to run on, on this machine or on the workers of a cluster.

    Attributes
    ----------
    scheduler
        Compile and measure on the workers of this dask scheduler: tcp://HOST:PORT. Start the workers with
        `iree-tuner worker`. All their devices with the given URI take part. See docs/cluster.md.
    """

    scheduler: Annotated[str | None, Parameter(group=DEVICE, metavar="ADDRESS")] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DatabaseOptions:
    """The database that stores a run's trials.

    Attributes
    ----------
    db
        Store every trial in this database, and resume from the trials that it has for the same compiler,
        target and flags. None stores nothing.
    fresh
        Measure candidates again even if the database has results for them.
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
        Amount of search: smoke tries a few candidates to check the installation, full takes hours.
    budget_s
        Time limit for the whole run in seconds. The search spends it on the workloads that promise the
        largest gain for the program. Default: no limit.
    candidates
        Maximum number of candidates per workload (and of variants per kernel). Default: as many as effort and
        budget allow.
    in_model
        Number of candidates per workload to compare in the whole program: the best ones, even if they do not
        win alone. A candidate that does not win alone must win there.
    pipelines
        Search only this pipeline's spaces: TileAndFuse. Repeatable.
    knobs
        Search only these values of a knob: th_k=4, or wg_0=64,128. Repeatable. Workloads without the knob are
        skipped.
    strategy
        Search strategy, one of `search.strategy.strategy_names()`.
    seed
        Seed of all random choices.
    starters
        Try the configurations of this spec first. Repeatable. Default: the specs that ship. If the output
        is a spec already, its configurations are tried before these.
    try_flags
        Also try compiler flags, and runtime flags for the result. Default: on in runs of a minute or more. No
        compiler flags are tried if the chip has options.
    self_test
        Compare the baseline with itself, to check that the measurements report a tie.
    warm
        Measure with warm caches. Default: cold caches, by rotating buffers through more memory than the
        caches hold.
    profile
        Profile the program before and after tuning. Default: on in runs of a minute or more,
        if it takes a small part of the time.
    compiled
        Keep time of the budget to compile the result, for callers of `TuningResult.vmfb`.
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
    compiled: Annotated[bool, Parameter(parse=False)] = False

    def __post_init__(self) -> None:
        """Raises UsageError for an unknown effort or strategy, and for numbers out of range."""
        super().__post_init__()
        effort_named(self.effort)
        check_strategy(self.strategy)
        at_least(1, candidates=self.candidates, in_model=self.in_model)
        at_least(0, seed=self.seed)
        check_budget(self.budget_s)
        Restriction.of(self.pipelines, self.knobs)

    @property
    def restriction(self) -> Restriction:
        """The part of each space to search."""
        return Restriction.of(self.pipelines, self.knobs)

    @property
    def is_long(self) -> bool:
        """Whether the run takes a minute or more."""
        if self.effort == INSTANT:
            return False
        return self.effort not in ("smoke", "quick") if self.budget_s is None else self.budget_s >= _LONG_S

    @property
    def recorded(self) -> dict[str, object]:
        """The options that the database stores with a run."""
        limit = {} if self.budget_s is None else {"budget": f"{math.ceil(self.budget_s)}s"}
        return {
            "effort": self.effort, "strategy": self.strategy, "seed": self.seed, "device": self.devices[0],
            "chip": self.chip, **limit,
        }  # fmt: skip


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class RecordingOptions(DatabaseOptions, ClusterOptions):
    """How samples of search spaces are measured.

    Attributes
    ----------
    count
        Number of assignments to measure in each space. 0 measures all of them.
    seed
        Seed of the sample.
    warm
        Measure with warm caches. Default: cold caches, by rotating buffers through more memory than the
        caches hold.
    """

    count: Annotated[int, Parameter(group=AMOUNT)] = 350
    seed: Annotated[int, Parameter(group=AMOUNT)] = 0
    warm: Annotated[bool, Parameter(negative="", group=MEASURING)] = False

    def __post_init__(self) -> None:
        """Raises UsageError for numbers out of range."""
        super().__post_init__()
        at_least(0, count=self.count, seed=self.seed)


def at_least(least: int, **numbers: int | None) -> None:
    """Raises UsageError for a number below `least`."""
    for name, value in numbers.items():
        if value is not None and (not _is_number(value) or value < least):
            raise UsageError(f"{name} must be at least {least}, but is {value!r}")


def check_budget(budget_s: float | None) -> None:
    """Raises UsageError for a budget that is not a positive, finite number."""
    if budget_s is not None and (not _is_number(budget_s) or not 0.0 < budget_s < math.inf):
        raise UsageError(f"budget_s must be positive and finite, but is {budget_s!r}")


def _is_number(value: object) -> bool:
    """Python does not check types: a user may have written `"90s"`."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def keywords(
    options: Callable[P, Options],
) -> Callable[
    [Callable[[ProgramSource, Options], R]],
    Callable[Concatenate[ProgramSource, P], R],
]:
    """Make a function of a program and a dataclass take the dataclass' fields as keyword arguments.

    The function's signature and docstring list the fields.
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
    """The program parameter, and the fields without their command-line annotations."""
    assert callable(function)
    assert isinstance(options, type)
    program, _ = inspect.signature(function).parameters.values()
    hints = get_type_hints(options)
    known = inspect.signature(options).parameters.values()
    return inspect.Signature([program, *(each.replace(annotation=hints[each.name]) for each in known)])


def _documented(options: object) -> str:
    assert isinstance(options, type)
    told: dict[str, str] = {}
    for each in reversed(options.__mro__):
        parsed = parse(each.__doc__ or "", DocstringStyle.NUMPYDOC)
        told |= {one.arg_name: " ".join((one.description or "").split()) for one in parsed.params}
    return "\n".join(
        fill(f"{name}: {text}", 100, initial_indent="    ", subsequent_indent="        ")
        for name, text in told.items()
    )
