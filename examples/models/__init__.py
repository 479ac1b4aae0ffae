"""Whole models with random weights, each for PyTorch and JAX: what the tuner is measured with.

A model's file has its weights, inputs and structure, and takes sizes where several models share it;
`layers_torch` and `layers_jax` are the two libraries that the structure runs on. `in_torch` and `in_jax` make
modules and functions of models, `export` writes files.
"""

from dataclasses import replace

import ml_dtypes
import numpy as np

from examples.models import (
    convnext,
    decoder,
    drawn,
    drawn_fifth,
    drawn_fourth,
    drawn_second,
    drawn_third,
    encoder,
    kinds,
    llama,
    mixer,
    mobilenet_v2,
    mobilenet_v2_int8,
    recommender,
    resnet50,
    sdxl,
    transformer,
    unet,
)
from examples.models.model import Model

MODELS: dict[str, Model] = {
    module.MODEL.name: module.MODEL
    for module in (encoder, decoder, resnet50, mobilenet_v2, mobilenet_v2_int8, unet)
}
"""By name, in the order of tables."""

FURTHER_MODELS: dict[str, Model] = {
    module.MODEL.name: module.MODEL for module in (convnext, mixer, recommender)
}
"""Models of other kinds. They were chosen when neither kernels nor tuning were changed any more."""

CPU_MODELS = {**MODELS, **FURTHER_MODELS}
"""Those that CPUs are measured with."""

_LLAMA = {"of": "Llama-3-8B", "width": 4096, "heads": 32, "shared": 8, "hidden": 14336}

GPU_MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        llama.block("llama_block", **_LLAMA, tokens=512),
        llama.step("llama_step", **_LLAMA, cached=2047),
        sdxl.transformer("sdxl_transformer", "SDXL's U-Net", tokens=1024, width=1280, heads=20),
        sdxl.residual("sdxl_residual", "SDXL's U-Net", size=64, channels=640),
        transformer.encoder(
            "bert", "BERT-base", tokens=384, width=768, heads=12, blocks=12, norm_first=False
        ),
        transformer.encoder(
            "whisper_block", "a block of Whisper's encoder", tokens=1500, width=1280, heads=20, key_bias=False
        ),
        resnet50.resnet50("resnet50_f16", 16, half=True),
        transformer.encoder("vit_block", "a block of ViT-L", tokens=257, width=1024, heads=16, batch=8),
    )
}
"""Those that GPUs are measured with."""

_QWEN = {"of": "Qwen2.5-7B", "width": 3584, "heads": 28, "shared": 4, "hidden": 18944}
_LLAMA_3B = {"of": "Llama-3.2-3B", "width": 3072, "heads": 24, "shared": 8, "hidden": 8192}

FURTHER_GPU_MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        llama.block("qwen_block", **_QWEN, tokens=384),
        transformer.encoder("vit_h_block", "a block of ViT-H", tokens=257, width=1280, heads=16, batch=4),
        llama.block("llama_3b_block", **_LLAMA_3B, tokens=600),
        transformer.encoder(
            "bert_large", "BERT-large", tokens=320, width=1024, heads=16, blocks=24, norm_first=False
        ),
    )
}
"""Models of the same kinds, with other sizes, which no kernel was tuned for.

The first two were chosen on 2026-11-26, before `triton_norms` and `triton_conv` changed for the last time;
the others on 2026-11-27, after that, of two kinds that were drawn at random.
"""

GPU_KINDS: dict[str, Model] = {
    model.name: model
    for model in (
        kinds.dit("dit_block", "a block of DiT-XL", tokens=256, width=1152, heads=16, batch=8),
        kinds.conformer(
            "conformer_block", "a block of a Conformer", tokens=512, width=512, heads=8, filters=31, batch=4
        ),
        kinds.image_decoder("vae_stage", "a stage of an image decoder", size=64, channels=512, outputs=256),
        drawn.gated_decoder(
            "gemma_block", "Gemma-2-9B", tokens=512, width=3584, heads=16, shared=8, each=256,
            hidden=14336, cap=50.0,
        ),
    )
}  # fmt: skip
"""Blocks of other kinds than those above."""

