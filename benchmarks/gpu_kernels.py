"""Kernels on a GPU: Triton's among the candidates, beside the tuned compiler and PyTorch's libraries.

    python benchmarks/gpu_kernels.py programs/gemms/*.mlir --device cuda://0 --json rows.jsonl
    python benchmarks/gpu_kernels.py programs/layers/sdxl_unet.mlir programs/layers/cross_attention.mlir \
        --kernel triton_attention --budget 0 --json rows.jsonl
    python benchmarks/gpu_kernels.py programs/layers/resnet50.mlir --kernel triton_conv --budget 0 \
        --json rows.jsonl

For each problem of each program that the kernel computes, one after the other:

1. `iree_tuner.tune_module` with the budget finds the best configuration of the compiler's own code. It is for
   programs with one problem; `--budget 0` leaves it out.
2. `iree_tuner.kernels.in_program` tries the kernel's variants, checks their numbers, and judges the best.
3. With all compilers gone, in one process: the dispatch as the compiler makes it, the tuned one, the kernel,
   and PyTorch on the same types and sizes, in rounds of one sample each in an order that changes, all on
   rotating copies of their data. Where PyTorch's calls are a CUDA graph, the kernel is timed as one too
   (`kernel_graph`): IREE's driver launches dispatches one by one on a stream, which takes longer.

PyTorch computes products by `torch.mm` with the same type of result (cuBLAS), attention by
`scaled_dot_product_attention` with FlashAttention and again with cuDNN, and convolutions by `conv2d` with
`cudnn.benchmark`, on arrays in `channels_last`. The calls of attention and convolutions are a CUDA graph,
because Python takes longer to make such a call than some of them run.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from gpu_gemms import COPIES_BYTES, Gemm, TorchMatmul

from iree_tuner import tune_module
from iree_tuner.device.memory import LoadedDispatch, Memory
from iree_tuner.device.sensors import sensors_for
from iree_tuner.kernels.executable import build_kernel_here
from iree_tuner.kernels.find import find_places
from iree_tuner.kernels.in_program import Contest, hold_contests
from iree_tuner.kernels.kernel import Code, Problem, kernel_named
from iree_tuner.kernels.product_shape import gemm_of
from iree_tuner.kernels.shapes import AttentionShape, ConvShape, attention_shape, conv_shape
from iree_tuner.kernels.source import Outlook, competitors_of, find_competitors, outlook_of
from iree_tuner.measure.sampling import Batches, interleave
from iree_tuner.measure.statistics import Comparison, compare_rows
from iree_tuner.program.source import load_program
from iree_tuner.space.configuration import Configuration
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.stop import StopRequest

SAMPLE_S = 0.01
_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def main() -> None:
    """Tune each, hold its contest, compare, and print a row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("programs", nargs="+", type=Path)
    parser.add_argument("--device", default="cuda://0")
    parser.add_argument("--kernel", default="triton_gemm")
    parser.add_argument(
        "--budget", type=float, default=40.0, help="seconds of tuning for each program; 0 for none"
    )
    parser.add_argument("--variants", type=int, default=0, help="of the kernel; 0 for all")
    parser.add_argument("--rounds", type=int, default=48)
    parser.add_argument("--json", type=Path, help="file to which rows are appended, one a line")
    given = parser.parse_args()
    for program in given.programs:
        for row in rows_of(program, given):
            print(json.dumps(row), flush=True)
            if given.json:
                with given.json.open("a") as file:
                    file.write(json.dumps(row) + "\n")


