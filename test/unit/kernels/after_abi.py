"""Programs as preprocessing finds them, and their results on the host."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import iree.runtime as rt
from iree.compiler import ir

from iree_tuner.compiler.session import CompilerSession
from iree_tuner.kernels.split_sums import OpsOfBlock, blocks_of
from iree_tuner.program.phases import select_target
from iree_tuner.targets import parse_target

HOST = parse_target("llvm-cpu:host")


@cache
def session(target=HOST, flags=()):
    return CompilerSession((*target.flags, *flags))


def found_by(find: Callable[[list[OpsOfBlock]], list], text: str) -> list:
    """What is found in a program after `abi`."""
    own = session()
    with own.context, ir.Location.unknown():
        module = own.parse(text)
        own.run(module, stop="abi")
        return find(blocks_of(module))


def results(program: str | bytes, arrays, flags=(), target=HOST):
    """Of its function `main`, on the host or a GPU."""
    own = session(target, flags)
    with own.context:
        module = own.parse(program)
        select_target(module, target)
        data = own.to_vmfb(module)
    driver = "local-task" if target.backend == HOST.backend else target.backend
    context = rt.SystemContext(config=rt.Config(driver))
    context.add_vm_module(rt.VmModule.copy_buffer(context.instance, data))
    found = context.modules.module["main"](*arrays)
    return [each.to_host() for each in (found if isinstance(found, tuple) else (found,))]
