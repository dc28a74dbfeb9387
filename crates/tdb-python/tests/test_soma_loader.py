"""Batches of a SOMA experiment for training: which cells, in which order, in which process, and what is resumed."""

from __future__ import annotations

import os
import pathlib
import pickle
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from test_soma import _collection, _dense, _marked, _sparse

import tdb
import tdb.soma
from tdb.soma._order import Order
from tdb.soma.loader import Loader

METHODS = ["spawn"] + (["fork"] if hasattr(os, "fork") else [])
ROWS, COLUMNS = 523, 30
KINDS = ["B", "NK", "T"]


@pytest.fixture(scope="module")
def matrix() -> np.ndarray:
    rng = np.random.default_rng(1)
    found = rng.integers(1, 100, (ROWS, COLUMNS)) * (rng.random((ROWS, COLUMNS)) < 0.3)
    found[[0, 100, ROWS - 1]] = 0
    return found.astype(np.float32)


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory, matrix: np.ndarray) -> str:
    folder = tmp_path_factory.mktemp("loader")
    joinid = tdb.Dimension("soma_joinid", (0, 10**9), "int64", tile=100)
    schema = tdb.Schema(
        "sparse",
        [joinid],
        [
            tdb.Attribute("size", "int64"),
            tdb.Attribute("donor", str),
            tdb.Attribute("kind", "int8", nullable=True, enumeration="kinds"),
        ],
        enumerations=[tdb.Enumeration("kinds", KINDS)],
    )
    ids = np.arange(ROWS)
    kinds = np.ma.masked_array((ids % 3).astype(np.int8), ids == 7)
    obs = tdb.create(folder / "obs", schema)
    obs.write({"soma_joinid": ids, "size": ids % 10, "donor": [f"d{at % 4}" for at in ids], "kind": kinds})
    _marked(obs, "SOMADataFrame")
    var = tdb.create(folder / "var", tdb.Schema("sparse", [joinid], [tdb.Attribute("length", "int64")]))
    var.write({"soma_joinid": np.arange(COLUMNS), "length": np.arange(COLUMNS) * 100})
    _marked(var, "SOMADataFrame")
    _sparse(folder / "data", matrix)
    _dense(folder / "dense", matrix)
    tops = {"e": "SOMAExperiment", "ms": "SOMACollection", "rna": "SOMAMeasurement", "X": "SOMACollection"}
    groups = {name: _collection(folder / name, kind) for name, kind in tops.items()}
    for group, name, place in [
        ("X", "data", "data"),
        ("X", "dense", "dense"),
        ("rna", "var", "var"),
        ("rna", "X", "X"),
        ("ms", "RNA", "rna"),
        ("e", "obs", "obs"),
        ("e", "ms", "ms"),
    ]:
        groups[group].add(str(folder / place), name)
    return str(folder / "e")


@pytest.fixture(scope="module")
def query(experiment: str) -> tdb.soma.AxisQuery:
    pytest.importorskip("scipy")
    pytest.importorskip("pandas")
    return tdb.soma.open(experiment).axis_query("RNA")


@pytest.fixture
def torch_query(query: tdb.soma.AxisQuery) -> Iterator[tdb.soma.AxisQuery]:
    """The query, where torch is the stub of these tests."""
    stub = str(pathlib.Path(__file__).parent / "torch_stub")
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == "torch"}
    before.update({name: sys.modules.pop(name) for name in ["tdb.soma.torch"] if name in sys.modules})
    sys.path.insert(0, stub)
    yield query
    sys.path.remove(stub)
    for name in [name for name in sys.modules if name.split(".")[0] == "torch" or name == "tdb.soma.torch"]:
        del sys.modules[name]
    sys.modules.update(before)


def ids_of(batches: Any) -> list[list[int]]:
    return [batch.ids.tolist() for batch in batches]


def flat(batches: list[list[int]]) -> list[int]:
    return [one for batch in batches for one in batch]


