"""Options that select operations: suites, sweeps over a kind's fields, and regular expressions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from iree_tuner.cli.output import Json, answers_to, people, print_json
from iree_tuner.cli.table import print_table, table
from iree_tuner.errors import UsageError, did_you_mean
from iree_tuner.suite import operation, programs, suite_file
from iree_tuner.suite.kinds.registry import KINDS, fields_of, kind_named
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.plan import items_from
from iree_tuner.suite.suite_file import DEFAULT_F8, TYPES, distinct, is_found, patterns_of, sweep
from iree_tuner.suite.tensors import NARROW, check_type

DEFAULT_SUITE = "profiler"
_DEFAULT_TYPES = "f16,f32"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class OperationFlags:
    """Options that select operations.

    Attributes
    ----------
    operation
        Kinds of operations: matmul,batch_matmul. All combinations of the values below are generated.
    m
        Sizes: 768, or 64,128, or 64:1024:128 for 64 to 1024 in steps of 128.
    n
        Sizes, as for --m.
    k
        Sizes, as for --m.
    batch
        Sizes, as for --m.
    types
        Element types: f16,bf16. f8 stands for the target's own type.
    layout
        Layouts. Products: tt,tn (t is row-major, n is column-major). Convolutions: nhwc,nchw.
    epilogue
        Operations on the sums: bias+relu,residual.
    set
        Values of another field: c=64,128. Repeatable.
    only
        Keep only operations whose names match one of these regular expressions: f16t,splitk.
    f8
        The type that f8 stands for.
    """

    operation: str | None = None
    m: str | None = None
    n: str | None = None
    k: str | None = None
    batch: str | None = None
    types: str | None = None
    layout: str | None = None
    epilogue: str | None = None
    set: Annotated[tuple[str, ...], Parameter(negative="")] = ()
    only: str | None = None
    f8: str = DEFAULT_F8


def chosen_operations(suites: Sequence[str], flags: OperationFlags) -> list[Operation]:
    """The operations of suites and of a sweep. Without both, those of the default suite.

    Raises TunerError if a suite is missing or wrong, or no operation is left.
    """
    check_type("--f8", flags.f8, NARROW)
    given = _values(flags)
    wanted = list(suites)
    if not wanted and flags.operation is None and not given:
        wanted = [DEFAULT_SUITE]
    found = [each.operation for each in items_from(wanted, flags.f8)]
    if flags.operation is not None or not wanted:
        found += _swept(flags, given)
    elif given:
        raise UsageError(f"--{next(iter(given))} requires --operation and does not apply to suites")
    patterns = patterns_of(flags.only or "")
    kept = [each for each in distinct(found) if is_found(patterns, each.name)]
    if not kept:
        raise UsageError(f"--only: no operation's name matches '{flags.only}'")
    return kept


def _values(flags: OperationFlags) -> dict[str, str]:
    names = ("m", "n", "k", "batch", TYPES, "layout", "epilogue")
    given = {name: value for name in names if (value := getattr(flags, name)) is not None}
    for each in flags.set:
        name, equals, value = each.partition("=")
        if not equals:
            raise UsageError(f"--set: '{each}' is not FIELD=VALUES")
        given[name.strip()] = value
    return given


def _swept(flags: OperationFlags, given: dict[str, str]) -> list[Operation]:
    """All combinations of the values, for each kind and the fields that it has."""
    usual = "batch_matmul" if "batch" in given else "matmul"
    kinds = [kind_named(name.strip()) for name in (flags.operation or usual).split(",")]
    known = [TYPES, *dict.fromkeys(name for kind in kinds for name in fields_of(kind))]
    for name in given:
        if name not in known:
            told = " or ".join(kind.kind for kind in kinds)
            raise UsageError(f"{told} has no field '{name}'", hint=did_you_mean(name, known))
    found: list[Operation] = []
    for kind in kinds:
        own = {name: told for name, told in given.items() if name in (TYPES, *fields_of(kind))}
        found += sweep(kind, {TYPES: _DEFAULT_TYPES, **own}, flags.f8)
    return found


# `iree-tuner suite list` and `iree-tuner suite generate`.


_DEFAULTS = OperationFlags()


def list_(
    *suites: str,
    flags: OperationFlags = _DEFAULTS,
    as_json: Json = False,
) -> int:
    """List the kinds of operations with their fields and defaults, and the suites with their sizes.

    With names of suites, list the names of their operations.

    Example: `iree-tuner suite list cpu --only ^softmax`

    Parameters
    ----------
    suites
        List the operations of these: names of suites, suite files (.toml), quoted commands of
        MIOpenDriver, BOO or Fusilli, or .txt files of such commands.
    as_json
        Print JSON, one object per kind and per suite, or per operation.
    """
    if suites or flags != _DEFAULTS:
        console = answers_to(as_json=as_json)
        for each in chosen_operations(suites, flags):
            console.print(each.name, soft_wrap=True, highlight=False)
            if as_json:
                print_json({"operation": each.name, **operation.to_json(each)})
        return 0
    _list_all(as_json=as_json)
    return 0


def _list_all(*, as_json: bool) -> None:
    kinds = table("operation", "fields and their defaults", words=("operation", "fields and their defaults"))
    for name, kind in KINDS.items():
        fields = fields_of(kind)
        told = {
            field: str(value).lower() if isinstance(value, bool) else value for field, value in fields.items()
        }
        kinds.add_row(name, " ".join(f"{field}={value}" for field, value in told.items()))
        if as_json:
            print_json({"operation": name, "fields": fields})
    known = table("suite", "operations", "what", words=("suite", "what"))
    for each in suite_file.suites():
        counts = Counter(one.kind for one in each.operations)
        known.add_row(each.name, str(len(each.operations)), each.summary)
        if as_json:
            print_json({"suite": each.name, "summary": each.summary, "operations": dict(counts)})
    console = answers_to(as_json=as_json)
    print_table(console, kinds)
    console.print()
    print_table(console, known)


def generate(
    *suites: str,
    flags: OperationFlags = _DEFAULTS,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("generated"),
    as_json: Json = False,
) -> int:
    """Write operations as MLIR programs, together with their arguments, to a folder.

    Example: `iree-tuner suite generate --m 64:1024:128 --n 64:1024:128 --k 4096 -o generated`

    Parameters
    ----------
    suites
        Operations: names of suites (`iree-tuner suite list`), suite files (.toml), quoted commands of
        MIOpenDriver, BOO or Fusilli, or .txt files of such commands. Default: the suite profiler.
    output
        Write to this folder. Existing files of the same operations are overwritten.
    as_json
        Print JSON, one object per operation.
    """
    for each in chosen_operations(suites, flags):
        path = programs.write_operation(output, each)
        people.print(f"[Generating]: {path}", soft_wrap=True)
        if as_json:
            print_json({"operation": each.name, **operation.to_json(each), "path": str(path)})
    return 0
