"""Adapt PTX to the calls of IREE's CUDA driver, which passes only one pointer for each binding.

Triton's kernels have all parameters of their function, also unused ones, and two more pointers: scratch
memory of the workgroups, for tensor descriptors, and memory for a profiler. Parameters that the code never
reads are removed here. The remaining parameters are the bindings: inputs, result and, if it is read, scratch
memory.

Dynamic shared memory is not a parameter. The launch gives its size (`Launch.shared_bytes`, in HAL's export
`workgroup_local_memory`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from iree_tuner.kernels.problem import KernelError

_ENTRY = re.compile(r"\.entry\s+(?P<name>[\w$]+)\s*\((?P<parameters>[^)]*)\)")
_NAME = re.compile(r"([\w$]+)\s*$")


@dataclass(frozen=True)
class Ptx:
    """A kernel's text with only the parameters that it reads; `kept` has their original numbers."""

    text: str
    entry: str
    kept: tuple[int, ...]


def without_unused(text: str) -> Ptx:
    """Remove parameters that are never read from the only entry of a module.

    Raises:
        KernelError: the text has no entry, or several.
    """
    found = list(_ENTRY.finditer(text))
    if len(found) != 1:
        raise KernelError(f"the PTX has {len(found)} entries, not one")
    (entry,) = found
    parameters = [each.strip() for each in entry["parameters"].split(",") if each.strip()]
    kept = [number for number, each in enumerate(parameters) if _is_read(each, text)]
    list_ = ",\n\t".join(parameters[number] for number in kept)
    start, end = entry.span("parameters")
    return Ptx(f"{text[:start]}\n\t{list_}\n{text[end:]}", entry["name"], tuple(kept))


def in_clusters(text: str, count: int) -> str:
    """Make `count` consecutive workgroups a cluster: they run together, and can wait for each other.

    Raises:
        KernelError: the entry does not declare its number of threads.
    """
    found = re.search(r"^\.(?:reqntid|maxntid)[^\n]*\n", text, re.MULTILINE)
    if found is None:
        raise KernelError("the PTX does not say how many threads a workgroup has")
    wanted = f".explicitcluster\n.reqnctapercluster {count}, 1, 1\n"
    return f"{text[: found.end()]}{wanted}{text[found.end() :]}"


def _is_read(parameter: str, text: str) -> bool:
    named = _NAME.search(parameter)
    if named is None:
        raise KernelError(f"a parameter of the PTX has no name: {parameter}")
    return len(re.findall(rf"(?<![\w$]){re.escape(named[1])}(?![\w$])", text)) > 1
