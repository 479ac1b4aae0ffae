"""From ONNX: tune a model's file, run the result with IREE's runtime.

    pip install 'iree-tuner[onnx]'
    python examples/from_onnx.py --output FOLDER
    python examples/from_onnx.py --output FOLDER --model my.onnx

Without a model it writes one: a convolution, a depthwise convolution, and a classifier. Deploying needs
`iree-base-runtime` only.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import iree.runtime as rt
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

import iree_tuner

SIZE, CHANNELS, CLASSES = 16, 32, 10


def small_model() -> onnx.ModelProto:
    """What an exporter of another framework would have written."""
    rng = np.random.default_rng(0)
    weights = {
        "stem": rng.standard_normal((CHANNELS, 3, 3, 3), np.float32) * 0.2,
        "depthwise": rng.standard_normal((CHANNELS, 1, 3, 3), np.float32) * 0.3,
        "classes": rng.standard_normal((CHANNELS, CLASSES), np.float32) * 0.2,
    }
    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["image", "stem"], ["a"], **conv),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "depthwise"], ["c"], group=CHANNELS, **conv),
        helper.make_node("Relu", ["c"], ["d"]),
        helper.make_node("ReduceMean", ["d"], ["e"], axes=[2, 3], keepdims=0),
        helper.make_node("MatMul", ["e", "classes"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, SIZE, SIZE])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, CLASSES])],
        [numpy_helper.from_array(value, name) for name, value in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def inputs_for(model: onnx.ModelProto) -> list[np.ndarray]:
    """Random values for the inputs, which must be f32 and of fixed size here."""
    rng = np.random.default_rng(1)
    stored = {each.name for each in model.graph.initializer}
    kinds = [each.type.tensor_type for each in model.graph.input if each.name not in stored]
    if any(kind.elem_type != TensorProto.FLOAT for kind in kinds):
        raise SystemExit("this example makes inputs of f32 only")
    shapes = [[each.dim_value for each in kind.shape.dim] for kind in kinds]
    if not all(all(shape) for shape in shapes):
        raise SystemExit("this example makes inputs of fixed sizes only")
    return [rng.standard_normal(shape, np.float32) for shape in shapes]


def main() -> None:
    """Tune, deploy."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path(), help="folder for the files")
    parser.add_argument("--model", type=Path, help="an ONNX model of yours")
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--budget", type=float, help="seconds for the search")
    options = parser.parse_args()
    path = options.model or options.output / "onnx.onnx"
    if options.model is None:
        onnx.save(small_model(), path)

    # Tune: the file goes through IREE's own importer.
    result = iree_tuner.tune_module(path, device="local-task", effort=options.effort, budget_s=options.budget)
    result.save(options.output / "onnx.spec.mlir")
    (options.output / "onnx.vmfb").write_bytes(result.vmfb())
    program = f"speedup {result.speedup:.2f}" if result.speedup else result.why_not_compared
    print(f"{len(result.wins)} of {len(result.results)} workloads won; {program}")

    # Deploy: the function has the name of the ONNX graph.
    model = onnx.load(path)
    module = rt.load_vm_flatbuffer_file(str(options.output / "onnx.vmfb"), driver="local-task")
    inputs = inputs_for(model)
    outputs = module[model.graph.name](*inputs)
    found = [each.to_host() for each in (outputs if isinstance(outputs, tuple | list) else [outputs])]
    names = [each.name for each in model.graph.input][: len(inputs)]
    expected = ReferenceEvaluator(model).run(None, dict(zip(names, inputs, strict=True)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-4)
    print("the deployed program agrees with ONNX's reference")


if __name__ == "__main__":
    main()
