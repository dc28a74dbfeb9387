"""Small objects of each kind that tiledbsoma has: arrays, data frames, collections, scenes. What they hold at each time.

Used by soma_job.py: `make`, `change`, and `look`, which prints.
"""

import datetime

import numpy as np
import pyarrow as pa
import shapely
import tiledbsoma
from tiledbsoma import CoordinateSpace, IdentityTransform, ScaleTransform

#: The columns of the data frame: each type that a column may have.
COLUMNS = pa.schema([
    ("soma_joinid", pa.int64()), ("name", pa.large_string()), ("kind", pa.dictionary(pa.int8(), pa.string())),
    ("grade", pa.dictionary(pa.int32(), pa.int64(), ordered=True)), ("flag", pa.bool_()), ("small", pa.int8()), ("real", pa.float64()),
    ("bytes", pa.large_binary()), ("when", pa.timestamp("us")), ("note", pa.large_string()),
])


def seconds(number):
    """A time, in the seconds that the epoch has by then."""
    return datetime.datetime.fromtimestamp(number, datetime.timezone.utc)


def frame(first, count, kinds, grades):
    """Rows of the data frame; every third has nulls."""
    ids = range(first, first + count)
    null = lambda at, value: None if at % 3 == 0 else value
    return pa.table({
        "soma_joinid": pa.array(ids, pa.int64()),
        "name": pa.array(["row %d" % at for at in ids], pa.large_string()),
        "kind": pa.DictionaryArray.from_arrays(pa.array([at % len(kinds) for at in ids], pa.int8()), pa.array(kinds)),
        "grade": pa.DictionaryArray.from_arrays(
            pa.array([null(at, at % len(grades)) for at in ids], pa.int32()), pa.array(grades, pa.int64()), ordered=True),
        "flag": pa.array([null(at, at % 2 == 0) for at in ids], pa.bool_()),
        "small": pa.array([at % 100 - 50 for at in ids], pa.int8()),
        "real": pa.array([at / 7 for at in ids], pa.float64()),
        "bytes": pa.array([bytes([at % 256]) * (at % 4) for at in ids], pa.large_binary()),
        "when": pa.array([at * 10**9 for at in ids], pa.timestamp("us")),
        "note": pa.array([null(at, "ä" * (at % 3)) for at in ids], pa.large_string()),
    })


def cells(*columns, data="soma_data"):
    """A table of cells: coordinates, and a value each."""
    names = ["soma_dim_%d" % at for at in range(len(columns) - 1)]
    types = [pa.int64()] * len(names) + [pa.float32()]
    return pa.table({name: pa.array(values, kind) for name, values, kind in zip(names + [data], columns, types)})


def make(uri):
    with tiledbsoma.Collection.create(uri) as root:
        root.metadata.update({"text": "ä", "whole": -5, "real": 0.5, "empty": "", "flag": True})
        with root.add_new_collection("inner") as inner, inner.add_new_collection("innermost") as innermost:
            innermost.metadata["depth"] = 2
        with root.add_new_dense_ndarray("dense", type=pa.float32(), shape=(20, 30)) as dense:
            dense.write((slice(None), slice(None)), pa.Tensor.from_numpy(np.arange(600, dtype="f4").reshape(20, 30)))
        with root.add_new_dense_ndarray("partly", type=pa.int16(), shape=(5, 4, 3)) as dense:
            dense.write((slice(1, 2), slice(0, 3), slice(0, 2)), pa.Tensor.from_numpy(np.arange(24, dtype="i2").reshape(2, 4, 3)))
        with root.add_new_sparse_ndarray("sparse", type=pa.float32(), shape=(50, 40, 6)) as sparse:
            at = np.arange(200)
            sparse.write(cells(at % 50, at * 7 % 40, at * 3 % 6, at / 2))
        root.add_new_dataframe("frame", schema=COLUMNS, domain=[[0, 199]])
        keys = pa.schema([("key", pa.large_string()), ("at", pa.float64()), ("soma_joinid", pa.int64()), ("value", pa.int32())])
        with root.add_new_dataframe("by_key", schema=keys, index_column_names=["key", "at"], domain=[None, [-10.0, 10.0]]) as made:
            made.write(pa.table({"key": ["b", "a", "", "ab"], "at": [1.5, -3.0, 0.0, 9.75], "soma_joinid": [0, 1, 2, 3], "value": [4, 3, 2, 1]}, keys))
    # Of two writes of one time, either may be the later one.
    with tiledbsoma.DenseNDArray.open(uri + "/dense", "w") as dense:
        dense.write((slice(3, 6), slice(10, 12)), pa.Tensor.from_numpy(-np.ones((4, 3), dtype="f4")))
    # A write that extends an enumeration makes a schema. Of two schemas of one time, either may be the newer one.
    for rows in (frame(0, 60, ["a", "b"], [10, 20]), frame(40, 40, ["c", "a", "long word"], [30, 10])):
        with tiledbsoma.DataFrame.open(uri + "/frame", "w") as made:
            made.write(rows)
    timed(uri)
    scene(uri)


