"""SOMA's objects, written: what they are created as, what is in them, and what is refused."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

import tdb
import tdb.soma

pa = pytest.importorskip("pyarrow")


def test_a_table_is_created_with_its_marks_and_its_domain(tmp_path: pathlib.Path) -> None:
    schema = pa.schema([("soma_joinid", pa.int64()), ("name", pa.string()), ("kind", pa.dictionary(pa.int8(), pa.string()))])
    made = tdb.soma.create_dataframe(tmp_path / "a", schema, domain=[(0, 99)], enumerations={"kind": ["B", "T"]}, metadata={"x": 1})
    assert made.schema.current_domain == ((0, 99),) and made.schema.dimensions[0].domain == (0, 2**63 - 2 - 100)
    assert made.schema.attribute("kind").enumeration == "kind_U" and made.enumeration("kind_U") == ["B", "T"]
    assert dict(made.meta) == {"soma_encoding_version": "1.1.0", "soma_object_type": "SOMADataFrame", "x": 1}
    assert tdb.soma.open(tmp_path / "a").columns == ["soma_joinid", "name", "kind"]


def test_matrices_and_collections_are_created(tmp_path: pathlib.Path) -> None:
    sparse = tdb.soma.create_sparse(tmp_path / "s", pa.float32(), (10, 3000))
    assert sparse.shape == (10, 3000) and [own.tile for own in sparse.schema.dimensions] == [2048, 2048]
    dense = tdb.soma.create_dense(tmp_path / "d", pa.int8(), (4, 5, 6))
    assert dense.shape == (4, 5, 6) and [own.tile for own in dense.schema.dimensions] == [128] * 3
    tdb.soma.create_collection(tmp_path / "e", "Experiment")
    assert isinstance(tdb.soma.open(tmp_path / "e"), tdb.soma.Experiment)


def test_options_are_taken_or_refused_by_their_names(tmp_path: pathlib.Path) -> None:
    own = {"capacity": 7, "dims": {"soma_dim_0": {"tile": 5, "filters": [{"_type": "ZstdFilter", "level": 9}]}}}
    made = tdb.soma.create_sparse(tmp_path / "s", pa.int8(), (10,), {"tiledb": {"create": own}})
    assert made.schema.capacity == 7 and made.schema.dimensions[0].tile == 5
    assert made.schema.dimensions[0].filters == [{"name": "zstd", "level": 9}]
    wrong: list[tuple[Any, str]] = [
        ({"capacitY": 7}, "no option 'capacitY'"),
        ({"capacity": "7"}, "not int"),
        ({"dims": {"soma_dim_1": {"tile": 5}}}, "names 'soma_dim_1'"),
        ({"attrs": {"soma_data": {"filters": ["Zstd"]}}}, "'Zstd', which is not known"),
        ({"attrs": {"soma_data": {"filters": [{"_type": "ZstdFilter", "window": 3}]}}}, "has no option 'window'"),
        ({"tile_order": "hilbert"}, "tile_order is 'hilbert'"),
    ]
    for said, why in wrong:
        with pytest.raises(tdb.QueryError, match=why):
            tdb.soma.create_sparse(tmp_path / "no", pa.int8(), (10,), {"tiledb": {"create": said}})
    assert not (tmp_path / "no").exists()


def test_what_soma_does_not_have_is_refused(tmp_path: pathlib.Path) -> None:
    joinid = ("soma_joinid", pa.int64())
    wrong: list[tuple[Any, dict[str, Any], str]] = [
        ([("soma_joinid", pa.int32())], {}, "'soma_joinid' has the type int32"),
        ([joinid, ("soma_x", pa.int8())], {}, "begins with soma_"),
        ([joinid, ("day", pa.date32())], {}, "'day' has the type date32"),
        ([joinid], {"index_columns": ["x"]}, "index_columns has 'x'"),
        ([joinid], {"domain": [(0, 1), (0, 1)]}, "domain has 2 parts"),
        ([joinid], {"domain": [(5, 1)]}, "wrong order"),
        ([joinid, ("t", pa.string())], {"index_columns": ["t"], "domain": [("a", "b")]}, "say None"),
    ]
    for columns, more, why in wrong:
        with pytest.raises(tdb.QueryError, match=why):
            tdb.soma.create_dataframe(tmp_path / "no", pa.schema(columns), **more)
    shapes: list[Any] = [(), (0,), (-1, 2), (1 << 63,), (1.5,)]
    for shape in shapes:
        with pytest.raises(tdb.QueryError, match="shape is"):
            tdb.soma.create_sparse(tmp_path / "no", pa.int8(), shape)
    with pytest.raises(tdb.QueryError, match="cannot have the type string"):
        tdb.soma.create_dense(tmp_path / "no", pa.string(), (2,))
    with pytest.raises(tdb.QueryError, match="no kind of collection"):
        tdb.soma.create_collection(tmp_path / "no", "Expriment")
    assert not (tmp_path / "no").exists()
