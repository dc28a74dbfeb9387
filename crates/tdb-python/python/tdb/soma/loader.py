"""Batches of cells for training: shuffled by chunks, cut into parts for ranks and workers, and resumed by a state.

:class:`Loader` is an iterator without torch; ``tdb.soma.torch.IterableDataset`` is torch's dataset on top of it.
The rows that an axis query wants are put into an order for each epoch, which seed and epoch say:

1. The ids, in ascending order, are cut into chunks of ``chunk`` neighbours, and the chunks are shuffled.
2. Each rank, and each worker of a rank, gets one part of that order, and reads it in buffers of ``buffer`` rows.
3. The rows of a buffer are shuffled, and cut into batches.

So a batch has rows of at most ``buffer / chunk`` places of the table, each of which gives neighbours: cells that
are stored by donor or by type are mixed as far as that. With ``chunk=1``, or a buffer that has all rows of the
part, every order of the rows of that part is possible; the smaller the chunk, the more is read for nothing, because
arrays store neighbours together.
"""

from __future__ import annotations

import concurrent.futures
import os
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import _tdb
from .._errors import QueryError
from .._needs import needed
from .._read import Batch, Stream, to_numpy
from .._types import AnyArray, number_dtype
from ._arrays import DenseMatrix, _plain
from ._axes import DATA, JOINID, _Axis, _csr
from ._order import LAST, Order
from ._query import AxisQuery

#: Bytes of a value of a sparse buffer that is being made, beside the value itself twice: its row, and its column twice.
_BUILT = 12
#: Bytes of a value of a sparse buffer that is ready, beside the value itself: its column.
_READY = 4
#: The least and the most memory of the reads of which buffers are made.
_READS = (16 << 20, 256 << 20)
#: A table from ids to places has at most this many items for each row.
_SPARSE_IDS = 64


class Rows(NamedTuple):
    """A batch: its rows of ``X``, its columns of ``obs``, and the ids of its cells, all in the same order."""

    #: A matrix of scipy in CSR, or of numpy.
    X: Any
    #: A dictionary of arrays, or a table of pandas.
    obs: Any
    ids: AnyArray


