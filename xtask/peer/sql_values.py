"""Kinds of columns of random arrays, their values, and literals of SQL for them.

A value is what it means: an int, a float, a bool, text, bytes. Dates and times are nanoseconds since 1970 and durations are nanoseconds, both
without limits; null is None. DuckDB gets columns that lose nothing and compare exactly: HUGEINT for integers, dates, times and durations,
DOUBLE for reals.
"""

import math
import struct

from cases import FLOATS, INTS, LIMITS, pack

NANOSECONDS = {"DATETIME_DAY": 86400 * 10 ** 9, "DATETIME_SEC": 10 ** 9, "DATETIME_MS": 10 ** 6, "DATETIME_US": 1000, "DATETIME_NS": 1,
               "TIME_SEC": 10 ** 9, "TIME_MS": 10 ** 6, "TIME_US": 1000, "TIME_NS": 1}
DAY = NANOSECONDS["DATETIME_DAY"]
# SQL has no such unit: numbers
NUMBERS = ["DATETIME_YEAR", "DATETIME_MONTH", "DATETIME_WEEK", "DATETIME_HR", "DATETIME_MIN", "DATETIME_PS", "DATETIME_FS", "DATETIME_AS",
           "TIME_HR", "TIME_MIN", "TIME_PS", "TIME_FS", "TIME_AS"]
UNITS = {10 ** 9: "s", 10 ** 6: "ms", 1000: "\u00b5s", 1: "ns"}
I64 = LIMITS["INT64"]
U64 = LIMITS["UINT64"]
# what nanoseconds of 64 bits hold, less a day at both ends
LITERALS = (I64[0] + 2 * DAY, I64[1] - 2 * DAY)
# text of SQL for types of integers
INTEGERS = {"INT8": "TINYINT", "UINT8": "TINYINT UNSIGNED", "INT16": "SMALLINT", "UINT16": "SMALLINT UNSIGNED", "INT32": "INT",
            "UINT32": "INT UNSIGNED", "INT64": "BIGINT", "UINT64": "BIGINT UNSIGNED"}
TEXTS = ["", "a", "b", "ab", "B", "\u00e9", "\u5317\u4eac", "a%", "a_b", "O'Neil", "z", " a", "10", "9", "abc", "A"]
WORDS = ["a", "b", "ab", "B", "a_b", "z", "10", "9", "abc", "zz", "~"]


