"""Tables of pandas, and files of CSV."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import write
from .array_schema import ArraySchema
from .attribute import Attr
from .ctx import Ctx, scope_ctx
from .datatypes import DataType
from .dimension import Dim, Domain
from .enumeration import Enumeration
from .filter import Filter, FilterList, ZstdFilter
from .libtiledb import TileDBError
from .subarray import Subarray

if TYPE_CHECKING:
    import pandas

ROWS = "__tiledb_rows"

#: The keywords of :func:`from_pandas`, and what applies without them.
_DEFAULTS: dict[str, Any] = {
    "ctx": None, "sparse": None, "index_dims": None, "allows_duplicates": True, "mode": "ingest", "attr_filters": True,
    "dim_filters": True, "coords_filters": True, "offsets_filters": True, "full_domain": False, "tile": None,
    "row_start_idx": None, "fillna": None, "column_types": None, "varlen_types": None, "capacity": None, "date_spec": None,
    "cell_order": "row-major", "tile_order": "row-major", "timestamp": None, "debug": None, "fit_to_df": False,
}  # fmt: skip


def check_dataframe_deps() -> None:
    """Fails if pandas is missing."""
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise Exception("Pandas is required for dataframe functionality: pip install pandas") from error


@dataclass(frozen=True)
class EnumerationInfo:
    """The values of a categorical column."""

    dtype: Any
    ordered: bool = False
    values: Any = None


@dataclass(frozen=True)
class ColumnInfo:
    """What a column of a table is in an array."""

    dtype: Any
    repr: str | None = None
    nullable: bool = False
    var: bool = False
    enumeration: bool = False
    enumeration_info: EnumerationInfo | None = None

    @classmethod
    def from_values(cls, array_like: Any, varlen_types: Any = ()) -> ColumnInfo:
        """What a column with these values is."""
        import pandas
        from pandas.api import types

        name = getattr(array_like, "name", None)
        if types.is_object_dtype(array_like):
            kind = types.infer_dtype(array_like)
            if kind not in ("bytes", "string"):
                raise NotImplementedError(f"{kind} inferred dtype not supported (column {name})")
            return cls.from_dtype(np.bytes_ if kind == "bytes" else np.str_, name)
        dtype = getattr(array_like, "dtype", None)
        if isinstance(dtype, pandas.CategoricalDtype):
            return cls.from_categorical(getattr(array_like, "cat", array_like), dtype, name)
        if dtype is None:
            dtype = np.asanyarray(array_like).dtype
        return cls.from_dtype(dtype, name, varlen_types)

    @classmethod
    def from_categorical(cls, cat: Any, dtype: Any, column_name: Any) -> ColumnInfo:
        """What a categorical column is: numbers of values."""
        from pandas.api import types

        values = cat.categories.values
        kinds = {
            "bytes": np.bytes_, "string": np.str_, "floating": np.float64, "integer": np.int64, "boolean": np.bool_,
            "datetime64": values.dtype, "timedelta64": values.dtype,
        }  # fmt: skip
        kind = types.infer_dtype(values)
        if kind not in kinds and len(values):
            raise NotImplementedError(f"Pandas type '{kind}' is not supported (column {column_name})")
        info = EnumerationInfo(kinds.get(kind, np.str_), bool(cat.ordered), values)
        return cls(np.int32, dtype.name, False, False, True, info)

    @classmethod
    def from_dtype(cls, dtype: Any, column_name: Any, varlen_types: Any = ()) -> ColumnInfo:
        """What a column of a type is."""
        from pandas.api import types

        if isinstance(dtype, str) and dtype in ("ascii", "blob"):
            return cls("ascii" if dtype == "ascii" else np.bytes_, var=True)
        dtype = types.pandas_dtype(dtype)
        if types.is_extension_array_dtype(dtype):
            own: Any = getattr(dtype, "subtype", dtype.type)
            var = bool(varlen_types and dtype in varlen_types)
            return cls(np.dtype(own), dtype.name, not var and bool(dtype.construct_array_type()._can_hold_na), var)
        if types.is_bool_dtype(dtype):
            return cls(np.dtype("bool"), "bool")
        if types.is_complex_dtype(dtype):
            raise NotImplementedError(f"complex dtype not supported (column {column_name})")
        if types.is_numeric_dtype(dtype):
            if dtype.kind == "f" and dtype.itemsize not in (4, 8):
                raise NotImplementedError(f"Only single and double precision float dtypes are supported (column {column_name})")
            return cls(dtype)
        if types.is_datetime64_any_dtype(dtype):
            if dtype != "datetime64[ns]":
                raise NotImplementedError(f"Only 'datetime64[ns]' datetime dtype is supported (column {column_name})")
            return cls(dtype)
        if isinstance(dtype, np.dtype) and dtype.type in (np.bytes_, np.str_):
            return cls(dtype, var=True)
        raise NotImplementedError(f"{dtype} dtype not supported (column {column_name})")


def _filters(filters: Any) -> FilterList:
    if filters is True:
        return FilterList([ZstdFilter()])
    if filters is None:
        return FilterList()
    if isinstance(filters, Filter):
        return FilterList([filters])
    if isinstance(filters, (list, FilterList)):
        return FilterList(filters)
    raise ValueError("Unknown FilterList type!")


def _filters_of(name: Any, filters: Any) -> FilterList:
    return _filters(filters.get(name, True)) if isinstance(filters, Mapping) else _filters(filters)


def create_dim(dtype: Any, values: Any, full_domain: bool, tile: Any, **how: Any) -> Dim:
    """The dimension for a column with these values."""
    kind = np.dtype("S") if dtype in ("ascii", np.str_, np.bytes_) else np.dtype(dtype)
    if kind.kind in "SU":
        return Dim(domain=(None, None), dtype=np.bytes_, tile=None, **how)
    if full_domain:
        low, high = DataType.from_numpy(kind).domain
        # The end of the last tile has to be a coordinate, too.
        if kind.kind == "M":
            low, high = low, (high.astype(np.int64) - int(tile)).astype(kind)
        elif kind.kind in "iu" and int(high) - int(low) > np.iinfo(np.uint64).max - tile:
            high = high - tile
    else:
        given = np.asarray(values)
        low, high = given.min(), given.max()
    if kind.kind in "iuM":
        ends = [int(one.astype(kind).astype(np.int64)) if kind.kind == "M" else int(one) for one in (low, high)]
        tile = max(1, min(int(tile), ends[1] - ends[0] + 1))
    elif kind.kind == "f":
        with np.errstate(over="ignore"):
            span = high - low
        tile = np.ceil(span) if span < tile else tile
    return Dim(domain=(low, high), dtype=kind, tile=tile, **how)


def _dims(frame: Any, args: Mapping[str, Any], infos: Mapping[str, ColumnInfo], full: bool) -> tuple[list[Dim], dict[Any, Any]]:
    """The dimensions of a table, and their types."""
    import pandas

    tile = args.get("tile")
    of_each = tile if isinstance(tile, Mapping) else {}
    for one in of_each.values() if of_each else [tile]:
        if one is not None and not isinstance(one, (int, float)):
            raise ValueError(f"Invalid tile kwarg: expected int or dict of column names mapped to ints. Got '{tile!r}'")
    if not of_each and tile is not None and not isinstance(tile, (int, float)):
        raise ValueError(f"Invalid tile kwarg: expected int or dict of column names mapped to ints. Got '{tile!r}'")
    index, found, types = frame.index, [], {}
    names = list(args.get("index_dims") or index.names)
    usual = {1: 10_000, 2: 1_000, 3: 100}.get(len(names), 10)
    for name in names:
        if name in index.names:
            values = index.get_level_values(name)
        elif name in frame.columns:
            values = frame[name]
        else:
            raise ValueError(f"Unknown column or index named {name!r}")
        dtype = infos[name].dtype if name in infos else ColumnInfo.from_values(values).dtype
        own = np.dtype("uint64") if name == ROWS and isinstance(index, pandas.RangeIndex) else dtype
        name = ROWS if name is None else name
        types[name] = dtype
        extent = of_each.get(name) if of_each else tile
        extent = usual if extent is None else extent
        found.append(create_dim(own, values, full, extent, name=name, filters=_filters_of(name, args.get("dim_filters", True))))
    return found, types


def _is_sparse(types: Sequence[Any], sparse: bool | None) -> bool:
    texts = any(one in (np.bytes_, np.str_, "ascii") or np.dtype(one).kind in "SU" for one in types)
    mixed = any(one != types[0] for one in types)
    if sparse is False and texts:
        raise TileDBError("Cannot create dense array with string-typed dimensions")
    if sparse is False and mixed:
        raise TileDBError("Cannot create dense array with heterogeneous dimension data types")
    return texts or mixed if sparse is None else sparse


def _attribute(name: str, info: ColumnInfo, filters: Any) -> Attr:
    dtype = np.int32 if info.enumeration else info.dtype
    label = name if info.enumeration else None
    var = info.var or np.dtype("S" if dtype == "ascii" else dtype).kind in "SU"
    return Attr(name, dtype, None, var or None, info.nullable, _filters_of(name, filters), label)


def _create(uri: Any, frame: Any, full: bool, infos: Mapping[str, ColumnInfo], args: Mapping[str, Any]) -> None:
    from .highlevel import open
    from .array import Array

    dims, types = _dims(frame, args, infos, full)
    sparse = _is_sparse(list(types.values()), args.get("sparse"))
    names = [one for one in frame.columns if one not in (args.get("index_dims") or ())]
    enumerations = []
    for one in names:
        known = infos[one].enumeration_info
        if known is not None:
            enumerations.append(Enumeration(one, known.ordered, np.array(known.values, known.dtype), known.dtype))
    coords = args.get("coords_filters", True)
    schema = ArraySchema(
        Domain(*dims),
        [_attribute(one, infos[one], args.get("attr_filters", True)) for one in names],
        args["cell_order"],
        args["tile_order"],
        args.get("capacity") or 0,
        None if coords is True else _filters(coords),
        _filters(args.get("offsets_filters", True)),
        None,
        bool(sparse and args.get("allows_duplicates", False)),
        sparse,
        enums=enumerations,
    )
    Array.create(uri, schema)
    with open(uri, "w") as array:
        shown = {one: infos[one].repr for one in names if infos[one].repr is not None}
        for key, said in (("__pandas_attribute_repr", shown), ("__pandas_index_dims", types)):
            if said:
                array.meta[key] = json.dumps({name: str(one) for name, one in said.items()})


def _columns(frame: Any, infos: Mapping[str, ColumnInfo], fillna: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns as arrays of numpy, and which cells are not null."""
    found, valid = {}, {}
    for name, column in frame.items():
        info = infos[name]
        if fillna is not None and name in fillna:
            column = column.fillna(fillna[name])
        how: dict[str, Any] = {} if info.var else {"dtype": np.dtype("S") if info.dtype == "ascii" else info.dtype}
        if how and np.dtype(how["dtype"]).kind in "SU":
            how = {}
        if info.nullable:
            how["na_value"] = np.dtype(info.dtype).type()
            valid[name] = (~column.isna()).to_numpy(dtype=np.uint8)
        found[name] = column.cat.codes.to_numpy(np.int32) if info.enumeration else column.to_numpy(**how)
    return found, valid


