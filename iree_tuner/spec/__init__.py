"""Tuning specs: transform-dialect modules that make the compiler use what was found.

Built, linked, checked, embedded and explained as IR objects; text only when saved as `.mlir`. May import
`compiler`, `targets`, `ops` and `space`; knows nothing of searching or measuring.
"""
