"""A kernel spec as a file, with the objects that it links beside it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from iree.compiler import ir

from iree_tuner.files import planned_folder, write
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
    planned_folder(folder)
    paths: list[Path] = []
    placements: list[Placement] = []
    for site, code in chosen:
        digest = hashlib.sha256(code.data).hexdigest()[:16]
        path = folder / f"{code.entry}_{digest}{_SUFFIXES[code.kind]}"
        write(path, code.data)
        paths.append(path)
        placements.append(Placement(site, code, str(path)))
    write(output, str(build_kernel_spec(placements, ir.Attribute.parse(target, context), context)))
    return tuple(paths)
