"""Values that a program's inputs may have, found from its uses of them: indices within their tables.

`demand` goes from each use of an index back to the inputs that it is computed from. It imports `ops` and
`compiler`, and of `program` the parameters and sizes. `interval` imports nothing.
"""
