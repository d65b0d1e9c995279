"""What an entry of the cache consists of, written beside its files: the proof that it is whole."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from hintbound.assets import machine

MANIFEST: Final = "manifest.json"
_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Made:
    """Where an entry came from: `source` is download, build, source or wheel; `origin` says it in words."""

    source: str
    origin: str
    go: str = ""
    checkout: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """One file as it was made. Size, time and inode are cheap to compare; the digest decides."""

    sha256: str
    size: int
    mtime_ns: int
    inode: int
    executable: bool

    @classmethod
    def of(cls, path: Path) -> File:
        """A file as it is now."""
        facts = path.stat()
        return cls(
            sha256=digest(path),
            size=facts.st_size,
            mtime_ns=facts.st_mtime_ns,
            inode=facts.st_ino,
            executable=bool(facts.st_mode & 0o100),
        )

    def resembles(self, facts: os.stat_result) -> bool:
        """Whether the file looks untouched without reading it."""
        return (self.size, self.mtime_ns, self.inode) == (facts.st_size, facts.st_mtime_ns, facts.st_ino)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an entry is, where it came from and what it holds."""

    name: str
    version: str
    platform: str
    build: str
    time: str
    made: Made
    files: Mapping[str, File]

    @classmethod
    def of(cls, folder: Path, *, name: str, version: str, build: str, made: Made) -> Manifest:
        """The manifest of a folder as it is now."""
        return cls(
            name=name,
            version=version,
            platform="/".join(machine.os_arch()),
            build=build,
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            made=made,
            files={str(path.relative_to(folder)): File.of(path) for path in _files(folder)},
        )

    @classmethod
    def read(cls, folder: Path) -> Manifest | None:
        """The manifest in `folder`, None when it is missing or none. Raises OSError when unreadable."""
        try:
            content: dict[str, Any] = orjson.loads((folder / MANIFEST).read_bytes())
            made, files = Made(**content.pop("made")), content.pop("files")
            return cls(**content, made=made, files={name: File(**facts) for name, facts in files.items()})
        except (FileNotFoundError, ValueError, TypeError, KeyError, AttributeError):
            return None

    def write(self, folder: Path) -> None:
        """Put it into `folder`, whole or not at all."""
        draft = folder / f".{MANIFEST}.{secrets.token_hex(4)}"
        try:
            draft.write_bytes(orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2))
            draft.rename(folder / MANIFEST)
        finally:
            draft.unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(file.size for file in self.files.values())

    def problem(self, folder: Path, *, thoroughly: bool) -> str:
        """What is wrong with the files in `folder`, or nothing. Files that only look different are read."""
        renewed = dict(self.files)
        for name, file in self.files.items():
            path = folder / name
            try:
                facts = path.stat()
            except (FileNotFoundError, NotADirectoryError):
                return f"{name} is missing"
            if file.executable and not os.access(path, os.X_OK):
                return f"{name} is not executable"
            if file.resembles(facts) and not thoroughly:
                continue
            if facts.st_size != file.size:
                return f"{name} has {facts.st_size} bytes instead of {file.size}"
            now = File.of(path)
            if now.sha256 != file.sha256:
                return f"{name} has another sha256 than when it was made"
            renewed[name] = now
        if renewed != self.files:
            with suppress(OSError):
                replace(self, files=renewed).write(folder)
        return ""


def digest(path: Path) -> str:
    """The sha256 of a file, in hex."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != MANIFEST)
