"""Whole models on this machine's CPU: IREE's defaults and tuned IREE beside other runtimes, in one run.

    python examples/models/export.py --output FOLDER
    python benchmarks/models.py FOLDER --tuned resnet50=resnet50.vmfb --tuned unet=unet.spec.mlir \\
        --flag unet=--iree-opt-data-tiling --json results.json

What is tuned comes as a .vmfb; or as a spec, flags, or both, and the model is compiled with them here. All
run the same model with the same weights and inputs on the same cores, each in a process of its own
(`contenders.py` says why), and what differs from PyTorch's results is not timed. A round has one sample of
each, in an order drawn anew; between two samples there is a pause, as pools of threads go on turning for a
while (20 to 30 ms, seen in the processes' CPU time). A launch loads all of them anew.

Times are medians. Ratios and their intervals are those of `iree_tuner.measure.statistics`: of samples of the
same round, so that what disturbs the machine disturbs both; with several launches, what differs between
launches is in the interval.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from contenders import Contender, Running
from model_tables import DEFAULT, TUNED, Row, summary, table
from numpy.typing import NDArray

from examples.models import CPU_MODELS, MODELS
from iree_tuner.measure.statistics import LEAST_PAIRS, Comparison, compare_rows
from iree_tuner.targets import target_for_device

OTHERS = (
    Contender("onnxruntime", "onnxruntime"),
    Contender("XLA (jax.jit)", "jax"),
    Contender("PyTorch", "torch"),
    Contender("PyTorch compiled", "torch", {"compiled": True}),
)
PACKAGES = ("iree-base-compiler", "onnxruntime", "jax", "jaxlib", "torch", "numpy")

Times = NDArray[np.float64]


def main() -> None:
    """Compare each model, print tables, write JSON."""
    options = arguments()
    cores = sorted(os.sched_getaffinity(0))[: options.threads]
    started = time.strftime("%Y-%m-%d %H:%M")
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="models_") as scratch:
        for model in options.model or MODELS:
            contenders = [*programs(model, options, Path(scratch))]
            contenders += [each for each in OTHERS if each.name not in options.without]
            found = compare(model, contenders, options, cores)
            rows += found
            print(table(f"{model}: {CPU_MODELS[model].summary}", found), flush=True)
    print(summary(rows))
    if options.json:
        about = conditions(started, cores, options)
        text = json.dumps({"about": about, "rows": [asdict(row) for row in rows]}, indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    """What was asked for; ends the process with one line where it cannot be done."""
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="what examples/models/export.py wrote")
    parser.add_argument(
        "--model", action="append", choices=list(CPU_MODELS), help="only these; may be repeated"
    )
    parser.add_argument("--tuned", action="append", default=[], metavar="NAME=FILE", help=".vmfb or spec")
    parser.add_argument("--flag", action="append", default=[], metavar="NAME=FLAG", help="of iree-compile")
    parser.add_argument("--without", action="append", default=[], choices=[each.name for each in OTHERS])
    parser.add_argument("--threads", type=int, default=cores)
    parser.add_argument("--launches", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=20, help="in each launch")
    parser.add_argument("--sample", type=float, default=0.1, help="least length of a sample in seconds")
    parser.add_argument("--pause", type=float, default=0.05, help="seconds between two samples")
    parser.add_argument("--json", type=Path, help="write rows and conditions there")
    options = parser.parse_args()
    for name, value in map(named, (*options.tuned, *options.flag)):
        if name not in CPU_MODELS or not value:
            parser.error(f"'{name}={value}': NAME=VALUE is wanted, with a NAME of {', '.join(CPU_MODELS)}")
    for path in (Path(named(each)[1]) for each in options.tuned):
        if not path.is_file():
            parser.error(f"{path}: no such file")
    for model in options.model or MODELS:
        for suffix in (".mlir", ".irpa", ".onnx", ".npz"):
            if not (options.folder / f"{model}{suffix}").exists():
                parser.error(f"{options.folder} has no {model}{suffix}: run examples/models/export.py first")
    if not 1 <= options.threads <= cores:
        parser.error(f"--threads {options.threads}: this process may use {cores} cores")
    if min(options.launches, options.rounds) < 1 or options.launches * options.rounds < LEAST_PAIRS:
        parser.error(f"--launches times --rounds must be at least {LEAST_PAIRS}, for intervals")
    return options


def named(option: str) -> tuple[str, str]:
    """Both sides of NAME=VALUE."""
    name, _, value = option.partition("=")
    return name, value


def programs(model: str, options: argparse.Namespace, scratch: Path) -> list[Contender]:
    """The program as the compiler makes it by default, and tuned where something is given for it."""
    source = options.folder / f"{model}.mlir"
    default = scratch / f"{model}.default.vmfb"
    compile_program(source, (), default)
    found = [Contender(DEFAULT, "iree", {"vmfb": str(default)})]
    given = dict(map(named, options.tuned)).get(model)
    flags = [flag for name, flag in map(named, options.flag) if name == model]
    if given and given.endswith(".vmfb"):
        found.append(Contender(TUNED, "iree", {"vmfb": given}))
    elif given or flags:
        tuned = scratch / f"{model}.tuned.vmfb"
        spec = [f"--iree-codegen-tuning-spec-path={given}"] if given else []
        compile_program(source, [*spec, *flags], tuned)
        found.append(Contender(TUNED, "iree", {"vmfb": str(tuned)}))
    return found


def compile_program(source: Path, flags: Sequence[str], output: Path) -> None:
    """Through iree-compile, for this machine's CPU; ends the process where it fails."""
    tool = Path(sys.executable).parent / "iree-compile"
    target = target_for_device("local-task").flags
    command = [str(tool), str(source), *target, *flags, "-o", str(output)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{source}: iree-compile failed: {(done.stderr.splitlines() or ['no reason given'])[0]}")


def compare(
    model: str, contenders: Sequence[Contender], options: argparse.Namespace, cores: Sequence[int]
) -> list[Row]:
    """Rows of all contenders on one model, from several launches."""
    problems: dict[str, str] = {}
    errors: dict[str, float] = {}
    launches: list[Times] = []
    for launch in range(options.launches):
        with ExitStack() as stack:
            running: list[Running] = []
            for contender in contenders:
                if contender.name in problems:
                    continue
                try:
                    one = Running(contender, model, options.folder, cores)
                except RuntimeError as error:
                    problems[contender.name] = str(error)
                    continue
                stack.callback(one.close)
                errors[contender.name] = max(one.error, errors.get(contender.name, 0.0))
                if one.error > CPU_MODELS[model].tolerance:
                    problems[contender.name] = f"differs from PyTorch by {one.error:.1g}"
                else:
                    running.append(one)
            launches.append(sampled(running, contenders, options, launch))
    return judged(model, [each.name for each in contenders], launches, errors, problems)


def sampled(
    running: Sequence[Running], contenders: Sequence[Contender], options: argparse.Namespace, launch: int
) -> Times:
    """Microseconds of rounds by contenders; NaN for those that do not run."""
    rng = np.random.default_rng(launch)
    columns = {each.name: column for column, each in enumerate(contenders)}
    times = np.full((options.rounds, len(contenders)), np.nan)
    for row in times:
        for index in rng.permutation(len(running)):
            row[columns[running[index].contender.name]] = running[index].sample(options.sample)
            time.sleep(options.pause)
    return times


def judged(
    model: str, names: Sequence[str], launches: Sequence[Times],
    errors: dict[str, float], problems: dict[str, str],
) -> list[Row]:  # fmt: skip
    """Medians and ratios of those that ran in every launch."""
    by_default, by_tuned = (beside(name, names, launches) for name in (DEFAULT, TUNED))
    medians_ms = np.median(np.concatenate(launches), axis=0) / 1e3
    rows: list[Row] = []
    for name, ms in zip(names, medians_ms.tolist(), strict=True):
        error = errors.get(name)
        if name in problems:
            rows.append(Row(model, name, error=error, problem=problems[name]))
            continue
        first, second = by_default.get(name), by_tuned.get(name)
        rows.append(
            Row(
                model, name, ms, first and first.speedup, first and first.interval,
                second and second.speedup, second and second.interval, error,
            )
        )  # fmt: skip
    return rows


def beside(name: str, names: Sequence[str], launches: Sequence[Times]) -> dict[str, Comparison]:
    """Each contender that always ran against the named one; nothing if that one did not."""
    whole = ~np.isnan(np.concatenate(launches)).any(axis=0)
    ran = [each for each, always in zip(names, whole, strict=True) if always]
    others = [each for each in ran if each != name]
    if name not in ran or not others:
        return {}
    order = [names.index(each) for each in (name, *others)]
    return dict(zip(others, compare_rows([times[:, order] for times in launches]), strict=True))


def conditions(started: str, cores: Sequence[int], options: argparse.Namespace) -> dict[str, object]:
    """What the numbers were taken under."""
    return {
        "started": started,
        "cpu": cpu_name(),
        "cores": list(cores),
        "launches": options.launches,
        "rounds": options.rounds,
        "sample_s": options.sample,
        "pause_s": options.pause,
        "tuned": options.tuned,
        "flags": options.flag,
        "versions": {name: version_of(name) for name in PACKAGES} | {"python": platform.python_version()},
    }


def cpu_name() -> str:
    """As Linux calls it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")


def version_of(package: str) -> str | None:
    """Of an installed package."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
