"""How arrays, schemas and groups are shown: as text, and as HTML in notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._group import Group
    from ._schema import Attribute, Dimension, Schema

#: Members of a group that are shown.
MOST_MEMBERS = 50


def _filters(filters: Any) -> str:
    """Filters in one line; nothing if there are none."""
    found = filters.get("filters", ()) if isinstance(filters, dict) else filters
    lines = []
    for one in found:
        options = [] if isinstance(one, str) else [f"{name} {value}" for name, value in one.items() if name != "name"]
        name = one if isinstance(one, str) else one["name"]
        lines.append(f"{name}({', '.join(options)})" if options else name)
    return ", ".join(lines)


def _dimension(own: Dimension, current: tuple[Any, Any] | None) -> tuple[str, str, str]:
    """Name, type, and what is known about the coordinates."""
    about = [] if own.domain is None else [f"{own.domain[0]} to {own.domain[1]}"]
    if current is not None and current != own.domain:
        about.append(f"currently {current[0]} to {current[1]}")
    if own.tile is not None:
        about.append(f"tile {own.tile}")
    return own.name, own.datatype, ", ".join(about + [_filters(own.filters)]).strip(", ")


def _attribute(own: Attribute) -> tuple[str, str, str]:
    """Name, type, and what is known about the values."""
    about = ["nullable"] if own.nullable else []
    if own.values not in (None, 1, "var"):
        about.append(f"{own.values} values")
    if own.enumeration is not None:
        about.append(f"values of {own.enumeration}")
    return own.name, own.datatype, ", ".join(about + [_filters(own.filters)]).strip(", ")


def _rows(schema: Schema) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """The fields of a schema in groups."""
    current: list[tuple[Any, Any] | None] = [None] * schema.ndim
    if schema.current_domain is not None:
        current = list(schema.current_domain)
    labels = [(one["name"], one["datatype"], f"of {one['dimension']}") for one in schema.labels]
    groups = [
        ("dimensions", [_dimension(own, ends) for own, ends in zip(schema.dimensions, current)]),
        ("labels", labels),
        ("attributes", [_attribute(own) for own in schema.attributes]),
    ]
    return [(name, rows) for name, rows in groups if rows]


def _rest(schema: Schema) -> str:
    """The orders of the cells, and what else there is."""
    rest = [f"cells {schema.cell_order}", f"tiles {schema.tile_order}"]
    if schema.sparse:
        rest += [f"capacity {schema.capacity}"] + (["duplicates"] if schema.duplicates else [])
    return ", ".join(rest + [f"format {schema.version}"])


def schema_text(schema: Schema) -> str:
    """A schema on several lines."""
    groups = _rows(schema)
    widths = [max((len(row[at]) for _, rows in groups for row in rows), default=0) for at in (0, 1)]
    lines = [f"<tdb.Schema {schema.kind}: {_rest(schema)}"]
    for name, rows in groups:
        lines.append(f"  {name}")
        lines += [f"    {own:<{widths[0]}}  {kind:<{widths[1]}}  {about}".rstrip() for own, kind, about in rows]
    return "\n".join(lines) + ">"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of HTML, in which nothing is markup."""

    def line(tag: str, cells: Iterable[str]) -> str:
        return "<tr>" + "".join(f"<{tag} style='text-align:left'>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    return "<table>" + line("th", head) + "".join(line("td", row) for row in rows) + "</table>"


def schema_html(schema: Schema, title: str = "tdb.Schema") -> str:
    """A schema as a table of HTML."""
    rows = [(own, name[:-1], kind, about) for name, group in _rows(schema) for own, kind, about in group]
    head = f"<div><b>{escape(title)}</b> {escape(schema.kind)}: {escape(_rest(schema))}"
    return head + _table(("field", "is", "type", ""), rows) + "</div>"


def group_html(group: Group) -> str:
    """A group as a table of HTML."""
    members = group.members
    rows = [(member.name or "", member.kind, member.uri) for member in members[:MOST_MEMBERS]]
    more = f"<div>and {len(members) - MOST_MEMBERS} more</div>" if len(members) > MOST_MEMBERS else ""
    head = f"<div><b>tdb.Group</b> {escape(group.uri)}: {len(members)} members"
    return head + _table(("name", "is", "location"), rows) + more + "</div>"
