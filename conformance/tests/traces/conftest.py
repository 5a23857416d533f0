"""Shared by the tests of traces: the small model that a user could have written."""

from __future__ import annotations

import pytest

from conformance.tests.support.trace import own_model
from isrcheck.models import registry
from isrcheck.models.language.model import Model


@pytest.fixture(scope="session")
def own(tmp_path_factory: pytest.TempPathFactory) -> Model:
    """A model of parcels on shelves (support/trace.py), loaded from a file."""
    return registry.load_file(own_model(tmp_path_factory.mktemp("own")))
