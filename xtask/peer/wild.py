"""What random arrays hold at their edges: domains at the limits of their types, cells at both ends of them, strings of any
bytes, chains of filters, values larger than a chunk, times in the future.

Used by random_cases.py and version_cases.py. Nothing here asks a library; what one refuses, it refuses.
"""

import math
import struct

import capi
from cases import FLOATS, INTS, LIMITS, WORDS, Case, dim, flt, hx, vt

LEVELS = {"gzip": (1, 9), "zstd": (1, 12), "lz4": (1, 3), "bzip2": (1, 9)}
# bytes that strings of any bytes are mostly made of
BYTES = [0x00, 0x01, 0x20, 0x61, 0x62, 0x7F, 0x80, 0x81, 0xC3, 0xFE, 0xFF]
# a time that has not come
FUTURE = 4_000_000_000_000
LARGEST = {"FLOAT32": struct.unpack("<f", b"\xff\xff\x7f\x7f")[0], "FLOAT64": struct.unpack("<d", b"\xff" * 6 + b"\xef\x7f")[0]}


def limits(datatype):
    return (-LARGEST[datatype], LARGEST[datatype]) if datatype in FLOATS else LIMITS.get(datatype, LIMITS["INT64"])


def stored(datatype, number):
    """A real number as the type can hold it."""
    return struct.unpack("<f", struct.pack("<f", number))[0] if datatype == "FLOAT32" else number


def between(low, high, part):
    """A number `part` of the way from low to high, which may be far apart."""
    return min(high, max(low, low * (1 - part) + high * part))


# -- domains ---------------------------------------------------------------------------------------------------------------


