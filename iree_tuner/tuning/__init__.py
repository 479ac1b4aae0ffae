"""The parts of the tuning loop: effort, tasks, rounds, finals, results. `iree_tuner.tune` puts them together.

May import every room before it; only `tune` and `cli` may import it.
"""
