"""Runs a command that ends when its starter ends, even by SIGKILL: `python leash.py COMMAND...`.

The starter holds the other end of stdin; when it closes, the whole process group goes. A build that outlived
its hintbound would keep all cores busy for minutes and write into a folder that nobody owns.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def _watch() -> None:
    os.read(0, 1)
    os.killpg(os.getpgid(0), signal.SIGKILL)


if __name__ == "__main__":
    child = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    threading.Thread(target=_watch, daemon=True).start()
    code = child.wait()
    os._exit(code if code >= 0 else 128 - code)
