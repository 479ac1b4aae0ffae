"""How lit runs this project's tests: `lit -sv test`, or any file or folder under test/.

The tools are those of the Python environment that lit itself runs in, so that no installed
`iree-opt` of another release answers for the one under test.
"""

import importlib.util
import os
import platform
import shutil
import sys
from pathlib import Path

import lit.formats

# lit calls this file with `config` and `lit_config` in its globals.
config = globals()["config"]
lit_config = globals()["lit_config"]

root = Path(__file__).resolve().parent
tools = Path(sys.executable).parent  # not resolved: a virtual environment's python is a link out of it
outputs = root / "build-lit"

config.name = "iree_tuner"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
# The root and not test/: lit finds this file from a path inside test/ and counts the path from here.
config.test_source_root = str(root)
config.test_exec_root = str(outputs)
config.excludes = [
    "Inputs",
    "plugin",
    "unit",
    # What `lit .` must not walk.
    *("benchmarks", "docs", "examples", "iree_tuner", "programs", "recordings", "specs", "transforms"),
    *(path.name for pattern in (".*", "build-*", "dist") for path in root.glob(pattern)),
]


def has(module: str) -> bool:
    """Whether a Python package is installed."""
    return importlib.util.find_spec(module) is not None


def host_features() -> set[str]:
    """What this machine is: `linux`, `host-x86_64`, and the vector extensions that code is tuned for."""
    found = {sys.platform, f"host-{platform.machine().lower()}"}
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        lines = cpuinfo.read_text().splitlines()
        flags = next((line for line in lines if line.startswith(("flags", "Features"))), "").split()
        known = {"avx2": "avx2", "avx512f": "avx512", "amx_tile": "amx", "asimd": "neon", "sve": "sve"}
        found |= {f"host-{name}" for flag, name in known.items() if flag in flags}
    return found


config.available_features.update(host_features())
packages = ("iree_tuner_strategies", "jax", "onnx", "onnxruntime", "onnxscript", "sklearn", "torch", "triton")
config.available_features.update(name for name in packages if has(name))
if any(shutil.which(name) for name in (os.environ.get("CC"), "gcc", "clang") if name):
    config.available_features.add("cc")
if has("iree.turbine"):
    config.available_features.add("iree-turbine")

# What takes long, and a part of which is tested by default (test/run.py --all).
if os.environ.get("IREE_TUNER_TEST_ALL") == "1":
    config.available_features.add("exhaustive")

# No test takes this long; one that hangs should say so. lit needs psutil to enforce it.
if has("psutil"):
    config.maxIndividualTestTime = lit_config.maxIndividualTestTime or 1200

# `lit -Dupdate_golden=1 test` writes what golden files should hold instead of comparing.
update_golden = bool(lit_config.params.get("update_golden"))
if update_golden:
    config.available_features.add("update-golden")

script = tools / "iree-tuner"
itself = f'"{script}"' if script.exists() else f'"{sys.executable}" -m iree_tuner.cli'
binaries = Path(importlib.util.find_spec("iree.compiler").submodule_search_locations[0], "_mlir_libs")
command, filecheck = itself, "filecheck"
if "IREE_TUNER_TEST_SERVER" in os.environ:
    client = f'"{os.environ["IREE_TUNER_TEST_SERVER"]}.client"'
    command, filecheck = f"{client} iree-tuner", f"{client} filecheck"
golden = root / "test" / "golden.py"
config.substitutions += [
    ("%iree_tuner_itself", itself),
    ("%iree_tuner", command),
    # What the scripts of these names start, after they have imported the compiler for nothing.
    ("%iree_opt", f'"{binaries / "iree-opt"}"'),
    # Without threads it does not deadlock over a spec's path (docs/upstream/spec_path_deadlock.md).
    ("%iree_compile", f'"{binaries / "iree-compile"}" --mlir-disable-threading'),
    ("%python", f'"{sys.executable}"'),
    ("%golden", f'"{sys.executable}" -IS "{golden}"{" --update" if update_golden else ""}'),
    ("%examples", str(root / "examples")),
    ("%specs", str(root / "specs")),
    # LLVM's spelling, for tests that come from or go there; the tool is the Python package filecheck.
    ("FileCheck", filecheck),
]

for name in (
    "CC",
    "HOME",
    "TMPDIR",
    "PYTHONPATH",
    "COVERAGE_FILE",
    "LLVM_DISABLE_SYMBOLIZATION",
    "OPENBLAS_NUM_THREADS",
    "IREE_TUNER_CACHE_BYTES",
    "IREE_TUNER_TEST_COVERAGE",
    "IREE_TUNER_TEST_RESULTS",
    "IREE_TUNER_TEST_SERVER",
):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.environment["PATH"] = os.pathsep.join((str(tools), os.environ.get("PATH", "")))
# Tests neither see nor change what the user has tuned before, and tables are as wide everywhere.
config.environment["XDG_CACHE_HOME"] = str(outputs / "cache")
config.environment["XDG_DATA_HOME"] = str(outputs / "data")
config.environment["NO_COLOR"] = "1"
config.environment["COLUMNS"] = "120"
