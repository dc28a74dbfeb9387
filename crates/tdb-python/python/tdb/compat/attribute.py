"""Attributes."""

from __future__ import annotations

import json
import warnings
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _tdb
from .._errors import UnsupportedError
from .._schema import Attribute
from .._types import AnyArray, encoding, is_text, json_value, number_dtype
from .datatypes import WORDS, DataType, dtype_of
from .filter import FilterList, list_of
from .libtiledb import TILEDB_VAR_NUM, TileDBError

#: How old arrays name the attribute without a name.
ANONYMOUS = "__attr"
_WORD_OF = {name: word for word, name in WORDS.items()}


@lru_cache(maxsize=256)
def _default_fill(datatype: str, values: int | str) -> Any:
    """The fill value of the format, in the notation of ``tdb info --json``."""
    dimension = {"name": "d", "datatype": "INT32", "domain": [0, 1], "extent": 2}
    attribute = {"name": "a", "datatype": datatype, "cell_val_num": values}
    said = json.loads(_tdb.check_schema(json.dumps({"type": "sparse", "dimensions": [dimension], "attributes": [attribute]})))
    return said["attributes"][0]["fill_value"]


def visible(name: str) -> str:
    """The name of an attribute for programs. Old arrays have one for attributes without a name."""
    return "" if name == ANONYMOUS else name


class Attr:
    """An attribute: values that every cell has."""

    def __init__(
        self,
        name: str = "",
        dtype: Any = np.float64,
        fill: Any = None,
        var: bool | None = None,
        nullable: bool = False,
        filters: Any = None,
        enum_label: str | None = None,
        ctx: Any = None,
    ) -> None:
        word = dtype if isinstance(dtype, str) and dtype in WORDS else None
        found = DataType.from_numpy(dtype)
        var = _is_var(word, found.np_dtype, dtype, var)
        if not var and found.ncells == TILEDB_VAR_NUM():
            raise TypeError("dtype is not compatible with var-length attribute")
        self._name, self._datatype = visible(name), found.name
        self._values: int | str = "var" if var else found.ncells
        self.isnullable, self.enum_label = bool(nullable), enum_label
        self.filters: FilterList = list_of(filters)
        self._fill: Any = None
        self._fill_valid = not nullable
        if fill is not None:
            self.fill = fill

    @classmethod
    def _of(cls, own: Attribute, said: Any) -> Attr:
        made = cls.__new__(cls)
        made._name, made._datatype, made._values = visible(own.name), own.datatype, own.values or 1
        made.isnullable, made.enum_label = own.nullable, own.enumeration
        made.filters, made._fill, made._fill_valid = FilterList._of_said(said["filters"]), said["fill_value"], True
        return made

    def _own(self) -> Attribute:
        """The same attribute in ``tdb``."""
        return Attribute(
            self._name, self._datatype, self._values, self.isnullable, self._fill, self.enum_label, self.filters._said_all()
        )

    @property
    def name(self) -> str:
        """The name; empty for the anonymous one."""
        return self._name

    @property
    def _internal_name(self) -> str:
        return self._name or ANONYMOUS

    @property
    def _tiledb_dtype(self) -> Any:
        return DataType.from_tiledb(self._datatype).tiledb_type

    @property
    def dtype(self) -> np.dtype[Any]:
        """The numpy type."""
        return dtype_of(self._datatype, self._values)

    @property
    def isanon(self) -> bool:
        """Whether the attribute has no name."""
        return self._name == ""

    @property
    def isvar(self) -> bool:
        """Whether the number of values differs from cell to cell."""
        return self._values == "var"

    @property
    def ncells(self) -> int:
        """The number of values per cell."""
        return TILEDB_VAR_NUM() if self.isvar else int(self._values)

    @property
    def isascii(self) -> bool:
        """Whether the values are texts of ASCII."""
        return self._datatype == "STRING_ASCII"

    @property
    def fill(self) -> Any:
        """The value of cells that were not written."""
        if self.isnullable:
            raise TileDBError(f"Cannot get fill value; attribute {self.name!r} is nullable")
        said = self._fill if self._fill is not None else _default_fill(self._datatype, self._values)
        if is_text(self._datatype):
            raw = bytes_of(said)
            return raw.decode("utf-8", "surrogateescape") if encoding(self._datatype) and not self.isascii else raw
        own = number_dtype(self._datatype)
        assert own is not None
        numbers = _numbers(said, own)
        if own.kind == "M":
            return numbers[0].astype(np.timedelta64)
        if self.dtype.kind in "Vc":
            return numbers.view(self.dtype)
        return numbers

    @fill.setter
    def fill(self, value: Any) -> None:
        if is_text(self._datatype):
            text = value if isinstance(value, bytes) else value.encode()
            size = None if self.isvar else self.ncells
            if size is not None and len(text) != size:
                raise UnsupportedError(f"the fill value of {self.name!r} has {len(text)} bytes, but cells have {size}")
            self._fill = text
            return
        own = number_dtype(self._datatype)
        assert own is not None
        if self.dtype.kind == "c" and np.ndim(value) == 0 and getattr(value, "dtype", None) is not None and value.dtype.names:
            value = [value[field] for field in value.dtype.names]
        elif self.dtype.kind == "c" and not (isinstance(value, (tuple, list)) and len(value) == 2):
            value = [np.real(value), np.imag(value)]
        if self.dtype.kind == "V":
            numbers = np.array([tuple(np.atleast_1d(np.asarray(value, self.dtype))[0])], self.dtype).view(own)
        else:
            numbers = np.atleast_1d(np.array(value, own)).ravel()
        said = [json_value(self._datatype, own.type(one) if own.kind not in "mM" else one) for one in numbers.ravel()]
        self._fill = said[0] if len(said) == 1 else said

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Attr):
            return False
        same = (self.name, self.dtype, self.isvar, self.isnullable) == (other.name, other.dtype, other.isvar, other.isnullable)
        fills = self.isnullable or _same_fill(self.fill, other.fill)
        return same and fills and self.filters == other.filters

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        filters = "" if not len(self.filters) else f", filters=FilterList([{''.join(repr(one) + ', ' for one in self.filters)}])"
        dtype = _WORD_OF.get(self._datatype, str(self.dtype))
        label = None if self.enum_label is None else f"'{self.enum_label}'"
        return (
            f"Attr(name={self.name!r}, dtype='{dtype}', var={self.isvar}, nullable={self.isnullable}, "
            f"enum_label={label}{filters})"
        )

    def _repr_html_row_only_(self) -> str:
        cells = [self.name, "ascii" if self.isascii else self.dtype, self.isvar, self.isnullable, self.filters._repr_html_()]
        return "<tr>" + "".join(f"<td>{one}</td>" for one in cells) + "</tr>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{one}</th>" for one in ("Name", "Data Type", "Is Var-Len", "Is Nullable", "Filters"))
        return f"<table><tr>{head}</tr>{self._repr_html_row_only_()}</table>"

    def dump(self) -> None:
        """Prints the attribute."""
        print(dump_of(self), "\n")


