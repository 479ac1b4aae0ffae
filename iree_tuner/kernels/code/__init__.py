"""Sources of kernels in C and PTX."""
