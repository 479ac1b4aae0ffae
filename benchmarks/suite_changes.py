"""Does the suite see what changed, and nothing else? The same build twice, then one that is slower somewhere.

    python benchmarks/suite_changes.py cpu --only f32 --device local-sync --rounds 64 --launches 2

1. Operations are generated and run, with few samples: only the code of this run is used.
2. They are run again, in turns with what the first run compiled: everything should be SAME.
3. One program is given a tenth more to do: a tenth of its rows is computed a second time, and put where it
   was already. Its result is right, so that only its time tells. It takes turns with the first one's code.

Prints how often each verdict was given, and the planted one with its interval.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import cast

from iree.compiler import ir
from iree.compiler.dialects import linalg, tensor

from iree_tuner.cli.db import default_database
from iree_tuner.cli.output import people
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import parse_module
from iree_tuner.measure.statistics import LEAST_PAIRS
from iree_tuner.suite.changes import Change, changes, counts
from iree_tuner.suite.commands.run import SuiteOptions, SuiteProgress, line
from iree_tuner.suite.kinds.product import Matmul
from iree_tuner.suite.operation import Operation
from iree_tuner.suite.plan import Item, SuitePlan, items_from
from iree_tuner.suite.programs import operations_in, write_operation
from iree_tuner.suite.results import Results
from iree_tuner.suite.session import run_suite
from iree_tuner.suite.site import Hosts
from iree_tuner.tuning.options import parse_duration

_PART, _TILE = 10, 8


def main() -> None:
    """Run three times, compare, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suites", nargs="+")
    parser.add_argument("--only", default="", help="part of the names of the operations that take part")
    parser.add_argument("--slower", help="the operation to make slower; by default the first large product")
    parser.add_argument("--device", default="local-task")
    parser.add_argument("--rounds", type=int, default=24, help="in each launch")
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--sample", type=parse_duration, default="0.02s")
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("--json", type=Path, help="write the verdicts there, a line each")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="suite_changes_") as scratch:
        folder = Path(scratch)
        for each in items_from(given.suites):
            if given.only in each.operation.name:
                write_operation(folder / "generated", each.operation)
        items = [Item(operation, path) for operation, path in operations_in(folder / "generated")]
        slower = planted(items, given.slower, folder / "slower")
        few = argparse.Namespace(**{**vars(given), "rounds": LEAST_PAIRS, "launches": 1})
        first = run("first", items, few, folder)
        found = {"same build": changes(first, run("second", items, given, folder, against="first"))}
        print(f"same build: {told(found['same build'])}", flush=True)
        third = run("third", [slower], given, folder, against="first")
    name = slower.operation.name
    before = replace(first, rows=tuple(each for each in first.rows if each.operation == name))
    found["one slower"] = changes(before, third)
    for row in found["one slower"]:
        print(f"planted in {name}: {row.verdict}, {row.ratio} {row.interval}")
    if given.json:
        lines = [
            json.dumps({"comparison": what, **asdict(row)}) for what, rows in found.items() for row in rows
        ]
        given.json.write_text("\n".join(lines) + "\n", encoding="utf-8")


def run(
    name: str, items: Sequence[Item], given: argparse.Namespace, folder: Path, against: str = ""
) -> Results:
    """A run with IREE alone."""
    how = SuiteOptions(
        device=(given.device,), rounds=given.rounds, sample_s=given.sample, pause_s=given.pause
    )
    plan = SuitePlan(
        name, items, how.devices, folder / name, how.conditions(Hosts()),
        against=folder / against if against else None, launches=given.launches,
        cache=default_database().with_name("rooflines.json"),
    )  # fmt: skip
    with SuiteProgress(people, line, as_json=False) as progress:
        return run_suite(plan, progress)


def planted(items: Sequence[Item], name: str | None, folder: Path) -> Item:
    """One of the operations with a program that has a tenth more to do."""
    plain = [each for each in items if is_plain(each.operation)]
    chosen = (
        next(each for each in items if each.operation.name == name)
        if name
        else max(plain, key=lambda each: each.operation.flops)
    )
    path = write_operation(folder, chosen.operation)
    with new_context() as context, ir.Location.unknown():
        module = parse_module(path.read_text(encoding="utf-8"), context)
        (op,) = products_in(module)
        twice(op)
        module.operation.verify()
        path.write_text(str(module), encoding="utf-8")
    return Item(chosen.operation, path)


def is_plain(operation: Operation) -> bool:
    """Whether it is a product of row-major matrices and nothing else."""
    usual = isinstance(operation, Matmul) and operation.layout == "tt" and operation.split_k == 1
    return usual and not operation.epilogue and not operation.accumulate


def products_in(module: ir.Module) -> list[ir.Operation]:
    """Its ops `linalg.matmul`."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "linalg.matmul":
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def twice(op: ir.Operation) -> None:
    """Compute a tenth of a product's rows again, behind it, and put it where it is."""
    lhs, rhs, out = op.operands
    (m, k), (_, n) = (list(ir.RankedTensorType(each.type).shape) for each in (lhs, rhs))
    rows = m // _PART // _TILE * _TILE or max(1, m // _PART)  # odd sizes would cost more than their part
    uses = list(op.result.uses)
    with ir.InsertionPoint.after(op):
        left = slice_of(lhs, [rows, k])
        start = slice_of(out, [rows, n])
        again = cast("ir.Value", linalg.matmul(left, rhs, outs=[start]))
        both = tensor.InsertSliceOp(again, op.result, [], [], [], [0, 0], [rows, n], [1, 1]).result
    for use in uses:
        use.owner.operands[use.operand_number] = both


def slice_of(value: ir.Value, sizes: Sequence[int]) -> ir.Value:
    """The first rows of a matrix."""
    kind = ir.RankedTensorType.get(sizes, ir.RankedTensorType(value.type).element_type)
    return tensor.ExtractSliceOp(kind, value, [], [], [], [0, 0], list(sizes), [1, 1]).result


def told(rows: Sequence[Change]) -> str:
    """How many of each verdict, and which part that is."""
    found = counts(rows)
    return ", ".join(f"{count} {verdict} ({count / len(rows):.1%})" for verdict, count in found.items())


if __name__ == "__main__":
    main()
