"""Packages that not every program needs."""

from __future__ import annotations

import importlib
from typing import Any


def needed(module: str, package: str, what: str) -> Any:
    """A module of a package that need not be installed; the error says what needs it, and how to get it."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != module.partition(".")[0]:
            raise
        raise ModuleNotFoundError(f"{what} need {package}: pip install {package}", name=error.name) from error
