"""iree_tuner: an MLIR-native autotuner for the IREE compiler.

import iree_tuner
result = iree_tuner.tune_module("model.mlir", device="local-task")
result.save("model.spec.mlir")
"""

from iree_tuner.errors import TunerError, UsageError
from iree_tuner.tune import TuningResult, tune_module

__all__ = ["TunerError", "TuningResult", "UsageError", "tune_module"]
__version__ = "0.1.0"