class Loader:
    """The rows that an axis query wants in batches: ``for X, obs, ids in Loader(query, batch_size=128): …``.

    ``obs_columns`` are columns of ``obs``: a dictionary of arrays, in which a categorical column is the numbers of
    its values (-1: missing), which :attr:`categories` has; with ``frames=True`` they are a table of pandas.
    ``dense=True`` makes matrices of numpy.

    ``seed`` and ``epoch`` say the order: :meth:`set_epoch` comes before each epoch, else it is the order of the
    last one. ``chunk`` and ``buffer`` are numbers of rows: see the module. ``rank`` and ``world_size`` choose a
    part of the order. What makes the parts even is ``last``:

    - ``"pad"``: all ranks have the same number of rows, and so of batches. The first rows of the order come once
      more for those that lack one; with one rank every row comes once.
    - ``"drop"``: all batches are full, and all ranks have the same number of them. The rows that are left come in
      no batch of this epoch.
    - ``"keep"``: every row comes once, in one rank. Their numbers of rows differ by one at most, and so may those
      of their batches: nothing that waits for all ranks after each batch may use it.

    ``memory`` bounds what is held of ``X``: the buffer that is given out, the ``prefetch`` ones that a thread reads
    ahead, and the read of which one is made. It says how many rows a buffer has, unless ``buffer`` does, by the
    mean number of values of a row; where the rows of a buffer have more of them, it takes more. Beside that are the
    ids and columns of ``obs`` of all rows of the query, and the batches that the program holds. Each worker process
    has its own memory.
    """

    def __init__(
        self,
        query: AxisQuery,
        *,
        batch_size: int = 128,
        layer: str = "data",
        obs_columns: Sequence[str] = (),
        shuffle: bool = True,
        chunk: int = 64,
        buffer: int | None = None,
        seed: int = 0,
        epoch: int = 0,
        rank: int = 0,
        world_size: int = 1,
        last: str = "pad",
        dense: bool = False,
        frames: bool = False,
        memory: str | int = "1GB",
        prefetch: int = 1,
    ) -> None:
        for name, value, least in (
            ("batch_size", batch_size, 1),
            ("chunk", chunk, 1),
            ("buffer", batch_size if buffer is None else buffer, batch_size),
            ("seed", seed, 0),
            ("epoch", epoch, 0),
            ("rank", rank, 0),
            ("world_size", world_size, 1),
            ("prefetch", prefetch, 0),
        ):
            _expect_number(name, value, least)
        if rank >= world_size:
            raise QueryError(f"rank={rank}: of {world_size} ranks the last one is {world_size - 1}")
        if last not in LAST:
            raise QueryError(f"last={last!r}: one of {', '.join(LAST)} is expected")
        self.query, self.layer, self.dense, self.frames = query, layer, dense, frames
        self.obs_columns = [obs_columns] if isinstance(obs_columns, str) else list(obs_columns)
        self.prefetch = int(prefetch)
        self._memory = _tdb.memory_bytes(str(memory))
        self._epoch = int(epoch)
        # The state that the next iteration begins with; what the last one has given: its part, of how many, batches.
        self._begin: dict[str, Any] | None = None
        self._given: tuple[int, int, int] = (0, 1, 0)
        self._opened: _Opened | None = None
        self._process = os.getpid()
        #: The ids of the rows, in ascending order.
        self.obs_ids: AnyArray = query.obs_ids
        #: The ids of the columns, in ascending order.
        self.var_ids: AnyArray = query.var_ids
        columns = _columns(query, self.obs_columns, self.obs_ids) if self.obs_columns or frames else {}
        #: The values of the categorical columns that are wanted, by the names of the columns.
        self.categories: dict[str, AnyArray] = {
            name: column.cat.categories.to_numpy() for name, column in columns.items() if hasattr(column, "cat")
        }
        self._columns: Any = columns if frames else {name: _array(column) for name, column in columns.items()}
        matrix = query.measurement.X._member(layer)
        if len(matrix.shape) != 2:
            raise QueryError(f"{matrix.uri} has {len(matrix.shape)} axes: a loader takes matrices with two")
        self._reads = min(max(self._memory // 4, _READS[0]), _READS[1])
        self._row_values = _row_values(matrix, len(self.var_ids))
        if buffer is None:
            buffer = max((self._memory - self._reads) // self._row_bytes(matrix), batch_size)
        self._order = Order(
            len(self.obs_ids),
            int(batch_size),
            int(chunk),
            int(buffer),
            int(seed),
            int(rank),
            int(world_size),
            last,
            bool(shuffle),
        )

    @property
    def buffer(self) -> int:
        """The rows of a buffer: a multiple of those of a batch."""
        return self._order.buffer

    @property
    def epoch(self) -> int:
        """The epoch: :meth:`set_epoch` changes it."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration is about. A state that was loaded counts in its own epoch only."""
        _expect_number("epoch", epoch, 0)
        if epoch != self._epoch:
            self._begin, self._given = None, (0, 1, 0)
        self._epoch = int(epoch)

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """What :meth:`load_state_dict` of an equal loader needs to go on after the last batch that was given: a few
        numbers.

        ``batches`` is the number of batches of this epoch that the program had, for where it takes them from other
        processes, such as the workers of a ``DataLoader``, whose count this object does not have.
        """
        if batches is not None:
            _expect_number("batches", batches, 0)
        part, parts, given = (None, None, int(batches)) if batches is not None else self._given
        if self._begin is not None and batches is None:
            part, parts, given = (self._begin[name] for name in ("part", "parts", "batches"))
        return {**self._order.said(), "epoch": self.epoch, "part": part, "parts": parts, "batches": given}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next iteration of that epoch goes on where the state was taken. The loader must be the same otherwise."""
        own = {**self._order.said(), "epoch": 0, "part": 0, "parts": 0, "batches": 0}
        if set(state) != set(own):
            raise QueryError(f"this is no state of a loader: it has {', '.join(map(str, state))}, not {', '.join(own)}")
        for name, value in self._order.said().items():
            if state[name] != value:
                raise QueryError(f"the state is of a loader with {name}={state[name]!r}; this one has {value!r}")
        _expect_number("epoch", state["epoch"], 0)
        _expect_number("batches", state["batches"], 0)
        if state["part"] is not None or state["parts"] is not None:
            _expect_number("parts", state["parts"], 1)
            _expect_number("part", state["part"], 0)
            if state["part"] >= state["parts"]:
                raise QueryError(f"the state is of the part {state['part']} of {state['parts']}: the last one is {state['parts'] - 1}")
        self._epoch = int(state["epoch"])
        self._begin = dict(state)

    def __len__(self) -> int:
        """The number of batches of an epoch in this rank."""
        return self._order.batches

    def __iter__(self) -> Iterator[Rows]:
        return self.part(0, 1)

    def part(self, part: int, parts: int) -> Iterator[Rows]:
        """The batches of one of several workers, which together have those of this rank."""
        begin, self._begin = self._begin, None
        done = 0
        if begin is not None and begin["parts"] is not None:
            if begin["parts"] != parts:
                raise QueryError(f"the state is of one of {begin['parts']} workers, and this is one of {parts}")
            part, done = int(begin["part"]), int(begin["batches"])
        elif begin is not None:
            # Batches are taken from one worker after the other: the part whose turn it is comes first.
            total = int(begin["batches"])
            part = (part + total) % parts
            done = (total - part + parts - 1) // parts
        self._given = (part, parts, done)
        return self._batches(self.epoch, part, parts, done)

    def _batches(self, epoch: int, part: int, parts: int, done: int) -> Iterator[Rows]:
        size = self._order.batch_size
        opened = self._open()
        process = os.getpid()
        stop: list[bool] = []

        def read(ids: AnyArray, places: AnyArray) -> tuple[Any, AnyArray, AnyArray]:
            return opened.buffer(ids, stop, reads), ids, places

        buffers = self._order.buffers(epoch, part, parts, done)
        skip = done % (self._order.buffer // size)
        ahead: deque[Any] = deque()
        # One thread makes buffers, one reads for it.
        pool = concurrent.futures.ThreadPoolExecutor(1, "tdb-loader") if self.prefetch else None
        reads = concurrent.futures.ThreadPoolExecutor(1, "tdb-loader-reads") if self.prefetch else None

        def begin() -> None:
            places = next(buffers, None)
            if places is not None and pool is not None:
                ahead.append(pool.submit(read, self.obs_ids[places], places))
            elif places is not None:
                ahead.append((self.obs_ids[places], places))

        try:
            for _ in range(self.prefetch or 1):
                begin()
            while ahead:
                next_one = ahead.popleft()
                X, ids, places = read(*next_one) if pool is None else next_one.result()
                if pool is not None:
                    begin()
                for at in range(skip * size, len(ids), size):
                    own = slice(at, at + size)
                    done += 1
                    self._given = (part, parts, done)
                    yield Rows(self._matrix(X, own), self._obs(places[own]), ids[own])
                    if os.getpid() != process:
                        raise QueryError("this iteration began in another process: begin one in this process")
                skip = 0
                # Not held while the next one is read.
                del X
                if pool is None:
                    begin()
        finally:
            stop.append(True)
            for threads in (pool, reads) if os.getpid() == process else ():
                if threads is not None:
                    threads.shutdown(wait=True, cancel_futures=True)

    def _matrix(self, X: Any, own: slice) -> Any:
        rows = X[own]
        return rows.toarray() if self.dense and not isinstance(rows, np.ndarray) else rows

    def _obs(self, places: AnyArray) -> Any:
        if self.frames:
            return self._columns.iloc[places]
        return {name: values[places] for name, values in self._columns.items()}

    def _open(self) -> _Opened:
        """The matrix as this process has opened it: what another one opened is not used after a fork."""
        if self._opened is None or self._opened.process != os.getpid():
            matrix = self.query.measurement.X._member(self.layer)
            if self._process != os.getpid():
                matrix = type(matrix)(matrix.array.reopen(matrix.array.window))
            self._opened = _Opened(matrix, self.var_ids, self._reads, self._row_values)
        return self._opened

    def _row_bytes(self, matrix: Any) -> int:
        """What a row takes on average of all buffers that are held at once."""
        item = np.dtype(number_dtype(matrix.array.schema.attribute(DATA).datatype)).itemsize
        if isinstance(matrix, DenseMatrix):
            return max(int(self._row_values * item * (self.prefetch + 2)), 1)
        each = _BUILT + 2 * item + (item + _READY) * self.prefetch
        return max(int(self._row_values * each), 1)

    def __getstate__(self) -> dict[str, Any]:
        """What another process needs: it opens the matrix itself."""
        return {**self.__dict__, "_opened": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _process=os.getpid())

    def __repr__(self) -> str:
        size = self._order.batch_size
        return f"<tdb.soma.loader.Loader: {len(self)} batches of {size} rows, epoch {self.epoch}, of {self.query!r}>"


class _Opened:
    """A matrix that this process has opened."""

    def __init__(self, matrix: Any, var_ids: AnyArray, memory: int, row_values: float) -> None:
        self.process = os.getpid()
        self._matrix, self._memory, self._row_values = matrix, memory, row_values
        self._columns = _Axis(var_ids, matrix.shape[1])

    def buffer(self, ids: AnyArray, stop: list[bool], ahead: concurrent.futures.Executor | None) -> Any:
        """The rows with these ids, in their order. It ends early, and returns nothing, when there is something in
        ``stop``. What is read next is read ``ahead``, if something can."""
        if isinstance(self._matrix, DenseMatrix):
            ascending, back = np.unique(ids, return_inverse=True)
            return self._matrix.to_numpy(ascending, self._columns.asked)[back]
        places = _Places(ids)
        # As many values as rows have on average, and some more.
        found = _Values(int(len(ids) * self._row_values * 1.1) + 1, self._matrix._dtype())
        row, column = (dimension.name for dimension in self._matrix.array.schema.dimensions)
        memory = self._memory if ahead is None else self._memory // 2
        with self._matrix.read(places.asked, self._columns.asked).stream(memory) as stream:
            for batch in _read_ahead(stream, ahead):
                if stop:
                    return None
                cells = to_numpy(batch._core)
                found.add(places.of(cells.pop(row)), self._columns.positions(cells.pop(column)), cells[DATA])
        return _csr([found.taken()], len(ids), self._columns.size, self._matrix._dtype())


def _expect_number(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise QueryError(f"{name}={value!r}: a number from {least} on is expected")


def _read_ahead(stream: Stream, ahead: concurrent.futures.Executor | None) -> Iterator[Batch]:
    """The batches of a stream, of which the next one is read while one is used."""
    if ahead is None:
        yield from stream
        return
    following = ahead.submit(next, stream, None)
    while (batch := following.result()) is not None:
        following = ahead.submit(next, stream, None)
        yield batch


class _Values:
    """The rows, columns and values of a buffer, in arrays that grow where they do not suffice."""

    def __init__(self, expected: int, dtype: Any) -> None:
        self._count = 0
        self._arrays: list[AnyArray] = [np.empty(expected, kind) for kind in (np.int32, np.int32, dtype)]

    def add(self, *parts: AnyArray) -> None:
        """Adds rows, columns and values."""
        begin, self._count = self._count, self._count + len(parts[0])
        for at, part in enumerate(parts):
            if self._count > len(self._arrays[at]):
                larger = np.empty(max(self._count, begin * 3 // 2), self._arrays[at].dtype)
                larger[:begin] = self._arrays[at][:begin]
                self._arrays[at] = larger
            self._arrays[at][begin : self._count] = part

    def taken(self) -> tuple[AnyArray, ...]:
        """What was added, which is not kept here."""
        found = tuple(array[: self._count] for array in self._arrays)
        self._arrays = []
        return found


class _Places:
    """Where the rows with some ids are in a buffer."""

    def __init__(self, ids: AnyArray) -> None:
        by_id = np.argsort(ids, kind="stable")
        ascending = ids[by_id]
        self._first = int(ascending[0]) if len(ids) else 0
        span = int(ascending[-1]) - self._first + 1 if len(ids) else 0
        self._ascending, self._by_id = ascending, by_id.astype(np.int32)
        self._table: AnyArray | None = None
        if span <= len(ids) * _SPARSE_IDS:
            self._table = np.zeros(span, np.int32)
            self._table[ids - self._first] = np.arange(len(ids), dtype=np.int32)
        #: What the matrix is asked for.
        self.asked: Any = slice(self._first, self._first + span) if span == len(ids) else ascending

    def of(self, ids: AnyArray) -> AnyArray:
        """The places of some of the ids."""
        if self._table is not None:
            found: AnyArray = self._table[ids - self._first if self._first else ids]
            return found
        return self._by_id[np.searchsorted(self._ascending, ids)]


def _row_values(matrix: Any, columns: int) -> float:
    """How many values a row has on average in so many columns."""
    if isinstance(matrix, DenseMatrix):
        return columns
    rows, all_columns = matrix._extents()
    return float(matrix.nnz / max(rows, 1) * columns / max(all_columns, 1))


def _columns(query: AxisQuery, names: Sequence[str], ids: AnyArray) -> Any:
    """Columns of the rows as a table, whose index is their ids, in the order of these."""
    if not names:
        return needed("pandas", "pandas", "Tables").DataFrame(index=ids)
    frame = _plain(query.obs(list(dict.fromkeys([*names, JOINID]))).to_pandas())
    frame = frame.sort_values(JOINID, kind="stable").set_index(JOINID, drop=JOINID not in names)
    return frame[list(names)]


def _array(column: Any) -> AnyArray:
    """A column as an array: the numbers of its values if it is categorical."""
    found: AnyArray = column.cat.codes.to_numpy() if hasattr(column, "cat") else column.to_numpy()
    return found


__all__ = ["Loader", "Rows"]
