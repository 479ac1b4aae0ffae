"""Where a program's time goes: by dispatch and workload, against what the device could do.

May import `compiler`, `targets`, `ops`, `program`, `space`, `search.cost`, `device`, `check` and `measure`.
"""
