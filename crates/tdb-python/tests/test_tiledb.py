"""libtiledb (the PyPI wheel, where it is installed) reads what tdb writes, in a process of its own."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import tdb

if subprocess.run([sys.executable, "-c", "import tiledb"], capture_output=True, check=False).returncode:
    pytest.skip("the package tiledb is not installed", allow_module_level=True)


def tiledb_says(program: str, *args: str) -> object:
    """Runs a program with libtiledb, which prints JSON."""
    text = "import json, sys, numpy as np, tiledb\n" + textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", text, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_dense_cells_of_every_number_are_read(uri: str) -> None:
    names = ["int8", "uint16", "int32", "uint64", "float32", "float64", "datetime64[us]"]
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension("x", (-3, 4), "int32", tile=3), tdb.Dimension("y", (1, 5), "int32", tile=2)],
        [tdb.Attribute(f"a{at}", name, filters="byteshuffle, zstd(3)") for at, name in enumerate(names)],
    )
    array = tdb.create(uri, schema)
    values = {f"a{at}": (np.arange(40) * 3).astype(name).reshape(8, 5) for at, name in enumerate(names)}
    array.write(values)
    array[0:2, 2:4] = {name: one[:2, :2] for name, one in values.items()}
    said = tiledb_says(
        """
        with tiledb.open(sys.argv[1]) as A:
            cells = A[:]
            print(json.dumps({name: [str(cells[name].dtype), cells[name].astype(np.float64).tolist()] for name in cells}))
        """,
        uri,
    )
    own = {name: [str(one.dtype), one.astype(np.float64).tolist()] for name, one in array[:].items()}
    assert said == own


def test_sparse_cells_texts_nulls_and_enumerations_are_read(uri: str) -> None:
    schema = tdb.Schema(
        "sparse",
        [tdb.Dimension("day", ("2000-01-01", "2030-01-01"), "datetime64[D]", tile=100), tdb.Dimension("name", dtype="ascii")],
        [
            tdb.Attribute("text", str, nullable=True, filters="zstd"),
            tdb.Attribute("number", "int64", nullable=True),
            tdb.Attribute("sky", "uint8", enumeration="sky"),
            tdb.Attribute("pair", "float32", values="var"),
        ],
        [tdb.Enumeration("sky", ["clear", "cloudy"], ordered=True)],
        capacity=2,
    )
    array = tdb.create(uri, schema)
    array.write(
        {
            "day": np.array(["2020-01-03", "2020-01-01", "2020-01-02"], "datetime64[D]"),
            "name": ["c", "a", "b"],
            "text": ["Größe", None, ""],
            "number": np.ma.MaskedArray([1, 2, 3], [False, True, False]),
            "sky": ["cloudy", "clear", "cloudy"],
            "pair": [[1.5], [], [2.5, 3.5]],
        }
    )
    array.meta.update(author="Ada", weights=[0.5, 0.25], count=3)
    array.delete("name == 'b'")
    said = tiledb_says(
        """
        with tiledb.open(sys.argv[1]) as A:
            table = A[:]
            found = {
                "day": table["day"].astype(str).tolist(),
                "name": [one.decode() for one in table["name"].tolist()],
                "sky": table["sky"].tolist(),
                "text": table["text"].tolist(),
                "number": table["number"].tolist(),
                "pair": [one.tolist() for one in table["pair"]],
            }
            found["labels"] = list(A.enum("sky").values())
            found["meta"] = [A.meta["author"], list(A.meta["weights"]), A.meta["count"]]
            found["version"] = A.schema.version
            print(json.dumps(found, default=lambda number: number.item()))
        """,
        uri,
    )
    assert said == {
        "day": ["2020-01-01", "2020-01-03"],
        "name": ["a", "c"],
        "sky": ["clear", "cloudy"],
        "labels": ["clear", "cloudy"],
        "meta": ["Ada", [0.5, 0.25], 3],
        "version": array.schema.version,
        "text": [None, "Größe"],
        "number": [None, 1],
        "pair": [[], [1.5]],
    }


def test_tables_and_evolved_arrays_are_read(uri: str, tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": np.arange(100) % 50, "y": np.arange(100) // 50, "v": np.arange(100) * 0.5})
    array = tdb.from_pandas(uri, frame, index=["x", "y"])
    array.evolve(add=[tdb.Attribute("w", "int32", fill=7)])
    array.consolidate()
    array.vacuum()
    said = tiledb_says(
        """
        with tiledb.open(sys.argv[1]) as A:
            table = A[:]
            order = np.lexsort((table["y"], table["x"]))
            print(json.dumps([table["v"][order].tolist(), table["w"].tolist(), len(tiledb.array_fragments(sys.argv[1]))]))
        """,
        uri,
    )
    own = array.read().to_pandas().sort_values(["x", "y"])
    assert said == [own["v"].tolist(), [7] * 100, 1]
