"""The kinds by name, and operations read from data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, cast

from iree_tuner.errors import TunerError, did_you_mean
from iree_tuner.suite.kinds.attention import AttentionOp
from iree_tuner.suite.kinds.convolution import ConvolutionOp
from iree_tuner.suite.kinds.elementwise import Elementwise
from iree_tuner.suite.kinds.layer import ConvolutionLayer
from iree_tuner.suite.kinds.product import BatchMatmul, Matmul
from iree_tuner.suite.kinds.reduction import Reduction, Softmax
from iree_tuner.suite.operation import Operation, Value

KINDS: Mapping[str, type[Operation]] = {
    each.kind: each
    for each in (
        Matmul, BatchMatmul, ConvolutionOp, ConvolutionLayer, AttentionOp, Reduction, Softmax, Elementwise,
    )
}  # fmt: skip

_TYPES: Mapping[str, type] = {"int": int, "str": str, "bool": bool}


def kind_named(name: str) -> type[Operation]:
    """The kind of that name. Raises TunerError for an unknown one."""
    if name not in KINDS:
        raise TunerError(f"unknown operation '{name}'", hint=did_you_mean(name, KINDS))
    return KINDS[name]


def fields_of(kind: type[Operation]) -> dict[str, Value]:
    """The names of a kind's arguments, with their defaults."""
    return {each.name: each.default for each in fields(kind)}  # pyright: ignore[reportReturnType]


def make(kind: type[Operation], arguments: Mapping[str, object]) -> Operation:
    """An operation, checked. Raises TunerError for an unknown field or a wrong value."""
    types = {each.name: str(each.type) for each in fields(kind)}
    for name, value in arguments.items():
        if name not in types:
            raise TunerError(f"{kind.kind} has no field '{name}'", hint=did_you_mean(name, types))
        wanted = types[name]
        if not isinstance(value, _TYPES[wanted]) or (isinstance(value, bool) and wanted != "bool"):
            raise TunerError(f"{name}: {value!r} is not of type {wanted}")
    given: Mapping[str, Any] = arguments
    operation = kind(**given)
    operation.check()
    return operation


def operation_of(data: object) -> Operation:
    """The inverse of `operation.to_json`. Raises TunerError for data that is no operation."""
    known = cast("Mapping[str, object]", data) if isinstance(data, Mapping) else {}
    kind, arguments = known.get("kind"), known.get("arguments")
    if not isinstance(kind, str) or not isinstance(arguments, Mapping):
        raise TunerError("an operation must be an object with a kind and its arguments")
    return make(kind_named(kind), cast("Mapping[str, object]", arguments))
