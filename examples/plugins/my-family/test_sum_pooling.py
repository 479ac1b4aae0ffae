from pathlib import Path

from my_family.sum_pooling import SumPooling

from iree_tuner.ops.check import Sample, check_op_family

POOL = Path(__file__).with_name("pool.mlir").read_text()


def test_the_family_holds_to_its_contract():
    maximum = POOL.replace("pooling_nhwc_sum", "pooling_nhwc_max")
    sample = Sample("pool", POOL, near_misses=(maximum,))
    assert check_op_family(SumPooling(), [sample], ignores_attributes=False) == []
