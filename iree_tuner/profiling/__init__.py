"""Where a program's time goes: by dispatch and workload, against what the device could do.

May import `compiler`, `targets`, `ops`, `program`, `space`, `search.cost`, `device`, `check` and `measure`.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.profiling.attribution import floor_us
    from iree_tuner.profiling.profile import Profile, ProfileRow
    from iree_tuner.profiling.roofline import MemoryLevel, Roofline
    from iree_tuner.profiling.run import profile_program

__all__ = ["MemoryLevel", "Profile", "ProfileRow", "Roofline", "floor_us", "profile_program"]

_HOMES = {
    "MemoryLevel": "roofline", "Profile": "profile", "ProfileRow": "profile", "Roofline": "roofline",
    "floor_us": "attribution", "profile_program": "run",
}  # fmt: skip

__getattr__ = lazily(__name__, _HOMES)
