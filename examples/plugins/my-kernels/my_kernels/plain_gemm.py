import hashlib
import subprocess
import tempfile
from pathlib import Path

from iree_tuner.kernels.kernel import Code, KernelError, Knobs, Launch, Problem
from iree_tuner.kernels.product_shape import gemm_of
from iree_tuner.targets import Target

SOURCE = """
void ENTRY(const float *a, const float *b, float *c, long x, long y, long z) {
  for (long i = y * ROWS; i < (y + 1) * ROWS; ++i) {
    for (long j = x * COLUMNS; j < (x + 1) * COLUMNS; ++j) c[i * N + j] = 0;
    for (long p = 0; p < K; ++p)
      for (long j = x * COLUMNS; j < (x + 1) * COLUMNS; ++j) c[i * N + j] += a[i * K + p] * b[p * N + j];
  }
}
"""


class PlainGemm:
    """A matrix product in a few lines of C."""

    name = "plain_gemm_f32"
    summary = "f32 matrix products in plain C"
    backend = "llvm-cpu"

    def missing(self) -> str:
        return ""

    def refuses(self, problem: Problem) -> str:
        gemm = gemm_of(problem)
        if gemm is None or gemm.transposed or problem.epilogue:
            return "it is not a plain product A B"
        if any(each.element_type != "f32" for each in (*problem.inputs, problem.result)):
            return "its types are not f32"
        return "" if self.variants(problem, None) else "no tile divides its sizes"

    def variants(self, problem: Problem, target: Target | None) -> tuple[Knobs, ...]:
        gemm = gemm_of(problem)
        tiles = [(8, 64), (4, 64), (8, 32), (1, 64)]
        return tuple(
            {"rows": rows, "columns": columns}
            for rows, columns in tiles
            if gemm is not None and gemm.m % rows == 0 and gemm.n % columns == 0
        )

    def make(self, problem: Problem, target: Target, knobs: Knobs) -> Code:
        gemm = gemm_of(problem)
        if gemm is None:
            raise KernelError(f"{self.name} does not compute {problem.name}")
        rows, columns = knobs["rows"], knobs["columns"]
        macros = {"K": gemm.k, "N": gemm.n, "ROWS": rows, "COLUMNS": columns}
        unique = hashlib.sha256(repr(macros).encode()).hexdigest()[:12]
        entry = f"plain_gemm_{unique}"  # the executables of a program are linked into one
        with tempfile.TemporaryDirectory() as folder:
            source, output = Path(folder, "gemm.c"), Path(folder, "gemm.o")
            source.write_text(SOURCE)
            defined = [f"-D{name}={value}" for name, value in {"ENTRY": entry, **macros}.items()]
            flags = ["-O3", "-march=native", "-ffreestanding", "-fno-builtin", "-fPIC", "-ffp-contract=fast"]
            subprocess.run(["cc", *flags, *defined, "-c", source, "-o", output], check=True)
            data = output.read_bytes()
        return Code("object", entry, data, Launch((gemm.n // columns, gemm.m // rows, 1)), knobs=dict(knobs))
