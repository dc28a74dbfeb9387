"""An experiment that `tiledbsoma` makes is read equal to what `tiledbsoma` reads. Runs where `tiledbsoma` is installed: `cargo xtask
python --only soma`."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import tdb.soma

SIDE = pathlib.Path(__file__).parent / "soma_side.py"
CELLS, GENES = 20_000, 3_000
TASKS = ["matrix", "tables", "batches", "tables of axes", "query"]

if importlib.util.find_spec("tiledbsoma") is None:
    pytest.skip("the package tiledbsoma is not installed", allow_module_level=True)


def run(*words: str) -> str:
    done = subprocess.run([sys.executable, str(SIDE), *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> str:
    uri = str(tmp_path_factory.mktemp("soma") / "experiment")
    run("make", uri, str(CELLS), str(GENES))
    return uri


@pytest.mark.parametrize("task", TASKS)
def test_what_is_read_is_what_tiledbsoma_reads(experiment: str, task: str, capsys: pytest.CaptureFixture[str]) -> None:
    said: dict[str, dict[str, Any]] = {side: json.loads(run(side, task, experiment)) for side in ("tdb", "tiledbsoma")}
    with capsys.disabled():
        for side, one in said.items():
            mib = [round(one[name] / (1 << 20)) for name in ("peak", "resident")]
            print(f"\n{task:15} {side:10} {one['seconds']:7.3f} s, {mib[0]:5} MiB more than before, {mib[1]:5} MiB in all", end="")
    assert said["tdb"]["found"] == said["tiledbsoma"]["found"]


def test_uns_and_the_names_of_everything_are_those_of_tiledbsoma(experiment: str) -> None:
    import tiledbsoma

    own, other = tdb.soma.open(experiment), tiledbsoma.open(experiment)
    assert set(own) == set(other) and set(own.ms["RNA"]) == set(other.ms["RNA"])
    for name in ("X", "obsm", "varm", "obsp", "uns"):
        assert set(own.ms["RNA"][name]) == set(other.ms["RNA"][name])
    uns = own.ms["RNA"].uns.to_dict()
    assert (uns["title"], uns["n"], uns["nested"]) == ("made", 3, {"x": 1.5})
    assert uns["numbers"].tolist() == [0, 1, 2, 3, 4] and uns["colors"].tolist() == ["red", "blue"]
    assert own.ms["RNA"].X["data"].shape == other.ms["RNA"].X["data"].shape == (CELLS, GENES)
    assert own.ms["RNA"].X["data"].nnz == other.ms["RNA"].X["data"].nnz
    assert len(own.obs) == other.obs.count == CELLS
    numbers = other.ms["RNA"]["uns"]["numbers"].read().to_numpy()
    assert np.array_equal(own.ms["RNA"].uns["numbers"].to_numpy(), numbers)
