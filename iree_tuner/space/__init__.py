"""Search spaces: constraint ops in, assignments of their knobs out, and the attributes that these stand for.

A space is always an `iree_codegen.smt.constraints` op: built here if the compiler emits none, and always
interpreted here. May import `compiler`, `targets` and `ops`; knows nothing of search.
"""