def timed(uri):
    """A data frame of its own that is written at several times."""
    columns = pa.schema([("soma_joinid", pa.int64()), ("value", pa.int64())])
    with tiledbsoma.DataFrame.create(uri + "_timed", schema=columns, domain=[[0, 9]], tiledb_timestamp=seconds(10)):
        pass
    for time, value in ((20, 1), (40, 3), (30, 2)):
        with tiledbsoma.DataFrame.open(uri + "_timed", "w", tiledb_timestamp=seconds(time)) as made:
            made.write(pa.table({"soma_joinid": range(value), "value": [value * 10] * value}, columns))
            made.metadata["time"] = time
    with tiledbsoma.Collection.create(uri + "_group", tiledb_timestamp=seconds(10)) as group:
        group.add_new_collection("first").close()
    with tiledbsoma.Collection.open(uri + "_group", "w", tiledb_timestamp=seconds(20)) as group:
        group.add_new_collection("second").close()
        group.metadata["time"] = 20


def scene(uri):
    space = CoordinateSpace.from_axis_names(("x", "y"))
    rng = np.random.default_rng(3)
    with tiledbsoma.Scene.create(uri + "_scene", coordinate_space=space) as made:
        for name in ("img", "obsl", "varl"):
            made.add_new_collection(name)
        columns = pa.schema([("x", pa.float64()), ("y", pa.float64()), ("soma_joinid", pa.int64()), ("gene", pa.dictionary(pa.int16(), pa.string()))])
        with made.add_new_point_cloud_dataframe(
                "points", "obsl", transform=IdentityTransform(("x", "y"), ("x", "y")), schema=columns, domain=[[0, 100], [0, 100], [0, 999]]):
            pass
        with made.add_new_multiscale_image(
                "image", "img", transform=ScaleTransform(("x", "y"), ("x", "y"), (0.5, 2.0)), type=pa.uint8(), level_shape=(3, 64, 48)) as image:
            image["level0"].write((slice(None),) * 3, pa.Tensor.from_numpy(rng.integers(0, 255, (3, 64, 48), dtype="u1")))
            image.add_new_level("half", shape=(3, 32, 24)).write((slice(None),) * 3, pa.Tensor.from_numpy(rng.integers(0, 255, (3, 32, 24), dtype="u1")))
    with tiledbsoma.PointCloudDataFrame.open(uri + "_scene/obsl/points", "w") as points:
        genes = pa.DictionaryArray.from_arrays(pa.array(rng.integers(0, 3, 300), pa.int16()), pa.array(["G1", "G2", "G3"]))
        points.write(pa.table({"x": rng.random(300) * 100, "y": rng.random(300) * 100, "soma_joinid": range(300), "gene": genes}, columns))
    shapes = pa.schema([pa.field("soma_geometry", pa.large_binary(), metadata={"dtype": "WKB"}), ("soma_joinid", pa.int64()), ("area", pa.float64())])
    with tiledbsoma.GeometryDataFrame.create(uri + "_shapes", schema=shapes, domain=[[(0, 100), (0, 100)], [0, 99]]) as made:
        boxes = [shapely.box(at, at, at + 3, at + 2) for at in range(0, 90, 10)]
        outlines = pa.array([[number for point in box.exterior.coords for number in point] for box in boxes], pa.list_(pa.float64()))
        made.from_outlines(pa.table({"soma_geometry": outlines, "soma_joinid": pa.array(range(9), pa.int64()), "area": [box.area for box in boxes]}))


def change(uri):
    with tiledbsoma.Collection.open(uri, "w") as root:
        del root.metadata["whole"]
        root.metadata["text"] = "another"
        root["dense"].resize((25, 30))
        root["sparse"].resize((80, 40, 6))
        root["frame"].change_domain([[0, 299]])
        del root["inner"]
        root.add_new_collection("added").close()
    with tiledbsoma.DataFrame.open(uri + "/frame", "w") as made:
        made.extend_enumeration_values({"kind": pa.array(["from outside"])})
    with tiledbsoma.Collection.open(uri, "w") as root:
        root["dense"].write((slice(20, 24), slice(0, 4)), pa.Tensor.from_numpy(np.full((5, 5), 7, dtype="f4")))
        root["sparse"].write(cells([79, 3], [0, 21], [5, 3], [1.5, -1.5]))
        root["frame"].write(frame(190, 40, ["new", "a", "newer"], [70, 20, 10]))
    with tiledbsoma.SparseNDArray.open(uri + "/sparse", "d") as sparse:
        sparse.delete_cells((slice(10, 14), slice(None), [0, 2]))
    with tiledbsoma.DataFrame.open(uri + "/frame", "d") as made:
        made.delete_cells((slice(5, 30),), value_filter="real > 1.5 and kind != 'c'")
        made.delete_cells(value_filter="grade == 30 and small < 0")
    with tiledbsoma.DataFrame.open(uri + "/by_key", "d") as made:
        made.delete_cells((["ab"],))
    with tiledbsoma.DataFrame.open(uri + "_timed", "w", tiledb_timestamp=seconds(35)) as made:
        made.write(pa.table({"soma_joinid": [1, 9], "value": [350, 351]}))
    with tiledbsoma.Scene.open(uri + "_scene", "w") as made:
        made.metadata["changed"] = "yes"
        points = made["obsl"]["points"]
        points.write(pa.table({"x": [1.0, 50.0], "y": [2.0, 50.0], "soma_joinid": [300, 301],
                               "gene": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int16()), pa.array(["G4", "G2"]))}))


