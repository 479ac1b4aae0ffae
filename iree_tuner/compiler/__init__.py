"""The IREE compiler in this process: sessions, phases, diagnostics, IR contexts, and disposable workers.

The lowest room of the house: it knows MLIR and IREE's C API, and nothing about tuning. It may import only
`errors`; every other package may import it.
"""