@pytest.mark.parametrize("layer", ["data", "dense"])
@pytest.mark.parametrize("dense", [False, True])
@pytest.mark.parametrize("prefetch", [0, 1, 3])
def test_rows_of_a_batch_are_those_of_its_ids(
    query: Any, matrix: np.ndarray, layer: str, dense: bool, prefetch: int
) -> None:
    loader = Loader(
        query,
        batch_size=32,
        layer=layer,
        obs_columns=["size", "donor"],
        chunk=5,
        buffer=100,
        dense=dense,
        prefetch=prefetch,
    )
    assert len(loader) == 17 and loader.buffer == 96
    batches = list(loader)
    assert [len(batch.ids) for batch in batches] == [32] * 16 + [ROWS - 16 * 32]
    for X, obs, ids in batches:
        values = X if dense or layer == "dense" else X.toarray()
        assert isinstance(values, np.ndarray) and (values == matrix[ids]).all()
        assert (obs["size"] == ids % 10).all() and obs["donor"].tolist() == [f"d{at % 4}" for at in ids]
    assert sorted(flat(ids_of(batches))) == list(range(ROWS))


def test_conditions_choose_rows_and_columns(experiment: str, matrix: np.ndarray) -> None:
    pytest.importorskip("scipy")
    pytest.importorskip("pandas")
    query = tdb.soma.open(experiment).axis_query("RNA", obs="size < 3 and kind == 'T'", var=[1, 2, 17, 29])
    found = list(Loader(query, batch_size=10, chunk=3, obs_columns=["kind"]))
    ids = np.concatenate([batch.ids for batch in found])
    assert sorted(ids.tolist()) == [at for at in range(ROWS) if at % 10 < 3 and at % 3 == 2]
    assert all((batch.X.toarray() == matrix[batch.ids][:, [1, 2, 17, 29]]).all() for batch in found)
    assert all((batch.obs["kind"] == 2).all() for batch in found)


def test_categories_are_numbers_and_frames_have_them(query: Any) -> None:
    loader = Loader(query, obs_columns=["kind", "soma_joinid"], batch_size=ROWS)
    assert loader.categories["kind"].tolist() == KINDS and list(loader.categories) == ["kind"]
    ((_, obs, ids),) = loader
    assert (obs["kind"] == np.where(ids == 7, -1, ids % 3)).all() and (obs["soma_joinid"] == ids).all()
    framed = Loader(query, obs_columns=["kind", "size"], batch_size=ROWS, frames=True)
    ((_, frame, same),) = framed
    assert (same == ids).all() and frame.index.tolist() == ids.tolist() and list(frame.columns) == ["kind", "size"]
    assert frame["kind"].cat.categories.tolist() == KINDS and frame["kind"].isna().sum() == 1
    ((_, nothing, _),) = Loader(query, batch_size=ROWS, frames=True)
    assert len(nothing) == ROWS and not len(nothing.columns)


def test_seed_and_epoch_say_the_order(query: Any) -> None:
    def order(**options: Any) -> list[int]:
        return flat(ids_of(Loader(query, batch_size=20, chunk=7, buffer=100, **options)))

    first = order(seed=3, epoch=1)
    assert first == order(seed=3, epoch=1, prefetch=0)
    others = [order(seed=3, epoch=2), order(seed=4, epoch=1), order(seed=3)]
    assert all(sorted(other) == sorted(first) and other != first for other in others)
    assert order(shuffle=False) == list(range(ROWS))
    loader = Loader(query, batch_size=20, chunk=7, buffer=100, seed=3)
    loader.set_epoch(1)
    assert flat(ids_of(loader)) == first == flat(ids_of(loader))


