"""The cost of an assignment on a machine: features for models, and a time from first principles.

Features are numbers with names (`register_pressure`, `waves`), computed for many assignments at once from the
workload, the knobs' values and the machine; they need no compiler and no device. May import
`targets`, `ops` and `space`.
"""

from iree_tuner.search.cost.landscape import Landscape

__all__ = ["Landscape"]
