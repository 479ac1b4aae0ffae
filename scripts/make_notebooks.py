"""Write the notebooks of examples/notebooks from the cells below, run them, and keep their output.

    python scripts/make_notebooks.py            # both
    python scripts/make_notebooks.py explore    # one

Needs nbclient and ipykernel (extra `dev`) and the extra `report`. Run it on a quiet machine: the output of
`tune` has times. `test/unit/test_notebooks.py` runs the code without a notebook's kernel.
"""

from __future__ import annotations

import sys

import nbformat
from looks import ROOT
from nbclient import NotebookClient

FOLDER = ROOT / "examples" / "notebooks"

TUNE = (
    """# Tune a model from JAX

`examples/mlp_batch1.mlir` is a network of three layers that JAX exported. This notebook tunes it for
the CPU, looks at the result, and runs the tuned program. It takes about a minute. Its output is of a
machine that was busy with other work: intervals are wide, and your numbers will differ.""",
    """import tempfile
from pathlib import Path

import iree.runtime as rt
import numpy as np

import iree_tuner

ROOT = next(each for each in (Path.cwd(), *Path.cwd().parents) if (each / "examples").is_dir())
OUTPUT = Path(tempfile.mkdtemp())
OPTIONS = {"effort": "quick"}""",
    """`tune_module` takes a file, MLIR text or an `ir.Module`. It keeps no database unless you pass `db=`. In
an interactive notebook, `progress=True` shows what it does.""",
    """result = iree_tuner.tune_module(ROOT / "examples" / "mlp_batch1.mlir", device="local-task", **OPTIONS)
result""",
    """The table has a row for each workload: its share of the run time, and the speedup of its best
configuration. The first line is the whole program with the spec, compared with the program without it.
A `tie` keeps the compiler's choice.""",
    """compared = result.verdict is not None
print("the program:", f"{result.speedup:.2f}x, verdict {result.verdict}" if compared else "not compared")
for each in result.results:
    print(f"{each.task.workload.name:32} {len(each.trials):3} candidates, {each.verdict}")""",
    """`save` writes the spec as text. Each matcher records how its entry was measured: `iree-tuner spec
explain` prints it.""",
    """result.save(OUTPUT / "mlp.spec.mlir")
print((OUTPUT / "mlp.spec.mlir").read_text()[:600])""",
    """`vmfb` compiles the program with the spec. It runs with IREE's runtime alone.""",
    """(OUTPUT / "mlp.vmfb").write_bytes(result.vmfb())
module = rt.load_vm_flatbuffer_file(str(OUTPUT / "mlp.vmfb"), driver="local-task")
rng = np.random.default_rng(0)
shapes = [(1, 784), (784, 1024), (1024,), (1024, 1024), (1024,), (1024, 10), (10,)]
inputs = [rng.standard_normal(shape, np.float32) / 32 for shape in shapes]
print(module.main(*inputs).to_host().shape)""",
)
EXPLORE = (
    """# Explore a search space and a recording

A space has the legal values of the knobs of one compiler pipeline. A recording is a measured sample of
a space. Nothing here needs a device.""",
    """from collections import Counter
from pathlib import Path

import altair as alt
import numpy as np

from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.worker import Workers
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.search.replay.recorded import read_recording
from iree_tuner.search.replay.run import replay_all
from iree_tuner.space.build import build_space
from iree_tuner.targets import parse_target

ROOT = next(each for each in (Path.cwd(), *Path.cwd().parents) if (each / "recordings").is_dir())""",
    """## The space

The compiler extracts the dispatches of a program for a target. Each has a workload, and a workload has
a space.""",
    """program = load_program(ROOT / "programs/recorded/cpu/matmul_512x768x1024.mlir")
with Workers(1) as workers:
    (dispatch,) = extract(program, parse_target("llvm-cpu:znver4"), workers).dispatches
space = build_space(dispatch.workload, dispatch.limits, new_context())
print(f"{dispatch.workload.name}, {space.label}: {space.count():,} legal assignments")
for knob in space.knobs:
    print(f"  {knob.name:22} {' '.join(map(str, space.domain(knob.name)))}")""",
    """`sample` draws legal assignments uniformly. `violations` explains why an assignment is illegal.""",
    """member, other = space.sample(2, seed=0)
print(dict(member))
print(space.violations({**member, "vector_0": 384, "vector_1": 768}))""",
    """An assignment stands for attributes of the op:""",
    """for each in space.configuration(member).ops:
    print(each)""",
    """## A recording of it

330 members of this space were measured on two Zen 5 cores. Scores are times relative to the compiler's
default.""",
    """recording = read_recording(ROOT / "recordings/llvm-cpu/zen5/matmul_512x768x1024_f32_f32_f32.jsonl.gz")
times = np.array([score for score in recording.scores.values() if np.isfinite(score)])
print(f"{times.size} of {len(recording.scores)} members ran; {(times < 1).sum()} are faster than the default")
print(f"of the default's time, the best takes {times.min():.2f}, and the median {np.median(times):.1f}")""",
    """How long do all of them take?""",
    """alt.renderers.enable("svg")
alt.Chart(alt.Data(values=[{"score": float(each)} for each in times])).mark_bar().encode(
    x=alt.X("score:Q", bin=alt.Bin(step=1, extent=[0, 25]), title="time, of the default's"),
    y=alt.Y("count()", title="members"),
).properties(width=420, height=180)""",
    """Which values do the best members have?""",
    """best = sorted(recording.scores, key=recording.scores.get)[:20]
for name in ("vector_0", "vector_1", "cache_2"):
    counts = Counter(member[name] for member in best)
    print(f"{name}: " + ", ".join(f"{value} ({count})" for value, count in counts.most_common(4)))""",
    """A strategy can be replayed on a recording: this is its best time so far, as a multiple of the best
recorded time.""",
    """for strategy in ("shuffle", "local", "analytic"):
    (run,) = replay_all(recording, strategy, seeds=[0], budget=64, batch=8)
    print(f"{strategy:9}", " ".join(f"{run.best_after[place - 1]:6.2f}" for place in (1, 4, 16, 64)))""",
)
NOTEBOOKS = {"tune": ("tune_a_model", TUNE), "explore": ("explore_a_space", EXPLORE)}


def main() -> None:
    """Write what is named, or both."""
    for name in sys.argv[1:] or NOTEBOOKS:
        stem, cells = NOTEBOOKS[name]
        notebook = nbformat.v4.new_notebook()
        notebook.metadata["kernelspec"] = {
            "name": "python3",
            "display_name": "Python 3",
            "language": "python",
        }
        notebook.cells = [
            nbformat.v4.new_code_cell(text) if place % 2 else nbformat.v4.new_markdown_cell(text)
            for place, text in enumerate(cells)
        ]
        path = FOLDER / f"{stem}.ipynb"
        NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(FOLDER)}}).execute()
        for place, cell in enumerate(notebook.cells):
            cell["id"] = f"{stem}-{place}".replace("_", "-")
            cell.metadata.pop("execution", None)
        nbformat.write(notebook, path)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
