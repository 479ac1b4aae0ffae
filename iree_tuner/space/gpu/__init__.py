"""GPU spaces: the compiler's own constraints with supplements, and ops built here where it has none."""
