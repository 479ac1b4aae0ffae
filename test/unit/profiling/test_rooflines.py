"""Rooflines: arithmetic, JSON, data sheets, and the file that keeps what was measured."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iree_tuner.device.device_facts import facts_of
from iree_tuner.errors import TunerError
from iree_tuner.measure.candidate import Built
from iree_tuner.profiling import roofline as probes
from iree_tuner.profiling.roofline import (
    MemoryLevel,
    Roofline,
    datasheet_roofline,
    from_json,
    raised,
    to_json,
)

MIB = 1 << 20
POSITIVE = st.floats(1e-3, 1e18, allow_nan=False)
ROOFLINES = st.builds(
    Roofline,
    st.text(max_size=9),
    st.dictionaries(st.sampled_from(["f32", "f16", "i8", "f64"]), POSITIVE).map(lambda d: tuple(d.items())),
    st.lists(
        st.builds(MemoryLevel, st.none() | POSITIVE, st.none() | st.integers(1, 1 << 40)), max_size=3
    ).map(tuple),
    st.text(max_size=9),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5)).map(lambda d: tuple(d.items())),
)
SIMPLE = Roofline("x", (("f32", 1e12), ("f16", 4e12)), (MemoryLevel(1e11, MIB), MemoryLevel(1e10)))


def test_the_larger_of_arithmetic_and_memory_counts() -> None:
    assert SIMPLE.attainable_us(1e6, 100 * MIB, "f32") == pytest.approx(100 * MIB / 1e10 * 1e6)
    assert SIMPLE.attainable_us(1e12, 100 * MIB, "f32") == pytest.approx(1e6)
    assert SIMPLE.attainable_us(1e12, 0.0, "f16") == pytest.approx(0.25e6)


def test_what_fits_in_a_cache_is_read_from_there() -> None:
    assert SIMPLE.bytes_per_s(MIB) == 1e11
    assert SIMPLE.bytes_per_s(MIB + 1) == 1e10
    unbound = Roofline("x", (), (MemoryLevel(None, MIB), MemoryLevel(1e10)))
    assert unbound.attainable_us(1e9, MIB, "f32") == 0.0


@pytest.mark.parametrize(
    ("kind", "peak"),
    [("f32", 1e12), ("f16", 4e12), ("bf16", 4e12), ("i8", 4e12), ("i32", 1e12), ("f64", 0.5e12)],
)
def test_types_that_are_not_listed_follow_from_those_that_are(kind, peak) -> None:
    assert SIMPLE.peak(kind) == peak


def test_nothing_is_said_of_unknown_types() -> None:
    assert SIMPLE.peak("!custom") is None
    assert SIMPLE.attainable_us(1e12, 0.0, "") == 0.0


def test_no_dispatch_reads_faster_than_the_roofline() -> None:
    """What a busy machine measured too low is raised; a nearer level is not slower than the one behind it."""
    measured = Roofline(
        "x", (("f32", 1e12),), (MemoryLevel(2e10, MIB), MemoryLevel(1.5e10, 8 * MIB), MemoryLevel(1e10))
    )
    found = raised(measured, [(100 * MIB, 100 * MIB / 1.8e10), (0.0, 1.0), (MIB, 0.0), (50 * MIB, 1.0)])
    assert [each.bytes_per_s for each in found.levels] == pytest.approx([2e10, 1.8e10, 1.8e10])
    found = raised(found, [(MIB / 2, MIB / 2 / 9e10)])
    assert [each.bytes_per_s for each in found.levels] == pytest.approx([9e10, 1.8e10, 1.8e10])
    assert raised(found, [(100 * MIB, 1.0)]) == found
    unbound = Roofline("x", (), (MemoryLevel(None, MIB), MemoryLevel(1e10)))
    assert raised(unbound, [(1.0, 1e-12)]) == unbound


@given(ROOFLINES, st.lists(st.tuples(POSITIVE, POSITIVE), max_size=3))
def test_what_was_reached_is_attainable(roofline, reached) -> None:
    found = raised(roofline, reached)
    for size, seconds in reached:
        speed = found.bytes_per_s(size)
        assert speed is None or size / speed <= seconds * (1 + 1e-9)


@given(ROOFLINES)
def test_json_round_trip(roofline) -> None:
    assert from_json(json.loads(json.dumps(to_json(roofline)))) == roofline


@pytest.mark.parametrize(
    "change",
    [
        {"name": 3},
        {"flops_per_s": {"f32": -1}},
        {"levels": [{"bytes_per_s": 0, "capacity_bytes": None}]},
        {"how": None},
    ],
)
def test_other_json_is_refused(change) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)):
        from_json({**to_json(SIMPLE), **change})


@given(ROOFLINES, POSITIVE, POSITIVE)
def test_more_work_never_takes_less(roofline, flops, size) -> None:
    assert roofline.attainable_us(2 * flops, size, "f32") >= roofline.attainable_us(flops, size, "f32")


@pytest.mark.parametrize(
    ("name", "f16", "memory"),
    [
        ("NVIDIA H200", 989.5e12, 4.8e12),
        ("NVIDIA H100 80GB HBM3", 989.5e12, 3.35e12),
        ("NVIDIA H100 PCIe", 756.5e12, 2.0e12),
        ("NVIDIA A100-SXM4-40GB", 312e12, 1.555e12),
        ("NVIDIA A100-SXM4-80GB", 312e12, 2.039e12),
        ("AMD Instinct MI300X OAM", 1307.4e12, 5.3e12),
    ],
)
def test_data_sheets(name, f16, memory) -> None:
    found = datasheet_roofline(name, 50 * MIB)
    assert found is not None
    assert found.peak("bf16") == pytest.approx(f16)
    assert found.bytes_per_s(1e9) == pytest.approx(memory)
    assert found.bytes_per_s(MIB) is None
    assert "data sheet" in found.how


def test_a_device_without_a_data_sheet_has_no_roofline() -> None:
    assert datasheet_roofline("Voodoo 2", MIB) is None


def test_a_measured_roofline_is_kept_and_used_again(tmp_path, cpu, monkeypatch) -> None:
    taken, here = [], SimpleNamespace(facts=facts_of("local-task"))

    def measure(*arguments):
        taken.append(arguments)
        return SIMPLE

    monkeypatch.setattr(probes, "measure_cpu", measure)
    cache = tmp_path / "new" / "rooflines.json"
    for _ in range(2):
        assert probes.cpu_roofline(cpu, None, None, here, cache) == SIMPLE
    assert len(taken) == 1
    cache.write_text("not json")
    assert probes.cpu_roofline(cpu, None, None, here, cache) == SIMPLE
    assert len(taken) == 2
    assert len(json.loads(cache.read_text())) == 1


@pytest.mark.parametrize("source", [probes.multiply_adds(1 << 16), probes.sums(4, 32)])
def test_probes_are_one_dispatch_that_can_be_tuned(source, only_dispatch) -> None:
    assert only_dispatch(source).tunable


class RefusingBuilder:
    def build(self, harness, configuration):
        return Built("compile_error", message="no")


def test_a_probe_that_does_not_compile_is_told(cpu, compilers) -> None:
    probe = probes._Probe(cpu, compilers, RefusingBuilder(), None)
    with pytest.raises(TunerError, match="the roofline cannot be measured: compile_error: no"):
        probe.bytes_per_s(1 << 16, 1)
