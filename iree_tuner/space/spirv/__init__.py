"""Spaces for Vulkan, whose pipelines emit no constraints of their own: one builder a pipeline.

Sources are IREE's Codegen/SPIRV, unless another folder is given.
"""
