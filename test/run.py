"""Run the tests: lit and pytest side by side, on all cores, with the coverage of both in the end.

    python test/run.py                 what CI runs: everything that matters, in minutes
    python test/run.py --all           all there is: every kill, fault, seed and compile, for hours (nightly)
    python test/run.py --changed       what your changes since main can break: a minute or two
    python test/run.py -k workload     other arguments go to pytest, and lit is left out
    python test/core.py                the core's tests, without the plug-ins

CONTRIBUTING.md says what is in which. The status is 0 when everything passed.
"""

from __future__ import annotations

import argparse
import compileall
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import noted_lines
from coverage import Coverage

ROOT = Path(__file__).resolve().parent.parent
UNIT = ROOT / "test" / "unit"
TOOLS = Path(sys.executable).parent

SMOKE = "test/tuning/quick.mlir"
"""The whole way in one lit test."""

CACHE, TEST_CACHE_BYTES = "IREE_TUNER_CACHE_BYTES", 8 << 20
"""Each process that times fills twice the last cache with data: a second where a host reports 480 MiB."""

ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
"""Two thousand processes import NumPy, which starts a thread a core that waits awake for 60 ms."""

NO_SYMBOLS = {"LLVM_DISABLE_SYMBOLIZATION": "1"}
"""A crash of the compiler would start llvm-symbolizer, which takes ten times as long as what crashed."""

LARGE_PAGES = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""For what the compiler allocates: compiling took 1 % more to 4 % less CPU time in four interleaved pairs."""

FOLDERS = {
    "bench": "script",
    "compile": "spec",
    "db": "store",
    "doctor": "cli",
    "extract": "program",
    "profile": "profiling",
    "run": "script",
    "tune": "tuning",
}
"""The folder of a command's lit tests: that of the package it calls. Other commands are named like it."""

FAILED = re.compile(r"\*{20} TEST '([^'\n]*)' FAILED \*{20}\n(.*?)\n\*{20}$", re.DOTALL | re.MULTILINE)
MOST_OUTPUT, MOST_REPEATED = 1500, 2
"""Of a failed lit test once more, in the end: where a log is cut, its middle is missing. One of a thousand
commands may fail on a machine that others share: so few tests that fail are repeated, and pass then."""

LEAST_COVERED, SLOWEST, MOST_ROOMS = 10, 40, 16
JUNIT = "pytest.xml"
NO_TESTS = 5  # pytest's status


