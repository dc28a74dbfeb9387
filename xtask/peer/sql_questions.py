"""Random questions to a table: their text for tdb and for DuckDB, and the rows that answer them.

In both texts, {T} is the table.
"""

import functools
import math

from sql_terms import DOUBT, WIDTHS, Ordered, Zeros, column, compare, key, predicate, sorted_compare, sorted_key, term
from sql_values import DAY, I64, LITERALS, U64, UNITS, civil, instant, literal, number, quoted, single


class About:
    """A real that is known up to rounding: the sum of what it is made of says how far."""

    def __init__(self, value, scale):
        self.value, self.scale = value, scale

    def fits(self, other):
        if other is None:
            return False
        if self.scale > 1e307:
            # the sum may be infinite on its way
            return True
        if math.isnan(self.value) or math.isinf(self.value):
            return other == self.value or math.isnan(other) and math.isnan(self.value)
        return abs(other - self.value) <= self.scale * 1e-12 + 5e-324


class Question:
    def __init__(self, what, tdb, duck, rows, families, rules=(), ordered=False):
        self.what, self.tdb, self.duck, self.rows, self.families = what, tdb, duck, rows, families
        self.rules, self.ordered = frozenset(rules), ordered
        # what evaluating it met
        self.overflow, self.zero, self.nan = DOUBT.overflow, DOUBT.zero, DOUBT.nan
        # the rows if sorting tells -0 from 0
        self.signed = None
        # an error is the only answer
        self.must_fail = any(isinstance(v, Beyond) for row in rows for v in row)


# -- aggregates ----------------------------------------------------------------------------------------------------------


class Aggregate:
    def __init__(self, tdb, duck, shape, of, rules=()):
        self.tdb, self.duck, self.shape, self.of, self.rules = tdb, duck, shape, of, frozenset(rules)


class Beyond(int):
    """A sum that its type does not hold: the answer is an error."""


def summed(term):
    """The sum of integers: BIGINT of signed ones, BIGINT UNSIGNED of others."""
    ends = None if term.type not in WIDTHS else I64 if WIDTHS[term.type][0] else U64

    def of(rows):
        values = [v for v in map(term.of, rows) if v is not None]
        if not values:
            return None
        total = sum(values)
        if ends and not ends[0] <= total <= ends[1]:
            DOUBT.overflow = True
            return Beyond(total)
        return total

    return of


def real_sum(values):
    scale = sum(abs(v) for v in values if math.isfinite(v))
    if any(not math.isfinite(v) for v in values):
        return About(sum(v for v in values if not math.isfinite(v)), 0.0)
    return About(math.fsum(values) if scale < 1e308 else 0.0, scale)


def summed_reals(term):
    def of(rows):
        values = [v for v in map(term.of, rows) if v is not None]
        return real_sum(values) if values else None

    return of


def average(term):
    def of(rows):
        values = [float(v) for v in map(term.of, rows) if v is not None]
        if not values:
            return None
        total = real_sum(values)
        return About(total.value / len(values), total.scale / len(values))

    return of


def extreme(term, sign):
    def of(rows):
        values = [v for v in map(term.of, rows) if v is not None]
        best = None
        for v in values:
            if best is None or compare(v, best) * sign > 0:
                best = v
        return best

    return of


def aggregate(rng, columns):
    own = plain_aggregate(rng, columns)
    return filtered(own, predicate(rng, columns, 0)) if rng.below(6) == 0 else own


def filtered(own, p):
    """An aggregate of the rows that satisfy a condition."""

    def of(rows):
        # arguments may be computed for all rows, and overflow
        own.of(rows)
        return own.of([r for r in rows if p.of(r) is True])

    text = "%s FILTER (WHERE %s)"
    return Aggregate(text % (own.tdb, p.tdb), text % (own.duck, p.duck), own.shape, of, own.rules | p.rules)


