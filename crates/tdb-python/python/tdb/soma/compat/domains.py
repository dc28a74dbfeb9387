"""Shapes and domains that grow: whether they can, and why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..._types import number_dtype
from .coordinates import number
from .exceptions import SOMAError

if TYPE_CHECKING:
    from .soma_array import SOMAArray

#: Whether something can be done, and why it cannot.
Answer = tuple[bool, str]
YES: Answer = (True, "")
#: The current domain of texts, which is all of them.
_TEXTS = ("", "\x7f")


def shape_answer(array: SOMAArray, shape: Sequence[Any], upgrade: bool) -> Answer:
    """Whether an array can get a shape."""
    own = "tiledbsoma_can_upgrade_shape" if upgrade else "can_resize"
    if upgrade and array._upgraded:
        return False, f"{own}: array already has a shape: please use resize"
    if not upgrade and not array._upgraded:
        return False, f"{own}: array currently has no shape: please upgrade the array."
    domain = array._domain()
    if len(shape) != len(domain):
        return False, f"{own}: provided shape has ndim {len(shape)}, while the array has {len(domain)}"
    wanted = [None if size is None else (0, int(size) - 1) for size in shape]
    return _answer(f"[{own}]", array, wanted, upgrade)


def domain_answer(array: SOMAArray, domain: Sequence[Any], upgrade: bool, own: str) -> Answer:
    """Whether a table can get a domain."""
    if upgrade and array._upgraded:
        return False, f"{own}: dataframe already has a domain: please use change_domain"
    if not upgrade and not array._upgraded:
        return False, f"{own}: dataframe currently has no domain set: please use tiledbsoma_upgrade_domain"
    return _answer(own, array, domain, upgrade)


def _answer(own: str, array: SOMAArray, wanted: Sequence[Any], upgrade: bool) -> Answer:
    for dimension, new, old, most in zip(array._array.schema.dimensions, wanted, array._domain(), array._maxdomain()):
        name = dimension.name
        if new is None:
            continue
        if number_dtype(dimension.datatype) is None:
            if tuple(new) != ("", "") and tuple(new) != (b"", b""):
                return False, f"{own}: domain cannot be set for string index columns: please use (\"\", \"\") for {name!r}"
            continue
        low, high = (number(end) for end in new)
        first, last = (number(end) for end in most)
        if low > high:
            return False, f"{own} index-column name '{name}': new lower {low} > new upper {high}"
        if low < first or high > last:
            return False, f"{own} index-column name '{name}': new domain ({low}, {high}) is outside of the maximum domain ({first}, {last})"
        if not upgrade:
            now_low, now_high = (number(end) for end in old)
            if low > now_low:
                return False, f"{own} index-column name '{name}': new lower {low} > old lower {now_low} (downsize is unsupported)"
            if high < now_high:
                return False, f"{own} index-column name '{name}': new upper {high} < old upper {now_high} (downsize is unsupported)"
    return YES


def grow(array: SOMAArray, wanted: Sequence[Any], answer: Answer) -> Answer:
    """Sets the current domain, if it can be set."""
    array.verify_open_for_writing()
    ok, why = answer
    if not ok:
        raise SOMAError(why)
    expand = {}
    for dimension, new, old in zip(array._array.schema.dimensions, wanted, array._domain()):
        if number_dtype(dimension.datatype) is None:
            if not array._upgraded:
                expand[dimension.name] = _TEXTS
            continue
        low, high = (number(end) for end in (old if new is None else new))
        if not array._upgraded or (low, high) != tuple(number(end) for end in old):
            expand[dimension.name] = (low, high)
    if expand:
        array._evolve(expand=expand, upgrade=not array._upgraded)
    return YES


__all__ = ["Answer", "domain_answer", "grow", "shape_answer"]
