"""What programs that are built on TileDB-Py rely on: names, options, the words of errors. Both modules answer as is written here."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tdb.compat as tiledb

HAVE_TILEDB = not subprocess.run([sys.executable, "-c", "import tiledb"], capture_output=True, check=False).returncode
BOTH = ["tdb.compat", pytest.param("tiledb", marks=pytest.mark.skipif(not HAVE_TILEDB, reason="TileDB-Py is not installed"))]

#: Says what a call gives: what it returns, or for an error its kind and the words that programs look for.
SAY = """
import json, os, sys
import numpy as np
WORDS = ("does not exist", "already exists", "out of domain bounds")
def say(call):
    try:
        answer = call()
    except tiledb.TileDBError as error:
        return ["TileDBError", [word for word in WORDS if word in str(error)]]
    except Exception as error:
        return [type(error).__name__, str(error)]
    return answer.tolist() if isinstance(answer, np.ndarray) else answer
def line(uri, sparse):
    dim = tiledb.Dim("d", domain=(0, 9), tile=5, dtype=np.int32)
    schema = tiledb.ArraySchema(domain=tiledb.Domain(dim), attrs=[tiledb.Attr("a", dtype=np.int32)], sparse=sparse)
    tiledb.Array.create(uri, schema)
    cells = np.arange(10, dtype=np.int32)
    with tiledb.open(uri, "w") as array:
        if sparse:
            array[cells] = cells
        else:
            array[:] = cells
"""


def run(module: str, program: str, folder: pathlib.Path) -> Any:
    """What a program, which calls the module ``tiledb`` and leaves its answer as ``said``, says in a process of its own."""
    text = f"import {module} as tiledb\n{SAY}\n{program}\nprint(json.dumps(said))"
    done = subprocess.run([sys.executable, "-c", text], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("module", BOTH)
def test_what_is_not_there_fails_with_the_words_that_programs_look_for(module: str, tmp_path: pathlib.Path) -> None:
    said = run(
        module,
        """
said = {
    "open": say(lambda: tiledb.open("nothing")),
    "schema": say(lambda: tiledb.ArraySchema.load("nothing")),
    "group": say(lambda: tiledb.Group("nothing")),
    "type": say(lambda: tiledb.object_type("nothing")),
}
""",
        tmp_path,
    )
    missing = ["TileDBError", ["does not exist"]]
    assert said["open"] == missing
    assert said["group"] == missing
    assert said["schema"][0] == "TileDBError"
    assert said["type"] is None


@pytest.mark.parametrize("module", BOTH)
def test_what_is_there_already_fails_with_the_words_that_programs_look_for(module: str, tmp_path: pathlib.Path) -> None:
    said = run(
        module,
        """
line("array", False)
tiledb.Group.create("group")
said = {"array": say(lambda: line("array", False)), "group": say(lambda: tiledb.Group.create("group"))}
""",
        tmp_path,
    )
    assert said == {name: ["TileDBError", ["already exists"]] for name in ("array", "group")}


@pytest.mark.parametrize("module", BOTH)
def test_objects_are_listed_where_there_is_nothing(module: str, tmp_path: pathlib.Path) -> None:
    said = run(
        module,
        """
found = []
said = [say(lambda: tiledb.ls("nothing", lambda uri, kind: found.append(uri))), say(lambda: tiledb.VFS().ls("nothing")), found]
""",
        tmp_path,
    )
    assert said == [None, [], []]


@pytest.mark.parametrize("module", BOTH)
@pytest.mark.parametrize("sparse", [False, True])
def test_ranges_outside_of_domains_are_errors(module: str, sparse: bool, tmp_path: pathlib.Path) -> None:
    said = run(
        module,
        f"""
line("array", {sparse})
with tiledb.open("array") as array:
    said = {{
        "after": say(lambda: array.multi_index[20:30]["a"]),
        "over the end": say(lambda: array.multi_index[5:30]["a"]),
        "before": say(lambda: array.multi_index[-5:3]["a"]),
        "one of two": say(lambda: array.multi_index[[3, 20]]["a"]),
        "inside": say(lambda: array.multi_index[7:9]["a"]),
    }}
""",
        tmp_path,
    )
    assert said.pop("inside") == [7, 8, 9]
    assert {name: answer[0] for name, answer in said.items()} == dict.fromkeys(said, "TileDBError")


@pytest.mark.parametrize("module", BOTH)
def test_attributes_of_ascii_take_numbers_and_objects_of_several_types(module: str, tmp_path: pathlib.Path) -> None:
    said = run(
        module,
        """
dim = tiledb.Dim("d", domain=(0, 3), tile=4, dtype=np.int32)
schema = tiledb.ArraySchema(domain=tiledb.Domain(dim), attrs=[tiledb.Attr("a", dtype="ascii", var=True)])
tiledb.Array.create("array", schema)
said = []
for cells in (np.array([1, 22, -3, 40]), np.array(["a", 7, None, 2.5], dtype=object)):
    with tiledb.open("array", "w") as array:
        array[:] = {"a": cells}
    with tiledb.open("array") as array:
        said.append([one.decode() if isinstance(one, bytes) else str(one) for one in array[:]["a"].tolist()])
""",
        tmp_path,
    )
    assert said == [["1", "22", "-3", "40"], ["a", "7", "None", "2.5"]]


def test_options_are_those_of_libtiledb_with_its_defaults() -> None:
    own = tiledb.Config().dict()
    assert own["sm.consolidation.buffer_size"] == "50000000"
    assert own["vfs.s3.multipart_part_size"] == "5242880"
    assert own["sm.query.sparse_global_order.reader"] == "refactored"
    assert "sm.mem.total_budget" in own and "rest.server_address" in own
    if HAVE_TILEDB:
        text = "import json, tiledb; print(json.dumps([tiledb.libtiledb.version(), tiledb.Config().dict()]))"
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
        version, theirs = json.loads(done.stdout)
        if version[:2] == [2, 30]:
            assert own == theirs


def test_a_vacuum_looks_up_no_option_without_a_default(tmp_path: pathlib.Path) -> None:
    uri = str(tmp_path / "array")
    for _ in range(2):
        tiledb.from_numpy(uri, np.arange(4), mode="ingest" if not (tmp_path / "array").exists() else "append", full_domain=True)
    tiledb.consolidate(uri)
    tiledb.vacuum(uri)
    assert len(tiledb.array_fragments(uri)) == 1
    with pytest.raises(NotImplementedError):
        tiledb.vacuum(uri, config=tiledb.Config({"sm.vacuum.timestamp_end": "5"}))


def test_names_of_older_releases_are_there(tmp_path: pathlib.Path) -> None:
    uri = str(tmp_path / "array")
    assert tiledb.libtiledb.Query is tiledb.query.Query
    assert tiledb.libtiledb.Metadata is tiledb.metadata.Metadata
    assert tiledb.libtiledb.Array is tiledb.Array
    assert tiledb.cc.TileDBError is tiledb.TileDBError
    assert isinstance(tiledb.cc.Context(tiledb.Config({"sm.memory_budget": "1"})), tiledb.Ctx)
    assert tiledb.highlevel._get_ctx(None, {"sm.memory_budget": "77"}).config()["sm.memory_budget"] == "77"
    with tiledb.from_numpy(uri, np.arange(4)) as array:
        assert array.meta.array is array
        assert array.meta.array.attr(0).name == ""
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        tiledb.cc.Nothing  # noqa: B018
