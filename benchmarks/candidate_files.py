"""The files of the package that a candidate passes from its proposal to its trial, where these are chosen.

    python benchmarks/candidate_files.py

Tunes a product on this machine's processor. The first trials are left out: with them, modules are imported,
and the space is enumerated. Workers' files are not counted. The strategy is a parameter: `model` also has
the files of the cost model that it asks before it proposes.
"""

from __future__ import annotations

import argparse
import sys
import threading
from collections import defaultdict
from pathlib import Path
from types import FrameType

from iree.compiler import ir

import iree_tuner
from iree_tuner.tuning.engine import Engine

PROGRAM = """
func.func @main(%a: tensor<256x512xf32>, %b: tensor<512x384xf32>) -> tensor<256x384xf32> {
  %z = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256x384xf32>
  %f = linalg.fill ins(%z : f32) outs(%e : tensor<256x384xf32>) -> tensor<256x384xf32>
  %r = linalg.matmul ins(%a, %b : tensor<256x512xf32>, tensor<512x384xf32>)
      outs(%f : tensor<256x384xf32>) -> tensor<256x384xf32>
  return %r : tensor<256x384xf32>
}
"""
ROOT = Path(iree_tuner.__file__).parent


def main() -> None:
    """Print the files, with their functions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--candidates", type=int, default=40)
    parser.add_argument("--after", type=int, default=15, help="trials that are left out")
    parser.add_argument("--strategy", default="shuffle")
    options = parser.parse_args()
    called: dict[str, set[str]] = defaultdict(set)
    counting = False

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if counting and event == "call" and path.is_relative_to(ROOT):
            called[str(path.relative_to(ROOT))].add(frame.f_code.co_qualname)

    run = Engine.run

    def counted(self: Engine, *given: object, **named: object) -> object:
        nonlocal counting
        for number, each in enumerate(run(self, *given, **named)):  # type: ignore[arg-type]
            if number == options.after:
                counting = True
                sys.setprofile(note)
            yield each
        counting = False
        sys.setprofile(None)

    Engine.run = counted  # type: ignore[method-assign]
    threading.setprofile(note)
    with ir.Context():
        module = ir.Module.parse(PROGRAM)
        iree_tuner.tune_module(module, candidates=options.candidates, strategy=options.strategy, db=None)
    for path, functions in sorted(called.items()):
        print(f"{len(functions):4} {path}: {', '.join(sorted(functions))}")
    print(f"{len(called)} files, {sum(map(len, called.values()))} functions")


if __name__ == "__main__":
    main()
