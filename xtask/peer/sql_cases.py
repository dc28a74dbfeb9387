"""Cases whose cells are worth asking in SQL (crates/tdb-datafusion/tests/slt): few values that occur often, beside nulls, NaN and
both zeros. structure_cases.py adds them to its own.
"""

import struct

from cases import ZSTD, Case, attr, b64, dim, flt, hx, pack

CITIES = ["Bergen", "Oslo", "Oslo", "Porto", "Praha", "oslo", ""]
NAMES = ["Ada", "Ben", "Zo\u00eb", "\u5317\u4eac", "ada", "O'Neil", "50% off", "a_b", ""]
REALS = [float("nan"), 0.0, -0.0, float("inf"), float("-inf"), 12.5, 12.5, 7.25, -3.0, 1e10]
# in a dense tile, libtiledb's sums of both infinities are others than tdb's
FINITE = [99.5 if x == float("inf") else -99.5 if x == float("-inf") else x for x in REALS]
MS = 1704067200000  # 2024-01-01
DAY = 19723


def texts(items):
    """A field of text; None is null."""
    parts = [(x or "").encode() for x in items]
    starts = [sum(map(len, parts[:i])) for i in range(len(parts))]
    out = {"data": b64(b"".join(parts)), "offsets": b64(struct.pack("<%dQ" % len(parts), *starts))}
    if None in items:
        out["validity"] = b64(bytes(x is not None for x in items))
    return out


def numbers(datatype, items):
    """A field of numbers; None is null."""
    out = {"data": b64(pack(datatype, [0 if x is None else x for x in items]))}
    if None in items:
        out["validity"] = b64(bytes(x is not None for x in items))
    return out


def valid(field, n):
    """The field of a nullable attribute, also where no cell is null."""
    return dict({"validity": b64(bytes([1] * n))}, **field)


def kinds():
    return {"name": "kinds", "type": "STRING_UTF8", "cell_val_num": "var", "ordered": False,
            **texts(["walk", "ride", "bus", "f\u00e6rge"])}


def trips(v):
    """Several cells at the same coordinates, three fragments, a delete, every kind of column."""
    c = Case(v, "sql_trips", ["sql", "dups", "dim:string", "enumeration", "nullable", "commits:del", "var"],
             [dim("city", "STRING_ASCII", 0, 0, None), dim("day", "DATETIME_DAY", 0, 40000, 30)],
             [attr("price", "FLOAT64", nullable=True, filters=ZSTD), attr("meters", "INT32"), attr("seats", "UINT8"),
              attr("rider", "STRING_UTF8", "var", nullable=True), attr("kind", "UINT8", nullable=True, enumeration="kinds"),
              attr("paid", "BOOL", nullable=True), attr("began", "DATETIME_MS"), attr("paused", "TIME_SEC")],
             dense=False, capacity=16, allows_dups=True, enumerations=[kinds()])
    r = c.rng
    for t, n in ((10, 90), (20, 60), (30, 30)):
        coords = [(r.pick(CITIES), DAY + r.below(60)) for _ in range(n)]
        some = lambda make, nulls=0: [None if nulls and r.below(nulls) == 0 else make() for _ in range(n)]
        c.sparse(t, coords).d["steps"][-1]["fields"].update({
            "price": valid(numbers("FLOAT64", some(lambda: r.pick(REALS) if r.below(3) else r.below(400) / 8.0, 6)), n),
            "meters": numbers("INT32", some(lambda: r.below(50) * 100 - 500)),
            "seats": numbers("UINT8", some(lambda: r.below(6) * 51)),
            "rider": valid(texts(some(lambda: r.pick(NAMES), 7)), n),
            "kind": valid(numbers("UINT8", some(lambda: r.pick([0, 1, 1, 2, 3, 3]), 8)), n),
            "paid": valid(numbers("BOOL", some(lambda: r.below(2), 5)), n),
            "began": numbers("DATETIME_MS", some(lambda: MS + r.below(60 * 24) * 3600000 + r.below(4) * 250)),
            "paused": numbers("TIME_SEC", some(lambda: r.below(5) * 60))})
        if t == 20:
            c.step("delete", t=25, condition=["and", ["meters", "<", hx("INT32", -200)], ["seats", ">", hx("UINT8", 100)]])
    return c


def stations(v):
    """Cells that were written again, a delete, and a schema that was evolved."""
    c = Case(v, "sql_stations", ["sql", "fragments:overlapping", "evolved", "commits:del", "nullable", "var"],
             [dim("id", "INT32", -1000, 1000, 50)],
             [attr("city", "STRING_ASCII", "var", filters=ZSTD), attr("height", "FLOAT32", nullable=True), attr("beds", "INT64")],
             dense=False, capacity=8, t0=10)
    r = c.rng
    old, new = c.attrs, c.attrs + [attr("opened", "DATETIME_DAY", nullable=True)]
    ids = sorted(c.coords(40))
    for t, some, attributes in ((10, ids, old), (20, ids[5:20] + [(1000,)], old), (40, ids[10:15] + [(-1000,), (7,)], new)):
        if t == 40:
            c.step("delete", t=25, condition=["beds", ">=", hx("INT64", 90)])
            c.step("evolve", t=35, drop=[], add=new[-1:])
        n = len(some)
        c.sparse(t, some, attrs=attributes).d["steps"][-1]["fields"].update({
            "city": texts([r.pick(CITIES[:6]) for _ in some]),
            "height": valid(numbers("FLOAT32", [r.pick([None, float("nan"), 0.0, -0.0, 10.5, 250.25, -1.5]) for _ in some]), n),
            "beds": numbers("INT64", [r.below(100) for _ in some])})
        if t == 40:
            c.d["steps"][-1]["fields"]["opened"] = valid(numbers("DATETIME_DAY", [None if r.below(3) == 0 else DAY - r.below(999)
                                                                                  for _ in some]), n)
    return c


def grid(v):
    """A dense array whose boxes overlap and leave a gap, so that there are fill values."""
    c = Case(v, "sql_grid", ["sql", "fragments:overlapping", "fill:default", "enumeration", "nullable", "var"],
             [dim("row", "INT32", 1, 24, 4), dim("col", "INT32", -5, 14, 5)],
             [attr("heat", "FLOAT64", filters=[flt("byteshuffle"), flt("zstd", level=3)]), attr("level", "UINT8", nullable=True),
              attr("label", "STRING_UTF8", "var"), attr("kind", "UINT8", enumeration="kinds"), attr("taken", "DATETIME_SEC")],
             enumerations=[kinds()])
    r = c.rng
    for t, box in ((10, [[2, 11], [-3, 6]]), (20, [[8, 16], [2, 9]])):
        n = (box[0][1] - box[0][0] + 1) * (box[1][1] - box[1][0] + 1)
        some = lambda make, nulls=0: [None if nulls and r.below(nulls) == 0 else make() for _ in range(n)]
        c.dense(t, box, more={
            "heat": numbers("FLOAT64", some(lambda: r.pick(FINITE) if r.below(3) == 0 else r.below(200) / 4.0)),
            "level": valid(numbers("UINT8", some(lambda: r.below(5), 4)), n),
            "label": texts(some(lambda: r.pick(NAMES))),
            "kind": numbers("UINT8", some(lambda: r.below(4))),
            "taken": numbers("DATETIME_SEC", some(lambda: MS // 1000 + r.below(100) * 3600))})
    return c


def cases(v):
    return [trips(v), stations(v), grid(v)]