def table(read):
    """Rows, as text."""
    found = read.concat() if hasattr(read, "concat") else read
    return found.num_rows, [str(field.type) for field in found.schema], found.to_pylist()


def look(uri, see):
    """Tells what there is: `see` takes a label and a value."""
    with tiledbsoma.Collection.open(uri) as root:
        see("members", sorted((name, one.soma_type) for name, one in root.items()))
        see("metadata", sorted((key, value) for key, value in root.metadata.items() if not key.startswith("soma_")))
        for name in ("dense", "partly"):
            dense = root[name]
            see(name, [dense.shape, dense.maxshape, dense.non_empty_domain(), dense.read().to_numpy().tolist()])
            see(name + " part", dense.read((slice(2, 4), slice(0, 2))).to_numpy().tolist())
            see(name + " columns", dense.read((slice(1, 3),), result_order="column-major").to_numpy().tolist())
        sparse = root["sparse"]
        see("sparse", [sparse.shape, sparse.maxshape, sparse.nnz, sparse.non_empty_domain(), table(sparse.read().tables())])
        see("sparse part", table(sparse.read((slice(4, 20), [7, 14, 21, 33])).tables()))
        see("sparse blocks", [(table(one), [joinids.to_pylist() for joinids in ids] if isinstance(ids, tuple) else str(ids))
                              for one, ids in sparse.read((slice(0, 30), slice(None), slice(0, 0))).blockwise(axis=0, size=16).tables()][:1])
        frames(root, see)
    at_times(uri, see)
    scenes(uri, see)


def frames(root, see):
    made = root["frame"]
    see("frame", [made.domain, made.maxdomain, made.count, str(made.schema), table(made.read())])
    see("enumerations", {name: values.to_pylist() for name, values in made.get_enumeration_values(["kind", "grade"]).items()})
    for asked in ("kind == 'c'", "kind in ['a', 'newer'] and small < 45", "grade >= 20", "flag == True", "name > 'row 7'", "note != 'ä'",
                  "real < 3 or kind == 'new'", "kind == 'nobody'", "small not in [7, 8]"):
        see(asked, [row["soma_joinid"] for row in table(made.read(value_filter=asked))[2]])
    see("frame part", table(made.read((slice(35, 45),), column_names=["kind", "soma_joinid", "bytes"])))
    by_key = root["by_key"]
    see("by key", [by_key.domain, by_key.non_empty_domain(), table(by_key.read())])
    see("by key part", [table(by_key.read((["a", "b"],))), table(by_key.read((slice("a", "b"), slice(-5.0, 5.0))))])


def at_times(uri, see):
    for time in (10, 20, 30, 36, 40, 50):
        with tiledbsoma.DataFrame.open(uri + "_timed", tiledb_timestamp=seconds(time)) as made:
            see("at %d" % time, [table(made.read()), dict(made.metadata).get("time")])
        with tiledbsoma.Collection.open(uri + "_group", tiledb_timestamp=seconds(time)) as group:
            see("group at %d" % time, [sorted(group), dict(group.metadata).get("time")])


def scenes(uri, see):
    with tiledbsoma.Scene.open(uri + "_scene") as made:
        see("scene", [made.coordinate_space, sorted(made), dict(made.metadata).get("changed")])
        points = made["obsl"]["points"]
        see("points", [points.domain, points.count, points.coordinate_space, table(points.read())])
        see("points in a box", table(points.read_spatial_region([20, 20, 60, 40]).data))
        see("transform of points", str(made.get_transform_to_point_cloud_dataframe("points", "obsl")))
        image = made["img"]["image"]
        see("levels", [image.levels() and sorted(image.levels()), image.level_count, image.level_shape(0), image.level_shape("half")])
        see("transforms", [str(made.get_transform_to_multiscale_image("image")), str(image.get_transform_to_level("half"))])
        see("image", image.read_spatial_region(1).data.to_numpy().tolist())
        see("image in a box", image.read_spatial_region(0, [5, 10, 20, 30]).data.to_numpy().tolist())
    with tiledbsoma.GeometryDataFrame.open(uri + "_shapes") as made:
        see("shapes", [made.domain, made.count, table(made.read())])
        see("shapes in a box", table(made.read_spatial_region([15, 15, 45, 45]).data))
