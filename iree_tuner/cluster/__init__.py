"""Compile anywhere, measure where the devices are: the engine's calls on workers of dask.distributed.

Needs the extra `cluster`. A worker serves calls with the processes that a run on one machine has too
(`compiler.worker.Workers`): what dies, hangs or runs out of memory there ends a call, not the worker.
"""

import importlib.util
import warnings

from iree_tuner.errors import UsageError

QUEUED = 4
"""Calls that wait at a device, so that its worker does not wait for the network."""


def need_dask() -> None:
    """Raises UsageError without dask.distributed, whose own warnings about versions are not shown.

    Workers with other versions than ours are refused; Python's may differ from host to host.
    """
    if importlib.util.find_spec("distributed") is None:
        raise UsageError("dask.distributed is not installed", hint="pip install 'iree-tuner[cluster]'")
    from distributed.versions import VersionMismatchWarning

    warnings.filterwarnings("ignore", category=VersionMismatchWarning)
