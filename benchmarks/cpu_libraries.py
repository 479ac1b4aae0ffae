"""OpenBLAS, oneDNN and the C kernel for `cpu_gemms.py`: each as a function that runs so many times."""

from __future__ import annotations

import ctypes
import math
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iree_tuner.kernels.c_code import compiler
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.kernel import Knobs, Problem
from iree_tuner.suite.kinds.convolution import ConvolutionOp
from iree_tuner.suite.kinds.product import Matmul
from iree_tuner.suite.operation import Operation
from iree_tuner.targets import parse_target

Array = NDArray[np.float32]
Run = Callable[[int], Any]
"""Runs so many times."""

HOST, KERNEL = parse_target("llvm-cpu:host"), CGemm()
OWN = """
typedef long index;
void {entry}(const float *, const float *, float *, {scratch} index, index, index);
void repeat(const float *a, const float *b, float *c, float *s, index x, index y, index times, int threads) {{
  (void)s;
  for (; times > 0; times--) {{
    if (threads == 1) for (index i = 0; i < x * y; i++) {entry}(a, b, c, {given} i % x, i / x, 0);
    else {{
      _Pragma("omp parallel for schedule(dynamic) num_threads(threads)")
      for (index i = 0; i < x * y; i++) {entry}(a, b, c, {given} i % x, i / x, 0);
    }}
  }}
}}
"""
CALLS = """
typedef long index;
void repeat_blas(void (*gemm)(int, int, int, int, int, int, float, const float *, int, const float *, int,
                              float, float *, int),
                 int m, int n, int k, int turned, const float *a, const float *b, float *c, index times) {
  for (; times > 0; times--) gemm(101, 111, turned ? 112 : 111, m, n, k, 1, a, k, b, turned ? k : n, 0, c, n);
}
void repeat_primitive(int (*execute)(void *, void *, int, void *), void *primitive, void *stream, int count,
                      void *given, index times) {
  for (; times > 0; times--) execute(primitive, stream, count, given);
}
"""


