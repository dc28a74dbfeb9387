"""What tests, and the examples of docstrings and pages, are given: a plugin of pytest (`-p tdb_testing`)."""

from __future__ import annotations

import pathlib
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import tdb
from tdb import _tdb

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "xtask" / "fixtures"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out examples of SQL in a build that has none."""
    if hasattr(_tdb, "Sql"):
        return
    for item in items:
        if item.name.startswith("tdb._sql."):
            item.add_marker(pytest.mark.skip(reason="this build has no SQL: cargo xtask python --features sql"))


@pytest.fixture
def fixtures() -> pathlib.Path:
    """Arrays that libtiledb 2.30.0 wrote."""
    return FIXTURES / "arrays" / "2.30.0"


@pytest.fixture
def uri(tmp_path: pathlib.Path) -> str:
    """A place for an array."""
    return str(tmp_path / uuid.uuid4().hex)


@pytest.fixture(autouse=True)
def _examples(doctest_namespace: dict[str, Any], tmp_path: pathlib.Path) -> Iterator[None]:
    """Names that examples use."""
    doctest_namespace.update(tdb=tdb, fixtures=FIXTURES / "arrays" / "2.30.0", scratch=tmp_path)
    yield
