"""Are the numbers right: on the host, on the device, by an interpreter, and of a program's parts.

Differences are values (`device.numerics.Agreement`), not errors. docs/numerics.md has the tolerances.
"""
