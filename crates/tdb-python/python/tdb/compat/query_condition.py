"""Conditions in the notation of TileDB-Py, which is that of Python, for a schema."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._condition import Condition
from .._condition import field as _field
from .array_schema import ArraySchema
from .enumeration import Enumeration
from .libtiledb import TileDBError

_SIGNS: dict[type[ast.AST], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass
class QueryCondition:
    """A condition: ``a > 1 and b in ['x', 'y']``, ``(attr('b') == val(2)) | (dim('x') < 3)``."""

    expression: str
    ctx: Any = field(default=None, repr=False)
    tree: ast.Expression = field(init=False, repr=False)

    def __post_init__(self) -> None:
        try:
            self.tree = ast.parse(f"({self.expression})", mode="eval")
        except (SyntaxError, ValueError) as error:
            raise TileDBError(f"Could not parse the given QueryCondition statement: {self.expression}") from error

    def bound(self, schema: ArraySchema, enumeration: Callable[[str], Enumeration]) -> Condition:
        """The condition for the fields of a schema."""
        return _Visitor(schema, enumeration).condition(self.tree.body)


class _Visitor:
    def __init__(self, schema: ArraySchema, enumeration: Callable[[str], Enumeration]) -> None:
        self._schema, self._domain, self._enumeration = schema, schema.domain, enumeration

    def condition(self, node: ast.AST) -> Condition:
        if isinstance(node, ast.BoolOp):
            found = self.condition(node.values[0])
            for one in node.values[1:]:
                more = self.condition(one)
                found = found & more if isinstance(node.op, ast.And) else found | more
            return found
        if isinstance(node, ast.BinOp):
            if not isinstance(node.op, (ast.BitAnd, ast.BitOr)):
                raise TileDBError(f"Unsupported binary operator: {ast.dump(node.op)}. Only & and | are currently supported.")
            left, right = self.condition(node.left), self.condition(node.right)
            return left & right if isinstance(node.op, ast.BitAnd) else left | right
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.condition(node.operand)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        raise TileDBError(
            "Malformed query condition statement. A query condition must be made up of one or more boolean expressions: "
            f"{ast.unparse(node)!r} is none."
        )

    def _compare(self, node: ast.Compare) -> Condition:
        if isinstance(node.ops[0], (ast.In, ast.NotIn)):
            return self._membership(node)
        sides, found = [node.left, *node.comparators], None
        for low, op, high in zip(sides, node.ops, sides[1:]):
            if isinstance(op, (ast.Is, ast.IsNot)):
                word = "is" if isinstance(op, ast.Is) else "is not"
                raise TileDBError(f"the `{word}` operator is not supported: compare with None by == and !=")
            if type(op) not in _SIGNS:
                raise TileDBError(f"unrecognized operator in <<{ast.unparse(node)}>>")
            one = self._comparison(low, _SIGNS[type(op)], high)
            found = one if found is None else found & one
        assert found is not None
        return found

    def _membership(self, node: ast.Compare) -> Condition:
        listed = node.comparators[0]
        if not isinstance(listed, ast.List):
            raise TileDBError("`in` operator syntax must be written as `variable in ['l', 'i', 's', 't']`")
        if not listed.elts:
            raise TileDBError("At least one value must be provided to the set membership")
        name = self._name(node.left)
        values = [self._value(one) for one in listed.elts]
        kind = self._kind(name)
        for one in values:
            if isinstance(one, (str, bytes)) != (kind is None) or one is None:
                raise TileDBError(f"Cannot compare `{name}` with the value `{one!r}`: the types differ.")
        own = [self._as_type(name, one, kind) for one in values]
        return _field(name).is_in(own) if isinstance(node.ops[0], ast.In) else _field(name).not_in(own)

    def _comparison(self, left: ast.expr, sign: str, right: ast.expr) -> Condition:
        if not _is_name(left):
            left, right, sign = right, left, _TURNED[sign]
        name, value = self._name(left), self._value(right)
        if value is None:
            if sign not in ("==", "!="):
                raise TileDBError(f"`{name}` can only be equal to None, or not")
            return _field(name).is_null() if sign == "==" else _field(name).is_not_null()
        return _field(name)._compare(sign, self._as_type(name, value, self._kind(name)))

    def _name(self, node: ast.expr) -> str:
        """The field that is compared."""
        if isinstance(node, ast.Attribute):
            raise TileDBError(
                f"Unhandled dot operator in {ast.unparse(node)}: if a field's name has a dot in it, write attr('{ast.unparse(node)}')"
            )
        if not _is_name(node):
            raise TileDBError(f"Incorrect type for variable name: {ast.unparse(node)}")
        role, inside = "", node
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or len(node.args) != 1:
                raise TileDBError(f"Unrecognized expression {ast.unparse(node)}.")
            role, inside = node.func.id, node.args[0]
        name = inside.id if isinstance(inside, ast.Name) else inside.value if isinstance(inside, ast.Constant) else None
        if not isinstance(name, str):
            raise TileDBError(f"Incorrect type for variable name: {ast.unparse(node)}")
        is_attr, is_dim = self._schema.has_attr(name), self._domain.has_dim(name)
        if is_dim and not self._schema.sparse:
            raise TileDBError(f"Cannot apply query condition to dimensions on dense arrays. {name} is a dimension.")
        if (role == "attr" and not is_attr) or (role == "dim" and not is_dim) or not (is_attr or is_dim):
            raise TileDBError(f"'{name}' is not {'an attribute' if role == 'attr' else 'a dimension'}.")
        return name

    def _kind(self, name: str) -> np.dtype[Any] | None:
        """The type of the values that a field is compared with; ``None`` for texts."""
        if self._schema.has_attr(name):
            attr = self._schema.attr(name)
            dtype = attr.dtype if attr.enum_label is None else self._enumeration(attr.enum_label).dtype
        else:
            dtype = self._domain.dim(name).dtype
        return None if dtype.kind in "SU" else dtype

    def _as_type(self, name: str, value: Any, kind: np.dtype[Any] | None) -> Any:
        """A value in the type of its field, as TileDB-Py casts it."""
        if kind is None:
            if not isinstance(value, (str, bytes)):
                raise TileDBError(f"Cannot compare the text `{name}` with `{value!r}`.")
            return value
        if isinstance(value, (str, bytes)):
            raise TileDBError(f"Cannot cast `{value!r}` to {kind}.")
        if kind.kind == "V":
            raise TileDBError(f"`{name}` has several values per cell, which cannot be compared.")
        try:
            if kind.kind in "mM":
                return int(value)
            if kind.kind == "b":
                return bool(value)
            return kind.type(value).item()
        except (ValueError, OverflowError, TypeError) as error:
            raise TileDBError(f"Cannot cast `{value!r}` to {kind}.") from error

    def _value(self, node: ast.expr) -> Any:
        """A constant."""
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id != "val" or len(node.args) != 1:
                raise TileDBError(f"Incorrect type for cast value: {ast.unparse(node)}")
            node = node.args[0]
        sign = 1
        while isinstance(node, ast.UnaryOp):
            if not isinstance(node.op, (ast.UAdd, ast.USub)):
                raise TileDBError(f"Unsupported UnaryOp type. Saw {ast.unparse(node)}.")
            sign, node = (-sign if isinstance(node.op, ast.USub) else sign), node.operand
        if not isinstance(node, ast.Constant):
            raise TileDBError(
                f"Incorrect type for comparison value: {ast.unparse(node)}: right-hand sides must be constant expressions, "
                "not variables; put texts into quotes"
            )
        return node.value if sign == 1 else -node.value  # type: ignore[operator]


def _is_name(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id in ("attr", "dim")
    return isinstance(node, (ast.Name, ast.Attribute))


__all__ = ["QueryCondition"]
