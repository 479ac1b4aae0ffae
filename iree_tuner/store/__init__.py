"""Every trial, kept: SQLite, reuse, exchange (docs/store.md). May import the rooms before it."""

from iree_tuner.store.causes import StoreError
from iree_tuner.store.lines import write_rescue
from iree_tuner.store.store import Store
from iree_tuner.store.study import StudyKey

__all__ = ["Store", "StoreError", "StudyKey", "write_rescue"]
