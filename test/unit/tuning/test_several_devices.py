"""Which devices may share a run."""

import pytest

from iree_tuner import tune_module
from iree_tuner.errors import UsageError

PROGRAM = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : tensor<4xf32> }"


@pytest.mark.parametrize(
    ("devices", "chip", "message"),
    [
        ([], "host", "give at least one device"),
        (["cuda://0", "cuda://0"], "sm_80", "give at least one device"),
        (["cuda://0", "hip://0"], "sm_80", "unknown target 'hip:sm_80'"),
        (["vulkan://0", "cuda://0"], "sm_80", "cuda://0 is not of the same kind as vulkan://0"),
        (["local-task", "local-sync"], "host", "local devices share the same cores"),
    ],
)
def test_what_cannot_share(devices, chip, message):
    with pytest.raises(UsageError, match=message):
        tune_module(PROGRAM, device=devices, chip=chip)
