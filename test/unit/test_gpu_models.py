"""The models for GPUs compute the same in both libraries, with sums in f32: small ones; all in the night."""

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the extra examples")
pytest.importorskip("jax", reason="needs the extra examples")

import torch

from examples.models import GPU_MODELS, llama, sdxl, transformer
from examples.models.in_jax import jax_function, stablehlo
from examples.models.in_torch import torch_inputs, torch_module, torch_outputs
from examples.models.model import Model

_LLAMA = {"of": "a small Llama", "width": 64, "heads": 4, "shared": 2, "hidden": 96}
BLOCK = llama.block("block", tokens=16, **_LLAMA)
SMALL = (
    BLOCK,
    llama.step("step", cached=15, **_LLAMA),
    sdxl.transformer("unet", "a small U-Net", tokens=16, width=64, heads=2, texts=7, text_width=48),
    sdxl.residual("residual", "a small U-Net", size=6, channels=64, time_width=32),
    sdxl.Unet(
        size=8, channels=(32, 64), depths=(0, 2), texts=7, text_width=48, label_width=40, head=16
    ).model("whole"),
    transformer.encoder("after", "BERT", tokens=24, width=64, heads=2, blocks=2, norm_first=False),
    transformer.encoder("before", "ViT", tokens=17, width=64, heads=2, batch=2, key_bias=False),
)


def agree(model: Model) -> None:
    expected, found = (
        torch_outputs(model),
        [np.asarray(each) for each in jax_function(model)(*model.example())],
    )
    assert len(expected) == len(found) == model.outputs
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype == np.float16
        assert one.shape == other.shape
        error = np.max(np.abs(one.astype(np.float32) - other.astype(np.float32)))
        assert error <= model.tolerance * np.max(np.abs(other))


@pytest.mark.parametrize("model", SMALL, ids=lambda model: model.name)
def test_jax_and_torch_agree(model: Model) -> None:
    agree(model)


@pytest.mark.parametrize("bits", [8, 4])
def test_weights_of_few_bits_are_the_same(bits: int) -> None:
    sizes = {"of": "a small Llama", "width": 256, "heads": 4, "shared": 2, "hidden": 512, "bits": bits}
    for model in (llama.block("block", tokens=12, **sizes), llama.step("step", cached=12, **sizes)):
        with torch.inference_mode():
            expected = torch_module(model)(*torch_inputs(model))
        for one, other in zip(jax_function(model)(*model.example()), expected, strict=True):
            found, wanted = np.asarray(one).astype(np.float32), other.float().numpy()
            assert np.max(np.abs(found - wanted)) <= model.tolerance * np.max(np.abs(wanted))


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", GPU_MODELS)
def test_whole_models_agree(name: str) -> None:
    agree(GPU_MODELS[name])


def test_no_query_sees_a_later_key() -> None:
    (x,) = BLOCK.example()
    changed = x.copy()
    changed[-1] += 1
    function = jax_function(BLOCK)
    first, second = (np.asarray(function(each)[0]) for each in (x, changed))
    assert np.array_equal(first[:-1], second[:-1])
    assert not np.array_equal(first[-1], second[-1])


def test_a_step_is_the_last_row_of_a_block() -> None:
    """With the keys and values that steps on the tokens before give; in PyTorch, which compiles nothing."""
    x = torch.from_numpy(BLOCK.example()[0])
    keys = values = torch.zeros(2, 0, 16, dtype=torch.float16)
    with torch.inference_mode():
        for place in range(16):
            step = torch_module(llama.step("block", cached=place, **_LLAMA))
            found, key, value = step(x[place : place + 1], keys, values)
            keys, values = torch.cat([keys, key], 1), torch.cat([values, value], 1)
    (wanted,) = torch_outputs(BLOCK)
    error = np.max(np.abs(found.float().numpy() - wanted[15:].astype(np.float32)))
    assert error <= BLOCK.tolerance * np.max(np.abs(wanted[15:]))


def test_steps_with_a_kept_cache_are_a_prefill() -> None:
    """In both libraries, from a cache that is not empty: what it has after the position is not seen."""
    whole = llama.Whole("a small Llama", 64, 4, 2, 96, blocks=2, vocabulary=48, dtype=np.float32)
    prefill, decode = whole.prefill("whole", 9), whole.decode("whole", 9)
    ids, (_, _, *caches) = prefill.example()[0], decode.example()
    wanted, keys, values = torch_outputs(prefill)
    function, module = jax_function(decode), torch_module(decode)
    found, others = caches, [torch.from_numpy(each) for each in caches]
    for place, token in enumerate(ids):
        scores, *found = function(np.array([token]), np.int32(place), *found)
        others_scores, *others = module(torch.tensor([token]), torch.tensor(place), *others)
    for one, other, right in zip(
        (scores, *found), (others_scores, *others), (wanted, keys, values), strict=True
    ):
        np.testing.assert_allclose(np.asarray(one), right, atol=1e-5)
        np.testing.assert_allclose(other.detach().numpy(), right, atol=1e-5)


@pytest.mark.parametrize(("model", "count"), [(BLOCK, 9), (SMALL[3], 3)], ids=["products", "convolutions"])
def test_sums_have_32_bits(model: Model, count: int) -> None:
    _, text = stablehlo(model)
    products = [
        each for each in text.splitlines() if "dot_general" in each or "stablehlo.convolution" in each
    ]
    assert len(products) == count
    assert all(line.rstrip().split("->")[-1].strip().split("xf")[-1].startswith("32") for line in products)
