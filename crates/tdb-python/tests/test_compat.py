"""tdb.compat answers as TileDB-Py does: the same program runs with both, each in a process of its own."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import tdb
import tdb.compat
from tdb.compat import ctx

FIXTURES = pathlib.Path(__file__).resolve().parents[3] / "xtask" / "fixtures" / "arrays" / "2.30.0"
HAVE_TILEDB = not subprocess.run([sys.executable, "-c", "import tiledb"], capture_output=True, check=False).returncode

#: Shows any answer as JSON: types, shapes, values, and which are null.
SHOW = '''
import json, sys
import numpy as np
def show(value):
    if isinstance(value, np.ma.MaskedArray):
        return ["masked", str(value.dtype), list(value.shape), show(value.tolist())]
    if isinstance(value, np.ndarray):
        return ["array", str(value.dtype), list(value.shape), show(value.tolist())]
    if isinstance(value, dict):
        return ["dict", {str(name): show(one) for name, one in value.items()}]
    if type(value).__name__ == "DataFrame":
        return ["frame", list(map(str, value.index.names)), show(value.reset_index().astype(object).to_dict("list"))]
    if isinstance(value, (list, tuple)):
        return [show(one) for one in value]
    if isinstance(value, bytes):
        return "bytes " + value.hex()
    if isinstance(value, float) and value != value:
        return "NaN"
    if isinstance(value, np.generic):
        return [str(value.dtype), show(value.item())]
    return value if isinstance(value, (int, float, str, type(None))) else str(value)
'''


def answers(module: str, asked: dict[str, list[str]]) -> dict[str, dict[str, Any]]:
    """What each expression is for each array, where ``A`` is the array; an exception is ``error``."""
    program = SHOW + textwrap.dedent(
        f"""
        import {module} as tiledb
        answers = {{}}
        for uri, expressions in json.loads(sys.stdin.read()).items():
            found = answers[uri] = {{}}
            for text in expressions:
                with tiledb.open(uri) as A:
                    try:
                        found[text] = show(eval(text))
                    except Exception as error:
                        found[text] = ["error", f"{{type(error).__name__}}: {{error}}"]
        print(json.dumps(answers))
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program], input=json.dumps(asked), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return found


COMMON = [
    "A.schema.sparse",
    "A.schema.nattr",
    "A.ndim",
    "A.nonempty_domain()",
    "[d.name for d in A.schema.domain]",
    "[A.schema.domain.dim(i).dtype for i in range(A.ndim)]",
    "[A.schema.domain.dim(i).domain for i in range(A.ndim)]",
    "[A.schema.attr(i).name for i in range(A.nattr)]",
    "[A.schema.attr(i).isnullable for i in range(A.nattr)]",
    "[A.schema.attr(i).isvar for i in range(A.nattr)]",
    "sorted(dict(A.meta))",
    "A[:]",
    "A.multi_index[:]",
]

#: Arrays of the fixtures, and what is asked of each in addition.
CASES: dict[str, list[str]] = {
    "quickstart": [
        "A.shape",
        "A[1:3, 2:4]",
        "A[2]",
        "A[2, 3]",
        "A[1:2]",
        "A.multi_index[1:2, 2:3]",
        "A.multi_index[[1, 4], 2]",
        "A.multi_index[[slice(1, 2), 4], [1, (3, 4)]]",
        "A.query(attrs=['a'], order='F')[1:4, 1:3]",
        "A.query(attrs=['a'], dims=['rows']).multi_index[1, :]",
    ],
    "dense_negative": [],
    "dense1d": ["A.multi_index[2:5]", "A[3]"],
    "attr_strings_var_dense": [],
    "attr_float_dense": [],
    "anonymous_dense": [],
    "base_nullable_dense": [],
    "attr_datetime_dense": [],
    "base_sparse": ["A.query(order='C').multi_index[:]"],
    "sparse_dim_string": ["A.query(order='C')[:]"],
    "sparse_dim_float64": [],
    "sparse_dim_datetime_day": [],
    "sql_stations": [
        "A.query(cond='height > 10')[:]",
        "A.query(cond='height > 100 and beds < 50', attrs=['city'])[:]",
        "A.query(attrs=['city'], dims=False).multi_index[:]",
        "A.query(attrs=['beds'], cond='beds in [10, 20, 30]').multi_index[:]",
        "A.query(cond='(height > 10) & (beds < 40) | (attr(\"city\") == val(\"Oslo\"))')[:]",
        "A.query(cond='height == None').multi_index[:]",
    ],
    "enumeration": ["A.enum(A.schema.attr(0).enum_label).values()"],
    "meta_types": [],
}


