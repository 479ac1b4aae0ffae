"""Compile the C code of kernels for this machine, with gcc or clang."""

from __future__ import annotations

import hashlib
import math
import os
import platform
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import ClassVar, TypeVar

from iree_tuner.device.device_facts import usable_cores
from iree_tuner.kernels.formula import CONSTANT, INPUT, SUM, FormulaTerm
from iree_tuner.kernels.integers import Integers
from iree_tuner.kernels.kernel import Array, Code, KernelError, Knobs, Launch, Problem
from iree_tuner.targets import Target

_HEADERS = ("vectors_f32.h", "steps_f32.h", "steps_i8.h", "workgroups.h")
_STEPS = (
    "bias", "channel_bias", "residual", "relu", "relu_ordered", "at_most_6", "gelu", "gelu_tanh",
    "truncf",
)  # fmt: skip
"""Steps of an epilogue that `steps_f32.h` computes, in any order."""
_EXTRAS = ("bias", "channel_bias", "residual")  # steps that have an operand
_ROUNDED = (*_EXTRAS, "relu", "relu_ordered", "at_most_6", "truncf")
"""Steps that are one operation: after a truncation, its result is rounded."""
# Freestanding: the object is linked into an executable that has no C library.
_FLAGS = (
    "-O3", "-std=gnu11", "-ffreestanding", "-fno-builtin", "-fPIC", "-fvisibility=hidden", "-fno-math-errno",
    "-ffp-contract=fast", "-fno-stack-protector", "-fno-asynchronous-unwind-tables", "-fno-tree-vectorize",
)  # fmt: skip
_TIMEOUT_S = 60.0
MACHINE = ("-march=native", *(["-mno-outline-atomics"] if platform.machine() == "aarch64" else []))
"""Flags of the C compiler for this machine. On Arm, atomic operations would be calls of a library."""

MOST_STACK = 64 << 10
"""The most bytes of arrays on the stack. The runtime gives a worker 128 KiB."""


S = TypeVar("S")


class CKernel:
    """The common part of kernels in C."""

    name: ClassVar[str]
    backend = "llvm-cpu"

    def missing(self) -> str:
        return "" if compiler() else "no C compiler: install gcc or clang, or set CC"

    def tools(self) -> tuple[str, ...]:
        return (compiler_version(),)

    def known(self, shape: S | None, problem: Problem) -> S:
        """A problem's shape. Raises KernelError where it has none: the kernel refuses the problem."""
        if shape is None:
            raise KernelError(f"{self.name} does not compute {problem.name}")
        return shape


@cache
def compiler() -> str:
    """The path of the C compiler: CC, gcc or clang; empty if there is none."""
    return next(
        (path for name in (os.environ.get("CC"), "gcc", "clang") if name and (path := shutil.which(name))), ""
    )


@cache
def compiler_version() -> str:
    """The version text of the C compiler."""
    command = [compiler(), "--version"]
    return subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False).stdout


@cache
def _ones() -> frozenset[str]:
    """The macros that the C compiler defines as 1 for this machine."""
    command = [compiler(), *MACHINE, "-dM", "-E", "-x", "c", os.devnull]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False).stdout
    return frozenset(line.split()[1] for line in lines.splitlines() if line.endswith(" 1"))


@cache
def lanes() -> int:
    """The number of f32 in a vector register of this machine."""
    sizes = {"__AVX512F__": 16, "__AVX__": 8}
    return next((size for name, size in sizes.items() if name in _ones()), 4)


def widths() -> tuple[int, ...]:
    """Vector widths to try, in f32, widest first."""
    return tuple(each for each in (16, 8) if each <= lanes()) or (lanes(),)


@cache
def floats() -> tuple[str, ...]:
    """The element types of floats that C code reads and writes on this machine."""
    has_f16 = not {"__F16C__", "__ARM_NEON"}.isdisjoint(_ones())
    return ("f32", "bf16", *(["f16"] if has_f16 else []))


