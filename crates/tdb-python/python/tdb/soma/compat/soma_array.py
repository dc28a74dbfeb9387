"""What objects have that are one array: a schema, domains, and cells that are written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from ..._array import Array
from ..._schema import Dimension
from ..._types import number_dtype
from . import enumerations
from .exceptions import translated
from .filters import filters_text
from .metadata import SOMAMetadata
from .soma_object import SOMAObject
from .writing import write_table


class SOMAArray(SOMAObject):
    """An object that is one array."""

    _array: Array
    _known_schema: pa.Schema | None

    def _load(self) -> None:
        # What writes and deletes is to see everything; what reads sees what there was.
        self._array = Array(self._place, at=self._window if self._mode == "r" else None)
        self._known_schema = None
        meta = Array(self._place, at=self._window).meta if self._mode != "r" else self._array.meta
        self._metadata = SOMAMetadata(self, dict(meta))

    def _opened_now(self) -> Array:
        return Array(self._place)

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types."""
        if self._known_schema is None:
            names = self._array.schema.names
            with translated(self._uri):
                stream = pa.RecordBatchReader.from_stream(self._array.read(names).limit(0).stream("64MB"))
            attributes = {one.name: one.nullable for one in self._array.schema.attributes}
            fields = [one.remove_metadata().with_nullable(attributes.get(one.name, False)) for one in stream.schema]
            self._known_schema = pa.schema(fields)
        return self._known_schema

    @property
    def _dimensions(self) -> list[str]:
        return [one.name for one in self._array.schema.dimensions]

    def schema_config_options(self) -> SchemaConfig:
        """How the array is laid out, as far as the schema of Arrow does not say it."""
        said = self._array.schema.to_json()
        dims = {
            one["name"]: {"filters": filters_text(one["filters"]), "tile": "" if one.get("extent") is None else str(one["extent"])}
            for one in said["dimensions"]
        }
        attrs = {one["name"]: {"filters": filters_text(one["filters"])} for one in said["attributes"]}
        names = {"row-major": "row-major", "col-major": "column-major"}
        return SchemaConfig(
            said["capacity"],
            said["allows_duplicates"],
            names.get(said["tile_order"], said["tile_order"]),
            names.get(said["cell_order"], said["cell_order"]),
            json.dumps(filters_text(said["offsets_filters"])),
            json.dumps(filters_text(said["validity_filters"])),
            json.dumps(attrs),
            json.dumps(dims),
        )

    def non_empty_domain(self) -> tuple[tuple[Any, Any], ...]:
        """The first and the last coordinate of each dimension that cells have."""
        with translated(self._uri):
            ends = self._array.non_empty_domain
        dimensions = self._array.schema.dimensions
        if ends is None:
            return tuple(("", "") if number_dtype(one.datatype) is None else (0, 0) for one in dimensions)
        return tuple(
            self._ends(own, pair) if number_dtype(own.datatype) is not None else tuple(map(_text, pair)) for own, pair in zip(dimensions, ends)
        )

    def _domain(self) -> tuple[tuple[Any, Any], ...]:
        current = self._array.schema.current_domain
        return self._maxdomain() if current is None else self._of_ends(current)

    def _maxdomain(self) -> tuple[tuple[Any, Any], ...]:
        return self._of_ends([one.domain for one in self._array.schema.dimensions])

    def _of_ends(self, ends: Any) -> tuple[tuple[Any, Any], ...]:
        return tuple(self._ends(own, pair) for own, pair in zip(self._array.schema.dimensions, ends))

    def _ends(self, dimension: Dimension, pair: Any) -> tuple[Any, Any]:
        """The first and the last coordinate of a dimension, as ``tiledbsoma`` has them."""
        dtype = number_dtype(dimension.datatype)
        if dtype is None:
            # The domain of texts is always all of them.
            return "", ""
        if dtype.kind == "M":
            own = self.schema.field(dimension.name).type
            low, high = (pa.scalar(int(np.datetime64(end).astype(np.int64)), type=own) for end in pair)
            return low, high
        low, high = (end.item() if isinstance(end, np.generic) else end for end in pair)
        return low, high

    @property
    def _upgraded(self) -> bool:
        return self._array.schema.current_domain is not None

    def _write_table(self, values: pa.Table, sort_coords: bool) -> None:
        """Writes the rows of a table. Rows at coordinates that have one already replace it."""
        self.verify_open_for_writing()
        write_table(self, values, sort_coords)

    def _consolidate(self) -> None:
        own = self._opened_now()
        with translated(self._uri):
            for what in ("fragment-metadata", "commits", "fragments"):
                own.consolidate(what)
                own.vacuum(what)

    def _enumeration_values(self, column: str) -> pa.Array:
        """The values that an enumerated column can have."""
        return enumerations.values_of(self, column)

    def _evolve(self, **changes: Any) -> None:
        """Changes the schema, which this object sees."""
        own = self._opened_now()
        with translated(self._uri):
            own.evolve(**changes, at=self._timestamp_ms)
        self._array, self._known_schema = self._opened_now(), None


def _text(end: Any) -> Any:
    return end.decode() if isinstance(end, bytes) else end


@dataclass(frozen=True)
class SchemaConfig:
    """How an array is laid out. Filters and columns are texts in JSON."""

    capacity: int
    allows_duplicates: bool
    tile_order: str
    cell_order: str
    offsets_filters: str
    validity_filters: str
    attrs: str
    dims: str


__all__ = ["SOMAArray", "SchemaConfig"]