class Kind:
    """The type of a column."""

    def __init__(self, name, count=1, values=None):
        self.name, self.count = name, count
        # of an enumeration: its values, in the order of their numbers; `of` is the kind of these
        self.values = values
        self.unit = NANOSECONDS.get(name)
        self.limits = None
        if name in INTS or name in NUMBERS:
            self.family, self.limits = "int", LIMITS.get(name, I64)
        elif name in FLOATS:
            self.family = "real"
        elif name == "BOOL":
            self.family = "bool"
        elif self.unit:
            self.family = "span" if name.startswith("TIME") else "time"
        else:
            self.family = "text" if count == "var" and name.startswith("STRING") else "bytes"

    @property
    def duck(self):
        return {"int": "HUGEINT", "real": "DOUBLE", "bool": "BOOLEAN", "time": "HUGEINT", "span": "HUGEINT", "text": "VARCHAR",
                "bytes": "BLOB"}[self.family]

    @property
    def fixed(self):
        """The bytes of a cell of bytes of fixed size."""
        return self.count if self.family == "bytes" and self.count != "var" else None

    def raw(self, value):
        """A cell's bytes."""
        if self.family == "text":
            return value.encode()
        if self.family == "bytes":
            return value
        if self.unit:
            return struct.pack("<q", value // self.unit)
        return pack(self.name, [value])

    def value(self, raw):
        """The value of a cell's bytes."""
        if self.family == "text":
            return raw.decode()
        if self.family == "bytes":
            return raw
        if self.family == "bool":
            return raw != b"\0"
        if self.family == "real":
            return struct.unpack("<f" if self.name == "FLOAT32" else "<d", raw)[0]
        number = int.from_bytes(raw, "little", signed=not self.name.startswith("U"))
        return number * (self.unit or 1)


def single(value):
    """The nearest real of 32 bits; None if it is beyond all."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return None


def pool(rng, kind):
    """Some values of a kind, limits among them."""
    return rng.sample(candidates(rng, kind), rng.between(3, 9))


def candidates(rng, kind):
    if kind.family == "bool":
        return [True, False]
    if kind.family == "int":
        lo, hi = kind.limits
        near = [0, 1, 2, 3, 5, 7, 10, -1, -2, -7, 100, lo, hi, lo + 1, hi - 1, 2 ** 24 + 1, 2 ** 53 + 1, 2 ** 53, -2 ** 53 - 1,
                rng.between(lo, hi), rng.between(max(lo, -50), 50)]
        return [x for x in near if lo <= x <= hi]
    if kind.family == "real":
        reals = [0.0, -0.0, 1.5, -2.25, 0.1, 3.0, 0.5, 16777216.0, 1e10, math.nan, math.inf, -math.inf, rng.below(2000) / 64 - 10, 7.0]
        if kind.name == "FLOAT32":
            reals += [2.0 ** -149, (2 - 2.0 ** -23) * 2.0 ** 127, -(2 - 2.0 ** -23) * 2.0 ** 127]
        else:
            reals += [16777217.0, 2.0 ** 53, 2.0 ** 53 + 2, 5e-324, 1.7976931348623157e308, 1e300, 2.0 ** 63, 0.30000000000000004]
        return [single(x) if kind.name == "FLOAT32" else x for x in reals]
    if kind.family == "text":
        return [t for t in TEXTS if kind.name == "STRING_UTF8" or t.isascii()]
    if kind.family == "bytes":
        texts = [b"", b"a", b"ab", b"abc", b"b", b"B", b"\0", b"a b"] + ([] if kind.name.startswith("STRING") else [b"\xff\xfe", b"\x80"])
        return [t[:kind.fixed].ljust(kind.fixed, b"\0") if kind.fixed else t for t in texts]
    if kind.family == "span":
        return [x * kind.unit for x in (0, 1, -1, 90, 1000, -1500, 86400000, rng.between(-10 ** 6, 10 ** 6))]
    unit = kind.unit
    some = [0, -1, 1, 59 * 10 ** 9 // unit, 1577836800 * 10 ** 9 // unit, 1577836800 * 10 ** 9 // unit + 1, -10 ** 18 // unit, -2,
            rng.between(LITERALS[0] // unit + 1, LITERALS[1] // unit), 1e9 * 1e9 // unit, 951782400 * 10 ** 9 // unit]
    if unit in (10 ** 9, 10 ** 6) and rng.below(4) == 0:
        # the year 10000, and one before 0
        some += [253402300800 * 10 ** 9 // unit, -99999999999 * 10 ** 9 // unit]
    return [int(x) * unit for x in some]


# -- literals ----------------------------------------------------------------------------------------------------------


class Literal:
    """A constant: its texts, its value, and the rules by which DuckDB may answer something else."""

    def __init__(self, tdb, duck, value, rules=()):
        self.tdb, self.duck, self.value, self.rules = tdb, duck, value, frozenset(rules)


def quoted(text):
    return "'" + text.replace("'", "''") + "'"


def civil(days):
    """Year, month and day of a day since 1970."""
    days += 719468
    era = days // 146097
    day = days - era * 146097
    year = (day - day // 1460 + day // 36524 - day // 146096) // 365
    of_year = day - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    month_number = month + 3 if month < 10 else month - 9
    return year + era * 400 + (month_number <= 2), month_number, of_year - (153 * month + 2) // 5 + 1


def days_of(year, month, day):
    """The day since 1970."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def instant(value, rng=None):
    """An instant in ISO 8601, with as many digits as it needs, or more."""
    days, rest = divmod(value, DAY)
    seconds, nanos = divmod(rest, 10 ** 9)
    text = "%04d-%02d-%02dT%02d:%02d:%02d" % (*civil(days), seconds // 3600, seconds // 60 % 60, seconds % 60)
    return text + (".%09d" % nanos).rstrip("0").rstrip(".") if nanos else text


def real_text(value):
    """A literal of a real in the dialect of both."""
    if math.isnan(value):
        return "CAST('NaN' AS DOUBLE)"
    if math.isinf(value):
        return "CAST('%sinf' AS DOUBLE)" % ("-" if value < 0 else "")
    text = repr(value)
    return text if "." in text or "e" in text else text + ".0"


def for_integers(value):
    """A number that compares with every integer of a column as a value does, as text for DuckDB."""
    big = 10 ** 36
    if isinstance(value, float) and (math.isnan(value) or value > big):
        return "%d.5" % 10 ** 35
    if value < -big:
        return "-%d.5" % 10 ** 35
    whole = math.floor(value)
    return str(whole) if whole == value else "%d.5" % whole if whole >= 0 else "(%d + 0.5)" % whole


ROUNDED = "integers and decimals become doubles"


def number(value, family):
    """A literal of a number for a column of numbers: an int, or a float."""
    text = str(value) if isinstance(value, int) else real_text(value)
    if isinstance(value, int) and not I64[0] <= value <= U64[1]:
        # the parser reads it as a real
        value = float(value)
    if family == "int":
        return Literal(text, for_integers(value), value)
    inexact = isinstance(value, int) and int(float(value)) != value
    duck = "CAST(%s AS DOUBLE)" % text if isinstance(value, int) and not inexact else text
    return Literal(text, duck, value, [ROUNDED] if inexact else [])


def literal(rng, kind, values, among=False):
    """A constant to compare with a column: one of its values, one next to it, or one that its type does not have. Lists have constants
    of one type."""
    base = rng.pick(values) if values and rng.below(4) else rng.pick(candidates(rng, kind))
    family = kind.family
    if family == "bool":
        return Literal(str(base).upper(), str(base).upper(), base)
    if family == "text":
        return Literal(quoted(base), quoted(base), base)
    if family == "bytes":
        return bytes_literal(rng, kind, base, among)
    if family == "span":
        return span_literal(rng, kind, base)
    if family == "time":
        return time_literal(rng, kind, base)
    return number_literal(rng, family, base)


def number_literal(rng, family, base):
    choice = rng.below(12)
    if family == "int":
        if choice < 6:
            return number(base + rng.pick([0, 0, 0, 1, -1]), family)
        if choice < 8:
            return number(rng.pick([float(base), base + 0.5, base - 0.25]), family)
        if choice < 10:
            return decimal(base * 100 + rng.pick([0, 50, 1, -1]), family)
        return number(rng.pick([1e300, -1e300, 0.5, -0.0, 2.0 ** 53, 2.0 ** 63, 2 ** 64, 300, -129, 70000, 2 ** 31, 2 ** 63, -2 ** 63,
                                2 ** 53 + 1, 16777217.0, 1e-300]), family)
    if choice < 6:
        return number(base, family)
    if choice < 8 and math.isfinite(base):
        return number(rng.pick([math.nextafter(base, math.inf), math.nextafter(base, -math.inf), base + 0.5]), family)
    if choice < 10 and math.isfinite(base) and abs(base) < 1e15:
        return rng.pick([lambda: number(round(base), family), lambda: decimal(round(base * 100), family)])()
    return number(rng.pick([0.1, 16777217, 2 ** 53 + 1, 2 ** 24, 1e300, -1e300, 0, -0.0, 2 ** 63, 1e-300, math.nan, 3]), family)


def decimal(hundredths, family):
    """A literal with two digits behind the point."""
    from fractions import Fraction

    text = "%s%d.%02d" % ("-" if hundredths < 0 else "", abs(hundredths) // 100, abs(hundredths) % 100)
    value = Fraction(hundredths, 100)
    if family == "int":
        return Literal("CAST('%s' AS DECIMAL(25, 2))" % text, for_integers(value), value)
    inexact = Fraction(float(value)) != value
    return Literal("CAST('%s' AS DECIMAL(25, 2))" % text, "CAST('%s' AS DOUBLE)" % text, value, [ROUNDED] if inexact else [])


def bytes_literal(rng, kind, base, among):
    if kind.fixed and rng.below(3) == 0:
        base = base.rstrip(b"\0")
    if rng.below(8) == 0:
        base += b"z"
    value = base.ljust(kind.fixed, b"\0") if kind.fixed else base
    duck = "unhex('%s')" % value.hex()
    if not among and rng.below(2) and base.isascii() and base.isalnum():
        return Literal("'%s'" % base.decode(), duck, value)
    return Literal("X'%s'" % base.hex(), duck, value)


def span_literal(rng, kind, base):
    unit = rng.pick([u for u in UNITS if u <= kind.unit] if rng.below(3) else list(UNITS))
    count = base // unit + rng.pick([0, 0, 0, 1, -1])
    if not I64[0] <= count <= I64[1]:
        unit, count = kind.unit, base // kind.unit
    return Literal("arrow_cast(%d, 'Duration(%s)')" % (count, UNITS[unit]), str(count * unit), count * unit)


def time_literal(rng, kind, base):
    step = rng.pick([0, 0, 0, kind.unit, -kind.unit, kind.unit // 2, -(kind.unit // 2), 1, -1, kind.unit // 10])
    value = min(max(base + step, LITERALS[0]), LITERALS[1])
    choice = rng.below(10)
    if choice < 2:
        value -= value % DAY
        return Literal("DATE '%04d-%02d-%02d'" % civil(value // DAY), str(value), value)
    text = instant(value)
    if choice < 3:
        return Literal(quoted(text), str(value), value)
    if choice < 4:
        local = value + 5400 * 10 ** 9
        return Literal("TIMESTAMP '%s+01:30'" % instant(local), str(value), value)
    if choice < 5:
        return Literal("TIMESTAMP '%sZ'" % text, str(value), value)
    return Literal("TIMESTAMP '%s'" % text, str(value), value)


def stored(kind, value):
    """A value as a literal of a column of DuckDB."""
    if value is None:
        return "NULL"
    if kind.family == "bool":
        return str(value).upper()
    if kind.family == "real":
        return "CAST('%s' AS DOUBLE)" % repr(value)
    if kind.family == "text":
        return quoted(value)
    if kind.family == "bytes":
        return "unhex('%s')" % value.hex()
    return "CAST('%d' AS HUGEINT)" % value
