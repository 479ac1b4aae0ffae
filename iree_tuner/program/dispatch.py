"""Dispatches as data."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from iree.compiler import ir

from iree_tuner.compiler.context import new_context, walk
from iree_tuner.compiler.session import parse_module
from iree_tuner.ops.workload import Workload
from iree_tuner.program.bindings import Harness
from iree_tuner.targets import CpuLimits, Limits


@dataclass(frozen=True)
class CallCount:
    """The call sites of a dispatch that one invocation of the program reaches from its entry functions.

    A site in a loop counts as one; with any `in_loop`, the count is a lower bound.
    """

    count: int
    in_loop: bool = False


@dataclass(frozen=True)
class Carried:
    """A configuration that an op of a program carries; attributes are printed, and empty without one.

    `op` is its name in the program; `location` is `file:line:column`, or the program's name. `translation` is
    its function's; `decomposition` has the attributes of an attention's two multiplications. `label` is the
    op's in its dispatch's workload: `root`, a companion's, or empty.
    """

    op: str
    location: str
    lowering: str = ""
    translation: str = ""
    decomposition: str = ""
    label: str = ""


@dataclass(frozen=True)
class Dispatch:
    """One executable entry point of a program."""

    name: str  # the export's name, which the compiler derives from the program
    calls: CallCount
    workload: Workload | None  # its root op, or None with the `reason` why it cannot be tuned
    reason: str = ""
    harness: Harness | None = None  # how to run it alone; None if it depends on sizes known only at run time
    # the lowering config that the compiler picks for the root op, printed, like `pipeline` (the translation
    # info) and `decomposition` (of an attention's two matrix multiplications)
    default: str = ""
    pipeline: str = ""
    limits: Limits = field(default_factory=CpuLimits)
    decomposition: str = ""
    # configurations that its ops had in a program that was read for them (`program.carried`)
    carried: tuple[Carried, ...] = ()

    @property
    def tunable(self) -> bool:
        """Whether it has a workload to tune and a way to run it."""
        return self.workload is not None and self.harness is not None


# The identity of a dispatch's code, whatever its name: equal for equal functions in different programs.


def fingerprint(harness: Harness) -> str:
    """Hash of the dispatch's function and of the places of its tensors, without names and locations.

    Equal for equal code in different programs.
    """
    module = parse_module(harness.module, new_context(), "dispatch.mlir")
    found: list[str] = []
    for op in walk(module.operation):
        if op.name == "func.func":
            op.attributes["sym_name"] = ir.StringAttr.get("dispatch", op.context)
            found.append(str(op))
    text = "\n".join([*found, repr(harness.bindings)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]
