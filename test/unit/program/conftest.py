"""Each compilation once."""

from once import each_once  # noqa: F401 (a fixture)
