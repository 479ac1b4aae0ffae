"""Parameters that code does not read are taken out of its list, and nothing else."""

import pytest

from iree_tuner.kernels.kernel import KernelError
from iree_tuner.kernels.ptx_gemm import without_unused

TEXT = """.version 8.6
.target sm_90a
.extern .shared .align 16 .b8 global_smem[];
.visible .entry product(
	.param .u64 .ptr .global .align 1 product_param_0,
	.param .u64 .ptr .global .align 1 product_param_1,
	.param .u64 .ptr .global .align 1 product_param_10
)
.reqntid 128
{
	ld.param.b64 	%rd1, [product_param_0];
	ld.param.b64 	%rd2, [product_param_10];
	ret;
}
"""


def test_unused_parameters() -> None:
    found = without_unused(TEXT)
    assert (found.entry, found.kept) == ("product", (0, 2))
    # A name that begins like another's is another's.
    assert "product_param_1,"[:-1] + "," not in found.text.replace("product_param_10", "")
    assert found.text.count("product_param_0") == found.text.count("product_param_10") == 2
    before, after = TEXT.split("{")[1], found.text.split("{")[1]
    assert before == after


def test_all_are_used() -> None:
    found = without_unused(TEXT.replace("ret;", "ld.param.b64 %rd3, [product_param_1];\n\tret;"))
    assert found.kept == (0, 1, 2)


@pytest.mark.parametrize(("text", "count"), [("", 0), (TEXT + TEXT.replace("product", "other"), 2)])
def test_one_entry(text: str, count: int) -> None:
    with pytest.raises(KernelError, match=f"has {count} entries"):
        without_unused(text)


def test_the_name_is_added_to() -> None:
    found = without_unused(TEXT, "_of_this")
    assert found.entry == "product_of_this"
    assert ".entry product_of_this(" in found.text
    assert "[product_param_10]" in found.text
