"""``python -m tdb.soma import SOURCE EXPERIMENT`` and ``… export EXPERIMENT FILE``: h5ad and 10x from a shell."""

from __future__ import annotations

import argparse
import pathlib
import sys

from .._errors import Error
from ._build import MEMORY
from ._export import to_h5ad
from ._ingest import from_10x, from_h5ad


def main(words: list[str] | None = None) -> int:
    """Runs the command, and returns its exit code."""
    parser = argparse.ArgumentParser("python -m tdb.soma", description="SOMA experiments of h5ad files and 10x, and back.")
    commands = parser.add_subparsers(dest="command", required=True)
    made = commands.add_parser("import", help="make an experiment of an h5ad file, or of a folder or .h5 file of 10x")
    made.add_argument("source", help="FILE.h5ad, FILE.h5, or a folder with matrix.mtx")
    made.add_argument("experiment", help="where the experiment will be: a path or a URL")
    made.add_argument("--layer", default="data", help="the name of the layer that X becomes (data)")
    made.add_argument("--dense", action="store_true", help="write dense matrices")
    back = commands.add_parser("export", help="write an experiment as an h5ad file")
    back.add_argument("experiment", help="where the experiment is")
    back.add_argument("file", help="the h5ad file to write")
    back.add_argument("--layer", default="data", help="the layer that becomes X (data)")
    back.add_argument("--obs", help="a condition of the cells that are wanted")
    back.add_argument("--var", help="a condition of the genes that are wanted")
    for one in (made, back):
        one.add_argument("--measurement", default="RNA", help="the name of the measurement (RNA)")
        one.add_argument("--memory", default=MEMORY, help=f"the memory to use beside the tables ({MEMORY})")
        one.add_argument("--quiet", action="store_true", help="say nothing of the progress")
    given = parser.parse_args(words)
    heard = None if given.quiet else _heard
    try:
        if given.command == "export":
            how = {"obs": given.obs, "var": given.var, "memory": given.memory, "progress": heard}
            to_h5ad(given.experiment, given.file, given.measurement, given.layer, **how)
        else:
            make = from_h5ad if pathlib.Path(given.source).suffix == ".h5ad" else from_10x
            how = {"X": given.layer, "dense": given.dense, "memory": given.memory, "progress": heard}
            make(given.experiment, given.source, given.measurement, **how)
    except (Error, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _heard(name: str, done: int, total: int) -> None:
    print(f"{name}: {done} of {total}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