def dimension(rng, version, dense, name, datatype, size):
    """A dimension at the edge of what its type can hold, and the ends of where cells are.

    Cells of dense arrays are in a box of `size`, somewhere in the domain."""
    n = vt(version)
    if datatype == "STRING_ASCII":
        return dim(name, datatype, 0, 0, None), None
    low, high = limits(datatype)
    if datatype in FLOATS:
        return reals(rng, n, name, datatype, low, high), None
    size = min(size, 100 if datatype.endswith("INT8") else size)
    free = dense or n < (2, 1)
    kind = rng.below(7)
    if kind == 0 and low < 0 and n < (2, 3):
        kind = 1
    if kind == 0:
        lo, hi = low, low + size - 1
    elif kind == 1:
        # where a dense tile ends at the type's limit, 2.30 often crashes
        lo, hi = high - size + 1, high
        if dense and rng.below(4):
            lo, hi = lo - 64, hi - 64
    elif kind == 2:
        lo, hi = (0, high) if rng.below(2) or low < 0 and n < (2, 3) else (low, high)
    elif kind == 3:
        lo = hi = rng.pick([0, 1, high] + ([low, -1] if n >= (2, 3) and low < 0 else []))
    elif kind == 4:
        lo, hi = rng.pick([0, 1, 5]), high - rng.pick([0, 1, 7, 1 + size])
    elif kind == 5 and n >= (2, 3):
        lo, hi = max(low, -size), 0
    else:
        lo, hi = 1, size
    # libtiledb counts a domain's coordinates in the dimension's own type
    hi -= max(0, hi - lo - (high - low - 1))
    span = hi - lo + 1
    extents = [1, 2, 3, max(1, size // 3), max(1, size // 2 + 1), size, span, max(1, span // 7), max(1, span // 2), 1 << 10]
    if dense:
        # tiles are held whole; the last one must not end beyond the type, where 2.30 crashes
        extents = [e for e in extents if e <= min(64, span) and lo + -(-span // e) * e - 1 <= high] or [1]
    else:
        extents = [e for e in extents if 1 <= e <= min(span, high)] or [1]
    extent = rng.pick(extents)
    if not free and rng.below(5) == 0:
        extent = None
    d = dim(name, datatype, lo, hi, extent)
    if not dense or span <= size:
        return d, (lo, hi)
    start = rng.pick([lo, hi - size + 1, rng.between(lo, hi - size + 1)])
    return d, (start, start + size - 1)


def counted(n, extents):
    """The number of cells that releases from 2.3 on count in a dense tile of UINT8 dimensions: up to 2.14 the product wraps around,
    since then the factors do."""
    cells = 1
    for extent in extents:
        cells = cells * extent if n < (2, 3) else cells * extent % 256 if n < (2, 15) else cells % 256 * extent
    return cells


def narrow(rng, version):
    """UINT8 dimensions of a dense array whose tiles have more cells than the type counts, and where cells are: in a tile, among those
    that the release counts in it, in either order of cells."""
    n, names = vt(version), ["d0", "d1", "d2"]
    while True:
        extents = [rng.between(4, 36) for _ in range(rng.pick([2, 2, 3]))]
        box = [rng.between(1, e) for e in extents]
        cells, last = 1, [0, 0]
        for k in range(len(extents)):
            cells *= extents[k]
            # the last cell of the box, row by row and column by column
            last = [last[0] * extents[k] + box[k] - 1, last[1] * extents[-1 - k] + box[-1 - k] - 1]
        if 255 < cells < 20000 and max(last) < counted(n, extents) and box != [1] * len(box):
            break
    starts = [rng.between(0, 9) for _ in extents]
    tiles = [rng.between(1, (250 - s) // e - 1) for s, e in zip(starts, extents)]
    at = [s + e * rng.below(t) for s, e, t in zip(starts, extents, tiles)]
    dims = [dim(name, "UINT8", s, s + e * t - 1, e) for name, s, e, t in zip(names, starts, extents, tiles)]
    return dims, [(a, a + size - 1) for a, size in zip(at, box)]


def reals(rng, n, name, datatype, low, high):
    kind = rng.below(5)
    if kind == 0 and n >= (2, 2):
        # what TileDB-Py makes of Dim(domain=(-max, max)): the extent is stored as infinity
        return dim(name, datatype, low, high, None)
    if kind == 1:
        return dim(name, datatype, 0.0, high, stored(datatype, high / rng.pick([1, 3, 8])))
    if kind == 2:
        return dim(name, datatype, -10.0, 10.0, rng.pick([5.0, 20.0, 3.0, 0.5]))
    if kind == 3 and n >= (2, 1):
        return dim(name, datatype, stored(datatype, -0.1), stored(datatype, 0.3), None)
    lo = stored(datatype, rng.between(-20, 20) / 8)
    return dim(name, datatype, lo, stored(datatype, lo + 1.7), stored(datatype, rng.pick([0.1, 1.7, 0.9])))


# -- coordinates -----------------------------------------------------------------------------------------------------------


def text(rng, version, wild):
    """A string coordinate; 2.0 to 2.2 compute garbage bounds when one is empty."""
    least = 0 if vt(version) >= (2, 3) else 1
    if not wild:
        return (rng.pick(WORDS[1 - (least == 0):]) + rng.pick(["", "1", "22", "z"])).encode()
    size = rng.pick([0, 1, 1, 2, 2, 3, 5, 9]) if least == 0 else rng.pick([1, 1, 2, 3, 5, 9])
    return bytes(rng.pick(BYTES) if rng.below(3) else rng.below(256) for _ in range(size))


def coordinate(rng, version, d, wild=True):
    """A value of a dimension, often at an end or beside one."""
    if d["type"] == "STRING_ASCII":
        return text(rng, version, wild)
    lo, hi = unpacked(d["type"], d["domain"][0]), unpacked(d["type"], d["domain"][1])
    end = rng.below(6)
    if end == 0:
        return lo
    if end == 1:
        return hi
    if d["type"] in FLOATS:
        if end == 2 and d["type"] == "FLOAT64":
            return rng.pick([math.nextafter(lo, hi), math.nextafter(hi, lo)])
        if end == 3 and lo < -1e6:
            return stored(d["type"], rng.between(-400, 400) / 8.0)
        return stored(d["type"], between(lo, hi, rng.below(4097) / 4096.0)) + 0.0
    if hi - lo <= 300:
        return rng.between(lo, hi)
    near = [lo + rng.below(100), hi - rng.below(100), (lo + hi) // 2 + rng.below(100) - 50, rng.between(lo, hi)]
    return max(lo, min(hi, rng.pick(near)))


def unpacked(datatype, text_):
    code = {"FLOAT32": "f", "FLOAT64": "d"}.get(datatype)
    data = bytes.fromhex(text_)
    return struct.unpack("<" + code, data)[0] if code else int.from_bytes(data, "little", signed=datatype[0] != "U")


class WildCase(Case):
    """A case whose coordinates are of the kind that `wild` says."""

    wild = False

    def coords(self, n, dups=False):
        if not self.wild:
            return Case.coords(self, n, dups)
        seen, out = set(), []
        for _ in range(20 * n):
            if len(out) == n:
                break
            c = tuple(coordinate(self.rng, self.v, d) for d in self.dims)
            if dups or c not in seen:
                seen.add(c)
                out.append(c)
        return out


# -- ranges ----------------------------------------------------------------------------------------------------------------


def beside(d, data):
    """A coordinate and what stands beside it, within the domain: bytes."""
    if d["type"] == "STRING_ASCII":
        return [x for x in (data, data + b"\0", data[:-1]) if x]
    v, lo, hi = (unpacked(d["type"], x) for x in (data.hex(), *d["domain"]))
    if d["type"] == "FLOAT64":
        near = [v, math.nextafter(v, math.inf), math.nextafter(v, -math.inf)]
    else:
        near = [v] if d["type"] in FLOATS else [v - 1, v, v + 1]
    return [bytes.fromhex(hx(d["type"], x)) for x in near if lo <= x <= hi]


# -- filters ---------------------------------------------------------------------------------------------------------------


def compressor(rng):
    kind = rng.pick(sorted(LEVELS))
    return flt(kind, level=rng.between(*LEVELS[kind]))


def made(rng, kind):
    """A filter with options."""
    if kind in LEVELS:
        return flt(kind, level=rng.between(*LEVELS[kind]))
    if kind == "scale_float":
        return flt(kind, scale_float_bytewidth=rng.pick([1, 2, 4, 8]), scale_float_factor=0.25, scale_float_offset=1.0)
    if kind in ("bit_width_reduction", "positive_delta"):
        name = ("bit_width" if kind[0] == "b" else kind) + "_max_window"
        return flt(kind, **{name: rng.pick([3, 16, 64, 256, 1000])})
    return flt(kind, level=-1) if kind in ("rle", "double_delta", "dictionary", "delta") else flt(kind)


def chain(rng, version, kinds, first=None):
    """One to three filters: `first`, or one of `kinds`, and others that take any bytes."""
    n = vt(version)
    out = [made(rng, first or rng.pick(kinds))]
    general = list(LEVELS) + ["byteshuffle", "bitshuffle", "none"] + (["checksum_md5", "checksum_sha256"] if n >= (1, 7) else [])
    for _ in range(rng.pick([0, 0, 1, 1, 2])):
        out.append(made(rng, rng.pick(general)))
    return out


def width(a):
    return capi.size_of(a["type"]) * (a["cell_val_num"] if isinstance(a["cell_val_num"], int) else 1)
