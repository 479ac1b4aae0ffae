"""Programs: parse them, run the compiler's phases on them, and find their dispatches.

May import `compiler`, `targets` and `ops`.
"""
