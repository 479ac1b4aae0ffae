"""Search strategies that the project's own are compared with (docs/search.md), one file each."""
