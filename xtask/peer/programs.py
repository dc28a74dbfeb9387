"""Random arrays of the shapes that programs on libtiledb make: single-cell data, genomic variants, rasters, point clouds, microscope
images, models, data frames. Domains, extents, filters and ways of writing are those that the programs choose; cells are few, but in
grids (`plane`) and clouds of events (`cloud`), whose tiles have many chunks.

Used by reads_cases.py and version_cases.py. Nothing here asks a library; what one refuses, it refuses.
"""

import random_cases
import wild
from cases import Rng, attr, dim, flt, hx, vt

DEFAULT = -1
CONTIGS = ["chr1", "chr1_alt", "chr10", "chr2", "chrX", "1", "MT"]
SAMPLES = ["HG%05d" % n for n in (96, 97, 99, 100, 1500, 20001)]


def zstd(level=DEFAULT):
    return [flt("zstd", level=level)]


def shuffled(kind="byteshuffle"):
    return [flt(kind)] + zstd(5)


def offsets():
    """What SOMA and TileDB-VCF choose for offsets."""
    return [flt("double_delta", level=DEFAULT), flt("bit_width_reduction", bit_width_max_window=256)] + zstd()


class Program:
    """One array: what the families below share."""

    def __init__(self, version, seed, number):
        self.v, self.n = version, vt(version)
        self.rng = Rng("programs/%s/%d/%d" % (version, seed, number))
        self.name, self.t = "program_%d_%d" % (seed, number), 0

    def case(self, family, dims, attrs, dense, ends, **schema):
        if dense:
            schema.pop("allows_dups", None)
        elif self.n < (2, 0):
            schema.pop("allows_dups", None)
        if self.n < (2, 0):
            for d in dims:
                d.pop("filters", None)
        self.ends = ends
        self.c = wild.WildCase(self.v, "%s_%s" % (self.name, family), ["program", family], dims, attrs, dense, **schema)
        self.c.rng = self.rng
        return self.c

    def later(self):
        self.t += self.rng.between(1, 9)
        return self.t

    def nullable(self, one_in=3):
        return self.n >= (2, 2) and self.v != "2.2.2" and self.rng.below(one_in) == 0

    def meta(self, *puts):
        if self.n >= (1, 7):
            self.t += 1
            self.c.meta(self.t, [(key, kind, list(value.encode()) if isinstance(value, str) else value) for key, kind, value in puts])

    def dense(self, box, layout="row-major", **how):
        self.c.dense(self.later(), box, layout, **how)

    def sparse(self, coords, **how):
        if coords:
            self.c.sparse(self.later(), coords, **how)

    def maintained(self):
        """Consolidated now and then, and vacuumed."""
        writes = sum(s["op"] == "write" for s in self.c.d["steps"])
        if self.n >= (2, 0) and writes > 1 and self.rng.below(3) == 0:
            dense = self.c.schema["array_type"] == "dense"
            self.c.consolidate(**dict(random_cases.BUFFERS, **({"sm.consolidation.amplification": "100"} if dense else {})))
            if self.rng.below(2):
                self.c.vacuum()


# -- sparse arrays ---------------------------------------------------------------------------------------------------------


def frame_of_cells(p):
    """The annotation of cells of a SOMA: rows by number, appended, of text, flags and categories."""
    rng = p.rng
    rows = rng.between(40, 400)
    dims = [dim("soma_joinid", "INT64", 0, 2 ** 63 - 2 - 2048, 2048, zstd(3))]
    attrs = [attr("cell_id", "STRING_UTF8", "var", False, zstd()), attr("is_primary", "UINT8", 1, p.nullable(2), zstd()),
             attr("n_genes", "INT64", 1, False, rng.pick([zstd(), shuffled()]), profile="small"),
             attr("score", "FLOAT64", 1, p.nullable(), zstd())]
    c = p.case("frame_of_cells", dims, attrs, False, [(0, rows)], capacity=rng.pick([100, 1000, 100000]), allows_dups=False,
               offsets_filters=offsets())
    at = 0
    p.meta(("soma_object_type", "STRING_UTF8", "SOMADataFrame"), ("soma_encoding_version", "STRING_UTF8", "1.1.0"))
    while at < rows:
        count = min(rows - at, rng.between(10, 200))
        first = max(0, at - rng.pick([0, 0, 3, 20]))
        p.sparse([(row,) for row in range(first, at + count)], words=SAMPLES + CONTIGS)
        at += count
    return c


