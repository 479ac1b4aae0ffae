"""What a dispatch does not use of the buffer of all intermediate values is not in its harness."""

from itertools import pairwise

import pytest
from amounts import some
from hypothesis import given
from hypothesis import strategies as st

from iree_tuner.check.check import Check
from iree_tuner.device.bench import Bench
from iree_tuner.device.data import fill, values_in
from iree_tuner.device.memory import LoadedDispatch
from iree_tuner.ops.tolerance import Tolerance
from iree_tuner.program.bindings import Binding, TensorSlice
from iree_tuner.program.extract import extract
from iree_tuner.program.harness import _packed
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab

SQUARE, WIDE, TALL = "tensor<64x64xf32>", "tensor<64x80xf32>", "tensor<80x64xf32>"


def product(result, a, b, types, out, start):
    return f"  %{result} = linalg.matmul ins(%{a}, %{b} : {types}) outs(%{start} : {out}) -> {out}\n"


def zeros(name, out):
    return f"""  %{name}_empty = tensor.empty() : {out}
  %{name} = linalg.fill ins(%zero : f32) outs(%{name}_empty : {out}) -> {out}
"""


# Each product is a dispatch of its own, and all that is between them lies in one buffer.
PROGRAM = f"""func.func @main(%x: {WIDE}, %w: {TALL}) -> {WIDE} {{
  %zero = arith.constant 0.0 : f32
{zeros("z", SQUARE)}{zeros("y", WIDE)}{product("a", "x", "w", f"{WIDE}, {TALL}", SQUARE, "z")}\
{product("b", "a", "a", f"{SQUARE}, {SQUARE}", SQUARE, "z")}\
{product("r", "b", "x", f"{SQUARE}, {WIDE}", WIDE, "y")}\
  return %r : {WIDE}
}}
"""

RANGES = st.lists(
    st.tuples(st.integers(0, 1 << 20), st.integers(1, 1 << 16), st.integers(0, 1 << 20), st.booleans()),
    max_size=6,
)


@given(RANGES)
def test_ranges_that_are_used_never_overlap(drawn):
    bindings, used, start = [], {}, 0
    for number, (first, size, rest, known) in enumerate(drawn):
        bindings.append(Binding(start, first + size + rest, ()))
        start += first + size + rest
        if known:
            used[number] = first, first + size
    packed = _packed(bindings, used)
    places = []
    for number, (old, new) in enumerate(zip(bindings, packed, strict=True)):
        first, last = used.get(number, (0, old.length))
        assert new.offset >= 0
        assert new.offset % 4096 == 0
        assert new.length == last
        places.append((new.offset + first, new.offset + last))
    assert all(end <= start for (_, end), (start, _) in pairwise(sorted(places)))


@pytest.mark.parametrize("chip", some(["host+data-tiling", "host"], 2))
def test_packed_dispatches_compute_what_they_are_to(chip, tmp_path):
    path = tmp_path / "chain.mlir"
    path.write_text(PROGRAM)
    target = target_for_device("local-task", chip)
    with Lab(target) as lab:
        dispatches = extract(load_program(path), target, lab.compilers).dispatches
        harnesses = [each.harness for each in dispatches if each.harness is not None]
        built = [lab.builder.build(each, None) for each in harnesses]
    assert len(harnesses) >= 3
    for harness, default in zip(harnesses, built, strict=True):
        tensors = [tensor for binding in harness.bindings for tensor in binding.tensors]
        assert all(binding.offset + binding.length <= harness.buffer_bytes for binding in harness.bindings)
        assert len(tensors) >= 2
        bench = Bench(harness, "local-task", default.vmfb, Tolerance("f32", 80))
        found = Check(bench).thorough(LoadedDispatch(default.vmfb, harness, "local-task"))
        assert found.ok, found.message
        assert chip != "host" or not found.note  # the interpreter has computed the same
    if chip == "host":
        two_whole_buffers = 2 * 2 * 64 * 64 * 4
        assert min(each.buffer_bytes for each in harnesses) < two_whole_buffers


def test_what_has_no_values_of_ours_leaves_those_of_others_alone():
    ours = Binding(0, 64, (TensorSlice(0, (16,), "f32", "read"),))
    scales = Binding(0, 80, (TensorSlice(64, (16,), "f8E3M4", "read"),))
    buffer = fill((ours, scales), 128, 1)
    assert values_in(buffer, ours, ours.tensors[0]).all()
    assert not buffer[64:80].any()
