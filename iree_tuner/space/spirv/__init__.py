"""Vulkan spaces."""
