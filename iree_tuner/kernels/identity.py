"""What a kernel's code follows from, as a digest: trials of a kernel that was changed are not its own."""

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
    """Sixteen hexadecimal digits, equal for kernels that make the same code.

    All files of the folder count that a kernel's class is in, and of those that its bases are in, whatever
    is in them; of a module outside of any package the file alone. That is more than a kernel uses, so that
    some changes let it be measured again for nothing, but none can be missed. Its tools count, too
    (`WithTools`). A class without any file is never taken for that of another process.
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
    """Names and contents of a module's package, in order; none where there are no files."""
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