def refused(problem: Problem) -> str:
    """Why `steps_f32.h` cannot compute the operands or the epilogue of a problem; empty if it can."""
    *operands, sums = map(str, problem.workload.types)
    if sums not in {"f32", *operands} or not {*operands} <= {*floats()}:
        types = ", ".join(map(str, problem.workload.types))
        return f"its types are {types}, not {' or '.join(floats())}"
    steps = problem.steps
    unknown = [step for step in steps if step not in _STEPS]
    if unknown:
        return f"its epilogue has {unknown[0]}, which is not one of {', '.join(_STEPS)}"
    then = steps[steps.index("truncf") :] if "truncf" in steps else ()
    composed = [step for step in then if step not in _ROUNDED]
    if composed:
        return f"its epilogue has {composed[0]} in {problem.result.element_type}"
    fits = all(each.element_type in floats() for each in (*problem.inputs, problem.result))
    return "" if fits else f"an operand of its epilogue is not {' or '.join(floats())}"


def steps_of(problem: Problem) -> dict[str, str]:
    """Values of the macros of `steps_f32.h`."""
    steps: list[str] = []
    for step in problem.steps:
        steps += [step, "truncf"] if "truncf" in steps and step != "truncf" else [step]
    extras = [step for step in problem.epilogue if step in _EXTRAS]
    arrays = [*problem.inputs[len(problem.inputs) - len(extras) :], problem.result]
    types = zip([*map(str.upper, extras), "RESULT"], arrays, strict=True)
    return {
        "EXTRAS": " ".join(f"EXTRA({step})" for step in extras),
        "STEPS": " ".join(f"STEP({step})" for step in steps),
        **{name: c_type(array.element_type) for name, array in types},
    }


def c_type(element_type: str) -> str:
    """The name of a float's type in the C code."""
    return _TYPES.get(element_type, element_type)


def compiled(
    source: str, name: str, macros: Mapping[str, int | str], target: Target, launch: Launch, knobs: Knobs,
    *flags: str,
) -> Code:  # fmt: skip
    """Compile a file of `kernels/code`. Raises KernelError with the C compiler's first error.

    Args:
        source: name of the file.
        name: prefix of the entry point's name. Executables are linked together, so that names must differ.
        macros: those that the file needs, LANES among them.
        target: must be this machine.
        launch: the launch parameters of the code.
        knobs: from which the macros were made.
        flags: additional flags of the C compiler.
    """
    if not target.native:
        raise KernelError(f"{source} is compiled for this machine, not for {target}")
    groups = zip(("GROUPS_X", "GROUPS_Y", "GROUPS_Z"), launch.workgroups, strict=True)
    texts = {key: str(value) for key, value in {**macros, **dict(groups), "WORKERS": usable_cores()}.items()}
    entry = f"{name}_{hashlib.sha256(repr(sorted(texts.items())).encode()).hexdigest()[:12]}"
    defined = [f"-D{key}={value}" for key, value in {**texts, "ENTRY": entry}.items()]
    machine = [*MACHINE, *(["-mno-avx512f"] if lanes() == 16 > int(macros["LANES"]) else [])]
    with tempfile.TemporaryDirectory(prefix="iree_tuner_") as folder:
        for each in (source, *_HEADERS):
            text = (resources.files("iree_tuner.kernels.code") / each).read_bytes()
            (Path(folder) / each).write_bytes(text)
        output = Path(folder) / "kernel.o"
        always = *_FLAGS, *flags, *machine
        command = [compiler(), *always, *intrinsics(*always), *defined, "-c", str(Path(folder) / source)]
        command += ["-o", str(output)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired:
            raise KernelError(f"the C compiler took longer than {_TIMEOUT_S:.0f} s") from None
        if done.returncode:
            first = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr.strip())
            raise KernelError(f"the C compiler rejected {source}: {first}")
        return Code("object", entry, output.read_bytes(), launch, knobs=dict(knobs), takes_worker=True)


@cache
def intrinsics(*flags: str) -> tuple[str, ...]:
    """Flags to read the header of intrinsics as gcc has precompiled it with other flags.

    A compilation takes 0.3 s instead of 0.8. It is in the user's cache; where it cannot be, there are none.
    """
    if platform.machine() != "x86_64" or not compiler_version().startswith("gcc"):
        return ()
    own = hashlib.sha256(repr((compiler_version(), lanes(), flags)).encode()).hexdigest()[:16]
    try:
        home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        header = Path(home) / "iree_tuner" / own / "intrinsics.h"
        made, fresh = header.with_name(f"{header.name}.gch"), header.with_name(f"{os.getpid()}.gch")
        if not made.exists():
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text("#include <immintrin.h>\n")
            command = [compiler(), *flags, "-x", "c-header", str(header), "-o", str(fresh)]
            subprocess.run(command, capture_output=True, timeout=_TIMEOUT_S, check=True)
            fresh.replace(made)
    except (OSError, RuntimeError, subprocess.SubprocessError):  # no home, no room, or no such header
        return ()
    return "-include", str(header)


