"""This room compiles the same scripts again and again."""

from once import each_once  # noqa: F401 (a fixture)
