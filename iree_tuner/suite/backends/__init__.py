"""Libraries that compute operations: one file each, an optional extra that says when it is missing."""
