"""Attentions with summands of their scores, run by Triton's interpreter, beside the programs themselves."""

import math
from pathlib import Path

import numpy as np
from attentions_added import ADDED, given_to
from interpreted_tensors import Tensor
from kernels.test_attention_sites import KERNEL, found, results

from iree_tuner.kernels import triton_attention
from iree_tuner.targets import parse_target


class MadeError(Exception):
    """What the kernel would compile: its function, parameters and constants."""


def keep(*made):
    raise MadeError(*made)


triton_attention.compiled = keep
CUDA = parse_target("cuda:sm_89")
for name in ADDED:
    site = found((Path(__file__).parent / "attentions" / f"{name}.mlir").read_text())
    given, problem = given_to(site), site.problem
    for knobs in KERNEL.variants(problem, CUDA)[:: 1 + len(KERNEL.variants(problem, CUDA)) // 6]:
        try:
            KERNEL.make(problem, CUDA, knobs)
        except MadeError as made:
            function, pointers, constants, _ = made.args
        sources = constants["SOURCES"]
        shape = triton_attention.attention_shape(problem)
        read = [shape.sources.get(each, 0) for each in triton_attention._READ]
        more = triton_attention.arrays_of(problem.added)
        read += [*more, *[0] * (4 - len(more))]
        out = np.full(problem.result.shape, np.nan, np.float16)
        tiles = -(-shape.m // knobs["bm"]) * math.prod(shape.batch)
        parts = np.full(tiles * knobs["splits"] * knobs["bm"] * (16 + 2), np.nan, np.float32)
        grid = (-(-shape.m // knobs["bm"]) * knobs["splits"], math.prod(shape.batch), 1)
        arrays = [np.ascontiguousarray(given[each]) for each in read]
        constants["CLUSTER"] = False
        function[grid](*map(Tensor, (*arrays, out, parts)), **constants)
        wanted = results(site.case, given)
        assert np.abs(out - wanted).max() < 4e-3, (name, knobs)
