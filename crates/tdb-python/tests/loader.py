"""A loader of samples that works as PyTorch's does, without torch: worker processes that live for an epoch or for all of them, get
the dataset by fork or by pickle, and put batches into a queue. In a module of its own, which spawned processes import."""

from __future__ import annotations

import multiprocessing
import queue
from collections.abc import Iterator
from typing import Any

import numpy as np

import tdb

#: Seconds after which a worker that says nothing is taken for dead.
LIMIT = 180


class Pictures:
    """A map-style dataset: sample `i` is a row of a dense array. The array is opened before the workers are made."""

    def __init__(self, uri: str) -> None:
        self.array = tdb.open(uri)

    def __len__(self) -> int:
        return self.array.shape[0]

    def __getitem__(self, index: int) -> Any:
        return self.array[index]


class Cells:
    """An iterable dataset: each worker streams its part of a query."""

    def __init__(self, uri: str) -> None:
        self.read = tdb.open(uri).read(fields=["writer", "x", "a"])

    def part(self, worker: int, workers: int) -> Iterator[Any]:
        parts = self.read.partitions(workers)
        for part in parts[worker::workers]:
            for batch in part.stream(memory="8MB"):
                yield np.stack([values.astype(np.int64) for values in batch.to_numpy().values()])


def _work(dataset: Any, worker: int, workers: int, wanted: Any, batches: Any) -> None:
    try:
        while (epoch := wanted.get(timeout=LIMIT)) is not None:
            if isinstance(epoch, list):
                for indices in epoch:
                    batches.put((indices, np.stack([dataset[index] for index in indices])))
            else:
                for batch in dataset.part(worker, workers):
                    batches.put((worker, batch))
            batches.put(None)
    except BaseException as error:
        batches.put(error)


class Loader:
    """Batches of a dataset from worker processes, epoch after epoch."""

    def __init__(self, dataset: Any, workers: int, method: str, batch_size: int = 16) -> None:
        context = multiprocessing.get_context(method)
        self.dataset, self.batch_size = dataset, batch_size
        self._batches = context.Queue(maxsize=2 * workers)
        self._wanted = [context.Queue() for _ in range(workers)]
        self._workers = [
            context.Process(target=_work, args=(dataset, at, workers, own, self._batches), daemon=True)
            for at, own in enumerate(self._wanted)
        ]
        for worker in self._workers:
            worker.start()

    def epoch(self, seed: int) -> Iterator[Any]:
        """All samples once: of a map-style dataset in an order that the seed says."""
        if hasattr(self.dataset, "part"):
            for own in self._wanted:
                own.put(True)
        else:
            order = np.random.default_rng(seed).permutation(len(self.dataset)).tolist()
            lists = [order[at : at + self.batch_size] for at in range(0, len(order), self.batch_size)]
            for at, own in enumerate(self._wanted):
                own.put(lists[at :: len(self._wanted)])
        ended = 0
        while ended < len(self._workers):
            try:
                batch = self._batches.get(timeout=LIMIT)
            except queue.Empty as error:
                raise TimeoutError("a worker hangs") from error
            if isinstance(batch, BaseException):
                raise batch
            if batch is None:
                ended += 1
            else:
                yield batch

    def close(self) -> None:
        """Ends the workers; those that do not end are killed, which is an error."""
        for own in self._wanted:
            own.put(None)
        for worker in self._workers:
            worker.join(LIMIT)
        late = [worker for worker in self._workers if worker.is_alive()]
        for worker in late:
            worker.kill()
        assert not late, "a worker did not end"
