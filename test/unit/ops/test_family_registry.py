"""Families are found in installed packages; `test/plugin` is one (`pip install test/plugin`)."""

from importlib.metadata import EntryPoint

import pytest
from op_samples import only, sample

from iree_tuner.errors import TunerError
from iree_tuner.ops import family as registry
from iree_tuner.ops.check import check_op_family

plugin = pytest.importorskip("iree_tuner_test_plugin", reason="needs `pip install test/plugin`")

COPY = """
func.func @f(%a: tensor<6x10xf32>, %b: tensor<6x10xf32>) -> tensor<6x10xf32> {
  %r = linalg.copy ins(%a : tensor<6x10xf32>) outs(%b : tensor<6x10xf32>) -> tensor<6x10xf32>
  return %r : tensor<6x10xf32>
}
"""


def test_the_plugin_is_found_and_asked_before_the_generic_family():
    assert isinstance(registry.family("copy"), plugin.Copy)
    assert only(COPY).family == "copy"


def test_the_plugin_holds_to_its_contract():
    assert check_op_family(plugin.Copy(), [sample(COPY, COPY.replace("f32", "f64"))]) == []


def test_families_are_asked_by_priority():
    priorities = [each.priority for each in registry.families()]
    assert priorities == sorted(priorities)


def test_an_unknown_family_is_an_error_that_names_it():
    with pytest.raises(TunerError, match="'fusion'"):
        registry.family("fusion")


def test_two_owners_of_a_name_are_an_error_that_names_both(monkeypatch):
    entries = [EntryPoint("copy", f"{package}:Copy", registry.GROUP) for package in ("one.ops", "two.ops")]
    monkeypatch.setattr(registry, "entry_points", lambda group: entries)
    registry._registered.cache_clear()
    try:
        with pytest.raises(TunerError, match=r"'copy'.*one\.ops:Copy.*two\.ops:Copy"):
            registry.families()
    finally:
        registry._registered.cache_clear()
