"""Threads, forked and spawned processes, signals."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import numpy as np
import pytest
from at_once import CELLS, shared, sum_of, work
from loader import LIMIT, Cells, Loader, Pictures

import tdb

METHODS = ["spawn"] + (["fork"] if hasattr(os, "fork") else [])


def test_loaders_with_forked_and_spawned_workers_have_equal_epochs_while_others_write(uri: str, tmp_path: pathlib.Path) -> None:
    pictures = np.random.default_rng(1).integers(0, 1 << 20, (64, 6, 6))
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension("i", (0, 63), "int64", tile=8), tdb.Dimension("y", (0, 5), "int64", tile=6), tdb.Dimension("x", (0, 5), "int64", tile=6)],
        [tdb.Attribute("a", "int64", filters="zstd")],
    )
    dense = tdb.create(tmp_path / "dense", schema)
    dense.write(pictures)
    shared(uri)
    work(uri, 1), work(uri, 2)
    # The parent has threads, and has read and written, before the workers are made.
    stop = threading.Event()

    def others(number: int) -> int:
        done = 0
        while not stop.is_set():
            work(uri, 10 + number) if number == 0 else dense[number]
            done += 1
        return done

    # These are opened before the others begin, so they see none of it.
    datasets: list[tuple[str, Any]] = [("map", Pictures(str(tmp_path / "dense"))), ("iterable", Cells(uri))]
    with concurrent.futures.ThreadPoolExecutor(8) as threads:
        busy = [threads.submit(others, number) for number in range(8)]
        loaders = []
        try:
            loaders = [(kind, Loader(dataset, 4, method)) for kind, dataset in datasets for method in METHODS]
            for epoch in range(3):
                for kind, loader in loaders:
                    batches = list(loader.epoch(seed=epoch))
                    if kind == "map":
                        assert sorted(index for indices, _ in batches for index in indices) == list(range(64))
                        assert all((values == pictures[indices]).all() for indices, values in batches)
                    else:
                        writer, x, a = np.concatenate([values for _, values in batches], axis=1)
                        assert len(x) == 2 * CELLS and (a == x * writer).all() and set(writer.tolist()) == {1, 2}
                        assert int(a.sum()) == sum_of(1) + sum_of(2)
            for _, loader in loaders:
                loader.close()
        finally:
            stop.set()
            for _, loader in loaders:
                for worker in loader._workers:
                    worker.kill()
        assert all(one.result(timeout=LIMIT) > 0 for one in busy)


def test_eight_threads_four_forked_and_four_spawned_processes_read_and_write_at_once(uri: str) -> None:
    array = shared(uri)
    # The parent has worked before it forks.
    assert work(uri, 99) == sum_of(99)
    kinds = METHODS
    Pool = concurrent.futures.ProcessPoolExecutor
    pools = [Pool(4, multiprocessing.get_context(kind)) for kind in kinds]
    try:
        results = [
            [pool.submit(work, uri, 10 * at + number) for number in range(4)] for at, pool in enumerate(pools, 1)
        ]
        with concurrent.futures.ThreadPoolExecutor(8) as threads:
            own = list(threads.map(lambda number: work(uri, 30 + number), range(8)))
        found = [[one.result(timeout=240) for one in each] for each in results]
    finally:
        for pool in pools:
            pool.shutdown(wait=False, cancel_futures=True)
    assert own == [sum_of(30 + number) for number in range(8)]
    assert found == [[sum_of(10 * at + number) for number in range(4)] for at in range(1, len(kinds) + 1)]
    assert array.reopen().read().count() == CELLS * (1 + 8 + 4 * len(kinds))


def test_other_threads_run_while_one_reads(uri: str) -> None:
    array = tdb.create(
        uri,
        tdb.Schema("dense", [tdb.Dimension("x", (0, 7_999_999), "int64", tile=8_000)], [tdb.Attribute("a", "int64", filters="gzip(6)")]),
    )
    array.write(np.arange(8_000_000) // 7)
    counted, done = 0, False

    def read() -> None:
        nonlocal done
        tdb.open(uri, threads=1)[:]
        done = True

    with concurrent.futures.ThreadPoolExecutor(1) as threads:
        reading = threads.submit(read)
        while not done and not reading.done():
            counted += 1
            time.sleep(0)
        reading.result()
    # With the lock held, this thread would not have run at all.
    assert counted > 10


@pytest.mark.skipif(sys.platform == "win32", reason="there are other signals")
def test_ctrl_c_ends_a_long_read(uri: str) -> None:
    count = 40_000_000
    schema = tdb.Schema("dense", [tdb.Dimension("x", (0, count - 1), "int64", tile=10_000)], [tdb.Attribute("a", "int64", filters="bzip2(9)")])
    array = tdb.create(uri, schema)
    values = np.random.default_rng(1).integers(0, 1 << 40, 2_000_000)
    array[0:2_000_000] = values
    program = textwrap.dedent(
        """
        import signal, sys, tdb
        # What starts the tests may have told its children to ignore it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        array = tdb.open(sys.argv[1], threads=1)
        print("begun", flush=True)
        try:
            while True:
                array[0:2_000_000]
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        array[0:10]
        print("read again", flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program, uri], stdout=subprocess.PIPE, text=True)
    late = threading.Timer(60, process.kill)
    late.start()
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.3)
        sent = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        took = time.monotonic() - sent
        assert process.stdout.readline() == "read again\n"
    finally:
        late.cancel()
        process.kill()
        process.wait()
    # A whole read takes many times as long; a machine under load is slow.
    whole = time.monotonic()
    tdb.open(uri, threads=1)[0:2_000_000]
    whole = time.monotonic() - whole
    assert took < max(whole / 2, 0.5), (took, whole)


