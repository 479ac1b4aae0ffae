"""What packages add: an op family with its spaces, a target, a search strategy, and a command."""