def _write(uri: Any, frame: Any, values: dict[str, Any], valid: dict[str, Any], made: bool, args: Mapping[str, Any]) -> None:
    from .highlevel import open

    index, first = args.get("index_dims") or (), args.get("row_start_idx")
    with open(uri, "w", timestamp=args.get("timestamp")) as array:
        for attr in array.schema:
            if attr.enum_label is not None and attr.name in frame:
                values[attr.name] = _codes(attr, frame[attr.name], _kinds(array.enum(attr.enum_label).values()))
        if array.schema.sparse:
            coordinates = []
            for at, dim in enumerate(array.domain):
                own = dim.name not in frame.index.names and dim.name != ROWS
                if own and (not made or dim.name in index):
                    one = values.pop(dim.name)
                else:
                    one = frame.index.get_level_values(at)
                coordinates.append(one + first if first is not None and dim.name == ROWS else one)
            write.sparse(array, tuple(coordinates), values, valid)
        elif args.get("fit_to_df"):
            part = Subarray(array)
            for at, dim in enumerate(array.domain):
                part.add_dim_range(at, (frame[dim.name].min(), frame[dim.name].max()))
            write.dense(array, part, values, valid)
        else:
            low = first or 0
            write.dense(array, slice(low, low + len(frame)), values, valid)