def matrix(p):
    """A sparse matrix: few of the cells of blocks of rows."""
    rng = p.rng
    rows, columns = rng.between(20, 5000), rng.between(10, 4000)
    wide = rng.below(3) == 0
    ends = [(0, 2 ** 31 - 2), (0, 2 ** 31 - 2)] if wide else [(0, rows - 1), (0, columns - 1)]
    dims = [dim("soma_dim_%d" % k, "INT64", lo, hi, min(hi + 1, 2048), zstd(3)) for k, (lo, hi) in enumerate(ends)]
    attrs = [attr("soma_data", rng.pick(["FLOAT32", "FLOAT64", "INT32"]), 1, False, rng.pick([shuffled(), shuffled("bitshuffle"), None]))]
    c = p.case("matrix", dims, attrs, False, [(0, rows - 1), (0, columns - 1)], capacity=rng.pick([50, 500, 100000]), allows_dups=False,
               tile_order=rng.pick(["row-major", "row-major", "col-major"]), offsets_filters=offsets())
    blocks = rng.between(1, 4)
    for k in range(blocks):
        lo, hi = k * rows // blocks, max(k * rows // blocks, (k + 1) * rows // blocks - 1)
        cells = {(rng.between(lo, hi), rng.between(0, columns - 1)) for _ in range(rng.between(20, 300))}
        p.sparse(sorted(cells))
    return c


def variants(p):
    """Variants of samples, as TileDB-VCF stores them: two dimensions of text, whose cells repeat."""
    rng = p.rng
    text = lambda kind: ([flt(kind, level=DEFAULT)] + (zstd(4) if p.n >= (2, 12) else [])) if p.n >= (2, 9) else zstd(4)
    dims = [dim("contig", "STRING_ASCII", 0, 0, None, rng.pick([text("rle"), text("rle"), zstd(4)])),
            dim("start_pos", "UINT32", 0, 2 ** 32 - 2, 2 ** 32 - 1, rng.pick([[flt("double_delta", level=DEFAULT)] + zstd(4), zstd(4)])),
            dim("sample", "STRING_ASCII", 0, 0, None, rng.pick([text("dictionary"), text("rle"), zstd(4)]))]
    sums = [flt("checksum_sha256")]
    attrs = [attr("end_pos", "UINT32", 1, False, shuffled() + sums), attr("qual", "FLOAT32", 1, False, zstd(4) + sums),
             attr("alleles", "CHAR", "var", False, zstd(4) + sums), attr("filter_ids", "INT32", "var", False, shuffled() + sums),
             attr("fmt", "UINT8", "var", False, zstd(4) + sums)]
    rng_attrs = attrs[:rng.between(2, 5)]
    c = p.case("variants", dims, rng_attrs, False, [None, (0, 3000), None], capacity=rng.pick([5, 50, 10000]), allows_dups=True,
               tile_order="row-major", offsets_filters=[flt("double_delta", level=DEFAULT)] + zstd(4) + sums)
    for _ in range(rng.between(1, 4)):
        sample = rng.sample(SAMPLES, rng.between(1, 3))
        start, cells = 0, []
        for contig in sorted(rng.sample(CONTIGS, rng.between(1, 4))):
            start = 0
            for _ in range(rng.between(2, 30)):
                start += rng.pick([0, 1, 7, 100, 1000])
                cells += [(contig, start, s) for s in sample if rng.below(3)]
        p.sparse(cells, words=["A", "T,G", "CC", "<NON_REF>", ""])
    return c