EXACT = "-ffp-contract=off"
"""A flag of the C compiler, which then fuses no products and sums: 8-bit results are compared bit by bit."""

_TYPES = {"f32": "float", "i32": "int", "i8": "i8"}
_WHOLE = ("addi", "subi", "muli", "maxsi", "minsi")


def refused_integers(problem: Problem) -> str:
    """Why kernels of integers do not support a problem's types or its formula; empty if they do."""
    integers = problem.integers
    if integers is None:
        return f"its types are {', '.join(map(str, problem.workload.types))}, not 8-bit integers"
    for term in integers.formula:
        if term.op == CONSTANT and not math.isfinite(term.value):
            return "a constant after its sums is not finite"
        name = _name(term)
        if name in _WHOLE and term.element != "i32":
            return f"{name} after its sums is not of 32 bits"
        from_sum = [integers.formula[each].element for each in term.of]
        if name == "trunci" and term.element != "i8":
            return "trunci after its sums is not to 8 bits"
        if name in ("sitofp", "uitofp", "extsi", "extui") and not set(from_sum) <= {"i8", "i32"}:
            return f"{name} after its sums is of another type"
    return ""


def inputs_of(problem: Problem) -> list[tuple[Array, str]]:
    """The formula's inputs, each with `FormulaTerm.along`."""
    terms = () if problem.integers is None else problem.integers.formula
    along = {term.input: term.along for term in terms if term.op == INPUT}
    return [(array, along[number]) for number, array in enumerate(problem.inputs[2:])]


def formula_of(problem: Problem) -> dict[str, str]:
    """The macros for a problem's formula."""
    integers = problem.integers or Integers((True, True))
    formula = integers.formula or (FormulaTerm(SUM, "i32"),)
    lines: list[str] = []
    for number, term in enumerate(formula):
        kind = "vector" if term.element == "f32" else "ints"
        lines.append(f"const {kind} t{number} = {_expression(term, formula)};")
    inputs = inputs_of(problem)
    kind = "vector" if formula[-1].element == "f32" else "ints"
    return {
        "EXTRAS": " ".join(
            f"EXTRA({n}, {_TYPES[array.element_type]})" for n, (array, _) in enumerate(inputs)
        ),
        "FORMULA": " ".join([*lines, f"const {kind} found = t{len(formula) - 1};"]),
        "RESULT": _TYPES[problem.result.element_type],
        **{f"ALONG_{number}": str(int(along == "all")) for number, (_, along) in enumerate(inputs)},
    }


def _expression(term: FormulaTerm, formula: tuple[FormulaTerm, ...]) -> str:
    if term.op == SUM:
        return "sum"
    if term.op == CONSTANT:
        return f"all({term.value.hex()}f)" if term.element == "f32" else f"every({int(term.value)})"
    if term.op == INPUT:
        where, load = f"given.e{term.input}", f"load_{_TYPES[term.element]}"
        if term.along == "none":
            return f"{'all' if term.element == 'f32' else 'every'}(*{where})"
        return f"{load}({where} + {'place' if term.along == 'all' else 'column'}, count)"
    name = _name(term)
    operands = list(term.of)
    uses = Counter(each for other in formula for each in other.of)
    products = [each for each in operands if _name(formula[each]) == "mulf" and uses[each] == 1]
    if name == "addf" and products:
        # The compiler lets LLVM fuse both. LLVM takes the first operand that is a product used only here.
        product, more = products[0], operands[1 - operands.index(products[0])]
        return f"fused({', '.join(f't{each}' for each in (*formula[product].of, more))})"
    if name in ("maximumf", "minimumf"):
        # With a constant, one instruction is enough: it returns its second operand for a NaN.
        constants = [each for each in operands if formula[each].op == CONSTANT]
        if constants:
            operands.sort(key=lambda each: each not in constants)
            name = {"maximumf": "larger", "minimumf": "smaller"}[name]
    if name == "fptoui":
        name = f"{name}_{term.element}"
    if name == "uitofp":
        name = f"{name}_{formula[term.of[0]].element}"
    return f"{name}({', '.join(f't{each}' for each in operands)})"


def _name(term: FormulaTerm) -> str:
    return term.op.rpartition(".")[2]
