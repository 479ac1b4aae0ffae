"""Kernels compete with the dispatches that the compiler makes of their problems in the program."""

from pathlib import Path

import pytest

from iree_tuner.execute.candidate import Built
from iree_tuner.execute.statistics import Comparison
from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.competing import Competitors, choices_among, find_competitors
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.tuning.finals import Final
from iree_tuner.tuning.ledger import Records
from iree_tuner.tuning.result import Competitor, WorkloadResult
from iree_tuner.tuning.stop import StopRequest
from iree_tuner.tuning.task import make_tasks

SHORTCUT = Path(__file__).parents[2] / "kernels" / "Inputs" / "shortcut.mlir"
needs_cc = pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())


def competitors(lab, text: str) -> tuple[Competitors, tuple[Dispatch, ...]]:
    given = load_program(text)
    dispatches = extract(given, lab.target, lab.compilers).dispatches
    return find_competitors(given, dispatches, [CGemm()], lab, Records(None, StopRequest())), dispatches


@needs_cc
def test_a_strided_convolution_is_another_dispatch_alone(lab) -> None:
    found, dispatches = competitors(lab, SHORTCUT.read_text())
    tasks = make_tasks(dispatches)
    assert [each.workload.op for each in tasks] == ["matmul", "reduction"]
    for task in tasks:
        (kind,) = found.of(task.workload.key)
        assert kind.competes_for == task.workload
    assert kind.prepared.workload.op == "matmul"
    assert found.beside(tasks, 1.0) == []
    known = [task for task in tasks if task.workload.op == "matmul"]  # as if flags changed the other one
    ((task, _),) = found.beside(known, 1.0)
    assert task.workload.op == "reduction"


@needs_cc
@pytest.mark.parametrize(("program_us", "chosen"), [(100.0, ["kernels"]), (4.0, ["more kernels"]), (1.0, [])])
def test_what_a_kernel_gains_is_what_the_program_spends(lab, program_us: float, chosen: list[str]) -> None:
    """Alone, the kernel is half as fast as the default, which may be far slower in the program."""
    found, dispatches = competitors(lab, SHORTCUT.read_text())
    (task,) = [each for each in make_tasks(dispatches) if each.workload.op == "reduction"]
    (kind,) = found.of(task.workload.key)
    code = kind.kernel.make(kind.prepared.site.problem, lab.target, kind.knobs[0])
    comparison = Comparison(1.0, 2.0, 0.5, (0.4, 0.6), 0.5, (0.5,), "lose", 8)
    final = Final(None, comparison, built=Built("ok", code=code))
    result = WorkloadResult(
        task, 1.0, weight_us=program_us * kind.default_us, competitors=(Competitor(kind, (), final),)
    )
    assert list(choices_among([result], lab.target)) == chosen
