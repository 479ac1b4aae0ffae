"""Files of JSON Lines: this project's own form, without loss, and which form a file has."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO, cast

from iree_tuner.store.causes import StoreError
from iree_tuner.store.exchange import Added, Record, load
from iree_tuner.store.recordings import from_recording
from iree_tuner.store.rows import number, trial_to_json
from iree_tuner.store.store import Store
from iree_tuner.store.trial import StudyKey, Trial, to_json

FORM = 1
"""Version of the lossless form, in the first line of each file."""

_HEADER = "iree_tuner_trials"


def write_lines(stream: TextIO, found: Iterable[Record]) -> int:
    """Write records in the lossless form. Returns the number of trials."""
    count = 0
    stream.write(json.dumps({_HEADER: FORM}) + "\n")
    for record in found:
        stream.write(json.dumps(record, allow_nan=False) + "\n")
        count += record["kind"] == "trial"
    return count


def write_rescue(path: str | Path, rows: Sequence[tuple[StudyKey, Trial]]) -> None:
    """Write trials that could not be stored to a file for `iree-tuner db import`. Raises StoreError."""
    try:
        with Path(path).open("w", encoding="utf-8") as stream:
            write_lines(stream, _rescued(rows))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise StoreError(f"cannot write: {error.strerror}", location=str(path)) from None


def import_file(store: Store, path: Path) -> Added:
    """Add the contents of a file, all or nothing: the lossless form, or a recording.

    Raises StoreError if the file cannot be read, or a line is malformed; the location names the line.
    """
    position = [1]
    try:
        with path.open(encoding="utf-8") as stream:
            numbered = _parsed(stream, position)
            _, first = next(numbered, (0, None))
            if first is None:
                raise ValueError("the file is empty")
            if first.get(_HEADER) == FORM:
                return load(store, _followed(numbered, position))
            if "recording" in first:
                return load(store, _recorded(first, list(numbered), position))
            raise ValueError(
                "the file has neither trials of iree-tuner nor a recording, in a supported version"
            )
    except OSError as error:
        raise StoreError(f"cannot read: {error.strerror}", location=str(path)) from None
    except UnicodeDecodeError:
        raise StoreError("not a text file", location=str(path)) from None
    except json.JSONDecodeError as error:
        if position[0] == 1 and _is_t4(path):
            what, hint = "a T4 file does not identify the workload", "export without --format t4"
            raise StoreError(what, location=str(path), hint=hint) from None
        raise StoreError(f"not JSON: {error.msg}", location=f"{path}:{position[0]}") from None
    except KeyError as error:
        raise StoreError(f"{error.args[0]} is missing", location=f"{path}:{position[0]}") from None
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise StoreError(str(error), location=f"{path}:{position[0]}") from None


def _is_t4(path: Path) -> bool:
    """Whether it is output of `exchange.to_t4`, one object of many lines."""
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and "schema_version" in found and "results" in found


_Numbered = tuple[int, dict[str, object]]


def _parsed(stream: TextIO, position: list[int]) -> Iterator[_Numbered]:
    """Objects of the lines; `position` holds the number of the last one."""
    for count, line in enumerate(stream, start=1):
        position[0] = count
        if not line.strip():
            continue
        try:
            data: object = json.loads(line)
        except RecursionError:
            raise ValueError("the JSON is nested too deep") from None
        if not isinstance(data, dict):
            raise TypeError("not a JSON object")
        yield count, cast("dict[str, object]", data)


def _followed(numbered: Iterable[_Numbered], position: list[int]) -> Iterator[dict[str, object]]:
    for count, data in numbered:
        position[0] = count
        yield data


def _recorded(
    header: dict[str, object], numbered: Sequence[_Numbered], position: list[int]
) -> Iterator[Record]:
    default_us = 0.0
    for line in _followed(numbered, position):  # the default may stand anywhere
        if line["pipeline"] is None:
            default_us = number(line["min_us"])
    position[0] = 1  # until a line is taken, it is the header that may be wrong
    yield from from_recording(header, _followed(numbered, position), default_us)


def _rescued(rows: Sequence[tuple[StudyKey, Trial]]) -> Iterator[Record]:
    run = secrets.token_hex(8)
    for digest, key in {key.digest: key for key, _ in rows}.items():
        yield {"kind": "study", "study": digest, "key": to_json(key)}
    now = time.time()
    yield {
        "kind": "run", "run": run, "program": "rescued", "options": {}, "started": now, "ended": now,
        "state": "failed",
    }  # fmt: skip
    for key, trial in rows:
        uid = secrets.token_hex(8)
        yield {"kind": "trial", "uid": uid, "study": key.digest, "run": run, "trial": trial_to_json(trial)}
