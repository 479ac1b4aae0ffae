"""Products of one matrix with several constants are one product, of which each is a part."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from after_abi import HOST, loaded, results, session
from amounts import some
from test_chains import equal
from weights_given import byte_layers, packed_layers

from iree_tuner.cli.main import run
from iree_tuner.compiler.context import new_context
from iree_tuner.kernels import source
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.find import find_here, find_joint_here, find_places, target_here
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.joint import JointProducts
from iree_tuner.kernels.kernel import Code, Launch
from iree_tuner.kernels.product_shape import product_shape
from iree_tuner.kernels.source import Competitors, changes_of, outlook_of
from iree_tuner.kernels.spec import save_kernel_spec
from iree_tuner.kernels.triton_gemm import TritonGemm
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.result import change_records
from iree_tuner.store import Store
from iree_tuner.store.record import ChangeRecord, record_of
from iree_tuner.targets import parse_target, target_for_device
from iree_tuner.tuning import verdict
from iree_tuner.tuning.baseline import make_tasks
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.loop import with_replaced
from iree_tuner.tuning.result import WorkloadResult

WIDTHS = {"q": 32, "k": 16, "v": 16}


def program(other: str = "%x", *, rows: int = 8, widths=WIDTHS) -> str:
    """Products with constants; that of v is with another matrix, if there is one."""
    x = f"tensor<{rows}x24xf32>"
    head, lines, kinds = [], [], []
    for name, width in widths.items():
        matrix = other if name == "v" else "%x"
        kind, result = f"tensor<24x{width}xf32>", f"tensor<{rows}x{width}xf32>"
        lines += [
            f"%l{name} = util.global.load @{name} : {kind}",
            f"%{name} = stablehlo.dot_general {matrix}, %l{name}, contracting_dims = [1] x [0] :"
            f" ({x}, {kind}) -> {result}",
        ]
        kinds.append(result)
    for name, width in widths.items():
        own = f"tensor<24x{width}xf32>"
        head.append(f'util.global private @{name} = #flow.parameter.named<"model"::"{name}"> : {own}')
    return "\n".join((
        *head, f"func.func @main(%x: {x}, %y: {x}) -> ({', '.join(kinds)}) {{", *lines,
        f"return {', '.join(f'%{name}' for name in widths)} : {', '.join(kinds)}", "}",
    ))  # fmt: skip


@cache
def places(text: str):
    own = find_here(text.encode(), "p.mlir", HOST, chains=True)
    joint, rewritten, _ = find_joint_here(text.encode(), "p.mlir", HOST, chains=True)
    return replace(own, joint=joint, rewritten=rewritten)


def joint(text: str):
    """The sites of products that can be one."""
    sites, *_ = find_joint_here(text.encode(), "p.mlir", HOST)
    return sites


def with_arguments(text: str) -> str:
    """Constants that need no parameters: the compiler may not look into them."""
    for number, (name, width) in enumerate(WIDTHS.items(), 1):
        own = f"tensor<24x{width}xf32>"
        text = text.replace(
            f'@{name} = #flow.parameter.named<"model"::"{name}"> : {own}',
            f"@{name} {{noinline}} = dense<{number}.0> : {own}",
        )
    return text


def test_layers_that_differ_in_constants_are_one_row_with_a_count(lab) -> None:
    """Three equal products with other constants each: of the compiler, of joint products, and of a kernel."""
    text = with_arguments(program()).replace("x32xf32", "x16xf32")
    given = load_program(text)
    kernels = [CGemm(), JointProducts()]
    outlook = outlook_of(find_places(given, lab.target, lab.compilers, kernels), kernels)
    assert len(outlook.joint) == 3, "each names its own constants"
    together = changes_of(outlook.joint)
    assert change_records(together) == [ChangeRecord("kernels", "joint_8x16_f32", "joint_products", 3)]
    ((_, site, _),) = outlook.pairs
    kernel = changes_of([(site, Code("object", "gemm", b"", Launch((1, 1, 1))))])
    (alone,) = change_records(kernel)
    assert (alone.where, alone.count) == ("matmul_8x16x24_f32_f32_f32", 3)
    dispatches = extract(given, lab.target, lab.compilers).dispatches
    results = [WorkloadResult(task, 0.5, note="not tuned: out of time") for task in make_tasks(dispatches)]
    for changes in (together, kernel):
        (found,) = with_replaced(results, changes, dispatches, {"kernels": "kernel"})
        assert (found.replaced_by, found.note) == ("kernel", "replaced by a kernel")
    (found,) = with_replaced(results, (), dispatches, {"kernels": "kernel"})
    assert (found.replaced_by, found.note) == ("", "not tuned: out of time")


def test_tune_says_a_layer_once(capsys, tmp_path, monkeypatch) -> None:
    """As if the version with joint products had won, which is the only one with kernels here."""

    def has_joint(one) -> bool:
        return any(each.how == JointProducts.name for each in one.version.changes)

    monkeypatch.setattr(verdict._Judged, "accepted", property(has_joint))
    monkeypatch.setattr(verdict, "_chosen", lambda judged: next(filter(has_joint, judged)))
    monkeypatch.setattr(source, "usual_kernels", lambda _: [JointProducts()])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.mlir").write_text(with_arguments(program()).replace("x32xf32", "x16xf32"))
    how = ["--effort", "smoke", "--candidates", "1", "--jobs", "1", "--db", "a.db", "--no-profile", "--json"]
    assert run(["tune", "p.mlir", *how, "--keep-flags", "--verbose", "--kernels", "k.mlir"]) == 0
    out, err = capsys.readouterr()
    *workloads, whole = map(json.loads, out.splitlines())
    row = {"source": "kernels", "where": "joint_8x16_f32", "how": "joint_products", "count": 3}
    assert whole["changes"] == [row]
    (own,) = [each for each in workloads if each["dispatches"]]
    assert own["replaced_by"] == "kernel"
    assert re.search(r"^Wrote k.mlir: replaces 1 kind of dispatches, 3 places$", err, re.MULTILINE)
    assert "kernel: joint_8x16_f32: joint_products (3 times)" in err
    with Store.open(tmp_path / "a.db") as store:
        (kept,) = [each for each in record_of(store.findings(1)).whole.changes if each.count == 3]
    assert kept == ChangeRecord(**row)


def test_they_are_one_product_and_other_kernels_compute_it(tmp_path) -> None:
    kernels = [CGemm(), FusedOps(), JointProducts()]
    outlook = outlook_of(places(program()), kernels)
    assert [site.problem.name for site, _ in outlook.joint] == ["joint_8x32_f32", *2 * ["joint_8x16_f32"]]
    assert outlook.rewritten is not None
    assert [site.problem.name for _, site, _ in outlook.rewritten.pairs] == ["matmul_8x64x24_f32_f32_f32"]
    save_kernel_spec(outlook.joint, outlook.target, new_context(), tmp_path / "joint.mlir")
    flags = (f"--iree-preprocessing-transform-spec-filename={tmp_path / 'joint.mlir'}",)
    own = session(flags=flags)
    with own.context:
        module = own.parse(program())
        own.run(module, stop="stream")
        text = str(module)
    assert "matmul_8x64x24" in text
    assert "matmul_8x32x24" not in text
    assert text.count("@__hoisted") == text.count("@__hoisted_tensor_24x64xf32")  # joined once, when loaded


@pytest.mark.exhaustive  # so do those of f16 below, and those of f32 in `test_tune_says_a_layer_once`
def test_they_compute_the_same(tmp_path) -> None:
    text = with_arguments(program())
    outlook = outlook_of(places(text), [JointProducts()])
    assert len(outlook.joint) == 3
    save_kernel_spec(outlook.joint, outlook.target, new_context(), tmp_path / "joint.mlir")
    flags = (f"--iree-preprocessing-transform-spec-filename={tmp_path / 'joint.mlir'}",)
    rng = np.random.default_rng(0)
    given = [rng.integers(-8, 8, (8, 24)).astype(np.float32) for _ in range(2)]
    sums = given[0].sum(1, keepdims=True)
    wanted = [np.repeat(number * sums, width, 1) for number, width in enumerate(WIDTHS.values(), 1)]
    equal(results(text, given, flags), wanted)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (program("%y"), ["joint_8x32_f32", "joint_8x16_f32"]),
        (program(rows=1 << 19), []),  # each is large enough
    ],
)
def test_only_those_of_one_matrix_that_are_small(text: str, names: list[str]) -> None:
    assert [site.problem.name for site in joint(text)] == names


LAYERS = """
util.global private @wq {noinline} = dense<1.0> : tensor<24x128xf16>
util.global private @wk {noinline} = dense<2.0> : tensor<24x64xf16>
util.global private @bq {noinline} = dense<3.0> : tensor<128xf16>
util.global private @bk {noinline} = dense<4.0> : tensor<64xf16>
func.func @main(%x: tensor<2x4x24xf16>) -> (tensor<2x4x128xf16>, tensor<2x4x64xf16>) {
  %wq = util.global.load @wq : tensor<24x128xf16>
  %bq = util.global.load @bq : tensor<128xf16>
  %q = stablehlo.dot_general %x, %wq, contracting_dims = [2] x [0]
      : (tensor<2x4x24xf16>, tensor<24x128xf16>) -> tensor<2x4x128xf32>
  %q0 = stablehlo.convert %bq : (tensor<128xf16>) -> tensor<128xf32>
  %q1 = stablehlo.broadcast_in_dim %q0, dims = [2] : (tensor<128xf32>) -> tensor<2x4x128xf32>
  %q2 = stablehlo.add %q, %q1 : tensor<2x4x128xf32>
  %q3 = stablehlo.convert %q2 : (tensor<2x4x128xf32>) -> tensor<2x4x128xf16>
  %wk = util.global.load @wk : tensor<24x64xf16>
  %bk = util.global.load @bk : tensor<64xf16>
  %k = stablehlo.dot_general %x, %wk, contracting_dims = [2] x [0]
      : (tensor<2x4x24xf16>, tensor<24x64xf16>) -> tensor<2x4x64xf32>
  %k0 = stablehlo.convert %bk : (tensor<64xf16>) -> tensor<64xf32>
  %k1 = stablehlo.broadcast_in_dim %k0, dims = [2] : (tensor<64xf32>) -> tensor<2x4x64xf32>
  %k2 = stablehlo.add %k, %k1 : tensor<2x4x64xf32>
  %k3 = stablehlo.convert %k2 : (tensor<2x4x64xf32>) -> tensor<2x4x64xf16>
  return %q3, %k3 : tensor<2x4x128xf16>, tensor<2x4x64xf16>
}
"""
"""Layers with a bias of one input on three dimensions, as JAX exports them."""


ROW = """
util.global private @wq {noinline} = dense<1.0> : tensor<24x128xf16>
util.global private @wk {noinline} = dense<2.0> : tensor<24x64xf16>
func.func @main(%x: tensor<24xf16>) -> (tensor<1x128xf16>, tensor<64xf16>) {
  %wq = util.global.load @wq : tensor<24x128xf16>
  %q = stablehlo.dot %x, %wq : (tensor<24xf16>, tensor<24x128xf16>) -> tensor<128xf32>
  %q1 = stablehlo.convert %q : (tensor<128xf32>) -> tensor<128xf16>
  %q2 = stablehlo.reshape %q1 : (tensor<128xf16>) -> tensor<1x128xf16>
  %wk = util.global.load @wk : tensor<24x64xf16>
  %k = stablehlo.dot %x, %wk : (tensor<24xf16>, tensor<24x64xf16>) -> tensor<64xf32>
  %k1 = stablehlo.convert %k : (tensor<64xf32>) -> tensor<64xf16>
  return %q2, %k1 : tensor<1x128xf16>, tensor<64xf16>
}
"""


def test_many_of_one_matrix_are_several_products() -> None:
    """As a text's keys and values in all layers: each part names all constants of its product."""
    text = program(widths={f"p{number}": 16 for number in range(21)})
    loads = [JointProducts().make(site.problem).data.count(b"util.global.load") for site in joint(text)]
    assert loads == [7] * 21


