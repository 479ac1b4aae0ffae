"""Messages about the dispatches that a spec's matchers hit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from iree.compiler import ir

from iree_tuner.cli.output import people
from iree_tuner.errors import TunerError
from iree_tuner.kernels.layers import KernelUse
from iree_tuner.program.source import Program
from iree_tuner.spec.check import MatcherHits, check_against_program
from iree_tuner.spec.entry import read_flags
from iree_tuner.targets import Target


def hits_in(spec: ir.Module, program: Program, target: Target) -> tuple[MatcherHits, ...]:
    """Find what a spec's matchers hit in a program compiled with the flags that the spec records.

    Raises what `check_against_program` raises.
    """
    target = with_own_flags(target, spec)
    return check_against_program(spec, program.data, target, name=program.name).matchers


def tell_hits(name: str | Path, matchers: Sequence[MatcherHits], *, strict: bool) -> dict[str, object]:
    """Print how many of a spec's matchers hit. Raises TunerError if none does and `strict` is set."""
    hit = sum(each.hits != () for each in matchers)  # where it cannot be seen, it may
    said = f"{hit} of {len(matchers)} matchers hit"
    if matchers and not hit:
        why = (
            "the spec has no effect here, as it is for other dispatches or another target "
            "(iree-tuner spec explain shows them)"
        )
        if strict:
            raise TunerError(f"{said}: {why}", location=str(name))
        people.print(f"warning: {name}: {said}: {why}", style="yellow", soft_wrap=True, markup=False)
    else:
        people.print(f"{name}: {said}", soft_wrap=True, markup=False)
    return {"matchers": len(matchers), "hits": hit}


def tell_calls(name: str | Path, use: KernelUse, *, strict: bool) -> dict[str, object]:
    """Print how a program uses a spec's kernels. Raises TunerError if it does not and `strict` is set."""
    calls, ops = use.dispatches, use.ops
    said = f"{calls} dispatch{'es' * (calls != 1)} of the program run{'s' * (calls == 1)} its kernels"
    replaced = f"{ops} of its kernels replace{'s' * (ops == 1)} ops of the program"
    if calls or ops:
        told = " and ".join([*([said] if calls else []), *([replaced] if ops else [])])
        people.print(f"{name}: {told}", soft_wrap=True, markup=False)
    else:
        why = "the kernels have no effect here, as they are for other problems or another target"
        if strict:
            raise TunerError(f"{said}: {why}", location=str(name))
        people.print(f"warning: {name}: {said}: {why}", style="yellow", soft_wrap=True, markup=False)
    return {"kernel_calls": calls, "kernel_ops": ops}


def with_own_flags(target: Target, spec: ir.Module) -> Target:
    """Add the flags that a spec records to a target."""
    flags = tuple(flag for flag in read_flags(spec) if flag not in target.flags)
    return replace(target, flags=(*target.flags, *flags))
