"""As much of Triton's language as sources of nests use, over numpy: workgroups run one after the other."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from functools import reduce as fold
from math import erf
from types import ModuleType, SimpleNamespace

import ml_dtypes
import numpy as np

from iree_tuner.kernels.triton_norms import function_of


class Values(np.ndarray):
    """An array that is converted as Triton's are."""

    def to(self, kind, bitcast=False):
        return self.view(kind) if bitcast else self.astype(kind)


@dataclass(frozen=True)
class Pointer:
    """Elements of a flat array, at these places."""

    array: np.ndarray
    places: object = 0

    def __add__(self, other):
        return Pointer(self.array, self.places + other)

    def to(self, kind):
        """To elements of another type, of the whole array."""
        assert not np.any(self.places)
        return Pointer(self.array.view(kind))


def load(pointer, mask=True, other=0.0, cache_modifier=""):
    """Out of bounds only where the mask is false."""
    places, mask = np.broadcast_arrays(pointer.places, mask)
    assert ((places >= 0) & (places < pointer.array.size))[mask].all()
    found = pointer.array[np.where(mask, places, 0)]
    return np.where(mask, found, np.asarray(other, found.dtype)).view(Values)


def store(pointer, value, mask=True):
    places, mask, value = np.broadcast_arrays(pointer.places, mask, value)
    assert ((places >= 0) & (places < pointer.array.size))[mask].all()
    pointer.array[places[mask]] = value[mask]


def maximum(a, b, propagate_nan=False):
    return (np.maximum if propagate_nan else np.fmax)(a, b)


def minimum(a, b, propagate_nan=False):
    return (np.minimum if propagate_nan else np.fmin)(a, b)


def reduce(values, axis, combine, keep_dims=False):
    found = fold(combine, np.moveaxis(values, axis, 0))
    return _kept(np.expand_dims(found, axis) if keep_dims else found)


def associative_scan(values, axis, combine):
    first, *others = np.split(values, values.shape[axis], axis)
    found = [first]
    for each in others:
        found.append(combine(found[-1], each))
    return _kept(np.concatenate(found, axis))


def _kept(value):
    return np.asarray(value).view(Values)


def install(monkeypatch, number):
    """In the place of Triton; `number()` is that of the workgroup."""
    language = ModuleType("triton.language")
    vars(language).update(
        program_id=lambda _: number(), arange=lambda first, end: np.arange(first, end).view(Values),
        zeros=lambda shape, kind: np.zeros(shape, kind).view(Values),
        full=lambda shape, value, kind: np.full(shape, value, kind).view(Values),
        reduce=reduce, associative_scan=associative_scan, reshape=np.reshape, load=load, store=store,
        maximum=maximum, minimum=minimum,
        where=lambda *given: _kept(np.where(*given)),
        sum=lambda values, axis=None, keep_dims=False: _kept(np.sum(values, axis=axis, keepdims=keep_dims)),
        max=lambda values: _kept(np.fmax.reduce(values)),
        exp=np.exp, log=np.log, sqrt=np.sqrt, abs=np.abs, rsqrt=lambda each: 1 / np.sqrt(each),
        erf=lambda each: np.vectorize(erf, [each.dtype])(each).view(Values),
        float16=np.float16, bfloat16=ml_dtypes.bfloat16, float32=np.float32, int1=np.bool_,
        **{kind: np.dtype(kind) for bits in (8, 16, 32, 64) for kind in (f"int{bits}", f"uint{bits}")},
        broadcast_to=lambda values, shape: np.broadcast_to(values, shape).copy().view(Values),
        join=lambda one, other: np.stack([one, other], -1).view(Values),
        permute=lambda values, order: np.transpose(values, order).copy(),
        PropagateNan=SimpleNamespace(ALL=True), pointer_type=lambda kind: kind,
    )  # fmt: skip
    extra = ModuleType("triton.language.extra")
    extra.libdevice = SimpleNamespace(tanh=np.tanh, log1p=np.log1p)
    triton = ModuleType("triton")
    triton.jit, triton.language = (lambda function: function), language
    source = ModuleType("iree_tuner.kernels.triton_source")
    source.cluster_waits = lambda: None
    for each in (triton, language, extra, source):
        monkeypatch.setitem(sys.modules, each.__name__, each)


def written(monkeypatch, problem, given) -> np.ndarray:
    """What the source of a problem's nest writes, workgroup by workgroup; of sums, one or more parts."""
    workgroup = [0]
    install(monkeypatch, lambda: workgroup[0])
    function, tiles = function_of(problem.nest, len(given))
    kinds = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "i32": np.int32}
    shape = (*problem.result.shape, tiles.apart or 1) if tiles.sums else problem.result.shape
    nothing = np.nan if problem.result.element_type != "i32" else -1 << 31
    out = np.full(shape, nothing).astype(kinds[problem.result.element_type])
    run_all(function, tiles, [*given, out], workgroup)
    return out


def run_all(function, tiles, arrays, workgroup):
    """Run all workgroups; those of clusters twice, so that each finds what others have stored."""
    shared = [np.full(tiles.partial_bytes // 4, np.nan, np.float32)] if tiles.cluster else []
    pointers = [Pointer(each.reshape(-1)) for each in (*arrays, *shared)]
    with np.errstate(all="ignore"):  # lanes past the end
        for _ in range(2 if tiles.cluster else 1):
            for workgroup[0] in range(tiles.workgroups):
                function(*pointers)