def test_a_buffer_has_whole_chunks_from_everywhere(query: Any) -> None:
    batches = ids_of(Loader(query, batch_size=50, chunk=10, buffer=100, seed=1))
    buffer = np.array(flat(batches[:2]))
    # Of the last chunk of a buffer, and of the last one of all, which is short, it has a part.
    counts = Counter((buffer // 10).tolist())
    assert len(counts) <= 11 and sorted(counts.values())[2:] == [10] * (len(counts) - 2)
    assert np.ptp(buffer) > ROWS // 2 and (np.diff(buffer) == 1).mean() < 0.1
    # Rows of one batch are of more chunks than would fit one after the other.
    assert len(set((np.array(batches[0]) // 10).tolist())) > 7


@pytest.mark.parametrize("rows", [1, 3])
def test_more_ranks_than_rows_have_each_of_them_again(rows: int) -> None:
    found = []
    for rank in range(2000):
        own = list(Order(rows, 4, 5, 8, 9, rank, 2000, "pad", True).buffers(0, 0, 1))
        assert [len(one) for one in own] == [1]
        found += own[0].tolist()
    assert set(found) == set(range(rows)) and max(Counter(found).values()) <= -(-2000 // rows)


@pytest.mark.parametrize("world_size", [1, 2, 3, 7])
@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("shuffle", [False, True])
def test_ranks_and_workers_have_every_row_once(world_size: int, parts: int, shuffle: bool) -> None:
    for rows, size in [(523, 32), (64, 32), (65, 32), (100, 1), (8, 3)]:
        for last in ("keep", "pad", "drop"):
            orders = [
                Order(rows, size, 5, 2 * size + 1, 9, rank, world_size, last, shuffle) for rank in range(world_size)
            ]
            found = [
                [flat([one.tolist() for one in own.buffers(2, part, parts)]) for part in range(parts)] for own in orders
            ]
            ranks = [flat(each) for each in found]
            counts = Counter(flat(ranks))
            batches = [sum(-(-len(part) // size) for part in each) for each in found]
            assert batches == [own.batches for own in orders]
            if last == "keep":
                assert sorted(flat(ranks)) == list(range(rows)) and max(map(len, ranks)) - min(map(len, ranks)) <= 1
            elif last == "pad":
                assert set(counts) == set(range(rows)) and len({len(each) for each in ranks}) == 1
                assert sum(counts.values()) - rows == -rows % world_size and all(
                    len(set(each)) == len(each) for each in ranks
                )
            else:
                assert all(len(part) % size == 0 for each in found for part in each) and len(set(batches)) == 1
                assert set(counts.values()) <= {1} and rows - len(counts) < world_size * size


def test_a_state_goes_on_after_the_last_batch(query: Any) -> None:
    options: dict[str, Any] = {
        "batch_size": 20,
        "chunk": 7,
        "buffer": 100,
        "seed": 3,
        "epoch": 4,
        "rank": 1,
        "world_size": 2,
    }
    whole = ids_of(Loader(query, **options))
    assert len(whole) == 14
    for had in (0, 1, 4, 5, 6, 13, 14):
        loader = Loader(query, **options)
        batches = iter(loader)
        assert ids_of(next(batches) for _ in range(had)) == whole[:had]
        state = pickle.loads(pickle.dumps(loader.state_dict()))
        again = Loader(query, **{**options, "epoch": 0})
        again.load_state_dict(state)
        assert again.epoch == 4 and again.state_dict() == state
        assert ids_of(again) == whole[had:]
        # The next iteration is a whole one, and so is that of another epoch.
        assert ids_of(again) == whole
        again.load_state_dict(state)
        again.set_epoch(4)
        again.set_epoch(5)
        assert ids_of(again) == ids_of(Loader(query, **{**options, "epoch": 5}))


def test_a_state_of_another_loader_is_refused(query: Any) -> None:
    state = Loader(query, batch_size=20, seed=3).state_dict()
    with pytest.raises(tdb.QueryError, match=r"batch_size=20; this one has 30"):
        Loader(query, batch_size=30, seed=3).load_state_dict(state)
    with pytest.raises(tdb.QueryError, match="seed=3"):
        Loader(query, batch_size=20, seed=4).load_state_dict(state)
    for wrong, why in [
        ({"batches": -1}, "batches=-1: a number from 0 on"),
        ({"epoch": 1.5}, "epoch=1.5"),
        ({"parts": 0}, "parts=0: a number from 1 on"),
        ({"part": 2, "parts": 2}, "of the part 2 of 2: the last one is 1"),
        ({"part": 0, "parts": None}, "parts=None"),
    ]:
        with pytest.raises(tdb.QueryError, match=why):
            Loader(query, batch_size=20, seed=3).load_state_dict({**state, **wrong})
    with pytest.raises(tdb.QueryError, match="batches=-1"):
        Loader(query).state_dict(-1)
    with pytest.raises(tdb.QueryError, match="epoch=-1"):
        Loader(query).set_epoch(-1)
    with pytest.raises(tdb.QueryError, match="no state of a loader: it has x"):
        Loader(query).load_state_dict({"x": 1})
    loader = Loader(query, batch_size=20, seed=3)
    next(loader.part(0, 2))
    loader.load_state_dict({**state, "part": 0, "parts": 2})
    with pytest.raises(tdb.QueryError, match="one of 2 workers, and this is one of 3"):
        loader.part(0, 3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"batch_size": 0}, "batch_size=0: a number from 1"),
        ({"chunk": 1.5}, "chunk=1.5"),
        ({"buffer": 100}, "buffer=100: a number from 128"),
        ({"rank": 2, "world_size": 2}, "rank=2: of 2 ranks the last one is 1"),
        ({"last": "most"}, "last='most': one of pad, drop, keep"),
        ({"layer": "raw"}, "no 'raw'"),
        ({"obs_columns": ["color"]}, "color"),
        ({"memory": "much"}, "much"),
    ],
)
def test_wrong_options_are_refused(query: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(tdb.QueryError, match=said):
        Loader(query, **options)


def test_nothing_is_no_batch(experiment: str) -> None:
    pytest.importorskip("scipy")
    pytest.importorskip("pandas")
    query = tdb.soma.open(experiment).axis_query("RNA", obs="size == 99")
    for last in ("pad", "drop", "keep"):
        assert list(Loader(query, obs_columns=["size"], last=last, world_size=3)) == []


def test_memory_says_the_rows_of_a_buffer(query: Any) -> None:
    sizes = [
        Order(10**9, 1, 64, loader.buffer, 0, 0, 1, "pad", True).buffer for loader in [Loader(query, batch_size=1)]
    ]
    # No more than there are.
    assert sizes == [ROWS]
    small = Loader(query, batch_size=1, memory="16MiB")
    assert small.buffer == 1
    middle = Loader(query, batch_size=1, memory=(16 << 20) + 40_000)
    # 9 values a row, of 28 bytes.
    assert 100 < middle.buffer < 200 and sorted(flat(ids_of(middle))) == list(range(ROWS))


def test_rows_with_more_values_than_the_mean_fit(query: Any, matrix: np.ndarray) -> None:
    loader = Loader(query, batch_size=100, prefetch=2)
    loader._row_values = 0.1
    for X, _, ids in loader:
        assert (X.toarray() == matrix[ids]).all()


def test_an_iteration_that_is_left_ends_its_thread(query: Any) -> None:
    batches = iter(Loader(query, batch_size=10, buffer=10, prefetch=2))
    next(batches)
    assert any(thread.name.startswith("tdb-loader") for thread in threading.enumerate())
    batches.close()  # type: ignore[attr-defined]
    assert not any(thread.name.startswith("tdb-loader") for thread in threading.enumerate())


def test_errors_of_a_read_ahead_reach_the_program(query: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = Loader(query, batch_size=100, buffer=100)
    opened = loader._open()
    rows, calls = opened.buffer, []

    def fails(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise OSError("the disk is gone")
        return rows(*given)

    monkeypatch.setattr(opened, "buffer", fails)
    batches = iter(loader)
    next(batches), next(batches)
    with pytest.raises(OSError, match="the disk is gone"):
        next(batches)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_an_iteration_does_not_go_on_in_a_forked_process(query: Any) -> None:
    loader = Loader(query, batch_size=100, buffer=100)
    batches = iter(loader)
    first = next(batches).ids.tolist()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            # A new iteration works, the old one says why it does not.
            assert next(iter(loader)).ids.tolist() == first
            next(batches)
        except tdb.QueryError as error:
            code = 0 if "another process" in str(error) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert sorted(first + flat(ids_of(batches))) == list(range(ROWS))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_have_every_row_once_and_are_resumed(torch_query: Any, matrix: np.ndarray, method: str) -> None:
    from torch.utils.data import DataLoader

    from tdb.soma.torch import IterableDataset

    options: dict[str, Any] = {
        "batch_size": 20,
        "chunk": 7,
        "buffer": 40,
        "seed": 3,
        "dense": True,
        "obs_columns": ["size"],
    }

    def epoch(loader: Any) -> list[tuple[list[int], Any]]:
        found = []
        for (X, obs, ids), state in loader.epoch():
            assert (X == matrix[ids]).all() and (obs["size"] == ids % 10).all()
            found.append((ids.tolist(), state))
        return found

    dataset = IterableDataset(torch_query, **options)
    # This process has read before the workers are made.
    assert sorted(flat(ids_of(dataset))) == list(range(ROWS))
    loader = DataLoader(dataset, 3, method)
    try:
        first = epoch(loader)
        assert len(first) == len(dataset) == 27 and sorted(flat([ids for ids, _ in first])) == list(range(ROWS))
        # Workers that live on hear of the next epoch.
        dataset.set_epoch(1)
        second = epoch(loader)
        assert sorted(flat([ids for ids, _ in second])) == list(range(ROWS))
        assert [ids for ids, _ in second] != [ids for ids, _ in first]
    finally:
        loader.close()
    for had in (5,) if method == "spawn" else (0, 5, 26):
        again = IterableDataset(torch_query, **options)
        again.load_state_dict(dataset.state_dict(had))
        assert again.epoch == 1
        loader = DataLoader(again, 3, method)
        try:
            assert [ids for ids, _ in epoch(loader)] == [ids for ids, _ in second][had:]
        finally:
            loader.close()
    # The state of a worker, as it was when it gave its third batch.
    state = second[6][1]
    assert (state["part"], state["parts"], state["batches"], state["epoch"]) == (0, 3, 3, 1)
    one = IterableDataset(torch_query, **options)
    one.load_state_dict(state)
    assert ids_of(one.loader.part(0, 3)) == [ids for ids, _ in second][9::3]


def test_ranks_are_those_of_torch(torch_query: Any) -> None:
    import torch.distributed

    from tdb.soma.torch import IterableDataset

    found = []
    for rank in range(2):
        torch.distributed.RANKS = (rank, 2)
        dataset = IterableDataset(torch_query, batch_size=20)
        assert (dataset.loader._order.rank, dataset.loader._order.world_size) == (rank, 2)
        found += flat(ids_of(dataset))
    assert len(found) == ROWS + 1 and set(found) == set(range(ROWS))
    assert IterableDataset(torch_query, rank=0, world_size=1).loader._order.world_size == 1
    # Half of what says the part would be another one in each process, or the same one.
    for options, said in [({"world_size": 2}, "world_size is given without rank"), ({"rank": 1}, "rank is given without world_size")]:
        for ranks in [(0, 2), None]:
            torch.distributed.RANKS = ranks
            with pytest.raises(tdb.QueryError, match=said):
                IterableDataset(torch_query, **options)


def test_a_dataset_is_pickled_with_its_epoch_and_state(torch_query: Any) -> None:
    from tdb.soma.torch import IterableDataset

    dataset = IterableDataset(torch_query, batch_size=20, seed=1)
    dataset.set_epoch(6)
    whole = ids_of(dataset)
    batches = iter(dataset)
    next(batches)
    again = pickle.loads(pickle.dumps(dataset))
    assert again.epoch == 6 and ids_of(again) == whole
    again.load_state_dict(dataset.state_dict())
    assert ids_of(pickle.loads(pickle.dumps(again))) == whole[1:]
