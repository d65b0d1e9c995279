"""Three witnesses of a run that know nothing of each other: the watch, the audit log and the client; and the
proxy's own account of what it did."""

from hintbound.history.recorders.audit import AuditRecorder
from hintbound.history.recorders.client import ClientRecorder
from hintbound.history.recorders.proxy import ProxyRecorder
from hintbound.history.recorders.recorder import Recorder
from hintbound.history.recorders.watch import WatchRecorder

__all__ = ["AuditRecorder", "ClientRecorder", "ProxyRecorder", "Recorder", "WatchRecorder"]
