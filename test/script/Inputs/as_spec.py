"""Codegen scripts as tuning specs for a program's only workload: PROGRAM SCRIPT OUTPUT [SCRIPT OUTPUT...]."""

import sys
from pathlib import Path

from iree_tuner.compiler.worker import Workers
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.script.script import load_script
from iree_tuner.script.source import guarded
from iree_tuner.targets import target_for_device

if __name__ == "__main__":
    program, *rest = sys.argv[1:]
    with Workers(1) as workers:
        (dispatch,) = extract(
            load_program(Path(program)), target_for_device("local-task"), workers
        ).dispatches
    for script, output in zip(rest[::2], rest[1::2], strict=True):
        Path(output).write_text(str(guarded(load_script(script), dispatch.workload)))
