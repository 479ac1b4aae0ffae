"""Fixtures that several rooms' tests share."""

import sys
from pathlib import Path

import pytest

from iree_tuner.compiler.worker import Workers
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.targets import target_for_device

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def cpu():
    return target_for_device("local-task")


@pytest.fixture(scope="session")
def compilers():
    with Workers(1) as pool:
        yield pool


@pytest.fixture(scope="session")
def only_dispatch(cpu, compilers):
    """The one dispatch of a program."""

    def find(program, target=cpu):
        (dispatch,) = extract(load_program(program), target, compilers).dispatches
        return dispatch

    return find
