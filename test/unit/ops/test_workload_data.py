import json

import hand_made
from hypothesis import given
from hypothesis import strategies as st
from op_samples import SCALED, online_attention, softmax, workloads

from iree_tuner.ops.element_type import ElementType
from iree_tuner.ops.indexing_map import IndexingMap
from iree_tuner.ops.workload import Companion, DynamicLoop, Workload, from_json, to_json

numbers = st.lists(st.integers(0, 2**40), max_size=4).map(tuple)
any_map = st.integers(1, 4).flatmap(
    lambda rank: st.lists(st.integers(0, rank - 1), max_size=4).map(
        lambda loops: IndexingMap.through(rank, loops)
    )
)
iterators = st.lists(st.sampled_from(["parallel", "reduction"]), max_size=4).map(tuple)
named = st.lists(st.tuples(st.text(max_size=8), numbers), max_size=3).map(tuple)
companions = st.builds(
    Companion,
    label=st.text(),
    op=st.text(),
    loops=numbers,
    iterators=iterators,
    shared=st.lists(st.none() | st.integers(0, 9), max_size=4).map(tuple),
)
dynamic_loops = st.builds(
    DynamicLoop,
    loop=st.integers(0, 9),
    lower=st.integers(0, 99),
    upper=st.none() | st.integers(100, 2**40),
    multiple=st.integers(1, 64),
)
any_workload = st.builds(
    Workload,
    family=st.text(),
    op=st.text(),
    loops=numbers,
    iterators=iterators,
    types=st.lists(st.text(max_size=8).map(ElementType.named), max_size=3).map(tuple),
    maps=st.lists(any_map, max_size=3).map(tuple),
    roles=named,
    parameters=named,
    companions=st.lists(companions, max_size=2).map(tuple),
    dag=st.text(),
    dynamic=st.lists(dynamic_loops, max_size=2).map(tuple),
)


@given(any_workload)
def test_a_workload_survives_json(workload):
    again = from_json(json.loads(json.dumps(to_json(workload))))
    assert again == workload
    assert hash(again) == hash(workload)
    assert again.key == workload.key


def test_real_workloads_survive_json():
    for payload in (SCALED, softmax(), online_attention()):
        for workload in workloads(payload):
            assert from_json(json.loads(json.dumps(to_json(workload)))) == workload


def test_keys_of_static_workloads_are_what_they_were_before_there_were_dynamic_ones():
    dims = "(d0, d1, d2)"
    workload = hand_made.workload(
        "contraction", "matmul", (96, 64, 128), ("parallel", "parallel", "reduction"), ("f32", "f32", "f32"),
        (f"{dims} -> (d0, d2)", f"{dims} -> (d2, d1)", f"{dims} -> (d0, d1)"),
        (("batch", ()), ("m", (0,)), ("n", (1,)), ("k", (2,))),
    )  # fmt: skip
    assert workload.key == "3338b0607d60f69c"
    assert "dynamic" not in to_json(workload)
    assert from_json({**to_json(workload), "dynamic": []}) == workload
