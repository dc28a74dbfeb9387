"""Arrays: opening, reading, writing, maintaining."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, Union

import numpy as np

from . import _tdb
from ._casts import as_type, checked_casting
from ._columns import Column, pack
from ._condition import Condition, Where, core_of
from ._coordinates import Ranges, add_range, coordinate, from_end, keys
from ._domains import rows_of
from ._errors import QueryError, WriteError
from ._read import GroupBy, Read, Stream
from ._rows import columns_of_frame, in_types_of, is_frame
from ._schema import Attribute, Dimension, Enumeration, Field, Filters, Schema, _filters, json_value_of
from ._show import schema_html
from ._types import (
    AnyArray,
    Time,
    Window,
    decode_value,
    encode_value,
    json_value,
    milliseconds,
    number_dtype,
    result_dtype,
    value_of_json,
    window,
)

if TYPE_CHECKING:
    import dask.array
    import pandas

#: A path or a URL.
Location: TypeAlias = "str | os.PathLike[str]"
#: A key: 32 bytes, or 64 hexadecimal digits.
Key: TypeAlias = "bytes | str | None"
#: Options of stores, such as ``{"aws_region": "eu-west-1"}``.
Storage: TypeAlias = "Mapping[str, str] | None"

#: The field of sparse arrays that says when each cell was written.
TIMESTAMPS = "__timestamps"
#: The memory of writes that come in batches, beside the batches themselves.
WRITE_MEMORY = 256 << 20


def place(uri: Location, storage: Storage, key: Key, threads: int | None) -> _tdb.Place:
    """Where something is, and what is needed to open it. Options in the environment apply, too."""
    options = {} if storage is None else {name.lower(): value for name, value in storage.items()}
    if isinstance(key, str):
        try:
            key = bytes.fromhex(key)
        except ValueError as error:
            raise QueryError("a key in text has 64 hexadecimal digits") from error
    return _tdb.Place(os.fspath(uri), list(options.items()), key, threads)


def open(
    uri: Location,
    at: Window = None,
    *,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Array:
    """Opens an array: as it is now, as it was at a time, or what was written between two times.

    ``uri`` is a path or a URL (``s3://``, ``az://``, ``gs://``, ``https://``), ``storage`` has the options of the store,
    ``key`` is the key of an encrypted array. A query uses ``threads`` threads; without it, all that there are.

    >>> A = tdb.open(fixtures / "quickstart")
    >>> A[1:3, 2:4]
    array([[2, 3],
           [6, 7]], dtype=int32)
    """
    return Array(place(uri, storage, key, threads), at=at)


class Array:
    """An array at a time: :func:`open` makes one.

    What others write later is not seen; :meth:`reopen` opens the array anew. What is written through the object itself is
    seen, unless it was opened at a time. An array can be pickled: location and time are, keys and credentials never.
    """

    def __init__(self, where: _tdb.Place, core: _tdb.Array | None = None, at: Window = None) -> None:
        self._place = where
        self._at = window(at)
        self._core = _tdb.Array.open(where, self._at) if core is None else core
        self._schema: Schema | None = None

    @staticmethod
    def _place_of(uri: str, storage: Storage, key: Key, threads: int | None) -> _tdb.Place:
        return place(uri, storage, key, threads)

    @property
    def uri(self) -> str:
        """The location."""
        return self._place.uri

    @property
    def window(self) -> tuple[int, int]:
        """The first and the last millisecond of what is seen."""
        return self._core.window()

    @property
    def schema(self) -> Schema:
        """What the cells are.

        >>> tdb.open(fixtures / "quickstart").schema.shape
        (4, 4)
        """
        if self._schema is None:
            self._schema = Schema._opened(json.loads(self._core.schema()))
        return self._schema

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of coordinates of each dimension."""
        return self.schema.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.schema.ndim

    @property
    def size(self) -> int:
        """The number of cells that the domain has."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of numpy that the attribute has in results; of several attributes, a structured one with a field for each.

        >>> tdb.open(fixtures / "quickstart").dtype
        dtype('int32')
        """
        types = [(one.name, result_dtype(one.datatype, one.values)) for one in self.schema.attributes]
        return types[0][1] if len(types) == 1 else np.dtype(types)

    @property
    def fields(self) -> list[str]:
        """The names of all fields: dimensions, attributes and labels.

        >>> tdb.open(fixtures / "quickstart").fields
        ['rows', 'cols', 'a']
        """
        return self.schema.names + [label["name"] for label in self.schema.said["labels"]]

    def _known(self, name: str) -> None:
        """Refuses a name that no field has."""
        known = self.fields
        if name not in known and not (name == TIMESTAMPS and self.schema.sparse):
            raise QueryError(f'the array has no field "{name}" (it has {", ".join(known)}){_tdb.hint(name, known)}')

    @property
    def meta(self) -> Metadata:
        """Key-value metadata, as a dictionary that can be written to."""
        return Metadata(self._place, self.window if self._at is not None else None)

    @property
    def fragments(self) -> list[dict[str, Any]]:
        """The fragments (one for each write), the oldest first: name, times, cells, bytes, and where the cells are.

        >>> [one["cells"] for one in tdb.open(fixtures / "quickstart").fragments]
        [16]
        """
        found: list[dict[str, Any]] = json.loads(self._core.fragments())
        return found

    @property
    def history(self) -> list[dict[str, Any]]:
        """Everything that happened to the array, as ``tdb log --json`` says it."""
        found: list[dict[str, Any]] = json.loads(_tdb.history(self._place))
        return found

    @property
    def non_empty_domain(self) -> tuple[tuple[Any, Any], ...] | None:
        """The first and the last coordinate of each dimension that cells have; ``None`` if there are no cells."""
        said = json.loads(self._core.non_empty_domain())
        if said is None:
            return None
        ends = zip(self.schema.dimensions, said)
        return tuple(
            (value_of_json(own.datatype, low), value_of_json(own.datatype, high)) for own, (low, high) in ends
        )

    def enumeration(self, name: str) -> list[Any]:
        """The values of an enumeration."""
        return self._labels(name)[0]

    def _labels(self, name: str) -> tuple[list[Any], bool]:
        _, values, ordered = self._enumeration(name)
        # Dates stay what numpy has for them: Python has none of the finer units.
        return list(values) if values.dtype.kind in "mM" else values.tolist(), ordered

    def _enumeration(self, name: str) -> tuple[str, AnyArray, bool]:
        """The datatype of an enumeration, its values, and whether they have an order."""
        found = self._core.enumeration(name)
        if found is None:
            raise QueryError(f"the array has no enumeration {name!r}")
        parts, ordered = found
        column = Column(parts)
        return column.datatype, column.to_numpy(), ordered

    def _end_of(self, dimension: str, end: Any) -> Any:
        """An end of a range of a dimension, in the notation of schemas in JSON."""
        known = [one.datatype for one in self.schema.dimensions if one.name == dimension]
        # What is no dimension is refused where the others are known.
        return json_value(known[0] if known else "", end)

    def read(
        self,
        fields: Sequence[str] | str | None = None,
        ranges: Ranges | None = None,
        where: Where | None = None,
        order: str | None = None,
        memory: str | int | None = None,
        limit: int | None = None,
    ) -> Read:
        """A query. Nothing is read before its result is asked for.

        ``fields`` are attributes, dimensions and labels. ``ranges`` says for each dimension or label what is wanted: a value,
        ``(first, last)`` with both ends (``None``: open), a slice without its end, or a list of these. ``where`` is a
        condition: ``tdb.field("a") > 3``, or a text such as ``"a > 3 and name in ('x', 'y')"``. ``order`` is
        ``"row-major"``, ``"col-major"``, ``"global-order"`` or ``"unordered"``. ``memory`` limits the memory of the query, and
        ``limit`` the number of its cells: see :meth:`Read.limit`.

        >>> A = tdb.open(fixtures / "quickstart")
        >>> A.read(fields=["a"], ranges={"rows": [1, 4]}).to_numpy()["a"]
        array([[ 1,  2,  3,  4],
               [13, 14, 15, 16]], dtype=int32)
        """
        core = self._core.read()
        for name, wanted in (ranges or {}).items():
            core = self._narrowed(core, name, wanted)
        if where is not None:
            core = core.condition(core_of(where))
        if order is not None:
            core = core.order(order)
        if memory is not None:
            core = core.memory(str(memory))
        read = Read(self, core)
        if fields is not None:
            read = read.fields(fields)
        return read if limit is None else read.limit(limit)

    def head(self, n: int = 5, **query: Any) -> pandas.DataFrame:
        """The first cells as a table of pandas: see :meth:`Read.head`. The keywords are those of :meth:`read`.

        >>> tdb.open(fixtures / "quickstart").head(2)
           rows  cols  a
        0     1     1  1
        1     1     2  2
        """
        return self.read(**query).head(n)

    def group_by(self, keys: Sequence[str] | str, **query: Any) -> GroupBy:
        """The cells of a sparse array in groups: see :meth:`Read.group_by`. The keywords are those of :meth:`read`."""
        return self.read(**query).group_by(keys)

    def _narrowed(self, core: _tdb.Read, name: str, wanted: Any) -> _tdb.Read:
        for dimension in self.schema.dimensions:
            if dimension.name == name:
                return add_range(core, dimension, wanted)
        for label in self.schema.said["labels"]:
            if label["name"] == name:
                low, high = wanted if isinstance(wanted, tuple) else (wanted, wanted)
                return core.label_range(name, (low, False), (high, False))
        known = [one.name for one in self.schema.dimensions] + [one["name"] for one in self.schema.said["labels"]]
        raise QueryError(f'the array has no dimension or label "{name}" (it has {", ".join(known)}){_tdb.hint(name, known)}')

    def stream(self, memory: str | int = "256MB", **query: Any) -> Stream:
        """The cells in batches, for queries of any size: see :meth:`Read.stream`. The keywords are those of :meth:`read`."""
        return self.read(**query).stream(memory)

    def aggregate(self, *wanted: str, **query: Any) -> dict[str, Any]:
        """Aggregates: see :meth:`Read.aggregate`. The keywords are those of :meth:`read`."""
        return self.read(**query).aggregate(*wanted)

    def to_dask(self, field: str | None = None, *, chunks: Any = "auto") -> dask.array.Array:
        """A field of a dense array as an array of dask: see :func:`tdb.dask.from_tdb`."""
        from .dask import from_tdb

        return from_tdb(self, field, chunks=chunks)

    def __getitem__(self, key: Any) -> Any:
        """The cells of a box.

        Slices are without their end, as everywhere in Python (texts have no value before another one: their slices are with
        it); lists are single coordinates. Indices are coordinates; a negative one is counted from the end, ``-1`` being the last
        coordinate, unless the dimension itself has negative coordinates. Slices may have a step. Dense arrays with one attribute return an array, and a single
        coordinate drops its axis; with several attributes a dictionary of arrays; sparse arrays a dictionary with
        dimensions and attributes.

        >>> A = tdb.open(fixtures / "quickstart")
        >>> A[2]
        array([5, 6, 7, 8], dtype=int32)
        >>> A[2, 3]
        np.int32(7)
        >>> A[::-2, -1]
        array([16,  8], dtype=int32)
        """
        return self.read()[key]

    def __len__(self) -> int:
        """The number of coordinates of the first dimension of a dense array."""
        if self.schema.sparse:
            raise TypeError(f"{self.uri} is sparse, so it has no length: A.read().count() is the number of its cells")
        return self.shape[0]

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        """What ``A[i]`` is for each coordinate of the first dimension of a dense array. Cells are read tile by tile."""
        if self.schema.sparse:
            raise TypeError(f"{self.uri} is sparse, so it has no rows: A.stream() has its cells in batches")
        read, own = self.read(), self.schema.dimensions[0]
        low, high = (int(json_value_of(end)) for end in self.schema._ends()[0])
        tile = int(self.schema.said["dimensions"][0]["extent"] or 1)
        first = low
        while first <= high:
            # The ends of the tiles are counted from the beginning of the domain.
            begin = int(json_value_of(own.domain[0])) if own.domain is not None else low
            last = min(high, first + tile - 1 - (first - begin) % tile)
            block = read[first : last + 1]
            for at in range(last - first + 1):
                yield {name: cells[at] for name, cells in block.items()} if isinstance(block, dict) else block[at]
            first = last + 1

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """The cells of a dense array with one attribute, for ``np.asarray``. Null cells of real numbers are "not a number", those of
        dates "not a time"; other nulls are an error.

        >>> np.asarray(tdb.open(fixtures / "quickstart")).sum()
        np.int64(136)
        """
        names = [one.name for one in self.schema.attributes]
        if self.schema.sparse:
            raise TypeError(
                f"{self.uri} is sparse, so its cells are in no box: A.read(fields={names[0]!r}).to_numpy() has the values,"
                " A.read().to_pandas() a table with their coordinates"
            )
        if len(names) != 1:
            raise TypeError(
                f"the array has several attributes ({', '.join(names)}), and an array of numpy has one:"
                f" np.asarray(A.read(fields={names[0]!r}))"
            )
        return self.read(fields=names).__array__(dtype, copy)

    def __setitem__(self, key: Any, values: Any) -> None:
        """Writes a box of a dense array: one attribute, or a dictionary of them."""
        self.write(values, region=key)

    def write(
        self,
        data: Any,
        region: Any = None,
        *,
        at: Time | None = None,
        order: str | None = None,
        duplicates: str = "refuse",
        casting: str = "same_kind",
    ) -> str:
        """Writes cells as a new fragment, and returns its name.

        ``data`` is a dictionary of columns (numpy, pandas, lists), one array if there is one attribute, or anything with
        Arrow's interface (tables of pyarrow, polars, pandas). Sparse arrays need the dimensions as columns. For dense
        arrays ``region`` has what :meth:`__getitem__` takes; without it, the whole domain is written.
        ``duplicates="last"`` keeps the last of several cells with equal coordinates.

        Values are cast by numpy's rule for assignment, except that integers and dates must fit: ``float64`` is rounded to
        ``float32``, ``int64`` into ``int32`` is an error if a value does not fit. ``casting="safe"`` rounds no real numbers.

        >>> uri = scratch / "write"
        >>> schema = tdb.Schema("dense", [tdb.Dimension("x", (0, 3), "int64", tile=4)], [tdb.Attribute("a", "int64")])
        >>> A = tdb.create(uri, schema)
        >>> A[1:3] = [7, 8]
        >>> A[:].tolist()
        [-9223372036854775808, 7, 8, -9223372036854775808]
        """
        time = None if at is None else milliseconds(at)
        checked_casting(casting)
        if is_frame(data):
            data = columns_of_frame(self, data)
        if not isinstance(data, Mapping) and (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
            box, _ = self._box(region)
            data = in_types_of(self.schema, data, casting)
            _, names = _tdb.write_arrow(self._place, data, box, WRITE_MEMORY, duplicates, time)
            self._written()
            return names[-1] if names else ""
        box, shape = self._box(region)
        columns, order = self._columns(data, shape, order, casting)
        name = _tdb.write(self._place, columns, box, order, duplicates, time)
        self._written()
        return name

    def _box(self, region: Any) -> tuple[list[tuple[str, Any, Any]], tuple[int, ...] | None]:
        """The inclusive ranges of a region of a dense array, and its shape."""
        schema = self.schema
        if schema.sparse:
            if region is not None:
                raise WriteError("cells of a sparse array have coordinates: give the dimensions as columns, and no region")
            return [], None
        box: list[tuple[str, Any, Any]] = []
        shape = []
        for dimension, one, (first, last) in zip(
            schema.dimensions, keys(schema, () if region is None else region), schema._ends()
        ):
            low, high = coordinate(dimension, first), coordinate(dimension, last)
            if isinstance(one, slice):
                if one.step not in (None, 1):
                    raise WriteError(f"dimension {dimension.name!r}: a write covers one box, so slices have no step")
                one = from_end(schema, len(box), one)
                low = low if one.start is None else coordinate(dimension, one.start)
                high = high if one.stop is None else coordinate(dimension, one.stop) - 1
                shape.append(int(high) - int(low) + 1)
            else:
                low = high = coordinate(dimension, from_end(schema, len(box), one))
            box.append((dimension.name, low, high))
        return box, tuple(shape)

    def _columns(
        self, data: Any, shape: tuple[int, ...] | None, order: str | None, casting: str = "same_kind"
    ) -> tuple[list[_tdb.Given], str | None]:
        """The columns of a write, and their order."""
        schema = self.schema
        if not isinstance(data, Mapping):
            if len(schema.attributes) != 1 or schema.sparse:
                raise WriteError("the array has several fields: give a dictionary of columns")
            data = {schema.attributes[0].name: data}
        arrays = [one for one in data.values() if isinstance(one, np.ndarray) and one.ndim > 1]
        # What is laid out column by column is written so, without a copy.
        fortran = (
            order is None
            and len(arrays) == len(data)
            and all(one.flags.f_contiguous and not one.flags.c_contiguous for one in arrays)
        )
        columns = []
        for name, values in data.items():
            field = schema.field(name)
            if field is None:
                known = schema.names
                raise WriteError(f'the array has no field "{name}" (it has {", ".join(known)}){_tdb.hint(name, known)}')
            if shape is not None:
                values = _in_shape(field, values, shape, casting)
            labels = None if field.enumeration is None else self._labels(field.enumeration)[0]
            columns.append(pack(field, values, labels, "F" if fortran or order == "col-major" else "C", casting)[0])
        return columns, "col-major" if fortran else order

    def _written(self) -> None:
        """Sees what was written, unless the array was opened at a time."""
        if self._at is None:
            self._core = _tdb.Array.open(self._place, None)
            self._schema = None

    def reopen(self, at: Window = None) -> Array:
        """The array as it is now, or at a time."""
        return Array(self._place, at=at)

    def delete(
        self,
        where: Where,
        *,
        at: Time | None = None,
        unknown_too: bool = False,
        by_coordinates: bool = False,
        dry_run: bool = False,
    ) -> int:
        """Deletes the cells of a sparse array that satisfy a condition, and returns their number. They remain visible at
        earlier times.

        What is deleted is written as a condition, which also takes cells for which it is unknown: those that are null or NaN
        in one of its fields. So a delete is refused if there are any, unless ``unknown_too`` is set. With ``by_coordinates``
        the delete lists the coordinates of the cells that satisfy the condition now, at most 1,000, and takes nothing else;
        conditions may ask for null then. ``dry_run`` deletes nothing."""
        if unknown_too and by_coordinates:
            raise ValueError("unknown_too and by_coordinates exclude each other: by_coordinates spares what is unknown")
        time = None if at is None else milliseconds(at)
        removed = _tdb.delete(self._place, core_of(where), unknown_too, by_coordinates, dry_run, time)
        if not dry_run:
            self._written()
        return removed

    def evolve(
        self,
        *,
        add: Sequence[Attribute] = (),
        drop: Sequence[str] = (),
        add_enumerations: Sequence[Enumeration] = (),
        extend_enumerations: Mapping[str, Sequence[Any]] | None = None,
        drop_enumerations: Sequence[str] = (),
        expand: Mapping[str, tuple[Any, Any]] | None = None,
        upgrade: bool = False,
        at: Time | None = None,
    ) -> str:
        """Changes the schema, and returns the name of the new one: attributes and enumerations come and go, the current
        domain grows, the format version becomes the newest."""
        asked: dict[str, Any] = {
            "add": [one.to_json() for one in add],
            "drop": list(drop),
            "add_enumerations": [one.to_json() for one in add_enumerations],
            "extend_enumerations": [
                {"name": name, "values": [json_value(self._enumeration(name)[0], value) for value in values]}
                for name, values in (extend_enumerations or {}).items()
            ],
            "drop_enumerations": list(drop_enumerations),
            "upgrade": upgrade,
        }
        if expand is not None:
            asked["expand"] = {name: [self._end_of(name, end) for end in ends] for name, ends in expand.items()}
        made = _tdb.evolve(self._place, json.dumps(asked), None if at is None else milliseconds(at))
        self._written()
        return made

    def consolidate(
        self,
        what: str = "fragments",
        *,
        fragments: Sequence[str] | None = None,
        memory: int | None = None,
        purge: bool = False,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Makes many files into few: ``"fragments"``, ``"fragment-metadata"``, ``"commits"`` or ``"metadata"``. Returns what
        was done. The old files stay until :meth:`vacuum` removes them."""
        names = None if fragments is None else list(fragments)
        done: dict[str, Any] = json.loads(_tdb.consolidate(self._place, what, names, memory, purge, dry_run))
        self._written()
        return done

    def vacuum(
        self,
        what: str = "fragments",
        *,
        orphans: bool = False,
        drop_history: bool = False,
        before: Time | None = None,
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Removes what consolidated files replace or, with ``orphans``, what crashes left behind. Returns what was done."""
        time = None if before is None else milliseconds(before)
        done: dict[str, Any] = json.loads(_tdb.vacuum(self._place, what, orphans, drop_history, time, dry_run))
        self._written()
        return done

    def verify(self) -> dict[str, Any]:
        """Checks every structure, chunk and checksum: ``problems`` is empty if all is well.

        >>> tdb.open(fixtures / "quickstart").verify()["problems"]
        []
        """
        found: dict[str, Any] = json.loads(_tdb.verify(self._place))
        return found

    def publish(self) -> dict[str, Any]:
        """Writes the manifest from which web servers that cannot list folders are read. Every later change with tdb renews it.

        >>> A = tdb.create(scratch / "web", tdb.Schema("sparse", [tdb.Dimension("x", (0, 9), "int64")], [tdb.Attribute("a")]))
        >>> A.publish()["manifest"]
        'tdb_manifest.txt'
        """
        made: dict[str, Any] = json.loads(_tdb.publish(self._place))
        return made

    def __enter__(self) -> Array:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Does nothing, for programs that close what they opened: no file is open between two calls, and what was written is
        there."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Location and time. Whoever loads it needs the key or the credentials of their own: see docs/python.md."""
        return _open_again, (self.uri, self.window)

    def __repr__(self) -> str:
        return f"<tdb.Array {self.schema.kind} {self.uri!r}>"

    def _repr_html_(self) -> str:
        """What notebooks show."""
        return schema_html(self.schema, f"tdb.Array {self.uri}")


def _open_again(uri: str, at: tuple[int, int]) -> Array:
    return Array(place(uri, None, None, None), at=at)


def _in_shape(field: Field, values: Any, shape: tuple[int, ...], casting: str) -> Any:
    """The values of a region. One value stands for all cells."""
    dtype, name = number_dtype(field.datatype), field.name
    full = shape if dtype is None or field.values_per_cell == 1 else (*shape, field.values_per_cell)
    if isinstance(values, (str, bytes)) or (not hasattr(values, "__array__") and np.ndim(values) == 0):
        if dtype is None or field.enumeration is not None or values is None:
            one = np.empty((), object)
            one[()] = values
            return np.broadcast_to(one, full)
        return np.broadcast_to(as_type(field, values, dtype, casting), full)
    given = values if isinstance(values, np.ndarray) else None
    if given is None:
        given = _of_lists(values, len(shape)) if isinstance(values, (list, tuple)) else values
    own = np.shape(given)
    count = int(np.prod(shape, dtype=np.int64))
    longer = [[size for size in one if size != 1] for one in (own, full)]
    if longer[0] != longer[1] and own[:1] != (count,) and not (own == () and isinstance(given, np.ndarray)):
        raise WriteError(f'field "{name}" has the shape {own}, but the region has the shape {full}')
    return np.broadcast_to(given, full) if own == () else given


def _of_lists(values: Any, ndim: int) -> Any:
    """Lists as an array of objects where they are not numbers."""
    try:
        found = np.array(values)
    except ValueError:
        found = np.array(values, dtype=object)
    if found.dtype.kind in "OUST" or found.ndim < ndim:
        own = np.empty(np.shape(values)[:ndim] if found.ndim >= ndim else (len(values),), object)
        for at in np.ndindex(own.shape):
            one: Any = values
            for index in at:
                one = one[index]
            own[at] = one
        return own
    return values


class Metadata(MutableMapping[str, Any]):
    """Key-value metadata of an array or a group. Reading sees the time of its array; a change is written at once.

    >>> A = tdb.create(scratch / "meta", tdb.Schema("sparse", [tdb.Dimension("x", (0, 9), "int64")], [tdb.Attribute("a")]))
    >>> A.meta["author"] = "Ada"
    >>> A.meta.update(year=1843, weights=[0.5, 0.25])
    >>> dict(A.meta)
    {'author': 'Ada', 'weights': array([0.5 , 0.25]), 'year': 1843}
    """

    def __init__(self, where: _tdb.Place, at: tuple[int, int] | None) -> None:
        self._place = where
        self._at = at

    def _entries(self) -> dict[str, Any]:
        found = {}
        for key, datatype, count, data in _tdb.metadata(self._place, self._at):
            found[key.decode("utf-8", "surrogateescape")] = decode_value(datatype, count, data)
        return found

    def __getitem__(self, key: str) -> Any:
        return self._entries()[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries())

    def __len__(self) -> int:
        return len(self._entries())

    def __setitem__(self, key: str, value: Any) -> None:
        self.change({key: value})

    def __delitem__(self, key: str) -> None:
        if key not in self._entries():
            raise KeyError(key)
        self.change({}, [key])

    def update(self, other: Any = (), /, **more: Any) -> None:
        """Writes all entries at once, as one file."""
        self.change({**dict(other), **more})

    def change(self, put: Mapping[str, Any], remove: Sequence[str] = (), *, at: Time | None = None) -> None:
        """Writes entries and removes keys at once."""
        entries = [(key.encode("utf-8", "surrogateescape"), *encode_value(value)) for key, value in put.items()]
        keys = [key.encode("utf-8", "surrogateescape") for key in remove]
        _tdb.write_metadata(self._place, entries, keys, None if at is None else milliseconds(at))

    def __repr__(self) -> str:
        return repr(self._entries())


def create(
    uri: Location,
    schema: Schema,
    *,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Array:
    """Creates an array, and opens it.

    >>> schema = tdb.Schema("sparse", [tdb.Dimension("x", (0, 99), "int32")], [tdb.Attribute("a", str)])
    >>> A = tdb.create(scratch / "create", schema)
    >>> _ = A.write({"x": [3, 1], "a": ["three", "one"]})
    >>> A[:]
    {'x': array([1, 3], dtype=int32), 'a': array(['one', 'three'], dtype=object)}
    """
    where = place(uri, storage, key, threads)
    _tdb.create(where, json.dumps(schema.to_json()), None if at is None else milliseconds(at))
    return Array(where)


def create_filled(
    uri: Location,
    schema: Schema,
    columns: Mapping[str, Any],
    shape: tuple[int, ...],
    *,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Array:
    """Creates a dense array with the cells of all of its domain, and opens it. If that fails, nothing is left behind."""
    given = []
    for name, values in columns.items():
        field = schema.field(name)
        assert field is not None
        given.append(pack(field, _in_shape(field, values, shape, "safe"), None, "C")[0])
    where = place(uri, storage, key, threads)
    said, time = json.dumps(schema.to_json()), None if at is None else milliseconds(at)
    box = [(own.name, *(coordinate(own, end) for end in own.domain or ())) for own in schema.dimensions]
    _tdb.create_filled(where, said, [], given, box, "refuse", time)
    return Array(where)


def from_arrow(
    uri: Location,
    data: Any,
    dimensions: Sequence[Dimension] | None = None,
    *,
    sparse: bool = True,
    filters: Filters | None = "zstd",
    duplicates: bool = False,
    enumerations: bool = True,
    capacity: int | None = None,
    at: Time | None = None,
    key: Key = None,
    storage: Storage = None,
    threads: int | None = None,
) -> Array:
    """Creates an array from a table or a stream of Arrow (pyarrow, polars, pandas, duckdb, …), and opens it.

    The columns with the names of ``dimensions`` are coordinates, the others attributes. Without ``dimensions``, the schema is that of
    the array that the table comes from, as its metadata says; the rows of a table that comes from none are numbered, in the dimension
    ``__tiledb_rows``. ``filters`` are those of all attributes.
    """
    where = place(uri, storage, key, threads)
    described, box = None, []
    if dimensions is not None:
        kind = "sparse" if sparse else "dense"
        said: dict[str, Any] = {
            "type": kind,
            "dimensions": [one.to_json() for one in dimensions],
            "allows_duplicates": duplicates,
        }
        if capacity is not None:
            said["capacity"] = capacity
        described = json.dumps(said)
        if not sparse:
            box = [(one.name, *(coordinate(one, end) for end in one.domain or ())) for one in dimensions]
    text = None if filters is None or dimensions is None else _one_line(filters)
    time = None if at is None else milliseconds(at)
    rows = None
    if dimensions is None and sparse:
        said = {"type": "sparse", "dimensions": [rows_of(0, None, True).to_json()], "allows_duplicates": duplicates}
        rows = json.dumps(said if capacity is None else {**said, "capacity": capacity})
    _tdb.from_arrow(where, data, described, text, box, WRITE_MEMORY, enumerations, "refuse", time, rows)
    return Array(where)


def _one_line(filters: Filters) -> str:
    """Filters in one line."""
    if isinstance(filters, str):
        return filters
    lines = []
    for one in _filters(filters):
        options = [] if isinstance(one, str) else [f"{name}={value}" for name, value in one.items() if name != "name"]
        name = one if isinstance(one, str) else one["name"]
        lines.append(f"{name}({', '.join(options)})" if options else name)
    return ", ".join(lines) or "none"


def object_type(uri: Location, *, storage: Storage = None) -> str | None:
    """What is at a place: ``"array"``, ``"group"``, or ``None``.

    >>> tdb.object_type(fixtures / "quickstart")
    'array'
    """
    found = _tdb.object_type(place(uri, storage, None, None))
    return found if found in ("array", "group") else None


__all__ = ["AnyArray", "Array", "Condition", "Metadata", "create", "from_arrow", "object_type", "open"]
