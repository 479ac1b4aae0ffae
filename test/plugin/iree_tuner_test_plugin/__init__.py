"""What packages can add, each from one file: an op family with its spaces, and a search strategy."""