#: Tables of pandas.
TABLES = ["A.df[:]", "A.df[1:2]", "A.query(attrs=['a']).df[1, :]"]

#: Where TileDB-Py is wrong, and why.
WRONG = {"A.query(attrs=['a'], order='F')[1:4, 1:3]": "the cells are in column-major order, but the shape is read row by row"}


def sorted_cells(answer: Any) -> Any:
    """Cells that come in any order, in one: those of sparse arrays without an order."""
    if not (isinstance(answer, list) and answer and answer[0] == "dict"):
        return answer
    columns = answer[1]
    if any(not isinstance(one, list) or len(one) < 4 or not isinstance(one[3], list) for one in columns.values()):
        return answer
    rows = sorted(zip(*(columns[name][3] for name in sorted(columns))), key=json.dumps)
    return ["dict", list(columns), {name: columns[name][:3] for name in columns}, rows]


@pytest.fixture(scope="module")
def both() -> dict[str, dict[str, dict[str, Any]]]:
    """The answers of both, each from one process."""
    asked = {str(FIXTURES / case): COMMON + more for case, more in CASES.items()}
    asked[str(FIXTURES / "quickstart")] += TABLES
    return {module: answers(module, asked) for module in ("tdb.compat", "tiledb")}


@pytest.mark.skipif(not HAVE_TILEDB, reason="the package tiledb is not installed")
@pytest.mark.parametrize("case", CASES)
def test_answers_are_those_of_tiledb_py(case: str, both: dict[str, Any]) -> None:
    uri, compared = str(FIXTURES / case), 0
    own, other = both["tdb.compat"][uri], both["tiledb"][uri]
    sparse = tdb.open(uri).schema.sparse
    wrong = []
    for text in COMMON + CASES[case]:
        mine, theirs = own[text], other[text]
        if text in WRONG or (isinstance(theirs, list) and theirs[:1] == ["error"]):
            continue
        compared += 1
        if sparse:
            mine, theirs = sorted_cells(mine), sorted_cells(theirs)
        if mine != theirs:
            wrong.append(f"{text}\n  tdb     {str(mine)[:600]}\n  tiledb  {str(theirs)[:600]}")
    assert not wrong, "\n".join(wrong)
    assert compared >= len(COMMON) - 3


@pytest.mark.skipif(not HAVE_TILEDB, reason="the package tiledb is not installed")
def test_tables_of_pandas_are_those_of_tiledb_py(both: dict[str, Any]) -> None:
    uri = str(FIXTURES / "quickstart")
    own, other = ({text: both[module][uri][text] for text in TABLES} for module in ("tdb.compat", "tiledb"))
    if any("Pandas version" in str(one) for one in other.values()):
        pytest.skip("this tiledb does not take this pandas")
    assert own == other


def test_what_is_not_there_says_so(fixtures: pathlib.Path, uri: str) -> None:
    with tdb.compat.open(fixtures / "quickstart") as array:
        with pytest.raises(ValueError, match="order"):
            array.query(order="X")[:]
        with pytest.raises(tdb.compat.TileDBError, match="does not exist"):
            array.query(attrs=["b"])
        with pytest.raises(tdb.compat.TileDBError, match="not opened for writing"):
            array[1:3, 1:3] = np.zeros((2, 2), np.int32)
        with pytest.raises(NotImplementedError, match="explain"):
            array.query().get_stats()
    with pytest.raises(tdb.compat.TileDBError, match="not opened"):
        array[:]
    assert not array.isopen
    with pytest.raises(NotImplementedError, match="labels"):
        label = tdb.compat.Dim(domain=(0, 3)).create_label_schema(filters=[tdb.compat.ZstdFilter()])
        tdb.compat.ArraySchema(tdb.compat.Domain(tdb.compat.Dim(domain=(0, 3))), [tdb.compat.Attr()], dim_labels={0: {"l": label}})
    with pytest.raises(NotImplementedError, match="vacuum of a time"):
        tdb.compat.vacuum(uri, {"sm.vacuum.timestamp_start": "5"})
    with pytest.raises(NotImplementedError, match="local"):
        tdb.compat.VFS().is_dir("s3://bucket/folder")


