"""Check a spec with IREE's own tools only: iree-opt, iree-compile, iree-benchmark-module.

Verifies the spec, shows what it configures at `executable-configurations`, then compiles the program with
and without it and runs both in alternation. Every pair is also compiled under another module name: the code
then lies elsewhere in memory, which moves times as much as tuning does (see code_placement.py).

    python benchmarks/stock_tools.py examples/transformer_block.mlir block.spec.mlir --rounds 8
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from iree_tuner.measure.statistics import compare_rows

TOOLS = Path(sys.executable).parent
TARGET = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)
PLACES = 4


def tool(name: str, *arguments: object) -> str:
    """Run a tool of this environment; its standard output."""
    command = [str(TOOLS / name), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def inputs_of(program: Path) -> list[str]:
    """`--input` flags for the first public function: constants of small size."""
    signature = re.search(r"func\.func (?:public )?@(\w+)\((.*?)\) ->", program.read_text(), re.S)
    if signature is None:
        raise SystemExit(f"{program}: no function with a signature found")
    types = re.findall(r"tensor<([\dx]+x[a-z]\w+|[a-z]\w+)>", signature[2])
    return [f"--function={signature[1]}", *(f"--input={kind}=0.125" for kind in types)]


def time_us(vmfb: Path, flags: list[str], device: str) -> float:
    """Wall-clock time of one call as iree-benchmark-module reports it."""
    out = tool(
        "iree-benchmark-module", f"--module={vmfb}", f"--device={device}", *flags,
        "--benchmark_format=json", "--benchmark_min_time=0.3s",
    )  # fmt: skip
    result = json.loads(out[out.index("{") :])["benchmarks"][0]
    return result["real_time"] * {"ns": 1e-3, "us": 1.0, "ms": 1e3}[result["time_unit"]]


def main() -> None:
    """Print what was configured, and the ratio of the times with its interval."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("spec", type=Path)
    parser.add_argument("--rounds", type=int, default=8, help="pairs at each of the four places")
    parser.add_argument("--device", default="local-task")
    options = parser.parse_args()
    tool("iree-opt", options.spec, "-o", "/dev/null")
    use = f"--iree-codegen-tuning-spec-path={options.spec}"
    configured = tool("iree-compile", options.program, *TARGET, use, "--compile-to=executable-configurations")
    wanted = set(re.findall(r"lowering_config<[^>]*>", options.spec.read_text()))
    arrived = [config for config in wanted if config in configured]
    print(f"{options.spec} verifies; {len(arrived)} of its {len(wanted)} lowering configs are in the program")

    flags = inputs_of(options.program)
    text = options.program.read_text()
    groups: list[np.ndarray] = []
    with tempfile.TemporaryDirectory() as folder:
        for place in range(PLACES):
            source = Path(folder) / "program.mlir"
            source.write_text(re.sub(r"^module @(\w+)", rf"module @\1{'_' * 16 * place}", text, count=1))
            default, tuned = Path(folder) / "default.vmfb", Path(folder) / "tuned.vmfb"
            tool("iree-compile", source, *TARGET, "-o", default)
            tool("iree-compile", source, *TARGET, use, "-o", tuned)
            pairs: tuple[list[float], list[float]] = ([], [])
            for round_index in range(options.rounds):
                for which in (0, 1) if round_index % 2 == 0 else (1, 0):
                    pairs[which].append(time_us((default, tuned)[which], flags, options.device))
            groups.append(np.array(pairs).T)
    (found,) = compare_rows(groups)
    low, high = found.interval
    places = ", ".join(f"{ratio:.2f}" for ratio in found.by_group)
    print(
        f"default {found.default_us:.0f} us, tuned {found.candidate_us:.0f} us: {found.speedup:.3f}x "
        f"({low:.3f} to {high:.3f}; by place {places}), {found.pairs} pairs"
    )


if __name__ == "__main__":
    main()