def plain_aggregate(rng, columns):
    own = term(rng, columns, 1 if rng.below(5) == 0 else 0)
    choice = rng.below(10)
    if choice < 2:
        return Aggregate("count(*)", "count(*)", "int", len)
    if choice == 2:
        return Aggregate("count(%s)" % own.tdb, "count(%s)" % own.duck, "int", lambda rows: sum(own.of(r) is not None for r in rows),
                         own.rules)
    if choice == 3:
        return Aggregate("count(DISTINCT %s)" % own.tdb, "count(DISTINCT %s)" % own.duck, "int",
                         lambda rows: len({key(own.of(r)) for r in rows} - {None}), own.rules)
    if choice < 7 and own.family in ("int", "real") and not (own.kind and own.kind.values):
        if choice == 6:
            return Aggregate("avg(%s)" % own.tdb, "avg(%s)" % own.duck, "real", average(own), own.rules)
        of = summed(own) if own.family == "int" else summed_reals(own)
        return Aggregate("sum(%s)" % own.tdb, "sum(%s)" % own.duck, own.family, of, own.rules)
    word, sign = rng.pick([("min", -1), ("max", 1)])
    return Aggregate("%s(%s)" % (word, own.tdb), "%s(%s)" % (word, own.duck), own.shape, extreme(own, sign), own.rules)


# -- queries -------------------------------------------------------------------------------------------------------------


def where(rng, columns):
    """A condition, or none: texts with the word, and which rows."""
    if rng.below(5) == 0:
        return "", "", lambda rows: rows, frozenset()
    p = predicate(rng, columns)
    return " WHERE " + p.tdb, " WHERE " + p.duck, lambda rows: [r for r in rows if p.of(r) is True], p.rules


def listed(terms, which):
    return ", ".join("%s AS c%d" % (getattr(t, which), i) for i, t in enumerate(terms))


def some_terms(rng, columns, most=4):
    return [term(rng, columns, 1 if rng.below(5) == 0 else 0) for _ in range(rng.between(1, most))]


def select(rng, table, columns):
    """Rows that satisfy a condition."""
    terms = list(columns) if rng.below(4) == 0 else some_terms(rng, columns)
    tdb, duck, chosen, rules = where(rng, columns)
    rows = [tuple(t.of(r) for t in terms) for r in chosen(table.rows)]
    return Question("select", "SELECT %s FROM {T}%s" % (listed(terms, "tdb"), tdb), "SELECT %s FROM {T}%s" % (listed(terms, "duck"), duck),
                    rows, [t.shape for t in terms], rules.union(*[t.rules for t in terms]))


def aggregates(rng, table, columns):
    """Aggregates of all rows."""
    several = [aggregate(rng, columns) for _ in range(rng.between(1, 3))]
    tdb, duck, chosen, rules = where(rng, columns)
    found = chosen(table.rows)
    return Question("aggregate", "SELECT %s FROM {T}%s" % (listed(several, "tdb"), tdb),
                    "SELECT %s FROM {T}%s" % (listed(several, "duck"), duck), [tuple(a.of(found) for a in several)],
                    [a.shape for a in several], rules.union(*[a.rules for a in several]))


def groups(rows, keys, key_of=key):
    """Lists of rows with equal keys."""
    found = {}
    for row in rows:
        found.setdefault(tuple(key_of(k.of(row)) for k in keys), []).append(row)
    return list(found.values())


