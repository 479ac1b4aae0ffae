"""Whether a spec is well-formed, consistent, and has the effect on a program that it states."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iree.compiler import ir
from iree.compiler.dialects import iree_codegen

from iree_tuner.compiler.context import symbol_of, to_bytecode, walk
from iree_tuner.compiler.worker import Calls, WorkerError, Workers
from iree_tuner.errors import TunerError
from iree_tuner.spec.grammar import (
    COMPILATION_INFO,
    ENTRYPOINT,
    ENTRYPOINT_NAME,
    LOWERING_CONFIG,
    TRANSLATION_INFO,
    WITH_NAMED_SEQUENCE,
    Pair,
    SpecProblem,
    entry_sequence,
    is_sequence,
    leaf,
    linking_problems,
    meaning,
    pairs,
    yielded_constants,
)
from iree_tuner.spec.probe import Hit, Unmarked, instrument, probe_program
from iree_tuner.targets import Target

if TYPE_CHECKING:
    from iree_tuner.spec.near.miss import NearMiss

_REFERENCES = (ir.SymbolRefAttr, ir.FlatSymbolRefAttr)
_KNOWN = {COMPILATION_INFO, LOWERING_CONFIG, TRANSLATION_INFO, "decomposition_config", "root_op"}


@dataclass(frozen=True)
class MatcherHits:
    """The hits of one matcher, one a dispatch; None if they cannot be seen, because it passes no op on."""

    matcher: str
    hits: tuple[Hit, ...] | None

    @property
    def count(self) -> str:
        """`none`, `one`, `several` or `unknown`."""
        if self.hits is None:
            return "unknown"
        return ("none", "one")[len(self.hits)] if len(self.hits) < 2 else "several"


@dataclass(frozen=True)
class ProgramCheck:
    """The effect of a spec on a program; `problems` are those that need a program to be found.

    `dispatches` are the names of all executables. `near` are matchers that nearly hit a dispatch, the nearest
    first; None if the compiler did not survive the search for them.
    """

    matchers: tuple[MatcherHits, ...]
    problems: tuple[SpecProblem, ...]
    dispatches: tuple[str, ...]
    near: tuple[NearMiss, ...] | None = ()


def check_spec(module: ir.Module) -> list[SpecProblem]:
    """Problems that can be seen in the spec itself, if any."""
    return [
        *_grammar(module),
        *linking_problems(module),
        *_repeated(module),
        *_unused(module),
        *_settings(module),
    ]


def check_against_program(
    spec: ir.Module,
    program: bytes | str,
    target: Target,
    *,
    name: str = "program.mlir",
    workers: Workers | None = None,
    near: bool = False,
) -> ProgramCheck:
    """Compile a program to `executable-configurations` and see what each matcher hits.

    The program (text or bytecode) is compiled in a worker: twice, the second time with the configurations in
    place, so that matchers that fight over one dispatch are seen before the compiler gives up on them.
    Without `workers`, one is started and stopped.

    With `near`, if a matcher hits nothing, or nothing hits a dispatch, it is compiled once more, up to the
    spec, and the first condition that fails of each matcher that nearly hits a dispatch is found.

    Raises CompileError if the program does not compile even when nothing is configured, TunerError if the
    compiler crashed or did not come back.
    """
    if workers is None:
        with Workers() as own:
            return check_against_program(spec, program, target, name=name, workers=own, near=near)
    return begin_check(spec, program, target, workers, name=name, near=near)()


def begin_check(
    spec: ir.Module, program: bytes | str, target: Target, workers: Calls, *, name: str = "program.mlir",
    near: bool = False,
) -> Callable[[], ProgramCheck]:  # fmt: skip
    """Begin `check_against_program`. The function that is returned waits, and raises what it raises."""
    probes = instrument(spec, mark_only=True), instrument(spec, mark_only=False)
    unmarked = Unmarked(to_bytecode(spec), probes[0].visible) if near else None
    marked = to_bytecode(probes[0].spec), to_bytecode(probes[1].spec)
    arguments = program, name, *marked, target
    observing = workers.submit(probe_program, *arguments, unmarked)

    def found() -> ProgramCheck:
        try:
            observed = workers.wait(observing)
        except WorkerError as error:
            if unmarked is None:
                raise TunerError(f"the compiler crashes on the program with the spec: {error}") from None
            return replace(begin_check(spec, program, target, workers, name=name)(), near=None)
        matchers = tuple(
            MatcherHits(name, observed.of(index) if visible else None)
            for index, (name, visible) in enumerate(zip(probes[0].matchers, probes[0].visible, strict=True))
        )
        problems = list(_problems_of(matchers))
        if observed.refused:
            problems.append(
                SpecProblem("refused", f"the compiler rejects the configured program: {observed.refused}")
            )
        return ProgramCheck(matchers, tuple(problems), observed.dispatches, observed.near)

    return found


def _grammar(module: ir.Module) -> Iterator[SpecProblem]:
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        reason = error.error_diagnostics[0].message if error.error_diagnostics else str(error)
        yield SpecProblem("invalid", f"the spec does not verify: {reason}")
    if WITH_NAMED_SEQUENCE not in module.operation.attributes:
        yield SpecProblem("not_a_library", f"the module lacks the attribute {WITH_NAMED_SEQUENCE}")
    entry = entry_sequence(module)
    if entry is None:
        yield SpecProblem("no_entry_point", f"no sequence has the attribute {ENTRYPOINT}")
    elif ENTRYPOINT not in entry.attributes:
        yield SpecProblem("no_entry_point", f"the sequence lacks the attribute {ENTRYPOINT}", ENTRYPOINT_NAME)


def _repeated(module: ir.Module) -> Iterator[SpecProblem]:
    seen: dict[tuple[ir.Operation, str], Pair] = {}
    for pair in pairs(module):
        found = meaning(pair)
        earlier = seen.setdefault((pair.foreach_match, found.matches), pair)
        if earlier is pair:
            continue
        first = meaning(earlier)
        same = (found.sets, found.does) == (first.sets, first.does)
        how = "matches what" if same else "sets something else on what"
        yield SpecProblem(
            "repeated" if same else "conflict",
            f"never fires: {how} @{earlier.matcher} matches, which comes first",
            pair.matcher,
        )


def _unused(module: ir.Module) -> Iterator[SpecProblem]:
    used = {name for pair in pairs(module) for name in (pair.matcher, pair.action)}
    for op in walk(module.operation):
        values = [op.attributes[name] for name in op.attributes]
        used.update(leaf(value) for value in values if isinstance(value, _REFERENCES))
    for op in walk(module.operation):
        if (
            is_sequence(op)
            and ENTRYPOINT not in op.attributes
            and symbol_of(op) not in used | {ENTRYPOINT_NAME}
        ):
            yield SpecProblem("unused", "nothing uses this sequence", symbol_of(op))


def _settings(module: ir.Module) -> Iterator[SpecProblem]:
    known: dict[str, set[str]] = {}
    for pair in pairs(module):
        if pair.matcher_op is None or pair.action_op is None:
            continue
        ops = list(walk(pair.action_op))
        names = {ir.StringAttr(op.attributes["name"]).value for op in ops if op.name == "transform.annotate"}
        if not names and any(op.name == "transform.include" for op in ops):
            continue
        known[pair.action] = names
        constants = yielded_constants(pair.matcher_op)
        constants += [op for op in ops if op.name == "transform.param.constant"]
        values = [op.attributes["value"] for op in constants]
        if COMPILATION_INFO not in names:
            message = f"its action @{pair.action} sets no {COMPILATION_INFO}"
            yield SpecProblem("no_configuration", message, pair.matcher)
        elif not any(isinstance(each, iree_codegen.CompilationInfoAttr) for each in values):
            yield SpecProblem("no_configuration", f"it yields no {COMPILATION_INFO}", pair.matcher)
    for action, names in known.items():
        for name in sorted(name for name in names - _KNOWN if not name.startswith("_")):
            yield SpecProblem("unknown_attribute", f"sets '{name}', which the compiler does not read", action)


def _problems_of(matchers: Sequence[MatcherHits]) -> Iterator[SpecProblem]:
    """Misses first, then fights over a dispatch, then configurations that did not arrive."""
    for found in matchers:
        if found.hits is None:
            yield SpecProblem("unknown", "passes no op to its action, so its hits are unknown", found.matcher)
        elif not found.hits:
            yield SpecProblem("hits_nothing", "hits no dispatch of the program", found.matcher)
    owners: dict[str, list[str]] = {}
    for found in matchers:
        for hit in found.hits or ():
            owners.setdefault(hit.dispatch, []).extend([found.matcher] * hit.count)
    for dispatch, names in owners.items():
        if len(names) > 1:
            who = " and ".join(f"@{name}" for name in dict.fromkeys(names))
            times = f" {len(names)} times" if len(set(names)) == 1 else ""
            yield SpecProblem(
                "fight", f"{who} configure dispatch {dispatch}{times}, which accepts one configuration"
            )
    for found in matchers:
        for hit in found.hits or ():
            if hit.ignored:
                yield SpecProblem(
                    "not_applied", f"matched in dispatch {hit.dispatch}, but {hit.ignored}", found.matcher
                )
