"""Kernels compete with the dispatches that the compiler makes of their problems in the program."""

from pathlib import Path

import pytest
from contests import code_of
from kernels.group_norms import Norm, program

from iree_tuner.kernels.c_gemm import CGemm
from iree_tuner.kernels.find import find_places
from iree_tuner.kernels.fused_op import FusedOps
from iree_tuner.kernels.kernel import Kernel
from iree_tuner.kernels.source import Competitors, competitors_of, find_competitors, outlook_of
from iree_tuner.measure.candidate import Built
from iree_tuner.measure.statistics import Comparison
from iree_tuner.program.dispatch import Dispatch
from iree_tuner.program.extract import extract
from iree_tuner.program.source import load_program
from iree_tuner.space.configuration import Assignment
from iree_tuner.store.trial import Trial
from iree_tuner.tuning.baseline import make_tasks
from iree_tuner.tuning.finals import Final
from iree_tuner.tuning.records import Records
from iree_tuner.tuning.result import Competitor, WorkloadResult
from iree_tuner.tuning.stop import StopRequest

SHORTCUT = Path(__file__).parents[2] / "kernels" / "Inputs" / "shortcut.mlir"
needs_cc = pytest.mark.skipif(bool(CGemm().missing()), reason=CGemm().missing())


def competitors(lab, text: str, kernel: Kernel | None = None) -> tuple[Competitors, tuple[Dispatch, ...]]:
    given = load_program(text)
    dispatches = extract(given, lab.target, lab.compilers).dispatches
    kernels, records = [kernel or CGemm()], Records(None, StopRequest())
    own = outlook_of(find_places(given, lab.target, lab.compilers, kernels), kernels)
    return find_competitors(competitors_of(own, dispatches, lab), dispatches, lab, records), dispatches


@pytest.fixture(scope="module")
def shortcut(lab):
    """Those of one program, which no test changes."""
    return competitors(lab, SHORTCUT.read_text())


@needs_cc
def test_a_strided_convolution_is_another_dispatch_alone(shortcut) -> None:
    found, dispatches = shortcut
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
@pytest.mark.parametrize(
    ("program_us", "chosen"),
    [
        (100.0, {"kernels": [True], "more kernels": [False, True]}),
        (4.0, {"more kernels": [False, True]}),
        (1.0, {"more kernels": [False]}),
    ],
)
def test_what_a_kernel_gains_is_what_the_program_spends(lab, shortcut, program_us: float, chosen) -> None:
    """Alone, the kernel is half as fast as the default, which may be far slower in the program.

    A second problem has no verdict: its first variant is among `more kernels`.
    """
    found, dispatches = shortcut
    (task,) = [each for each in make_tasks(dispatches) if each.workload.op == "reduction"]
    (kind,) = found.of(task.workload.key)
    code = code_of(kind.kernel, kind.prepared.site, lab.target)
    comparison = Comparison(1.0, 2.0, 0.5, (0.4, 0.6), 0.5, (0.5,), "lose", 8)
    final = Final(None, comparison, built=Built("ok", code=code))
    result = WorkloadResult(
        task, 1.0, weight_us=program_us * kind.default_us, competitors=(Competitor(kind, (), final),)
    )
    choices = found.choices([result], lab.target, lab)
    site = kind.prepared.site
    assert {name: sorted(each == site for each, _ in picks) for name, picks in choices.items()} == chosen
    assert all(made.data for picks in choices.values() for _, made in picks)


@needs_cc
@pytest.mark.parametrize(
    ("score", "proven", "picked"),
    [(0.4, False, True), (2.0, True, False), (None, False, False), (None, True, True)],
)
def test_a_kernel_without_a_verdict_is_its_best_variant(
    lab, shortcut, score: float | None, proven: bool, picked: bool
) -> None:
    """The search tried it, and no time was left for a final.

    None: all variants are wrong alone, compared with the compiler's code. If the program with the kernel has
    been found right before, the first one is taken all the same.
    """
    found, dispatches = shortcut
    results: list[WorkloadResult] = []
    for task in make_tasks(dispatches):
        (kind,) = found.of(task.workload.key)
        knobs = [Assignment.of(each) for each in kind.knobs[:2]]
        times = [(9.0,), (score,)] if score else [(), ()]
        outcome = "ok" if score else "wrong_result"
        trials = tuple(
            Trial(kind.workload, each, outcome, samples, 1.0)
            for each, samples in zip(knobs, times, strict=True)
        )
        weight_us = kind.default_us * task.calls
        lost = Competitor(kind, trials, Final(None, None))
        results.append(WorkloadResult(task, 0.5, weight_us=weight_us, competitors=(lost,)))
    sites = {site for _, site, _ in found.outlook.pairs} if proven else set()
    choices = found.choices(results, lab.target, lab, sites)
    assert list(choices) == (["more kernels"] if picked else [])
    for site, code in choices.get("more kernels", ()):
        assert code.knobs == CGemm().variants(site.problem, lab.target)[1 if score else 0]


def test_sums_that_ops_replace_are_known_in_the_program(lab) -> None:
    """Both sums of a norm, which are different dispatches."""
    found, dispatches = competitors(lab, program(Norm(2, 16, 16, 8, 20)), FusedOps())
    sums = [each.workload.key for each in dispatches if "reduction" in each.name]
    assert len(sums) == 2
    assert found.replaced == {*sums}
