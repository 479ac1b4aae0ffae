"""Spaces for llvm-cpu, whose pipelines emit no constraints of their own: one builder an op family."""
