"""Files of CSV, Parquet and Arrow, DLPack, and the manifest of published arrays."""

from __future__ import annotations

import pathlib

import numpy as np
import pytest

import tdb


def test_a_csv_file_becomes_an_array_with_the_types_of_its_dimensions(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("pyarrow")
    file = tmp_path / "a.csv"
    file.write_text("name;when;v;w\nb;2020-01-02T00:00:00;;1\na;2020-01-01T12:00:00;2.5;7\n")
    dimensions = [tdb.Dimension("name", dtype="ascii"), tdb.Dimension("when", ("2020-01-01", "2021-01-01"), "datetime64[s]", tile=86400)]
    array = tdb.import_csv(tmp_path / "a", file, dimensions, delimiter=";", types={"w": "uint8"})
    assert array.schema.attribute("w").datatype == "UINT8" and array.schema.sparse
    cells = array.read(order="row-major").to_numpy()
    assert cells["name"].tolist() == ["a", "b"] and cells["v"].tolist() == [2.5, None] and cells["w"].tolist() == [7, 1]
    with pytest.raises(tdb.QueryError, match="no column 'x'"):
        tdb.import_csv(tmp_path / "b", file, [tdb.Dimension("x", (0, 1), "int64")], delimiter=";")


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_cells_are_exported_and_read_back_by_pyarrow(tmp_path: pathlib.Path, fixtures: pathlib.Path, kind: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    file = tmp_path / f"cells.{kind}"
    read = tdb.open(fixtures / "sql_stations").read(fields=["city", "beds"], where="beds > 10", order="row-major")
    assert read.export(file, memory="16MB") == read.count() > 1
    if kind == "csv":
        import pyarrow.csv

        table = pyarrow.csv.read_csv(file)
    elif kind == "parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(file)
    else:
        import pyarrow.feather

        table = pyarrow.feather.read_table(file)
    assert table["beds"].to_pylist() == read.to_numpy()["beds"].tolist()
    assert table["city"].to_pylist() == read.to_numpy()["city"].tolist()
    with pytest.raises(tdb.QueryError, match="'.txt'"):
        read.export(tmp_path / "cells.txt")


def test_dlpack_has_one_field_of_numbers_without_a_copy(uri: str, fixtures: pathlib.Path) -> None:
    read = tdb.open(fixtures / "quickstart").read(fields=["a"], ranges={"rows": (2, 3)})
    assert read.__dlpack_device__() == (1, 0)
    assert np.from_dlpack(read).tolist() == [[5, 6, 7, 8], [9, 10, 11, 12]]
    stations = tdb.open(fixtures / "sql_stations")
    with pytest.raises(BufferError, match="one field"):
        np.from_dlpack(stations.read(fields=["beds", "height"]))
    with pytest.raises(BufferError, match="texts"):
        np.from_dlpack(stations.read(fields=["city"]))


def test_a_published_array_lists_its_files(uri: str) -> None:
    schema = tdb.Schema("dense", [tdb.Dimension("x", (0, 3), "int64", tile=4)], [tdb.Attribute("a", "int64")])
    array = tdb.create(uri, schema)
    said = array.publish()
    assert said["files"] == 1
    array.write([1, 2, 3, 4])
    listed = (pathlib.Path(uri) / said["manifest"]).read_text()
    assert "a0.tdb" in listed, "a write renews the manifest"
