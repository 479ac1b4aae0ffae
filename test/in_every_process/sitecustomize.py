"""Which lines of the package run, in every process that tests start: test/run.py puts this folder on the
`PYTHONPATH`, and names a folder with the package's modules as `test/noted_lines.py` makes them.
"""

from __future__ import annotations

import os

FOLDER = os.environ.get("IREE_TUNER_TEST_COVERAGE")

if FOLDER:
    import builtins
    import marshal
    import mmap
    import sys
    from importlib.machinery import PathFinder, SourceFileLoader

    class Noting(SourceFileLoader):
        """Loads what notes its lines."""

        def get_code(self, fullname):
            """The module as it was made for these tests; as it is, where it came later."""
            try:
                with open(f"{FOLDER}/{fullname}", "rb") as file:  # noqa: PTH123 (fewer imports)
                    return marshal.loads(file.read())  # `load` asks the file for each byte
            except FileNotFoundError:
                return super().get_code(fullname)

    class Finder:
        """Finds the package's modules where Python does."""

        @staticmethod
        def find_spec(name, path=None, target=None):
            if name.partition(".")[0] != "iree_tuner":
                return None
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and type(spec.loader) is SourceFileLoader:
                spec.loader = Noting(spec.loader.name, spec.loader.path)
            return spec

    with open(f"{FOLDER}/noted", "r+b") as file:  # noqa: PTH123
        noted = mmap.mmap(file.fileno(), 0)
    new = [True] * len(noted)

    def note(lines):
        """Note lines for all processes, and that this one has done so."""
        for line in lines:
            new[line] = False
            noted[line] = 1

    builtins._iree_tuner_new_lines, builtins._iree_tuner_note_line = new, note
    sys.meta_path.insert(0, Finder)