def points(p):
    """A point cloud of PDAL: real coordinates that are multiples of a scale, or are rounded to one, in Hilbert order or in tiles, duplicates
    allowed."""
    rng = p.rng
    scale, offset = rng.pick([0.01, 0.001, 0.25]), rng.pick([0.0, 637000.0, -50.25])
    hilbert = p.n >= (2, 2) and rng.below(3) > 0
    lossy = p.n >= (2, 11) and rng.below(2) == 0
    width, dups = rng.pick([4, 8]), rng.below(3) > 0
    delta = [flt("delta", level=DEFAULT, reinterpret_datatype="INT%d" % (8 * width))] + rng.pick([shuffled("bitshuffle"), [flt("bzip2", level=9)]])
    after = {0: [], 1: zstd(7), 2: shuffled("bitshuffle"), 3: delta}[rng.below(4)] if p.n >= (2, 17) else zstd(7)
    filters = lambda: [flt("scale_float", scale_float_bytewidth=width, scale_float_factor=scale,
                           scale_float_offset=offset)] + after if lossy else rng.pick([zstd(7), shuffled("bitshuffle"), None])
    # PDAL's scale, where a file tells none, is coarser than most points
    rounds = lossy and dups and rng.below(2) == 0
    most = rng.pick([300, 20000])
    place = lambda k: scale * float(k) + offset
    near = lambda k: place(k) + (scale * rng.below(100) / 100 if rounds else 0.0)
    dims = [dim(name, "FLOAT64", place(-1) - 1.0, place(most) + 1.0, None if hilbert or p.n >= (2, 1) and rng.below(2) else 50 * scale,
                filters()) for name in ("X", "Y", "Z")[:rng.pick([2, 3, 3])]]
    attrs = [attr("Intensity", "UINT16", 1, False, rng.pick([zstd(), shuffled(), [flt("delta", level=DEFAULT)] + zstd() if p.n >= (2, 17) else None])),
             attr("ReturnNumber", "UINT8", 1, False, zstd(), profile="small"), attr("GpsTime", "FLOAT64", 1, False, shuffled("bitshuffle")),
             attr("Classification", "UINT8", 1, False, [flt("rle", level=DEFAULT)] + zstd(), profile="runs")]
    c = p.case("points", dims, attrs[:rng.between(1, 4)], False, [None] * len(dims), capacity=rng.pick([10, 100, 100000]),
               allows_dups=dups, cell_order="hilbert" if hilbert else "row-major")
    if rounds:
        c.d["rounds"] = True
    for _ in range(rng.between(1, 3)):
        # along lines of a scan, of nearly equal height
        x, y, cells = rng.between(0, most), rng.between(0, most), []
        for _ in range(rng.between(10, 150)):
            x, y = (x + rng.between(0, 9)) % most, (y + rng.below(2)) % most
            cells.append((near(x), near(y), near(rng.between(0, 40)))[:len(dims)])
        p.sparse(cells if c.schema.get("allows_dups") else sorted(set(cells)))
    p.meta(("_pdal", "STRING_UTF8", '{"stages": []}'))
    return c


