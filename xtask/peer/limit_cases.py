"""Cases of domains and tile extents at the limits of their types, and of cells at both ends of domains.

structure_cases.py adds them to its own.
"""

import struct

from cases import READER, WORDS, Case, attr, b64, dim, flt, hx, xy

DOUBLE = struct.unpack("<d", bytes.fromhex("ffffffffffffef7f"))[0]
SINGLE = struct.unpack("<f", bytes.fromhex("ffff7f7f"))[0]


def reals(v):
    """Real dimensions without an extent: what is stored is the length of the domain, infinite or 0 as it may be."""
    out = []
    c = Case(v, "real_no_extent", ["dim:no-extent"], [dim("x", "FLOAT64", -DOUBLE, DOUBLE, None),
             dim("y", "FLOAT32", -SINGLE, SINGLE, None)], [attr("a")], dense=False, capacity=4)
    xs, ys = (-DOUBLE, -1.5, 0.0, 1e300, DOUBLE), (-SINGLE, -0.25, 7.0, SINGLE / 2, SINGLE)
    k = [(x, y) for x in xs for y in ys]
    out.append(c.sparse(10, k[::-2]).sparse(20, k[1::3]))
    c = Case(v, "real_one_point", ["dim:no-extent"], [dim("x", "FLOAT64", 5.0, 5.0, None), dim("y", "INT32", -3, 3, None)],
             [attr("a")], dense=False, capacity=2)
    return out + [c.sparse(10, [(5.0, 3), (5.0, -3), (5.0, 0)]).sparse(20, [(5.0, 0), (5.0, 1)])]


def hilbert(v):
    """Cells at both ends of every dimension of a Hilbert array, in two fragments that meet there."""
    out = []
    ends = {"float64": ("FLOAT64", -10.0, 10.0, (-10.0, -8.0, 0.0, 8.0, 9.5, 10.0)),
            "open": ("FLOAT64", -DOUBLE, DOUBLE, (-DOUBLE, -1.0, 0.0, 1e300, DOUBLE)),
            "int64": ("INT64", -2 ** 63, 2 ** 63 - 2, (-2 ** 63, -1, 0, 2 ** 63 - 3, 2 ** 63 - 2)),
            "uint64": ("UINT64", 1, 2 ** 64 - 1, (1, 2, 2 ** 63, 2 ** 64 - 2, 2 ** 64 - 1)),
            "days": ("DATETIME_DAY", -20000, 20000, (-20000, -1, 0, 19999, 20000))}
    for name, (kind, lo, hi, values) in ends.items():
        c = Case(v, "hilbert_ends_" + name, ["hilbert", "dim:ends"], [dim("x", kind, lo, hi, None)], [attr("a")], dense=False,
                 capacity=3, cell_order="hilbert")
        k = [(x,) for x in values]
        out.append(c.sparse(10, k[::2]).sparse(20, k[1::2]).sparse(30, k[-2:]))
    return out


def clipped(v):
    """Arrays whose last tile ends past the largest number of its type. 2.30 crashes where it reads that tile of a dense one."""
    c = Case(v, "dense_past_the_type", ["dim:past-type", "current-domain"], [dim("x", "INT8", 0, 127, 50)],
             [attr("a"), attr("s", "STRING_ASCII", "var")], current_domain=[[hx("INT8", 0), hx("INT8", 99)]])
    out = [c.dense(10, [[3, 99]], words=WORDS).dense(20, [[40, 60]], words=WORDS)]
    # A tile of 4,250 cells, which libtiledb takes for one of 1,690.
    c = Case(v, "dense_short_tiles", ["dim:narrow"], [dim("x", "UINT8", 1, 250, 25), dim("y", "UINT8", 0, 203, 17),
             dim("z", "UINT8", 0, 129, 10)], [attr("a"), attr("n", "UINT8", nullable=True), attr("s", "STRING_ASCII", "var")],
             current_domain=[[hx("UINT8", 1), hx("UINT8", 9)], [hx("UINT8", 20), hx("UINT8", 25)], [hx("UINT8", 4), hx("UINT8", 17)]])
    out.append(c.dense(10, [[1, 9], [20, 25], [4, 17]], words=WORDS))
    c = Case(v, "sparse_past_the_type", ["dim:past-type"], [dim("x", "INT32", 0, 2 ** 31 - 1, 4000000),
             dim("y", "INT8", -127, 127, 100)], [attr("a")], dense=False, capacity=3)
    k = [(x, y) for x in (0, 2143999999, 2144000000, 2 ** 31 - 1) for y in (-127, 72, 73, 127)]
    return out + [c.sparse(10, k[::2]).sparse(20, k[1:])]


