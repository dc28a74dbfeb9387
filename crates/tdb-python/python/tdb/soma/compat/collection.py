"""Collections: objects by name."""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from .._create import create_collection
from .context import SOMATileDBContext
from .creating import created, opened_after
from .dataframe import DataFrame
from .dense import DenseNDArray
from .soma_group import SOMAGroup
from .sparse import SparseNDArray

Self = TypeVar("Self", bound="CollectionBase")


class item:
    """A member of a collection as an attribute of it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        try:
            return instance[self._name]
        except KeyError as error:
            raise AttributeError(f"{type(instance).__name__!r} object has no attribute {self._name!r}") from error

    def __set__(self, instance: Any, value: Any) -> None:
        instance[self._name] = value

    def __delete__(self, instance: Any) -> None:
        try:
            del instance[self._name]
        except KeyError as error:
            raise AttributeError(f"{type(instance).__name__} has no {self._name!r} to delete") from error


class CollectionBase(SOMAGroup):
    """What all collections have: members are created in them."""

    #: The types that members of some names have.
    _types_of_members: ClassVar[dict[str, tuple[str, ...]]] = {}

    @classmethod
    def create(
        cls: type[Self], uri: str, *, platform_config: Any = None, context: SOMATileDBContext | None = None, tiledb_timestamp: Any = None
    ) -> Self:
        """Creates a collection, and opens it for writing."""
        with created(cls, uri, context, tiledb_timestamp) as (place, _):
            create_collection(uri, cls.soma_type.removeprefix("SOMA"), **place)
        return opened_after(cls, uri, context, place)

    def _check_child(self, key: str, kind: type) -> None:
        kind = real_class(kind)
        super()._check_child(key, kind)
        allowed = self._types_of_members.get(key)
        if allowed is not None and getattr(kind, "soma_type", "") not in allowed:
            raise TypeError(f"cannot add {kind} at {type(self)}[{key!r}]; only {allowed}")

    def add_new_collection(
        self, key: str, kind: Any = None, *, uri: str | None = None, platform_config: Any = None, **kwargs: Any
    ) -> Any:
        """Creates a collection in this one."""
        own: Any = real_class(kind or Collection)
        return self._add_new(
            key, own, uri, lambda where: own.create(where, platform_config=platform_config, **self._child_time, **kwargs)
        )

    def add_new_dataframe(self, key: str, *, uri: str | None = None, **kwargs: Any) -> DataFrame:
        """Creates a table in this collection."""
        return self._add_new(key, DataFrame, uri, lambda where: DataFrame.create(where, **self._child_time, **kwargs))

    def add_new_dense_ndarray(self, key: str, *, uri: str | None = None, **kwargs: Any) -> DenseNDArray:
        """Creates a dense array in this collection."""
        return self._add_new(key, DenseNDArray, uri, lambda where: DenseNDArray.create(where, **self._child_time, **kwargs))

    def add_new_sparse_ndarray(self, key: str, *, uri: str | None = None, **kwargs: Any) -> SparseNDArray:
        """Creates a sparse array in this collection."""
        return self._add_new(key, SparseNDArray, uri, lambda where: SparseNDArray.create(where, **self._child_time, **kwargs))


def real_class(kind: Any) -> type:
    """The class of a generic one, such as ``Collection[DataFrame]``."""
    import types
    import typing

    origin = kind.__origin__ if isinstance(kind, types.GenericAlias) or hasattr(kind, "__origin__") else kind
    if not isinstance(origin, type) or isinstance(kind, typing.TypeVar):
        raise TypeError(f"{kind} cannot be turned into a real type")
    return origin


class Collection(CollectionBase):
    """A collection of any objects."""

    soma_type = "SOMACollection"


__all__ = ["Collection", "CollectionBase", "item"]