def cloud(p):
    """Places of events in tiles of many chunks, appended in batches that overlap, some of which write cells again."""
    rng = p.rng
    side, kind = rng.pick([200, 3000, 10 ** 6]), rng.pick(["INT32", "INT64", "UINT32"])
    dims = [dim(name, kind, 0, side - 1, rng.pick([side, -(-side // 4)]), rng.pick([None, zstd(), shuffled()])) for name in ("y", "x")]
    attrs = [attr("n", rng.pick(["INT64", "INT32", "UINT8"]), 1, p.nullable(4), rng.pick([None, zstd(), shuffled()]), profile=rng.pick(["mixed", "small", "runs"])),
             attr("v", "FLOAT64", 1, False, rng.pick([None, zstd()]), profile=rng.pick(["mixed", "wave"])),
             attr("name", "STRING_ASCII", "var", p.nullable(4), rng.pick([zstd()] + ([[flt("dictionary", level=DEFAULT)] + zstd(), [flt("rle", level=DEFAULT)]]
                                                                                    if p.n >= (2, 17) else [])))]
    dups = rng.below(2) == 0
    c = p.case("cloud", dims, rng.sample(attrs, rng.between(1, 3)), False, [(0, side - 1)] * 2, capacity=rng.pick([2000, 10000, 100000]), allows_dups=dups,
               tile_order=rng.pick(["row-major", "col-major"]), offsets_filters=rng.pick([[], offsets()]))
    known = []
    for _ in range(rng.between(1, 3)):
        cells = [(rng.between(0, side - 1), rng.between(0, side - 1)) for _ in range(rng.between(3000, 12000))]
        cells += rng.sample(known, min(len(known), rng.below(500)))
        cells = cells if dups else sorted(set(cells))
        p.sparse(cells, words=SAMPLES + CONTIGS)
        known = cells
    return c


def frame(p):
    """A data frame of TileDB-Py's from_pandas: by number of row, or by an index of text, time or numbers, over the whole of its type."""
    rng = p.rng
    dense = rng.below(3) == 0
    attrs = [attr("count", "INT64", 1, p.nullable(), zstd()), attr("price", "FLOAT64", 1, False, zstd()),
             attr("when", "DATETIME_NS", 1, p.nullable(), zstd(), profile="small"),
             attr("name", "STRING_UTF8" if rng.below(2) else "STRING_ASCII", "var", p.nullable(), zstd()),
             attr("flag", "BOOL" if p.n >= (2, 10) else "UINT8", 1, p.nullable(), zstd())]
    attrs = rng.sample(attrs, rng.between(2, 4))
    if dense:
        rows = rng.between(10, 120)
        last = rng.pick([rows - 1, 2 ** 64 - 1 - 10000])
        c = p.case("frame", [dim("__tiledb_rows", "UINT64", 0, last, min(rows, last + 1) if last < 10000 else 10000, zstd())], attrs, True,
                   [(0, rows - 1)])
        at = 0
        while at < rows:
            count = min(rows - at, rng.between(5, 60))
            p.dense([[at, at + count - 1]], words=SAMPLES + CONTIGS)
            at += count
    else:
        index = {"text": ("STRING_ASCII", 0, 0, None), "days": ("DATETIME_NS", -2 ** 63 + 1, 2 ** 63 - 1 - 10000, 10000),
                 "near": ("DATETIME_NS", 0, 10 ** 9, 10000), "numbers": ("INT64", -2 ** 63 + 1 if p.n >= (2, 1) else 0, 2 ** 63 - 1 - 10000, 10000),
                 "reals": ("FLOAT64", -1e6, 1e6, 10000.0)}
        kinds = [k for k in index if k != "text" or p.n >= (2, 0)]
        chosen = rng.sample(sorted(kinds), rng.pick([1, 1, 2])) if p.n >= (2, 0) else [rng.pick(sorted(kinds))]
        dims = [dim("index%d" % k, *index[kind], zstd()) for k, kind in enumerate(chosen)]
        c = p.case("frame", dims, attrs, False, [None] * len(dims), capacity=rng.pick([20, 10000]), allows_dups=True,
                   offsets_filters=rng.pick([None, zstd()]) or [])
        draw = {"text": lambda: rng.pick(SAMPLES + CONTIGS), "days": lambda: rng.between(-40, 40) * 86400 * 10 ** 9,
                "near": lambda: rng.between(0, 10 ** 9), "numbers": lambda: rng.between(0, 500), "reals": lambda: rng.between(-999, 999) / 4.0}
        for _ in range(rng.between(1, 4)):
            p.sparse([tuple(draw[kind]() for kind in chosen) for _ in range(rng.between(1, 80))], words=SAMPLES + CONTIGS)
    p.meta(("__pandas_index_dims", "STRING_UTF8", '{"index0": "<M8[ns]"}'), ("__pandas_attribute_repr", "STRING_UTF8", "{}"))
    return c


# -- dense arrays ----------------------------------------------------------------------------------------------------------


def blocks(p, sizes, extents, order):
    """The tiles of a dense array as boxes, those at the edge whole."""
    out = [[]]
    for size, extent in zip(sizes, extents):
        starts = range(0, size, extent)
        out = [box + [[s, min(s + extent, size) - 1]] for box in out for s in starts]
    return out if order else p.rng.sample(out, len(out))


def raster(p):
    """An image of several bands as GDAL writes it: block after block, or in strips, a fragment each."""
    rng = p.rng
    kind = rng.pick(["UINT8", "UINT16", "INT16", "FLOAT32"])
    bands, extents = rng.pick([1, 3, 4]), [1, rng.pick([8, 16]), rng.pick([8, 16])]
    sizes = [bands, rng.between(8, 40), rng.between(8, 40)]
    apart = rng.below(2) == 0
    # GDAL makes the domain a whole number of blocks
    whole = [-(-s // e) * e for s, e in zip(sizes, extents)] if rng.below(2) else sizes
    type_ = rng.pick(["UINT64", "INT32", "UINT32"])
    names = ["BANDS", "Y", "X"]
    used = range(3) if apart else range(1, 3)
    dims = [dim(names[k], type_, 0, whole[k] - 1, min(extents[k], whole[k])) for k in used]
    made = lambda name: attr(name, kind, 1, False, rng.pick([zstd(), shuffled(), [flt("gzip", level=6)], [flt("lz4", level=DEFAULT)],
                                                             [flt("bit_width_reduction", bit_width_max_window=256)] + zstd() if kind[0] != "F" else None]),
                             profile=rng.pick(["wave", "small", "runs"]))
    attrs = [made("TDB_VALUES")] if apart else [made("TDB_VALUES_%d" % (k + 1)) for k in range(bands)]
    c = p.case("raster", dims, attrs, True, [(0, whole[k] - 1) for k in used])
    p.meta(("_gdal", "STRING_UTF8", "<PAMDataset/>"))
    mine = [sizes[k] for k in used]
    steps = blocks(p, mine, [min(extents[k], sizes[k]) for k in used], rng.below(2)) if rng.below(3) else blocks(
        p, mine, [min([1, 8, sizes[2]][k], sizes[k]) for k in used], True)
    for box in steps[:rng.pick([3, 12, 60])]:
        p.dense(box)
    return c


def image(p):
    """A level of a microscope image: axes of channels, rows and columns in some order, tiles of many cells, written tile by tile."""
    rng = p.rng
    axes = {"C": (rng.pick([1, 3]), 3), "Z": (rng.between(1, 3), 1), "Y": (rng.between(9, 40), rng.pick([7, 16, 1024])),
            "X": (rng.between(9, 40), rng.pick([7, 16, 1024]))}
    order = rng.pick(["YXC", "CYX", "YX", "ZYX", "CZYX"])
    type_ = rng.pick(["UINT32", "INT64", "UINT16"])
    sizes, extents = [axes[a][0] for a in order], [min(axes[a]) for a in order]
    dims = [dim(a, type_, 0, size - 1, extent, rng.pick([None, zstd()])) for a, size, extent in zip(order, sizes, extents)]
    filters = rng.pick([zstd(), shuffled("bitshuffle"), [flt("delta", level=DEFAULT)] + zstd() if p.n >= (2, 17) else zstd()])
    kind = rng.pick(["UINT8", "UINT16"])
    if p.n >= (2, 30) and order == "YXC" and axes["C"][0] == 3 and kind == "UINT8":
        filters = [flt("webp", webp_quality=100.0, webp_input_format=1, webp_lossless=1)]
        dims = dims[:2]
        sizes, extents = [sizes[0], 3 * sizes[1]], [extents[0], 3 * extents[1]]
        dims = [dim(a, type_, 0, size - 1, extent) for a, size, extent in zip("YX", sizes, extents)]
    c = p.case("image", dims, [attr("intensity", kind, 1, False, filters, profile=rng.pick(["wave", "runs"]))], True,
               [(0, size - 1) for size in sizes], tile_order=rng.pick(["row-major", "col-major"]),
               cell_order="row-major" if filters[0]["type"] == "webp" else rng.pick(["row-major", "row-major", "col-major"]))
    for box in [[[0, size - 1] for size in sizes]] if rng.below(3) == 0 else blocks(p, sizes, extents, True)[:20]:
        p.dense(box)
    p.meta(("axes", "STRING_UTF8", order), ("level", "INT64", [0]), ("pixel_depth", "STRING_UTF8", '{"webp": 3}'))
    return c


def plane(p):
    """A grid of numbers in tiles of many chunks, of which queries want windows and columns; mostly without filters."""
    rng = p.rng
    kind = rng.pick(["FLOAT64", "FLOAT64", "INT64", "INT32", "UINT16"])
    sizes = [rng.between(200, 330), rng.between(200, 330)]
    extents = [rng.pick([size, size, -(-size // 2)]) for size in sizes]
    filters = rng.pick([None, None, None, zstd(), shuffled(), [flt("byteshuffle")]])
    type_ = rng.pick(["INT32", "UINT64"])
    dims = [dim(name, type_, 0, size - 1, extent) for name, size, extent in zip("YX", sizes, extents)]
    attrs = [attr("value", kind, 1, p.nullable(4), filters, profile=rng.pick(["mixed", "wave"]))]
    if rng.below(4) == 0:
        attrs[0]["max_chunk_size"] = rng.pick([5000, 20000, 1 << 20])
    c = p.case("plane", dims, attrs, True, [(0, size - 1) for size in sizes], tile_order=rng.pick(["row-major", "col-major"]),
               cell_order=rng.pick(["row-major", "row-major", "col-major"]))
    p.dense([[0, size - 1] for size in sizes])
    for _ in range(rng.below(3)):
        starts = [rng.between(0, size - 1) for size in sizes]
        p.dense([[start, min(size - 1, start + rng.between(0, 60))] for start, size in zip(starts, sizes)])
    for _ in range(2):
        axis, place = rng.below(2), [rng.between(0, size - 1) for size in sizes]
        box = [[at, at] if k == axis else [0, size - 1] for k, (at, size) in enumerate(zip(place, sizes))]
        if rng.below(2):
            box = [[at, min(size - 1, at + rng.between(0, 40))] for at, size in zip(place, sizes)]
        c.d["queries"].append({"kind": "subarray", "ranges": [[hx(d["type"], lo), hx(d["type"], hi)] for d, (lo, hi) in zip(dims, box)],
                               "layout": rng.pick(["row-major", "col-major", "global-order"])})
    return c


def weights(p):
    """A model: one cell that is a pickle, or a tensor for each layer, whole in one tile."""
    rng = p.rng
    if rng.below(2):
        attrs = [attr(name, rng.pick(["CHAR", "UINT8"]), "var", False, rng.pick([zstd(), None])) for name in ("model", "optimizer")[:rng.pick([1, 2])]]
        c = p.case("weights", [dim("dim", "INT32", 1, 1, 1)], attrs, True, [(1, 1)])
        for _ in range(rng.between(1, 3)):
            p.dense([[1, 1]], lengths=rng.pick([(66000, 140000), (0, 40)]))
    else:
        sizes = [rng.between(1, 40) for _ in range(rng.pick([1, 2]))]
        c = p.case("weights", [dim("dim_%d" % k, "INT32", 0, size - 1, size) for k, size in enumerate(sizes)],
                   [attr("layer_%d" % k, rng.pick(["FLOAT32", "FLOAT64"]), 1, False, zstd()) for k in range(rng.between(1, 4))], True,
                   [(0, size - 1) for size in sizes])
        for _ in range(rng.between(1, 3)):
            p.dense([[0, size - 1] for size in sizes])
    p.meta(("TILEDB_ML_MODEL_ML_FRAMEWORK", "STRING_UTF8", "PYTORCH"), ("model_config", "STRING_UTF8", "{}"))
    return c


FAMILIES = [frame_of_cells, matrix, variants, points, cloud, frame, raster, image, plane, weights]


def case(version, seed, number, kind=None):
    """Case `number` of a seed in the layout of cases.py; `kind` is "dense" or "sparse" where it matters."""
    p = Program(version, seed, number)
    families = [f for f in FAMILIES if f is not variants or p.n >= (2, 0)]
    families = families if kind is None else [f for f in families if (f in (raster, image, plane, weights)) == (kind == "dense")]
    c = p.rng.pick(families)(p)
    p.maintained()
    random_cases.queries(p.rng, c, p.ends)
    return c.done()
