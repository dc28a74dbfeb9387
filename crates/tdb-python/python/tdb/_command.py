"""The command ``tdb``, which comes with the package."""

from __future__ import annotations

import os
import pathlib
import signal
import sys

from . import _tdb

#: The files of the viewer, in wheels that have them.
VIEWER = pathlib.Path(__file__).parent / "viewer"

#: What a build without the command says.
NO_COMMAND = (
    "error: this build of the package tdb has no command: released wheels have it, and so has "
    'pip install ./crates/tdb-python --config-settings=build-args="--features sql"; '
    "cargo install tdb-cli makes the command alone"
)


def main() -> None:
    """Runs the command with the arguments of the process, and ends with its exit code."""
    command = getattr(_tdb, "command", None)
    if command is None:
        print(NO_COMMAND, file=sys.stderr)
        sys.exit(1)
    if VIEWER.is_dir():
        os.environ.setdefault("TDB_VIEWER", str(VIEWER))
    # Ctrl-C ends the process, or what the command itself does then: no code of Python runs meanwhile.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(command(["tdb", *sys.argv[1:]]))
