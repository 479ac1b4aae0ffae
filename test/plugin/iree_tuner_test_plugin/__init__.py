"""What packages add, each from one file: an op family with its spaces, a target, and a search strategy."""
