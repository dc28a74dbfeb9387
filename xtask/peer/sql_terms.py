"""Random expressions of SQL: their text for tdb, their text for DuckDB, and what they mean.

A term has a function from a row, which is a dict, to a value. What is true, false or null is True, False or None.
"""

import functools
import math
import re

from sql_values import I64, INTEGERS, ROUNDED, Literal, literal, number, quoted, real_text, stored

# the integers that a wider type holds, by the numbers of both types
WIDTHS = {"INT8": (1, 8), "UINT8": (0, 8), "INT16": (1, 16), "UINT16": (0, 16), "INT32": (1, 32), "UINT32": (0, 32), "INT64": (1, 64),
          "UINT64": (0, 64)}
# a type of decimals, which holds all results
WIDE = "DECIMAL"


class Doubt:
    """What evaluating a question over all rows met."""

    def __init__(self):
        # what a division by zero is: null, as in DuckDB, or a number that nothing asks for
        self.quotient = None
        self.clear()

    def clear(self):
        # an integer that its type does not hold, a division by zero, a NaN that arithmetic made
        self.overflow = self.zero = self.nan = False


DOUBT = Doubt()


class Term:
    """An expression: its texts, its family, its type of integers or reals, its meaning, and rules of DuckDB."""

    def __init__(self, tdb, duck, family, type_, of, rules=(), kind=None, column=None):
        self.tdb, self.duck, self.family, self.type, self.of = tdb, duck, family, type_, of
        self.rules, self.kind, self.column = frozenset(rules), kind, column

    @property
    def shape(self):
        """What its values look like: its family, or `real32`."""
        return "real32" if self.type == "FLOAT32" else self.family


def column(c, alias=None):
    """A column as a term; rows of joins have names with aliases."""
    name = "%s.%s" % (alias, c.name) if alias else c.name
    kind = c.kind
    type_ = kind.name if kind.name in INTEGERS or kind.family == "real" else "INT64" if kind.family == "int" else kind.name
    return Term(name, name, kind.family, type_, lambda row: row[name], (), kind, c)


# -- order -------------------------------------------------------------------------------------------------------------


def is_nan(x):
    return isinstance(x, float) and math.isnan(x)


def compare(a, b):
    """-1, 0 or 1 of two values that are not null: NaN is equal to itself, and greater than all numbers."""
    if is_nan(a) or is_nan(b):
        return is_nan(a) - is_nan(b)
    return (a > b) - (a < b)


def key(value):
    """What compares as a value does, for sets and groups: zeros of both signs are equal."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else value + 0.0 if value else 0.0
    return value


class Zeros:
    """Whether sorting tells -0 from 0, as tdb does and DuckDB does not."""

    signed = False


def sorted_compare(a, b):
    """As compare, where rows are sorted."""
    if Zeros.signed and a == b == 0 and isinstance(a, float) and isinstance(b, float):
        return (math.copysign(1, a) > math.copysign(1, b)) - (math.copysign(1, a) < math.copysign(1, b))
    return compare(a, b)


def sorted_key(value):
    """As key, where rows are sorted."""
    return repr(value) if Zeros.signed and isinstance(value, float) and value == 0 else key(value)


@functools.total_ordering
class Ordered:
    """A value that is not null, for sorting."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return sorted_compare(self.value, other.value) == 0

    def __lt__(self, other):
        return sorted_compare(self.value, other.value) < 0


# -- arithmetic --------------------------------------------------------------------------------------------------------


def limits(type_):
    if type_ == WIDE:
        return None
    signed, bits = WIDTHS[type_]
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def within(value, type_):
    """A result of arithmetic; notes that the type does not hold it."""
    ends = limits(type_) if type_ in WIDTHS else None
    if ends and value is not None and not ends[0] <= value <= ends[1]:
        DOUBT.overflow = True
    return value


def common(a, b):
    """The type of integers that holds all values of two."""
    if WIDE in (a, b):
        return WIDE
    (s, n), (t, m) = WIDTHS[a], WIDTHS[b]
    if s == t:
        return a if n >= m else b
    signed, unsigned = (n, m) if s else (m, n)
    bits = signed if signed > unsigned else unsigned * 2
    return WIDE if bits > 64 else "INT%d" % bits


def divided(a, b):
    """Integer division: towards zero."""
    if b == 0:
        DOUBT.zero = True
        return DOUBT.quotient
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def rest(a, b):
    if b == 0:
        DOUBT.zero = True
        return DOUBT.quotient
    return abs(a) % abs(b) * (-1 if a < 0 else 1)


INTEGER_OPERATIONS = {"+": (lambda a, b: a + b, "(%s + %s)"), "-": (lambda a, b: a - b, "(%s - %s)"),
                      "*": (lambda a, b: a * b, "(%s * %s)"), "/": (divided, "(%s // %s)"), "%": (rest, "(%s %% %s)")}


