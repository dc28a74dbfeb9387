"""Messages of long operations, as ``tiledbsoma.logging`` has them."""

from __future__ import annotations

import logging as _logging

logger = _logging.getLogger("tiledbsoma")


def warning() -> None:
    """Shows warnings."""
    _level(_logging.WARNING)


def info() -> None:
    """Shows messages about what is done."""
    _level(_logging.INFO)


def debug() -> None:
    """Shows all messages."""
    _level(_logging.DEBUG)


def _level(level: int) -> None:
    logger.setLevel(level)
    if not logger.handlers:
        logger.addHandler(_logging.StreamHandler())


def log_io_same(message: str) -> None:
    """A message about reading or writing."""
    log_io(message, message)


def log_io(info_message: str | None, debug_message: str) -> None:
    """A message about reading or writing, which is longer where all are shown."""
    if logger.level == _logging.INFO:
        if info_message is not None:
            logger.info(info_message)
    else:
        logger.debug(debug_message)


__all__ = ["debug", "info", "logger", "warning"]
