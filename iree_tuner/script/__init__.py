"""Codegen scripts: dispatches lowered by a transform-dialect script, not by one of the compiler's pipelines.

A script is a module with a sequence `@__kernel_config` that finds the functions it is for, does what code
generation does (tile, fuse, vectorize, bufferize, distribute), and leaves them to LLVM. Here scripts are read
and linked with the library, compiled with, shown stage by stage, explained where they fail, and searched:
their knobs are a search space. The shipped ones are in transforms/. See docs/codegen-scripts.md.
"""
