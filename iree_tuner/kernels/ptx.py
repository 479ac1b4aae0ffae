"""PTX as an executable calls it: one pointer for each binding, and nothing else.

IREE's CUDA driver passes a kernel a pointer for each binding, in order. Triton's kernels take what their
function takes, used or not, and two pointers more: scratch memory of the workgroups (tensor descriptors are
built in it) and memory for a profiler. Parameters that the code never reads are taken out of its list here,
and what is left are the bindings: inputs, result and, where it is read, scratch memory.

Dynamic shared memory is no parameter; a launch says how much (`Launch.shared_bytes`, in HAL's export
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
    """A kernel's text with no parameters but those that it reads; `kept` are their old numbers."""

    text: str
    entry: str
    kept: tuple[int, ...]


def without_unused(text: str) -> Ptx:
    """Take the parameters that are never read out of the one entry of a module.

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
    """Let so many workgroups in a row run together, as a cluster: they can wait for each other.

    Raises:
        KernelError: the entry does not say how many threads it has.
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
