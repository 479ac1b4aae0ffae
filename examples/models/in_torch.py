"""A model as a PyTorch module, and as an ONNX file that PyTorch exports."""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from examples.models import layers_torch
from examples.models.model import Model

OPSET = 18


class TorchModel(torch.nn.Module):
    """A model whose weights are parameters, so that exporters find them."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model
        for name, value in model.weights().draw().items():
            tensor = layers_torch.from_numpy(name, value)
            self.register_parameter(name, torch.nn.Parameter(tensor, requires_grad=False))

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """The model's outputs."""
        return self._model.forward(layers_torch, self._parameters, *inputs)


def torch_module(model: Model) -> TorchModel:
    """The model for inference."""
    return TorchModel(model).eval()


def torch_inputs(model: Model) -> tuple[Tensor, ...]:
    """The example's inputs."""
    return tuple(layers_torch.from_numpy("", each) for each in model.example())


def torch_outputs(model: Model) -> list[NDArray[Any]]:
    """What PyTorch computes from the example's inputs: what others are compared with."""
    with torch.inference_mode():
        return [np.asarray(each) for each in torch_module(model)(*torch_inputs(model))]


def onnx_outputs(model: Model) -> list[NDArray[Any]]:
    """What onnxruntime computes from the example's inputs with a model's own ONNX file."""
    import onnxruntime as ort

    assert model.onnx is not None
    session = ort.InferenceSession(model.onnx(), providers=["CPUExecutionProvider"])
    return session.run(None, dict(zip(names(model)[0], model.example(), strict=True)))


def write_onnx(model: Model, path: Path) -> None:
    """Export the model with its weights in the file; inputs and outputs have the names of `names`."""
    ins, outs = names(model)
    # The exporter tells of what it optimizes and of what it may do otherwise one day.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            torch_module(model), torch_inputs(model), path, dynamo=True, opset_version=OPSET,
            external_data=False, input_names=ins, output_names=outs, verbose=False,
        )  # fmt: skip


def names(model: Model) -> tuple[list[str], list[str]]:
    """Names of the inputs and outputs in files."""
    ins = [f"input{index}" for index in range(len(model.example()))]
    return ins, [f"output{index}" for index in range(model.outputs)]
