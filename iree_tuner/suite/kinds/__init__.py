"""The kinds of operations, one file each; `registry` knows them by name."""