def test_options_of_s3_and_keys_are_understood() -> None:
    config = tdb.compat.Config(
        {"vfs.s3.region": "x", "vfs.s3.endpoint_override": "localhost:1", "vfs.s3.scheme": "http", "sm.memory": "1"}
    )
    assert ctx.storage_of(tdb.compat.Ctx(config).config()) == {
        "aws_region": "x",
        "aws_endpoint": "http://localhost:1",
        "allow_http": "true",
    }
    with tdb.compat.scope_ctx(config):
        assert tdb.compat.default_ctx().config()["vfs.s3.region"] == "x"
    assert tdb.compat.default_ctx().config()["vfs.s3.region"] == ""


def test_secrets_are_not_shown_nor_saved(tmp_path: pathlib.Path) -> None:
    config = tdb.compat.Config({"vfs.s3.aws_secret_access_key": "hidden", "sm.encryption_key": "hidden", "sm.other": "shown"})
    config.save(str(tmp_path / "options"))
    for text in (repr(config), config._repr_html_(), (tmp_path / "options").read_text()):
        assert "hidden" not in text and "shown" in text
    assert tdb.compat.Config.load(str(tmp_path / "options"))["sm.other"] == "shown"


def test_objects_are_found(fixtures: pathlib.Path) -> None:
    assert tdb.compat.object_type(fixtures / "quickstart") == "array"
    assert tdb.compat.object_type(fixtures / "nothing") is None
    assert tdb.compat.array_exists(fixtures / "quickstart", isdense=True)
    assert not tdb.compat.array_exists(fixtures / "quickstart", issparse=True)


def test_statistics_are_counted_while_they_are_enabled(fixtures: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    tdb.compat.stats_reset()
    uri = str(fixtures / "quickstart")
    tdb.compat.open(uri)[:]
    assert json.loads(tdb.compat.stats_dump(print_out=False, json=True)) == [{"timers": {}, "counters": {}}]
    tdb.compat.stats_enable()
    try:
        with tdb.compat.open(uri) as array:
            array[1:3]
            array.multi_index[1:2]
    finally:
        tdb.compat.stats_disable()
    (said,) = json.loads(tdb.compat.stats_dump(print_out=False, json=True))
    assert said["counters"]["reads"] == 2 and said["counters"]["bytes_read"] > 0 and said["timers"]["total_seconds"] > 0
    assert tdb.compat.stats_dump() is None
    printed = capsys.readouterr().out
    assert "reads: 2" in printed and "tdb " in printed
    assert "retries" not in tdb.compat.stats_dump(print_out=False, verbose=False)
    tdb.compat.stats_reset()
    assert tdb.compat.stats_dump(print_out=False, version=False) == ""


def test_metadata_of_an_array_that_nobody_holds_is_read(tmp_path: pathlib.Path) -> None:
    import gc

    uri = str(tmp_path / "a")
    tdb.compat.from_numpy(uri, np.arange(3)).close()
    with tdb.compat.open(uri, "w") as array:
        array.meta["k"] = 5
    gc.collect()
    assert tdb.compat.open(uri).meta["k"] == 5
    assert dict(tdb.compat.open(uri).meta) == {"k": 5}
    meta = tdb.compat.open(uri).meta
    gc.collect()
    assert meta["k"] == 5


def test_a_data_frame_is_opened_by_its_location(tmp_path: pathlib.Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"v": [0.5, 1.5]})
    tdb.compat.from_pandas(str(tmp_path / "a"), frame)
    assert tdb.compat.open_dataframe(str(tmp_path / "a"))["v"].tolist() == [0.5, 1.5]
