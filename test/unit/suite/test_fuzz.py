"""Random operations tested with legal configurations: drawn again from a seed, judged, written, reduced."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from itertools import islice

import pytest
from amounts import amount

from iree_tuner.cli.main import run
from iree_tuner.measure.candidate import Builder, Built, build_here
from iree_tuner.suite.drawn import drawn
from iree_tuner.suite.fuzz import Fuzzer, reduced, written
from iree_tuner.suite.kinds.registry import KINDS, make
from iree_tuner.suite.programs import module_of
from iree_tuner.targets import target_for_device
from iree_tuner.tuning.lab import Lab
from iree_tuner.tuning.stop import StopRequest

PRODUCT = str(module_of(make(KINDS["matmul"], {"m": 5, "n": 9, "k": 7})))
WRONG_TILE = """
#tiles = #iree_cpu.lowering_config<distribution = [1, 4, 8, 0, 0], vector_common_parallel = [1, 2, 4, 0, 0],
                                   vector_reduction = [0, 0, 0, 8, 12]>
#pipeline = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<LinalgExtTileAndVectorize>>
#own = #iree_codegen.compilation_info<lowering_config = #tiles, translation_info = #pipeline>
func.func @main(%q: tensor<2x8x16xf32>, %k: tensor<2x24x16xf32>, %v: tensor<2x24x8xf32>)
    -> tensor<2x8x8xf32> {
  %scale = arith.constant 0.25 : f32
  %zero = arith.constant 0.0 : f32
  %least = arith.constant -3.4e38 : f32
  %e = tensor.empty() : tensor<2x8x8xf32>
  %r = tensor.empty() : tensor<2x8xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<2x8x8xf32>) -> tensor<2x8x8xf32>
  %1 = linalg.fill ins(%least : f32) outs(%r : tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = linalg.fill ins(%zero : f32) outs(%r : tensor<2x8xf32>) -> tensor<2x8xf32>
  %3:3 = iree_linalg_ext.online_attention <indexing_maps = [
      affine_map<(b, m, n, k1, k2) -> (b, m, k1)>, affine_map<(b, m, n, k1, k2) -> (b, k2, k1)>,
      affine_map<(b, m, n, k1, k2) -> (b, k2, n)>, affine_map<(b, m, n, k1, k2) -> ()>,
      affine_map<(b, m, n, k1, k2) -> (b, m, n)>, affine_map<(b, m, n, k1, k2) -> (b, m)>,
      affine_map<(b, m, n, k1, k2) -> (b, m)>]> {compilation_info = #own}
      ins(%q, %k, %v, %scale : tensor<2x8x16xf32>, tensor<2x24x16xf32>, tensor<2x24x8xf32>, f32)
      outs(%0, %1, %2 : tensor<2x8x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
    ^bb0(%score: f32):
      iree_linalg_ext.yield %score : f32
  } -> tensor<2x8x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
  return %3#0 : tensor<2x8x8xf32>
}
"""
"""With a tile that makes attention wrong (docs/upstream/attention_k1_tile.md)."""


@pytest.fixture(scope="module")
def lab():
    with Lab(target_for_device("local-task"), 1) as made:
        yield made


def built_badly(*arguments) -> Built:
    """A compiler that has no luck with configurations: what it does with each follows from its size."""
    configuration = arguments[2]
    if configuration is None:
        return build_here(*arguments)
    match len(configuration.ops[0].value) % 3:
        case 0:
            os.kill(os.getpid(), signal.SIGSEGV)
        case 1:
            time.sleep(1000)
    return Built("not_applied", message="the compiler replaced the op 'root', and dropped its configuration")


@pytest.fixture
def bad(lab):
    """A lab with that compiler."""
    other = lab.on(lab.target)
    other.builder = Builder(lab.target, lab.compilers, 5.0, built_badly)
    return other


def test_a_seed_draws_the_same_operations_of_all_kinds():
    first, again, others = ([each.name for each in islice(drawn(seed), 200)] for seed in (3, 3, 4))
    assert first == again != others
    assert {kind for kind in KINDS if any(name.startswith(f"{kind}_") for name in first)} == {*KINDS}


def test_what_is_drawn_is_a_program():
    for operation in islice(drawn(5), amount(30, 1000)):
        assert module_of(operation).operation.verify()


def test_legal_configurations_of_a_product_have_no_defect(lab):
    assert Fuzzer(lab, StopRequest(), samples=2, seed=0).defects("product", PRODUCT) == []


def test_crashes_hangs_and_what_is_dropped_are_found_each_once(bad):
    found = Fuzzer(bad, StopRequest(), samples=12, seed=0).defects("product", PRODUCT)
    assert sorted(each.outcome for each in found) == ["compile_crash", "compile_timeout", "not_applied"]
    assert all("compilation_info = #" in each.program and not each.own for each in found)
    assert len({each.file for each in found}) == 3


def test_a_wrong_result_is_found_and_its_file_shows_it(lab, tmp_path, capsys):
    fuzzer = Fuzzer(lab, StopRequest(), samples=0, seed=0)
    (found,) = fuzzer.defects("attention", WRONG_TILE)
    assert (found.outcome, found.own) == ("wrong_result", False)
    path = written(tmp_path, found, lab.target, "iree-tuner verify --fuzz {} --samples 0")
    assert f"// iree-tuner verify --fuzz {path.name} --samples 0" in path.read_text().splitlines()
    assert [each.kind for each in fuzzer.defects("again", path.read_text())] == [found.kind]
    assert run(["verify", "--fuzz", str(path), "--samples", "0", "--jobs", "1", "--json"]) == 1
    assert '"outcome": "wrong_result"' in capsys.readouterr().out


@pytest.mark.exhaustive  # some minutes; test_what_reads_what_was_never_written_... judges what it makes
def test_a_wrong_result_is_reduced(lab):
    fuzzer = Fuzzer(lab, StopRequest(), samples=0, seed=0)
    (found,) = fuzzer.defects("attention", WRONG_TILE)
    smaller = reduced(found, fuzzer)
    assert len(smaller.program.splitlines()) < len(found.program.splitlines())
    assert found.kind in [each.kind for each in fuzzer.defects("smaller", smaller.program)]


def test_a_refusal_is_reduced(lab):
    program = "func.func @main(%a: tensor<4xi4>) -> tensor<4xi32> { return %a : tensor<4xi4> }"
    fuzzer = Fuzzer(lab, StopRequest(), samples=0, seed=0)
    (found,) = fuzzer.defects("refused", program)
    assert (found.outcome, found.own) == ("compile_error", True)
    with pytest.raises(Exception, match="type of return operand"):  # it is not even IR
        reduced(found, fuzzer)


def test_what_reads_what_was_never_written_is_no_defect(lab):
    unwritten = WRONG_TILE.replace("outs(%0, %1, %2", "outs(%e, %1, %2")
    assert Fuzzer(lab, StopRequest(), samples=0, seed=0).defects("attention", unwritten) == []


def test_a_request_to_stop_ends_a_compilation_that_hangs(bad):
    stop = StopRequest()
    bad.builder.timeout_s = 1000.0
    with stop.cancelling(bad.compilers, bad.measurer.workers):
        signal.signal(signal.SIGALRM, lambda *_: stop.request())
        signal.alarm(3)
        Fuzzer(bad, stop, samples=12, seed=0).defects("product", PRODUCT)
    assert stop.requested


def test_mistakes_have_one_line(capsys):
    for arguments, message in (
        ([], "give a program or a spec, or --fuzz"),
        (["--ops", "3"], "require --fuzz"),
        (["--fuzz", "--strict"], "--fuzz excludes --program, --dim, --strict and --diagnostics"),
        (["--fuzz", "--ops", "0"], "must be at least 1"),
    ):
        assert run(["verify", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_only_compiled_for_a_target_without_a_device(lab):
    fuzzer = replace(Fuzzer(lab, StopRequest(), samples=0, seed=0), runs=False)
    assert fuzzer.defects("attention", WRONG_TILE) == []
