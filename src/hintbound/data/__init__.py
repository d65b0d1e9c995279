"""Where the files that are not code live: beside the checkout's `src/`, or inside the installed wheel."""

from __future__ import annotations

from pathlib import Path

_INSTALLED = Path(__file__).parent
_CHECKOUT = Path(__file__).parents[3]


def folder(name: str) -> Path:
    """The folder of this name (`suites`, `fixtures`, `controlplane`, `docs`). Raises FileNotFoundError."""
    for root in (_INSTALLED, _CHECKOUT):
        if (root / name).is_dir():
            return root / name
    raise FileNotFoundError(f"hintbound is installed without its folder {name!r}; reinstall it from a wheel")


def checkout() -> Path | None:
    """The root of the git checkout this code runs from, or None when it was installed from a wheel."""
    return _CHECKOUT if (_CHECKOUT / "pyproject.toml").is_file() and (_CHECKOUT / "suites").is_dir() else None
