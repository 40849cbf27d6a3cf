"""The marker for tests that download."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker here too, so that these tests run on their own."""
    config.addinivalue_line("markers", "network: downloads from a package index")
