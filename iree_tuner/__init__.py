"""iree_tuner: an MLIR-native autotuner for the IREE compiler.

import iree_tuner
result = iree_tuner.tune_module("model.mlir", device="local-task")
result.save("model.spec.mlir")
"""

from typing import TYPE_CHECKING

from iree_tuner.errors import TunerError, UsageError

if TYPE_CHECKING:
    from iree_tuner.tune import TuningResult, tune_module
    from iree_tuner.tuning.observer import Observer

__all__ = ["Observer", "TunerError", "TuningResult", "UsageError", "tune_module"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name in ("Observer", "TuningResult", "tune_module"):
        from iree_tuner import tune

        return getattr(tune, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
