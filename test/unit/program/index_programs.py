"""Programs whose inputs are indices, positions, lengths and masks, each with what these may be."""

from pathlib import Path


def lookup(kind: str, rows: int = 6, body: str = "", index: str = "%a") -> str:
    """A table that is looked up at indices of a type, on which a body may compute first."""
    return f"""
func.func @main(%t: tensor<{rows}x5xf32>, %i: tensor<8x{kind}>) -> tensor<8xf32> {{
  %e = tensor.empty() : tensor<8xf32>
  %c0 = arith.constant 0 : index
  %r = linalg.generic {{indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
      iterator_types = ["parallel"]}} ins(%i : tensor<8x{kind}>) outs(%e : tensor<8xf32>) {{
  ^bb0(%a: {kind}, %o: f32):
    {body}
    %x = arith.index_cast {index} : {kind} to index
    %y = tensor.extract %t[%x, %c0] : tensor<{rows}x5xf32>
    linalg.yield %y : f32
  }} -> tensor<8xf32>
  return %r : tensor<8xf32>
}}
"""


def jax(arguments: str, body: str, shape: str) -> str:
    """A StableHLO program of one function, as JAX exports it."""
    return f"func.func @main({arguments}) -> {shape} {{\n{body}\n  return %r : {shape}\n}}\n"


def rows_of(table: str, indices: str, result: str, slice_sizes: str, offsets: str = "1") -> str:
    """A gather of rows of `%t` at `%s`."""
    rank = indices.count("x") - 1
    return f"""
  %r = "stablehlo.gather"(%t, %s) {{dimension_numbers = #stablehlo.gather<offset_dims = [{offsets}],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = {rank}>,
    slice_sizes = array<i64: {slice_sizes}>, indices_are_sorted = false}}
    : ({table}, {indices}) -> {result}"""


TABLE = "tensor<16x4xf32>"
ONNX = "attributes {torch.onnx_meta.ir_version = 9 : si64, torch.onnx_meta.opset_version = 17 : si64}"


def onnx(name: str, table: str, types: str, result: str, attributes: str = "") -> str:
    """A model of one ONNX op, as IREE's importer writes it."""
    names = ", ".join(f"%{number}: {each}" for number, each in enumerate(types.split("; "), 1))
    uses = ", ".join(f"%{number}" for number in range(1, 1 + len(types.split("; "))))
    return f"""
func.func @main(%t: {table}, {names}) -> {result} {ONNX} {{
  %r = torch.operator "onnx.{name}"(%t, {uses}) {{{attributes}}}
    : ({table}, {types.replace("; ", ", ")}) -> {result}
  return %r : {result}
}}
"""


def vtensor(shape: str, kind: str = "f32") -> str:
    """A type of torch's."""
    return f"!torch.vtensor<[{shape}],{kind}>"


def torch(arguments: str, body: str, shape: str) -> str:
    """A program of torch's ops."""
    return f"func.func @main({arguments}) -> {shape} {{\n{body}\n  return %r : {shape}\n}}\n"


def case(name: str) -> str:
    """A program in a file."""
    return (Path(__file__).parent / "cases" / f"{name}.mlir").read_text()


WRAPS = """
    %zero = arith.constant 0 : {k}
    %n = arith.constant 6 : {k}
    %less = arith.cmpi slt, %a, %zero : {k}
    %more = arith.addi %a, %n : {k}
    %w = arith.select %less, %more, %a : {k}"""
CLAMPS = """
    %zero = arith.constant 0 : i32
    %n = arith.constant 5 : i32
    %less = arith.maxsi %a, %zero : i32
    %w = arith.minsi %less, %n : i32"""


TOKENS = """
    %z = arith.constant 0 : i64
    %m = arith.cmpi ne, %a, %z : i64
    %k = arith.uitofp %m : i1 to f32"""

MASKED = "%q = arith.mulf %y, %k : f32\n    linalg.yield %q"


def computed(op: str, constant: int) -> str:
    """A body of one op with a constant."""
    return f"%c = arith.constant {constant} : i32\n    %w = arith.{op} %a, %c : i32"


IOTA = """
  %i = stablehlo.iota dim = 0 : tensor<8xi32>
  %b = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<i32>) -> tensor<8xi32>"""

