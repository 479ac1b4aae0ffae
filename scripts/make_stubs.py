"""Write type stubs of the compiler's extension modules beside them, in this environment, for pyright.

The wheels of IREE 3.13 ship none for `iree.compiler.ir`, so that every use of it would be untyped.
nanobind's stub generator makes them from the installed modules.

    python scripts/make_stubs.py && pyright
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from iree.compiler import _mlir_libs

MODULES = (
    "_mlir",
    "_ireeCompilerDialects",
    "_mlirDialectsSMT",
    "_mlirDialectsTransform",
    "_mlirDialectsLinalg",
)


def main() -> None:
    """Generate the stubs anew."""
    folder = Path(next(iter(_mlir_libs.__path__)))
    for module in MODULES:
        name = f"{_mlir_libs.__name__}.{module}"
        command = [sys.executable, "-m", "nanobind.stubgen", "-q", "-r", "-m", name, "-O", str(folder)]
        subprocess.run(command, check=True)
    # The wheel makes `Context` at import time, in a function, where no stub generator finds it.
    stub = folder / "_mlir" / "ir.pyi"
    text = stub.read_text().replace("from iree.compiler._mlir_libs import Context as Context\n", "")
    stub.write_text(f"{text}\nclass Context(_Context): ...\n")
    print(f"wrote the stubs of {', '.join(MODULES)} to {folder}")


if __name__ == "__main__":
    main()
