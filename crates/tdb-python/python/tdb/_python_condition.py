"""Conditions in the notation of TileDB-Py, which is that of Python."""

from __future__ import annotations

import ast
from typing import Any

from ._condition import Condition, field
from ._errors import QueryError

_SIGNS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.In: "in", ast.NotIn: "not in"}
_TURNED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def parse(text: str) -> Condition:
    """The condition that a text of TileDB-Py says: ``a > 1 and b in ['x', 'y']``, ``(a > 1) & (attr('b') == val(2))``.

    >>> from tdb._python_condition import parse
    >>> print(parse("1 < a <= 3 and (b in ['x', 'y'] or attr('c d') != None)"))
    a > 1 and a <= 3 and (b in ('x', 'y') or "c d" is not null)
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise QueryError(f"condition: {text!r} cannot be understood: {error.msg}") from error
    return _condition(tree.body)


def _condition(node: ast.AST) -> Condition:
    if isinstance(node, ast.BoolOp):
        parts = [_condition(one) for one in node.values]
        found = parts[0]
        for part in parts[1:]:
            found = found & part if isinstance(node.op, ast.And) else found | part
        return found
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.BitAnd, ast.BitOr)):
        left, right = _condition(node.left), _condition(node.right)
        return left & right if isinstance(node.op, ast.BitAnd) else left | right
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        return ~_condition(node.operand)
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        parts = [_comparison(low, op, high) for low, op, high in zip(sides, node.ops, sides[1:])]
        found = parts[0]
        for part in parts[1:]:
            found = found & part
        return found
    raise QueryError(f"condition: {ast.unparse(node)!r} is not a comparison")


def _comparison(left: ast.expr, op: ast.cmpop, right: ast.expr) -> Condition:
    sign = _SIGNS.get(type(op))
    if sign is None:
        raise QueryError(f"condition: {ast.unparse(left)!r} is compared in a way that conditions do not have")
    name, value = _field(left), right
    if sign in ("in", "not in"):
        if name is None or not isinstance(value, (ast.List, ast.Tuple, ast.Set)):
            raise QueryError(f"condition: {ast.unparse(right)!r} is not a list of values")
        values = [_value(one) for one in value.elts]
        return field(name).is_in(values) if sign == "in" else field(name).not_in(values)
    if name is None:
        name, value, sign = _field(right), left, _TURNED[sign]
    if name is None:
        raise QueryError(f"condition: no field is compared in {ast.unparse(left)!r} {sign} {ast.unparse(right)!r}")
    own = _value(value)
    if own is None:
        if sign not in ("==", "!="):
            raise QueryError(f"condition: {name!r} can only be equal to None, or not")
        return field(name).is_null() if sign == "==" else field(name).is_not_null()
    return field(name)._compare(sign, own)


def _field(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("attr", "dim"):
        if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, str):
            return node.args[0].value
        if len(node.args) == 1 and isinstance(node.args[0], ast.Name):
            return node.args[0].id
    return None


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "val" and len(node.args) == 1:
        node = node.args[0]
    try:
        return ast.literal_eval(node)
    except ValueError as error:
        raise QueryError(f"condition: {ast.unparse(node)!r} is not a value") from error