@pytest.mark.skipif(sys.platform == "win32", reason="there are other signals")
def test_ctrl_c_ends_a_write_of_many_batches_and_leaves_the_array_as_it_was(uri: str) -> None:
    pytest.importorskip("pyarrow")
    shared(uri)
    work(uri, 1)
    files = sorted(str(one) for one in pathlib.Path(uri).rglob("*"))
    cells = np.random.default_rng(1).integers(0, 99, 2_000_000)
    slow = tdb.Schema("dense", [tdb.Dimension("i", (0, len(cells) - 1), "int64", tile=5_000)], [tdb.Attribute(name, kind, filters="bzip2(9)") for name, kind in (("writer", "int32"), ("x", "int64"), ("a", "int64"))])
    tdb.create(uri + "-slow", slow).write({"writer": cells.astype(np.int32), "x": cells, "a": cells})
    program = textwrap.dedent(
        """
        import signal, sys, tdb
        signal.signal(signal.SIGINT, signal.default_int_handler)
        array = tdb.open(sys.argv[1])
        print("begun", flush=True)
        try:
            array.write(tdb.open(sys.argv[1] + "-slow", threads=1).stream(memory="8MB"), duplicates="last")
        except KeyboardInterrupt:
            print("interrupted", array.reopen().read().count(), flush=True)
        """
    )
    process = subprocess.Popen([sys.executable, "-c", program, uri], stdout=subprocess.PIPE, text=True)
    late = threading.Timer(60, process.kill)
    late.start()
    try:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == f"interrupted {CELLS}\n"
    finally:
        late.cancel()
        process.kill()
        process.wait()
    assert sorted(str(one) for one in pathlib.Path(uri).rglob("*")) == files


def test_a_handler_of_a_signal_runs_during_a_read_and_may_read(uri: str) -> None:
    if not hasattr(signal, "setitimer"):
        pytest.skip("there are no timers")
    array = tdb.create(
        uri,
        tdb.Schema("dense", [tdb.Dimension("x", (0, 1_999_999), "int64", tile=10_000)], [tdb.Attribute("a", "int64", filters="bzip2(9)")]),
    )
    array.write(np.random.default_rng(1).integers(0, 1 << 40, 2_000_000))
    seen: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(int(array[1])))
    signal.setitimer(signal.ITIMER_REAL, 0.03)
    try:
        cells = tdb.open(uri, threads=1)[:]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert seen == [cells[1]]


def test_a_path_object_is_a_location(tmp_path: pathlib.Path) -> None:
    shared(str(tmp_path / "a"))
    assert tdb.open(tmp_path / "a").schema.sparse
