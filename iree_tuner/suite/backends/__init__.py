"""What computes operations: one file a library, each an optional extra that says when it is missing."""
