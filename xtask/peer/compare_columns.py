"""Makes the columns of cells that `cargo xtask compare filters` and `cargo xtask compare writes` write.

    python compare_columns.py --out DIR --for filters|writes

Made once: about 200 MB each for the filters, up to 400 MB for the writes. The content depends on nothing but this file.
"""

import argparse
import os

import numpy as np

# Whole tiles of 1 MiB: the zeros that pad a last one would not go through positive delta.
BYTES = 191 * 2**20


def steps(count, spread, seed):
    """A slow wave with noise: what a sensor returns."""
    rng = np.random.default_rng(seed)
    x = np.arange(count, dtype=np.float64)
    return 15 + 10 * np.sin(x / 30_000) + 3 * np.sin(x / 911) + rng.normal(0, spread, count)


def counts32():
    return np.round(steps(BYTES // 4, 0.05, 1) * 100).astype(np.int32)


def times64():
    rng = np.random.default_rng(2)
    return 1_700_000_000_000 + np.cumsum(rng.integers(0, 40, BYTES // 8)).astype(np.int64)


def sensor64():
    return np.round(steps(BYTES // 8, 0.05, 3), 2)


def grid64():
    """Multiples of a quarter, which float-scale keeps."""
    return np.round(steps(BYTES // 8, 0.5, 6) * 4) / 4


def sensor32():
    return np.round(steps(BYTES // 4, 0.05, 4), 2).astype(np.float32)


def runs32():
    """Runs of 8 to 40 equal values."""
    rng = np.random.default_rng(5)
    lengths = rng.integers(8, 41, BYTES // 4 // 8)
    return np.repeat(rng.integers(0, 1000, len(lengths)).astype(np.int32), lengths)[:BYTES // 4]


def words(distinct, sort):
    """Strings and their offsets; `sort` brings equal ones together."""
    rng = np.random.default_rng(7)
    syllables = ["ka", "to", "mi", "re", "sol", "fa", "lun", "ze", "bor", "an", "de", "ost"]
    vocabulary = ["".join(syllables[k] for k in rng.integers(0, 12, rng.integers(2, 6))) for _ in range(distinct)]
    count = BYTES // 16
    picks = rng.integers(0, distinct, count)
    if sort:
        picks = np.repeat(picks, rng.integers(1, 12, count))[:count]
    lengths = np.array([len(word) for word in vocabulary], np.int64)[picks]
    table = np.zeros((distinct, 16), np.uint8)
    for row, word in zip(table, vocabulary):
        row[:len(word)] = np.frombuffer(word.encode(), np.uint8)
    values = table[picks][np.arange(16)[None, :] < lengths[:, None]]
    offsets = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.uint64)
    return values, offsets


def surface():
    """A smooth surface with noise, in steps of 0.01: what a sensor grid looks like. 400 MB, row by row."""
    rng = np.random.default_rng(8)
    y, x = np.ogrid[0:7000, 0:7168]
    smooth = 15 + 10 * np.sin(x / 300.0) * np.cos(y / 450.0) + 3 * np.sin((x + y) / 90.0)
    return np.round(smooth + rng.normal(0, 0.05, smooth.shape), 2)


POINTS = 8_000_000
WIDE = 100_000_000


def point(which):
    """Places all over a square, in no order, and a value that goes with them."""
    rng = np.random.default_rng(9)
    x, y = rng.integers(0, WIDE, POINTS), rng.integers(0, WIDE, POINTS)
    return {"x": x, "y": y, "v": np.round(np.sin(x / 1e7) + y / 1e8 + rng.normal(0, 0.1, POINTS), 3)}[which]


STRINGS = 2_000_000


def names():
    """Short words of UTF-8, some of them empty."""
    rng = np.random.default_rng(10)
    syllables = ["ka", "to", "mi", "ré", "sol", "fa", "lun", "zé", "bor", "an", "", "ost"]
    picks = rng.integers(0, len(syllables), (STRINGS, 4)).tolist()
    cells = ["".join([syllables[k] for k in four]).encode() for four in picks]
    lengths = np.fromiter(map(len, cells), np.int64, STRINGS)
    return np.frombuffer(b"".join(cells), np.uint8), np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.uint64)


def shuffled():
    return np.random.default_rng(11).permutation(STRINGS)


def genes():
    """Two thousand names, a thousand times each, in no order; `shuffled` numbers the pairs of name and number."""
    cells = np.array(["ENSG%011d" % (n * 7919) for n in range(2000)], dtype="S")[shuffled() // 1000]
    return cells.view(np.uint8), (np.arange(STRINGS) * cells.dtype.itemsize).astype(np.uint64)


COLUMNS = {
    "filters": {
        "counts32": counts32, "times64": times64, "sensor64": sensor64, "grid64": grid64, "sensor32": sensor32,
        "runs32": runs32, "words": lambda: words(500, False), "word_runs": lambda: words(500, True),
    },
    "writes": {
        "surface": surface, "point_x": lambda: point("x"), "point_y": lambda: point("y"), "point_v": lambda: point("v"),
        "names": names, "shuffled": shuffled, "genes": genes, "gene_numbers": lambda: shuffled() % 1000,
        "small": lambda: (np.arange(1_000_000) * 7 % 1013).astype(np.int32),
        "scattered": lambda: np.random.default_rng(12).permutation(4_000_000),
        "scattered_v": lambda: np.round(np.sin(np.arange(4_000_000) / 1e5), 3),
    },
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    parser.add_argument("--for", required=True, choices=list(COLUMNS), dest="use")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for name, make in COLUMNS[args.use].items():
        final = os.path.join(args.out, name)
        if os.path.exists(final):
            continue
        made = make()
        if isinstance(made, tuple):
            made[1].tofile(final + ".offsets")
            made = made[0]
        made.tofile(final + ".part")
        os.rename(final + ".part", final)
        print(name, flush=True)


if __name__ == "__main__":
    main()
