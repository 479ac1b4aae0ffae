"""Compile anywhere, measure where the devices are: the engine's calls on workers of dask.distributed.

Needs the extra `cluster`. A worker serves calls with the processes that a run on one machine has too
(`compiler.worker.Workers`): what dies, hangs or runs out of memory there ends a call, not the worker.
"""
