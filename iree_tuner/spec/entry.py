"""One line of a tuning spec as data: the workload, its configuration, and how that was found."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

import msgspec
from iree.compiler import ir

from iree_tuner.errors import TunerError
from iree_tuner.ops.workload import Workload
from iree_tuner.ops.workload import from_json as workload_from_json
from iree_tuner.ops.workload import to_json as workload_to_json
from iree_tuner.space.configuration import Configuration
from iree_tuner.spec.grammar import ANNOTATION, ENTRYPOINT

WORKLOAD_KEY = "workload"
OP_NAME = "op"
LOOPS = "loops"
FLAGS = "flags"


@dataclass(frozen=True)
class Provenance:
    """The origin of a configuration, and its gain there."""

    # default's time over the tuned time, above 1 for a gain; `interval` is of it
    # (`measure.statistics.Comparison`)
    speedup: float
    interval: tuple[float, float]
    default_us: float  # median time of the compiler's own choice; `tuned_us` with this configuration
    tuned_us: float
    samples: int = 0  # number of paired measurements
    device: str = ""
    chip: str = ""  # the vendor's name of the device (a URI) that it was measured on
    compiler: str = ""
    date: str = ""  # day of the measurement, `2026-11-21`
    dispatch: str = ""  # its name in the program that was tuned


@dataclass(frozen=True)
class SpecEntry:
    """A workload and the configuration that it gets."""

    workload: Workload
    configuration: Configuration
    provenance: Provenance | None = None


def entry_to_json(entry: SpecEntry) -> dict[str, object]:
    """The entry as JSON-ready data; `entry_from_json` reads it back."""
    data: dict[str, object] = {
        "workload": workload_to_json(entry.workload),
        "configuration": [asdict(op) for op in entry.configuration.ops],
    }
    if entry.provenance is not None:
        data["provenance"] = asdict(entry.provenance)
    return data


def entry_from_json(data: object, *, location: str | None = None) -> SpecEntry:
    """Read what `entry_to_json` wrote. Raises TunerError that names the missing or wrong part."""
    try:
        record = msgspec.convert(data, dict[str, object])
        if isinstance(record.get("configuration"), list):
            record = {**record, "configuration": {"ops": record["configuration"]}}
        if "workload" in record:
            own = msgspec.convert(record["workload"], dict[str, object])
            record = {**record, "workload": workload_from_json(own)}
        return msgspec.convert(record, SpecEntry, from_attributes=True)
    except ValueError as error:
        raise TunerError(f"the spec entry is not well-formed: {error}", location=location) from None


def annotation(entry: SpecEntry) -> ir.DictAttr:
    """The dictionary that is put on the entry's matcher. Needs a current context and location."""
    workload = entry.workload
    found: dict[str, ir.Attribute] = {
        WORKLOAD_KEY: ir.StringAttr.get(workload.key),
        OP_NAME: ir.StringAttr.get(workload.op),
        LOOPS: ir.DenseI64ArrayAttr.get(list(workload.loops)),
    }
    for name, value in asdict(entry.provenance).items() if entry.provenance else ():
        if name == "interval":
            found[name] = ir.DenseF64ArrayAttr.get([float(bound) for bound in value])
        elif name == "samples":
            found[name] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(value))
        elif isinstance(value, str):
            found[name] = ir.StringAttr.get(value)
        else:
            found[name] = ir.FloatAttr.get(ir.F64Type.get(), float(value))
    return ir.DictAttr.get(found)


def read_flags(spec: ir.Module) -> tuple[str, ...]:
    """Compiler flags that a spec belongs to; none for specs that were not built with any."""
    for view in spec.body.operations:
        attributes = view.operation.attributes
        noted = attributes[ANNOTATION] if ENTRYPOINT in attributes and ANNOTATION in attributes else None
        if isinstance(noted, ir.DictAttr) and FLAGS in noted:
            flags = noted[FLAGS]
            return tuple(ir.StringAttr(flag).value for flag in ir.ArrayAttr(flags))
    return ()


def read_provenance(matcher: ir.Operation) -> Provenance | None:
    """Read a matcher's annotation back; None without one of ours."""
    values = _annotated(matcher)
    try:
        return msgspec.convert(values, Provenance)
    except ValueError:
        return None


def read_workload_key(matcher: ir.Operation) -> str | None:
    """Key of the workload that a matcher was built for; None for specs that were not built here."""
    return _text(_annotated(matcher).get(WORKLOAD_KEY))


def read_op_name(matcher: ir.Operation) -> str | None:
    """The family's name for the matched op; None for specs that were not built here."""
    return _text(_annotated(matcher).get(OP_NAME))


def read_loops(matcher: ir.Operation) -> tuple[int, ...]:
    """Sizes of the loops of the op that is matched; none for specs that were not built here."""
    loops = _annotated(matcher).get(LOOPS)
    return cast("tuple[int, ...]", loops) if isinstance(loops, tuple) else ()


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _annotated(matcher: ir.Operation) -> dict[str, object]:
    if ANNOTATION not in matcher.attributes:
        return {}
    attribute = matcher.attributes[ANNOTATION]
    if not isinstance(attribute, ir.DictAttr):
        return {}
    return {named.name: _plain(named.attr) for named in attribute}


def _plain(attribute: ir.Attribute) -> object:
    match attribute:
        case ir.StringAttr() | ir.IntegerAttr() | ir.FloatAttr():
            return attribute.value
        case ir.DenseF64ArrayAttr() | ir.DenseI64ArrayAttr():
            return tuple(attribute)
        case _:
            return str(attribute)
