"""Check the specs in a folder against the examples that they are named for."""

import sys
from pathlib import Path

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.spec.check import check_against_program, check_spec
from iree_tuner.spec.entry import read_provenance
from iree_tuner.spec.grammar import pairs
from iree_tuner.spec.io import load_spec
from iree_tuner.targets import parse_target

specs, examples = Path(sys.argv[1]), Path(sys.argv[2])
with Workers(1) as workers:
    for path in sorted(specs.glob("*.mlir")):
        module = load_spec(path, new_context())
        problems = [str(problem) for problem in check_spec(module)]
        for pair in pairs(module):
            measured = read_provenance(pair.matcher_op)
            if measured is None or measured.interval[0] <= 1 or not measured.chip or not measured.date:
                problems.append(f"@{pair.matcher} does not say what it is worth")
        program = (examples / path.name.replace(".spec", "")).read_bytes()
        found = check_against_program(module, program, parse_target("llvm-cpu:host"), workers=workers)
        # A matcher that matches nothing, and configurations that get lost, are problems on any CPU.
        problems += [str(problem) for problem in found.problems]
        print(f"{path.name}: {'ok' if not problems else 'problem: ' + '; '.join(problems)}")
