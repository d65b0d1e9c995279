"""One context of the user's kubeconfig files as one file, for a program that must use that and no other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

_PATHS: Final = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


def of_context(context: str, environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """What kubectl would merge, with `context` as the current one and file names made absolute.

    The context must exist (see Connection.from_kubeconfig, which says so clearly). Of two entries of one name
    the first counts, as for kubectl.
    """
    merged: dict[str, dict[str, Any]] = {"clusters": {}, "users": {}, "contexts": {}}
    for file in _files(environ):
        content = yaml.safe_load(file.read_text()) or {}
        for kind, known in merged.items():
            for entry in content.get(kind) or ():
                known.setdefault(entry["name"], _absolute(entry, file.absolute().parent))
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": context,
        **{kind: list(entries.values()) for kind, entries in merged.items()},
    }


def _files(environ: Mapping[str, str]) -> list[Path]:
    named = [Path(part) for part in environ.get("KUBECONFIG", "").split(os.pathsep) if part]
    return [file for file in named or [Path("~/.kube/config").expanduser()] if file.is_file()]


def _absolute(entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    return {
        key: _with_absolute_paths(value, folder) if isinstance(value, dict) else value
        for key, value in entry.items()
    }


def _with_absolute_paths(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """As kubectl does it: a credential plugin's command is a path only with a separator in it."""
    absolute = {k: str(folder / v) if k in _PATHS and v else v for k, v in settings.items()}
    plugin = settings.get("exec")
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command", "")):
        absolute["exec"] = {**plugin, "command": str(folder / plugin["command"])}
    return absolute