def main(arguments: Sequence[str]) -> int:
    """Return 0 when everything passed, 1 otherwise."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--all", action="store_true", help="nothing is left out")
    parser.add_argument("--changed", nargs="?", const="main", metavar="BASE", help="since BASE, or main")
    parser.add_argument("--no-coverage", action="store_true", help="do not measure it")
    options, rest = parser.parse_known_args(arguments)
    if options.changed:
        lit, pytest = touched(changed_files(options.changed))
        print(f"lit: {' '.join(lit) or 'nothing'}\npytest: {' '.join(pytest) or 'nothing'}", flush=True)
    else:
        lit, pytest = ([], rest) if rest else (["test"], [])
    with tempfile.TemporaryDirectory(prefix="iree_tuner_tests_") as name:
        folder = Path(name)
        environment = {CACHE: str(TEST_CACHE_BYTES), **ONE_THREAD, **NO_SYMBOLS, **LARGE_PAGES, **os.environ}
        environment["IREE_TUNER_TEST_COLLECTED"] = str(folder / "collected")
        if not options.all:
            environment["IREE_TUNER_TEST_RESULTS"] = str(folder)
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # else each worker rewrites each test's assertions
        if options.all:
            environment["IREE_TUNER_TEST_ALL"] = "1"
        elif not (options.changed or rest):
            environment |= c_compiler(folder)
        if options.changed or options.no_coverage or rest:
            # A thousand processes import the package. Where PYTHONDONTWRITEBYTECODE is set, each would
            # compile it again.
            compileall.compile_dir(ROOT / "iree_tuner", quiet=2, workers=0)
            passed = run(lit, pytest, environment, folder, with_server=not options.all)
        else:
            modules = noted_lines.write(ROOT / "iree_tuner", folder)
            hooked = [str(ROOT / "test" / "in_every_process"), environment.get("PYTHONPATH", "")]
            environment |= {
                "IREE_TUNER_TEST_COVERAGE": str(folder),
                "PYTHONPATH": os.pathsep.join(filter(None, hooked)),
            }
            passed = run(lit, pytest, environment, folder, with_server=not options.all)
            report_coverage(noted_lines.read(modules, folder))
    return 0 if passed else 1


def run(
    lit: Sequence[str], pytest: Sequence[str], environment: dict[str, str], folder: Path, *, with_server: bool
) -> bool:
    """Whether all passed. pytest's output comes as it is made, lit's when both have ended."""
    start, used = time.monotonic(), [_cpu_seconds()]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    running: list[subprocess.Popen[str]] = []
    if pytest or not lit or lit == ["test"]:
        # One more than cores: lit ends long before pytest, and tests wait for processes of their own. Where
        # few tests are asked for by name, collecting them again in each process would take longer than they.
        few = any(each.startswith("-k") for each in pytest)
        spread = [] if few else ["-n", str(cores + 1), "--dist", "worksteal"]
        command = [sys.executable, "-m", "pytest", "-q", *spread, f"--junitxml={folder / JUNIT}", *pytest]
        print(f"$ {' '.join(command)}", flush=True)
        running.append(subprocess.Popen(command, cwd=ROOT, env=environment, text=True))
    lit_status = 0
    if lit:
        told = folder / "lit"
        command = [str(TOOLS / "lit"), "-sv", "--time-tests", "-j", str(cores), *lit]
        print(f"$ {' '.join(command)}", flush=True)
        with server(environment, folder, wanted=with_server) as served, told.open("w") as file:
            if served is None:
                lit_status = 1
                file.write("test/command_server.py did not start: see above\n")
            else:
                done = subprocess.run(command, cwd=ROOT, env=served, stdout=file, stderr=file, check=False)
                lit_status = done.returncode
                failed = [name.split()[-1] for name, _ in FAILED.findall(told.read_text())]
                if 0 < len(failed) <= MOST_REPEATED:
                    print(f"lit repeats {' '.join(failed)}", file=file, flush=True)
                    command = [str(TOOLS / "lit"), "-sv", *failed]
                    done = subprocess.run(
                        command, cwd=ROOT, env=served, stdout=file, stderr=file, check=False
                    )
                    lit_status = done.returncode
    used.append(_cpu_seconds())  # of what was waited for: pytest, if it has ended, was not yet
    statuses = [process.wait() for process in running]
    used.append(_cpu_seconds())
    if lit:
        print(told.read_text(), end="")
    if (folder / JUNIT).exists():
        report_durations(folder / JUNIT)
    spent = [after - before for before, after in pairwise(used)]
    print(f"{time.monotonic() - start:.0f} s; CPU seconds: lit {spent[0]:.0f}, pytest {spent[1]:.0f}")
    if lit:
        for name, output in FAILED.findall(told.read_text()):
            print(f"{name}:\n{output[-MOST_OUTPUT:]}")
        print(f"lit ended with status {lit_status}", flush=True)
    return lit_status == 0 and all(status in (0, NO_TESTS if lit else 0) for status in statuses)


def _cpu_seconds() -> float:
    """Of this process's children that were waited for, and of theirs."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def report_durations(path: Path) -> None:
    """Where pytest's time goes: seconds of each room, and the slowest tests."""
    cases = [
        (float(case.get("time", "0")), case.get("classname", ""), case.get("name", ""))
        for case in ElementTree.parse(path).iter("testcase")
    ]
    rooms: Counter[str] = Counter()
    for seconds, place, _ in cases:
        parts = place.split(".")  # test.unit.ROOM.test_file
        rooms[parts[2] if len(parts) > 3 else parts[-1]] += round(seconds)
    print(", ".join(f"{room} {seconds} s" for room, seconds in rooms.most_common(MOST_ROOMS)))
    for seconds, place, name in sorted(cases, reverse=True)[:SLOWEST]:
        print(f"  {seconds:6.1f} s  {place.removeprefix('test.unit.')}::{name}")


