"""Write the models as files, for the tuner and for other frameworks.

    python examples/models/export.py --model all --output FOLDER
    python examples/models/export.py --model gpu --program-only --output FOLDER

For each model: NAME.mlir, StableHLO from JAX, with the weights in NAME.irpa; NAME.jax, what `jax.export`
makes of the same function; NAME.onnx, from PyTorch; and NAME.npz, the inputs (`input0`, ...) and what
PyTorch computes from them (`output0`, ...). Of a quantized model, NAME.onnx is what onnxruntime's tools
make, and outputs are onnxruntime's. With `--program-only` nothing but NAME.mlir, as
`benchmarks/gpu_models.py` wants it (`--model gpu` has its models). `--model further_cpu` has three more for
CPUs.
To tune and to run:

    cd FOLDER && python -m zipfile -e encoder.npz .
    iree-tuner tune encoder.mlir --parameters model=encoder.irpa --input input0.npy \\
        -o encoder.spec.mlir --vmfb encoder.vmfb
    iree-run-module --module=encoder.vmfb --parameters=model=encoder.irpa --function=main \\
        --input=@input0.npy --expected_output=@output0.npy --expected_output=@output1.npy

Needs jax, and without `--program-only` torch, onnx, onnxscript and, for quantized models, onnxruntime. The
weights are random, the same in each run.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.models import (
    CPU_MODELS,
    DECODERS,
    DRAWN_KINDS,
    FEW_BITS,
    FIFTH_KINDS,
    FOURTH_KINDS,
    FURTHER_GPU_MODELS,
    FURTHER_MODELS,
    GPU_KINDS,
    GPU_MODELS,
    LARGE_MODELS,
    MODELS,
    SECOND_KINDS,
    THIRD_KINDS,
)
from examples.models.in_jax import exported, stablehlo
from examples.models.model import Model
from examples.models.to_mlir import write_mlir, write_parameters

EVERY = CPU_MODELS | GPU_MODELS | FURTHER_GPU_MODELS | GPU_KINDS | DRAWN_KINDS | SECOND_KINDS
EVERY |= THIRD_KINDS | FOURTH_KINDS | FIFTH_KINDS | LARGE_MODELS | DECODERS | FEW_BITS
GROUPS = {
    "all": [*MODELS.values()],
    "gpu": [*GPU_MODELS.values()],
    "further": [*FURTHER_GPU_MODELS.values()],
    "kinds": [*GPU_KINDS.values()],
    "drawn": [*DRAWN_KINDS.values()],
    "second": [*SECOND_KINDS.values()],
    "third": [*THIRD_KINDS.values()],
    "fourth": [*FOURTH_KINDS.values()],
    "fifth": [*FIFTH_KINDS.values()],
    "few_bits": [*FEW_BITS.values()],
    "further_cpu": [*FURTHER_MODELS.values()],
    "large": [*LARGE_MODELS.values()],
}


def main() -> None:
    """Write what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=[*EVERY, *GROUPS], default="all")
    parser.add_argument("--program-only", action="store_true", help="of a model, write only the .mlir")
    parser.add_argument(
        "--weights", action="store_true", help="with --program-only, its weights too: NAME.irpa"
    )
    parser.add_argument("--output", type=Path, required=True, help="folder of the files")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for model in GROUPS.get(options.model) or [EVERY[options.model]]:
        (write_program if options.program_only else export)(model, options.output)
        if options.weights and options.program_only:
            write_parameters(model.weights().draw(), options.output / f"{model.name}.irpa")
        print(f"{model.name}: {model.summary}", file=sys.stderr)


def export(model: Model, folder: Path) -> None:
    """Write the five files of one model."""
    from examples.models.in_torch import names, onnx_outputs, torch_outputs, write_onnx

    write_program(model, folder)
    path = folder / model.name
    path.with_suffix(".jax").write_bytes(exported(model))
    write_parameters(model.weights().draw(), path.with_suffix(".irpa"))
    ins, outs = names(model)
    if model.onnx is None:
        write_onnx(model, path.with_suffix(".onnx"))
        expected = torch_outputs(model)
    else:
        path.with_suffix(".onnx").write_bytes(model.onnx())
        expected = onnx_outputs(model)
    values = dict(zip(ins + outs, [*model.example(), *expected], strict=True))
    np.savez(path.with_suffix(".npz"), **values)


def write_program(model: Model, folder: Path) -> None:
    """Write the program, which names its weights."""
    weights, text = stablehlo(model)
    write_mlir(text, model.name, weights, folder / f"{model.name}.mlir")


if __name__ == "__main__":
    main()
