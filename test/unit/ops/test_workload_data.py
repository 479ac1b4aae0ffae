import json

from hypothesis import given
from hypothesis import strategies as st
from op_samples import SCALED, online_attention, softmax, workloads

from iree_tuner.ops.workload import Companion, Workload, from_json, to_json

numbers = st.lists(st.integers(0, 2**40), max_size=4).map(tuple)
words = st.lists(st.text(max_size=8), max_size=3).map(tuple)
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
any_workload = st.builds(
    Workload,
    family=st.text(),
    op=st.text(),
    loops=numbers,
    iterators=iterators,
    types=words,
    maps=words,
    roles=named,
    parameters=named,
    companions=st.lists(companions, max_size=2).map(tuple),
    dag=st.text(),
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
