"""Parameters on the device: from archives, which are mapped, and generated. Runs in the measuring worker."""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Sequence
from functools import lru_cache

import iree.runtime as rt
import numpy as np
import numpy.typing as npt

from iree_tuner.device.data import dtype_of, random_values, stored, stored_size
from iree_tuner.device.program_run import ProgramRun, scopes_of
from iree_tuner.errors import TunerError
from iree_tuner.program.parameters import Parameter

_ALIGNMENT = 4096
_PLACE = re.compile(r"c/\S+:\d+: \w+; ")  # in the runtime's source
Archives = Sequence[tuple[str, str]]


def parameter_module(run: ProgramRun, instance: rt.VmInstance) -> rt.VmModule | None:
    """The module that a program loads its parameters from, or None; compared programs share its data.

    Raises TunerError if an archive cannot be read, or a type has no values.
    """
    if not run.wanted and not run.parameters:
        return None
    indices = _indices(run.parameters, run.wanted)
    return rt.create_io_parameters_module(
        instance, *(index.create_provider(scope=scope) for scope, index in indices)
    )


def blank_parameters(wanted: Sequence[Parameter], instance: rt.VmInstance) -> rt.VmModule | None:
    """A module of zeros for all parameters, for a program that is only loaded; None if it has no parameters.

    Raises TunerError for a type without values.
    """
    if not wanted:
        return None
    indices = {scope: rt.ParameterIndex() for scope in scopes_of(wanted)}
    for each in wanted:
        indices[each.scope].add_splat(each.key, b"\0", stored_bytes(each))
    providers = (index.create_provider(scope=scope) for scope, index in indices.items())
    return rt.create_io_parameters_module(instance, *providers)


def stored_bytes(parameter: Parameter) -> int:
    """The length of a parameter in an archive. Raises TunerError for a type without values."""
    _dtype(parameter)
    return stored_size(parameter.shape, parameter.element_type)


def load_index(paths: Sequence[str]) -> rt.ParameterIndex:
    """Map archives. Raises TunerError if one cannot be read."""
    index = rt.ParameterIndex()
    for path in paths:
        try:
            index.load(path)
        except (RuntimeError, ValueError, IndexError, OSError) as error:
            reason = _PLACE.sub("", str(error).splitlines()[0])
            raise TunerError(f"cannot read the parameters: {reason}", location=path) from None
    return index


def generate(parameter: Parameter) -> npt.NDArray[np.generic]:
    """Values for a parameter, the same in every process.

    Vectors and integers are like inputs: positive, as scales and variances must be. Larger tensors of floats
    are weights: normal, and divided by the root of the number that is summed, so that values keep their size
    through many layers. (Infinities would make all results alike.) Raises TunerError if the type has no
    values.
    """
    dtype = _dtype(parameter)
    rng = np.random.default_rng(zlib.crc32(f"{parameter.scope}::{parameter.key}".encode()))
    shape = parameter.shape
    if len(shape) < 2 or dtype.kind in "iuc" or not math.prod(shape):
        found = random_values(shape, parameter.element_type, 0, rng, parameter.values)
        return stored(found, parameter.element_type)
    # A matrix may be either way round, a filter has its outputs first or last.
    summed = max(1, math.prod(shape) // max(shape[0], shape[-1]))
    values = rng.standard_normal(shape, np.float32)
    values *= np.float32(1 / math.sqrt(summed))
    return values.astype(dtype, copy=False)


@lru_cache(1)
def _indices(
    archives: tuple[tuple[str, str], ...], wanted: tuple[Parameter, ...]
) -> list[tuple[str, rt.ParameterIndex]]:
    scopes = dict.fromkeys((*(scope for scope, _ in archives), *scopes_of(wanted)))
    return [(scope, _index(scope, archives, wanted)) for scope in scopes]


def _index(scope: str, archives: Archives, wanted: Sequence[Parameter]) -> rt.ParameterIndex:
    index = load_index([path for own, path in archives if own == scope])
    present = {key for key, _ in index.items()}
    for parameter in wanted:
        if parameter.scope == scope and parameter.key not in present:
            index.add_buffer(parameter.key, _aligned(generate(parameter)))
    return index


def _aligned(values: npt.NDArray[np.generic]) -> npt.NDArray[np.uint8]:
    """The bytes of an array, aligned so that the runtime can use them without a copy."""
    room = np.empty(values.nbytes + _ALIGNMENT, np.uint8)
    start = -room.ctypes.data % _ALIGNMENT
    found = room[start : start + values.nbytes]
    found[:] = values.reshape(-1).view(np.uint8)
    return found


def _dtype(parameter: Parameter) -> np.dtype[np.generic]:
    dtype = dtype_of(parameter.element_type)
    if dtype is None:
        kind = parameter.element_type
        raise TunerError(f"parameter {parameter} has the type {kind}, which is not supported")
    return dtype
