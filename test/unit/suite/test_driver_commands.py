"""Commands of MIOpen's, BOO's and Fusilli's drivers: the operations that they are, and their numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from amounts import some
from made_operations import layer_by_definition
from suite_programs import Compiled

from iree_tuner.cli.inputs import opened
from iree_tuner.cli.main import run
from iree_tuner.compiler.context import new_context
from iree_tuner.compiler.session import parse_module
from iree_tuner.errors import TunerError, UsageError
from iree_tuner.suite.driver_commands import is_command, operations_of
from iree_tuner.suite.exact import Exact
from iree_tuner.suite.kinds.layer import ConvolutionLayer
from iree_tuner.suite.plan import items_from

NHWC = "--in_layout NHWC --out_layout NHWC --fil_layout NHWC"
NDHWC = "--in_layout NDHWC --out_layout NDHWC --fil_layout NDHWC"
AROUND = "-$ 1 -p 1 -q 1 -_ 3"
COMMANDS = {
    "forward, NHWC": f"convbfp16 -n 2 -c 16 -H 12 -W 10 -k 32 -y 1 -x 1 -u 1 -v 1 -m conv -F 1 -t 1 {NHWC}",
    "forward, padded": f"convfp16 -n 2 -c 16 -H 9 -W 8 -k 24 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 1 {NHWC}",
    "forward, NCHW": "convbfp16 -n 2 -c 16 -H 9 -W 8 -k 24 -y 3 -x 3 -p 1 -q 1 -l 2 -j 2 -F 1",
    "forward, groups": f"convfp16 -n 2 -c 16 -H 9 -W 8 -k 32 -y 3 -x 3 -p 1 -q 1 -g 4 -F 1 {NHWC}",
    "forward, 3-D": f"convbfp16 -n 1 -c 8 -! 4 -H 6 -W 6 -k 16 -@ 3 -y 3 -x 3 {AROUND} -F 1 {NDHWC}",
    "data, NHWC": f"convbfp16 -n 2 -c 16 -H 9 -W 8 -k 24 -y 3 -x 3 -p 1 -q 1 -F 2 {NHWC}",
    "data, strides": f"convfp16 -n 2 -c 16 -H 9 -W 8 -k 24 -y 3 -x 3 -p 1 -q 1 -u 2 -v 2 -F 2 {NHWC}",
    "data, groups, NCHW": "convfp16 -n 2 -c 16 -H 9 -W 8 -k 32 -y 3 -x 3 -p 1 -q 1 -g 2 -F 2",
    "data, 3-D": f"convfp16 -n 1 -c 8 -! 4 -H 6 -W 6 -k 16 -@ 3 -y 3 -x 3 {AROUND} -F 2 {NDHWC}",
    "weights, NHWC": f"convbfp16 -n 4 -c 16 -H 9 -W 8 -k 24 -y 3 -x 3 -p 1 -q 1 -F 4 {NHWC}",
    "weights, groups, NCHW": "convfp16 -n 4 -c 16 -H 9 -W 8 -k 32 -y 3 -x 3 -p 1 -q 1 -g 2 -u 2 -v 1 -F 4",
    "weights, 3-D": "convbfp16 -n 2 -c 8 -! 4 -H 6 -W 6 -k 16 -@ 3 -y 3 -x 3 -# 1 -$ 1 -p 1 -q 1 -_ 3 -F 4",
}


@pytest.fixture(scope="module")
def compiled(cpu, compilers):
    """The operations of all tests of numbers."""
    layers = [layer(direction, sizes) for direction, sizes in some(EVERY, 3)]
    return Compiled(
        [*(operations_of(each)[0] for each in some(COMMANDS.values(), 3)), *layers], cpu, compilers
    )


@pytest.mark.parametrize("command", some(COMMANDS.values(), 3), ids=some(COMMANDS, 3))
def test_what_the_compiler_makes_of_a_command_computes_it(command, tmp_path, compiled):
    (operation,) = operations_of(command)
    found = compiled.agreement(operation, tmp_path)
    assert found.ok, found.message


@pytest.mark.parametrize("command", some(COMMANDS.values(), 5))
def test_a_command_has_spaces_for_amd(command, capsys):
    assert run(["space", command, "--target", "hip:gfx942", "--sample", "2", "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert any("_conv_" in each["name"] or "_matmul" in each["name"] for each in found)
    assert not any("slow_memcpy" in each["name"] for each in found), "nothing tiles a copy between buffers"
    assert all(len(each["samples"]) == min(2, each["count"]) for each in found)


def ways(command):
    return [operation.name for operation in operations_of(command)]


def test_drivers_differ_in_what_they_mean_without_a_direction():
    sizes = "conv -n 1 -c 4 -H 8 -W 8 -k 4"
    assert len(ways(f"./bin/MIOpenDriver {sizes}")) == 3
    assert ways(f"./bin/MIOpenDriver {sizes} -F 5") == [*ways(f"{sizes} -F 1"), *ways(f"{sizes} -F 4")]
    assert ways(f"iree-boo-driver {sizes}") == ways(sizes) == ways(f"{sizes} -F 1")


def test_fusilli_says_types_and_directions_in_its_own_way():
    sizes = "-n 2 -c 8 -H 8 -W 6 -k 4 -y 3 -x 3 -u 1 -v 1 -p 1 -q 1 -l 1 -j 1"
    fusilli = (
        f"fusilli_benchmark_driver --iter 10 -D 0 conv --bf16 --mode 4 {sizes} {NHWC} --spatial_dim 2 --bias"
    )
    assert ways(fusilli) == ways(f"convbfp16 {sizes} -F 4 {NHWC}")
    forward = fusilli.replace("--mode 4", "-F 1")
    assert ways(forward) == ways(f"convbfp16 {sizes} -F 1 -b 1 {NHWC}")


def gradients(m, n, k, a_turned, b_turned):
    """dA and dB of C = A B, as they lie."""
    rng = np.random.default_rng(3)
    a, b, c = rng.standard_normal((m, k)), rng.standard_normal((k, n)), rng.standard_normal((m, n))
    of_a, of_b = c @ b.T, a.T @ c
    a, of_a = (each.T if a_turned else each for each in (a, of_a))
    b, of_b = (each.T if b_turned else each for each in (b, of_b))
    return a, b, c, of_a, of_b


@pytest.mark.parametrize("a_turned", [0, 1])
@pytest.mark.parametrize("b_turned", [0, 1])
def test_products_and_their_gradients(a_turned, b_turned):
    a, b, c, of_a, of_b = gradients(4, 6, 5, a_turned, b_turned)
    command = f"gemm -m 4 -n 6 -k 5 -u {a_turned} -v {b_turned}"
    orders = {1: (a, b), 2: ((b, c) if a_turned else (c, b)), 3: ((c, a) if b_turned else (a, c))}
    for direction, wanted in ((2, of_a), (3, of_b)):
        (operation,) = operations_of(f"{command} -F {direction}")
        lhs, rhs = orders[direction]
        assert [each.shape for each in operation.inputs] == [lhs.shape, rhs.shape]
        left = lhs if operation.layout[0] == "t" else lhs.T
        right = rhs if operation.layout[1] == "t" else rhs.T
        np.testing.assert_allclose(left @ right, wanted)
    (forward,) = operations_of(f"{command} -F 1")
    assert [each.shape for each in forward.inputs] == [a.shape, b.shape]


def test_fusilli_products():
    command = "matmul -M 8 -N 4 -K 16 -B {} --a_type f16 --b_type f16 --out_type f32 --transB"
    assert ways(command.format(1)) == ["matmul_8x4x16_f16t_f16n_f32t"]
    assert ways(command.format(3)) == ["batch_matmul_3x8x4x16_f16t_f16n_f32t"]


def test_a_file_is_a_program_with_a_function_for_each(tmp_path):
    path = tmp_path / "convs.txt"
    lines = ["# from a training run", "", f"12\t./bin/MIOpenDriver {COMMANDS['data, NHWC']}"]
    path.write_text("\n".join([*lines, COMMANDS["data, NHWC"], COMMANDS["weights, 3-D"]]))
    program = opened(str(path))
    module = parse_module(program.data, new_context(), program.name)
    names = [function.name.value for function in module.body.operations]
    assert names == [*ways(COMMANDS["data, NHWC"]), *ways(COMMANDS["weights, 3-D"])]
    assert [item.operation.name for item in items_from([str(path)])] == names


@pytest.mark.exhaustive  # each of its parts is tested above, and short commands in lit
def test_a_long_command_is_tuned_and_suited(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = f"gemm -m 24 -n 32 -k 40 {'-i 1 ' * 60}"
    assert len(command) > 255, "longer than a file's name"
    assert run(["tune", command, "--effort", "smoke", "--keep-flags", "--no-profile", "--no-db"]) == 0
    assert (tmp_path / "gemm.spec.mlir").exists()
    assert "iree-compile 'gemm" not in capsys.readouterr().out
    assert [item.operation.name for item in items_from([command])] == ["matmul_24x32x40_f32t_f32t_f32t"]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("convint8 -n 1", "convint8: unsupported command"),
        ("layernorm --input 4x5", "layernorm: unsupported command"),
        ("conv -n 0", "conv: argument --batchsize/-n: 0 is below 1"),
        ("conv -n x", "conv: argument --batchsize/-n: invalid whole number value: 'x'"),
        ("conv -Q 1", "conv: unrecognized arguments: -Q 1"),
        ("conv -m trans", "transposed convolutions are not supported"),
        ("conv -r 1", "only zero padding"),
        ("conv -c 3 -g 2", "groups: c (3) is not a multiple of 2"),
        ("conv -_ 4", "--spatial_dim must be 1, 2 or 3"),
        ("conv -F 8", "-F must be a sum of 1, 2 and 4"),
        ("conv --in_layout NHWK", "in_layout: 'NHWK' is not a permutation of NCHW"),
        ("conv -y 40 -x 3", "the kernel of 40x3 is larger than the padded image of 32x32"),
        ("matmul -M 8", "n must be at least 1, but is 0"),
        ("conv -n '1", "No closing quotation"),
        ("fusilli_benchmark_driver --iter 10", "unsupported command"),
    ],
)
def test_mistakes_are_told(command, says):
    assert is_command(command)
    with pytest.raises(UsageError) as caught:
        operations_of(command)
    assert says in str(caught.value)


def test_mistakes_in_a_file_have_their_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "convs.txt").write_text("# two\nconv -n 1 -c 4 -k 4\nconv -n 1 -c 3 -g 2\n")
    with pytest.raises(TunerError, match=r"convs.txt:3: groups: c \(3\) is not a multiple of 2"):
        opened("convs.txt")
    assert run(["extract", "convs.txt"]) == 1
    assert capsys.readouterr().err.startswith("error: convs.txt:3: ")
    (tmp_path / "none.txt").write_text("# nothing\n")
    with pytest.raises(TunerError, match="the file has no commands"):
        opened("none.txt")
    (tmp_path / "words.txt").write_text("hello world\n")
    with pytest.raises(TunerError, match=r"words.txt:1: the text is not the command of a driver"):
        opened("words.txt")


DIRECTIONS = ["forward", "data", "weights"]
SIZES = [
    {"image": "5x6", "kernel": "3x2", "strides": "2x1", "padding": "1x0", "dilations": "1x2"},
    {"image": "7", "kernel": "2", "strides": "3", "padding": "2", "dilations": "1"},
    {"image": "3x4x3", "kernel": "2x1x2", "strides": "1x1x1", "padding": "1x0x1", "dilations": "2x1x1"},
    {"image": "4x5", "kernel": "1x1", "strides": "2x3", "padding": "1x2", "dilations": "1x1"},
]
EVERY = [
    (DIRECTIONS[(number + more) % 3], sizes) for number, sizes in enumerate(SIZES) for more in range(3)
]  # by default, each size in one of the directions


def layer(direction, sizes):
    """A convolution in a direction; its dimensions lie as usual."""
    usual = {1: "NCW", 2: "NCHW", 3: "NCDHW"}[len(sizes["image"].split("x"))]
    layouts = {f"{each}_layout": usual for each in ("in", "fil", "out")}
    found = ConvolutionLayer(direction=direction, n=2, c=4, k=6, groups=2, **sizes, **layouts)
    found.check()
    return found


@pytest.mark.parametrize(
    ("direction", "sizes"), some(EVERY, 3), ids=[f"{one}-{each['image']}" for one, each in some(EVERY, 3)]
)
def test_the_reference_computes_the_definition(direction, sizes, tmp_path, compiled):
    operation = layer(direction, sizes)
    rng = np.random.default_rng(1)
    lhs, rhs = (rng.standard_normal(each.shape) for each in operation.inputs)
    found = Exact().layer(operation._layer, lhs, rhs, "f64")
    np.testing.assert_allclose(found, layer_by_definition(operation._layer, lhs, rhs), rtol=1e-12, atol=1e-12)
    agreed = compiled.agreement(operation, tmp_path)
    assert agreed.ok, agreed.message
