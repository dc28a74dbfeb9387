"""``tdb soma import`` and ``export`` of Matrix Market make what ``tdb.soma.from_10x`` makes, and what it reads."""

from __future__ import annotations

import gzip
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tdb
import tdb.soma
from tdb import _tdb

for needed in ("pyarrow", "pandas", "scipy", "anndata"):
    pytest.importorskip(needed)


@pytest.fixture
def command() -> Callable[..., None]:
    """The command, which builds with the feature ``sql`` have."""
    run = getattr(_tdb, "command", None)
    if run is None:
        pytest.skip("this build has no command")

    def checked(*words: Any) -> None:
        assert run(["tdb", *map(str, words)]) == 0, words

    return checked


def _folder(path: pathlib.Path, values: str, types: bool, packed: bool, seed: int) -> pathlib.Path:
    """A folder of Cell Ranger with random values."""
    rng = np.random.default_rng(seed)
    genes, cells = int(rng.integers(1, 30)), int(rng.integers(1, 40))
    places = [(gene, cell) for cell in range(1, cells + 1) for gene in range(1, genes + 1) if rng.random() < 0.3]
    # Some are there several times, in the order of the others or in none.
    places += [places[at] for at in rng.integers(0, len(places), len(places) // 5)] if places else []
    places = sorted(places, key=lambda place: place[::-1]) if seed % 2 else [places[at] for at in rng.permutation(len(places))]
    # Eighths have the same sum in every order.
    numbers = rng.integers(1, 1000, len(places)) / (1 if values == "integer" else 8)
    numbers = numbers.astype(np.int64) if values == "integer" else numbers
    shown = [""] * len(places) if values == "pattern" else [f" {one}" for one in numbers]
    lines = [f"%%MatrixMarket matrix coordinate {values} general", "%", f"{genes} {cells} {len(places)}"]
    lines += [f"{gene} {cell}{value}" for (gene, cell), value in zip(places, shown)]
    kinds = ["Gene Expression", "Antibody Capture", "ü"]
    features = [f"ENSG{at}\tG{at % 7}" + (f"\t{kinds[at % 3]}" if types else "") for at in range(genes)]
    if types and seed >= 2:
        # As Cell Ranger ARC writes them: some have a place in the genome, which may be no number.
        ends = ["" if at % 3 == 2 else f"\tchr{at % 4}\t{at * 100}\t{'?' if seed == 4 else at}" for at in range(genes)]
        features = [own + end for own, end in zip(features, ends)]
    files = {
        "matrix.mtx": lines,
        "barcodes.tsv": [f"AAAC{at}-1" for at in range(cells)],
        "features.tsv" if types else "genes.tsv": features,
    }
    path.mkdir()
    for name, own in files.items():
        text = "".join(f"{line}\n" for line in own).encode()
        (path / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(text) if packed else text)
    return path


def _expect_same(one: tdb.soma.Experiment, other: tdb.soma.Experiment, X: str = "data") -> None:
    """Both experiments have the same cells, types, schemas and metadata."""
    import pandas

    found, wanted = one.axis_query("RNA").to_anndata(X), other.axis_query("RNA").to_anndata(X)
    pandas.testing.assert_frame_equal(found.obs, wanted.obs)
    pandas.testing.assert_frame_equal(found.var, wanted.var)
    assert found.X.dtype == wanted.X.dtype and (found.X != wanted.X).nnz == 0
    assert one.meta == other.meta
    for name in ("obs", "ms/RNA/var", f"ms/RNA/X/{X}"):
        ours, theirs = (tdb.open(f"{own.uri}/{name}") for own in (one, other))
        assert ours.schema == theirs.schema and dict(ours.meta) == dict(theirs.meta), name


@pytest.mark.parametrize("seed", range(6))
def test_the_command_makes_the_experiment_that_from_10x_makes(
    tmp_path: pathlib.Path, command: Callable[..., None], seed: int
) -> None:
    values = ["integer", "real", "pattern"][seed % 3]
    source = _folder(tmp_path / "matrix", values, seed % 2 == 0, seed < 3, seed)
    command("soma", "import", source, tmp_path / "made")
    made, wanted = tdb.soma.open(tmp_path / "made"), tdb.soma.from_10x(tmp_path / "wanted", source)
    _expect_same(made, wanted)
    command("soma", "verify", tmp_path / "wanted", "--deep")
    command("soma", "export", tmp_path / "wanted", tmp_path / "back")
    again = tdb.soma.from_10x(tmp_path / "again", tmp_path / "back")
    found, wanted_data = again.axis_query("RNA").to_anndata("data"), wanted.axis_query("RNA").to_anndata("data")
    assert (found.X != wanted_data.X).nnz == 0 and list(found.obs_names) == list(wanted_data.obs_names)
    assert list(found.var["gene_names"]) == list(wanted_data.var["gene_names"])