def grouped(rng, table, columns):
    keys = [term(rng, columns, 1 if rng.below(6) == 0 else 0) for _ in range(rng.pick([1, 1, 2]))]
    several = [aggregate(rng, columns) for _ in range(rng.between(1, 2))]
    tdb, duck, chosen, rules = where(rng, columns)
    if rng.below(5) == 0 and chosen(table.rows):
        return rolled_up(rng.sample(columns, rng.between(1, 2)), several, table, (tdb, duck, chosen, rules))
    found = groups(chosen(table.rows), keys)
    having = ""
    if rng.below(3) == 0:
        least = rng.between(1, 3)
        having = " HAVING count(*) > %d" % least
        # aggregates of what HAVING leaves out may be computed, and overflow
        for a in several:
            for g in found:
                a.of(g)
        found = [g for g in found if len(g) > least]
    rows = [tuple([k.of(g[0]) for k in keys] + [a.of(g) for a in several]) for g in found]
    form = "SELECT %s FROM {T}%s GROUP BY %s" + having
    texts = [form % (listed(keys + several, which), text, ", ".join(getattr(k, which) for k in keys))
             for which, text in (("tdb", tdb), ("duck", duck))]
    return Question("group", *texts, rows, [k.shape for k in keys] + [a.shape for a in several],
                    rules.union(*[x.rules for x in keys + several]))


def rolled_up(keys, several, table, condition):
    """Groups of all keys, of the first ones, and of none."""
    tdb, duck, chosen, rules = condition
    rows = []
    for count in range(len(keys), -1, -1):
        for g in groups(chosen(table.rows), keys[:count]):
            shown = [k.of(g[0]) if at < count else None for at, k in enumerate(keys)]
            rows.append(tuple(shown + [a.of(g) for a in several]))
    form = "SELECT %s FROM {T}%s GROUP BY ROLLUP (%s)"
    texts = [form % (listed(keys + several, which), text, ", ".join(getattr(k, which) for k in keys))
             for which, text in (("tdb", tdb), ("duck", duck))]
    return Question("rollup", *texts, rows, [x.shape for x in keys + several], rules.union(*[x.rules for x in keys + several]))


def different(rows):
    return list({tuple(map(key, row)): row for row in rows}.values())


def distinct(rng, table, columns):
    terms = some_terms(rng, columns, 3)
    tdb, duck, chosen, rules = where(rng, columns)
    rows = different([tuple(t.of(r) for t in terms) for r in chosen(table.rows)])
    return Question("distinct", "SELECT DISTINCT %s FROM {T}%s" % (listed(terms, "tdb"), tdb),
                    "SELECT DISTINCT %s FROM {T}%s" % (listed(terms, "duck"), duck), rows, [t.shape for t in terms],
                    rules.union(*[t.rules for t in terms]))


def in_order(rows, places):
    """Rows sorted by places in them: (place, descending, nulls first)."""
    for place, descending, first in reversed(places):
        nulls = [r for r in rows if r[place] is None]
        others = sorted((r for r in rows if r[place] is not None), key=lambda r: Ordered(r[place]), reverse=descending)
        rows = nulls + others if first else others + nulls
    return rows


def ordered(rng, table, columns):
    """The first rows in an order of all that is selected, so that ties are equal rows."""
    terms = rng.sample(columns, rng.between(1, 4))
    tdb, duck, chosen, rules = where(rng, columns)
    places = [(i, rng.below(2) == 0, rng.below(2) == 0) for i in rng.sample(range(len(terms)), len(terms))]
    order = ", ".join("c%d %s NULLS %s" % (i, "DESC" if d else "ASC", "FIRST" if f else "LAST") for i, d, f in places)
    rows = in_order([tuple(t.of(r) for t in terms) for r in chosen(table.rows)], places)
    tail = ""
    if rng.below(4):
        limit, offset = rng.pick([0, 1, 2, 3, 5, 10, 100]), rng.pick([0, 0, 1, 4])
        tail = " LIMIT %d" % limit + (" OFFSET %d" % offset if offset else "")
        rows = rows[offset:offset + limit]
    form = "SELECT %s FROM {T}%s ORDER BY " + order + tail
    return Question("order", form % (listed(terms, "tdb"), tdb), form % (listed(terms, "duck"), duck), rows, [t.shape for t in terms],
                    rules, True)


