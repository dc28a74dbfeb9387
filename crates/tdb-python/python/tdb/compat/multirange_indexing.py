"""``A.multi_index[...]``, ``A.df[...]`` and ``A.label_index(...)[...]``."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._columns import Column
from .indexing import EmptyRange, as_tuple, is_empty, label_ranges, multi_ranges
from .libtiledb import TileDBError
from .results import Cells, labelled, order_of, typed

if TYPE_CHECKING:
    import pandas

    from .array import Array
    from .query import Query


@dataclass
class EstimatedResultSize:
    """The bytes that a field of a result takes: those of its offsets, and those of its values."""

    offsets_bytes: int
    data_bytes: int


def mr_dense_result_shape(ranges: Sequence[Any], base_shape: tuple[int, ...] | None = None) -> tuple[Any, ...]:
    """The shape of the cells of some ranges of each dimension."""
    if base_shape is not None:
        assert len(ranges) == len(base_shape), "internal error: mismatched shapes"
    found: list[Any] = []
    for at, one in enumerate(ranges):
        if isinstance(one, np.ndarray):
            found.append(np.uint64(len(one)))
        elif one not in (None, ()) and len(one):
            found.append(np.uint64(sum(abs(stop - start) + 1 for start, stop in one)))
        elif base_shape is not None:
            found.append(base_shape[at])
        else:
            raise ValueError("Missing required base_shape for whole-dimension slices")
    return tuple(found)


def getitem_ranges(array: Array, idx: Any) -> Sequence[Any]:
    """The inclusive ranges that a key of ``A.multi_index`` selects."""
    return tuple(tuple(one) for one in multi_ranges(array.schema, idx, array.nonempty_domain()))


class _Indexer:
    def __init__(self, array: Array, query: Query | None = None, use_arrow: bool | None = None) -> None:
        from .array import Array

        if not isinstance(array, Array):
            raise TypeError("an indexer is of a tiledb.Array")
        array._reads("queries")
        self.array, self.query, self.use_arrow = array, query, use_arrow
        self._key: Any = None

    @property
    def return_incomplete(self) -> bool:
        """Whether the result comes in parts."""
        return bool(self.query and self.query.return_incomplete)

    def _dims(self) -> list[str]:
        """The dimensions that are fields of the result."""
        query, known = self.query, [dim.name for dim in self.array.domain]
        if query is not None and query.dims is not None:
            return list(query.dims)
        if (query is not None and query.has_coords is False) or not self.array.schema.sparse:
            return []
        return known

    def _attrs(self) -> list[str]:
        if self.array.view_attr is not None:
            return [self.array.view_attr]
        if self.query is not None and self.query.attrs is not None:
            return [self.array.attr(one).name for one in self.query.attrs]
        return self.array.attr_names

    def _ranges(self) -> list[Any]:
        return list(getitem_ranges(self.array, self._key))

    def _cells(self) -> Cells:
        array, query = self.array, self.query
        order = order_of(None if query is None else query.order, not array.schema.sparse)
        where = array.condition(None if query is None else query.cond)
        return Cells(array._array, self._dims() + self._attrs(), self._ranges(), order, where)

    def __getitem__(self, key: Any) -> Any:
        self._key = key
        return self if self.return_incomplete else self._run()

    def _run(self) -> Any:
        raise NotImplementedError

    def _empty(self) -> OrderedDict[str, Any]:
        schema, wanted = self.array.schema, self._dims() + self._attrs()
        names = [dim.name for dim in schema.domain if dim.name in wanted] + [one for one in schema.attr_names if one in wanted]
        return OrderedDict((name, np.array([], schema.attr_or_dim_dtype(name))) for name in names)

    def estimated_result_sizes(self) -> dict[str, EstimatedResultSize]:
        """The sizes of the fields of the result: here those that it has."""
        if self._key is None or is_empty(self._key):
            return {name: EstimatedResultSize(0, 0) for name in self._empty()}
        sizes = {}
        for column in self._cells().columns:
            offsets = 0 if column.offsets is None else column.offsets.nbytes - column.offsets.itemsize
            sizes[column.name] = EstimatedResultSize(offsets, column.data.nbytes)
        return sizes

    def __iter__(self) -> Iterator[Any]:
        if not self.return_incomplete:
            raise TileDBError("Cannot iterate unless query is initialized with return_incomplete=True")
        # One part is a result, too: tdb.Array.stream has parts under a limit of memory.
        yield self._run()


class MultiRangeIndexer(_Indexer):
    """``A.multi_index[...]``: slices and tuples are with both ends, and a list may have any of them."""

    def __init__(self, array: Array, query: Query | None = None) -> None:
        if query is not None and query.return_arrow:
            raise TileDBError("`return_arrow=True` requires .df indexer`")
        super().__init__(array, query)

    def _run(self) -> Any:
        if is_empty(self._key):
            return self._empty()
        cells = self._cells()
        shaped = cells.shape is not None and len(cells.shape) > 1
        found: OrderedDict[str, Any] = OrderedDict()
        for column in cells.columns:
            found[column.name] = self._decoded(column, cells.values(column, shaped))
        return found

    def _decoded(self, column: Column, values: Any) -> Any:
        schema = self.array.schema
        label = schema.attr(column.name).enum_label if schema.has_attr(column.name) else None
        if label is None:
            return values
        if column.validity is not None:
            present = column.validity.reshape(values.shape) != 0
            values = np.ma.MaskedArray(values, ~present)
            return np.ma.getdata(labelled(values, self.array.enum(label).values()))
        return labelled(values, self.array.enum(label).values())


class LabelIndexer(MultiRangeIndexer):
    """``A.label_index(labels)[...]``: ranges of dimension labels."""

    def __init__(self, array: Array, labels: Sequence[str], query: Query | None = None) -> None:
        if array.schema.sparse:
            raise NotImplementedError("querying sparse arrays by label is not yet implemented")
        super().__init__(array, query)
        self._labels: dict[int, str] = {}
        for name in labels:
            at = array.schema.dim_label(name).dim_index
            if at in self._labels:
                raise TileDBError(f"cannot set labels `{self._labels[at]}` and `{name}` defined on the same dimension")
            self._labels[at] = name

    def selected(self, selection: Any) -> tuple[list[Any], dict[str, list[tuple[Any, Any]]]]:
        """The ranges of dimensions and of labels that a key selects."""
        array, key = self.array, as_tuple(selection)
        ranges = list(getitem_ranges(array, tuple(slice(None) if at in self._labels else one for at, one in enumerate(key))))
        wanted: dict[str, list[tuple[Any, Any]]] = {}
        for at, one in enumerate(key):
            if at in self._labels:
                ranges[at] = ()
                wanted[self._labels[at]] = label_ranges(one)
        return ranges, wanted

    def _run(self) -> Any:
        found = super()._run()
        for at, name in self._labels.items():
            # The values of a label are the same along all other dimensions.
            values = found[name]
            along = tuple(slice(None) if axis == at else 0 for axis in range(values.ndim))
            found[name] = values[along] if values.ndim > 1 else values
        return found

    def _cells(self) -> Cells:
        array, query = self.array, self.query
        ranges, wanted = self.selected(self._key)
        order = order_of(None if query is None else query.order, True)
        where = array.condition(None if query is None else query.cond)
        return Cells(array._array, list(self._labels.values()) + self._dims() + self._attrs(), ranges, order, where, wanted)


class DataFrameIndexer(_Indexer):
    """``A.df[...]``: the same as a table of pandas, with the dimensions as its index."""

    def __init__(self, array: Array, query: Query | None = None, use_arrow: bool | None = None) -> None:
        from .dataframe_ import check_dataframe_deps
        from .query import Query

        check_dataframe_deps()
        super().__init__(array, query if query is not None else Query(array, has_coords=True), use_arrow)
        attrs = [array.attr(name) for name in self._attrs()]
        lists = any((one.isvar or one.dtype.kind == "V") and one.dtype.kind not in "SU" for one in attrs)
        if use_arrow and lists:
            raise TileDBError(
                "Multi-value attributes are not currently supported when use_arrow=True. This includes all variable-length "
                "attributes and fixed-length attributes with more than one value. Use `query(use_arrow=False)`."
            )
        self._as_arrow = not lists if use_arrow is None else use_arrow

    def _run(self) -> Any:
        import pandas

        assert self.query is not None
        if is_empty(self._key):
            return _indexed(pandas.DataFrame(self._empty()), self.array, self.query.index_col)
        cells = self._cells()
        if self.query.return_arrow:
            return _arrow_table(self.array, cells)
        columns = {column.name: self._series(column) for column in cells.columns}
        return _indexed(pandas.DataFrame(columns), self.array, self.query.index_col)

    def _series(self, column: Column) -> Any:
        """A column as pyarrow gives it to pandas (or, without Arrow, as numpy has it)."""
        import pandas

        schema = self.array.schema
        attr = schema.attr(column.name) if schema.has_attr(column.name) else None
        nulls = column.nulls()
        if not self._as_arrow and (attr is None or attr.enum_label is None):
            return typed(column)
        values = column.values()
        if attr is not None and attr.enum_label is not None:
            codes = values.astype(np.int64)
            if nulls is not None:
                codes[nulls] = -1
            known = self.array.enum(attr.enum_label)
            labels = known.values()
            if not self._as_arrow:
                return labelled(values, labels)
            # Numbers that the enumeration does not have, as those of fill values, are missing.
            codes[(codes < 0) | (codes >= len(labels))] = -1
            kind = labels.tolist() if labels.dtype.kind in "SU" else labels
            return pandas.Categorical.from_codes(codes.tolist(), pandas.Index(kind), ordered=known.ordered)
        if values.dtype.kind == "M" and np.datetime_data(values.dtype)[0] == "D":
            values = _dates(column.name, values)
        if nulls is not None:
            return _nullable(values, nulls)
        if values.ndim > 1:
            return typed(column)
        return values.astype(object) if values.dtype.kind == "S" else values


def _dates(name: str, values: Any) -> Any:
    """Days as ``datetime.date``, which is what pyarrow makes of them."""
    found = values.astype(object)
    far = [one for one in found if isinstance(one, int)]
    if far:
        raise ValueError(f"column {name!r}: year {np.datetime64(far[0], 'D').astype('M8[Y]')} is out of range")
    return found


def _nullable(values: Any, nulls: Any) -> Any:
    import pandas

    kind = values.dtype.kind
    if kind in "iu":
        return pandas.arrays.IntegerArray(values, nulls)
    if kind == "b":
        return pandas.arrays.BooleanArray(values, nulls) if nulls.any() else values
    if kind in "fmM":
        values = values.copy()
        values[nulls] = np.nan if kind == "f" else np.array("NaT", values.dtype)
        return values
    found = values.astype(object)
    found[nulls] = None
    return found


def _arrow_table(array: Array, cells: Cells) -> Any:
    """The cells as a table of Arrow."""
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    columns = {}
    for column in cells.columns:
        values, nulls = column.values(), column.nulls()
        attr = array.attr(column.name) if array.schema.has_attr(column.name) else None
        kind = None
        if values.dtype == object and column.offsets is not None:
            texts = len(values) == 0 or isinstance(values[0], str)
            kind = pyarrow.large_string() if texts else pyarrow.large_binary()
        if values.ndim > 1:
            raise TileDBError(f"the values of {column.name!r} are lists, which tables of TileDB-Py do not have")
        if values.dtype.kind == "b":
            values = values.astype(np.uint8)
        made = pyarrow.array(values, type=kind, mask=nulls)
        if attr is not None and attr.enum_label is not None:
            known = array.enum(attr.enum_label)
            made = pyarrow.DictionaryArray.from_arrays(made, pyarrow.array(known.values()), ordered=known.ordered)
        columns[column.name] = made
    return pyarrow.table(columns)


def _indexed(frame: pandas.DataFrame, array: Array, index_col: Any) -> pandas.DataFrame:
    """A table with the types and the index that the metadata of the array say."""
    types: dict[str, str] = {}
    index: list[Any] = []
    meta = array.meta
    if "__pandas_attribute_repr" in meta:
        types.update({name: one for name, one in json.loads(meta["__pandas_attribute_repr"]).items() if name in frame})
    if "__pandas_index_dims" in meta:
        said = {name: one for name, one in json.loads(meta["__pandas_index_dims"]).items() if name in frame}
        types.update(said)
        index = list(said)
    if types:
        frame = frame.astype(types)
    if index_col is True and index:
        frame = frame.set_index(index)
        frame.index.names = [None if one == "__tiledb_rows" else one for one in index]
    elif index_col and index_col is not True:
        frame = frame.set_index(index_col)
    return frame


__all__ = ["DataFrameIndexer", "EmptyRange", "EstimatedResultSize", "LabelIndexer", "MultiRangeIndexer", "getitem_ranges"]
