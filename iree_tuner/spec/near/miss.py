"""Near misses of all matchers of a spec in a program."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from iree.compiler import ir
from iree.compiler.dialects import transform

from iree_tuner.compiler.context import ops_in, symbol_of, to_bytecode, walk
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.spec.grammar import DEFAULT_ENTRYPOINT, pairs
from iree_tuner.spec.io import embed
from iree_tuner.spec.near.reasons import Condition, conditions_of, first_failure, kind_asked, reason

_REACHED = "iree_tuner_reached"
_NO_PASS = "iree-tuner-stop"


@dataclass(frozen=True)
class NearMiss:
    """A matcher and a dispatch that it does not hit, though the dispatch has an op of the matched kind."""

    matcher: str
    dispatch: str  # name of the executable
    op: str  # name of the op that comes nearest
    # a fixed word for scripts: `size`, `map`, `body`, ...; `earlier` if all conditions hold and an earlier
    # matcher takes the op
    kind: str
    condition: str  # name of the match op that fails first
    what: str  # what it compares: `size of k`; or the compiler's words, without values
    found: str  # its value in the dispatch; `expected` in the matcher
    expected: str
    line: int | None  # of the match op in the spec's text, None if it was not text
    # the number of conditions that held before, and of comparisons of the one that fails
    held: tuple[int, int]

    @property
    def reason(self) -> str:
        """The difference, with its values."""
        return f"{self.what}: {self.found}, expected {self.expected}" if self.expected else self.what


@dataclass(frozen=True)
class _Matcher:
    """A pair's matcher, and the test whether an op is of the kind that it matches."""

    index: int
    name: str
    conditions: tuple[Condition, ...]
    takes: Callable[[ir.Operation], bool] | None


def near_misses(
    session: CompilerSession,
    sources: bytes,
    spec: bytes,
    hits: Collection[tuple[str, int]],
    unseen: Collection[int] = (),
) -> tuple[NearMiss, ...]:
    """The near misses of a spec (bytecode), the nearest first. Runs in workers.

    `sources` is the program at `executable-sources`. `hits` are executables, and indices of pairs that hit
    them in the compiler's own pipeline; `unseen` are indices of pairs whose hits cannot be seen.
    """
    found: list[NearMiss | None] = []
    module = session.parse(spec)  # kept by name: ops that are cloned do not keep it alive
    for group in _groups(module, unseen):
        _program, visited = stop_at(session, sources, spec, group[0].index)
        for dispatch, ops in visited.items():
            for number, matcher in enumerate(group):
                if (dispatch, matcher.index) not in hits:
                    found.append(_nearest(matcher, group[:number], dispatch, ops))
    return tuple(sorted((each for each in found if each), key=lambda each: each.held, reverse=True))


def _groups(module: ir.Module, unseen: Collection[int]) -> list[list[_Matcher]]:
    """The matchers of each `foreach_match`, except those that take several ops, or cannot be found."""
    groups: dict[ir.Operation, list[_Matcher]] = {}
    for index, pair in enumerate(pairs(module)):
        matcher = pair.matcher_op
        if matcher is None or index in unseen or len(matcher.regions[0].blocks[0].arguments) != 1:
            continue
        conditions = conditions_of(matcher)
        takes = next(filter(None, map(kind_asked, conditions)), None)
        groups.setdefault(pair.foreach_match, []).append(_Matcher(index, pair.matcher, conditions, takes))
    return list(groups.values())


def _nearest(
    matcher: _Matcher, earlier: Sequence[_Matcher], dispatch: str, ops: Sequence[ir.Operation]
) -> NearMiss | None:
    """How a matcher misses the op that is nearest to it; None without an op of its kind.

    Also None if all of it holds and nothing before it takes the op: the pipeline, which did not hit it, then
    has a reason that cannot be seen here.
    """
    nearest: NearMiss | None = None
    for op in ops:
        if matcher.takes is not None and not matcher.takes(op):
            continue
        failure = first_failure(matcher.conditions, op)
        if failure is None:
            taker = next((each for each in earlier if first_failure(each.conditions, op) is None), None)
            if taker is None:
                return None
            what, held = f"all conditions hold, but @{taker.name} comes first", (len(matcher.conditions), 0)
            return NearMiss(matcher.name, dispatch, op.name, "earlier", "", what, "", "", None, held)
        condition = failure.condition
        index = matcher.conditions.index(condition)
        held = (each.op.name for each in matcher.conditions[:index])
        if matcher.takes is None and not any(".match." in name for name in held):
            continue  # all that held only navigates from one op or value to another
        found = reason(failure)
        miss = NearMiss(
            matcher.name, dispatch, op.name, found.kind, condition.op.name, found.what, found.found,
            found.expected, condition.line, (index, found.held),
        )  # fmt: skip
        if nearest is None or miss.held > nearest.held:
            nearest = miss
    return nearest


def stop_at(
    session: CompilerSession, sources: bytes, spec: bytes, index: int
) -> tuple[ir.Module, dict[str, list[ir.Operation]]]:
    """Compile a program with a spec until the spec gets to the `foreach_match` of a pair, by its `index`.

    All that the spec does before is done. A pass that does not exist ends the compilation of each dispatch
    there, and leaves its IR as it is. `sources` is the program at `executable-sources`, `spec` bytecode.

    Returns:
        the program, which holds the ops; and by executable, the ops that the `foreach_match` would visit, in
        its order, none for an executable that the spec is not applied to.
    """
    copy = session.parse(spec)
    match = pairs(copy)[index].foreach_match
    with ir.InsertionPoint(match), ir.Location.unknown(session.context):
        transform.AnnotateOp(match.operands[0], _REACHED)
        stop = transform.ApplyRegisteredPassOp(transform.AnyOpType.get(), match.operands[0], _NO_PASS)
    match.operands[0] = stop.result
    for module in [each for each in walk(copy.operation) if DEFAULT_ENTRYPOINT in each.attributes]:
        del module.attributes[DEFAULT_ENTRYPOINT]  # its grammar has no place for what was added
    program = session.parse(sources)
    embed(program, to_bytecode(copy), replace=True)
    with suppress(CompileError):  # it is meant to stop
        session.run(program, start="executable-sources", stop="executable-configurations")
    inside = "restrict_root" not in match.attributes
    visited: dict[str, list[ir.Operation]] = {}
    for executable in [op for op in ops_in(program.body) if op.name == "hal.executable"]:
        roots = [op for op in walk(executable) if _REACHED in op.attributes]
        for root in roots:
            del root.attributes[_REACHED]
        found = [op for root in roots for op in (walk(root) if inside else (root,))]
        visited[symbol_of(executable)] = list(dict.fromkeys(found))
    return program, visited