def joined(rng, table, columns):
    """The table with itself: inner or left join on equal columns, with conditions on both sides."""
    left = [column(c, "l") for c in table.columns]
    right = [column(c, "r") for c in table.columns]
    on = rng.sample(range(len(left)), rng.pick([1, 1, 2]))
    kind = rng.pick(["JOIN", "LEFT JOIN"])
    more = predicate(rng, right, 0) if rng.below(3) == 0 else None
    tdb, duck, chosen, rules = where(rng, left)
    named = lambda rows, alias: [{"%s.%s" % (alias, n): v for n, v in r.items()} for r in rows]
    lefts, rights = named(table.rows, "l"), named(table.rows, "r")
    index = {}
    for r in rights:
        k = tuple(key(right[i].of(r)) for i in on)
        if None not in k and (more is None or more.of(r) is True):
            index.setdefault(k, []).append(r)
    empty = {n: None for n in rights[0]} if rights else {}
    rows = []
    for l in chosen(lefts):
        found = index.get(tuple(key(left[i].of(l)) for i in on), [])
        rows += [{**l, **r} for r in found] or ([{**l, **empty}] if kind == "LEFT JOIN" else [])
    if rng.below(2):
        outputs = [aggregate(rng, left if rng.below(2) else right) for _ in range(2)]
        result = [tuple(a.of(rows) for a in outputs)]
    else:
        outputs = rng.sample(left + right, rng.between(1, 3))
        result = [tuple(t.of(r) for t in outputs) for r in rows]
    if len(result) > 2000:
        outputs, result = [aggregate(rng, left)], None
        result = [tuple(a.of(rows) for a in outputs)]
    texts = []
    for which, text in (("tdb", tdb), ("duck", duck)):
        condition = " AND ".join("l.%s = r.%s" % (left[i].column.name, right[i].column.name) for i in on)
        condition += " AND (%s)" % getattr(more, which) if more else ""
        texts.append("SELECT %s FROM {T} AS l %s {T} AS r ON %s%s" % (listed(outputs, which), kind, condition, text))
    return Question("join", *texts, result, [o.shape for o in outputs],
                    rules.union(*[o.rules for o in outputs], more.rules if more else []))


def subquery(rng, table, columns):
    """IN and NOT IN of a subquery, ANY and ALL, EXISTS, semi- and anti-joins, a subquery of one value."""
    own = rng.pick(columns)
    terms = rng.sample(columns, rng.between(1, 3))
    tdb, duck, chosen, rules = where(rng, columns)
    inner = chosen(table.rows)
    choice = rng.below(7)
    if choice == 4 or choice == 5:
        quantifier = "ANY" if choice == 4 else "ALL"
        word, means = rng.pick([("=", lambda c: c == 0), ("<>", lambda c: c != 0), ("<", lambda c: c < 0), ("<=", lambda c: c <= 0),
                                (">", lambda c: c > 0), (">=", lambda c: c >= 0)])
        values = [own.of(r) for r in inner]

        def holds(row):
            value = own.of(row)
            if not values or value is None:
                return not values and quantifier == "ALL"
            compared = [None if v is None else means(compare(value, v)) for v in values]
            return True in compared if quantifier == "ANY" else all(c is True for c in compared)

        condition = lambda which, text: "%s %s %s (SELECT %s FROM {T}%s)" % (getattr(own, which), word, quantifier, getattr(own, which), text)
    elif choice == 6:
        word = rng.pick(["SEMI", "ANTI"])
        keys = {key(own.of(r)) for r in inner} - {None}
        rows = [tuple(t.of(r) for t in terms) for r in table.rows
                if (own.of(r) is not None and key(own.of(r)) in keys) == (word == "SEMI")]
        name = own.column.name
        texts = ["SELECT %s FROM {T} AS o %s JOIN (SELECT %s AS k FROM {T}%s) AS i ON o.%s = i.k" % (listed(terms, which), word, name, text, name)
                 for which, text in (("tdb", tdb), ("duck", duck))]
        return Question("semi-join", *texts, rows, [t.shape for t in terms], rules)
    elif choice < 2:
        values = [own.of(r) for r in inner]
        keys, has_null = {key(v) for v in values if v is not None}, None in values
        word = "IN" if choice == 0 else "NOT IN"

        def holds(row):
            value = own.of(row)
            if not values:
                return word == "NOT IN"
            if value is None:
                return False
            found = key(value) in keys
            return found if word == "IN" else not found and not has_null

        condition = lambda which, text: "%s %s (SELECT %s FROM {T}%s)" % (getattr(own, which), word, getattr(own, which), text)
    elif choice == 2:
        word = rng.pick(["EXISTS", "NOT EXISTS"])
        keys = {key(own.of(r)) for r in inner} - {None}
        holds = lambda row: (own.of(row) is not None and key(own.of(row)) in keys) == (word == "EXISTS")
        p = lambda which, text: text.replace(" WHERE ", "", 1) or "TRUE"
        condition = lambda which, text: "%s (SELECT 1 FROM (SELECT * FROM {T}%s) AS i WHERE i.%s = o.%s)" % (
            word, text, own.column.name, own.column.name)
    else:
        best = extreme(own, 1)(inner)
        holds = lambda row: own.of(row) is not None and best is not None and compare(own.of(row), best) == 0
        condition = lambda which, text: "%s = (SELECT max(%s) FROM {T}%s)" % (getattr(own, which), getattr(own, which), text)
    rows = [tuple(t.of(r) for t in terms) for r in table.rows if holds(r)]
    # without a name of its own, a column of the table around is called like one of the subquery
    form = "SELECT %s FROM {T}" + ("" if choice in (4, 5) else " AS o") + " WHERE %s"
    return Question("subquery", form % (listed(terms, "tdb"), condition("tdb", tdb)), form % (listed(terms, "duck"), condition("duck", duck)),
                    rows, [t.shape for t in terms], rules)


