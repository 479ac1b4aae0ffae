"""The functions of a VM module that are run, and what they are called with."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import iree.runtime as rt

from iree_tuner.device.program_inputs import why_no_values
from iree_tuner.device.program_run import InputValue, ProgramRun
from iree_tuner.device.signature import Signature, signature_of
from iree_tuner.errors import TunerError
from iree_tuner.program.entries import ASYNC, FILLED, Taken, plain_name


@dataclass
class LoadedFunction:
    """An entry function and what it is called with.

    Its twin, if there is one, fills what it allocates (`program.fillings`); a function that only calls one
    with fences and waits, as torch's do, has them too. `memory` is for results and temporary values, if it
    takes that (`program.provided_memory`).
    """

    name: str
    signature: Signature
    taken: tuple[Taken, ...]
    given: tuple[InputValue, ...]
    filled: rt.VmFunction | None = None
    filled_fenced: bool = False
    arguments: Any = None
    values: Sequence[object] = ()
    memory: Sequence[rt.HalBuffer] = ()


def functions_of(
    module: rt.VmModule, run: ProgramRun, like: Sequence[LoadedFunction] = ()
) -> list[LoadedFunction]:
    """The functions that are to be run, each with its signature. Raises TunerError where there are none.

    Args:
        module: of the runtime.
        run: the functions and their inputs.
        like: the functions of another compilation, whose inputs these take.
    """
    entries = {entry.name: entry for entry in run.entries}
    names = dict.fromkeys(map(plain_name, module.function_names))
    signatures = {name: signature_of(module, name, entries.get(name)) for name in names}
    every = {name: found for name, found in signatures.items() if found is not None}
    if not every:
        raise TunerError("the program has no entry function with a known signature")
    for name in run.functions:
        if name not in every:
            raise unknown_function(name, list(every))
    if like:
        pairs = [(each, every[each.name]) for each in like if each.name in every]
        return [LoadedFunction(each.name, found, each.taken, each.given) for each, found in pairs]
    chosen: list[LoadedFunction] = []
    refused: list[str] = []
    for name in run.functions or every:
        found = every[name]
        given = () if chosen else run.inputs
        told = entries.get(name)
        reason = (told.not_callable or told.refusal) if told is not None else ""
        written = told.inputs if told is not None else ()
        reason = reason or why_no_values(found.taken, given, run.sizes, written, run.missing)
        if not reason:
            own = module.lookup_function(name + FILLED)
            inner = module.lookup_function(name + ASYNC + FILLED)
            fenced = found.fenced if own else bool(inner)
            chosen.append(LoadedFunction(name, found, found.taken, given, own or inner, fenced))
            continue
        refused.append(f"@{name} cannot be called: {reason}")
        if run.functions:
            break
    if refused and (run.functions or not chosen):
        raise TunerError("; ".join(refused))
    return chosen


def unknown_function(name: str, known: Sequence[str]) -> TunerError:
    """The message about a function that a program does not have."""
    close = difflib.get_close_matches(name, known, 3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"one of: {', '.join(known)}"
    return TunerError(f"the program has no entry function '{name}'", hint=hint)
