"""Near misses: which condition of a matcher fails first on an op of the kind that it matches.

The compiler is the judge. It is stopped where it applies specs (`miss`), and its interpreter runs a matcher
there, condition by condition (`conditions`). The value that a condition requires and the actual value are
read from the IR (`reasons`). All of this runs in workers.
"""
