"""Near misses: which condition of a matcher fails first on an op of the kind that it matches.

The compiler is the judge. It is stopped where it applies specs (`miss`), and its interpreter runs a matcher
there, condition by condition (`conditions`). The value that a condition requires and the actual value are
read from the IR (`reasons`). All of this runs in workers.
"""

from typing import TYPE_CHECKING

from iree_tuner.lazily import lazily

if TYPE_CHECKING:
    from iree_tuner.spec.near.miss import NearMiss, near_misses

__all__ = ["NearMiss", "near_misses"]

__getattr__ = lazily(__name__, {"NearMiss": "miss", "near_misses": "miss"})
