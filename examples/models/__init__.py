"""Whole models with random weights, each for PyTorch and JAX: what the tuner is measured with.

A model's file has its sizes, weights, inputs and structure; `layers_torch` and `layers_jax` are the two
libraries that the structure runs on. `frameworks` builds modules and functions, `export` writes files.
"""

from examples.models import decoder, encoder, llama_block, mobilenet_v2, mobilenet_v2_int8, resnet50, unet
from examples.models.model import Model

MODELS: dict[str, Model] = {
    module.MODEL.name: module.MODEL
    for module in (encoder, decoder, resnet50, mobilenet_v2, mobilenet_v2_int8, unet)
}
"""By name, in the order of tables."""

GPU_MODELS: dict[str, Model] = {module.MODEL.name: module.MODEL for module in (llama_block, resnet50)}
"""Those that GPUs are measured with."""
