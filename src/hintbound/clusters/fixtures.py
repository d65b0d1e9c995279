"""What the suites need in a cluster before they begin: manifests in `fixtures/`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import yaml

from hintbound import data
from hintbound.kube.exchange import Json

RBAC: Final = "rbac.yaml"
PRIORITY_CLASSES: Final = "priority-classes.yaml"


def manifests(*files: str) -> Iterator[Json]:
    """Every object in these files of `fixtures/`, in their order."""
    for file in files:
        yield from yaml.safe_load_all((data.folder("fixtures") / file).read_text())