def real_divided(a, b):
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


REAL_OPERATIONS = {"+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "/": real_divided}


def both(operation, left, right):
    def of(row):
        a, b = left.of(row), right.of(row)
        return None if a is None or b is None else operation(a, b)

    return of


def integer_arithmetic(rng, left, right):
    sign = rng.pick(["+", "-", "*", "+", "-", "/", "%"])
    type_ = common(left.type, right.type)
    if type_ == WIDE and sign in "/%*":
        sign = "+"
    operation, form = INTEGER_OPERATIONS[sign]
    rules = left.rules | right.rules
    return Term("(%s %s %s)" % (left.tdb, sign, right.tdb), form % (left.duck, right.duck), "int", type_,
                both(lambda a, b: within(operation(a, b), type_), left, right), rules)


def made(value):
    """A result of arithmetic of reals; notes that it is NaN, whose sign is up to the processor."""
    DOUBT.nan |= is_nan(value)
    return value


def real_arithmetic(rng, left, right):
    sign = rng.pick("+-*/")
    operation = REAL_OPERATIONS[sign]
    return Term("(%s %s %s)" % (left.tdb, sign, right.tdb), "(%s %s %s)" % (left.duck, sign, right.duck), "real", "FLOAT64",
                both(lambda a, b: made(operation(float(a), float(b))), left, right),
                left.rules | right.rules)


def constant(value):
    if isinstance(value, float):
        return Term(real_text(value), "CAST(%s AS DOUBLE)" % real_text(value), "real", "FLOAT64", lambda row: value)
    type_ = "INT64" if I64[0] <= value <= I64[1] else "UINT64"
    text = "(%d)" % value if value < 0 else str(value)
    return Term(text, "CAST(%s AS HUGEINT)" % text, "int", type_, lambda row: value)


def negated(term):
    return Term("(- %s)" % term.tdb, "(- %s)" % term.duck, term.family, term.type,
                lambda row: None if term.of(row) is None else made(within(-term.of(row), term.type)), term.rules)


def absolute(term):
    return Term("abs(%s)" % term.tdb, "abs(%s)" % term.duck, term.family, term.type,
                lambda row: None if term.of(row) is None else within(abs(term.of(row)), term.type), term.rules)


def cast(rng, term):
    """The term as another type."""
    if term.family == "int" and rng.below(2):
        of = lambda row: None if term.of(row) is None else str(term.of(row))
        return Term("CAST(%s AS VARCHAR)" % term.tdb, "CAST(%s AS VARCHAR)" % term.duck, "text", None, of, term.rules)
    if term.family == "int":
        of = lambda row: None if term.of(row) is None else float(term.of(row))
        return Term("CAST(%s AS DOUBLE)" % term.tdb, "CAST(%s AS DOUBLE)" % term.duck, "real", "FLOAT64", of, term.rules)
    if term.family == "bool":
        of = lambda row: None if term.of(row) is None else int(term.of(row))
        return Term("CAST(%s AS BIGINT)" % term.tdb, "CAST(%s AS HUGEINT)" % term.duck, "int", "INT64", of, term.rules)
    return term


def coalesced(rng, term, values):
    given = rng.pick(values)
    tdb = plain(term, given)
    if tdb is None:
        return term

    def of(row):
        value = term.of(row)
        return given if value is None else value

    return Term("coalesce(%s, %s)" % (term.tdb, tdb), "coalesce(%s, %s)" % (term.duck, stored(term.kind, given)), term.family, term.type,
                of, term.rules, term.kind)


def plain(term, value):
    """A value as a literal that has the very type of a column, for where the result has one type."""
    if term.family == "text":
        return quoted(value)
    if term.family == "bool":
        return str(value).upper()
    if term.family == "int" and term.type in INTEGERS and not term.kind.values:
        return "CAST(%s AS %s)" % (value, INTEGERS[term.type])
    if term.family == "real":
        return "CAST(%s AS %s)" % (real_text(value), "REAL" if term.type == "FLOAT32" else "DOUBLE")
    return None


def term(rng, columns, depth=1):
    """A random expression over columns, which are terms."""
    base = rng.pick(columns)
    choice = rng.below(10)
    if depth == 0 or choice < 5:
        return base
    if base.family == "int" and base.kind.values is None:
        if choice == 5 and base.type in INTEGERS and base.type[0] == "I":
            return rng.pick([negated, absolute])(base)
        if choice == 6:
            return cast(rng, base)
        others = [c for c in columns if c.family == "int" and c.kind.values is None and c.type in INTEGERS]
        right = rng.pick(others) if choice == 7 and others else constant(rng.pick([1, 2, 3, -1, 7, 100, 0, 10 ** 6, 2 ** 40]))
        return integer_arithmetic(rng, base, right)
    if base.family == "real" and base.type == "FLOAT64":
        if choice == 5:
            return rng.pick([negated, absolute])(base)
        return real_arithmetic(rng, base, rng.pick([constant(1.5), constant(2), constant(-0.25), constant(0.0), constant(0.1)]))
    if base.family == "bool" and choice == 5:
        return cast(rng, base)
    if base.family == "text" and choice == 5:
        return Term("character_length(%s)" % base.tdb, "length(%s)" % base.duck, "int", "INT64",
                    lambda row: None if base.of(row) is None else len(base.of(row)), base.rules)
    if choice < 8:
        return coalesced(rng, base, base.column.values) if base.column and base.kind.values is None else base
    condition = predicate(rng, columns, 0)
    alike = [c for c in columns if c.family == base.family and c.type == base.type and c.kind.fixed == base.kind.fixed
             and c.kind.values is None] if base.kind.values is None else []
    other = rng.pick(alike) if alike and rng.below(2) else None
    otherwise = other.tdb if other else "NULL"

    def of(row):
        other_value = other.of(row) if other else None
        value = base.of(row)
        return value if condition.of(row) is True else other_value

    return Term("CASE WHEN %s THEN %s ELSE %s END" % (condition.tdb, base.tdb, otherwise),
                "CASE WHEN %s THEN %s ELSE %s END" % (condition.duck, base.duck, other.duck if other else "NULL"),
                base.family, base.type, of, base.rules | condition.rules, base.kind)


# -- conditions ----------------------------------------------------------------------------------------------------------


OPERATIONS = {"=": lambda c: c == 0, "<>": lambda c: c != 0, "<": lambda c: c < 0, "<=": lambda c: c <= 0, ">": lambda c: c > 0,
              ">=": lambda c: c >= 0}
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Predicate:
    def __init__(self, tdb, duck, of, rules=()):
        self.tdb, self.duck, self.of, self.rules = tdb, duck, of, frozenset(rules)


def not_(value):
    return None if value is None else not value


def and_(a, b):
    return False if a is False or b is False else None if a is None or b is None else True


def or_(a, b):
    return True if a is True or b is True else None if a is None or b is None else False


def one(rng, term, among=False):
    """A constant to compare a term with, perhaps one of several."""
    if term.kind:
        return literal(rng, term.kind, term.column.values if term.column else [], among)
    if term.family == "text":
        return Literal(*[quoted(v) for v in [rng.pick(["1", "10", "0", "-1", "a"])] * 2], None)
    if term.family == "int":
        return number(rng.pick([0, 1, -1, 2, 3, 100, 0.5, 2 ** 31, 2 ** 53 + 1, 1e300, -7]), "int")
    return number(rng.pick([0.0, 1.5, 0.1, 3, 1e300, -2.25, math.nan]), term.family)


def value_of(given, term):
    """The value of a constant: text of a term without a kind stands for itself."""
    return given.value if given.value is not None else given.tdb[1:-1]


def comparison(rng, term):
    sign, given = rng.pick(list(OPERATIONS)), one(rng, term)
    value, test = value_of(given, term), OPERATIONS[sign]

    def of(row):
        own = term.of(row)
        return None if own is None else test(compare(own, value))

    if rng.below(4) == 0:
        sides = lambda a, b: "%s %s %s" % (b, MIRRORED[sign], a)
    else:
        sides = lambda a, b: "%s %s %s" % (a, sign, b)
    return Predicate(sides(term.tdb, given.tdb), sides(term.duck, given.duck), of, term.rules | given.rules)


def between(rng, term):
    low, high = one(rng, term, True), one(rng, term, True)
    if compare(value_of(low, term), value_of(high, term)) > 0 and rng.below(4):
        low, high = high, low
    word = rng.pick(["BETWEEN", "NOT BETWEEN"])

    def of(row):
        own = term.of(row)
        if own is None:
            return None
        inside = compare(own, value_of(low, term)) >= 0 and compare(own, value_of(high, term)) <= 0
        return inside == (word == "BETWEEN")

    text = lambda x, a, b: "%s %s %s AND %s" % (x, word, a, b)
    return Predicate(text(term.tdb, low.tdb, high.tdb), text(term.duck, low.duck, high.duck), of, term.rules | low.rules | high.rules)


def member(rng, term):
    items = [one(rng, term, True) for _ in range(rng.pick([1, 2, 3, 3, 5, 9, 30]))]
    has_null, word = rng.below(8) == 0, rng.pick(["IN", "NOT IN"])

    def of(row):
        own = term.of(row)
        if own is None:
            return None
        found = any(compare(own, value_of(i, term)) == 0 for i in items)
        found = None if not found and has_null else found
        return found if word == "IN" else not_(found)

    text = lambda x, own: "%s %s (%s)" % (x, word, ", ".join(own + ["NULL"] * has_null))
    return Predicate(text(term.tdb, [i.tdb for i in items]), text(term.duck, [i.duck for i in items]), of,
                     term.rules.union(*[i.rules for i in items]))


def null_test(rng, term):
    word = rng.pick(["IS NULL", "IS NOT NULL"])
    return Predicate("%s %s" % (term.tdb, word), "%s %s" % (term.duck, word), lambda row: (term.of(row) is None) == (word == "IS NULL"),
                     term.rules)


def distinct(rng, term):
    given, word = one(rng, term), rng.pick(["IS DISTINCT FROM", "IS NOT DISTINCT FROM"])
    null = rng.below(4) == 0

    def of(row):
        own = term.of(row)
        same = own is None if null else own is not None and compare(own, value_of(given, term)) == 0
        return same != (word == "IS DISTINCT FROM")

    return Predicate("%s %s %s" % (term.tdb, word, "NULL" if null else given.tdb),
                     "%s %s %s" % (term.duck, word, "NULL" if null else given.duck), of, term.rules | given.rules)


def like(rng, term):
    pattern = rng.pick(["a%", "%b", "%", "_", "a_b", "%a%", "", "O'%", "\u00e9", "__", "A%", "1%", "a"])
    word = rng.pick(["LIKE", "NOT LIKE", "ILIKE"])
    quick = re.compile("".join({"%": ".*", "_": "."}.get(c, re.escape(c)) for c in pattern), re.S | (re.I if word == "ILIKE" else 0))

    def of(row):
        own = term.of(row)
        return None if own is None else (quick.fullmatch(own) is not None) != (word == "NOT LIKE")

    return Predicate("%s %s %s" % (term.tdb, word, quoted(pattern)), "%s %s %s" % (term.duck, word, quoted(pattern)), of, term.rules)


def columns_compared(rng, columns):
    """Two columns of one family, or none."""
    left = rng.pick(columns)
    numbers = ("int", "real")
    alike = [c for c in columns if c is not left and c.kind.fixed == left.kind.fixed
             and (c.family == left.family or c.family in numbers and left.family in numbers)
             and (left.family != "bytes" or c.kind.name == left.kind.name)]
    if not alike:
        return None
    right, sign = rng.pick(alike), rng.pick(list(OPERATIONS))
    return Predicate("%s %s %s" % (left.tdb, sign, right.tdb), "%s %s %s" % (left.duck, sign, right.duck),
                     both(lambda a, b: OPERATIONS[sign](compare(a, b)), left, right), [] if left.family == right.family else [ROUNDED])


def simple(rng, columns):
    """A condition without AND, OR and NOT."""
    own = term(rng, columns, 1 if rng.below(4) == 0 else 0)
    if own.family == "bool" and rng.below(3) == 0:
        return Predicate(own.tdb, own.duck, own.of, own.rules)
    if rng.below(12) == 0:
        found = columns_compared(rng, columns)
        if found:
            return found
    choice = rng.below(12)
    if choice < 5:
        return comparison(rng, own)
    if choice < 7:
        return between(rng, own)
    if choice < 9:
        return member(rng, own)
    if choice == 9:
        return null_test(rng, own)
    if choice == 10:
        return distinct(rng, own)
    return like(rng, own) if own.family == "text" else comparison(rng, own)


def predicate(rng, columns, depth=2):
    choice = rng.below(6)
    if depth == 0 or choice < 3:
        return simple(rng, columns)
    if choice > 3 and rng.below(4) == 0:
        # both sides about one column, so that an optimizer may join them
        columns = [rng.pick(columns)]
    left = predicate(rng, columns, depth - 1)
    if choice == 3:
        if rng.below(3) == 0:
            word, want = rng.pick([("IS TRUE", (True,)), ("IS NOT TRUE", (False, None)), ("IS FALSE", (False,)),
                                   ("IS NOT FALSE", (True, None)), ("IS UNKNOWN", (None,)), ("IS NOT UNKNOWN", (True, False))])
            own = word.replace("UNKNOWN", "NULL")
            return Predicate("(%s) %s" % (left.tdb, word), "(%s) %s" % (left.duck, own), lambda row: left.of(row) in want, left.rules)
        return Predicate("NOT (%s)" % left.tdb, "NOT (%s)" % left.duck, lambda row: not_(left.of(row)), left.rules)
    right = predicate(rng, columns, depth - 1)
    word, join = ("AND", and_) if choice == 4 else ("OR", or_)
    text = "(%s) " + word + " (%s)"
    return Predicate(text % (left.tdb, right.tdb), text % (left.duck, right.duck), lambda row: join(left.of(row), right.of(row)),
                     left.rules | right.rules)
