"""What creating has in common: where, when, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from ..._errors import QueryError
from .context import SOMATileDBContext, context_of
from .exceptions import AlreadyExistsError, translated
from .platform_config import TileDBCreateOptions
from .soma_object import checked_uri

if TYPE_CHECKING:
    from .soma_object import SOMAObject

Made = TypeVar("Made", bound="SOMAObject")


def texts_or_bytes(kind: Any) -> bool:
    """Whether a type is one of texts or bytes of any length."""
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind))


def column_type(kind: Any) -> Any:
    """The type, if columns can have it; ``None`` if not."""
    types = pa.types
    if texts_or_bytes(kind) or types.is_boolean(kind) or types.is_integer(kind) or kind in (pa.float32(), pa.float64()):
        return kind
    return kind if types.is_timestamp(kind) and kind.tz is None else None


@contextmanager
def created(
    cls: type[SOMAObject],
    uri: str,
    context: SOMATileDBContext | None,
    tiledb_timestamp: Any,
    platform_config: Any = None,
    dims: Sequence[str] = (),
    attrs: Sequence[str] = (),
) -> Iterator[tuple[dict[str, Any], Any]]:
    """The keywords of a creation, and its options. What tdb refuses is a ``ValueError``, as there."""
    checked_uri(uri)
    context = context_of(context)
    place = {**context._opening(), "at": context._open_timestamp_ms(tiledb_timestamp)}
    if cls.exists(uri, context, tiledb_timestamp):
        raise AlreadyExistsError(f"{uri!r} already exists")
    with translated(uri):
        try:
            yield place, options_of(platform_config, dims, attrs)
        except QueryError as error:
            raise ValueError(str(error)) from error


def options_of(platform_config: Any, dims: Sequence[str], attrs: Sequence[str]) -> Any:
    """Options as the functions that create take them: those of columns that an array does not have are for others."""
    if platform_config is None:
        return None
    own = TileDBCreateOptions.from_platform_config(platform_config)
    said: dict[str, Any] = {}
    for name, default in TileDBCreateOptions().__dict__.items():
        value = getattr(own, name)
        if name in ("dims", "attrs"):
            known = dims if name == "dims" else attrs
            value = {
                column: {key: one for key, one in (("filters", made.filters), ("tile", made.tile)) if one is not None}
                for column, made in value.items()
                if column in known
            }
            said[name] = {column: {**made, **({"filters": list(made["filters"])} if "filters" in made else {})} for column, made in value.items()}
        elif value != default:
            said[name] = list(value) if isinstance(value, tuple) else value
    return {"tiledb": {"create": said}}


def opened_after(cls: type[Made], uri: str, context: SOMATileDBContext | None, place: dict[str, Any]) -> Made:
    """Opens what was created for writing, at the time of the creation."""
    return cls._opened(uri, "w", context_of(context), place["at"])


__all__ = ["column_type", "created", "opened_after", "texts_or_bytes"]
