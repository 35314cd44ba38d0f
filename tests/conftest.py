"""What tests of several parts share: a Hub on loopback, fresh for each test."""

import os
from collections.abc import Iterator

import pytest

# Read when huggingface_hub is imported: the loopback Hub takes large files as LFS, not through Xet.
os.environ["HF_HUB_DISABLE_XET"] = "1"

from tests.hub_server import HubServer


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as server:
        yield server