_MISTRAL = {"width": 4096, "heads": 32, "shared": 8, "each": 128, "hidden": 14336}
_QWEN3 = {"width": 2560, "heads": 32, "shared": 8, "each": 128, "hidden": 9728}

DRAWN_KINDS: dict[str, Model] = {
    model.name: model
    for model in (
        drawn.gated_decoder("mistral_block", "Mistral-7B", tokens=1024, window=512, **_MISTRAL),
        drawn.gated_decoder("qwen3_block", "Qwen3-4B", tokens=512, norms=True, **_QWEN3),
        drawn.inverted("mbconv", "EfficientNet-B4", images=16, size=48, channels=56, wider=336, filters=5),
        drawn.vocoder("hifigan", batch=4, rows=4096, channels=256),
        drawn.perceiver("perceiver", latents=512, width=1024, inputs_count=16384, depth=256, heads=8),
        drawn.clip("clip_text", "CLIP's text encoder (bigG)", batch=16, tokens=77, width=1280, heads=20),
        drawn.segformer("segformer", "SegFormer-B2", batch=4, size=64, width=128, heads=2, ratio=4),
        drawn.bottleneck(
            "resnext", "ResNeXt-50 (32x4d)", images=16, size=14, channels=1024, width=512, groups=32
        ),
    )
}  # fmt: skip
"""Blocks of eight kinds that were drawn at random; see `drawn`."""

SECOND_KINDS: dict[str, Model] = {
    model.name: model
    for model in (
        drawn_second.convnext("convnext_block", "ConvNeXt-B", images=16, size=28, channels=256),
        drawn_second.placed("sam_block", "Segment Anything (ViT-B)", size=64, width=768, heads=12),
        drawn_second.mixer("mixer_block", "Mixer-B/16", images=32, patches=196, width=768, along=384),
        drawn_second.detector(
            "detr_block", "DETR's decoder", images=8, queries=100, seen=850, width=256, heads=8
        ),
        drawn_second.gpt2_step("gpt2_step", "GPT-2 XL", cached=1023, width=1600, heads=25),
        drawn_second.alibi("bloom_block", "BLOOM-7B", tokens=512, width=4096, heads=32),
        drawn_second.upscaler("edsr", "EDSR (baseline, x2)", images=4, size=96, channels=64),
        drawn_second.latent(
            "deepseek_block", "DeepSeek-V2-Lite", tokens=512, width=2048, heads=16, plain=128, turned=64,
            kept=512, hidden=10944,
        ),
    )
}  # fmt: skip
"""Blocks of eight more kinds that were drawn at random; see `drawn_second`."""

_OF_8B = {"of": "Llama-3-8B", "width": 4096, "heads": 32, "shared": 8, "hidden": 14336}

THIRD_KINDS: dict[str, Model] = {
    model.name: model
    for model in (
        drawn_third.joint(
            "sd3_block", "Stable Diffusion 3", images=2, patches=1024, words=154, width=1536, heads=24
        ),
        drawn_third.experts(
            "experts_block", "a Mixtral", tokens=64, width=2048, heads=16, shared=4, hidden=5632, count=8
        ),
        drawn_third.speech_step(
            "whisper_step", "Whisper-large's decoder", beams=5, capacity=448, heard=1500, width=1280, heads=20
        ),
        drawn_third.segmenter("unet_level", "U-Net", images=4, size=128, channels=64),
        drawn_third.state_space(
            "mamba2_block", "Mamba-2 (1.3B)", batch=2, tokens=1024, width=2048, heads=64, each=64, states=128,
            chunk=128,
        ),
        drawn_third.depth_head("dpt_head", "Depth Anything (ViT-B)", images=4, size=37, channels=128),
        drawn_third.windows("maxvit_block", "MaxViT-T", images=16, size=28, width=128, each=32, window=7),
        drawn_third.adapted("lora_block", **_OF_8B, tokens=512, rank=16),
    )
}  # fmt: skip
"""Blocks of eight further kinds that were drawn at random; see `drawn_third`."""

