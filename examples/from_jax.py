"""From JAX: lower a function to StableHLO, tune it, run the result with IREE's runtime.

    pip install 'iree-tuner[jax]'
    python examples/from_jax.py --output FOLDER

Weights that the function closes over become constants of the program; those of a large model are better kept
in a file of their own (docs/frameworks.md). Deploying needs `iree-base-runtime` only.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import iree.runtime as rt
import jax
import jax.numpy as jnp
import numpy as np

import iree_tuner

ROWS, WIDTH, HIDDEN = 64, 128, 256


def block(weights: dict[str, jax.Array], x: jax.Array) -> jax.Array:
    """Two dense layers and a softmax."""
    return jax.nn.softmax(jax.nn.relu(x @ weights["in"]) @ weights["out"], axis=-1)


def main() -> None:
    """Export, tune, deploy."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path(), help="folder for the files")
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--budget", type=float, help="seconds for the search")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    weights = {
        "in": jnp.asarray(rng.standard_normal((WIDTH, HIDDEN), np.float32) * WIDTH**-0.5),
        "out": jnp.asarray(rng.standard_normal((HIDDEN, WIDTH), np.float32) * HIDDEN**-0.5),
    }
    x = rng.standard_normal((ROWS, WIDTH), np.float32)

    # Export: any function that jax.jit takes, for the shapes that it will be called with.
    function = jax.jit(lambda x: block(weights, x))
    program = str(function.lower(x).compiler_ir("stablehlo"))

    # Tune: the spec is for iree-compile, the .vmfb is the program compiled with it.
    result = iree_tuner.tune_module(
        program, device="local-task", effort=options.effort, budget_s=options.budget
    )
    result.save(options.output / "jax.spec.mlir")
    (options.output / "jax.mlir").write_text(program, encoding="utf-8")
    (options.output / "jax.vmfb").write_bytes(result.vmfb())
    program = f"speedup {result.speedup:.2f}" if result.speedup else result.why_not_compared
    print(f"{len(result.wins)} of {len(result.results)} workloads won; {program}")

    # Deploy: what a program needs that has never heard of JAX.
    module = rt.load_vm_flatbuffer_file(str(options.output / "jax.vmfb"), driver="local-task")
    found = module.main(x).to_host()
    np.testing.assert_allclose(found, np.asarray(function(x)), rtol=1e-4, atol=1e-5)
    print("the deployed program agrees with JAX")


if __name__ == "__main__":
    main()
