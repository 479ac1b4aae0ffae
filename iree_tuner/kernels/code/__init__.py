"""Kernels as source."""