FOURTH_KINDS: dict[str, Model] = {
    model.name: model
    for model in (
        drawn_fourth.points("pointnet", batch=16, count=2048, classes=50),
        drawn_fourth.pairs("evoformer_pairs", rows=256, width=128, heads=4),
        drawn_fourth.retention("retnet_block", "RetNet-1.3B", tokens=1024, width=2048, heads=8, chunk=256),
        drawn_fourth.pooled("mvit_block", "MViTv2-S", images=8, size=28, width=192, heads=2, stride=4),
        drawn_fourth.linear_vision(
            "efficientvit_block", "EfficientViT-B1", images=16, size=28, width=128, each=16
        ),
        drawn_fourth.dense(
            "densenet_block", "DenseNet-121", images=16, size=28, channels=128, growth=32, layers=6
        ),
        drawn_fourth.styled("stylegan2_block", images=4, size=64, channels=256, outputs=128, styles=512),
        drawn_fourth.late("colbert", documents=256, words=180, asked=32, width=768, each=128),
    )
}  # fmt: skip
"""Blocks of eight more kinds that were drawn at random; see `drawn_fourth`."""

FIFTH_KINDS: dict[str, Model] = {
    model.name: model
    for model in (
        drawn_fifth.scaled_vision(
            "dinov2_block", "DINOv2 (ViT-L)", images=8, tokens=261, width=1024, heads=16
        ),
        drawn_fifth.cut_and_joined("yolov8_block", "YOLOv8", images=16, size=40, channels=256, count=2),
        drawn_fifth.all_pairs("raft_pairs", height=48, width=96, channels=256, levels=4),
        drawn_fifth.reflecting("cyclegan_block", images=4, size=64, channels=256),
        drawn_fifth.shuffled("shufflenet", "ShuffleNetV2 (2x)", images=32, size=28, channels=244, units=3),
        drawn_fifth.fourier("fnet_block", "FNet-base", batch=8, tokens=512, width=768),
        drawn_fifth.radiance("nerf", rays=1024, samples=64, width=256, layers=8),
        drawn_fifth.recurrent("gru_step", sequences=2048, width=1024, layers=2),
    )
}
"""Blocks of eight more kinds that were drawn at random; see `drawn_fifth`."""

FEW_BITS: dict[str, Model] = {
    model.name: model
    for bits in (8, 4)
    for model in (
        llama.block(f"llama_int{bits}_block", **_OF_8B, tokens=512, bits=bits),
        llama.step(f"llama_int{bits}_step", **_OF_8B, cached=2047, bits=bits),
    )
}
"""Blocks of a language model with weights of few bits."""

_WHISPER = {"of": "Whisper-large's encoder", "tokens": 1500, "width": 1280, "heads": 20, "key_bias": False}
_LLAMA_8B = llama.Whole("Llama-3-8B", 4096, 32, 8, 14336, blocks=32, vocabulary=128256)
_LLAMA_1B = llama.Whole(
    "Llama-3.2-1B", 2048, 32, 8, 8192, blocks=16, vocabulary=128256, tied=True, dtype=np.float32
)
_BF16 = replace(_LLAMA_1B, dtype=ml_dtypes.bfloat16)

LARGE_MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        _LLAMA_8B.step("llama_8b_step", 2047),
        _LLAMA_8B.prefill("llama_8b_prefill", 512),
        transformer.encoder("whisper_large", blocks=32, **_WHISPER),
        sdxl.Unet().model("sdxl_unet"),
        _LLAMA_1B.step("llama_1b_step", 511),
        _BF16.step("llama_1b_step_bf16", 511),
    )
}
"""Whole models of the size that people deploy: up to 16 GB of weights, the last two for CPUs."""

_TINY = llama.Whole("a small Llama", 256, 8, 4, 512, blocks=4, vocabulary=512, dtype=np.float32)

DECODERS: dict[str, Model] = {
    model.name: model
    for model in (
        _TINY.decode("tiny_llama", 128),
        _LLAMA_1B.decode("llama_1b", 512),
        _LLAMA_8B.decode("llama_8b", 2048),
    )
}
"""Language models that generate tokens, `examples/generate.py`: a small one, and two of the large ones."""