def _codes(attr: Attr, column: Any, known: Any) -> Any:
    """The numbers of the values of a categorical column in an enumeration. TileDB-Py writes -1 for a value that is not there, and
    can then not read the array."""
    column = column.astype("category")
    given = column.cat.set_categories(known)
    unknown = column[given.isna() & column.notna()]
    if len(unknown):
        raise TileDBError(
            f"attribute {attr.name!r}: {unknown.iloc[0]!r} is not a value of the enumeration {attr.enum_label!r}:"
            " extend it first (ArraySchemaEvolution.extend_enumeration)"
        )
    codes = given.cat.codes.to_numpy(np.int32)
    if attr.isnullable:
        return codes
    # A missing value of an attribute without nulls is what was never written.
    return np.where(codes < 0, np.asarray(attr.fill).ravel()[0].astype(np.int64), codes)


def _kinds(values: Any) -> Any:
    return values.tolist() if values.dtype.kind in "SU" else values


def from_pandas(uri: Any, dataframe: pandas.DataFrame, **how: Any) -> None:
    """Creates an array from a table of pandas, or (``mode="append"``) writes behind what is there."""
    check_dataframe_deps()
    args = how.pop("tiledb_args") if "tiledb_args" in how else {name: how.pop(name, one) for name, one in _DEFAULTS.items()}
    ctx = args.get("ctx")
    if ctx is not None and not isinstance(ctx, Ctx):
        raise ValueError(f"`ctx` expected a TileDB Context object but saw {type(ctx)}")
    with scope_ctx(ctx):
        _from_pandas(uri, dataframe, args)


