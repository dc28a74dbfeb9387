"""What this is, and which versions of what it is with."""

from __future__ import annotations

import json
import platform
import sys
from typing import Any

from ..._tdb import __version__

#: The version of ``tiledbsoma`` whose names these are.
LIKE = "2.3.0"


def get_SOMA_version() -> str:
    """The version of the specification."""
    return "0.2.0-dev"


def get_implementation() -> str:
    """The name of the package whose names these are."""
    return "python-tiledb"


def get_implementation_version() -> str:
    """The version of ``tiledbsoma`` whose names these are."""
    return LIKE


def get_libtiledbsoma_core_version() -> str:
    """What reads and writes arrays here."""
    return f"tdb={__version__}"


def get_storage_engine() -> str:
    """The format of the arrays."""
    return "tiledb"


def show_package_versions() -> None:
    """Prints which versions there are."""
    print("tdb.soma.compat       ", __version__)
    print("tiledbsoma.__version__", get_implementation_version())
    print("core version (tdb)    ", get_libtiledbsoma_core_version())
    print("python version        ", ".".join(str(part) for part in sys.version_info))
    print("OS version            ", platform.platform())


def tiledbsoma_stats_enable() -> None:
    """Statistics are those of queries (``tdb.Read.explain``), so there is nothing to be begun."""


def tiledbsoma_stats_disable() -> None:
    """See :func:`tiledbsoma_stats_enable`."""


def tiledbsoma_stats_reset() -> None:
    """See :func:`tiledbsoma_stats_enable`."""


def tiledbsoma_stats_dump() -> None:
    """Prints that there are no statistics."""
    print("tdb keeps no statistics of a process: Read.explain() has those of a query")


def tiledbsoma_stats_json() -> str:
    """The statistics of the process, of which there are none, as JSON."""
    return json.dumps([])


def tiledbsoma_stats_as_py() -> Any:
    """The statistics of the process, of which there are none."""
    return json.loads(tiledbsoma_stats_json())