@dataclass(frozen=True)
class Product:
    """`a @ b`, or `a @ b.T` where `b` is kept transposed."""

    m: int
    n: int
    k: int
    transposed: bool = False

    @property
    def name(self) -> str:
        """For tables."""
        return f"{self.m}x{self.n}x{self.k}{' A Bt' if self.transposed else ''}"

    @property
    def gemm(self) -> tuple[int, int, int]:
        """Rows, columns and depth of the matrix product."""
        return self.m, self.n, self.k

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of operands and result."""
        right = (self.n, self.k) if self.transposed else (self.k, self.n)
        return (self.m, self.k), right, (self.m, self.n)

    @property
    def operation(self) -> Operation:
        """The same in the suite, which makes its IR."""
        return Matmul(m=self.m, n=self.n, k=self.k, layout="tn" if self.transposed else "tt")

    def gathered(self, left: Array) -> Array:
        """The left operand as a matrix."""
        return left


@dataclass(frozen=True)
class Convolution:
    """An image of `size` by `size` pixels out, a square window, nhwc by hwcf."""

    size: int
    channels: int
    filters: int
    window: int = 1
    stride: int = 1

    @property
    def name(self) -> str:
        """For tables."""
        stride = f", stride {self.stride}" if self.stride > 1 else ""
        window = f"{self.window}x{self.window}"
        return f"{self.size}x{self.size}x{self.filters}, {window}x{self.channels}{stride}"

    @property
    def gemm(self) -> tuple[int, int, int]:
        """Rows, columns and depth of the matrix product."""
        return self.size**2, self.filters, self.window**2 * self.channels

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """Of operands and result."""
        image = (self.size - 1) * self.stride + self.window
        window = (self.window, self.window, self.channels, self.filters)
        return (1, image, image, self.channels), window, (1, self.size, self.size, self.filters)

    @property
    def operation(self) -> Operation:
        """The same in the suite, which makes its IR."""
        _, height, width, _ = self.shapes[0]
        return ConvolutionOp(
            h=height, w=width, c=self.channels, f=self.filters, kh=self.window, kw=self.window,
            sh=self.stride, sw=self.stride,
        )  # fmt: skip

    def gathered(self, left: Array) -> Array:
        """The left operand as a matrix: a row for each window."""
        windows = np.lib.stride_tricks.sliding_window_view(left[0], (self.window, self.window), (0, 1))
        windows = windows[:: self.stride, :: self.stride].transpose(0, 1, 3, 4, 2)
        return np.ascontiguousarray(windows.reshape(self.gemm[0], self.gemm[2]))


Shape = Product | Convolution
SHAPES: tuple[Shape, ...] = (
    Product(128, 768, 768), Product(128, 3072, 768), Product(128, 768, 3072), Product(512, 512, 512),
    Product(1024, 1024, 1024), Product(197, 384, 1536), Product(197, 576, 192), Product(64, 64, 4096),
    Product(16, 2048, 512), Product(1, 768, 3072), Product(1, 1536, 512), Product(4, 4096, 1024),
    Product(100, 100, 100), Product(33, 1000, 511), Product(255, 257, 129),
    Product(128, 768, 768, transposed=True),
    Product(512, 512, 512, transposed=True), Product(1, 1000, 2048, transposed=True),
    Convolution(56, 64, 64), Convolution(56, 64, 256), Convolution(28, 512, 128), Convolution(14, 256, 1024),
    Convolution(7, 2048, 512), Convolution(28, 256, 512, stride=2), Convolution(112, 3, 64, 7, 2),
    Convolution(56, 64, 64, 3), Convolution(28, 128, 128, 3), Convolution(14, 256, 256, 3),
    Convolution(7, 512, 512, 3), Convolution(14, 576, 96),
)  # fmt: skip


class Libraries:
    """The libraries that are compared with, and a folder for what is compiled."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.folder, self.threads, self.count = folder, threads, 0
        import scipy_openblas32  # pyright: ignore[reportMissingImports]

        ctypes.CDLL("libgomp.so.1").omp_set_num_threads(threads)
        self.blas = ctypes.CDLL(str(Path(scipy_openblas32.get_lib_dir()) / "libscipy_openblas.so"))
        self.blas.scipy_openblas_set_num_threads(threads)
        self.blas.scipy_openblas_get_corename.restype = ctypes.c_char_p
        self.driver = self.compiled(CALLS, ())
        self.dnnl = Dnnl(self.driver)

    def compiled(self, source: str, objects: Sequence[Path]) -> ctypes.CDLL:
        """A library of a source and objects; what is missing stays so until it is called."""
        self.count += 1
        path = self.folder / f"library_{self.count}"
        path.with_suffix(".c").write_text(source)
        files = [path.with_suffix(".c"), *objects]
        command = [compiler(), "-O2", "-fopenmp", "-shared", "-fPIC", *files, "-o", path.with_suffix(".so")]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(path.with_suffix(".so")))

    def kernel(self, problem: Problem, knobs: Knobs, arrays: Sequence[Array]) -> Run:
        """A variant of the kernel."""
        code = KERNEL.make(problem, HOST, knobs)
        path = self.folder / f"kernel_{self.count}.o"
        path.write_bytes(code.data)
        room = ("float *,", "s,") if code.scratch_bytes else ("", "")
        library = self.compiled(OWN.format(entry=code.entry, scratch=room[0], given=room[1]), [path])
        scratch = np.empty(code.scratch_bytes // 4 + 16, np.float32)
        pointers = [*map(pointer, arrays), pointer(scratch)]
        across, down, _ = map(ctypes.c_long, code.launch.workgroups)

        def run(times: int) -> Array:
            library.repeat(*pointers, across, down, ctypes.c_long(times), self.threads)
            return scratch  # which has to live as long

        return run

    def openblas(self, shape: Shape, arrays: Sequence[Array]) -> Run:
        """`cblas_sgemm`."""
        m, n, k = shape.gemm
        turned = isinstance(shape, Product) and shape.transposed
        pointers = [pointer(each) for each in arrays]
        return lambda times: (
            self.driver.repeat_blas(
                self.blas.scipy_cblas_sgemm, m, n, k, int(turned), *pointers, ctypes.c_long(times)
            ),
            arrays,
        )


class Dnnl:
    """oneDNN's C interface, version 3."""

    F32, ANY, INFERENCE, DIRECT, WEIGHTS = 3, 1, 96, 1, 131
    SOURCE, RESULT, RIGHT = 1, 17, 33

    def __init__(self, driver: ctypes.CDLL) -> None:
        files = metadata.files("onednn-cpu-gomp") or []
        path = next(each.locate() for each in files if each.name == "libdnnl.so.3")
        self.library, self.driver = ctypes.CDLL(str(path)), driver
        self.library.dnnl_primitive_desc_query_md.restype = ctypes.c_void_p
        self.engine = self._made("engine", 1, ctypes.c_size_t(0))
        self.stream = self._made("stream", self.engine, 1)

    def _made(self, what: str, *given: Any) -> ctypes.c_void_p:
        made = ctypes.c_void_p()
        status = getattr(self.library, f"dnnl_{what}_create")(ctypes.byref(made), *given)
        if status:
            raise RuntimeError(f"dnnl_{what}_create ends with {status}")
        return made

    def layout(self, sizes: Sequence[int], strides: Sequence[int] | None = None) -> ctypes.c_void_p:
        """Of an array; any that the library likes where no strides are given."""
        dims = (ctypes.c_int64 * len(sizes))(*sizes)
        made = ctypes.c_void_p()
        if strides is None:
            self.library.dnnl_memory_desc_create_with_tag(
                ctypes.byref(made), len(sizes), dims, self.F32, self.ANY
            )
        else:
            apart = (ctypes.c_int64 * len(sizes))(*strides)
            self.library.dnnl_memory_desc_create_with_strides(
                ctypes.byref(made), len(sizes), dims, self.F32, apart
            )
        return made

    def _memory(self, layout: ctypes.c_void_p, array: Array | None) -> ctypes.c_void_p:
        own = ctypes.c_void_p(-1)  # the library allocates it
        return self._made("memory", layout, self.engine, own if array is None else pointer(array))

    def _run(self, description: ctypes.c_void_p, memories: dict[int, ctypes.c_void_p]) -> Run:
        class Given(ctypes.Structure):
            _fields_ = (("name", ctypes.c_int), ("memory", ctypes.c_void_p))

        primitive = self._made("primitive", description)
        given = (Given * len(memories))(*(Given(name, each) for name, each in memories.items()))
        return lambda times: self.driver.repeat_primitive(
            self.library.dnnl_primitive_execute,
            primitive,
            self.stream,
            len(memories),
            given,
            ctypes.c_long(times),
        )

    def primitive(self, shape: Shape, arrays: Sequence[Array], *, packed: bool) -> Run:
        """A matmul or a convolution."""
        left, right, result = arrays
        if isinstance(shape, Product):
            turned = (1, shape.k) if shape.transposed else (shape.n, 1)
            source = self.layout((shape.m, shape.k), (shape.k, 1))
            weights = self.layout((shape.k, shape.n), turned)
            wanted = self.layout((shape.k, shape.n)) if packed else weights
            target = self.layout((shape.m, shape.n), (shape.n, 1))
            made = self._made("matmul_primitive_desc", self.engine, source, wanted, None, target, None)
        else:
            source, target = (self._channels_last(each.shape) for each in (left, result))
            place = shape.channels * shape.filters
            sizes = (shape.filters, shape.channels, shape.window, shape.window)
            weights = self.layout(sizes, (1, shape.filters, shape.window * place, place))
            wanted = self.layout(sizes) if packed else weights
            two = ctypes.c_int64 * 2
            made = self._made(
                "convolution_forward_primitive_desc", self.engine, self.INFERENCE, self.DIRECT, source,
                wanted, None, target, two(shape.stride, shape.stride), two(0, 0), two(0, 0), two(0, 0), None,
            )  # fmt: skip
        memory = self._memory(weights, right)
        if packed:
            own = ctypes.c_void_p(self.library.dnnl_primitive_desc_query_md(made, self.WEIGHTS, 0))
            turn = self._made("reorder_primitive_desc", weights, self.engine, own, self.engine, None)
            plain, memory = memory, self._memory(own, None)
            self._run(turn, {self.SOURCE: plain, self.RESULT: memory})(1)
        memories = {self.SOURCE: self._memory(source, left), self.RIGHT: memory}
        return self._run(made, {**memories, self.RESULT: self._memory(target, result)})

    def _channels_last(self, sizes: Sequence[int]) -> ctypes.c_void_p:
        n, h, w, c = sizes
        return self.layout((n, c, h, w), (h * w * c, 1, w * c, c))


def pointer(array: Array) -> ctypes.c_void_p:
    """To its data."""
    return array.ctypes.data_as(ctypes.c_void_p)


def aligned(sizes: Sequence[int]) -> Array:
    """An array that begins with a line of the cache, as the runtime's buffers do."""
    count = math.prod(sizes)
    room = np.zeros(count + 16, np.float32)
    begin = -room.ctypes.data // 4 % 16
    return room[begin : begin + count].reshape(sizes)
