"""A kernel spec as a file, with the objects that it links beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from iree.compiler import ir

from iree_tuner.errors import TunerError
from iree_tuner.kernels.kernel import Code
from iree_tuner.kernels.site import Site
from iree_tuner.kernels.spec import Placement, build_kernel_spec

_SUFFIXES = {"object": ".o", "ptx": ".ptx"}


def save_kernel_spec(
    chosen: Sequence[tuple[Site, Code]], target: str, context: ir.Context, output: Path
) -> tuple[Path, ...]:
    """Write a spec, and into the folder `NAME.kernels` the code that it names by absolute paths.

    Args:
        chosen: what goes where; those that come first win.
        target: the executable target, as text (`find.Places.target`).
        context: for the IR.
        output: the spec's file, `.mlir`.

    Returns:
        The files with code.

    Raises:
        TunerError: they cannot be written.
    """
    folder = output.resolve().parent / f"{output.name.removesuffix('.mlir')}.kernels"
    paths: list[Path] = []
    try:
        folder.mkdir(exist_ok=True)
        placements: list[Placement] = []
        for site, code in chosen:
            digest = hashlib.sha256(code.data).hexdigest()[:16]
            path = folder / f"{code.entry}_{digest}{_SUFFIXES[code.kind]}"
            path.write_bytes(code.data)
            paths.append(path)
            placements.append(Placement(site, code, str(path)))
        spec = build_kernel_spec(placements, ir.Attribute.parse(target, context), context)
        output.write_text(str(spec))
    except OSError as error:
        raise TunerError(f"cannot write: {error.strerror}", location=str(error.filename)) from None
    return tuple(paths)
