"""Trials and studies go to rows and to JSON and come back as they were."""

import json
import math

import pytest
from hypothesis import given
from store.samples import COMPARISON, KEYS, trial, trials

from iree_tuner.store import trial as study
from iree_tuner.store.rows import (
    COLUMNS,
    comparison_from_json,
    comparison_text,
    text,
    trial_from_json,
    trial_from_row,
    trial_to_json,
    trial_to_row,
)


@given(trials)
def test_trial_to_row_and_back(each):
    assert trial_from_row(dict(zip(COLUMNS, trial_to_row(each), strict=False))) == each


@given(trials)
def test_trial_to_json_and_back(each):
    assert trial_from_json(json.loads(json.dumps(trial_to_json(each), allow_nan=False))) == each


def test_what_is_no_number_stays_so():
    each = trial(worst=math.nan)
    assert math.isnan(trial_from_row(dict(zip(COLUMNS, trial_to_row(each), strict=False))).worst)
    assert math.isnan(trial_from_json(json.loads(json.dumps(trial_to_json(each)))).worst)


def test_text_of_tools_can_be_stored():
    assert text(b"caf\xe9".decode("utf-8", "surrogateescape")) == "caf\\udce9"


@pytest.mark.parametrize("key", KEYS)
def test_study_to_json_and_back(key):
    again = study.from_json(json.loads(json.dumps(study.to_json(key))))
    assert again == key
    assert again.digest == key.digest
    assert again.workload.loops == key.workload.loops


def test_other_keys_have_other_digests():
    assert len({key.digest for key in KEYS}) == len(KEYS)


def test_comparison_to_json_and_back():
    assert comparison_from_json(json.loads(comparison_text(COMPARISON))) == COMPARISON


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("outcome", "fine"),
        ("assignment", [1]),
        ("assignment", {"x": 1.5}),
        ("assignment", {"x": True}),
        ("samples_us", ["soon"]),
        ("at", None),
        ("message", 3),
    ],
)
def test_wrong_json_is_refused(name, value):
    with pytest.raises((TypeError, ValueError)):
        trial_from_json({**trial_to_json(trial()), name: value})
