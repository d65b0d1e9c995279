"""A Docker engine and a node image, for the tests that are about real kind clusters."""

from __future__ import annotations

import os
import re
import shutil
from importlib.util import find_spec

import pytest

from hintbound import data

_IMAGE = "HINTBOUND_KIND_IMAGE"


@pytest.fixture(scope="session")
def kind_spec() -> str:
    """A SPEC with both gates on, of the node image that the environment names; without one there is nothing
    to try a kind cluster with."""
    image = os.environ.get(_IMAGE)
    if not image:
        pytest.skip(f"{_IMAGE} names no node image: see tools/kind-node")
    assert shutil.which("docker"), f"{_IMAGE} is set, but docker is not on PATH"
    assert find_spec("pytest_kind"), f"{_IMAGE} is set, but pytest-kind is not installed"
    minor = re.search(r":v(1\.\d+)\.", image)
    assert minor is not None, f"{image} names no Kubernetes version"
    return f"kind:{data.folder('kind-configs')}/{minor[1]}-nnn-on.yaml,image={image}"
