"""A model as a jitted JAX function, and as StableHLO."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
from jax import export

from examples.models import layers_jax
from examples.models.model import Model

Function = Callable[..., tuple[jax.Array, ...]]


def jax_function(model: Model) -> Function:
    """The compiled model on its inputs; its weights are on the device."""
    weights = {name: layers_jax.from_numpy(name, value) for name, value in model.weights().draw().items()}
    return partial(jax.jit(partial(model.forward, layers_jax)), weights)


def stablehlo(model: Model) -> tuple[list[str], str]:
    """Names of the weights, in the order in which they are the first arguments of `main`, and its text."""
    weights = {name: jax.ShapeDtypeStruct(each.shape, each.dtype) for name, each in model.weights().items()}
    inputs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in model.example()]
    donated = [place + 1 for place in model.donated]
    jitted = jax.jit(partial(model.forward, layers_jax), keep_unused=True, donate_argnums=donated)
    text = str(jitted.lower(weights, *inputs).compiler_ir("stablehlo"))
    return sorted(weights), text


def exported(model: Model) -> bytes:
    """The function for other JAX programs, as `jax.export` writes it: its weights are its first argument."""
    weights = {name: jax.ShapeDtypeStruct(each.shape, each.dtype) for name, each in model.weights().items()}
    inputs = [jax.ShapeDtypeStruct(each.shape, each.dtype) for each in model.example()]
    jitted = jax.jit(partial(model.forward, layers_jax))
    return bytes(export.export(jitted)(weights, *inputs).serialize())