def several_sets(rng, table, columns):
    """UNION, UNION ALL, INTERSECT, EXCEPT."""
    terms = rng.sample(columns, rng.between(1, 2))
    word = rng.pick(["UNION", "UNION ALL", "INTERSECT", "EXCEPT"])
    one, two = where(rng, columns), where(rng, columns)
    a, b = ([tuple(t.of(r) for t in terms) for r in side[2](table.rows)] for side in (one, two))
    keyed = lambda rows: {tuple(map(key, row)) for row in rows}
    if word == "UNION ALL":
        rows = a + b
    elif word == "UNION":
        rows = different(a + b)
    elif word == "INTERSECT":
        rows = [r for r in different(a) if tuple(map(key, r)) in keyed(b)]
    else:
        rows = [r for r in different(a) if tuple(map(key, r)) not in keyed(b)]
    texts = ["SELECT %s FROM {T}%s %s SELECT %s FROM {T}%s" % (listed(terms, which), one[i], word, listed(terms, which), two[i])
             for i, which in enumerate(("tdb", "duck"))]
    return Question("sets", *texts, rows, [t.shape for t in terms], one[3] | two[3])


def window(rng, table, columns):
    """A function over a window: a whole part, or all up to a row and its peers."""
    tdb, duck, chosen, rules = where(rng, columns)
    found = chosen(table.rows)
    part, by = rng.pick(columns), rng.pick(columns)
    shown = rng.sample(columns, 2)
    partitioned, sorted_ = rng.below(3) > 0, rng.below(2) == 0
    parts = groups(found, [part], sorted_key) if partitioned else [found]
    choice = rng.below(6)
    if choice == 5:
        return framed(rng, columns, (tdb, duck, rules), parts, part if partitioned else None, shown)
    rows = []
    if choice == 0:
        name, shape, sorted_ = "rank()", "int", True
        f = None
    else:
        f = aggregate(rng, columns)
        while "DISTINCT" in f.tdb:
            f = aggregate(rng, columns)
        name, shape = None, f.shape
    for group in parts:
        for row in group:
            own = by.of(row)
            lower = lambda other: other is not None and (own is None or sorted_compare(other, own) < 0)
            peer = lambda other: other is None if own is None else other is not None and sorted_compare(other, own) == 0
            if f is None:
                value = 1 + sum(lower(by.of(r)) for r in group)
            else:
                value = f.of([r for r in group if lower(by.of(r)) or peer(by.of(r))] if sorted_ else group)
            rows.append(tuple([t.of(row) for t in shown] + [value]))
    over = " OVER (%s%s)" % ("PARTITION BY %s" % part.tdb if partitioned else "", " ORDER BY %s ASC NULLS LAST" % by.tdb if sorted_ else "")
    texts = ["SELECT %s, %s AS c2 FROM {T}%s" % (listed(shown, which), (name or getattr(f, which)) + over, text)
             for which, text in (("tdb", tdb), ("duck", duck))]
    return Question("window", *texts, rows, [t.shape for t in shown] + [shape], rules | (f.rules if f else frozenset()))