def test_problems_beside_a_joint_product_replace_the_dispatches_that_they_did(cpu, compilers) -> None:
    kernels = [TritonGemm(), JointProducts()]
    found = find_places(load_program(program("%y")), cpu, compilers, kernels)
    names = {site.case: site.dispatches for place in found.places for site in place.sites}
    left = [site for place in found.rewritten for site in place.sites if site.case in names]
    assert left
    assert all(site.dispatches == names[site.case] != () for site in left)


def without_one_bias() -> str:
    """As the keys of Whisper."""
    lines = LAYERS.replace("convert %k2", "convert %k").splitlines()
    return "\n".join(each for each in lines if not each.startswith(("  %k0", "  %k1", "  %k2", "  %bk")))


def named(text: str, name: str) -> str:
    """With this as a part of the names of its function and its constants."""
    return re.sub(r"@(\w+)", rf"@\1_{name}", text)


CASES = {
    "layers": (LAYERS, "matmul_3x8x64x24_f16_f16_f32_image_bias_truncf", (3, 4)),
    "one_bias": (without_one_bias(), "matmul_3x8x64x24_f16_f16_f32_image_bias_truncf", (3, 0)),
    "row": (ROW, "vecmat_192x24_f16_f16_f32_truncf", (0, 0)),
}
"""Programs, the problem of their joint product, and what is added to both results."""


