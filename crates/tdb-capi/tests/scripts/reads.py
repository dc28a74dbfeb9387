"""Reads of dense and sparse arrays: orders, ranges, times, labels, aggregates, small buffers. The working folder is empty."""

import hashlib

import numpy as np
import tiledb

rng = np.random.default_rng(7)


def shown(values):
    if isinstance(values, dict):
        return {name: shown(column) for name, column in values.items()}
    values = np.asarray(values) if not np.ma.isMaskedArray(values) else values
    if values.dtype == "O":
        text = repr([value.tolist() if hasattr(value, "tolist") else value for value in values.ravel().tolist()]).encode()
    elif np.ma.isMaskedArray(values):
        text = values.filled(0).tobytes() + values.mask.tobytes()
    else:
        text = np.ascontiguousarray(values).tobytes()
    return f"{values.dtype}{values.shape} {hashlib.md5(text).hexdigest()[:12]}"


def attempt(label, call):
    try:
        print(label, shown(call()))
    except Exception as error:
        print(label, type(error).__name__)


def texts(count, word, most):
    return np.array([word * int(times) for times in rng.integers(0, most, count)], dtype="O")


domain = tiledb.Domain(tiledb.Dim("r", domain=(1, 50), tile=7, dtype="i8"), tiledb.Dim("c", domain=(-10, 29), tile=5, dtype="i8"))
attributes = [
    tiledb.Attr("f", dtype="f8"),
    tiledb.Attr("i", dtype="i2", nullable=True),
    tiledb.Attr("s", dtype="ascii", var=True),
    tiledb.Attr("u", dtype="U", var=True),
]
for name, order in [("rows", "row-major"), ("columns", "col-major")]:
    tiledb.Array.create(name, tiledb.ArraySchema(domain=domain, attrs=attributes, cell_order=order))
    whole = {
        "f": rng.random((50, 40)),
        "i": rng.integers(-99, 99, (50, 40)).astype("i2"),
        "s": texts(2000, b"x", 9).reshape(50, 40),
        "u": texts(2000, "é", 5).reshape(50, 40),
    }
    with tiledb.open(name, "w", timestamp=1) as array:
        array[:] = whole
    with tiledb.open(name, "w", timestamp=2) as array:
        array[10:20, 0:9] = {key: values[:10, :9] for key, values in whole.items()}

for name, duplicates, order in [("sparse", False, "row-major"), ("copies", True, "row-major"), ("hilbert", False, "hilbert")]:
    extent = None if order == "hilbert" else 0.25
    domain = tiledb.Domain(tiledb.Dim("x", domain=(0, 999), tile=100, dtype="i4"), tiledb.Dim("y", domain=(0.0, 1.0), tile=extent, dtype="f8"))
    attributes = [tiledb.Attr("a", dtype="f4"), tiledb.Attr("n", dtype="i8", nullable=True), tiledb.Attr("s", dtype="ascii", var=True), tiledb.Attr("v", dtype="i4", var=True)]
    schema = tiledb.ArraySchema(domain=domain, sparse=True, allows_duplicates=duplicates, cell_order=order, capacity=100, attrs=attributes)
    tiledb.Array.create(name, schema)
    for time in [1, 2, 3]:
        # No coordinates twice in a fragment: the order of equal ones is nobody's promise.
        places = rng.permutation(1000 * 101)[:1500] if not duplicates else rng.permutation(1000 * 30)[:500] + (time - 1) * 31000
        lists = np.empty(len(places), dtype="O")
        for index in range(len(places)):
            lists[index] = np.arange(index % 4 + 1, dtype="i4") + index
        with tiledb.open(name, "w", timestamp=time) as array:
            array[(places % 1000).astype("i4"), places // 1000 / 100] = {
                "a": rng.random(len(places)).astype("f4"),
                "n": np.arange(len(places)),
                "s": np.array([f"s{number}" for number in rng.integers(0, 10**6, len(places))]),
                "v": lists,
            }

for bytes_of_buffers in [None, "2000", "50000"]:
    context = tiledb.Ctx({"py.init_buffer_bytes": bytes_of_buffers} if bytes_of_buffers else {})
    print("== buffers of", bytes_of_buffers)
    for name in ["rows", "columns"]:
        for time in [None, 1]:
            with tiledb.open(name, ctx=context, timestamp=time) as array:
                for order in "CFG":
                    attempt((name, time, order), lambda: array.query(order=order)[:])
                    attempt((name, time, order, "box"), lambda: array.query(order=order)[3:33, 4:25])
                    attempt((name, time, order, "places"), lambda: array.query(order=order, coords=True, attrs=["f"])[3:33, 4:25])
                for order in "CF":
                    attempt((name, time, order, "ranges"), lambda: array.query(order=order).multi_index[[1, slice(5, 9), 30], [0, slice(3, 22)]])
                attempt((name, time, "aggregates"), lambda: array.query().agg({"f": ["count", "min", "max"], "i": ["null_count", "sum"]})[3:33, 4:25])
    for name in ["sparse", "copies", "hilbert"]:
        for time in [None, 2]:
            with tiledb.open(name, ctx=context, timestamp=time) as array:
                # Small buffers cut what libtiledb sorts along a Hilbert curve.
                for order in "GU" if name == "hilbert" else "CFGU":
                    attempt((name, time, order), lambda: array.query(order=order)[:])
                    attempt((name, time, order, "box"), lambda: array.query(order=order)[3:333, 0.25:0.5])
                    if order != "G":
                        attempt((name, time, order, "ranges"), lambda: array.query(order=order).multi_index[[1, slice(5, 300), 700], [slice(0.1, 0.2), slice(0.3, 0.7)]])
                attempt((name, time, "fields"), lambda: array.query(attrs=["s"], dims=["y"])[:])
                for aggregate, value in array.query().agg({"a": ["count", "min", "max"], "n": ["null_count", "sum", "mean"]})[3:333].items():
                    print((name, time), aggregate, value)

print("== labels")
dimension = tiledb.Dim("d", domain=(0, 99), tile=10, dtype="i4")
labels = {0: {"up": dimension.create_label_schema("increasing", np.float64), "name": dimension.create_label_schema("decreasing", "S0")}}
schema = tiledb.ArraySchema(domain=tiledb.Domain(dimension), attrs=[tiledb.Attr("a", dtype="i8")], dim_labels=labels)
tiledb.Array.create("labels", schema)
with tiledb.open("labels", "w") as array:
    array[:] = {"a": np.arange(100), "up": np.linspace(-1, 1, 100), "name": np.array([f"n{99 - index:02}" for index in range(100)], dtype="S3")}
with tiledb.open("labels") as array:
    attempt("up", lambda: array.label_index(["up"])[-0.5:0.25])
    attempt("name", lambda: array.label_index(["name"])["n10":"n20"])
    attempt("none", lambda: array.label_index(["up"])[0.501:0.502])
    subarray = tiledb.Subarray(array)
    subarray.add_label_range("up", (-1.0, -0.9))
    subarray.add_label_range("up", (0.9, 2.0))
    print(subarray.num_dim_ranges(0), subarray.num_label_ranges("up"), subarray.has_label_range(0))
    attempt("two", lambda: array.read_subarray(subarray))