def framed(rng, columns, condition, parts, part, shown):
    """A function of so many rows before and behind each, in an order in which only equal rows are peers."""
    tdb, duck, rules = condition
    f = aggregate(rng, columns)
    while "DISTINCT" in f.tdb:
        f = aggregate(rng, columns)
    before, behind = rng.between(0, 3), rng.between(0, 3)

    def order(a, b):
        for c in columns:
            x, y = c.of(a), c.of(b)
            if x is not None and y is not None and sorted_compare(x, y) != 0:
                return sorted_compare(x, y)
            if (x is None) != (y is None):
                return 1 if x is None else -1
        return 0

    rows = []
    for group in parts:
        sorted_ = sorted(group, key=functools.cmp_to_key(order))
        for at, row in enumerate(sorted_):
            rows.append(tuple([t.of(row) for t in shown] + [f.of(sorted_[max(0, at - before):at + behind + 1])]))
    frame = " ROWS BETWEEN %d PRECEDING AND %d FOLLOWING" % (before, behind)
    texts = []
    for which, text in (("tdb", tdb), ("duck", duck)):
        by = ", ".join("%s ASC NULLS LAST" % getattr(c, which) for c in columns)
        over = " OVER (%sORDER BY %s%s)" % ("PARTITION BY %s " % getattr(part, which) if part else "", by, frame)
        texts.append("SELECT %s, %s AS c2 FROM {T}%s" % (listed(shown, which), getattr(f, which) + over, text))
    return Question("frame", *texts, rows, [t.shape for t in shown] + [f.shape], rules | f.rules)


FORMS = [select] * 6 + [aggregates] * 5 + [grouped] * 3 + [distinct] + [ordered] * 3 + [joined] * 2 + [subquery] * 4 + [several_sets] + [window] * 3


def question(rng, table):
    """A question that reads."""
    form = rng.pick(FORMS)
    columns = [column(c) for c in table.columns]
    DOUBT.clear()
    state = rng.s
    asked = form(rng, table, columns)
    if form in (ordered, window):
        rng.s, Zeros.signed = state, True
        asked.signed = form(rng, table, columns).rows
        Zeros.signed = False
    return asked


# -- changes -------------------------------------------------------------------------------------------------------------


class Change:
    """INSERT or DELETE: its texts, and the rows of the table behind it; without these, it is to be refused."""

    def __init__(self, what, tdb, duck, rows, why=None, may_refuse=False):
        self.what, self.tdb, self.duck, self.rows, self.why, self.may_refuse = what, tdb, duck, rows, why, may_refuse
        self.overflow, self.zero = DOUBT.overflow, DOUBT.zero


class Refused(Exception):
    """A value that a column does not hold."""


