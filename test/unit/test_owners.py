"""What depends on a family or a target is asked of it: nobody else looks at names.

Every string in the package that is the name of a family that ships, of a target, of a device's driver or of a
chip is a place that somebody who adds one may have to know. Only the owners have such strings, but for these
exceptions.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from functools import cache

import pytest
from house import sources

from iree_tuner.ops.family import families
from iree_tuner.targets.registry import kinds

OWNERS = ("targets/", "ops/attention.py", "ops/contraction.py", "ops/convolution.py", "ops/generic.py",
          "ops/scaled_contraction.py")  # fmt: skip
EXCEPTIONS: dict[tuple[str, str], str] = {
    ("kernels/c_code.py", "llvm-cpu"): "what a kernel is made for: it says so itself",
    ("kernels/ptx_gemm.py", "cuda"): "what a kernel is made for: it says so itself",
    ("kernels/triton_code.py", "cuda"): "what a kernel is made for, and Triton's name of it",
    ("program/entries.py", "convolution"): "a part of the names of front ends' ops",
    ("suite/profilers/xla.py", "convolution"): "an opcode of HLO",
    ("space/rulings.py", "attention"): "a ruling's own name, for people",
    ("spec/near/reasons.py", "contraction"): "an attribute of transform.match.structured.body",
    ("suite/backends/in_jax.py", "hip"): "a device as JAX names it",
    ("suite/backends/in_jax.py", "rocm"): "a device as JAX names it",
    ("suite/backends/in_onnxruntime.py", "cuda"): "a device as ONNX Runtime names it",
    ("suite/backends/in_rocm.py", "hip"): "a line of hipconfig's",
    ("suite/backends/backend.py", "cuda"): "which devices libraries of others can use",
    ("suite/backends/backend.py", "hip"): "which devices libraries of others can use",
    ("suite/backends/torch_running.py", "cuda"): "a device as PyTorch names it",
    ("suite/kinds/attention.py", "attention"): "a kind of the suite's operations, which is no family",
    ("suite/kinds/convolution.py", "convolution"): "a kind of the suite's operations, which is no family",
}  # fmt: skip

_CHIP = re.compile(r"local-\w*|gfx\d\w*|sm_\w*|[rc]dna\d?")


@cache
def names() -> frozenset[str]:
    """Of families, targets and drivers that ship."""
    own = [
        each for each in (*families(), *kinds().values()) if type(each).__module__.startswith("iree_tuner.")
    ]
    found = {each.name for each in own}
    return frozenset(
        found.union(*((*each.drivers, each.executables) for each in kinds().values() if each in own))
    )


def named(nodes: Sequence[ast.AST], known: frozenset[str]) -> Iterator[tuple[int, str]]:
    """Lines and names of all strings that are such names; docstrings are none."""
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            text = node.value.removesuffix("://")
            if text in known or _CHIP.fullmatch(text):
                yield node.lineno, text


@cache
def places() -> dict[tuple[str, str], list[int]]:
    """Files and names, each with its lines, outside of the owners."""
    known, found = names(), dict[tuple[str, str], list[int]]()
    for file in sources():
        if not file.name.startswith(OWNERS):
            for line, text in named(file.nodes, known):
                found.setdefault((file.name, text), []).append(line)
    return found


def test_only_owners_look_at_names_of_families_and_targets() -> None:
    found = [f"{file}:{line} '{name}'" for (file, name), lines in places().items() for line in lines
             if (file, name) not in EXCEPTIONS]  # fmt: skip
    assert not found, f"ask the family or the target instead (a member with a default): {', '.join(found)}"
    assert EXCEPTIONS.keys() <= places().keys()


@pytest.mark.parametrize(
    "source",
    [
        'if workload.family == "contraction": pass',
        'match workload.family:\n    case "attention": pass',
        '_MOST = {"convolution": 1024}',
        'on_host = device.startswith("local-")',
        'x = target.backend in ("cuda", "hip")',
        'x = limits.arch.startswith("gfx9")',
        'device: str = "local-task"',
    ],
)
def test_a_switch_is_found(source: str) -> None:
    assert list(named(list(ast.walk(ast.parse(source))), names()))


@pytest.mark.parametrize(
    "source", ['"""contraction"""', "x = family_of(workload).flops(workload)", 'x = "a cuda"']
)
def test_other_code_is_not(source: str) -> None:
    assert not list(named(list(ast.walk(ast.parse(source))), names()))
