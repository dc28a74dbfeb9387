"""A dataset, and a loader whose worker processes do as torch's: each gets the dataset by fork or by pickle, says
which worker it is, and makes a batch ahead; batches are taken from one worker after the other, and those that have
ended are left out."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from typing import Any, NamedTuple

#: Seconds after which a worker that says nothing is taken for dead.
LIMIT = 120


class IterableDataset:
    pass


class WorkerInfo(NamedTuple):
    id: int
    num_workers: int


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    return _info


def _work(dataset: Any, info: WorkerInfo, wanted: Any, batches: Any) -> None:
    global _info
    _info = info
    try:
        while wanted.get(timeout=LIMIT):
            for batch in dataset:
                batches.put((batch, dataset.state_dict()))
            batches.put(None)
    except BaseException as error:
        batches.put(error)


class DataLoader:
    def __init__(self, dataset: Any, num_workers: int, method: str) -> None:
        context = multiprocessing.get_context(method)
        self.wanted = [context.Queue() for _ in range(num_workers)]
        self.batches = [context.Queue(2) for _ in range(num_workers)]
        self.workers = [
            context.Process(target=_work, args=(dataset, WorkerInfo(at, num_workers), *queues), daemon=True)
            for at, queues in enumerate(zip(self.wanted, self.batches))
        ]
        for worker in self.workers:
            worker.start()

    def epoch(self) -> Iterator[Any]:
        """The batches of an epoch, each with the state of its worker."""
        for wanted in self.wanted:
            wanted.put(True)
        left = list(self.batches)
        while left:
            for batches in list(left):
                batch = batches.get(timeout=LIMIT)
                if isinstance(batch, BaseException):
                    raise batch
                if batch is None:
                    left.remove(batches)
                else:
                    yield batch

    def close(self) -> None:
        for wanted in self.wanted:
            wanted.put(False)
        for worker in self.workers:
            worker.join(LIMIT)
        late = [worker for worker in self.workers if worker.is_alive()]
        for worker in late:
            worker.kill()
        assert not late, "a worker did not end"