def _from_pandas(uri: Any, frame: Any, args: Mapping[str, Any]) -> None:
    import pandas
    from .highlevel import array_exists

    mode, first = args.get("mode", "ingest"), args.get("row_start_idx")
    if mode not in ("ingest", "schema_only", "append", None):
        raise TileDBError(f"Invalid mode specified ('{mode}')")
    if mode != "append" and array_exists(uri):
        raise TileDBError(f"Array URI '{uri}' already exists!")
    if mode == "append" and not ArraySchema.load(uri).sparse and first is None and not args.get("fit_to_df"):
        raise TileDBError("Cannot append to dense array without either 'row_start_idx' or 'fit_to_df'")
    full = args.get("full_domain", False)
    if args.get("sparse") is False and (not args.get("index_dims") or "index_col" not in args):
        full = True
    if full is None and args.get("nrows"):
        full = False
    dates = args.get("date_spec")
    if dates:
        frame = frame.assign(**{name: pandas.to_datetime(frame[name], format=one) for name, one in dates.items()})
    frame = frame.set_axis(frame.columns.map(str), axis=1)
    kinds = args.get("column_types") or {}
    infos = {
        name: ColumnInfo.from_dtype(kinds[name], name, args.get("varlen_types"))
        if name in kinds
        else ColumnInfo.from_values(column, args.get("varlen_types"))
        for name, column in frame.items()
    }
    # What is wrong with a column is found before there is an array.
    values, valid = ({}, {}) if mode == "schema_only" else _columns(frame, infos, args.get("fillna"))
    if mode != "append":
        _create(uri, frame, full, infos, args)
    if mode != "schema_only":
        if args.get("debug", True):
            print(f"`tiledb.from_pandas` writing '{len(frame)}' rows")
        _write(uri, frame, values, valid, mode != "append", args)


