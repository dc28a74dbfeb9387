"""The order in which the rows of a query come to training, and how it is cut for ranks and workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._types import AnyArray

#: How the rows of an epoch are made to fit ranks: see :class:`tdb.soma.loader.Loader`.
LAST = ("pad", "drop", "keep")


class Order:
    """The order of the rows of each epoch, and how it is cut. All are places in the list of ids."""

    def __init__(
        self,
        rows: int,
        batch_size: int,
        chunk: int,
        buffer: int,
        seed: int,
        rank: int,
        world_size: int,
        last: str,
        shuffle: bool,
    ) -> None:
        self.rows, self.batch_size, self.chunk, self.seed = rows, batch_size, chunk, seed
        self.rank, self.world_size, self.last, self.shuffle = rank, world_size, last, shuffle
        if last == "drop":
            self._count = rows // (world_size * batch_size) * batch_size
            self._first = rank * self._count
        elif last == "pad":
            self._count = -(-rows // world_size)
            self._first = rank * self._count
        else:
            self._count = rows // world_size + (rank < rows % world_size)
            self._first = rank * (rows // world_size) + min(rank, rows % world_size)
        #: The batches of an epoch in this rank.
        self.batches = -(-self._count // batch_size)
        # Whole batches, and no more than there are: one buffer with all rows has the same order whatever was allowed.
        most = max(self.batches, 1)
        self.buffer = min(buffer // batch_size, most) * batch_size

    def said(self) -> dict[str, Any]:
        """All that the order depends on, besides the epoch."""
        names = ("rows", "batch_size", "chunk", "buffer", "seed", "rank", "world_size", "last", "shuffle")
        return {name: getattr(self, name) for name in names}

    def buffers(self, epoch: int, part: int, parts: int, done: int = 0) -> Iterator[AnyArray]:
        """The rows of each buffer of a part, from that on which has the batch after the first ``done`` ones."""
        each, more = divmod(self.batches, parts)
        first = part * each + min(part, more)
        end = first + each + (part < more)
        begin, stop = first * self.batch_size, min(end * self.batch_size, self._count)
        begin += done * self.batch_size // self.buffer * self.buffer
        chunks = _Chunks(self.rows, self.chunk, self._random(epoch, 0) if self.shuffle else None)
        for at in range(begin, stop, self.buffer):
            rows = chunks.rows(self._first + at, self._first + min(at + self.buffer, stop))
            if self.shuffle:
                rows = self._random(epoch, 1, self._first + at).permutation(rows)
            yield rows

    def _random(self, epoch: int, *which: int) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence([self.seed, epoch, *which])))


class _Chunks:
    """The rows by chunks, which are shuffled if there is a generator. After the last one it goes on with the first
    one."""

    def __init__(self, rows: int, chunk: int, random: np.random.Generator | None) -> None:
        self._rows = rows
        firsts = np.arange(0, rows, chunk)
        self._firsts = firsts if random is None else random.permutation(firsts)
        lengths = np.minimum(rows - self._firsts, chunk)
        # Where each chunk begins in the order.
        self._starts = np.concatenate([[0], np.cumsum(lengths)])

    def rows(self, begin: int, end: int) -> AnyArray:
        """The rows from one place in the order to another."""
        if end <= begin:
            return np.empty(0, np.int64)
        places = np.arange(begin, end) % self._rows
        which = np.searchsorted(self._starts, places, side="right") - 1
        found: AnyArray = self._firsts[which] + places - self._starts[which]
        return found