def dump_of(attr: Attr) -> str:
    """An attribute in several lines."""
    lines = {
        "Name": attr.name or "<anonymous>",
        "Type": attr._datatype,
        "Nullable": attr.isnullable,
        "Cell val num": attr._values,
        "Filters": ", ".join(map(repr, attr.filters)) or "none",
        "Fill value": None if attr.isnullable else attr.fill,
        "Enumeration": attr.enum_label,
    }
    return "\n".join(["### Attribute ###", *(f"- {name}: {value}" for name, value in lines.items() if value is not None)])


def _is_var(word: str | None, dtype: np.dtype[Any], given: Any, var: bool | None) -> bool:
    if dtype.kind == "U" or (word == "ascii" and var is None):
        return True
    if dtype.kind != "S":
        return bool(var)
    if word in ("blob", "wkb", "wkt"):
        return True if var is None else var
    if dtype.itemsize > 0 and var:
        warnings.warn(f"Attr given `var=True` but `dtype` `{given}` is fixed; setting `dtype=S0`", DeprecationWarning, 3)
    elif dtype.itemsize == 0 and word != "ascii":
        if var is False:
            warnings.warn("Attr given `var=False` but `dtype` `S0` is var-length; setting `var=True`", DeprecationWarning, 3)
        return True
    return bool(var)


def _numbers(said: Any, dtype: np.dtype[Any]) -> AnyArray:
    """Numbers in the notation of ``tdb info --json``."""
    values = said if isinstance(said, list) else [said]
    plain = [float(one) if dtype.kind == "f" else one for one in values]
    return np.array(plain, dtype)


def bytes_of(said: Any) -> bytes:
    """Bytes in the notation of ``tdb info --json``, in which other bytes than printable ones are ``\\xNN``."""
    if isinstance(said, bytes):
        return said
    found, at = bytearray(), 0
    while at < len(said):
        if said.startswith("\\x", at):
            found.append(int(said[at + 2 : at + 4], 16))
            at += 4
        else:
            found += said[at].encode("utf-8", "surrogateescape")
            at += 1
    return bytes(found)


def _same_fill(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    return bool(one.shape == other.shape and one.dtype == other.dtype and one.tobytes() == other.tobytes())


__all__ = ["Attr"]
