"""Makes the columns of cells that `cargo xtask compare filters` writes.

    python compare_columns.py --out DIR

About 200 MB each, made once; the content depends on nothing but this file.
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


COLUMNS = {
    "counts32": counts32, "times64": times64, "sensor64": sensor64, "grid64": grid64, "sensor32": sensor32,
    "runs32": runs32, "words": lambda: words(500, False), "word_runs": lambda: words(500, True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for name, make in COLUMNS.items():
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
