"""Conditions as Python expressions."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from typing import Any, TypeAlias, Union

import numpy as np

from . import _tdb


#: What is missing behind the text of a date of numpy's unit, so that it is an instant: a date as text is all that is inside of it.
_REST = {"Y": "-01-01T00:00:00.0", "M": "-01T00:00:00.0", "W": "T00:00:00.0", "D": "T00:00:00.0", "h": ":00:00.0", "m": ":00.0", "s": ".0"}


def _operand(value: Any) -> Any:
    if isinstance(value, (np.datetime64, datetime.date)):
        own = np.datetime64(value)
        return str(own) + ("" if np.isnat(own) else _REST.get(np.datetime_data(own.dtype)[0], ""))
    if isinstance(value, np.timedelta64):
        return int(value.astype(np.int64))
    return value.item() if isinstance(value, np.generic) else value


class Condition:
    """Which cells are wanted. Conditions are combined with ``&``, ``|`` and ``~``.

    >>> condition = (tdb.field("a") > 3) & tdb.field("name").is_in(["x", "y"])
    >>> str(condition)
    "a > 3 and name in ('x', 'y')"
    """

    __slots__ = ("_core",)

    def __init__(self, core: _tdb.Condition) -> None:
        self._core = core

    def __and__(self, other: Condition) -> Condition:
        return Condition(self._core & other._core)

    def __or__(self, other: Condition) -> Condition:
        return Condition(self._core | other._core)

    def __invert__(self) -> Condition:
        return Condition(~self._core)

    def __bool__(self) -> bool:
        raise TypeError("conditions are combined with &, | and ~, each comparison in parentheses, not with and, or, not")

    def __str__(self) -> str:
        return str(self._core)

    def __repr__(self) -> str:
        return f"Condition({str(self)!r})"


class FieldExpression:
    """A field in a condition: see :func:`field`."""

    __slots__ = ("name",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, name: str) -> None:
        self.name = name

    def _compare(self, sign: str, *values: Any) -> Condition:
        return Condition(_tdb.Condition.compare(self.name, sign, [_operand(value) for value in values]))

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]
        return self._compare("==", value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]
        return self._compare("!=", value)

    def __lt__(self, value: Any) -> Condition:
        return self._compare("<", value)

    def __le__(self, value: Any) -> Condition:
        return self._compare("<=", value)

    def __gt__(self, value: Any) -> Condition:
        return self._compare(">", value)

    def __ge__(self, value: Any) -> Condition:
        return self._compare(">=", value)

    def is_in(self, values: Iterable[Any]) -> Condition:
        """One of these values."""
        return self._compare("in", *values)

    #: As pandas calls it.
    isin = is_in

    def not_in(self, values: Iterable[Any]) -> Condition:
        """None of these values."""
        return self._compare("not in", *values)

    def is_null(self) -> Condition:
        """Without a value."""
        return self._compare("is null")

    def is_not_null(self) -> Condition:
        """With a value."""
        return self._compare("is not null")

    def is_nan(self) -> Condition:
        """Not a number."""
        return self._compare("is nan")

    def is_not_nan(self) -> Condition:
        """A number."""
        return self._compare("is not nan")

    def __repr__(self) -> str:
        return f"field({self.name!r})"


def field(name: str) -> FieldExpression:
    """A field, to be compared with values.

    >>> tdb.field("a") >= 2
    Condition('a >= 2')
    """
    return FieldExpression(name)


#: A condition as an expression, or in the notation of ``tdb read --where``.
Where: TypeAlias = Union[str, Condition]


def core_of(where: Where) -> _tdb.Condition:
    """The condition of the extension module."""
    return where._core if isinstance(where, Condition) else _tdb.Condition.parse(where)
