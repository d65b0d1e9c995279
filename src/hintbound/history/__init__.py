"""What happened in a run, recorded while it happens and read back later."""

from hintbound.history.events import Event, Kind, Source
from hintbound.history.join import PodLife, PodVersion, lives
from hintbound.history.markers import CaughtUp, caught_up
from hintbound.history.recorders import AuditRecorder, ClientRecorder, ProxyRecorder, Recorder, WatchRecorder
from hintbound.history.store import HISTORY_FILE, Reading, Store, read
from hintbound.history.writers import Request

__all__ = [
    "HISTORY_FILE",
    "AuditRecorder",
    "CaughtUp",
    "ClientRecorder",
    "Event",
    "Kind",
    "PodLife",
    "PodVersion",
    "ProxyRecorder",
    "Reading",
    "Recorder",
    "Request",
    "Source",
    "Store",
    "WatchRecorder",
    "caught_up",
    "lives",
    "read",
]