@contextmanager
def server(environment: dict[str, str], folder: Path, *, wanted: bool) -> Iterator[dict[str, str] | None]:
    """lit's environment, with servers that run commands while this is entered (`command_server.py`).

    None where these did not start, and have said why. Without a C compiler there are none.
    """
    compilers = (environment.get("CC"), "gcc", "clang")
    compiler = next((name for name in compilers if name and shutil.which(name)), None)
    if not (wanted and compiler):
        yield environment
        return
    # Consoles are made when modules are imported: the server sees what lit's commands see (lit.cfg.py).
    own = environment | {"NO_COLOR": "1", "COLUMNS": "120"}
    path = folder / "commands"
    client = [compiler, "-O1", "-o", f"{path}.client", str(ROOT / "test" / "command_client.c")]
    subprocess.run(client, check=True)
    command = [sys.executable, str(ROOT / "test" / "command_server.py"), str(path)]
    processes = [
        subprocess.Popen([*command, name], env=own, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        for name in ("iree-tuner", "filecheck")
    ]
    try:
        if any(process.stdout.readline() != b"ready\n" for process in processes if process.stdout):
            raise SystemExit(
                "test/command_server.py did not start: see above"
            )  # lit would take twice as long
        yield environment | {"IREE_TUNER_TEST_SERVER": str(path)}
    finally:
        for process in processes:
            process.terminate()
            process.wait()


C_COMPILER = """#!/bin/sh
case " $* " in
*" -ffreestanding "*) ;;
*) exec {compiler} "$@" ;;
esac
for output; do :; done
folder=${{output%/*}}
kept={kept}/$(echo "$*" | sed "s|$folder||g" | cat - "$folder"/*.[ch] | sha256sum | cut -c1-32)
if [ ! -e "$kept" ]; then
  {compiler} "$@" || exit
  cp "$output" "$kept.$$" && mv "$kept.$$" "$kept"
  exit
fi
cp "$kept" "$output"
"""


def c_compiler(folder: Path) -> dict[str, str]:
    """CC, as a script that compiles a kernel once, and a folder for the intrinsics' precompiled headers."""
    sys.path.insert(0, str(ROOT))
    if not (ROOT / "iree_tuner" / "kernels").exists():  # the core alone (core.py)
        return {}
    from iree_tuner.kernels import c_code

    compiler, script = c_code.compiler(), folder / "gcc"
    if platform.machine() != "x86_64" or not (compiler and c_code.compiler_version().startswith("gcc")):
        return {}
    script.write_text(C_COMPILER.format(compiler=compiler, kept=folder))
    script.chmod(0o755)
    return {"CC": str(script), "XDG_CACHE_HOME": str(folder)}


def report_coverage(files: dict[str, noted_lines.Covered]) -> None:
    """The number, and the files that are covered least. `.coverage` has the lines, for `coverage html`."""
    os.chdir(ROOT)  # names of files are relative to it
    measured = Coverage(
        data_file=str(ROOT / ".coverage"), config_file=str(ROOT / "pyproject.toml"), messages=False
    )
    data = measured.get_data()
    data.erase()
    data.add_lines({path: file.ran for path, file in files.items()})
    data.touch_files(files)
    data.close()
    omitted = {str(ROOT / name) for name in measured.get_option("report:omit")}
    counted = [(path, file) for path, file in files.items() if path not in omitted and file.statements]
    missed = {path: len(set(file.statements) - set(file.ran)) for path, file in counted}
    total = 100 * (1 - sum(missed.values()) / sum(len(file.statements) for _, file in counted))
    print(f"coverage of lit and pytest together: {total:.1f}%; least (`coverage html` shows the lines):")
    percents = [(100 - 100 * missed[path] / len(file.statements), path) for path, file in counted]
    for percent, path in sorted(percents)[:LEAST_COVERED]:
        print(f"  {int(percent):4}%  {os.path.relpath(path)}")
    sys.stdout.flush()


def changed_files(base: str) -> list[Path]:
    """What differs from where this branch left `base`, committed or not, new files too."""
    git = ["git", "-C", str(ROOT)]
    origin = subprocess.run([*git, "merge-base", base, "HEAD"], capture_output=True, text=True, check=False)
    if origin.returncode:
        sys.exit(f"error: git knows no '{base}' to compare with")
    listed: list[str] = []
    for command in (["diff", "--name-only", origin.stdout.strip()], ["ls-files", "-o", "--exclude-standard"]):
        done = subprocess.run([*git, *command], capture_output=True, text=True, check=True)
        listed += done.stdout.splitlines()
    return [ROOT / name for name in dict.fromkeys(listed)]


def touched(files: Sequence[Path]) -> tuple[list[str], list[str]]:
    """lit's and pytest's tests of the rooms that these files are in, and those that import them."""
    lit: set[str] = set()
    pytest: set[str] = set()
    sources = {path: path.read_text() for path in UNIT.rglob("test_*.py")}
    for file in files:
        parts = file.relative_to(ROOT).parts
        if parts[:2] == ("test", "unit"):
            room = [file] if file.name.startswith("test_") else file.parent.rglob("test_*.py")
            pytest |= {str(path.relative_to(ROOT)) for path in room if path.exists()}
        elif parts[0] == "test" and len(parts) > 2:
            is_test = file.suffix in (".test", ".mlir") and parts[2] != "Inputs"
            lit.add("/".join(parts) if is_test else f"test/{parts[1]}")
        elif parts[0] == "iree_tuner" and file.suffix == ".py":
            module = ".".join(file.relative_to(ROOT).with_suffix("").parts)
            pytest |= {str(path.relative_to(ROOT)) for path, text in sources.items() if imports(text, module)}
            rooms = rooms_of(file)
            pytest |= {f"test/unit/{room}" for room in rooms[:1] if (UNIT / room).is_dir()}
            lit |= {f"test/{room}" for room in rooms if (ROOT / "test" / room).is_dir()}
            lit.add(SMOKE)
            pytest.add("test/unit/test_style.py")
            pytest.add("test/unit/test_layers.py")
    lit -= {name for name in lit if str(Path(name).parent) in lit}
    pytest -= {name for name in pytest if any(str(parent) in pytest for parent in Path(name).parents)}
    return sorted(name for name in lit if has_lit(ROOT / name)), sorted(pytest)


def rooms_of(file: Path) -> list[str]:
    """The folders of tests of a module's packages, and for a command that of the package it calls."""
    parts = file.relative_to(ROOT / "iree_tuner").parts
    rooms = [*(parts[:-1] or [file.stem]), *([file.stem] if parts[0] == "cli" else [])]
    return [FOLDERS.get(room, FOLDERS.get(room.split("_")[0], room.split("_")[0])) for room in rooms]


def has_lit(path: Path) -> bool:
    """Whether there is a lit test."""
    return path.is_file() or any(any(path.rglob(f"*{suffix}")) for suffix in (".test", ".mlir"))


def imports(text: str, module: str) -> bool:
    """Whether a test's source imports a module by its own name, or from it."""
    package, _, name = module.rpartition(".")
    return any(
        line.startswith((f"from {module} import", f"import {module}"))
        or (line.startswith(f"from {package} import") and name in line)
        for line in text.splitlines()
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
