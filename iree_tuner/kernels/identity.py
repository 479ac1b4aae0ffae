"""A digest of a kernel's sources and tools: trials of a kernel are not reused after it changes."""

from __future__ import annotations

import hashlib
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from iree_tuner.kernels.kernel import Kernel, WithTools

_NOT_SOURCES = ("__pycache__",)


def digest_of(kernel: Kernel) -> str:
    """Sixteen hexadecimal digits, which change whenever the kernel's code may change.

    The digest covers all files in the folders of the kernel's class and of its bases; for a module outside
    of packages, only its file. That is more than a kernel uses: some changes cause needless measurements, but
    none is missed. The digest also covers the kernel's tools (`WithTools`). The digest of a class without a
    file is random, so that it differs in each process.
    """
    found = hashlib.sha256(repr(kernel.name).encode())
    modules = dict.fromkeys(each.__module__ for each in type(kernel).__mro__)
    for name in modules:
        if name.partition(".")[0] in sys.stdlib_module_names:
            continue
        files = list(_files_of(sys.modules[name])) if name in sys.modules else []
        found.update(repr(name).encode())
        for relative, content in files or [("", secrets.token_bytes(16))]:
            found.update(repr((relative, hashlib.sha256(content).hexdigest())).encode())
    if tools := tools_of(kernel):
        found.update(repr(tools).encode())
    return found.hexdigest()[:16]


def tools_of(kernel: Kernel) -> tuple[str, ...]:
    """The tools of this machine that make a kernel's code, with their versions."""
    return kernel.tools() if isinstance(kernel, WithTools) else ()


def _files_of(module: ModuleType) -> Iterator[tuple[str, bytes]]:
    """Names and contents of the files of a module's package, in order; empty if there are none."""
    path = Path(module.__file__ or "")
    if not path.is_file():
        return
    if not module.__package__:
        yield path.name, path.read_bytes()
        return
    for each in sorted(path.parent.rglob("*")):
        relative = each.relative_to(path.parent)
        hidden = any(part.startswith(".") or part in _NOT_SOURCES for part in relative.parts)
        if each.is_file() and not hidden:
            yield str(relative), each.read_bytes()
