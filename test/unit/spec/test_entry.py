from __future__ import annotations

import json
from dataclasses import replace

import pytest

from iree_tuner.errors import TunerError
from iree_tuner.spec.build import build_spec
from iree_tuner.spec.entry import (
    entry_from_json,
    entry_to_json,
    read_op_name,
    read_provenance,
    read_workload_key,
)
from iree_tuner.spec.grammar import pairs

FAMILIES = ["matmul", "conv", "softmax", "attention", "scaled_matmul"]


@pytest.mark.parametrize("name", FAMILIES)
def test_json_round_trip(entry, name):
    original = entry(name)
    assert entry_from_json(json.loads(json.dumps(entry_to_json(original)))) == original


def test_annotations_are_read_back(context, entry):
    original = entry("matmul")
    matcher = pairs(build_spec([original], context))[0].matcher_op
    assert matcher is not None
    assert read_provenance(matcher) == original.provenance
    assert read_workload_key(matcher) == original.workload.key
    assert read_op_name(matcher) == "matmul"


def test_without_provenance(context, entry):
    matcher = pairs(build_spec([replace(entry("matmul"), provenance=None)], context))[0].matcher_op
    assert matcher is not None
    assert read_provenance(matcher) is None


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "not well-formed: Expected `object`, got `array`"),
        ({}, "not well-formed: Object missing required field `workload`"),
        ({"workload": {"family": "contraction"}, "configuration": []}, "not well-formed"),
        ({"workload": 3, "configuration": []}, "not well-formed"),
    ],
)
def test_mistakes_are_told_with_their_place(data, message):
    with pytest.raises(TunerError, match=message) as caught:
        entry_from_json(data, location="entries.jsonl:3")
    assert str(caught.value).startswith("entries.jsonl:3: ")
