"""Torch's dataset of the cells that an axis query wants. Only this module imports torch.

>>> dataset = tdb.soma.torch.IterableDataset(query, batch_size=128, dense=True)  # doctest: +SKIP
>>> loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=4)  # doctest: +SKIP
"""

from __future__ import annotations

import multiprocessing.context
import multiprocessing.sharedctypes
from collections.abc import Iterator
from typing import Any

import torch.distributed
import torch.utils.data

from .._errors import QueryError
from ._query import AxisQuery
from .loader import Loader, Rows


class IterableDataset(torch.utils.data.IterableDataset):  # type: ignore[misc, type-arg, unused-ignore]
    """The batches of a :class:`tdb.soma.loader.Loader`, for ``DataLoader(dataset, batch_size=None,
    num_workers=…)``.

    The options are those of the loader. ``rank`` and ``world_size`` are those of ``torch.distributed`` unless both
    are said. Each worker gets its part of the batches of its rank. A ``DataLoader`` makes tensors of dense matrices
    and of numbers; CSR matrices stay scipy's, and texts numpy's.

    :meth:`set_epoch` reaches workers that live for several epochs, too. A state is ``state_dict()`` where the
    iteration runs in this process, or under torchdata's ``StatefulDataLoader``; with workers of a plain
    ``DataLoader`` it is ``state_dict(batches)``, with the number of batches of the epoch that the program had.
    """

    def __init__(
        self, query: AxisQuery, *, rank: int | None = None, world_size: int | None = None, **options: Any
    ) -> None:
        super().__init__()
        if (rank is None) != (world_size is None):
            # From torch.distributed, the other one would be that of other ranks.
            given, missing = ("rank", "world_size") if world_size is None else ("world_size", "rank")
            raise QueryError(f"{given} is given without {missing}: say both, or none for those of torch.distributed")
        if rank is None and torch.distributed.is_available() and torch.distributed.is_initialized():
            rank, world_size = torch.distributed.get_rank(), torch.distributed.get_world_size()
        if rank is not None:
            options |= {"rank": rank, "world_size": world_size}
        #: What makes the batches.
        self.loader = Loader(query, **options)
        # Shared with the workers, forked and spawned.
        self._epoch = multiprocessing.sharedctypes.RawValue("q", self.loader.epoch)

    @property
    def epoch(self) -> int:
        """The epoch: :meth:`set_epoch` changes it."""
        return int(self._epoch.value)

    def set_epoch(self, epoch: int) -> None:
        """The epoch that the next iteration is about, in this process and in its workers."""
        self.loader.set_epoch(epoch)
        self._epoch.value = self.loader.epoch

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """See :meth:`tdb.soma.loader.Loader.state_dict`."""
        self.loader.set_epoch(self.epoch)
        return self.loader.state_dict(batches)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See :meth:`tdb.soma.loader.Loader.load_state_dict`. It comes before the workers are made."""
        self.loader.load_state_dict(state)
        self._epoch.value = self.loader.epoch

    def __len__(self) -> int:
        """The number of batches of an epoch in this rank."""
        return len(self.loader)

    def __iter__(self) -> Iterator[Rows]:
        self.loader.set_epoch(self.epoch)
        worker = torch.utils.data.get_worker_info()
        return self.loader.part(0, 1) if worker is None else self.loader.part(worker.id, worker.num_workers)

    def __getstate__(self) -> dict[str, Any]:
        """A process that is being spawned shares the epoch; what is pickled otherwise has its own."""
        spawning = multiprocessing.context.get_spawning_popen() is not None
        return {**self.__dict__, "_epoch": self._epoch if spawning else self.epoch}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if isinstance(self._epoch, int):
            self._epoch = multiprocessing.sharedctypes.RawValue("q", self._epoch)


__all__ = ["IterableDataset"]
