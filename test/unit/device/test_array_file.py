"""Inputs from files: .npy whatever their headers say, archives by name and in order, and bad ones."""

import json

import ml_dtypes
import numpy as np
import pytest
from amounts import some

from iree_tuner.cli.inputs import parse_input
from iree_tuner.device.array_file import header_of, read_array
from iree_tuner.device.data import loaded, stored
from iree_tuner.device.program_loaded import LoadedProgram
from iree_tuner.device.program_request import request
from iree_tuner.errors import TunerError
from iree_tuner.ops.element_type import ElementType
from iree_tuner.program.phases import compile_program
from iree_tuner.program.source import Program, load_program

TYPES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16", "f8E5M2": "float8_e5m2",
    "f8E4M3FN": "float8_e4m3fn", "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E4M3FNUZ": "float8_e4m3fnuz",
    "f8E8M0FNU": "float8_e8m0fnu", "i8": "int8", "ui8": "uint8", "i16": "int16", "i64": "int64",
    "i4": "int4", "ui4": "uint4", "i2": "int2", "i1": "bool", "complex<f32>": "complex64",
    "complex<f64>": "complex128",
}  # fmt: skip
TAKEN = [
    "x: tensor<4xf32>", "scale: tensor<f32>", "k: tensor<4xi4>", "m: tensor<4xi1>", "h: tensor<4xf8E5M2>",
    "c: tensor<4xcomplex<f32>>", "u: tensor<6xui4>", "t: tensor<4xi2>", "o: tensor<4xi5>", "d: tensor<2xf64>",
]  # fmt: skip
VALUES = {
    "x": np.arange(4, dtype=np.float32), "scale": np.array(2.5, np.float32),
    "k": np.array([1, -2, 7, -8], np.int8), "d": np.array([0.5, -3]),
    "m": np.array([0, 2, 255, 0], np.uint8), "h": np.arange(4).astype(ml_dtypes.float8_e5m2),
    "c": np.array([1j, 2, 3 - 1j, 0], np.complex64), "u": np.array([15, 0, 8, 7, 1, 2], np.uint8),
    "t": np.array([1, -2, 0, -1], np.int8), "o": np.array([-16, 15, 3, -1], np.int8),
}  # fmt: skip


def kept(taken):
    """A program that returns what it takes."""
    names, types = (
        [f"%{each.partition(':')[0]}" for each in taken],
        [each.partition(": ")[2] for each in taken],
    )
    arguments, kinds = ", ".join(f"%{each}" for each in taken), ", ".join(types)
    lines = [f"  {n}r = util.optimization_barrier {n} : {t}" for n, t in zip(names, types, strict=True)]
    results = ", ".join(f"{name}r" for name in names)
    body = "\n".join(lines)
    return f"func.func @main({arguments}) -> ({kinds}) {{\n{body}\n  return {results} : {kinds}\n}}"


ORDER = [each.partition(":")[0] for each in TAKEN]
SMALL = load_program(kept(TAKEN[:3]))


def save_safetensors(path, **values):
    """As the library writes it."""
    names = {"f": "F", "i": "I", "u": "U"}
    header, data = {}, b""
    for key, value in values.items():
        kind = f"{names[value.dtype.kind]}{8 * value.dtype.itemsize}"
        kind = "F8_E5M2" if value.dtype == ml_dtypes.float8_e5m2 else kind
        place = [len(data), len(data) + value.nbytes]
        header[key] = {"dtype": kind, "shape": value.shape, "data_offsets": place}
        data += value.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return str(path)


@pytest.mark.parametrize("element_type", TYPES)
def test_files_of_all_types_are_read(element_type, tmp_path):
    name = TYPES[element_type]
    dtype = np.dtype(getattr(np, name, None) or getattr(ml_dtypes, name))
    values = np.array([[0.5, 1, 1], [1, 0.5, 1]]).astype(dtype)
    np.save(tmp_path / "x.npy", values)
    assert header_of(str(tmp_path / "x.npy")).has(element_type)
    held = ElementType.named(element_type).dtype
    found = read_array(str(tmp_path / "x.npy"), held)
    assert found.dtype == held
    assert np.array_equal(found.astype(np.complex64), values.astype(np.complex64))


def test_orders_of_bytes_and_elements(tmp_path):
    values = np.arange(6, dtype=">f4").reshape(2, 3)
    for number, each in enumerate((values, np.asfortranarray(values), values[:0], np.float32(3))):
        np.save(tmp_path / f"{number}.npy", each)
        found = read_array(str(tmp_path / f"{number}.npy"), np.dtype(np.float32))
        assert found.shape == np.shape(each)
        assert np.array_equal(found, each)