def rows_of(path: Path, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for each problem of a program."""
    configurations: dict[str, Configuration] = {}
    tried = 0
    if given.budget:
        tuned = tune_module(path, device=given.device, budget_s=given.budget, try_flags=False, profile=False)
        configurations = {
            each.task.workload.key: each.entry.configuration for each in tuned.results if each.entry
        }
        tried = sum(len(each.trials) for each in tuned.results)
    target = target_for_device(given.device, "host")
    kernel = kernel_named(given.kernel)
    with Lab(target) as lab:
        lab.start()
        places = find_places(load_program(path), target, lab.compilers, [kernel])
    for pair in outlook_of(places, [kernel]).pairs:
        start = time.perf_counter()
        with Lab(target) as lab:  # no compiler is left when all take turns
            lab.start()
            records = Records(None, StopRequest())
            one, most = Outlook(places.target, (pair,), ()), given.variants or math.inf
            found = find_competitors(competitors_of(one, (), lab, most), (), lab, records)
            (contest,) = hold_contests(found, lab, records, tuned=configurations)
            vmfb = built(contest, lab)
            default_us = contest.kind.default_us if contest.kind else math.inf
        yield {
            "program": path.stem, "function": contest.place.functions[0],
            "problem": contest.site.problem.name, "kernel": kernel.name, "tried": len(contest.trials),
            "outcomes": Counter(trial.outcome for trial in contest.trials),
            "contest_s": round(time.perf_counter() - start, 1), "note": contest.note, "chosen": contest.wins,
            "knobs": dict(contest.knobs),
            "wrong": [each.message for each in contest.trials if each.outcome == "wrong_result"][:3],
            "trials": [
                [round(trial.score * default_us, 2), dict(trial.assignment)]
                for trial in contest.trials
                if trial.outcome == "ok"
            ],
            "configurations_tried": tried, **beside_torch(contest, vmfb, given),
        }  # fmt: skip


def built(contest: Contest, lab: Lab) -> bytes:
    """The harness with the best variant; empty if there is none."""
    if contest.kind is None or (code := code_of(contest)) is None:
        return b""
    harness, problem = contest.kind.bench.harness, contest.site.problem
    return lab.compilers.call(build_kernel_here, harness, lab.target.flags, problem, code).vmfb


def code_of(contest: Contest) -> Code | None:
    """The code of the best variant."""
    code = contest.final.built.code if contest.final.built else None
    return code if isinstance(code, Code) else None


def beside_torch(contest: Contest, vmfb: bytes, given: argparse.Namespace) -> dict[str, Any]:
    """Default, tuned, kernel and PyTorch in turns; nothing compiles meanwhile."""
    if contest.kind is None or not vmfb:
        return {}
    harness = contest.kind.bench.harness
    named = {"default": contest.kind.bench.default, "kernel": vmfb}
    if contest.configured:
        named["tuned"] = contest.configured
    memory = Memory.for_timing(harness, given.device, max(1, COPIES_BYTES // harness.stride))
    set_device(given.device)
    runs: dict[str, Any] = {
        name: LoadedDispatch(each, harness, given.device, memory) for name, each in named.items()
    }
    copies = COPIES_BYTES // harness.stride
    ways = in_torch(contest.site.problem, copies)
    runs |= ways
    code = code_of(contest)
    if code is not None and any(isinstance(each, TorchGraph) for each in ways.values()):
        runs["kernel_graph"] = kernel_in_torch(contest.site.problem, code, copies)
    for each in runs.values():
        each.run(4)
    sensors = sensors_for(given.device)
    sensors.start()
    rows = np.asarray(interleave([Batches(each, SAMPLE_S) for each in runs.values()], sensors, given.rounds))
    column = {name: index for index, name in enumerate(runs)}
    medians = {f"{name}_us": float(np.median(rows[:, index])) for name, index in column.items()}
    pairs = [
        ("kernel", "default"),
        ("kernel", "tuned"),
        ("tuned", "default"),
        *((one, each) for one in ("kernel", "kernel_graph") for each in ways),
    ]
    ratios = {
        f"{one}_over_{other}": told(compare_rows([rows[:, [column[other], column[one]]]])[0])
        for one, other in pairs
        if one in column and other in column
    }
    results = {"torch_result": runs["torch"].result} if isinstance(runs.get("torch"), TorchMatmul) else {}
    return {**medians, **ratios, **results, "readings": str(sensors.readings())}


class TorchGraph:
    """Calls of a function of PyTorch on rotating copies of its operands, as a CUDA graph."""

    def __init__(self, call: Callable[..., Any], make: Callable[[], tuple[Any, ...]], copies: int) -> None:
        import torch

        self._torch = torch
        self._copies = [make() for _ in range(max(1, copies))]
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):  # libraries choose their algorithms
                call(*self._copies[0])
        torch.cuda.synchronize()
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._results = [call(*each) for each in self._copies]

    def run(self, repeats: int) -> float:
        """Seconds of so many calls, from as many whole graphs as are closest to that."""
        graphs = max(1, round(repeats / len(self._copies)))
        self._torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(graphs):
            self._graph.replay()
        self._torch.cuda.synchronize()
        return (time.perf_counter() - start) * repeats / (graphs * len(self._copies))


def in_torch(problem: Problem, copies: int) -> dict[str, Any]:
    """PyTorch's ways to compute a problem, by name."""
    sizes, operands = gemm_of(problem), problem.inputs[0].element_type
    if sizes is not None:
        gemm = Gemm(sizes.m, sizes.n, sizes.k, sizes.transposed, operands, problem.result.element_type)
        return {"torch": TorchMatmul(gemm, COPIES_BYTES)}
    if (attention := attention_shape(problem)) is not None:
        return attention_in_torch(attention, operands, problem, copies)
    if (conv := conv_shape(problem)) is not None and conv.groups == 1:
        return {"torch": convolution_in_torch(conv, operands, copies)}
    return {}


def drawn(operands: str, *shape: int) -> Any:
    """Random values on the GPU."""
    import torch

    kinds: dict[str, Any] = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
    return (torch.rand(*shape, device="cuda") - 0.5).to(kinds[operands])


def attention_in_torch(shape: AttentionShape, operands: str, problem: Problem, copies: int) -> dict[str, Any]:
    """Attention by FlashAttention and by cuDNN, without those that do not support it."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel

    heads = math.prod(shape.batch)

    def make() -> tuple[Any, ...]:
        sizes = ((shape.m, shape.k1), (shape.k2, shape.k1), (shape.k2, shape.n))
        return tuple(drawn(operands, 1, heads, *each) for each in sizes)

    found: dict[str, Any] = {}
    for name, backend in (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION)):

        def call(q: Any, k: Any, v: Any, backend: Any = backend) -> Any:
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(
                    q, k, v, is_causal=problem.after is not None
                )

        with suppress(RuntimeError):
            found[name] = TorchGraph(call, make, copies)
    return found


def convolution_in_torch(shape: ConvShape, operands: str, copies: int) -> TorchGraph:
    """A convolution of images with channels last by cuDNN's fastest algorithm."""
    import torch

    torch.backends.cudnn.benchmark = True

    def make() -> tuple[Any, ...]:
        image = drawn(operands, shape.images, shape.channels, shape.in_h, shape.in_w)
        filter_ = drawn(operands, shape.filters, shape.channels, shape.window_h, shape.window_w)
        return tuple(each.to(memory_format=torch.channels_last) for each in (image, filter_))

    def call(image: Any, filter_: Any) -> Any:
        return torch.nn.functional.conv2d(
            image, filter_, stride=shape.strides, padding=shape.low, dilation=shape.dilations
        )

    return TorchGraph(call, make, copies)


def kernel_in_torch(problem: Problem, code: Code, copies: int) -> TorchGraph:
    """A kernel's code in PTX as a CUDA graph, on PyTorch's memory."""
    import torch

    driver = ctypes.CDLL("libcuda.so.1")
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    shared = code.launch.shared_bytes

    def checked(status: int) -> None:
        if status:
            raise RuntimeError(f"CUDA's driver says {status}")

    torch.cuda.init()
    torch.cuda.synchronize()
    checked(driver.cuModuleLoadData(ctypes.byref(module), code.data + b"\0"))
    checked(driver.cuModuleGetFunction(ctypes.byref(function), module, code.entry.encode()))
    checked(driver.cuFuncSetAttribute(function, _SHARED, shared))

    def make() -> tuple[Any, ...]:
        scratch = [torch.zeros(code.scratch_bytes, dtype=torch.uint8, device="cuda")]
        arrays = [drawn(each.element_type, *each.shape) for each in (*problem.inputs, problem.result)]
        return (*arrays, *(scratch if code.scratch_bytes else []))

    def call(*arrays: Any) -> None:
        pointers = [ctypes.c_void_p(each.data_ptr()) for each in arrays]
        places = (ctypes.c_void_p * len(pointers))(*map(ctypes.addressof, pointers))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        sizes = (*code.launch.workgroups, *code.launch.threads, shared)
        checked(driver.cuLaunchKernel(function, *sizes, stream, places, None))

    return TorchGraph(call, make, copies)


def set_device(uri: str) -> None:
    """Let PyTorch use the GPU of a device URI."""
    import torch

    if uri.startswith("cuda://"):
        torch.cuda.set_device(int(uri.rpartition("/")[2]))


def told(found: Comparison) -> list[float]:
    """How many times as fast, with the interval."""
    return [found.speedup, *found.interval]


if __name__ == "__main__":
    main()
