"""Programs as preprocessing finds them, and their results on the host."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import iree.runtime as rt
from iree.compiler import ir

from iree_tuner.compiler.session import CompilerSession
from iree_tuner.kernels.known import fold_known
from iree_tuner.kernels.spec import bring_into_form
from iree_tuner.kernels.split_sums import OpsOfBlock, blocks_of
from iree_tuner.program.phases import select_target
from iree_tuner.targets import parse_target

HOST = parse_target("llvm-cpu:host")


@cache
def session(target=HOST, flags=()):
    return CompilerSession((*target.flags, *flags))


def found_by(find: Callable[[list[OpsOfBlock]], list], text: str) -> list:
    """What is found in a program as specs have it before they match."""
    own = session()
    with own.context, ir.Location.unknown():
        module = own.parse(text)
        own.run(module, stop="abi")
        bring_into_form(module)
        fold_known(module)
        return find(blocks_of(module))


def placed(program: str | bytes, flags=()) -> int:
    """How many dispatches of kernels a spec, one of the flags, puts into a program's function `main`."""
    own = session(HOST, flags)
    with own.context:
        module = own.parse(program)
        select_target(module, HOST)
        own.run(module, stop="preprocessing")
        return str(module).partition("util.func public @main")[2].count("flow.dispatch @kernel_")


def results(program: str | bytes, arrays, flags=(), target=HOST):
    """Of its function `main`, on the host or a GPU."""
    return loaded(program, flags, target)("main", arrays)


def loaded(program: str | bytes, flags=(), target=HOST) -> Callable[..., list]:
    """Calls of a program's functions, by name."""
    own = session(target, flags)
    with own.context:
        module = own.parse(program)
        select_target(module, target)
        data = own.to_vmfb(module)
    return _calls(data, "local-task" if target.backend == HOST.backend else target.backend)


def results_of_all(programs: Sequence[str | bytes], arrays) -> list[list]:
    """The same of several programs, each of one function, which are compiled as one; on the host."""
    own = session()
    functions: list[str] = []
    with own.context:
        for number, program in enumerate(programs):
            module = own.parse(program)
            (function,) = module.body.operations
            function.attributes["sym_name"] = ir.StringAttr.get(f"main_{number}")
            functions.append(function.get_asm(use_local_scope=True))
        whole = own.parse("\n".join(functions))
        select_target(whole, HOST)
        call = _calls(own.to_vmfb(whole), "local-task")
    return [call(f"main_{number}", each) for number, each in enumerate(arrays)]


def _calls(data: bytes, driver: str) -> Callable[..., list]:
    context = rt.SystemContext(config=rt.Config(driver))
    context.add_vm_module(rt.VmModule.copy_buffer(context.instance, data))

    def call(name, arrays):
        found = context.modules.module[name](*arrays)
        return [each.to_host() for each in (found if isinstance(found, tuple) else (found,))]

    return call
