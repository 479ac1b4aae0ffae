"""Every program of `exported/` with the commands that run programs, and the features on docs/frameworks.md.

By default a few cells of the table are run, with `--all` every one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from amounts import ALL
from once import each_once  # noqa: F401 (a fixture)

from iree_tuner.cli.main import run

HERE = Path(__file__).parent
PROGRAMS = HERE / "exported"
PAGE = HERE.parents[1] / "docs" / "frameworks.md"
COMMANDS = {
    "run": (),
    "bench": ("--rounds", "4"),
    "profile": (),
    "tune": (
        "--effort", "smoke", "--no-db", "--jobs", "1", "--candidates", "1", "--keep-flags", "--no-profile",
    ),
}  # fmt: skip
BY_DEFAULT = {("jax_donated_cache.mlir", "run"), ("jax_portable.mlirbc", "run")}
SIZED = ("--dim", "8")


@dataclass(frozen=True)
class Row:
    """A row of the table.

    Attributes:
        program: file in `exported/`.
        feature: what is special about it.
        arguments: of each command.
        refused: a part of the message of the commands that cannot handle it; empty where all succeed.
        why: the cause, for the table.
        tuned: whether `tune` handles it all the same: it runs the program only to compare a win.
    """

    program: str
    feature: str
    arguments: tuple[str, ...] = ()
    refused: str = ""
    why: str = ""
    tuned: bool = False

    def fails(self, command: str) -> bool:
        """Whether a command ends with the message."""
        return bool(self.refused) and not (self.tuned and command == "tune")


ROWS = (
    Row("jax_donated_cache.mlir", "a donated cache, written at a position"),
    Row("jax_train_step_remat.mlir", "a training step with `jax.checkpoint` and donated weights"),
    Row("jax_scan.mlir", "`lax.scan`"),
    Row("jax_while_loop.mlir", "`lax.while_loop` until a sum is small"),
    Row("jax_cond.mlir", "`lax.cond`"),
    Row("jax_vmap.mlir", "`jax.vmap`"),
    Row("jax_int8_dot.mlir", "a product of int8 with sums in int32"),
    Row("jax_fft.mlir", "`jnp.fft.rfft`"),
    Row("jax_embedding_top_k.mlir", "rows of a table, `lax.top_k`"),
    Row("jax_attention.mlir", "causal attention"),
    Row("jax_image_u8.mlir", "an image of `uint8`"),
    Row("jax_random_key_data.mlir", "`jax.random.normal`, the key's data as input"),
    Row("jax_dynamic.mlir", "`jax.export` with a symbolic dimension", SIZED),
    Row("jax_portable.mlirbc", "a portable artifact (`Exported.mlir_module_serialized`)"),
    Row("jax_portable_dynamic.mlirbc", "the same with a symbolic dimension", SIZED),
    Row(
        "jax_random.mlir", "`jax.random.normal`, the seed as input",
        refused="indirect buffer reference slot 0 is out range",
        why="IREE's runtime fails, as the recorded commands lack a buffer", tuned=True,
    ),
    Row(
        "jax_attention_bf16.mlir", "the same attention in bf16",
        refused="failed to legalize operation 'stablehlo.dot_general'",
        why="the compiler does not take `algorithm` of a product",
    ),
    Row(
        "jax_dynamic_softmax.mlir", "a softmax with a symbolic dimension", SIZED,
        refused="failed to legalize operation 'stablehlo.dynamic_broadcast_in_dim'",
        why="the compiler does not take `dynamic_broadcast_in_dim`",
    ),
    Row(
        "jax_sharded.mlir", "a sharding constraint",
        refused="Dialect `sdy' not found",
        why="the compiler does not know the dialect `sdy`",
    ),
    Row("torch_dynamic_batch.mlir", "`torch.export.Dim`", SIZED),
    Row("torch_embedding_dynamic.mlir", "an embedding of a dynamic number of tokens", SIZED),
    Row("torch_mutable_buffer.mlir", "a buffer that calls change"),
    Row("torch_two_functions.mlir", "two functions (`FxProgramsBuilder`)"),
    Row(
        "torch_parameters.mlir", "parameters in an archive",
        ("--parameters", str(PROGRAMS / "torch_parameters.irpa")),
    ),
    Row("torch_attention.mlir", "`scaled_dot_product_attention`, causal"),
    Row("torch_attention_f16.mlir", "the same in f16"),
    Row("torch_conv_batch_norm.mlir", "a convolution with a batch norm"),
    Row("torch_int8_weights.mlir", "activations that are quantized in the program, int8 weights"),
    Row("onnx_dynamic_batch.onnx", "a dimension with a name", SIZED),
    Row("onnx_int8_conv.onnx", "a convolution between `QuantizeLinear` and `DequantizeLinear`"),
    Row("onnx_int8_matmul.onnx", "`MatMulInteger` with a dynamic batch", SIZED),
    Row("onnx_embedding_top_k.onnx", "`Gather`, `TopK`"),
    Row("onnx_lstm.onnx", "`LSTM`"),
    Row("onnx_if.onnx", "`If`"),
)  # fmt: skip
CELLS = [
    pytest.param(row, command, id=f"{row.program}-{command}")
    for row in ROWS
    for command in COMMANDS
    if ALL or (row.program, command) in BY_DEFAULT
]


@pytest.mark.parametrize(("row", "command"), CELLS)
def test_a_command_handles_it(
    row: Row, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if row.program.endswith(".onnx"):
        pytest.importorskip("onnx", reason="needs the extra onnx")
    monkeypatch.chdir(tmp_path)
    status = run([command, str(PROGRAMS / row.program), *row.arguments, *COMMANDS[command]])
    told = capfd.readouterr().err
    assert status == (1 if row.fails(command) else 0), told
    assert "Traceback" not in told
    if row.fails(command):
        assert row.refused in told
        assert len(told.splitlines()) == 1
        assert told.startswith("error: ")


def test_every_program_is_in_the_table() -> None:
    written = {path.name for path in PROGRAMS.iterdir() if path.suffix in (".mlir", ".mlirbc", ".onnx")}
    assert written == {row.program for row in ROWS}


def shown() -> str:
    """What the page has: features that work by framework, and a table of those that fail."""
    lines = list[str]()
    for name, prefix in (("JAX", "jax_"), ("PyTorch", "torch_"), ("ONNX", "onnx_")):
        fine = [row.feature for row in ROWS if row.program.startswith(prefix) and not row.refused]
        lines += [f"* **{name}**: {'; '.join(fine)}."]
    lines += ["", "| program | feature, and why it fails | `tune` |", "|---|---|---|"]
    for row in ROWS:
        if row.refused:
            tuned = "no" if row.fails("tune") else "yes"
            lines.append(f"| `{row.program}` | {row.feature}: {row.why} | {tuned} |")
    return "\n".join(lines)


def test_the_page_has_the_features() -> None:
    assert shown() in PAGE.read_text(), f"docs/frameworks.md should have:\n{shown()}"
