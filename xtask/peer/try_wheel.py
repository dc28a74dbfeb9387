"""Installs a wheel of the package tdb into a new environment, and tries it there, as a new user would: the package, SQL, and the
command. `python try_wheel.py WHEEL VERSION`, with any Python that the wheel supports; it needs nothing of the repository, so that it
runs in containers of other systems, too."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile
import venv

#: What is asked of the package, with nothing installed beside it and numpy.
PACKAGE = """
import sys, numpy, tdb
assert tdb.__version__ == sys.argv[1], tdb.__version__
made = tdb.from_numpy("grid", numpy.arange(1, 17).reshape(4, 4), dims=["x", "y"], tile=2)
grid = tdb.open("grid")
assert grid[1, 2] == 7 and made.shape == (4, 4)
tdb.sql("SELECT count(*) AS cells, sum(a) AS s FROM grid WHERE y < 2", grid=grid).show()
"""
PRINTED = "cells   s\n-----  --\n    8  60\n"

TABLE = "id,city,price\n1,Oslo,2.5\n2,Bergen,\n3,Oslo,4\n"
QUESTION = "SELECT city, count(*) AS n, sum(price) AS s FROM 'trips' GROUP BY city ORDER BY city"
ANSWER = "city,n,s\nBergen,1,\nOslo,2,6.5\n"

#: Variables without which programs of some systems do not start.
NEEDED = ("SystemRoot", "TEMP", "TMP")


def said(program: list[str], folder: pathlib.Path) -> str:
    """What a program prints in a folder, without the environment of this process."""
    bare = {name: os.environ[name] for name in NEEDED if name in os.environ}
    done = subprocess.run(program, cwd=folder, env=bare, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{program}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


def expect(what: str, found: str, expected: str) -> None:
    if found != expected:
        sys.exit(f"{what} printed {found!r} instead of {expected!r}")


def main(wheel: str, version: str) -> None:
    with tempfile.TemporaryDirectory(prefix="tdb-wheel-") as name:
        folder = pathlib.Path(name).resolve()
        environment = folder / "environment"
        venv.create(environment, with_pip=True)
        programs = environment / ("Scripts" if os.name == "nt" else "bin")
        python = str(programs / "python")
        quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([python, *quiet, str(pathlib.Path(wheel).resolve())], check=True)
        expect("the package", said([python, "-c", PACKAGE, version], folder), PRINTED)
        tdb = str(programs / "tdb")
        own = said([tdb, "--version"], folder)
        if not own.startswith(f"tdb {version}"):
            sys.exit(f"tdb --version printed {own!r}, and this is version {version}")
        (folder / "trips.csv").write_text(TABLE)
        said([tdb, "import", "trips", "trips.csv", "--dims", "id"], folder)
        expect("tdb sql", said([tdb, "sql", QUESTION], folder), ANSWER)
        # Files need more of DataFusion than arrays.
        said([tdb, "export", "trips", "trips.parquet"], folder)
        expect("tdb sql", said([tdb, "sql", QUESTION.replace("'trips'", "'trips.parquet'")], folder), ANSWER)
        said([tdb, "verify", "trips"], folder)
        said([tdb, "publish", "trips", "--viewer", "page"], folder)
        if 'data-url="../trips"' not in (folder / "page" / "index.html").read_text():
            sys.exit("the page of the viewer leads to no array")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(f"usage: {sys.argv[0]} WHEEL VERSION")
    main(*sys.argv[1:])
