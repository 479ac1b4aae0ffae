"""Op families: how a root op is described as data, and how it is matched again in a tuning spec.

One file a family; each is found through the entry-point group `iree_tuner.op_families`, so that
another package can add its own. May import `compiler` and `targets`; knows nothing of search spaces.
"""