def cut(v):
    """Tiles of 4,116 cells, which 2.7 stores up to the last one that was written. 2.30 refuses them."""
    c = Case(v, "dense_cut_tiles", ["dim:narrow"], [dim("x", "UINT8", 1, 225, 28), dim("y", "UINT8", 10, 16, 7),
             dim("z", "UINT8", 1, 225, 21)], [attr("a"), attr("n", "UINT8", nullable=True)], cell_order="col-major")
    c.dense(10, [[196, 202], [13, 16], [78, 83]]).dense(20, [[198, 198], [12, 16], [76, 80]])
    c.d["oracle"] = v
    return [c]


def miscounted(v):
    """Tiles of 400 cells, of which libraries from 2.3 to 2.14 count 144. 2.30 refuses them."""
    c = Case(v, "dense_counted_tiles", ["dim:narrow"], [dim("x", "UINT8", 3, 122, 20), dim("y", "UINT8", 0, 99, 20)],
             [attr("a"), attr("n", "UINT8", nullable=True), attr("s", "STRING_ASCII", "var")])
    c.dense(10, [[23, 28], [40, 59]], words=WORDS).dense(20, [[25, 26], [45, 45]], words=WORDS)
    c.d["oracle"] = v
    return [c]


def alone(v):
    """Hilbert arrays of one fragment, which 2.2 stores in another order than the one of later releases."""
    out = []
    for name, dims in (("int32", xy((10, 10), (100, 100))), ("days", [dim("x", "DATETIME_DAY", -50, 50, None),
                                                                      dim("y", "INT8", -5, 5, None)])):
        c = Case(v, "hilbert_alone_" + name, ["hilbert"], dims, [attr("a"), attr("s", "STRING_ASCII", "var")], dense=False,
                 capacity=4, cell_order="hilbert")
        out.append(c.sparse(10, c.coords(40), words=WORDS))
    return out


def ties(v):
    """A Hilbert array of many cells that share a place on the curve: releases up to 2.22 stored them by their last dimension first."""
    c = Case(v, "hilbert_ties", ["hilbert"], [dim("x", "FLOAT64", 0.0, 1e300, None), dim("y", "FLOAT64", 7.0, 58.0, None)],
             [attr("a")], dense=False, capacity=3, cell_order="hilbert")
    k = [(x, y) for x in (0.0, 1.0, 2.0, 4e299) for y in (7.0, 7.000000000000001, 40.0)]
    # in one fragment, so that 2.30 has nothing to merge
    return [c.sparse(10, k[::-1])]


def double_delta(v):
    """Differences of differences of -2**63, as a zero behind two fill values has: double delta loses them up to 2.28."""
    filters = [flt("double_delta", level=-1)]
    c = Case(v, "double_delta_lost", ["filter:double-delta"], [dim("x", "INT32", 1, 3, 3)],
             [attr("a", "INT64", filters=filters), attr("b", "INT64", filters=filters)])
    least = -2 ** 63
    cells = {"a": [0, 0, least], "b": [least, least, 0]}
    fields = {name: {"data": b64(struct.pack("<3q", *values))} for name, values in cells.items()}
    c.step("write", t=10, layout="row-major", fields=fields, subarray=[[hx("INT32", 1), hx("INT32", 3)]])
    c.d["oracle"] = "case"
    return [c]


def cases(v):
    out = []
    if v == "2.19.2":
        out += ties(v) + double_delta(v)
    if v in ("2.2.9", READER):
        out += reals(v)
    if v == READER:
        out += hilbert(v) + clipped(v)
    if v == "2.2.9":
        out += alone(v)
    if v == "2.7.2":
        out += cut(v)
    if v == "2.14.0":
        out += miscounted(v)
    return out
