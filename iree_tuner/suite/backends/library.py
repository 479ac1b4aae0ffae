"""Whether a back end's library is there, found without importing it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from iree_tuner.suite.primitives import CannotError
from iree_tuner.targets.registry import driver_of

_EXTRA = "pip install 'iree-tuner[compare]'"


def is_cuda(device: str) -> bool:
    """Whether a device URI names a GPU of CUDA's, as libraries know them."""
    return driver_of(device) == "cuda"


def is_gpu(device: str) -> bool:
    """Whether it names a GPU as PyTorch and JAX know them: of CUDA or ROCm."""
    return driver_of(device) in ("cuda", "hip")


def lacks(title: str, modules: Sequence[str]) -> str:
    """The packages to install for a library; empty where its modules are there.

    Args:
        title: of the library, for people.
        modules: top-level names.
    """
    absent = [name for name in modules if find_spec(name) is None]
    return f"{title} is not installed ({', '.join(absent)}): {_EXTRA}" if absent else ""


def versions(*distributions: str) -> str:
    """Of the first that is installed; empty where none is."""
    for name in distributions:
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return ""


def first_line(error: BaseException) -> str:
    """An exception's message, in one line, with its type's name."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def device_number(device: str) -> int:
    """Of a GPU's URI, for libraries that know devices by number; 0 where it names none.

    Raises:
        CannotError: it names one by something else.
    """
    path = device.partition("://")[2]
    if path and not path.isdigit():
        raise CannotError(f"devices are selected by number only, not by {device}")
    return int(path or 0)