def from_parquet(uri: Any, parquet_path: Any, **how: Any) -> None:
    """Creates an array from a file of Parquet. The keywords are those of :func:`from_pandas` and of ``pandas.read_parquet``."""
    import pandas

    args = {name: how.pop(name, one) for name, one in _DEFAULTS.items()}
    from_pandas(uri, pandas.read_parquet(parquet_path, **how), tiledb_args=args)


def open_dataframe(uri: Any, *, attrs: Any = None, use_arrow: Any = None, idx: Any = slice(None), ctx: Any = None) -> Any:
    """The cells of an array as a table of pandas."""
    from .highlevel import open

    check_dataframe_deps()
    with open(uri, ctx=ctx) as array:
        frame = array.query(attrs=attrs, use_arrow=use_arrow, coords=True).df[idx]
    return frame[attrs] if attrs and list(frame.columns) != list(attrs) else frame


def _chunks(files: Sequence[Any], how: Mapping[str, Any]) -> Iterator[Any]:
    """Tables of as many rows as were asked for, from one file after the other."""
    import pandas

    size, rest = how["chunksize"], None
    for file in files:
        for part in pandas.read_csv(file, **how):
            rest = part if rest is None else pandas.concat([rest, part])
            while len(rest) >= size:
                yield rest.iloc[:size].copy()
                rest = rest.iloc[size:]
    if rest is not None and len(rest):
        yield rest.copy()


def from_csv(uri: str, csv_file: Any, **how: Any) -> None:
    """Creates an array from files of CSV. The keywords are those of :func:`from_pandas` and of ``pandas.read_csv``."""
    import pandas

    from .highlevel import array_exists
    from .vfs import VFS

    check_dataframe_deps()
    args = how.pop("tiledb_args") if "tiledb_args" in how else {name: how.pop(name, one) for name, one in _DEFAULTS.items()}
    ctx, mode = args.get("ctx"), args.get("mode")
    if ctx is not None and not isinstance(ctx, Ctx):
        raise ValueError(f"`ctx` expected a TileDB Context object but saw {type(ctx)}")
    if isinstance(csv_file, str) and not os.path.isfile(csv_file):
        csv_file = VFS(ctx=ctx).open(csv_file, "rb")
    if mode not in (None, "schema_only", "ingest", "append"):
        raise TileDBError(f"Invalid mode specified ('{mode}')")
    several = isinstance(csv_file, (list, tuple))
    chunk = how.get("chunksize")
    if mode == "schema_only" and "nrows" not in how:
        how["nrows"] = 500
    with scope_ctx(ctx):
        if mode != "append" and array_exists(uri):
            raise TileDBError(f"Array URI '{uri}' already exists!")
    if several and not (chunk or mode == "schema_only"):
        raise TileDBError("Multiple input CSV files requires a 'chunksize' argument")
    if several or chunk is not None:
        if several or "nrows" not in how:
            args["full_domain"] = True
        _in_parts(uri, list(csv_file) if several else [csv_file], args, how)
        return
    frame = pandas.read_csv(csv_file, **how)
    if "index_col" not in args and frame.index.name is None:
        frame.index.name = ROWS
    from_pandas(uri, frame, **{**how, **args})


def _in_parts(uri: str, files: Sequence[Any], args: dict[str, Any], how: Mapping[str, Any]) -> None:
    schema_only, written = args.get("mode") == "schema_only", 0
    if "chunksize" not in how:
        how = {**how, "chunksize": how.get("nrows", 500)}
    for frame in _chunks(files, how):
        if "index_col" not in args and frame.index.name is None:
            frame = frame.reset_index(drop=True)
            frame.index.name = ROWS
        args["row_start_idx"] = written
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            from_pandas(uri, frame, tiledb_args=args)
        args["mode"] = "append"
        written += len(frame)
        if schema_only:
            break


__all__ = ["ColumnInfo", "from_csv", "from_pandas", "from_parquet", "open_dataframe"]
