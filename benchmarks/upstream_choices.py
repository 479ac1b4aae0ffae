"""Whether the compiler's own choices for its own tests lie in the spaces that are built for them.

    git clone --depth 1 https://github.com/iree-org/iree
    python benchmarks/upstream_choices.py iree/compiler/src/iree/compiler/Codegen/LLVMGPU/test

Each function of the files config_*.mlir there that takes tensors becomes a program, compiled for the targets
of its file's RUN lines. (Their flags are the process's: the compiler's API does not take them in 3.13.) Of
each dispatch with a root op that is read: whether it has spaces, whether the compiler compiles its own choice
to the end (the tests stop at the choice), and whether that is a member of a space. Where it does not compile,
the same function is judged once more with sums that begin at zero instead of in an argument. Prints a JSON
object for each dispatch, and how many are in.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from iree.compiler import ir
from iree.compiler.dialects import arith, linalg, tensor

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Builder
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.build import build_spaces
from iree_tuner.space.compilers_choice import Written, find_default
from iree_tuner.space.emitted import Emitted, emit
from iree_tuner.space.space import Space
from iree_tuner.targets import GpuLimits, Target, parse_target

_FUNCTION = re.compile(r"^func\.func (?:private )?@(\w+)\(", re.MULTILINE)
_TARGET = re.compile(r"--iree-gpu-test-target=(\S+)")
_CHIPS = {"mi300x@hip": "gfx942", "mi355x@hip": "gfx950"}


@dataclass(frozen=True)
class Found:
    """What became of a dispatch.

    Attributes:
        state: `in`, `out`, `refused` where the compiler does not compile its choice, or why nothing can be
            said.
        reasons: why it is out, for each space.
    """

    file: str
    function: str
    target: str
    dispatch: str
    state: str
    pipeline: str = ""
    reasons: tuple[str, ...] = ()


def targets_of(text: str) -> list[str]:
    """The different targets of a file's RUN lines that select a configuration."""
    joined = re.sub(r"\\\n//\s*RUN:", " ", text)
    lines = re.findall(r"^// RUN:(.*)$", joined, re.MULTILINE)
    found = [_TARGET.search(line) for line in lines if "select-lowering-strategy" in line]
    names = [_CHIPS.get(each[1], each[1]) for each in found if each is not None]
    return list(dict.fromkeys(f"{'cuda' if name.startswith('sm_') else 'hip'}:{name}" for name in names))


def programs_of(text: str) -> Iterator[tuple[str, str]]:
    """Name and text of each part that takes tensors, and no bindings of a dispatch."""
    for part in re.split(r"^// -----.*$", text, flags=re.MULTILINE):
        names = _FUNCTION.findall(part)
        if names and "hal.interface" not in part and "tensor<" in part:
            yield "+".join(names), part


def judge(dispatch: Dispatch, target: Target, workers: Workers) -> tuple[str, str, tuple[str, ...]]:
    """State, pipeline and reasons of a dispatch."""
    if dispatch.workload is None or dispatch.harness is None:
        return f"not read: {dispatch.reason}", "", ()
    emitted = (
        emit(dispatch.harness, dispatch.workload, target, workers)
        if isinstance(dispatch.limits, GpuLimits)
        else Emitted()
    )
    try:
        spaces: tuple[Space, ...] = build_spaces(
            dispatch.workload, dispatch.limits, new_context(), emitted.modules
        )
    except TunerError as error:
        return f"no space: {error}", dispatch.pipeline, ()
    built = Builder(target, workers).build(dispatch.harness, None)
    if built.outcome != "ok":
        return f"refused: {built.message.splitlines()[0][:160]}", dispatch.pipeline, ()
    reasons: list[str] = []
    for space in spaces:
        found = find_default(space, Written.by_compiler(dispatch))
        if found.assignment is not None and not found.reasons:
            return "in", dispatch.pipeline, ()
        reasons.append(f"{space.label}: {'; '.join(found.reasons)}")
    return "out", dispatch.pipeline, tuple(reasons)


def found_in(path: Path, only: str, workers: Workers, scratch: Path) -> Iterator[Found]:
    """All dispatches of a file."""
    text = path.read_text()
    for chip in targets_of(text):
        target = parse_target(chip)
        for name, part in programs_of(text):
            if only not in f"{path.name}:{name}":
                continue
            found = list(judged((path.name, name, chip), part, target, workers, scratch))
            yield from found
            if any(each.state.startswith("refused") for each in found):
                where = path.name, f"{name} from zeros", chip
                yield from judged(where, from_zeros(part), target, workers, scratch)


def judged(
    where: tuple[str, str, str], text: str, target: Target, workers: Workers, scratch: Path
) -> Iterator[Found]:
    """All dispatches of a program."""
    program = scratch / "program.mlir"
    program.write_text(text)
    try:
        extraction = extract(load_program(program), target, workers)
    except TunerError as error:
        yield Found(*where, "", f"not compiled: {str(error).splitlines()[0][:160]}")
        return
    for dispatch in extraction.dispatches:
        state, pipeline, reasons = judge(dispatch, target, workers)
        yield Found(*where, dispatch.name, state, pipeline, reasons)


def from_zeros(text: str) -> str:
    """A program whose sums begin at zero, where they began with what an argument holds."""
    with new_context() as context, ir.Location.unknown():
        module = ir.Module.parse(text, context)
        pending = [
            op.operation for function in module.body.operations for op in function.regions[0].blocks[0]
        ]
        for op in pending:
            init = op.operands[len(op.operands) - 1] if op.name.startswith("linalg.") else None
            if init is None or not isinstance(init.owner, ir.Block):
                continue
            with ir.InsertionPoint(op):
                kind = ir.RankedTensorType(init.type)
                whole = isinstance(kind.element_type, ir.IntegerType)
                zero = arith.ConstantOp(kind.element_type, 0 if whole else 0.0).result
                empty = tensor.EmptyOp(kind.shape, kind.element_type).result
                op.operands[len(op.operands) - 1] = linalg.fill(zero, outs=[empty])
        return str(module)


def main() -> None:
    """All files, and the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="what a file's name and a function's have in them")
    parser.add_argument("--output", type=Path, help="file for the JSON lines; standard output by default")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch, Workers(1) as workers:
        lines: list[str] = []
        for path in sorted(given.folder.rglob("config_*.mlir")):
            for each in found_in(path, given.only, workers, Path(scratch)):
                counts[each.state.partition(":")[0]] += 1
                lines.append(json.dumps(asdict(each)))
                if given.output is None:
                    print(lines[-1], flush=True)
        if given.output is not None:
            given.output.write_text("".join(f"{line}\n" for line in lines))
    judged = counts["in"] + counts["out"]
    print(f"{dict(counts)}; in: {counts['in']} of {judged} with spaces", file=sys.stderr)


if __name__ == "__main__":
    main()
