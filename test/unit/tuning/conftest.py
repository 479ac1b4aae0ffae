"""This room compiles the same programs again and again."""

from once import each_once  # noqa: F401 (a fixture)
