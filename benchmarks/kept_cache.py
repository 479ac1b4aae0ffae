"""Where a language model's cache may be between two tokens, and what a token takes then.

    python benchmarks/kept_cache.py --capacity 128 2048

Four versions of a small model take turns, each from an empty cache: its cache is donated (what
`examples/generate.py` does), an input that is not donated, in variables of the program, or copied through the
host. All must generate the same tokens. Needs jax.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import iree.runtime as rt
import numpy as np
from iree.compiler import ir

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.generate import compiled, export, load
from examples.models import llama
from examples.models.model import Model
from examples.models.to_mlir import new_context

Next = Callable[[int, int], int]
SIZES: dict[str, Any] = {"width": 256, "heads": 8, "shared": 4, "hidden": 512, "blocks": 4, "vocabulary": 512}


def main() -> None:
    """Print a row for each capacity and version."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--capacity", type=int, nargs="+", default=[128, 2048])
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print("| positions | cache | ms a token, median | smallest |\n|---|---|---|---|")
    for capacity in options.capacity:
        measure(capacity, options.tokens, options.rounds)


def measure(capacity: int, tokens: int, rounds: int) -> None:
    """The rows of one capacity."""
    whole = llama.Whole("a small Llama", dtype=np.float32, **SIZES)
    model = whole.decode("kept", capacity)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        export(model, folder)
        path, weights = folder / "kept.mlir", folder / "kept.irpa"
        donated = compiled(path, None)
        in_variables(path)
        variables = compiled(path, None)
        export(replace(model, donated=()), folder)
        programs = {
            "donated": donated,
            "input, not donated": compiled(path, None),
            "variables": variables,
            "through the host": donated,
        }
        loaded = {each: load(code, weights, "local-task") for each, code in programs.items()}
        times: dict[str, list[float]] = {each: [] for each in programs}
        texts: set[tuple[int, ...]] = set()
        for _ in range(rounds):
            for each, (module, device) in loaded.items():
                follow = start(model, each, module, device)
                begun, text = time.perf_counter(), [1]
                for position in range(tokens):
                    text.append(follow(text[-1], position))
                times[each].append((time.perf_counter() - begun) / tokens * 1e3)
                texts.add(tuple(text))
    if len(texts) > 1:
        raise SystemExit("error: versions generate different tokens")
    for each, found in times.items():
        print(f"| {capacity} | {each} | {median(found):.2f} | {min(found):.2f} |")


def start(model: Model, version: str, module: Any, device: Any) -> Next:
    """The next token from a token and its position, beginning with empty caches."""
    host = version == "through the host"
    empty = [np.zeros_like(each) for each in model.example()[2:]]
    caches: list[Any] = [] if version == "variables" else empty
    if not host:
        caches = [rt.asdevicearray(device, each) for each in caches]

    def follow(token: int, position: int) -> int:
        nonlocal caches
        found = module.main(np.array([token], np.int32), np.array(position, np.int32), *caches)
        scores, *caches = found if caches else (found,)
        if host:
            caches = [each.to_host().copy() for each in caches]
        return int(np.argmax(scores.to_host()))

    return follow


def in_variables(path: Path) -> None:
    """Make the caches, the last two inputs and results of a program, variables of it.

    They begin with different values: with equal ones, they would be one (docs/upstream/equal_variables.md).
    """
    with new_context(), ir.Location.unknown():
        module = ir.Module.parse(path.read_text())
        main: Any = next(op for op in module.body if ir.StringAttr(op.attributes["sym_name"]).value == "main")
        block: ir.Block = main.regions[0].blocks[0]
        first, last = block.operations[0], block.operations[len(block.operations) - 1]
        results = list(last.operands)
        for place, name in enumerate(("keys", "values")):
            argument = block.arguments[2]
            kind = ir.RankedTensorType(argument.type)
            begin = ir.DenseElementsAttr.get_splat(kind, ir.FloatAttr.get(kind.element_type, place))
            symbol = ir.FlatSymbolRefAttr.get(name)
            attributes = {
                "sym_name": ir.StringAttr.get(name),
                "sym_visibility": ir.StringAttr.get("private"),
                "type": ir.TypeAttr.get(kind),
                "is_mutable": ir.UnitAttr.get(),
                "initial_value": begin,
            }
            with ir.InsertionPoint(main):
                ir.Operation.create("util.global", attributes=attributes)
            with ir.InsertionPoint(first):
                read = ir.Operation.create("util.global.load", results=[kind], attributes={"global": symbol})
            argument.replace_all_uses_with(read.result)
            block.erase_argument(2)
            with ir.InsertionPoint(last):
                ir.Operation.create(
                    "util.global.store", operands=[results[1 + place]], attributes={"global": symbol}
                )
        with ir.InsertionPoint(last):
            ir.Operation.create("func.return", operands=results[:1])
        last.erase()
        kind = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
        main.attributes["function_type"] = ir.TypeAttr.get(
            ir.FunctionType.get(kind.inputs[:2], kind.results[:1])
        )
        for name, count in (("arg_attrs", 2), ("res_attrs", 1)):
            if name in main.attributes:
                kept = list(ir.ArrayAttr(main.attributes[name]))[:count]
                main.attributes[name] = ir.ArrayAttr.get(kept)
        module.operation.verify()
        path.write_text(f"{module}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
