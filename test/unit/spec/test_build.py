from __future__ import annotations

from dataclasses import replace

import pytest

from iree_tuner.errors import TunerError
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.space.configuration import Configuration, OpConfiguration
from iree_tuner.spec.build import build_spec, prologue_for
from iree_tuner.spec.check import check_spec
from iree_tuner.spec.grammar import DEFAULT_ENTRYPOINT, pairs

FAMILIES = ["matmul", "conv", "softmax", "attention", "scaled_matmul"]
INSERT_BATCH = "iree-codegen-insert-batch-dim-for-batchless-conv"


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_builds_a_spec_without_problems(context, entry, name):
    spec = build_spec([entry(name)], context)
    assert spec.operation.verify()
    assert check_spec(spec) == []


def test_order_and_names(context, entry):
    same_name = replace(entry("matmul"), workload=replace(entry("matmul").workload, maps=_transposed(entry)))
    spec = build_spec([entry("matmul"), same_name, entry("softmax")], context)
    assert [(pair.matcher, pair.action) for pair in pairs(spec)] == [
        ("match_matmul_256x512x128_f32_f32_f32", "apply_op_config"),
        ("match_matmul_256x512x128_f32_f32_f32_1", "apply_op_config"),
        ("match_softmax_1x8x128x128_f32_f32_f32", "apply_config_to_3_ops"),
    ]


def _transposed(entry):
    lhs, _, output = entry("matmul").workload.maps
    return (lhs, IndexingMap.through(3, (1, 2)), output)


def test_no_entries(context):
    spec = build_spec([], context)
    assert pairs(spec) == []
    assert check_spec(spec) == []


def test_only_specs_without_prologue_have_a_default_entry_point(context, entry):
    assert prologue_for([entry("matmul")]) == ()
    assert prologue_for([entry("matmul"), entry("conv"), entry("conv")]) == (INSERT_BATCH,)
    assert DEFAULT_ENTRYPOINT in build_spec([entry("matmul")], context).operation.attributes
    assert DEFAULT_ENTRYPOINT not in build_spec([entry("conv")], context).operation.attributes
    assert INSERT_BATCH not in str(build_spec([entry("conv")], context, prologue=()))


def test_repeated_entries_are_kept_once(context, entry):
    assert len(pairs(build_spec([entry("matmul"), entry("matmul")], context))) == 1


def test_contradicting_entries(context, entry):
    with pytest.raises(TunerError, match="different configurations"):
        build_spec([entry("matmul"), entry("matmul_conflict")], context)


@pytest.mark.parametrize(
    ("configuration", "message"),
    [
        ((), "must have one compilation_info on 'root'"),
        ((("root", "compilation_info", "#nonsense<"),), "does not parse"),
        (
            (("root", "compilation_info", "1 : i64"), ("max", "lowering_config", "1 : i64")),
            "no op labelled 'max'",
        ),
    ],
)
def test_configurations_that_do_not_fit(context, entry, configuration, message):
    ops = tuple(OpConfiguration(*op) for op in configuration)
    with pytest.raises(TunerError, match=message):
        build_spec([replace(entry("matmul"), configuration=Configuration(ops))], context)
