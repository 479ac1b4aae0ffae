"""`check_op_family` finds each way of breaking the contract."""

from dataclasses import replace

from iree.compiler.dialects import preprocessing_transform, transform
from op_samples import matmul, sample

from iree_tuner.ops import matching
from iree_tuner.ops.check import check_op_family
from iree_tuner.ops.contraction import Contraction


def messages(family, *payloads, **options):
    return [problem.message for problem in check_op_family(family, [sample(*payloads)], **options)]


class AnySize(Contraction):
    def matcher(self, workload, handle):
        lhs, rhs, output = matching.element_types(workload)
        maps = matching.indexing_maps(workload)
        preprocessing_transform.MatchContractionOp(handle, lhs, rhs, output, maps)
        return {"root": handle}


class AnyMap(Contraction):
    def matcher(self, workload, handle):
        found = preprocessing_transform.MatchContractionOp(handle, *matching.element_types(workload))
        for role, sizes in zip(("batch", "m", "n", "k"), found, strict=True):
            matching.require_sizes(sizes, workload.sizes(role))
        return {"root": handle}


class Never(Contraction):
    def matcher(self, workload, handle):
        matching.require_sizes(transform.ParamConstantOp(matching.sizes_param(), _one()).param, [2])
        return {"root": handle}


class NoRoot(Contraction):
    def matcher(self, workload, handle):
        return {}


class LooksAtAttributes(Contraction):
    def describe(self, op):
        workload = super().describe(op)
        return workload and replace(workload, parameters=(("attributes", (len(op.attributes),)),))


class AnotherName(Contraction):
    name = "another"

    def describe(self, op):
        workload = super().describe(op)
        return workload and replace(workload, family="contraction")


def _one():
    from iree.compiler import ir

    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 1)


def test_a_sound_family_has_no_problems():
    assert messages(Contraction(), matmul()) == []


def test_sizes_that_are_not_matched():
    found = messages(AnySize(), matmul())
    assert any("also matches where size 6 is 7" in each for each in found)
    assert any("where loop 0 is 7" in each for each in found)


def test_maps_that_are_not_matched():
    assert any("also matches where operand 0 is transposed" in each for each in messages(AnyMap(), matmul()))


def test_a_matcher_that_never_matches():
    assert any("does not match its own op" in each for each in messages(Never(), matmul()))


def test_a_matcher_without_the_root():
    assert any("returns [], not ['root']" in each for each in messages(NoRoot(), matmul()))


def test_attributes_that_play_a_part():
    found = messages(LooksAtAttributes(), matmul())
    assert any("when ops carry discardable attributes" in each for each in found)


def test_the_name_in_the_workload():
    assert any("not 'another'" in each for each in messages(AnotherName(), matmul()))


def test_a_near_miss_that_is_matched():
    assert messages(AnySize(), matmul(), matmul(m=8))[-1].endswith("also matches near miss 0")


def test_a_sample_without_an_op_of_the_family():
    assert messages(Contraction(), matmul(k="?")) == ["no op is described"]
