"""The devices and executables that a program brings along, and whether they fit what it is compiled for."""

from __future__ import annotations

from collections.abc import Iterator

from iree.compiler import ir

from iree_tuner.compiler.context import walk
from iree_tuner.compiler.unbound import device_name, executable_targets_in, is_affinity
from iree_tuner.errors import UsageError
from iree_tuner.targets import Target, kind_named
from iree_tuner.targets.limits import target_name
from iree_tuner.targets.registry import kind_of_device

DEVICE_TARGETS = "hal.device.targets"
_DEFAULT = "stream.affinity.default"
_GLOBAL, _VALUE = "util.global", "initial_value"
_LOCAL = "local"
_OBJECTS = ("hal.executable.source", "hal.executable", "hal.dispatch.extern")


def own_target_name(module: ir.Module) -> str:
    """The target that a program names, as `--target` takes it; empty where it names none."""
    found = [name for _, value in _devices(module) for name in _names(value)]
    return found[0] if found else ""


def take_devices(module: ir.Module, target: Target) -> None:
    """Remove the devices that a program names, if they are the target's kind: it is compiled for the target.

    Raises UsageError for others, and for several.
    """
    named = check_devices(module, target)
    attributes = module.operation.attributes
    if DEVICE_TARGETS in attributes:
        del attributes[DEVICE_TARGETS]
    if _DEFAULT in attributes and len(named) == 1 and not _is_used(module, named[0]):
        del attributes[_DEFAULT]
        for view in list(module.body.operations):
            if view.operation.name == _GLOBAL and _symbol(view.operation) == named[0]:
                view.operation.erase()


def check_devices(module: ir.Module, target: Target) -> list[str]:
    """Where a program names its device, if it does: an attribute, or a symbol.

    Raises UsageError where it or an executable is for another target, or where there are several devices.
    """
    devices = _devices(module)
    hint = f"compile for that target, or remove {devices[0][0]}" if devices else ""
    for where, value in devices:
        _check(where, value, target, hint)
    if len(devices) > 1:
        raise UsageError(
            f"the program is for {len(devices)} devices, not for one", hint=f"see {devices[0][0]}"
        )
    for op in walk(module.operation):
        if op.name in _OBJECTS:
            what = f"{op.name} @{_symbol(op)}" if "sym_name" in op.attributes else op.name
            values = [op.attributes[name] for name in op.attributes]
            values = [value for value in values if executable_targets_in(value)]
            inner = [each.attributes["target"] for each in walk(op) if each.name.endswith(".variant")]
            found = [*values, *inner]
            if found and not any(_fits(each, target) for each in found):
                _check(what, found[0], target, "its code must be in the program for this target, too")
    return [where.removeprefix("@") for where, _ in devices]


def _check(where: str, value: ir.Attribute, target: Target, hint: str) -> None:
    if not _fits(value, target):
        names = _names(value) or [device_name(value)]
        raise UsageError(f"{where} of the program is for {', '.join(names)}, not for {target}", hint=hint)


def _fits(value: ir.Attribute, target: Target) -> bool:
    targets = executable_targets_in(value)
    if targets:
        return any(target_name(each).partition(":")[0] == target.backend for each in targets)
    found = device_name(value)
    if not found:
        return True  # the compiler says what it thinks of it
    if found == _LOCAL:
        return kind_named(target.backend).on_host
    try:
        return kind_of_device(found).name == target.backend
    except UsageError:
        return False


def _names(value: ir.Attribute) -> list[str]:
    return [*dict.fromkeys(map(target_name, executable_targets_in(value)))]


def _devices(module: ir.Module) -> list[tuple[str, ir.Attribute]]:
    """Where the program names devices, and which."""
    attributes = module.operation.attributes
    found: list[tuple[str, ir.Attribute]] = []
    if DEVICE_TARGETS in attributes:
        found += [(DEVICE_TARGETS, each) for each in _elements(attributes[DEVICE_TARGETS])]
    for view in module.body.operations:
        op = view.operation
        if op.name == _GLOBAL and _VALUE in op.attributes and device_name(op.attributes[_VALUE]):
            found.append((f"@{_symbol(op)}", op.attributes[_VALUE]))
    return found


def _elements(value: ir.Attribute) -> Iterator[ir.Attribute]:
    if isinstance(value, ir.ArrayAttr):
        for each in value:
            yield from _elements(each)
    elif isinstance(value, ir.DictAttr):
        for entry in value:
            yield from _elements(entry.attr)
    else:
        yield value


def _is_used(module: ir.Module, symbol: str) -> bool:
    """Whether an op inside refers to a device by its symbol."""
    return any(
        is_affinity(op.attributes[name], symbol)
        for view in module.body.operations
        for op in walk(view.operation)
        for name in op.attributes
        if "affinity" in name
    )


def _symbol(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["sym_name"]).value
