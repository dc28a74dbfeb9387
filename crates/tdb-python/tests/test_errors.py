"""Exceptions say what is wrong, and where."""

from __future__ import annotations

import pathlib
import pickle
import re
import shutil

import numpy as np
import pytest

import tdb


def dense(uri: str) -> tdb.Array:
    schema = tdb.Schema("dense", [tdb.Dimension("x", (0, 9), "int32", tile=5)], [tdb.Attribute("a", "int32")])
    return tdb.create(uri, schema)


def test_a_place_without_an_array_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(tdb.Error) as missing:
        tdb.open(tmp_path / "nothing")
    assert str(tmp_path / "nothing") in str(missing.value)
    (tmp_path / "empty").mkdir()
    with pytest.raises(tdb.NotAnArrayError) as other:
        tdb.open(tmp_path / "empty")
    assert other.value.file is not None and "empty" in other.value.file and other.value.cause


def test_a_damaged_file_is_corrupt_and_named_with_its_cause(fixtures: pathlib.Path, tmp_path: pathlib.Path) -> None:
    shutil.copytree(fixtures / "filter_checksum_sha256", tmp_path / "a")
    file = max((tmp_path / "a" / "__fragments").rglob("a0.tdb"), key=lambda path: path.stat().st_size)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(tdb.CorruptError) as damaged:
        tdb.open(tmp_path / "a").read().to_numpy()
    assert damaged.value.file is not None and damaged.value.file.endswith("a0.tdb")
    assert "checksum" in damaged.value.cause and "a0.tdb" not in damaged.value.cause


def test_a_query_that_does_not_fit_says_what_there_is(uri: str) -> None:
    array = dense(uri)
    with pytest.raises(tdb.QueryError, match=r'no field "b" \(it has .*a'):
        array.read(fields=["b"]).to_numpy()
    with pytest.raises(tdb.QueryError, match='no dimension or label "y"'):
        array.read(ranges={"y": 1})
    with pytest.raises(tdb.QueryError, match="outside its domain"):
        array[10]
    with pytest.raises(ValueError, match="condition"):
        array.read(where="a >")
    with pytest.raises(tdb.QueryError, match="no-order"):
        array.read(order="no-order")
    with pytest.raises(IndexError):
        array[1, 2]
    with pytest.raises(tdb.UnsupportedError, match="step"):
        array.read(ranges={"x": slice(0, 9, 2)})
    with pytest.raises(tdb.QueryError, match="other than 0"):
        array[::0]
    with pytest.raises(tdb.QueryError, match="not a coordinate"):
        array[None]
    with pytest.raises(tdb.QueryError, match="more precise"):
        tdb.Dimension("d", ("2020", "2021"), "datetime64[Y]")
        tdb._types.ticks("2020-02", np.dtype("M8[Y]"))  # type: ignore[attr-defined]


def test_a_write_that_does_not_fit_changes_nothing(uri: str) -> None:
    array = dense(uri)
    for data, message in [
        ([1, 2], "shape"),
        (np.arange(10.0), "float64"),
        (np.full(10, 1 << 40), "1099511627776"),
        ({"b": np.arange(10)}, 'no field "b"'),
        (np.ma.MaskedArray(np.arange(10, dtype=np.int32), True), "cannot be null"),
        (["x"] * 10, "a"),
        ([0.5] * 10, "does not have the value 0.5"),
    ]:
        with pytest.raises(tdb.WriteError, match=message):
            array.write(data)
    assert array.fragments == []
    with pytest.raises(tdb.WriteError, match=f"^{re.escape(uri)}: there is an array, a group or another file here already"):
        dense(uri)
    with pytest.raises(tdb.WriteError, match=re.escape(uri)):
        tdb.from_numpy(uri, np.arange(3))


def test_a_schema_that_breaks_a_rule_is_refused_with_the_rule() -> None:
    x = tdb.Dimension("x", (0, 9), "int32")
    with pytest.raises(tdb.QueryError, match="x"):
        tdb.Schema("sparse", [x, x], [tdb.Attribute("a")])
    with pytest.raises(tdb.QueryError, match="zstd"):
        tdb.Attribute("a", filters="zstd(99)")
    with pytest.raises(tdb.QueryError, match="did you mean"):
        tdb.Attribute("a", filters="zstf")
    with pytest.raises(tdb.QueryError, match="dense or sparse"):
        tdb.Schema("dence", [x], [tdb.Attribute("a")])
    with pytest.raises(tdb.QueryError):
        tdb.Attribute("a", "complex128")


def test_locations_and_options_that_are_not_known_are_refused_and_secrets_are_not_shown() -> None:
    with pytest.raises(tdb.LocationError, match="ftp"):
        tdb.open("ftp://host/array")
    with pytest.raises(tdb.LocationError, match="aws_regoin"):
        tdb.open("s3://bucket/array", storage={"aws_regoin": "x"})
    with pytest.raises(tdb.Error) as error:
        tdb.open("http://user:sesame@127.0.0.1:9/array", storage={"allow_http": "true", "timeout": "1s"})
    assert "sesame" not in str(error.value) and "sesame" not in str(error.value.file)


def test_exceptions_can_be_caught_by_what_python_calls_them_and_pickled() -> None:
    assert issubclass(tdb.IoError, OSError) and issubclass(tdb.QueryError, ValueError)
    for kind in (tdb.CorruptError, tdb.IoError, tdb.QueryError):
        error = kind("/a/b: wrong", "/a/b", "wrong")
        assert f"{kind.__module__}.{kind.__qualname__}" == f"tdb.{kind.__name__}"
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), again.file, again.cause) == (kind, "/a/b: wrong", "/a/b", "wrong")


def test_each_class_that_the_extension_module_raises_is_there_and_is_exported() -> None:
    source = pathlib.Path(__file__).parents[1] / "src" / "errors.rs"
    if not source.is_file():
        pytest.skip("the sources of the extension module are not here")
    raised = set(re.findall(r'"(\w*Error)"', source.read_text()))
    assert "InternalError" in raised and len(raised) > 8
    for name in raised:
        assert name in tdb.__all__ and issubclass(getattr(tdb, name), tdb.Error), name