def test_with_them_programs_compute_what_they_say(tmp_path) -> None:
    """Of ones, and of twos; all are one program here."""
    text = "\n".join(named(each, name) for name, (each, _, _) in CASES.items())
    outlook = outlook_of(places(text), [TritonGemm(), JointProducts()])
    assert len(outlook.joint) == 2 * len(CASES)
    assert outlook.rewritten is not None
    pairs = outlook.rewritten.pairs
    found = {site.problem.name for _, site, kernel in pairs if kernel.name == TritonGemm.name}
    assert found == {name for _, name, _ in CASES.values()}
    save_kernel_spec(outlook.joint, outlook.target, new_context(), tmp_path / "joint.mlir")
    flags = (f"--iree-preprocessing-transform-spec-filename={tmp_path / 'joint.mlir'}",)
    calls = loaded(text, flags)
    for name, (own, _, bias) in CASES.items():
        shape = (24,) if own is ROW else (2, 4, 24)
        given = [np.random.default_rng(0).integers(-8, 8, shape).astype(np.float16)]
        sums = given[0].astype(np.float64).sum(-1)[..., None]
        wanted = [
            np.repeat(number * sums + more, width, -1)
            for number, more, width in zip((1, 2), bias, (128, 64), strict=True)
        ]
        results = calls(f"main_{name}", given)
        equal([each.reshape(one.shape) for each, one in zip(results, wanted, strict=True)], wanted)


