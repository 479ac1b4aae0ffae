"""Write the programs of this folder: what JAX, PyTorch (through iree-turbine) and ONNX export.

    python test/unit/exported/export.py jax onnx     # JAX 0.10.2, onnx 1.23.2
    python test/unit/exported/export.py torch        # PyTorch 2.13.0, iree-turbine 3.9.0

`../test_exported.py` runs them, and docs/frameworks.md lists them. Each has the form that a feature gives it,
and few numbers. Those of JAX are StableHLO text (`.mlir`) or portable artifacts (`.mlirbc`).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
WIDTH, HEADS, PLACES = 32, 2, 16


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    """Random weights in f32."""
    values = np.random.default_rng(seed).standard_normal(shape, np.float32)
    return values * np.float32(shape[0] ** -0.5)


def from_jax() -> None:
    """StableHLO: a file for each feature."""
    import jax
    import jax.numpy as jnp
    from jax import lax

    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/exported/")

    def write(name: str, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        lowered = jax.jit(function, **options).lower(*arguments)
        (HERE / f"jax_{name}.mlir").write_text(str(lowered.compiler_ir("stablehlo")))

    def of(*shape: int, kind: Any = jnp.float32) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, kind)

    w = weights(WIDTH, WIDTH)

    def cached(x: Any, cache: Any, place: Any) -> Any:
        """A step of a decoder: the new row goes into the cache, and is read with all others."""
        cache = lax.dynamic_update_slice(cache, x @ w, (place, 0))
        masked = jnp.where(jnp.arange(PLACES) <= place, x @ cache.T, -jnp.inf)
        return jax.nn.softmax(masked) @ cache, cache

    row, cache = of(1, WIDTH), of(PLACES, WIDTH)
    write("donated_cache", cached, row, cache, of(kind=jnp.int32), donate_argnums=1)
    write(
        "scan", lambda h, xs: lax.scan(lambda h, x: (jnp.tanh(h @ w + x),) * 2, h, xs), row, of(8, 1, WIDTH)
    )
    write(
        "vmap", jax.vmap(lambda x, y: jnp.argmax(jax.nn.relu(x @ y) @ w)), of(4, WIDTH), of(4, WIDTH, WIDTH)
    )
    write(
        "while_loop",
        lambda x: lax.while_loop(
            lambda s: (jnp.sum(jnp.abs(s[0])) > 1e-3) & (s[1] < 8),
            lambda s: (s[0] @ w * 0.5, s[1] + 1),
            (x, 0),
        ),
        row,
    )
    write(
        "cond",
        lambda x, flag: lax.cond(flag, lambda x: x @ w, lambda x: jnp.sin(x), x),
        row,
        of(kind=jnp.bool_),
    )

    def int8(x: Any, y: Any, scale: Any) -> Any:
        total = lax.dot_general(x, y, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
        return jnp.clip(jnp.round(total * scale), -128, 127).astype(jnp.int8)

    write("int8_dot", int8, of(8, WIDTH, kind=jnp.int8), of(WIDTH, WIDTH, kind=jnp.int8), of())
    write("fft", lambda x: jnp.abs(jnp.fft.rfft(x @ w)), row)

    def loss(w: Any, x: Any) -> Any:
        inner = jax.checkpoint(lambda w, x: jnp.tanh(x @ w))
        return jnp.mean(jnp.square(inner(w, inner(w, x))))

    def step(w: Any, x: Any) -> Any:
        found, gradient = jax.value_and_grad(loss)(w, x)
        return w - 0.1 * gradient, found

    write("train_step_remat", step, of(WIDTH, WIDTH), of(8, WIDTH), donate_argnums=0)
    write(
        "random_key_data",
        lambda key: jax.random.normal(jax.random.wrap_key_data(key), (4, WIDTH)) @ w,
        of(2, kind=jnp.uint32),
    )
    write("random", lambda seed: jax.random.normal(jax.random.key(seed), (4, WIDTH)) @ w, of(kind=jnp.uint32))
    write("embedding_top_k", lambda ids: lax.top_k(jnp.asarray(w)[ids] @ w, 4), of(8, kind=jnp.int32))
    attend = jax.nn.dot_product_attention
    for name, kind in (("attention", jnp.float32), ("attention_bf16", jnp.bfloat16)):
        write(
            name,
            lambda q, k, v: attend(q, k, v, is_causal=True),
            *[of(1, PLACES, HEADS, WIDTH, kind=kind)] * 3,
        )
    image = of(1, 16, 16, 3, kind=jnp.uint8)
    layout = ("NHWC", "HWIO", "NHWC")

    def stem(image: Any) -> Any:
        x = image.astype(jnp.float32) / 255
        return lax.conv_general_dilated(x, weights(3, 3, 3, 8), (2, 2), "SAME", dimension_numbers=layout)

    write("image_u8", stem, image)
    mesh = jax.make_mesh((1,), ("x",), axis_types=(jax.sharding.AxisType.Auto,))
    sharded = jax.NamedSharding(mesh, jax.P("x"))
    write(
        "sharded",
        lambda x: lax.with_sharding_constraint(jax.nn.relu(x @ w), sharded),
        of(8, WIDTH),
        in_shardings=sharded,
    )

    def exported(name: str, function: Callable[..., Any], *arguments: Any) -> None:
        found = jax.export.export(jax.jit(function))(*arguments)
        (HERE / f"jax_{name}.mlirbc").write_bytes(found.mlir_module_serialized)
        return found

    exported("portable", lambda x: jax.nn.softmax(x @ w), of(8, WIDTH))
    (rows,) = jax.export.symbolic_shape("rows")
    open_ = jax.ShapeDtypeStruct((rows, WIDTH), jnp.float32)
    exported("portable_dynamic", lambda x: jnp.tanh(x @ w), open_)
    for name, after in (("dynamic", jnp.tanh), ("dynamic_softmax", jax.nn.softmax)):
        found = jax.export.export(jax.jit(lambda x, after=after: after(x @ w)))(open_)
        (HERE / f"jax_{name}.mlir").write_text(str(found.mlir_module()))


def from_torch() -> None:
    """The torch dialect, as iree-turbine writes it."""
    import torch
    from iree.turbine import aot

    torch.manual_seed(0)

    def write(name: str, module: torch.nn.Module, *arguments: torch.Tensor, **options: Any) -> None:
        text = str(aot.export(module.eval(), args=arguments, function_name="main", **options).mlir_module)
        (HERE / f"torch_{name}.mlir").write_text(text)

    def module(forward: Callable[..., Any], **parts: torch.nn.Module | torch.Tensor) -> torch.nn.Module:
        found = torch.nn.Module()
        for name, part in parts.items():
            if isinstance(part, torch.nn.Module):
                found.add_module(name, part)
            else:
                found.register_buffer(name, part)
        kind = type("Exported", (torch.nn.Module,), {"forward": forward})
        found.__class__ = kind
        return found

    rows = torch.export.Dim("rows", min=1, max=64)
    linear = torch.nn.Linear(WIDTH, WIDTH)
    x = torch.randn(8, WIDTH)
    write(
        "dynamic_batch",
        module(lambda self, x: torch.softmax(self.linear(x), -1), linear=linear),
        x,
        dynamic_shapes=[{0: rows}],
    )

    def cached(self: Any, x: torch.Tensor, place: torch.Tensor) -> torch.Tensor:
        self.cache.index_copy_(0, place, self.linear(x))
        return torch.softmax(x @ self.cache.T, -1) @ self.cache

    write(
        "mutable_buffer",
        module(cached, linear=linear, cache=torch.zeros(PLACES, WIDTH)),
        x[:1],
        torch.tensor([3]),
    )
    table = torch.nn.Embedding(64, WIDTH)
    ids = torch.randint(0, 64, (2, 8))
    write(
        "embedding_dynamic",
        module(lambda self, ids: self.linear(self.table(ids)).argmax(-1), table=table, linear=linear),
        ids,
        dynamic_shapes=[{1: torch.export.Dim("length", min=2, max=64)}],
    )
    q = torch.randn(1, HEADS, PLACES, WIDTH)
    attend = torch.nn.functional.scaled_dot_product_attention
    write("attention", module(lambda _, q, k, v: attend(q, k, v, is_causal=True)), q, q, q)
    write("attention_f16", module(lambda _, q, k, v: attend(q, k, v)), *[q.half()] * 3)
    conv = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU())
    write("conv_batch_norm", conv, torch.randn(1, 3, 16, 16))
    int8 = torch.randint(-128, 127, (WIDTH, WIDTH), dtype=torch.int8)

    def quantized(self: Any, x: torch.Tensor) -> torch.Tensor:
        scale = x.abs().amax(-1, keepdim=True) / 127
        whole = torch.round(x / scale).to(torch.int8)
        return (whole.to(torch.int32) @ self.weight.to(torch.int32)).to(torch.float32) * scale

    write("int8_weights", module(quantized, weight=int8), x)

    builder = aot.FxProgramsBuilder(linear)
    builder.export_program(args=(x,), name="prefill")(lambda module, x: module(x))
    builder.export_program(args=(x[:1],), name="decode")(lambda module, x: torch.relu(module(x)))
    (HERE / "torch_two_functions.mlir").write_text(str(aot.export(builder).mlir_module))
    external = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU())
    aot.externalize_module_parameters(external)
    aot.save_module_parameters(str(HERE / "torch_parameters.irpa"), external)
    write("parameters", external, x)


def from_onnx() -> None:
    """ONNX models."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    def write(
        name: str, nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], **stored: np.ndarray
    ) -> None:
        values = [
            [helper.make_tensor_value_info(each, kind, sizes) for each, (kind, sizes) in declared.items()]
            for declared in (inputs, outputs)
        ]
        kept = [numpy_helper.from_array(value, each) for each, value in stored.items()]
        graph = helper.make_graph(nodes, "main", *values, kept)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)
        onnx.save(model, HERE / f"onnx_{name}.onnx")

    node, f32, i8 = helper.make_node, TensorProto.FLOAT, TensorProto.INT8
    w = weights(WIDTH, WIDTH)
    write(
        "dynamic_batch",
        [node("Gemm", ["x", "w", "b"], ["y"]), node("Softmax", ["y"], ["z"])],
        {"x": (f32, ["N", WIDTH])},
        {"z": (f32, ["N", WIDTH])},
        w=w,
        b=w[0],
    )
    scale, zero = np.float32(0.05), np.int8(0)
    whole = np.random.default_rng(0).integers(-128, 128, (8, 3, 3, 3), np.int8)
    write(
        "int8_conv",
        [
            node("QuantizeLinear", ["x", "s", "z"], ["q"]),
            node("DequantizeLinear", ["q", "s", "z"], ["d"]),
            node("DequantizeLinear", ["w", "s", "z"], ["f"]),
            node("Conv", ["d", "f"], ["c"], pads=[1, 1, 1, 1]),
            node("Relu", ["c"], ["r"]),
            node("QuantizeLinear", ["r", "s", "z"], ["y"]),
        ],
        {"x": (f32, [1, 3, 16, 16])},
        {"y": (i8, [1, 8, 16, 16])},
        s=scale,
        z=zero,
        w=whole,
    )
    square = np.random.default_rng(0).integers(-128, 128, (WIDTH, WIDTH), np.int8)
    write(
        "int8_matmul",
        [
            node("MatMulInteger", ["x", "w"], ["y"]),
            node("Cast", ["y"], ["f"], to=f32),
            node("Mul", ["f", "s"], ["z"]),
        ],
        {"x": (i8, ["N", WIDTH])},
        {"z": (f32, ["N", WIDTH])},
        w=square,
        s=scale,
    )
    write(
        "embedding_top_k",
        [
            node("Gather", ["table", "ids"], ["x"]),
            node("MatMul", ["x", "w"], ["y"]),
            node("TopK", ["y", "k"], ["values", "places"], axis=-1),
        ],
        {"ids": (TensorProto.INT64, [8])},
        {"values": (f32, [8, 4]), "places": (TensorProto.INT64, [8, 4])},
        table=weights(64, WIDTH),
        w=w,
        k=np.array([4], np.int64),
    )
    gates, one = weights(4 * WIDTH, WIDTH).reshape(1, 4 * WIDTH, WIDTH), [1, 1, WIDTH]
    write(
        "lstm",
        [node("LSTM", ["x", "w", "r"], ["y", "h"], hidden_size=WIDTH)],
        {"x": (f32, [4, 1, WIDTH])},
        {"y": (f32, [4, *one]), "h": (f32, one)},
        w=gates,
        r=gates,
    )
    rows = (f32, [8, WIDTH])
    branches = [
        helper.make_graph([node(kind, ["y"], [kind])], kind, [], [helper.make_tensor_value_info(kind, *rows)])
        for kind in ("Relu", "Sigmoid")
    ]
    choice = node("If", ["flag"], ["z"], then_branch=branches[0], else_branch=branches[1])
    inputs = {"x": rows, "flag": (TensorProto.BOOL, [])}
    write("if", [node("MatMul", ["x", "w"], ["y"]), choice], inputs, {"z": rows}, w=w)


if __name__ == "__main__":
    for kind in sys.argv[1:] or ("jax", "torch", "onnx"):
        {"jax": from_jax, "torch": from_torch, "onnx": from_onnx}[kind]()
