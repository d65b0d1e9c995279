"""What happened in a run, recorded while it happens and read back later."""

from hintbound.history.events import Event, Kind, Source
from hintbound.history.recorders import AuditRecorder, ClientRecorder, Recorder, WatchRecorder
from hintbound.history.store import HISTORY_FILE, Reading, Store, read

__all__ = [
    "HISTORY_FILE",
    "AuditRecorder",
    "ClientRecorder",
    "Event",
    "Kind",
    "Reading",
    "Recorder",
    "Source",
    "Store",
    "WatchRecorder",
    "read",
]
