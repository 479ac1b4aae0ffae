"""Compile anywhere, measure where the devices are: the engine's calls on workers of dask.distributed.

Needs the extra `cluster`. A worker serves calls with the same processes as a run on one machine
(`compiler.worker.Workers`): a crash, a hang or a lack of memory there ends a call, not the worker.
"""

import importlib.util
import warnings

from iree_tuner.errors import TunerError, UsageError

QUEUED = 4
"""Calls that wait at a device, so that its worker does not wait for the network."""


def no_scheduler(error: Exception, address: str) -> TunerError:
    """The error about a scheduler that cannot be reached."""
    message = f"no scheduler responds: {str(error).splitlines()[0]}"
    return TunerError(message, location=address, hint="start one: dask scheduler")


def need_dask() -> None:
    """Raises UsageError without dask.distributed, whose own warnings about versions are not shown.

    Workers with other versions than ours are refused; Python's may differ from host to host.
    """
    if importlib.util.find_spec("distributed") is None:
        raise UsageError("dask.distributed is not installed", hint="pip install 'iree-tuner[cluster]'")
    from distributed.versions import VersionMismatchWarning

    warnings.filterwarnings("ignore", category=VersionMismatchWarning)
