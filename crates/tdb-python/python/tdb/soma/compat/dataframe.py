"""Tables."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from .._create import create_dataframe
from . import domains, enumerations
from .constants import SOMA_JOINID
from .context import SOMATileDBContext
from .core import BatchSize, ResultOrder
from .creating import column_type, created, opened_after, texts_or_bytes
from .deleting import delete_cells
from .domains import Answer
from .exceptions import SOMAError
from .platform_config import write_options
from .reads import TableReadIter, check_unpartitioned
from .soma_array import SOMAArray


class DataFrame(SOMAArray):
    """A table, whose rows have ids in ``soma_joinid``."""

    soma_type = "SOMADataFrame"

    @classmethod
    def create(
        cls,
        uri: str,
        *,
        schema: pa.Schema,
        domain: Sequence[Any] | None = None,
        index_column_names: Sequence[str] = (SOMA_JOINID,),
        platform_config: Any = None,
        context: SOMATileDBContext | None = None,
        tiledb_timestamp: Any = None,
    ) -> DataFrame:
        """Creates a table, and opens it for writing."""
        schema = checked_schema(schema, index_column_names)
        if domain is None:
            warnings.warn(
                "Setting ``domain=None`` is deprecated. Please specify the desired domain for the dataframe.",
                DeprecationWarning,
                stacklevel=2,
            )
            domain = [None] * len(index_column_names)
        if len(domain) != len(index_column_names):
            raise ValueError(
                "if domain is specified, it must have the same length as index_column_names;"
                f" got {len(domain)} != {len(index_column_names)}"
            )
        ends = [_domain_slot(name, schema.field(name).type, one) for name, one in zip(index_column_names, domain)]
        names = [name for name in schema.names if name not in index_column_names]
        with created(cls, uri, context, tiledb_timestamp, platform_config, index_column_names, names) as (place, config):
            create_dataframe(uri, schema, list(index_column_names), ends, config, **place)
        return opened_after(cls, uri, context, place)

    def keys(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.schema.names)

    @property
    def index_column_names(self) -> tuple[str, ...]:
        """The names of the index columns."""
        return tuple(self._dimensions)

    @property
    def domain(self) -> tuple[tuple[Any, Any], ...]:
        """The first and the last value that each index column can have now."""
        return self._domain()

    @property
    def maxdomain(self) -> tuple[tuple[Any, Any], ...]:
        """The first and the last value to which the domain of each index column can grow."""
        return self._maxdomain()

    @property
    def count(self) -> int:
        """The number of rows."""
        self._verify_open_for_reading()
        return self._array.read([self._array.schema.names[0]]).count()

    def __len__(self) -> int:
        return self.count

    def get_enumeration_values(self, column_names: Sequence[str]) -> dict[str, pa.Array]:
        """The values of enumerated columns."""
        if self.closed:
            raise SOMAError(f"{self.uri} is closed")
        for name in column_names:
            self._enumerated(name, "column name")
        return {name: enumerations.values_of(self, name) for name in column_names}

    def _enumerated(self, name: str, what: str) -> None:
        if not pa.types.is_dictionary(self.schema.field(name).type):
            raise KeyError(f"{what} '{name}' is not of dictionary type")

    def extend_enumeration_values(self, values: Mapping[str, pa.Array], deduplicate: bool = False) -> None:
        """Appends values to enumerated columns. With ``deduplicate`` those that they have already are left out, else they are an error."""
        self.verify_open_for_writing()
        wanted = {}
        for name, given in values.items():
            if not isinstance(given, pa.Array):
                raise ValueError(f"value for column name '{name}' must be pyarrow.Array: got '{type(given)}'")
            self._enumerated(name, "schema column name")
            if pa.types.is_dictionary(given.type):
                raise ValueError(f"value column name '{name}' is of dictionary type: pass its dictionary array instead")
            if given.null_count:
                raise SOMAError(f"column name '{name}': null values are not supported")
            own = self.schema.field(name).type.value_type
            if given.type != own and not (texts_or_bytes(given.type) and texts_or_bytes(own)):
                raise SOMAError(f"column name '{name}': values of the type {given.type} are given for an enumeration of {own}")
            given = given.cast(own)
            if len(given.unique()) != len(given):
                raise ValueError(f"column name '{name}': the values have one twice")
            new = enumerations.missing(self, name, given)
            if len(new) != len(given) and not deduplicate:
                raise SOMAError(f"column name '{name}': the enumeration has one of the values already")
            wanted[name] = new
        enumerations.extended(self, wanted)

    def read(
        self,
        coords: Sequence[Any] = (),
        column_names: Sequence[str] | None = None,
        *,
        result_order: Any = ResultOrder.AUTO,
        value_filter: str | None = None,
        batch_size: Any = BatchSize(),
        partitions: Any = None,
        platform_config: Any = None,
    ) -> TableReadIter:
        """The rows at some coordinates, and for which a condition is true."""
        check_unpartitioned(partitions)
        self._verify_open_for_reading()
        return TableReadIter(self, coords, column_names, result_order, value_filter, platform_config)

    def write(self, values: pa.Table, platform_config: Any = None) -> DataFrame:
        """Writes the rows of a table. A row whose index values another one has replaces it."""
        if not isinstance(values, pa.Table):
            raise TypeError(f"expected values argument to be of type {pa.Table}; got {type(values)}")
        options = write_options(platform_config)
        self._write_table(values, options.sort_coords)
        if options.consolidate_and_vacuum:
            self._consolidate()
        return self

    def delete_cells(self, coords: Sequence[Any] = (), *, value_filter: str | None = None, platform_config: Any = None) -> None:
        """Deletes the rows at some coordinates for which a condition is true."""
        delete_cells(self, coords, value_filter, platform_config)

    @property
    def tiledbsoma_has_upgraded_domain(self) -> bool:
        """Whether the table has a domain that can grow."""
        return self._upgraded

    @property
    def _joinid_axis(self) -> int | None:
        names = self._dimensions
        return names.index(SOMA_JOINID) if SOMA_JOINID in names else None

    @property
    def _maybe_soma_joinid_shape(self) -> int | None:
        return None if self._joinid_axis is None else int(self.domain[self._joinid_axis][1]) + 1

    @property
    def _maybe_soma_joinid_maxshape(self) -> int | None:
        return None if self._joinid_axis is None else int(self.maxdomain[self._joinid_axis][1]) + 1

    def tiledbsoma_resize_soma_joinid_shape(self, newshape: int, check_only: bool = False) -> Answer:
        """Sets how many ids there can be, where the ids are an index column."""
        own, axis = "tiledbsoma_resize_soma_joinid_shape", self._joinid_axis
        if axis is None:
            return domains.YES
        old = self._maybe_soma_joinid_shape or 0
        answer = domains.YES
        if not self._upgraded:
            answer = (False, f"{own}: dataframe currently has no domain set: please use tiledbsoma_upgrade_domain")
        elif newshape < old:
            answer = (False, f"{own}: new soma_joinid shape {newshape} < existing shape {old}")
        elif newshape > (self._maybe_soma_joinid_maxshape or 0):
            answer = (False, f"{own}: new soma_joinid shape {newshape} > maximum shape {self._maybe_soma_joinid_maxshape}")
        if check_only:
            return answer
        return domains.grow(self, [(self.domain[axis][0], newshape - 1) if at == axis else None for at in range(len(self.domain))], answer)

    def tiledbsoma_upgrade_soma_joinid_shape(self, newshape: int, check_only: bool = False) -> Answer:
        """Gives an old table a domain that can grow: for the ids as many as are said, for others all there are."""
        own, axis = "tiledbsoma_upgrade_soma_joinid_shape", self._joinid_axis
        if axis is None:
            return domains.YES
        wanted = [(0, newshape - 1) if at == axis else None for at in range(len(self.domain))]
        answer = domains.domain_answer(self, wanted, True, own)
        return answer if check_only else domains.grow(self, wanted, answer)

    def _wanted(self, newdomain: Sequence[Any], own: str) -> list[Any]:
        if len(newdomain) != len(self._dimensions):
            raise ValueError(f"{own}: requested domain has length {len(newdomain)} but there are {len(self._dimensions)} index columns")
        if any(one is not None and len(one) != 2 for one in newdomain):
            raise ValueError(f"{own}: requested domain must have low,high pairs, or `None`, in each slot")
        return [None if one is None else tuple(one) for one in newdomain]

    def tiledbsoma_upgrade_domain(self, newdomain: Sequence[Any], check_only: bool = False) -> Answer:
        """Gives an old table a domain that can grow."""
        wanted = self._wanted(newdomain, "tiledbsoma_upgrade_domain")
        answer = domains.domain_answer(self, wanted, True, "tiledbsoma_upgrade_domain")
        return answer if check_only else domains.grow(self, wanted, answer)

    def change_domain(self, newdomain: Sequence[Any], check_only: bool = False) -> Answer:
        """Lets the domain grow. With ``check_only`` it says whether it can, and why not."""
        wanted = self._wanted(newdomain, "change_domain")
        answer = domains.domain_answer(self, wanted, False, "change_domain")
        return answer if check_only else domains.grow(self, wanted, answer)


def checked_schema(schema: Any, index_column_names: Sequence[str], extra: Sequence[str] = ()) -> pa.Schema:
    """A schema with the column of ids, all columns of which can be kept. ``extra`` are names with SOMA's prefix that may be."""
    if not isinstance(schema, pa.Schema):
        raise TypeError(f"expected schema argument to be of type {pa.Schema}; got {type(schema)}")
    if not index_column_names:
        raise ValueError("DataFrame requires one or more index columns")
    for field in schema:
        if "\x00" in field.name:
            raise ValueError(f"Illegal character in field name `{field.name}`. Null byte found.")
    if SOMA_JOINID not in schema.names:
        schema = schema.append(pa.field(SOMA_JOINID, pa.int64()))
    elif schema.field(SOMA_JOINID).type != pa.int64():
        raise ValueError(f"{SOMA_JOINID} field must be of type Arrow int64 but is {schema.field(SOMA_JOINID).type}")
    own = (SOMA_JOINID, *extra)
    for name in [*schema.names, *index_column_names]:
        if name.startswith("soma_") and name not in own:
            raise ValueError(f"DataFrame schema may not contain fields with name prefix ``soma_``: got ``{name}``")
    for name in index_column_names:
        if name not in schema.names:
            raise ValueError(f"All index names must be defined in the dataframe schema: '{name}' not in {schema.names}")
        kind = schema.field(name).type
        if pa.types.is_dictionary(kind):
            raise TypeError(f"Cannot set index column '{name}' to an enumeration. Index columns do not support enumerations.")
        if pa.types.is_boolean(kind) or column_type(kind) is None:
            raise TypeError(f"Unsupported index type {kind} on index column '{name}'.")
    for field in schema:
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if field.name not in extra and column_type(kind) is None:
            raise TypeError(f"Unsupported Arrow type {field.type} of column '{field.name}'")
    return schema


def _domain_slot(name: str, kind: Any, wanted: Any) -> Any:
    """What is said about the domain of an index column."""
    if wanted is None:
        return None
    if texts_or_bytes(kind):
        if tuple(wanted) not in (("", ""), (b"", b"")):
            raise ValueError("TileDB str and bytes index-column types do not support domain specfication")
        return None
    if len(wanted) != 2:
        raise ValueError(f"domain must be a two-tuple; got {len(wanted)} elements")
    if name == SOMA_JOINID and any(end is not None and end < 0 for end in wanted):
        raise ValueError(f"soma_joinid indices cannot be negative; got {tuple(wanted)}")
    return tuple(wanted)


__all__ = ["DataFrame"]
