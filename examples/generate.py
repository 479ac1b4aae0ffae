"""Generate tokens with a language model whose cache stays on the device.

    python examples/generate.py --output FOLDER --tokens 32 --check
    python examples/generate.py --output FOLDER --vmfb FOLDER/tiny_llama.vmfb

The first command exports the model to FOLDER (NAME.mlir, NAME.irpa), if it is not there yet, compiles it for
this CPU and runs it. The second runs what `iree-tuner compile` made of NAME.mlir, on any device. Weights are
random, so the tokens mean nothing. They are equal in each run.

Exporting and `--check` need jax, the rest only iree-base-compiler and iree-base-runtime.
docs/howto/tune-a-language-model.md has all steps.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import iree.runtime as rt
import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from examples.models import DECODERS
from examples.models.model import Model

Array = NDArray[Any]
Step = Callable[[int, int], Array]
"""Scores of the next token, from a token and its position."""

FOR_THIS_CPU = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)


def main() -> None:
    """Export and compile what is missing, generate, compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", choices=DECODERS, default="tiny_llama")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the model's files")
    parser.add_argument("--spec", type=Path, help="a tuning spec to compile with")
    parser.add_argument("--vmfb", type=Path, help="run this program, and compile none")
    parser.add_argument("--device", default="local-task", help="where --vmfb runs, for example cuda")
    parser.add_argument("--prompt", type=int, nargs="+", default=[1], help="token ids to begin with")
    parser.add_argument("--tokens", type=int, default=32, help="how many to generate")
    parser.add_argument("--check", action="store_true", help="compare each step's scores with JAX")
    options = parser.parse_args()
    model = DECODERS[options.model]
    prompt, count, capacity = options.prompt, options.tokens, model.example()[-1].shape[2]
    if count < 1 or len(prompt) + count > capacity + 1:
        parser.error(f"the prompt and --tokens may have {capacity + 1} tokens together, with one or more new")
    if options.vmfb and options.spec:
        parser.error("--spec is for compiling: leave out --vmfb")

    program, weights = (options.output / f"{model.name}{end}" for end in (".mlir", ".irpa"))
    if not (program.exists() and weights.exists()):
        export(model, options.output)
    code = options.vmfb or compiled(program, options.spec)
    step = in_iree(model, *load(code, weights, options.device))
    begun = time.perf_counter()
    fed, scores = generate(step, prompt, count)
    elapsed_ms = (time.perf_counter() - begun) * 1e3
    print("tokens:", *(int(np.argmax(each)) for each in scores[len(prompt) - 1 :]))
    print(f"{elapsed_ms / len(fed):.2f} ms a token")
    if options.check:
        check(model, fed, scores)


def generate(step: Step, prompt: list[int], count: int) -> tuple[list[int], list[Array]]:
    """The tokens that were fed to the model, and the scores after each: the likeliest token is next."""
    fed, scores = [], []
    for position in range(len(prompt) + count - 1):
        fed.append(prompt[position] if position < len(prompt) else int(np.argmax(scores[-1])))
        scores.append(step(fed[-1], position))
    return fed, scores


def export(model: Model, folder: Path) -> None:
    """Write the program and its weights, as `examples/models/export.py --program-only --weights` does."""
    from examples.models.in_jax import stablehlo
    from examples.models.to_mlir import write_mlir, write_parameters

    folder.mkdir(parents=True, exist_ok=True)
    names, text = stablehlo(model)
    write_mlir(text, model.name, names, folder / f"{model.name}.mlir")
    write_parameters(model.weights().draw(), folder / f"{model.name}.irpa")


def compiled(program: Path, spec: Path | None) -> bytes:
    """The program for this CPU, as `iree-compile` makes it."""
    from iree.compiler.tools import compile_file

    flags = [*FOR_THIS_CPU]
    if spec:  # without threads, as it may deadlock with them (docs/upstream/spec_path_deadlock.md)
        flags += [f"--iree-codegen-tuning-spec-path={spec}", "--mlir-disable-threading"]
    return compile_file(str(program), extra_args=flags)


def load(program: Path | bytes, weights: Path, driver: str) -> tuple[Any, rt.HalDevice]:
    """The module of a compiled program with its weights, and the device that it runs on."""
    config = rt.Config(driver)
    index = rt.ParameterIndex()
    index.load(str(weights))
    parameters = rt.create_io_parameters_module(config.vm_instance, index.create_provider(scope="model"))
    hal = rt.create_hal_module(config.vm_instance, config.device)
    if isinstance(program, bytes):
        code = rt.VmModule.copy_buffer(config.vm_instance, program)
    else:
        code = rt.VmModule.mmap(config.vm_instance, str(program))
    return rt.load_vm_modules(parameters, hal, code, config=config)[-1], config.device


def in_iree(model: Model, module: Any, device: rt.HalDevice) -> Step:
    """A step of the compiled program, with an empty cache on the device."""
    caches = [rt.asdevicearray(device, np.zeros_like(each)) for each in model.example()[2:]]

    def step(token: int, position: int) -> Array:
        nonlocal caches
        # The caches are results in the memory of the last ones: only the scores come to the host.
        scores, *caches = module.main(np.array([token], np.int32), np.array(position, np.int32), *caches)
        return scores.to_host()[0].copy()  # a part of a mapped array does not keep its memory

    return step


def check(model: Model, fed: list[int], scores: list[Array]) -> None:
    """Exit with an error if scores differ from those that JAX computes from the same tokens."""
    from examples.models.in_jax import jax_function

    function = jax_function(model)
    caches: list[Any] = [np.zeros_like(each) for each in model.example()[2:]]
    worst, equal = 0.0, 0
    for position, (token, found) in enumerate(zip(fed, scores, strict=True)):
        wanted, *caches = function(np.array([token], np.int32), np.array(position, np.int32), *caches)
        wanted, found = (np.asarray(each, np.float32).reshape(-1) for each in (wanted, found))
        worst = max(worst, float(np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))))
        equal += int(np.argmax(found) == np.argmax(wanted))
    print(f"JAX chooses {equal} of the {len(fed)} tokens; scores differ by {worst:.1e} of the largest")
    if not worst <= model.tolerance:
        raise SystemExit(f"error: scores may differ by {model.tolerance}")


if __name__ == "__main__":
    main()
