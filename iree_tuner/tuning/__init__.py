"""How a program is tuned: `run` is what all steps are given, `loop` their order.

May import every room before it; `tuning.loop` also those between it and `tune`.
"""