PROGRAMS: dict[str, tuple[str, dict[int, tuple[int | None, int | None]]]] = {
    # Tables, with each type of indices.
    "two tables": (case("embed_two_tables"), {2: (0, 511), 3: (0, 1)}),
    "a table and a product": (case("embed_throws_away_win"), {2: (0, 1)}),
    **{f"linalg {kind}": (lookup(kind), {1: (0, 5)}) for kind in ("i8", "i16", "i32", "i64")},
    "a large table and small indices": (lookup("i8", 300), {1: (0, 299)}),
    "negative wraps": (lookup("i32", body=WRAPS.format(k="i32"), index="%w"), {1: (0, 5)}),
    "negative wraps i64": (lookup("i64", body=WRAPS.format(k="i64"), index="%w"), {1: (0, 5)}),
    "clamped": (lookup("i32", body=CLAMPS, index="%w"), {1: (0, 5)}),
    "clamped below the table": (lookup("i32", 60, CLAMPS, "%w"), {1: (0, 5)}),
    "added": (lookup("i32", body=computed("addi", 2), index="%w"), {1: (-2, 3)}),
    "subtracted": (lookup("i32", body=computed("subi", 2), index="%w"), {1: (2, 7)}),
    "multiplied": (lookup("i32", 20, computed("muli", 3), "%w"), {1: (0, 6)}),
    "negated": (lookup("i32", 20, computed("muli", -3), "%w"), {1: (-6, 0)}),
    "divided": (lookup("i32", body=computed("divsi", 3), index="%w"), {1: (-2, 17)}),
    "shifted": (lookup("i32", body=computed("shrui", 2), index="%w"), {1: (0, 23)}),
    "remainder": (lookup("i32", body=computed("remsi", 4), index="%w"), {1: (0, 3)}),
    "remainder beyond the table": (lookup("i32", body=computed("remsi", 40), index="%w"), {1: (0, 5)}),
    "masked": (lookup("i32", body=computed("andi", 3), index="%w"), {1: (0, 3)}),
    # StableHLO, as JAX exports it.
    "jax gather": (
        jax(f"%t: {TABLE}, %s: tensor<8x1xi32>", rows_of(TABLE, "tensor<8x1xi32>", "tensor<8x4xf32>", "1, 4"),
            "tensor<8x4xf32>"), {1: (0, 15)},
    ),
    "jax gather of slices": (
        jax(f"%t: {TABLE}, %s: tensor<8x1xi32>",
            rows_of(TABLE, "tensor<8x1xi32>", "tensor<8x3x4xf32>", "3, 4", "1, 2")
            .replace("collapsed_slice_dims = [0],", ""), "tensor<8x3x4xf32>"), {1: (0, 13)},
    ),
    "jax gather i8 transposed": (
        jax(f"%t: {TABLE}, %p: tensor<2x3xi8>", """
  %q = stablehlo.transpose %p, dims = [1, 0] : (tensor<2x3xi8>) -> tensor<3x2xi8>
  %s = stablehlo.reshape %q : (tensor<3x2xi8>) -> tensor<6x1xi8>"""
            + rows_of(TABLE, "tensor<6x1xi8>", "tensor<6x4xf32>", "1, 4"), "tensor<6x4xf32>"), {1: (0, 15)},
    ),
    "jax wraps negative indices": (
        jax(f"%t: {TABLE}, %p: tensor<8xi32>", """
  %z = stablehlo.constant dense<0> : tensor<8xi32>
  %n = stablehlo.constant dense<16> : tensor<8xi32>
  %c = stablehlo.compare LT, %p, %z : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
  %a = stablehlo.add %p, %n : tensor<8xi32>
  %w = stablehlo.select %c, %a, %p : tensor<8xi1>, tensor<8xi32>
  %s = stablehlo.reshape %w : (tensor<8xi32>) -> tensor<8x1xi32>"""
            + rows_of(TABLE, "tensor<8x1xi32>", "tensor<8x4xf32>", "1, 4"), "tensor<8x4xf32>"), {1: (0, 15)},
    ),
    "jax concatenated": (
        jax(f"%t: {TABLE}, %p: tensor<2xi32>, %q: tensor<3xi32>", """
  %w = stablehlo.concatenate %p, %q, dim = 0 : (tensor<2xi32>, tensor<3xi32>) -> tensor<5xi32>
  %s = stablehlo.reshape %w : (tensor<5xi32>) -> tensor<5x1xi32>"""
            + rows_of(TABLE, "tensor<5x1xi32>", "tensor<5x4xf32>", "1, 4"), "tensor<5x4xf32>"),
        {1: (0, 15), 2: (0, 15)},
    ),
    "jax positions from a start": (
        jax(f"%t: {TABLE}, %p: tensor<i32>", IOTA + """
  %w = stablehlo.add %i, %b : tensor<8xi32>
  %s = stablehlo.reshape %w : (tensor<8xi32>) -> tensor<8x1xi32>"""
            + rows_of(TABLE, "tensor<8x1xi32>", "tensor<8x4xf32>", "1, 4"), "tensor<8x4xf32>"), {1: (0, 8)},
    ),
    # Positions and lengths.
    "position in a cache": (case("cache_update"), {3: (0, 15)}),
    "position of a row": (case("offset_product"), {2: (0, 15)}),
    "two positions": (
        jax("%x: tensor<16x8x4xf32>, %a: tensor<i64>, %b: tensor<i64>", """
  %z = stablehlo.constant dense<0> : tensor<i64>
  %r = stablehlo.dynamic_slice %x, %a, %z, %b, sizes = [3, 8, 2]
    : (tensor<16x8x4xf32>, tensor<i64>, tensor<i64>, tensor<i64>) -> tensor<3x8x2xf32>""",
            "tensor<3x8x2xf32>"), {1: (0, 13), 2: (0, 2)},
    ),
    "position that wraps": (
        jax("%x: tensor<16xf32>, %a: tensor<i32>, %u: tensor<4xf32>", """
  %n = stablehlo.constant dense<16> : tensor<i32>
  %m = stablehlo.remainder %a, %n : tensor<i32>
  %r = stablehlo.dynamic_update_slice %x, %u, %m : (tensor<16xf32>, tensor<4xf32>, tensor<i32>)
    -> tensor<16xf32>""", "tensor<16xf32>"), {1: (0, 12)},
    ),
    "length of a mask": (
        jax("%x: tensor<8xf32>, %p: tensor<i32>", IOTA + """
  %c = stablehlo.compare LT, %i, %b : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
  %z = stablehlo.constant dense<0.0> : tensor<8xf32>
  %r = stablehlo.select %c, %x, %z : tensor<8xi1>, tensor<8xf32>""", "tensor<8xf32>"), {1: (1, 8)},
    ),
    "position of a mask": (
        jax("%x: tensor<8xf32>, %p: tensor<i32>", IOTA + """
  %c = stablehlo.compare LE, %i, %b : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
  %z = stablehlo.constant dense<0.0> : tensor<8xf32>
  %r = stablehlo.select %c, %x, %z : tensor<8xi1>, tensor<8xf32>""", "tensor<8xf32>"), {1: (0, 7)},
    ),
    "class of one-hot values": (
        jax("%l: tensor<4xi32>", """
  %i = stablehlo.iota dim = 1 : tensor<4x10xi32>
  %b = stablehlo.broadcast_in_dim %l, dims = [0] : (tensor<4xi32>) -> tensor<4x10xi32>
  %c = stablehlo.compare EQ, %i, %b : (tensor<4x10xi32>, tensor<4x10xi32>) -> tensor<4x10xi1>
  %r = stablehlo.convert %c : (tensor<4x10xi1>) -> tensor<4x10xf32>""", "tensor<4x10xf32>"), {0: (0, 9)},
    ),
    "steps of a loop": (
        jax("%x: tensor<4xf32>, %n: tensor<i32>, %t: tensor<16x4xf32>", """
  %z = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %w:2 = stablehlo.while(%i = %z, %a = %x) : tensor<i32>, tensor<4xf32>
   cond {
    %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %s = stablehlo.dynamic_slice %t, %i, %z, sizes = [1, 4]
      : (tensor<16x4xf32>, tensor<i32>, tensor<i32>) -> tensor<1x4xf32>
    %q = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>
    %b = stablehlo.add %a, %q : tensor<4xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %b : tensor<i32>, tensor<4xf32>
  }
  %r = stablehlo.add %w#1, %x : tensor<4xf32>""", "tensor<4xf32>"), {1: (1, 16)},
    ),
    # torch and ONNX.
    "torch embedding": (case("embed_torch"), {2: (0, 1)}),
    "torch index_select": (
        torch(f"%t: {vtensor('7,5')}, %i: {vtensor('3', 'si32')}", f"""
  %d = torch.constant.int 1
  %r = torch.aten.index_select %t, %d, %i
    : {vtensor('7,5')}, !torch.int, {vtensor('3', 'si32')} -> {vtensor('7,3')}""", vtensor("7,3")),
        {1: (0, 4)},
    ),
    "torch index": (
        torch(f"%t: {vtensor('7,5')}, %i: {vtensor('3', 'si64')}", f"""
  %l = torch.prim.ListConstruct %i : ({vtensor('3', 'si64')}) -> !torch.list<optional<vtensor>>
  %r = torch.aten.index.Tensor %t, %l
    : {vtensor('7,5')}, !torch.list<optional<vtensor>> -> {vtensor('3,5')}""", vtensor("3,5")),
        {1: (0, 6)},
    ),
    "torch gather": (
        torch(f"%t: {vtensor('7,5')}, %i: {vtensor('3,5', 'si64')}", f"""
  %d = torch.constant.int 0
  %f = torch.constant.bool false
  %r = torch.aten.gather %t, %d, %i, %f
    : {vtensor('7,5')}, !torch.int, {vtensor('3,5', 'si64')}, !torch.bool -> {vtensor('3,5')}""",
            vtensor("3,5")), {1: (0, 6)},
    ),
    "torch index_put": (
        torch(f"%t: {vtensor('7,5')}, %i: {vtensor('3', 'si64')}, %v: {vtensor('3,5')}", f"""
  %f = torch.constant.bool false
  %l = torch.prim.ListConstruct %i : ({vtensor('3', 'si64')}) -> !torch.list<optional<vtensor>>
  %r = torch.aten.index_put %t, %l, %v, %f : {vtensor('7,5')}, !torch.list<optional<vtensor>>,
    {vtensor('3,5')}, !torch.bool -> {vtensor('7,5')}""", vtensor("7,5")), {1: (0, 6)},
    ),
    "onnx Gather": (
        onnx("Gather", vtensor("6,5"), vtensor("3", "si64"), vtensor("3,5"), "torch.onnx.axis = 0 : si64"),
        {1: (0, 5)},
    ),
    "onnx Gather of columns": (
        onnx("Gather", vtensor("6,5"), vtensor("3", "si32"), vtensor("6,3"), "torch.onnx.axis = 1 : si64"),
        {1: (0, 4)},
    ),
    "onnx GatherND": (
        onnx("GatherND", vtensor("6,5"), vtensor("3,1", "si64"), vtensor("3,5")), {1: (0, 5)},
    ),
    "onnx GatherElements": (
        onnx("GatherElements", vtensor("6,5"), vtensor("3,5", "si64"), vtensor("3,5"),
             "torch.onnx.axis = 0 : si64"), {1: (0, 5)},
    ),
    "onnx ScatterND": (
        onnx("ScatterND", vtensor("6,5"), f"{vtensor('3,1', 'si64')}; {vtensor('3,5')}", vtensor("6,5")),
        {1: (0, 5)},
    ),
    # Masks, and integers that are only computed with.
    "mask of bytes": (
        jax("%x: tensor<4xf32>, %m: tensor<4xi8>", """
  %z = stablehlo.constant dense<0> : tensor<4xi8>
  %f = stablehlo.constant dense<0.0> : tensor<4xf32>
  %c = stablehlo.compare NE, %m, %z : (tensor<4xi8>, tensor<4xi8>) -> tensor<4xi1>
  %r = stablehlo.select %c, %x, %f : tensor<4xi1>, tensor<4xf32>""", "tensor<4xf32>"), {1: (0, 1)},
    ),
    "mask that is subtracted": (
        jax("%x: tensor<4xf32>, %m: tensor<4xi64>", """
  %one = stablehlo.constant dense<1.0> : tensor<4xf32>
  %low = stablehlo.constant dense<-1.0e9> : tensor<4xf32>
  %f = stablehlo.convert %m : (tensor<4xi64>) -> tensor<4xf32>
  %d = stablehlo.subtract %one, %f : tensor<4xf32>
  %p = stablehlo.multiply %d, %low : tensor<4xf32>
  %r = stablehlo.add %x, %p : tensor<4xf32>""", "tensor<4xf32>"), {1: (0, 1)},
    ),
    "tokens that are masked, too": (
        lookup("i64", body=TOKENS).replace("linalg.yield %y", MASKED),
        {1: (0, 5)},
    ),
    "quantised": (
        jax("%a: tensor<4x8xi8>, %b: tensor<8x4xi8>", """
  %r = stablehlo.dot %a, %b : (tensor<4x8xi8>, tensor<8x4xi8>) -> tensor<4x4xi32>""", "tensor<4x4xi32>"), {},
    ),
}  # fmt: skip
"""A program, and for its arguments by number the least and the largest value."""
