"""An experiment that `tiledbsoma` makes is read equal to what `tiledbsoma` reads, and what tdb writes it reads as its own. Runs where
`tiledbsoma` is installed: `cargo xtask python --only soma`."""

from __future__ import annotations

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdb
import tdb.soma

SIDE = pathlib.Path(__file__).parent / "soma_side.py"
CELLS, GENES = 20_000, 3_000
TASKS = ["matrix", "tables", "batches", "tables of axes", "query"]

if importlib.util.find_spec("tiledbsoma") is None:
    pytest.skip("the package tiledbsoma is not installed", allow_module_level=True)


def run(*words: str) -> str:
    done = subprocess.run([sys.executable, str(SIDE), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> str:
    uri = str(tmp_path_factory.mktemp("soma") / "experiment")
    run("make", uri, str(CELLS), str(GENES))
    return uri


@pytest.mark.parametrize("task", TASKS)
def test_what_is_read_is_what_tiledbsoma_reads(experiment: str, task: str, capsys: pytest.CaptureFixture[str]) -> None:
    said: dict[str, dict[str, Any]] = {side: json.loads(run(side, task, experiment)) for side in ("tdb", "tiledbsoma")}
    with capsys.disabled():
        for side, one in said.items():
            mib = [round(one[name] / (1 << 20)) for name in ("peak", "resident")]
            print(f"\n{task:15} {side:10} {one['seconds']:7.3f} s, {mib[0]:5} MiB more than before, {mib[1]:5} MiB in all", end="")
    assert said["tdb"]["found"] == said["tiledbsoma"]["found"]


def test_uns_and_the_names_of_everything_are_those_of_tiledbsoma(experiment: str) -> None:
    import tiledbsoma

    own, other = tdb.soma.open(experiment), tiledbsoma.open(experiment)
    assert set(own) == set(other) and set(own.ms["RNA"]) == set(other.ms["RNA"])
    for name in ("X", "obsm", "varm", "obsp", "uns"):
        assert set(own.ms["RNA"][name]) == set(other.ms["RNA"][name])
    uns = own.ms["RNA"].uns.to_dict()
    assert (uns["title"], uns["n"], uns["nested"]) == ("made", 3, {"x": 1.5})
    assert uns["numbers"].tolist() == [0, 1, 2, 3, 4] and uns["colors"].tolist() == ["red", "blue"]
    assert own.ms["RNA"].X["data"].shape == other.ms["RNA"].X["data"].shape == (CELLS, GENES)
    assert own.ms["RNA"].X["data"].nnz == other.ms["RNA"].X["data"].nnz
    assert len(own.obs) == other.obs.count == CELLS
    numbers = other.ms["RNA"]["uns"]["numbers"].read().to_numpy()
    assert np.array_equal(own.ms["RNA"].uns["numbers"].to_numpy(), numbers)


#: How many random experiments are compared; by hand, `SOMA_EXPERIMENTS=300`.
EXPERIMENTS = int(os.environ.get("SOMA_EXPERIMENTS", "20"))


def test_random_experiments_are_equal_for_both(tmp_path: pathlib.Path) -> None:
    """Written by each and read by both; cells appended by one and deleted by the other."""
    random = SIDE.with_name("soma_random.py")
    done = subprocess.run([sys.executable, str(random), "0", str(EXPERIMENTS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert f"{EXPERIMENTS} experiments, 0 differ" in done.stdout, done.stdout


def _said(uri: str) -> dict[str, Any]:
    """The schema and the metadata of an object. The names of enumerations differ: see `_create.py`."""
    if tdb.object_type(uri) == "group":
        return dict(tdb.Group(uri).meta)
    array = tdb.open(uri)
    attributes = [{**one, "enumeration": one["enumeration"] is not None} for one in array.schema.said["attributes"]]
    return {**array.schema.said, "attributes": attributes, **dict(array.meta)}


def _creations() -> list[tuple[str, Callable[[str], Any], Callable[[str], Any]]]:
    """What is created, by `tiledbsoma` and by tdb."""
    import pyarrow as pa
    import tiledbsoma

    joinid = ("soma_joinid", pa.int64())
    numbers = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64(), pa.float32()]
    others = [pa.float64(), pa.bool_(), pa.timestamp("s"), pa.timestamp("ns"), pa.string(), pa.large_binary()]
    types = [*numbers, *others]
    made: list[tuple[str, Callable[[str], Any], Callable[[str], Any]]] = []

    def table(name: str, schema: Any, index: list[str], domain: Any, config: Any = None) -> None:
        keywords = {"schema": schema, "index_column_names": index, "domain": domain, "platform_config": config}
        made.append(
            (
                name,
                lambda uri: tiledbsoma.DataFrame.create(uri, **keywords).close(),
                lambda uri: tdb.soma.create_dataframe(uri, schema, index, domain, config),
            )
        )

    wide = pa.schema([joinid, *((f"c{at}", kind) for at, kind in enumerate(types))])
    table("columns", wide, ["soma_joinid"], [(0, 99)])
    lists = [(f"c{at}", pa.dictionary(pa.int8(), kind)) for at, kind in enumerate(types)]
    table("enumerations", pa.schema([joinid, *lists]), ["soma_joinid"], [None])
    for kind in types:
        if kind != pa.bool_():
            table(f"index {kind}", pa.schema([("k", kind)]), ["k"], [None])
    options = {
        "dataframe_dim_zstd_level": 9,
        "capacity": 77,
        "cell_order": "hilbert",
        "allows_duplicates": True,
        "offsets_filters": ["RleFilter"],
        "validity_filters": ["NoOpFilter"],
        "dims": {"soma_joinid": {"tile": 5, "filters": ["ByteShuffleFilter", {"_type": "ZstdFilter", "level": 4}]}},
        "attrs": {"x": {"filters": ["RleFilter", {"_type": "BitWidthReductionFilter", "window": 77}]}},
    }
    table("options", pa.schema([joinid, ("x", pa.int32())]), ["soma_joinid"], [(0, 9)], {"tiledb": {"create": options}})

    def matrix(kind: Any, shape: tuple[int, ...]) -> None:
        made.extend(
            [
                (
                    f"sparse {kind} {shape}",
                    lambda uri: tiledbsoma.SparseNDArray.create(uri, type=kind, shape=shape).close(),
                    lambda uri: tdb.soma.create_sparse(uri, kind, shape),
                ),
                (
                    f"dense {kind} {shape}",
                    lambda uri: tiledbsoma.DenseNDArray.create(uri, type=kind, shape=shape).close(),
                    lambda uri: tdb.soma.create_dense(uri, kind, shape),
                ),
            ]
        )

    for at, shape in enumerate([(3,), (100, 3000), (3, 4, 5), (2,) * 4, (2,) * 5]):
        matrix(types[at * 2], shape)
    for kind in ("Collection", "Experiment", "Measurement", "Scene"):

        def theirs(uri: str, kind: str = kind) -> None:
            getattr(tiledbsoma, kind).create(uri).close()

        made.append((kind, theirs, lambda uri, kind=kind: tdb.soma.create_collection(uri, kind)))  # type: ignore[misc]
    points = pa.schema([joinid, ("x", pa.float64()), ("y", pa.float64()), ("z", pa.int32())])
    box = [(0, 1), (0, 5), (0, 9)]
    made.append(
        (
            "points",
            lambda uri: tiledbsoma.PointCloudDataFrame.create(uri, schema=points, domain=box).close(),
            lambda uri: tdb.soma.create_point_cloud(uri, points, domain=box),
        )
    )
    shapes = pa.schema([joinid, ("q", pa.int32())])
    boxes = [[(-1.0, 5.0), (0.0, 3.0)], (0, 9)]
    made.append(
        (
            "geometries",
            lambda uri: tiledbsoma.GeometryDataFrame.create(uri, schema=shapes, domain=boxes).close(),
            lambda uri: tdb.soma.create_geometry(uri, shapes, domain=boxes),
        )
    )
    level = {"soma_level_level0": "[3, 64, 48]"}
    made.append(
        (
            "image",
            lambda uri: tiledbsoma.MultiscaleImage.create(uri, type=pa.uint8(), level_shape=(3, 64, 48)).close(),
            lambda uri: tdb.soma.create_multiscale_image(uri, pa.uint8(), (3, 64, 48), metadata=level),
        )
    )
    return made


@pytest.mark.filterwarnings("ignore")
def test_objects_are_created_as_tiledbsoma_creates_them(tmp_path: pathlib.Path) -> None:
    for at, (name, theirs, ours) in enumerate(_creations()):
        places = [str(tmp_path / f"{at}{side}") for side in "ab"]
        theirs(places[0])
        ours(places[1])
        one, other = (_said(place) for place in places)
        assert one == other, name