@pytest.mark.parametrize(
    ("element_type", "size"), [("i4", 7), ("ui4", 8), ("i2", 9), ("i5", 3), ("i12", 4), ("i64", 2)]
)
def test_integers_of_any_width_are_packed_and_unpacked(element_type, size):
    kind = ElementType.named(element_type)
    values = np.resize(np.array([*kind.range, 0, 1], kind.dtype), size)
    raw = stored(values, element_type)
    assert raw.size == -(-size // kind.per_byte) * kind.dtype.itemsize
    assert np.array_equal(loaded(raw, element_type, (size,)), values)


def test_the_first_of_packed_elements_is_lowest():
    assert stored(np.array([1, -1, 2], np.int8), "i4").tolist() == [0xF1, 0x02]
    assert stored(np.array([1, 2, 3, 0, 1], np.int8), "i2").tolist() == [0b00111001, 1]


def results_here(path, run):
    """Of the first invocation."""
    return LoadedProgram(path, "local-task", run).results()[0]


def test_a_program_takes_all_types_from_archives(cpu, compilers, tmp_path):
    """By the names in its text, in order, and by number."""
    program = load_program(kept(TAKEN))
    path = tmp_path / "program.vmfb"
    path.write_bytes(compile_program(program, cpu, compilers).data)
    np.savez(tmp_path / "named.npz", **dict(reversed(VALUES.items())))
    np.savez_compressed(tmp_path / "order.npz", *(VALUES[key] for key in ORDER))
    np.savez(tmp_path / "other.npz", **{f"_{key}": VALUES[key] for key in ORDER})
    for name in some(("named", "order", "other"), 2):
        run = request(program, inputs=[str(tmp_path / f"{name}.npz")])
        found = compilers.call(results_here, str(path), run)
        for key, own in zip(ORDER, found, strict=True):
            value = VALUES[key]
            assert own.shape == value.shape
            assert np.array_equal(own, value != 0 if key == "m" else value), key
    assert any("f64 in f32" in note for note in run.notes)


def test_names_of_arguments(tmp_path):
    """From locations in bytecode, as JAX has them, and from the text."""
    from iree_tuner.compiler.context import new_context, to_bytecode
    from iree_tuner.compiler.session import parse_module
    from iree_tuner.program.entries import argument_names

    text = "func.func @f(%a: tensor<4xf32> loc(\"params['w']\"), %b.1: f32) -> f32 { return %b.1 : f32 }"
    module = parse_module(text.encode(), new_context(), "x.mlir")
    assert (
        argument_names(load_program(text), module, "f").items()
        >= {"params['w']": 0, "b.1": 1, "arg1": 1}.items()
    )
    found = argument_names(Program("x.mlir", to_bytecode(module)), module, "f")
    assert (found["params['w']"], found["input1"]) == (0, 1)


def test_safetensors_with_some_of_the_inputs(tmp_path):
    path = save_safetensors(tmp_path / "x.safetensors", k=VALUES["k"], x=VALUES["x"])
    found = request(SMALL, inputs=[path, 7.5]).inputs
    assert [getattr(each, "key", each) for each in found] == ["x", 7.5, "k"]
    assert parse_input("x.npz") == "x.npz"


BAD = {
    "cut": "not a .npy file that can be read: 4xf32 needs 16 bytes, and it has 11",
    "header": "its header is cut off",
    "text": "it does not begin as one",
    "empty": "it is empty",
    "objects": "elements are of NumPy's type '|O', not numbers",
    "records": "not numbers",
    "shape": "input 0 must have the type 4xf32, but has 2x2xf32",
    "type": "input 0 must have the type 4xf32, but has 4xf64",
    "folder": "not a file",
    "missing": "no such file",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_are_told_in_a_line(name, tmp_path):
    np.save(tmp_path / "good.npy", VALUES["x"])
    good = (tmp_path / "good.npy").read_bytes()
    contents = {"cut": good[:-5], "header": good[:40], "text": b"1 2 3 and more", "empty": b""}
    arrays = {
        "objects": np.array([{}], object), "records": np.zeros(4, [("a", "f4")]),
        "shape": np.zeros((2, 2), np.float32), "type": np.zeros(4),
    }  # fmt: skip
    path = tmp_path / f"{name}.npy"
    if name in contents:
        path.write_bytes(contents[name])
    elif name in arrays:
        np.save(path, arrays[name], allow_pickle=True)
    elif name == "folder":
        path.mkdir()
    with pytest.raises(TunerError) as caught:
        request(SMALL, inputs=[str(path)])
    assert BAD[name] in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_archives_that_do_not_fit_are_told(tmp_path):
    x, scale, k = (VALUES[name] for name in ("x", "scale", "k"))
    whole = {"x": x, "scale": scale, "k": k}
    cases = [
        (
            {"x": x, "k": k},
            "no array for scale (f32) of @main (add it, or generate it with a further --input -)",
        ),
        ({**whole, "z": x}, "no argument has the name 'z': @main takes x (4xf32), scale (f32), k (4xi4)"),
        ({**whole, "arg0": x}, "two arrays are for the argument 'arg0'"),
        ({**whole, "k": k * 3}, "input 2 (4xi4) must be from -8 to 15, one value each, but has 21"),
        ({**whole, "x": x.astype(np.int32)}, "input 0 must have the type 4xf32, but 'x' has 4xi32"),
        ({"a": x, "b": scale, "c": k, "d": k}, "wrong number of inputs for @main: 4 instead of 3"),
    ]
    for number, (arrays, says) in enumerate(cases):
        np.savez(tmp_path / f"{number}.npz", **arrays)
        with pytest.raises(TunerError) as caught:
            request(SMALL, inputs=[str(tmp_path / f"{number}.npz")])
        assert says in str(caught.value)


def test_damaged_archives_are_told(tmp_path):
    np.savez(tmp_path / "good.npz", **{name: VALUES[name] for name in ("x", "scale", "k")})
    npz = (tmp_path / "good.npz").read_bytes()
    at = npz.find(VALUES["x"].tobytes())
    safe = (tmp_path / "x.safetensors", VALUES["x"])
    safetensors = (tmp_path / "x.safetensors").read_bytes() if save_safetensors(safe[0], x=safe[1]) else b""
    cases = [
        (".npz", npz[:300]),
        (".npz", npz[:at] + b"\xff" + npz[at + 1 :]),
        (".npz", b""),
        (".safetensors", b""),
    ]
    cases += [(".safetensors", safetensors[:-3]), (".safetensors", b"hello, this is no tensor")]
    cases += [(".safetensors", safetensors.replace(b"[4]", b"[5]")), (".safetensors", safetensors[:30])]
    for ending, content in cases:
        path = tmp_path / f"bad{ending}"
        path.write_bytes(content)
        with pytest.raises(TunerError) as caught:
            request(SMALL, inputs=[str(path)])
        assert f"not a {ending} file that can be read: " in str(caught.value)
        assert "\n" not in str(caught.value)


WEIGHTS = """
util.global private @w = #flow.parameter.named<"model"::"w"> : tensor<2x4xf32>
util.global private @h = #flow.parameter.named<"model"::"h"> : tensor<4xf8E5M2>
func.func @main() -> (tensor<2x4xf32>, tensor<4xf8E5M2>) {
  %w = util.global.load @w : tensor<2x4xf32>
  %h = util.global.load @h : tensor<4xf8E5M2>
  return %w, %h : tensor<2x4xf32>, tensor<4xf8E5M2>
}"""


def test_types_of_parameters_are_checked(tmp_path):
    program, w = load_program(WEIGHTS), np.arange(8, dtype=np.float32).reshape(2, 4)
    path = save_safetensors(tmp_path / "w.safetensors", w=w, h=VALUES["h"])
    assert request(program, parameters=[(None, path)]).notes == ()
    path = save_safetensors(tmp_path / "some.safetensors", w=w)
    assert request(program, parameters=[(None, path)]).notes == (
        "parameters that no archive holds are generated: model::h",
    )
    for number, other in enumerate((w.T.copy(), w.astype(np.int32))):
        path = save_safetensors(tmp_path / f"{number}.safetensors", w=other, h=VALUES["h"])
        with pytest.raises(TunerError, match=r"parameter model::w is .*, but the program needs 2x4xf32"):
            request(program, parameters=[(None, path)])
    np.savez(tmp_path / "w.npz", w=w)
    with pytest.raises(TunerError, match=r"parameters are in .irpa, .gguf or .safetensors archives"):
        request(program, parameters=[(None, str(tmp_path / "w.npz"))])


VIEWS = """
func.func @main(%a: !hal.buffer_view) -> !hal.buffer_view {
  %0 = hal.tensor.import %a : !hal.buffer_view -> tensor<4xf64>
  %1 = hal.tensor.export %0 : tensor<4xf64> -> !hal.buffer_view
  return %1 : !hal.buffer_view
}"""


@pytest.mark.parametrize(
    "text", [VIEWS, "func.func @main(%a: !torch.vtensor<[4],f64>) -> !torch.vtensor<[4],f64> {\n"
             "  return %a : !torch.vtensor<[4],f64>\n}"],
)  # fmt: skip
def test_f64_in_buffer_views_is_refused(text):
    """The compiler reads it as f32: docs/upstream/f64_views.md."""
    with pytest.raises(TunerError, match="pass --compiler-flag=--iree-input-demote-f64-to-f32=false"):
        request(load_program(text))
    assert request(load_program(text), flags=["--iree-input-demote-f64-to-f32=false"]).notes == ()