def test_those_of_f16_are_apart_in_memory_with_their_bias() -> None:
    """Three parts of 64 columns, so that each layer is read where it is: the second one is not copied."""
    outlook = outlook_of(places(LAYERS), [TritonGemm(), JointProducts()])
    assert [site.problem.name for site, _ in outlook.joint] == ["joint_2x4x128_f16", "joint_2x4x64_f16"]
    assert outlook.rewritten is not None
    (site,) = [site for _, site, kernel in outlook.rewritten.pairs if kernel.name == TritonGemm.name]
    assert site.problem.name == "matmul_3x8x64x24_f16_f16_f32_image_bias_truncf"
    assert [each.shape for each in site.problem.inputs] == [(8, 24), (24, 3, 64), (3, 64)]
    shape = product_shape(site.problem)
    assert shape is not None
    assert shape.steps["EXTRA0"]["n"] == (64, 1)
    assert shape.steps["RESULT"]["n"] == (8 * 64, 1)


def test_what_cannot_be_one_product_is_none() -> None:
    other = LAYERS.replace("%k2 = stablehlo.add %k, %k1", "%k2 = stablehlo.add %k, %k")
    narrow = ROW.replace("x64x", "x50x").replace("<64x", "<50x")
    assert not joint(named(other, "other") + named(narrow, "narrow")), (
        "what follows differs; a part of a row would begin anywhere"
    )


def test_products_of_integers_are_left() -> None:
    text = program().replace("f32", "i8")
    for width in set(WIDTHS.values()):
        text = text.replace(f"tensor<8x{width}xi8>", f"tensor<8x{width}xi32>")
    assert not joint(text)


def test_the_program_is_compared_with_them() -> None:
    own = outlook_of(places(program()), [FusedOps(), JointProducts()])
    with Lab(target_for_device("local-task", "host"), 1) as lab:
        found = Competitors(own, own, ("",) * len(own.pairs), ()).choices((), HOST, lab)
    assert list(found) == ["joint products"]
    assert len(found["joint products"]) >= 3


