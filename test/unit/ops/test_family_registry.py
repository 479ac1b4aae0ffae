"""Families are found in installed packages; `test/plugin` is one (`pip install test/plugin`)."""

from dataclasses import replace
from importlib.metadata import EntryPoint

import pytest
from op_samples import only, sample

from iree_tuner import installed
from iree_tuner.compiler.context import new_context
from iree_tuner.errors import TunerError
from iree_tuner.ops import family as registry
from iree_tuner.ops.check import check_op_family
from iree_tuner.space import providers
from iree_tuner.space.build import build_spaces
from iree_tuner.targets import CpuLimits

pooling = pytest.importorskip("iree_tuner_test_plugin.pooling", reason="needs `pip install test/plugin`")

POOL = """
func.func @f(%a: tensor<1x16x16x8xf32>) -> tensor<1x7x7x8xf32> {
  %w = tensor.empty() : tensor<3x3xf32>
  %low = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x7x7x8xf32>
  %b = linalg.fill ins(%low : f32) outs(%e : tensor<1x7x7x8xf32>) -> tensor<1x7x7x8xf32>
  %r = linalg.generic {
      indexing_maps = [affine_map<(b, y, x, c, v, u) -> (b, y * 2 + v, x * 2 + u, c)>,
                       affine_map<(b, y, x, c, v, u) -> (v, u)>,
                       affine_map<(b, y, x, c, v, u) -> (b, y, x, c)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]}
      ins(%a, %w : tensor<1x16x16x8xf32>, tensor<3x3xf32>) outs(%b : tensor<1x7x7x8xf32>) {
  ^bb0(%pixel: f32, %unused: f32, %most: f32):
    %larger = arith.maximumf %most, %pixel : f32
    linalg.yield %larger : f32
  } -> tensor<1x7x7x8xf32>
  return %r : tensor<1x7x7x8xf32>
}
"""


def test_the_plugin_is_found_and_asked_before_the_generic_family():
    assert isinstance(registry.family("max_pooling"), pooling.MaxPooling)
    assert only(POOL).family == "max_pooling"
    assert only(POOL.replace("arith.maximumf", "arith.addf")).family == "generic"


def test_the_plugin_holds_to_its_contract():
    near_misses = POOL.replace("f32", "f64"), POOL.replace("* 2", "* 1"), POOL.replace("maximumf", "addf")
    assert check_op_family(pooling.MaxPooling(), [sample(POOL, *near_misses)], ignores_attributes=False) == []


def test_families_are_asked_by_priority():
    priorities = [each.priority for each in registry.families()]
    assert priorities == sorted(priorities)


def test_an_unknown_family_is_an_error_that_names_it():
    with pytest.raises(TunerError, match="'fusion'"):
        registry.family("fusion")


def test_two_owners_of_a_name_are_an_error_that_names_both(monkeypatch):
    entries = [EntryPoint("pool", f"{package}:Pool", registry.GROUP) for package in ("one.ops", "two.ops")]
    monkeypatch.setattr(installed, "entry_points", lambda group: entries)
    registry._registered.cache_clear()
    try:
        with pytest.raises(TunerError, match=r"'pool'.*one\.ops:Pool.*two\.ops:Pool"):
            registry.families()
    finally:
        registry._registered.cache_clear()


def test_two_owners_of_a_familys_spaces_are_an_error_that_names_both(monkeypatch):
    entries = [EntryPoint("pool", f"{package}:Pool", providers.GROUP) for package in ("one.ops", "two.ops")]
    monkeypatch.setattr(installed, "entry_points", lambda group: entries)
    providers._registered.cache_clear()
    try:
        with pytest.raises(TunerError, match=r"'pool'.*one\.ops:Pool.*two\.ops:Pool"):
            providers.provider("pool")
    finally:
        providers._registered.cache_clear()


def test_a_family_without_spaces_says_so():
    workload = replace(only(POOL), family="unheard_of")
    with pytest.raises(TunerError, match="no search space on llvm-cpu for the op family 'unheard_of'"):
        build_spaces(workload, CpuLimits(), new_context())


def test_a_family_that_cannot_be_loaded_is_an_error_that_names_it(monkeypatch):
    entries = [EntryPoint("pool", "no.such.package:Pool", registry.GROUP)]
    monkeypatch.setattr(installed, "entry_points", lambda group: entries)
    registry._registered.cache_clear()
    try:
        with pytest.raises(
            TunerError, match=r"the op family 'pool' \(no\.such\.package:Pool\) cannot be used"
        ):
            registry.families()
    finally:
        registry._registered.cache_clear()
