"""Conditions on values (``value_filter``), which are texts in the notation of Python."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped, unused-ignore]

from ..._condition import Condition, field
from .exceptions import SOMAError

_SIGNS: dict[type, str] = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def condition_of(text: Any, schema: pa.Schema) -> tuple[Condition, list[str]]:
    """The condition that a text says about columns of this schema, and the columns that it names."""
    if not isinstance(text, str):
        raise TypeError(f"value_filter is a text, not {type(text).__name__}")
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError) as error:
        raise SOMAError(f"Could not parse the given QueryCondition statement: {text}") from error
    made = _Conditions(schema)
    return made.of(tree.body), list(dict.fromkeys(made.names))


class _Conditions:
    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        #: The columns that were named.
        self.names: list[str] = []

    def of(self, node: ast.AST) -> Condition:
        """The condition of a part of the text."""
        if isinstance(node, ast.BoolOp):
            parts = [self.of(one) for one in node.values]
            return _joined(parts, isinstance(node.op, ast.And))
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
            return _joined([self.of(node.left), self.of(node.right)], isinstance(node.op, ast.BitAnd))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.of(node.operand)
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            return _joined([self._comparison(*one) for one in zip(sides, node.ops, sides[1:])], True)
        raise SOMAError(f"Malformed query condition statement: {ast.unparse(node)!r} is no comparison")

    def _comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Condition:
        if isinstance(op, (ast.In, ast.NotIn)):
            return self._membership(left, op, right)
        sign = _SIGNS.get(type(op))
        if sign is None:
            raise SOMAError(f"the `{'is' if isinstance(op, ast.Is) else 'is not'}` operator is not supported")
        name = _name(left)
        if name is None:
            left, right, sign = right, left, _TURNED[sign]
            name = _name(left)
        if name is None:
            raise SOMAError(f"Incorrect type for attribute name: {ast.unparse(left)!r}")
        own = self._type(name)
        value = _constant(right)
        if value is None:
            if sign not in ("==", "!="):
                raise SOMAError(f"{name!r} can be equal to None, or not, but not {sign} None")
            return field(name).is_null() if sign == "==" else field(name).is_not_null()
        return field(name)._compare(sign, _cast(name, own, value))

    def _membership(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Condition:
        if not isinstance(right, ast.List):
            raise SOMAError("`in` operator syntax must be written as `attr in ['l', 'i', 's', 't']`")
        name = _name(left)
        if name is None:
            raise SOMAError(f"cannot handle query condition left-hand side {ast.unparse(left)!r}")
        own = self._type(name)
        values = [_cast(name, own, _constant(one)) for one in right.elts]
        if not values:
            raise SOMAError("At least one value must be provided to the set membership")
        return field(name).is_in(values) if isinstance(op, ast.In) else field(name).not_in(values)

    def _type(self, name: str) -> Any:
        if name not in self._schema.names:
            raise SOMAError(f"`{name}` not found in schema.")
        self.names.append(name)
        own = self._schema.field(name).type
        return own.value_type if pa.types.is_dictionary(own) else own


def _joined(parts: list[Condition], both: bool) -> Condition:
    found = parts[0]
    for part in parts[1:]:
        found = found & part if both else found | part
    return found


def _name(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        raise SOMAError(f'Unhandled dot operator in {ast.unparse(node)!r}: wrap a name with a dot, as in attr("orig.ident")')
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name):
            raise SOMAError(f"Unrecognized expression {ast.unparse(node)!r}")
        if node.func.id == "attr" and len(node.args) == 1:
            own = node.args[0]
            if isinstance(own, ast.Constant) and isinstance(own.value, str):
                return own.value
            raise SOMAError("the argument of attr() is the name of a column as a text")
        if node.func.id != "val":
            raise SOMAError(f"{node.func.id!r} is neither attr nor val")
    return None


def _constant(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        if not isinstance(node.func, ast.Name) or node.func.id != "val" or len(node.args) != 1:
            raise SOMAError(f"Incorrect type for cast value: {ast.unparse(node)!r}")
        node = node.args[0]
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise SOMAError(
            f"Incorrect type for comparison value: {ast.unparse(node)!r}: right-hand sides must be constant expressions, not"
            " variables -- did you mean to quote the right-hand side as a string?"
        ) from error


def _cast(name: str, own: Any, value: Any) -> Any:
    """A value in the type of a column."""
    types = pa.types
    if types.is_string(own) or types.is_large_string(own) or types.is_binary(own) or types.is_large_binary(own):
        return value if isinstance(value, (str, bytes)) else str(value)
    if isinstance(value, (str, bytes)):
        raise SOMAError(f"Cannot cast `{value!r}` to {own} for column {name!r}.")
    try:
        if types.is_timestamp(own):
            return np.datetime64(int(value), own.unit)
        if types.is_boolean(own):
            return bool(value)
        if types.is_integer(own):
            return int(value)
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise SOMAError(f"Cannot cast `{value!r}` to {own} for column {name!r}.") from error


__all__ = ["condition_of"]
