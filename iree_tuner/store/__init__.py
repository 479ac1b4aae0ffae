"""Every trial, kept: SQLite, reuse, exchange (docs/store.md). May import the rooms before it."""

from iree_tuner.store.causes import StoreError
from iree_tuner.store.exchange import write_rescue
from iree_tuner.store.store import Store
from iree_tuner.store.trial import Setting, StudyKey, Trial

__all__ = ["Setting", "Store", "StoreError", "StudyKey", "Trial", "write_rescue"]
