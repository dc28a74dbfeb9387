"""`python soma_times.py --work DIR [--small] [--rounds N] [--only WORD] [--python LIBRARY=PATH]... [--markdown
FILE]`: makes an AnnData file of single cells by a seed, converts it, and times what programs do with it: tdb beside
the libraries that read and train on such cells. `cargo xtask compare soma` runs it.

Each measurement is a process of its own, which says its seconds without imports, its peak memory, and what came
out; the libraries take turns, and a line of the table is the median of the rounds. Where something else came out
than for the others it says WRONG. A library that is not installed for its interpreter is left out, and the reason
is said.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
from typing import Any

#: The libraries, with what is measured of them besides the conversion.
LIBRARIES = {
    "tdb": ["filter", "cells", "gene", "submatrix", "means", "epoch", "epoch512"],
    "tdb on tiledbsoma's": ["filter", "cells", "gene", "submatrix", "means", "epoch", "epoch512"],
    "tiledbsoma": ["filter", "cells", "gene", "submatrix", "means"],
    "tiledbsoma-ml": ["epoch"],
    "AnnData h5ad": ["filter", "cells", "gene", "submatrix", "means", "epoch"],
    "AnnData Zarr": ["filter", "cells", "gene", "submatrix", "means", "epoch"],
    "annbatch": ["epoch512"],
    "slafdb": ["filter", "cells", "gene", "submatrix", "means"],
}
#: What the cases are called in the table.
CASES = {
    "convert": "convert the h5ad file",
    "filter": "filter of obs",
    "cells": "100 cells",
    "gene": "one gene",
    "submatrix": "submatrix",
    "means": "means by group",
    "epoch": "epoch, chunks of 64",
    "epoch512": "epoch, chunks of 512",
}
#: Libraries that read what another one has made.
MADE_BY = {"tdb on tiledbsoma's": "tiledbsoma", "tiledbsoma-ml": "tiledbsoma", "AnnData h5ad": "source"}
#: Seconds after which a measurement is given up.
LIMIT = 3600
TASKS = pathlib.Path(__file__).with_name("soma_times_tasks.py")


def made(work: pathlib.Path, library: str) -> pathlib.Path:
    """Where the file or folder of a library is."""
    by = MADE_BY.get(library, library)
    return work / ("source.h5ad" if by == "source" else by.replace(" ", "-").lower())


def run(python: str, task: str, library: str, work: pathlib.Path) -> dict[str, Any]:
    """One measurement in a process of its own."""
    command = [python, str(TASKS), task, library, str(made(work, library)), str(work)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {LIMIT} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return {"error": (done.stderr.strip().splitlines() or ["it said nothing"])[-1][:200]}
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def size(place: pathlib.Path) -> int:
    """The bytes of a file, or of all files of a folder."""
    files = [place] if place.is_file() else [one for one in place.rglob("*") if one.is_file()]
    return sum(one.stat().st_size for one in files)


def measure(options: argparse.Namespace, pythons: dict[str, str]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """All measurements: by library and case, those of each round."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    work: pathlib.Path = options.work
    for number in range(options.rounds):
        for library in LIBRARIES:
            if library in MADE_BY or (number and options.convert_once):
                continue
            place = made(work, library)
            if options.keep and place.exists():
                continue
            shutil.rmtree(place, ignore_errors=True)
            note(found, library, "convert", run(pythons[library], "convert", library, work))
    for number in range(options.rounds):
        for case in CASES:
            for library, cases in LIBRARIES.items():
                if case not in cases or options.only not in f"{library} {case}" or not made(work, library).exists():
                    continue
                if any("error" in one for one in found.get((library, case), [])):
                    continue
                note(found, library, case, run(pythons[library], case, library, work))
    return found


def note(found: dict[tuple[str, str], list[dict[str, Any]]], library: str, case: str, one: dict[str, Any]) -> None:
    """Keeps a measurement, and shows it."""
    found.setdefault((library, case), []).append(one)
    print(f"{library:20} {case:10} {json.dumps(one)}", flush=True)


def table(found: dict[tuple[str, str], list[dict[str, Any]]], work: pathlib.Path) -> str:
    """The table in Markdown: seconds and MiB at most of each case, and the size of what is read."""
    shown = [case for case in CASES if any(own == case for _, own in found)]
    lines = [
        "| s (MiB at most) | " + " | ".join(CASES[case] for case in shown) + " | MB stored |",
        "|---|" + "---|" * (len(shown) + 1),
    ]
    right = {}
    for case in shown:
        said = [one["found"] for (_, own), all_of in found.items() if own == case for one in all_of if "found" in one]
        right[case] = statistics.mode([json.dumps(one) for one in said]) if said else None
    for library in LIBRARIES:
        if not any(own == library for own, _ in found):
            continue
        cells = [cell(found.get((library, case), []), right[case]) for case in shown]
        place = made(work, library)
        lines.append(f"| {library} | " + " | ".join(cells) + f" | {size(place) / 1e6:.0f} |" if place.exists() else "")
    errors = {
        f"{library}: {one['error']}" for (library, _), all_of in found.items() for one in all_of if "error" in one
    }
    return "\n".join([*filter(None, lines), "", *sorted(errors)])


def cell(all_of: list[dict[str, Any]], right: str | None) -> str:
    """The median of a case."""
    good = [one for one in all_of if "seconds" in one]
    if not good:
        return "error" if all_of else ""
    seconds = statistics.median(one["seconds"] for one in good)
    peak = statistics.median(one["peak"] for one in good) / (1 << 20)
    wrong = "" if all(json.dumps(one["found"]) == right for one in good) else " WRONG"
    return f"{seconds:.3g} ({peak:.0f}){wrong}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--small", action="store_true", help="a fiftieth of the values")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    parser.add_argument("--python", action="append", default=[], metavar="LIBRARY=PATH")
    parser.add_argument("--convert-once", action="store_true", help="conversions in the first round only")
    parser.add_argument("--keep", action="store_true", help="no conversion of what is there")
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args()
    pythons = dict.fromkeys(LIBRARIES, sys.executable)
    for one in options.python:
        library, _, path = one.partition("=")
        if library not in pythons:
            parser.error(f"--python {one}: there is no library {library!r} (there are {', '.join(pythons)})")
        pythons[library] = path
    options.work.mkdir(parents=True, exist_ok=True)
    cells, genes, values = (10_000, 2_500, 1_240_000) if options.small else (50_000, 25_000, 62_000_000)
    asked = json.dumps({"cells": cells, "genes": genes, "values": values})
    mark = options.work / "asked.json"
    if not mark.exists() or mark.read_text() != asked:
        command = [sys.executable, str(TASKS), "make", "source", str(options.work / "source.h5ad"), str(options.work)]
        subprocess.run([*command, str(cells), str(genes), str(values)], check=True)
        mark.write_text(asked)
    found = measure(options, pythons)
    text = table(found, options.work)
    print(f"\n{os.cpu_count()} cores; {asked}\n\n{text}")
    if options.markdown:
        options.markdown.write_text(text + "\n")


if __name__ == "__main__":
    main()
