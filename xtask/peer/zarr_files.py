"""Arrays and groups of zarr-python, imported and exported by the command, and read again.

zarr_files.py --tdb COMMAND --out FOLDER
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numcodecs
import numcodecs.zarr3 as of_version_3
import numpy as np
import zarr
import zarr.codecs

# Types and codecs of version 3 that are not in its specification.
warnings.filterwarnings("ignore")

ATTRIBUTES = {"units": "K", "n": 3, "list": [1, 2], "real": 1.5, "object": {"a": [None, 1.5]}, "texts": ["x", "y"]}

#: Types of both versions, with a fill value.
TYPES: dict[str, Any] = {
    **dict.fromkeys(["bool", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", ">i4", ">f8"], 1),
    "M8[ns]": np.datetime64("NaT"),
    "M8[D]": np.datetime64("NaT"),
    "m8[s]": np.timedelta64("NaT"),
    "m8[us]": np.timedelta64("NaT"),
    "S5": None,
    "U4": None,
    "V3": None,
}

#: Arrays that are refused: what the message contains.
REFUSED = {
    "f2": ("float16", {"dtype": "f2"}),
    "c8": ("complex64", {"dtype": "c8"}),
    "days": ("no spans of time of the unit D", {"dtype": "m8[D]", "fill_value": np.timedelta64("NaT")}),
    "lzma": ('"lzma"', {"dtype": "i4", "zarr_format": 2, "compressors": numcodecs.LZMA()}),
    "halves": (
        "delta is for cells of a width of 4",
        {"dtype": "i8", "zarr_format": 2, "filters": [numcodecs.Delta("i4")]},
    ),
    "jenkins": ('"jenkins_lookup3"', {"dtype": "i4", "zarr_format": 2, "filters": [numcodecs.JenkinsLookup3()]}),
}


class Peer:
    """The command, and what was found."""

    def __init__(self, command: str, folder: pathlib.Path) -> None:
        self.command, self.folder = command, folder
        self.random = np.random.default_rng(1)
        self.cases, self.wrong = 0, 0

    def run(self, *words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.command, *map(str, words)], capture_output=True, text=True, check=False)

    def fail(self, what: str) -> None:
        self.wrong += 1
        print(f"WRONG {what}")

    def values(self, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
        kind, count = np.dtype(dtype), int(np.prod(shape))
        plain = kind.newbyteorder("=")
        if kind.kind == "b":
            cells = self.random.integers(0, 2, count).astype(bool)
        elif kind.kind in "iu":
            limits = np.iinfo(kind)
            cells = self.random.integers(limits.min, limits.max, count, dtype=plain, endpoint=True)
        elif kind.kind == "f":
            cells = self.random.normal(size=count)
        elif kind.kind in "Mm":
            cells = self.random.integers(-(10**9), 10**9, count).astype("i8").view(plain)
        elif kind.kind == "S":
            cells = np.array([f"x{at}".encode() for at in range(count)], dtype=kind)
        elif kind.kind == "U":
            cells = np.array([f"é{at}" for at in range(count)], dtype=kind)
        else:
            cells = self.random.integers(0, 256, count * kind.itemsize, dtype="u1").view(kind)
        return cells.astype(kind).reshape(shape)

    def check(self, name: str, **how: Any) -> None:
        """An array that is made, imported, exported in both versions, and read again."""
        self.cases += 1
        how = {"shape": (13, 17), "chunks": (4, 5), "dtype": "i4", **how}
        cells = how.pop("cells", None)
        source = self.folder / f"{name}.zarr"
        made = zarr.create_array(source, **how)
        made[...] = self.values(how["dtype"], how["shape"]) if cells is None else cells
        made.attrs.update(ATTRIBUTES)
        expected = np.asarray(made[...])
        done = self.run("import", self.folder / name, source)
        if done.returncode:
            return self.fail(f"{name}: {done.stderr}")
        for version in (2, 3):
            target = self.folder / f"{name}-{version}.zarr"
            done = self.run("export", self.folder / name, target, "--zarr", version)
            if done.returncode:
                self.fail(f"{name}, version {version}: {done.stderr}")
                continue
            read = zarr.open_array(target, mode="r")
            found = np.asarray(read[...])
            if not expected.shape:
                found = found[0]
            if not same(expected, found):
                self.fail(f"{name}, version {version}: {expected.ravel()[:5]} became {found.ravel()[:5]}")
            attributes = {key: value for key, value in read.attrs.items() if key != "_ARRAY_DIMENSIONS"}
            if attributes != ATTRIBUTES:
                self.fail(f"{name}, version {version}: attributes {attributes}")
            if read.chunks != made.chunks and expected.shape and max(how["chunks"]) < 64:
                self.fail(f"{name}, version {version}: chunks {read.chunks}")

    def types(self) -> None:
        for version in (2, 3):
            for dtype, fill in TYPES.items():
                name = dtype.translate({ord(">"): "big-", ord("["): "-", ord("]"): None})
                self.check(f"{name}-of-{version}", dtype=dtype, fill_value=fill, zarr_format=version)
            texts = np.array([f"é{at}" * (at % 4) for at in range(60)], dtype=object).reshape(20, 3)
            for shape, chunks in (((1000,), (64,)), ((7, 11, 5), (3, 4, 5)), ((5, 6), (64, 64)), ((), ())):
                name = f"{len(shape)}-axes-{max(chunks, default=0)}-of-{version}"
                self.check(name, shape=shape, chunks=chunks, dtype="f4", zarr_format=version)
            of_texts: dict[str, Any] = {"shape": (20, 3), "chunks": (3, 2), "dtype": "str", "cells": texts}
            self.check(f"texts-of-{version}", **of_texts, zarr_format=version)
        self.check("slashes", chunk_key_encoding={"name": "v2", "separator": "/"}, zarr_format=2)
        self.check("dots", chunk_key_encoding={"name": "default", "separator": "."})
        self.check("transposed", filters=[zarr.codecs.TransposeCodec(order=(1, 0))])
        self.check("big-endian", serializer=zarr.codecs.BytesCodec(endian="big"))
        for location in ("start", "end"):
            shards = {"shape": (40, 30), "index_location": location}
            self.check(f"shards-{location}", shape=(100, 90), chunks=(10, 10), shards=shards)
        texts = np.array([f"s{at}" * (at % 4) for at in range(20)], dtype=object)
        self.check("shards-of-texts", shape=(20,), chunks=(3,), shards=(9,), dtype="str", cells=texts)

    def orders(self) -> None:
        """Order F of every type, along one, two and three axes, with chunks that end outside of the array."""
        shapes: list[Any] = [((19,), (4,)), ((13, 17), (4, 5)), ((7, 6, 5), (3, 6, 2))]
        for shape, chunks in shapes:
            how: dict[str, Any] = {"order": "F", "zarr_format": 2, "shape": shape, "chunks": chunks}
            for dtype, fill in TYPES.items():
                name = dtype.translate({ord(">"): "big-", ord("["): "-", ord("]"): None})
                self.check(f"order-f-{len(shape)}-{name}", **how, dtype=dtype, fill_value=fill)
            count = int(np.prod(shape))
            texts = np.array([f"é{at}" * (at % 4) for at in range(count)], dtype=object).reshape(shape)
            for name, codec in (("zlib", numcodecs.Zlib(1)), ("none", None)):
                self.check(f"order-f-{len(shape)}-texts-{name}", **how, dtype="str", cells=texts, compressors=codec)

    def chains(self) -> None:
        """Filters behind each other, chosen at random, each for what the one before it makes."""
        wider = {"i1": "i2", "i2": "i4", "i4": "i8", "i8": "i8", "u1": "u2", "u2": "u4", "u4": "u8", "u8": "u8"}
        for number in range(80):
            pick: Callable[[Any], Any] = lambda some: some[int(self.random.integers(len(some)))]
            axes = pick([1, 2, 3])
            shape, chunks = ((19,), (9, 7), (5, 4, 6))[axes - 1], ((4,), (4, 5), (2, 4, 3))[axes - 1]
            dtype = stage = pick([*wider, "f4", "f4", "f8", "f8"])
            if stage[0] == "f":
                cells = np.round(self.random.uniform(1000, 1100, shape), 1).astype(dtype)
            else:
                cells = self.random.integers(0, 20, shape).astype(dtype)
            filters: list[Any] = []
            for _ in range(pick([1, 2, 3])):
                if stage[0] == "f":
                    to, scale = pick(["f4", "f8", "i4", "u2"]), pick([10, 0.3, 7])
                    scaled = numcodecs.FixedScaleOffset(pick([1000, 999.9]), scale, stage, to)
                    real = to if to[0] == "f" else "f8"
                    others = [numcodecs.Delta(stage), numcodecs.Quantize(3, stage, real), numcodecs.BitRound(9)]
                    others.append(numcodecs.AsType(real, stage))
                    codec = pick([scaled, scaled, *others])
                    if codec is scaled:
                        stage = to
                    elif codec is others[1] or codec is others[3]:
                        stage = real
                else:
                    to = pick([stage, wider[stage]])
                    delta, cast = numcodecs.Delta(stage, to), numcodecs.AsType(to, stage)
                    codec, stage = pick([delta, delta, cast]), to
                filters.append(codec)
            self.check(
                f"chain-{number}",
                shape=shape,
                chunks=chunks,
                dtype=dtype,
                cells=cells,
                filters=filters,
                order=pick(["C", "F"]),
                compressors=pick([None, numcodecs.Zlib(1), numcodecs.Blosc("zstd", 3, 1)]),
                zarr_format=2,
            )

    def codecs(self) -> None:
        large: dict[str, Any] = {"shape": (300, 200), "chunks": (128, 50)}
        steps = (np.arange(60000).reshape(300, 200) // 3).astype("i4")
        small = self.random.integers(-9, 9, (13, 17)).astype("i4")
        tenths = np.round(self.random.uniform(1000, 1100, (13, 17)), 1)
        old: dict[str, Any] = {
            "zlib": numcodecs.Zlib(1),
            "gzip": numcodecs.GZip(5),
            "bz2": numcodecs.BZ2(3),
            "zstd": numcodecs.Zstd(7),
            "lz4": numcodecs.LZ4(),
            "none": None,
        }
        for cname in ("lz4", "lz4hc", "blosclz", "zlib", "zstd"):
            for shuffle in (0, 1, 2):
                old[f"blosc-{cname}-{shuffle}"] = numcodecs.Blosc(cname=cname, clevel=5, shuffle=shuffle)
        for name, codec in old.items():
            self.check(f"{name}-of-2", **large, cells=steps, compressors=codec, zarr_format=2)
            self.check(f"{name}-of-2-reals", **large, dtype="f8", compressors=codec, zarr_format=2)
        filters = {
            "delta": numcodecs.Delta("i4"),
            "delta-wide": numcodecs.Delta("i4", "i8"),
            "delta-big": numcodecs.Delta(">i4"),
            "shuffle": numcodecs.Shuffle(4),
            "crc32": numcodecs.CRC32(),
            "adler32": numcodecs.Adler32(),
            "fletcher32": numcodecs.Fletcher32(),
            "astype": numcodecs.AsType("i8", "i4"),
        }
        for name, codec in filters.items():
            for order in ("C", "F"):
                how: dict[str, Any] = {"order": order, "compressors": numcodecs.Zlib(1), "zarr_format": 2}
                self.check(f"{name}-of-2-{order}", cells=small, filters=[codec], **how)
        scaled = {"offset": 1000, "scale": 10, "dtype": "f8", "astype": "u2"}
        of_reals = {
            "quantize": numcodecs.Quantize(3, "f8"),
            "quantize-narrow": numcodecs.Quantize(3, "f8", "f4"),
            "bitround": numcodecs.BitRound(10),
            "scaled": numcodecs.FixedScaleOffset(**scaled),
        }
        of_singles = {
            "scaled": numcodecs.FixedScaleOffset(1000.1, 0.3, "f4"),
            "scaled-to-integers": numcodecs.FixedScaleOffset(1000, 10, "f4", "u2"),
            "quantize": numcodecs.Quantize(3, "f4"),
            "delta": numcodecs.Delta("f4"),
            "delta-wide": numcodecs.Delta("f4", "f8"),
            "bitround": numcodecs.BitRound(10),
            "astype": numcodecs.AsType("i8", "f4"),
        }
        for order in ("C", "F"):
            how = {"order": order, "zarr_format": 2}
            for name, codec in of_reals.items():
                self.check(f"{name}-of-2-{order}", dtype="f8", cells=tenths, filters=[codec], **how)
            for name, codec in of_singles.items():
                self.check(f"{name}-of-2-singles-{order}", dtype="f4", cells=tenths, filters=[codec], **how)
            self.check(f"packbits-of-2-{order}", dtype="bool", filters=[numcodecs.PackBits()], **how)

        new: dict[str, Any] = {
            "gzip": zarr.codecs.GzipCodec(level=5),
            "zstd": zarr.codecs.ZstdCodec(level=3, checksum=True),
            "crc32c": [zarr.codecs.GzipCodec(level=1), zarr.codecs.Crc32cCodec()],
            "bz2": of_version_3.BZ2(level=3),
            "zlib": of_version_3.Zlib(level=3),
            "lz4": of_version_3.LZ4(),
            "shuffle": [of_version_3.Shuffle(elementsize=4), of_version_3.Zlib(level=1)],
            "crc32": [of_version_3.CRC32()],
            "adler32": [of_version_3.Adler32()],
            "fletcher32": [of_version_3.Fletcher32()],
            "none": None,
        }
        for cname in ("lz4", "blosclz", "zlib", "zstd"):
            for shuffle in ("noshuffle", "shuffle", "bitshuffle"):
                codec = zarr.codecs.BloscCodec(cname=cname, clevel=5, shuffle=shuffle, typesize=4)
                new[f"blosc-{cname}-{shuffle}"] = codec
        for name, codec in new.items():
            self.check(f"{name}-of-3", **large, cells=steps, compressors=codec)
        self.check("delta-of-3", cells=small, filters=[of_version_3.Delta(dtype="i4")])
        self.check("scaled-of-3", dtype="f8", cells=tenths, filters=[of_version_3.FixedScaleOffset(**scaled)])
        self.check("packbits-of-3", dtype="bool", filters=[of_version_3.PackBits()])

    def far(self) -> None:
        """Chunks that are far from each other: no others are written."""
        self.cases += 1
        shape, names = (10**6, 10**6), ["y", "x"]
        made = zarr.create_array(
            self.folder / "far.zarr", shape=shape, chunks=(1000, 1000), dtype="i4", fill_value=-7, dimension_names=names
        )
        made[5:10, 999:1001] = 3
        made[999000:, 0] = 4
        for word, folder in (("import", "far.zarr"), ("export", "back.zarr")):
            done = self.run(word, self.folder / "far", self.folder / folder)
            if done.returncode:
                return self.fail(f"far: {done.stderr}")
        read = zarr.open_array(self.folder / "back.zarr", mode="r")
        cells = [*read[5:10, 999:1001].ravel(), read[0, 0], read[999000, 0], read[999999, 1]]
        files = [path for path in (self.folder / "back.zarr").rglob("*") if path.is_file()]
        if cells != [3] * 10 + [-7, 4, -7] or read.metadata.dimension_names != tuple(names) or len(files) != 4:
            self.fail(f"far: {cells}, {read.metadata.dimension_names}, {files}")

    def groups(self) -> None:
        for version in (2, 3):
            self.cases += 1
            source, target = self.folder / f"group-{version}.zarr", self.folder / f"group-{version}-back.zarr"
            group = zarr.create_group(source, zarr_format=version, attributes=ATTRIBUTES)
            inner = group.create_group("inner")
            inner.attrs["deep"] = {"nothing": None}
            cells = self.values("f4", (6, 4))
            for place, name in ((group, "a"), (inner, "b")):
                place.create_array(name, shape=(6, 4), chunks=(3, 4), dtype="f4")[...] = cells
            array = self.folder / f"group-{version}"
            for words in (("import", array, source), ("export", array, target, "--zarr", version)):
                done = self.run(*words)
                if done.returncode:
                    return self.fail(f"group of version {version}: {done.stderr}")
            read = zarr.open_group(target, mode="r")
            found = [np.asarray(read[path][...]) for path in ("a/values", "inner/b/values")]
            if dict(read.attrs) != ATTRIBUTES or dict(read["inner"].attrs) != {"deep": {"nothing": None}}:
                self.fail(f"group of version {version}: attributes {dict(read.attrs)}")
            if not all(same(cells, one) for one in found):
                self.fail(f"group of version {version}: other cells")

    def refused(self) -> None:
        for name, (why, how) in REFUSED.items():
            self.cases += 1
            source, target = self.folder / f"no-{name}.zarr", self.folder / f"no-{name}"
            zarr.create_array(source, shape=(4,), chunks=(2,), **how)[:] = 1
            done = self.run("import", target, source)
            if done.returncode != 1 or why not in done.stderr or target.exists():
                self.fail(f"{name} is not refused: {done.stderr}")


def same(expected: np.ndarray, found: np.ndarray) -> bool:
    """Whether all cells are the same, bit by bit."""
    if expected.shape != found.shape:
        return False
    if expected.dtype.kind in "OT" or found.dtype.kind in "OT":
        return [str(cell) for cell in expected.ravel()] == [str(cell) for cell in found.ravel()]
    plain: Callable[[np.ndarray], np.ndarray] = lambda cells: cells.astype(cells.dtype.newbyteorder("="))
    one, other = plain(expected), plain(found)
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tdb", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args()
    shutil.rmtree(options.out, ignore_errors=True)
    options.out.mkdir(parents=True)
    peer = Peer(options.tdb, options.out)
    for part in (peer.types, peer.orders, peer.codecs, peer.chains, peer.far, peer.groups, peer.refused):
        part()
    versions = f"zarr {zarr.__version__}, numcodecs {numcodecs.__version__}"
    print(f"{peer.cases} arrays and groups of {versions}: {peer.wrong} wrong")
    return 1 if peer.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
