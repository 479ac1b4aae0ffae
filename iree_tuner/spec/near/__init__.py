"""Near misses: which condition of a matcher fails first on an op of the kind that it matches.

The compiler is the judge. It is stopped where it applies specs (`miss`), and its interpreter runs a matcher
there. The first condition that fails is found in this way. The required value and the actual one are
read from the IR (`reasons`). All of this runs in workers.
"""
