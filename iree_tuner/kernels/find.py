"""Find the sites of a program that kernels can compute, and the executable target that they need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from typing import Any, cast

from iree.compiler import ir
from iree.compiler.dialects import arith, func, hal

from iree_tuner.compiler.context import symbol_of, to_bytecode, unchanged, walk
from iree_tuner.compiler.session import CompileError, CompilerSession
from iree_tuner.compiler.worker import TIMEOUT_S, Calls, Workers, session_for
from iree_tuner.errors import TunerError
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.joint import JointProducts, find_joint
from iree_tuner.kernels.kernel import Kernel, why_not
from iree_tuner.kernels.known import fold_known
from iree_tuner.kernels.moves import is_elementwise
from iree_tuner.kernels.normalizing import find_normalizing
from iree_tuner.kernels.pooling import find_pools
from iree_tuner.kernels.read_back import find_read_back
from iree_tuner.kernels.readings import find_readings
from iree_tuner.kernels.scans import find_scans
from iree_tuner.kernels.site import Site, find_sites, roots_of, searched
from iree_tuner.kernels.spec import bring_into_form, put_into, rewrite_readings
from iree_tuner.kernels.split_sums import (
    blocks_of,
    find_chains,
    find_computed,
    find_reductions,
    find_sliced_inputs,
    find_sums,
)
from iree_tuner.kernels.triton_norms import TritonNorms
from iree_tuner.program.extract import compute_ops
from iree_tuner.program.phases import select_target
from iree_tuner.program.source import Program
from iree_tuner.targets import Target
from iree_tuner.tuning.versions import FENCES

_JOINT, _NORMS = JointProducts(), TritonNorms()

_COMMANDS = ("flow.dispatch", "flow.tensor.update", "flow.tensor.slice", "flow.tensor.splat")
"""Ops that become commands of a device."""

_ROOT, _PART = "iree_tuner_root_", "part"


@dataclass(frozen=True)
class Place:
    """All equal occurrences of a problem in a program, with longer and longer epilogues.

    Attributes:
        sites: the site without epilogue first, longer epilogues later.
        functions: names of the functions with the occurrences, one for each.
        within: for each occurrence, the case of the larger problem that it is a part of; or empty.
    """

    sites: tuple[Site, ...]
    functions: tuple[str, ...]
    within: tuple[bytes, ...] = ()

    def outside(self, cases: Collection[bytes]) -> Place | None:
        """The place without occurrences inside these larger problems; None if no occurrence is left."""
        times = zip_longest(self.functions, self.within, fillvalue=b"")
        left = [(function, within) for function, within in times if within not in cases]
        if not left:
            return None
        functions, within = zip(*left, strict=True)
        sites = tuple(replace(each, times=len(left)) for each in self.sites)
        return replace(self, sites=sites, functions=functions, within=within)

    def site_for(self, kernel: Kernel) -> tuple[Site | None, str]:
        """The site with the longest epilogue that a kernel computes; without one, None and the reason."""
        whys = [why_not(kernel, site.problem) for site in self.sites]
        for site, why in reversed(list(zip(self.sites, whys, strict=True))):
            if not why:
                return site, ""
        return None, whys[0]


@dataclass(frozen=True)
class Places:
    """The places of a program, in its order, and its executable target as text.

    Attributes:
        joint: products that can be combined into joint products.
        rewritten: the places of the program after these products are combined.
        dispatches: names of the program's dispatches (`dispatches_with_roots`).
        notes: searches that failed, and why.
    """

    places: tuple[Place, ...]
    target: str
    joint: tuple[Site, ...] = ()
    rewritten: tuple[Place, ...] = ()
    dispatches: Mapping[int, str] = field(default_factory=dict[int, str])
    notes: tuple[str, ...] = ()


def find_places(program: Program, target: Target, workers: Workers, kernels: Sequence[Kernel] = ()) -> Places:
    """Compile a program up to preprocessing, in workers, and look for problems that kernels may compute.

    Raises:
        CompileError: the program does not parse or compile.
        TunerError: it has no functions or no dispatches.
    """
    return begin_finding(program, target, workers, kernels)()


def begin_finding(
    program: Program, target: Target, workers: Calls, kernels: Sequence[Kernel], limit_s: float = TIMEOUT_S
) -> Callable[[], Places]:
    """Begin `find_places`. The function that is returned waits for the places, and raises what it raises.

    If it takes longer than `limit_s`, it raises WorkerError.
    """
    names = {each.name for each in kernels}
    chains, norms = FusedOps.name in names, _NORMS.name in names
    given = program.data, program.name, target
    joint = JointProducts.name in names
    begin = partial(workers.submit, timeout_s=limit_s, chains=chains, norms=norms)
    rewritten = begin(find_joint_here, *given) if joint else None
    own = begin(find_here, *given)

    def found() -> Places:
        places = workers.wait(own)
        if rewritten is None:
            return places
        sites, after, failed = workers.wait(rewritten)
        notes = tuple(dict.fromkeys((*places.notes, *failed)))
        known = {each.case: each.dispatches for place in places.places for each in place.sites}
        after = tuple(_named_as(place, known) for place in after)
        joint = tuple(replace(each, dispatches=_names([each], places.dispatches)) for each in sites)
        return replace(places, joint=joint, rewritten=after, notes=notes)

    return found


def _named_as(place: Place, known: Mapping[bytes, tuple[str, ...]]) -> Place:
    """A place of a rewritten program, whose sites replace the dispatches of equal ones in the program."""
    return replace(
        place, sites=tuple(replace(each, dispatches=known.get(each.case, ())) for each in place.sites)
    )


def find_here(
    data: bytes, name: str, target: Target, *, chains: bool = False, norms: bool = False
) -> Places:  # fmt: skip
    """The places of a program without joint products. Runs in a worker. Chains and norms are optional."""
    session = session_for(target.flags)
    with session.context, ir.Location.unknown():
        notes: list[str] = []
        module = _before_dispatches(data, name, target, session)
        mark_roots(module)
        formed = session.parse(to_bytecode(module))
        (given,) = searched(notes, _rewritten, formed) or [None]
        if given is None:  # a step failed, maybe halfway
            formed = session.parse(to_bytecode(module))
            bring_into_form(formed)
        marks = [_number_in(op.location) for op in roots_of(formed)]
        sites = [
            tuple(_renumbered(given(site) if given else site, marks) for site in own)
            for own in _every(formed, session, target, notes, chains=chains, norms=norms)
        ]
        session.run(module, start="abi", stop="executable-sources")
        found = _target_of(module)
        if found is None:
            raise TunerError("the program has no dispatches", location=name)
        dispatches = dispatches_with_roots(module)
        told = tuple(dict.fromkeys(notes))
        return Places(_merged(sites, dispatches), found, dispatches=dispatches, notes=told)


def find_joint_here(
    data: bytes, name: str, target: Target, *, chains: bool = False, norms: bool = False
) -> tuple[tuple[Site, ...], tuple[Place, ...], tuple[str, ...]]:
    """The products of a program that can be combined, its places when they are, and searches that failed.

    Runs in a worker.
    """
    notes: list[str] = []
    found = searched(notes, _joint_places, data, name, target, notes, chains, norms)
    ((sites, places),) = found or [((), ())]
    return sites, places, tuple(dict.fromkeys(notes))


def _joint_places(
    data: bytes, name: str, target: Target, notes: list[str], chains: bool, norms: bool
) -> list[tuple[tuple[Site, ...], tuple[Place, ...]]]:
    session = session_for(target.flags)
    with session.context, ir.Location.unknown():
        module = _before_dispatches(data, name, target, session)
        read = _formed(module)
        found = Counter(find_joint(module, on_host=target.native))
        joined = tuple(replace(read(site), times=times) for site, times in found.items())
        if not joined:
            return []
        put_into(module, [(site, _JOINT.make(site.problem)) for site in joined])
        first = fold_known(module)
        every = _every(module, session, target, notes, chains=chains, norms=norms)
        found = [tuple(replace(read(each), first=first) for each in own) for own in every]
        return [(joined, _merged(found, {}))]


def _rewritten(module: ir.Module) -> list[Callable[[Site], Site]]:
    """`_formed`, with scalars that constants decide."""
    read = _formed(module)
    first = fold_known(module)
    return [lambda site: replace(read(site), first=first)]


def _formed(module: ir.Module) -> Callable[[Site], Site]:
    """Rewrite a program as specs do. The function that is returned adds the readings that a site needs.

    Products that are there without them need none.
    """
    bring_into_form(module)
    readings = find_readings(module)
    if not readings:
        return lambda site: site
    products = (*find_sites(module), tuple(find_joint(module, on_host=False)))
    known = {site.case for own in products for site in own}
    rewrite_readings(module, readings)
    return lambda site: site if site.case in known else replace(site, readings=readings)


def _before_dispatches(data: bytes, name: str, target: Target, session: CompilerSession) -> ir.Module:
    module = session.parse(data, name)
    if not list(module.body.operations):
        raise TunerError("the program has no functions", location=name)
    select_target(module, target)
    session.run(module, stop="abi")
    return module


def _every(
    module: ir.Module, session: CompilerSession, target: Target, notes: list[str], *,
    chains: bool, norms: bool,
) -> list[tuple[Site, ...]]:  # fmt: skip
    """The sites of a program. `notes` gets the searches that failed.

    With `chains`, also chains that save dispatches, and sums to split. With `norms`, sums and the elementwise
    ops that normalise by them, and operands of products that are computed of smaller arrays.
    """
    of = partial(searched, notes)
    with unchanged():
        blocks = blocks_of(module) if chains or norms else []
        larger: dict[ir.Operation, bytes] = {}
        sites = find_sites(module, larger, notes)
        normal = of(find_normalizing, blocks, larger) if norms else []
        chained = of(find_chains, blocks, larger) if chains else []  # from the results of norms
        normal += of(find_computed, blocks) + of(find_pools, blocks) if norms else []
        sums = of(find_sums, blocks)
        taken = {root for own in (*sites, normal) for site in own for root in site.roots}
        normal += [*of(find_reductions, blocks, taken), *of(find_scans, blocks)] if norms else []
        inputs = of(find_sliced_inputs, blocks) if chains else []
        inputs += of(find_read_back, blocks) if chains and not target.native else []
    fewer = _saving(list(dict.fromkeys(chained)), session, target)
    wanted = [*(site for site in chained if site in fewer), *sums, *inputs]
    wanted += [site for site in normal if not _NORMS.refuses(site.problem)]
    return [*sites, *((site,) for site in wanted)]


def _saving(sites: Sequence[Site], session: CompilerSession, target: Target) -> set[Site]:
    """The chains that take fewer dispatches and copies when they are written as one op.

    Of an array that several ops read, the compiler copies parts, and computes the rest with each of them.
    """
    try:
        counts = dispatches_of(
            [each for site in sites for each in (site.case, site.problem.fused)], session, target
        )
    except CompileError:  # of one of them
        half = len(sites) // 2
        parts = (sites[:half], sites[half:]) if half else ()
        return {site for part in parts for site in _saving(part, session, target)}
    return {
        site
        for site, before, after in zip(sites, counts[::2], counts[1::2], strict=True)
        if after < before or site.shared
    }


def dispatches_of(programs: Sequence[bytes | str], session: CompilerSession, target: Target) -> list[int]:
    """The numbers of dispatches and copies in programs of one function each, compiled as one program."""
    module = ir.Module.create(ir.Location.unknown(session.context))
    for number, parsed in enumerate(map(session.parse, programs)):
        (function,) = parsed.body.operations
        copy = function.operation.clone(ip=ir.InsertionPoint(module.body)).operation
        copy.attributes["sym_name"] = ir.StringAttr.get(f"{_PART}{number}", session.context)
    select_target(module, target)
    session.run(module, stop="flow")
    counts = [0] * len(programs)
    for function in module.body.operations:
        name = symbol_of(function.operation).lstrip("_").removeprefix(_PART)
        if name.isdigit():
            counts[int(name)] += sum(op.name in _COMMANDS for op in walk(function.operation))
    return counts


_TARGETS: dict[Target, str] = {}


def executable_target(target: Target, workers: Calls) -> str:
    """The executable target under a target's flags, as text. Kernels must have the program's target.

    It is kept: a run asks for each version, and again when everything has been measured, without a worker.
    """
    key = replace(target, flags=tuple(each for each in target.flags if each != FENCES))
    if key not in _TARGETS:
        _TARGETS[key] = workers.call(target_here, target)
    return _TARGETS[key]


def target_here(target: Target) -> str:
    """The part of `executable_target` that runs in a worker; compiles a minimal program."""
    session = session_for(target.flags)
    with session.context, ir.Location.unknown():
        module = ir.Module.create()
        kind = ir.RankedTensorType.get([4], ir.F32Type.get())
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([kind], [kind]))
        with ir.InsertionPoint(function.add_entry_block()):
            func.ReturnOp([arith.addf(function.arguments[0], function.arguments[0])])
        select_target(module, target)
        session.run(module, stop="executable-sources")
        found = _target_of(module)
        assert found is not None, "an addition is a dispatch"
        return found


def _target_of(module: ir.Module) -> str | None:
    for executable in ir.get_ops_of_type(module, hal.ExecutableOp):
        for variant in ir.get_ops_of_type(executable, hal.ExecutableVariantOp):
            return str(variant.attributes["target"])
    return None


def mark_roots(module: ir.Module) -> None:
    """Number the possible root ops in their locations, which passes keep when they rewrite an op."""
    for number, op in enumerate(roots_of(module)):
        cast("Any", op).location = ir.Location.name(f"{_ROOT}{number}")  # the stubs lack the setter


def dispatches_with_roots(module: ir.Module) -> Mapping[int, str]:
    """Names of dispatches by their ops' numbers from `mark_roots`. Fused elementwise ops do not count."""
    found: dict[int, str] = {}
    for function in ir.get_ops_of_type(module, func.FuncOp):
        ops = compute_ops(function.operation)
        ops = [op for op in ops if not is_elementwise(op)] or ops
        numbers = (_number_in(op.location) for op in ops)
        found |= {number: function.name.value for number in numbers if number is not None}
    return found


