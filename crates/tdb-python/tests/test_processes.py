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

import numpy as np
import pytest
from at_once import CELLS, shared, sum_of, work

import tdb

def test_eight_threads_four_forked_and_four_spawned_processes_read_and_write_at_once(uri: str) -> None:
    array = shared(uri)
    # The parent has worked before it forks.
    assert work(uri, 99) == sum_of(99)
    kinds = ["spawn"] + (["fork"] if hasattr(os, "fork") else [])
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