def kept(kind, value):
    """What a column holds of a constant."""
    if kind.values is not None and value not in kind.values:
        raise Refused("no value of the enumeration")
    if kind.family == "int":
        if isinstance(value, float) and not math.isfinite(value) or value != math.floor(value):
            raise Refused("not an integer")
        if not kind.limits[0] <= value <= kind.limits[1]:
            raise Refused("beyond the limits")
        return int(value)
    if kind.family == "real":
        rounded = single(value) if kind.name == "FLOAT32" and not isinstance(value, int) else None
        if isinstance(value, int):
            rounded = single(value) if kind.name == "FLOAT32" else float(value)
            if rounded != value:
                raise Refused("an integer that no real of the type is equal to")
        elif kind.name == "FLOAT64":
            rounded = float(value)
        if rounded is None or math.isinf(rounded) and math.isfinite(value):
            raise Refused("beyond the largest real")
        return rounded
    if kind.family in ("time", "span"):
        if value % kind.unit:
            raise Refused("finer than the unit")
        if not I64[0] <= value // kind.unit <= I64[1]:
            raise Refused("beyond the limits")
    if kind.family == "text" and kind.name == "STRING_ASCII" and not value.isascii():
        raise Refused("not ASCII")
    if kind.fixed and len(value) != kind.fixed:
        raise Refused("another size")
    return value


def given(rng, c, odd):
    """A constant for a column: (text, value)."""
    if odd:
        if rng.below(4) == 0:
            return "NULL", None
        if c.kind.family == "text":
            text = rng.pick(["\u00e9", "new", "\u5317", "a"])
            return quoted(text), text
        if c.kind.family not in ("bytes", "bool"):
            found = literal(rng, c.kind, c.values)
            return found.tdb, found.value
    if c.nullable and rng.below(4) == 0:
        return "NULL", None
    value = rng.pick(c.values)
    family = c.kind.family
    if family == "int":
        return number(value, "int").tdb, value
    if family == "real":
        # the shortest text of a real of 32 bits
        return number(value, "real").tdb, value
    if family == "text":
        return quoted(value), value
    if family == "bool":
        return str(value).upper(), value
    if family == "bytes":
        return "X'%s'" % value.hex(), value
    if family == "span":
        return "arrow_cast(%d, 'Duration(%s)')" % (value // c.kind.unit, UNITS[c.kind.unit]), value
    if not LITERALS[0] <= value <= LITERALS[1]:
        value = 0
    if value % DAY == 0 and rng.below(2):
        return "DATE '%04d-%02d-%02d'" % civil(value // DAY), value
    return "TIMESTAMP '%s'" % instant(value), value


def insert(rng, table):
    columns, why, rows = rng.sample(table.columns, len(table.columns)), None, []
    odd = rng.pick(columns) if rng.below(2) else None
    texts = []
    for _ in range(rng.pick([1, 1, 2, 5])):
        row, text = {}, []
        for c in columns:
            said, value = given(rng, c, c is odd)
            text.append(said)
            try:
                if value is None and not c.nullable:
                    raise Refused("null")
                row[c.name] = None if value is None else kept(c.kind, value)
                if c.is_dimension and not c.holds(row[c.name]):
                    raise Refused("outside of the domain")
            except Refused as refused:
                why = why or "%s: %s" % (c.name, refused)
                row[c.name] = None
        rows.append(row)
        texts.append("(%s)" % ", ".join(text))
    places = [tuple(key(r[c.name]) for c in table.columns if c.is_dimension) for r in rows]
    if table.dense:
        why = why or "a dense array"
    elif not table.dups and len(set(places)) < len(places):
        why = why or "two cells of the same coordinates"
    after = None
    if why is None:
        place = lambda r: tuple(key(r[c.name]) for c in table.columns if c.is_dimension)
        after = [r for r in table.rows if table.dups or place(r) not in set(places)] + rows
    return Change("insert", "INSERT INTO {T} (%s) VALUES %s" % (", ".join(c.name for c in columns), ", ".join(texts)), None, after, why)


def delete(rng, table):
    columns = [column(c) for c in table.columns]
    DOUBT.clear()
    p = predicate(rng, columns, rng.pick([0, 0, 1, 2]))
    after = [r for r in table.rows if p.of(r) is not True]
    return Change("delete", "DELETE FROM {T} WHERE " + p.tdb, "DELETE FROM {T} WHERE " + p.duck, after, None, True)