def _renumbered(site: Site, marks: Sequence[int | None]) -> Site:
    """A site with the numbers of `mark_roots` for its roots."""
    return replace(site, roots=tuple(mark for each in site.roots if (mark := marks[each]) is not None))


def _number_in(location: ir.Location) -> int | None:
    """The number that `mark_roots` wrote; for inlined ops, it is in the callee's location."""
    while isinstance(location, ir.CallSiteLoc):
        location = location.callee
    name = location.name_str if isinstance(location, ir.NameLoc) else ""
    return int(name.removeprefix(_ROOT)) if name.startswith(_ROOT) else None


def _names(sites: Sequence[Site], dispatches: Mapping[int, str]) -> tuple[str, ...]:
    roots = (root for each in sites for root in each.roots)
    return tuple(dict.fromkeys(dispatches[root] for root in roots if root in dispatches))


def _merged(found: Sequence[tuple[Site, ...]], dispatches: Mapping[int, str]) -> tuple[Place, ...]:
    times: dict[tuple[bytes, ...], list[Site]] = {}
    first: dict[tuple[bytes, ...], tuple[Site, ...]] = {}
    for sites in found:
        key = tuple(site.case for site in sites)
        first.setdefault(key, sites)
        times.setdefault(key, []).append(sites[0])
    return tuple(
        Place(
            tuple(replace(each, dispatches=_names(own, dispatches), times=len(own)) for each in first[key]),
            tuple(each.function for each in own), tuple(each.within for each in own),
        )
        for key, own in times.items()
    )  # fmt: skip