def of_torch(widths, *, rows: str = "2,5", bias: bool = False, element: str = "f32") -> str:
    """Linear layers as PyTorch exports them, of batches of rows; weights have their columns first."""
    x = f"!torch.vtensor<[{rows},24],{element}>"
    head, lines, kinds = [], ["%none = torch.constant.none"], []
    for number, (name, width) in enumerate(widths.items(), 1):
        weights, kind = f"{width}x24x{element}", f"!torch.vtensor<[{width},24],{element}>"
        result, own = f"!torch.vtensor<[{rows},{width}],{element}>", f"!torch.vtensor<[{width}],{element}>"
        for what, values in (("", weights), ("b", f"{width}x{element}")):
            head.append(
                f"util.global private @{name}{what} {{noinline}} = dense<{number}.5> : tensor<{values}>"
            )
            lines += [
                f"%l{name}{what} = util.global.load @{name}{what} : tensor<{values}>",
                f"%w{name}{what} = torch_c.from_builtin_tensor %l{name}{what} : tensor<{values}>"
                f" -> {own if what else kind}",
            ]
        added = (f"%w{name}b", own) if bias else ("%none", "!torch.none")
        lines.append(
            f"%{name} = torch.aten.linear %x, %w{name}, {added[0]} : {x}, {kind}, {added[1]} -> {result}"
        )
        kinds.append(result)
    return "\n".join((
        *head, f"func.func @main(%x: {x}) -> ({', '.join(kinds)}) {{", *lines,
        f"return {', '.join(f'%{name}' for name in widths)} : {', '.join(kinds)}", "}",
    ))  # fmt: skip


@pytest.mark.parametrize(
    ("element", "widths", "bias", "found"),
    [
        ("f32", {"q": 32, "k": 16, "v": 16}, False, ["10x24xf32", "64x24xf32"]),
        ("f16", {"q": 128, "k": 64, "v": 64}, True, ["10x24xf16", "4x64x24xf16", "4x64xf16"]),
    ],
)
def test_those_of_pytorch_compute_the_same(element: str, widths, bias: bool, found, tmp_path) -> None:
    """Of several dimensions of rows; the joined weights have their columns first, too."""
    text = of_torch(widths, bias=bias, element=element)
    outlook = outlook_of(places(text), [JointProducts(), CGemm(), TritonGemm()])
    assert len(outlook.joint) == 3
    assert outlook.rewritten is not None
    (problem,) = {site.problem for _, site, _ in outlook.rewritten.pairs}
    assert [str(each) for each in problem.inputs] == found
    save_kernel_spec(outlook.joint, outlook.target, new_context(), tmp_path / "joint.mlir")
    flags = (f"--iree-preprocessing-transform-spec-filename={tmp_path / 'joint.mlir'}",)
    x = (
        np.random.default_rng(0)
        .integers(-4, 5, (2, 5, 24))
        .astype({"f16": np.float16, "f32": np.float32}[element])
    )
    sums = x.astype(np.float64).sum(-1)[..., None]
    wanted = [
        np.repeat((number + 0.5) * (sums + bias), width, -1)
        for number, width in enumerate(widths.values(), 1)
    ]
    equal(results(text, [x], flags), wanted)


PACKED = {"q": 128, "k": 64}
GATED = {"q": 128, "k": 128}
OF_FEW_BITS = {
    "a row": (packed_layers(PACKED), "vecmat_192x128_f16_f16_f32_of_i8_truncf"),
    "rows": (packed_layers(PACKED, rows=5), "matmul_3x5x64x128_f16_f16_f32_of_i8_truncf"),
    "turned": (packed_layers(PACKED, rows=5, turned=True), "matmul_3x5x64x128_f16_f16_f32_of_i8_truncf"),
    "gated row": (
        packed_layers(GATED, turned=True, gated=True),
        "vecmat_256x128_f16_f16_f32_of_i8_truncf_halves_silu_gated",
    ),
    "gated rows": (
        packed_layers(GATED, rows=5, gated=True),
        "matmul_2x5x128x128_f16_f16_f32_of_i8_truncf_halves_silu_gated",
    ),
    "bytes": (byte_layers(PACKED, rows=5), "matmul_3x5x64x128_f16_f16_f32_of_i8_image_gain_truncf"),
    "gated bytes": (
        byte_layers(GATED, rows=5, gated=True),
        "matmul_2x5x128x128_f16_f16_f32_of_i8_gain_truncf_halves_silu_gated",
    ),
    "a gated row of bytes": (
        byte_layers(GATED, gated=True),
        "vecmat_256x128_f16_f16_f32_of_i8_gain_truncf_halves_silu_gated",
    ),
    "a row of bytes": (byte_layers(PACKED), "vecmat_192x128_f16_f16_f32_of_i8_factor_truncf"),
}


@pytest.mark.parametrize("which", some([*OF_FEW_BITS], 3))
def test_weights_that_are_computed_are_joined_before(which: str, tmp_path) -> None:
    """The packed constants and their scales are side by side; kernels compute the joint weights of them."""
    text, name = OF_FEW_BITS[which]
    target = parse_target("cuda:sm_90")
    sites, rewritten, _ = find_joint_here(text.encode(), "p.mlir", target, chains=True, norms=True)
    assert len(sites) == 2
    (site,) = [place.sites[-1] for place in rewritten if place.sites[-1].problem.operands]
    assert site.problem.name == name
    assert not TritonGemm().refuses(site.problem)
    codes = [(each, JointProducts().make(each.problem, HOST, {})) for each in sites]
    save_kernel_spec(codes, target_here(HOST), new_context(), tmp_path / "joint.mlir")
    flags = (f"--iree-preprocessing-transform-spec-filename={tmp_path / 'joint.mlir'}",)
    rows = 5 if "x5x" in name else 1
    x = np.random.default_rng(0).integers(-4, 5, (rows, 128)).astype(np.float16)
    assert "concat" in text_after(text, flags)
    equal(results(text, [x], flags), results(text, [x]))


def text_after(text: str, flags: tuple[str, ...]) -> str:
    """The program after preprocessing."""
    own = session(flags=flags)
    with own.context:
        module = own.parse(text)
        own.run(module, stop="preprocessing")
        return str(module)


def test_weights_that_are_computed_otherwise_are_not_joined() -> None:
    """Other zero points; on the host, which computes weights before."""
    text = packed_layers(PACKED)
    at = text.index("%kc8")
    other = text[:at] + text[at:].replace("dense<8.0>", "dense<7.0>", 1)
    assert find_joint_here(text.encode(), "p.mlir", parse_target("cuda:sm_90"))[0]
    assert not find_joint_here(other.encode(), "p.mlir", parse_target("cuda:sm_90"))[0]
    assert not find_joint_here(text.encode(), "p.mlir", HOST)[0]


def test_one_row_of_large_weights_is_not_joined_on_the_host() -> None:
    """A processor reads them from memory once, together or not, and joined ones are a copy."""
    large = {"q": 1 << 19, "k": 1 << 19}  # 48 MiB each
    assert find_joint_here(of_torch(large, rows="1,1").encode(), "p.mlir", HOST) == ((), (), ())
    assert len(find_joint_here(of_torch(large, rows="1,2").encode(), "p.mlir", HOST)[0]) == 2


def test_constants_of_more_dimensions_are_not_joined() -> None:
    """Such as those of a convolution of single pixels, transposed and then reshaped."""
    x, head, lines, kinds = "tensor<8x24xf32>", list[str](), list[str](), list[str]()
    for name, width in (("q", 32), ("k", 16)):
        own, turned, flat = f"{width}x24x1xf32", f"24x1x{width}xf32", f"tensor<24x{width}xf32>"
        kinds.append(f"tensor<8x{width}xf32>")
        head.append(f'util.global private @{name} = #flow.parameter.named<"model"::"{name}"> : tensor<{own}>')
        lines += [
            f"%l{name} = util.global.load @{name} : tensor<{own}>",
            f"%e{name} = tensor.empty() : tensor<{turned}>",
            f"%t{name} = linalg.transpose ins(%l{name} : tensor<{own}>) outs(%e{name} : tensor<{turned}>)"
            " permutation = [1, 2, 0]",
            f"%c{name} = tensor.collapse_shape %t{name} [[0, 1], [2]] : tensor<{turned}> into {flat}",
            f"%{name} = stablehlo.dot %x, %c{name} : ({x}, {flat}) -> {kinds[-1]}",
        ]
    types = ", ".join(kinds)
    text = "\n".join(
        (*head, f"func.func @main(%x: {x}) -> ({types}) {{", *lines, f"return %q, %k : {types}", "}")
    )
    assert find_joint_here(text.encode(), "p.mlir", HOST) == ((), (), ())
