"""What an array holds by its case alone: what was written, without reading any of it.

A `Model` answers queries from the steps of a case (cases.py), or says nothing (None) where the steps do not decide, and then `why`
they do not: deletes, consolidation in a window that does not hold all of it, cells of two fragments of the same time. `rules` names the known faults
of libtiledb (docs/correctness_issues.md) that a query of a case may meet; it looks at schema and history only.
"""

import base64
import itertools
import struct
import time
from collections import Counter

import capi
import expect
from cases import FLOATS, INTS, READER, vt

TEXT = ("CHAR", "STRING_ASCII", "STRING_UTF8")
NEGATED = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "==", "in": "not-in", "not-in": "in"}
BYTES = "\"Order of string coordinates\""
TIES = "\"Ties of a Hilbert order, libtiledb 2.2 to 2.22\""
TWICE = "\"Fragments of the same first timestamp\""
MERGED = "\"Rectangles of date dimensions, libtiledb 1.6 and 1.7\": fragments are merged by them"
HISTORY = "\"Versions of a cell, libtiledb 2.10 and 2.11\""
MISREAD = "\"Dimension files in arrays of versions 1 to 4\""
NARROW = "\"Tiles of small and of wide integers, libtiledb 1.4 to 2.9\""
# with these, cells come in an order that neither the steps nor the schema say, and perhaps twice
OUT_OF_ORDER = (BYTES, TIES, HISTORY, MERGED)
# dense fragments that 2.30 consolidates within a current domain which cuts their space tiles hold tiles of fewer cells
CUT = "\"Consolidation within a current domain\""
# dense boxes of more cells are not put together
MOST = 60000


def now():
    """The present in milliseconds, which libtiledb opens arrays at."""
    return int(time.time() * 1000)


def cells(field, size):
    """The cells of a field of a write."""
    data = base64.b64decode(field["data"])
    if "offsets" in field:
        starts = base64.b64decode(field["offsets"])
        starts = list(struct.unpack("<%dQ" % (len(starts) // 8), starts)) + [len(data)]
        return [data[a:b] for a, b in zip(starts, starts[1:])]
    return [data[i:i + size] for i in range(0, len(data), size)]


def column(field, size):
    """The cells of a field of a write, None where null."""
    out = cells(field, size)
    if "validity" in field:
        out = [c if v else None for c, v in zip(out, base64.b64decode(field["validity"]))]
    return out


def width(field):
    """Bytes of a cell of fixed size, or of a value."""
    return capi.size_of(field["type"]) * (field["cell_val_num"] if isinstance(field.get("cell_val_num"), int) else 1)


def is_text(dimension):
    return dimension["type"] == "STRING_ASCII"


def value(dimension, data):
    """A coordinate as something that compares as ranges do."""
    return data if is_text(dimension) else expect.unpack(dimension["type"], data)


def signed(text):
    """Text as something that compares as signed bytes do."""
    return tuple(b - 256 if b > 127 else b for b in text)


def default_fill(attribute):
    """The fill value that an attribute has if none was chosen."""
    kind = attribute["type"]
    if kind in INTS:
        one = (1 << 8 * capi.size_of(kind) - 1) if kind[0] != "U" else (1 << 8 * capi.size_of(kind)) - 1
        data = one.to_bytes(capi.size_of(kind), "little")
    elif kind in FLOATS:
        data = struct.pack("<" + expect.FORMATS[kind], float("nan"))
    elif kind.startswith(("DATETIME", "TIME_")):
        data = (1 << 63).to_bytes(8, "little")
    else:
        data = (b"\x80" if kind == "CHAR" else b"\0") * capi.size_of(kind)
    return data * (attribute["cell_val_num"] if isinstance(attribute.get("cell_val_num"), int) else 1)


class Write:
    """A write step: where its cells are, and what they hold."""

    def __init__(self, step, schema, attributes, release):
        dimensions = schema["dimensions"]
        self.release = release
        self.time, self.box, self.layout = step["t"], None, step["layout"]
        self.attributes = attributes
        self.columns = {n: column(step["fields"][n], width(a)) for n, a in attributes.items() if n in step["fields"]}
        if step["subarray"]:
            self.box = [[expect.unpack(d["type"], bytes.fromhex(x)) for x in r] for d, r in zip(dimensions, step["subarray"])]
        else:
            columns = [cells(step["fields"][d["name"]], capi.size_of(d["type"])) for d in dimensions]
            self.coordinates = list(zip(*columns))

    def places(self, schema):
        """Coordinates of its cells, in the order of its columns: values in dense arrays."""
        if self.box is None:
            return [tuple(value(d, c) for d, c in zip(schema["dimensions"], cell)) for cell in self.coordinates]
        return places(schema, self.layout, [[[lo, hi]] for lo, hi in self.box])


def places(schema, layout, ranges):
    """The coordinates of a dense query's cells in its order; ranges are of values."""
    dimensions = schema["dimensions"]
    axes = [[v for lo, hi in several for v in range(lo, hi + 1)] for several in ranges]
    turned = lambda order, cell: cell[::-1] if order == "col-major" else cell
    if layout != "global-order":
        return [turned(layout, cell) for cell in itertools.product(*turned(layout, axes))]
    start = [expect.unpack(d["type"], bytes.fromhex(d["domain"][0])) for d in dimensions]
    extent = [expect.unpack(d["type"], bytes.fromhex(d["tile_extent"])) if d["tile_extent"] else 1 << 65 for d in dimensions]
    tile = lambda cell: tuple((v - s) // e for v, s, e in zip(cell, start, extent))
    key = lambda cell: (turned(schema["tile_order"], tile(cell)), turned(schema["cell_order"], cell))
    return sorted(itertools.product(*axes), key=key)


def anonymous_named(case):
    """The case with the name that 1.x gives to an attribute without one."""
    named = lambda name: name or "__attr"
    steps = [dict(s, fields={named(n): f for n, f in s["fields"].items()}) if s["op"] == "write" else s for s in case["steps"]]
    attributes = [dict(a, name=named(a["name"])) for a in case["schema"]["attributes"]]
    return dict(case, schema=dict(case["schema"], attributes=attributes), steps=steps)


class Model:
    """What a case's array holds."""

    def __init__(self, case):
        if vt(case["lib"]) < (2, 0):
            case = anonymous_named(case)
        self.schema, self.case = case["schema"], case
        attributes = {a["name"]: a for a in self.schema["attributes"]}
        self.writes, self.deletes, self.evolutions = [], [], []
        self.consolidated = self.upgraded = self.histories = False
        # why nothing that was consolidated is known; why the last query was not decided
        self.doubt = self.why = None
        # the attributes that were consolidated, the times that were, and whether what was there before is gone
        self.kept, self.spans, self.vacuumed, self.consolidators = attributes, [], False, []
        current = self.schema.get("current_domain")
        for step in case["steps"]:
            if step["op"] == "write":
                self.writes.append(Write(step, self.schema, dict(attributes), self.release(step)))
                self.writes[-1].upgraded = self.upgraded
            elif step["op"] == "evolve":
                self.evolutions.append(step)
                for name in step.get("drop", []):
                    attributes.pop(name, None)
                attributes.update((a["name"], a) for a in step.get("add", []))
                current = step.get("current_domain", current)
            elif step["op"] == "delete_fragments":
                if self.consolidated:
                    self.vacuumed, self.doubt = True, self.doubt or "fragments deleted that were consolidated"
                self.writes = [w for w in self.writes if not step["first"] <= w.time <= step["last"]]
            elif step["op"] == "delete":
                self.deletes.append((step["t"], typed(step["condition"], fields_of(self.schema, attributes))))
            if step["op"] == "consolidate" and step["config"].get("sm.consolidation.mode", "fragments") == "fragments":
                self.consolidated, self.kept = True, dict(attributes)
                self.consolidators.append(self.release(step))
                self.histories |= (2, 10) <= self.release(step) <= (2, 11)
                self.vacuumed |= self.release(step) < (2, 0)
                self.spans.append(self.span(step))
                if self.schema["array_type"] == "dense":
                    # some of them stored other cells
                    older = None if self.release(step) == vt(READER) else "consolidated by an older release"
                    self.doubt = self.doubt or (CUT if current and self.cut(step, current) else older)
            self.vacuumed |= step["op"] == "vacuum" and step["config"].get("sm.vacuum.mode", "fragments") == "fragments"
            if step["op"] == "interrupt" and step["kind"] != "torn":
                # some of what was consolidated is still there, and counts twice where nothing says that it was replaced
                self.vacuumed = True
                self.doubt = self.doubt or ("a consolidation that did not end" if step["kind"] == "unlisted" else None)
            self.upgraded |= step["op"] == "upgrade"
        self.last = attributes
        self.opened, self.reader = now(), vt(READER)

    def release(self, step):
        """Who executes a step: (major, minor)."""
        by = step.get("by", "writer")
        return vt({"writer": self.case["lib"], "reader": READER}.get(by, by))

    def span(self, step):
        """The first and the last time of what a step consolidates."""
        start, end = (step["config"].get("sm.consolidation.timestamp_" + x) for x in ("start", "end"))
        times = [w.time for w in self.writes if int(start or 0) <= w.time <= int(end or w.time)]
        return min(times, default=0), max(times, default=0)

    def cut(self, step, current):
        """Whether a current domain cuts the space tiles of what a step consolidates. Where an older write overlaps it, nothing is
        consolidated."""
        first, last = self.span(step)
        boxes = [w.box for w in self.writes if w.box and first <= w.time <= last]
        union = [(min(lo for lo, _ in ends), max(hi for _, hi in ends)) for ends in zip(*boxes)]
        older = [w.box for w in self.writes if w.box and w.time < first]
        if any(all(a <= hi and b >= lo for (a, b), (lo, hi) in zip(box, union)) for box in older):
            return False
        for k, d in enumerate(self.schema["dimensions"] if boxes else []):
            number = lambda x, d=d: expect.unpack(d["type"], bytes.fromhex(x))
            (first, last), (low, high) = map(number, d["domain"]), map(number, current[k])
            extent = number(d["tile_extent"]) if d["tile_extent"] else last - first + 1
            lo, hi = union[k]
            lo, hi = lo - (lo - first) % extent, hi + extent - 1 - (hi - first) % extent
            # the domain's own end cuts no tile short, but the current domain does in the same place
            if lo < low or hi > high:
                return True
        return False

    # -- what the steps are like -------------------------------------------------------------------------------------

    def window(self, timestamps):
        start, end = timestamps
        return start or 0, self.opened if end is None else end

    def visible(self, timestamps):
        """The writes in a time window, the oldest first; None if the steps do not decide."""
        start, end = self.window(timestamps)
        deletes = self.deletes_in(timestamps)
        if deletes and (self.schema["array_type"] == "dense" or self.consolidated):
            return self.undecided("deletes of what is consolidated")
        if any(by_null(condition) for _, condition in deletes):
            # in a file, null looks like the empty value
            return self.undecided("deletes by null")
        seen = [w for w in self.writes if start <= w.time <= end]
        before = self.before(timestamps)
        if self.doubt and not before:
            return self.undecided(self.doubt)
        if self.consolidated and not before and (start > 0 or len(seen) < sum(w.time <= self.opened for w in self.writes)):
            return self.undecided("a window of a consolidated array")
        if self.vacuumed and self.schema["array_type"] == "dense" and any(last > end for _, last in self.spans):
            return self.undecided("what was consolidated with writes that a window does not hold")
        return sorted(seen, key=lambda w: w.time)

    def current_domain(self, timestamps):
        """The current domain at the end of a time window: hex; None if there is none."""
        _, end = self.window(timestamps)
        current = self.schema.get("current_domain")
        for step in self.evolutions:
            current = step.get("current_domain", current) if step["t"] <= end else current
        return current

    def deletes_in(self, timestamps):
        """The deletes in a time window: (time, condition)."""
        start, end = self.window(timestamps)
        return [(t, condition) for t, condition in self.deletes if start <= t <= end]

    def deleted(self, schema, deletes, write, cell):
        """Whether a cell, which is the newest of its coordinates, was deleted after it was written; None if the steps do not decide."""
        for t, condition in deletes:
            if t < write.time:
                continue
            fields = dict(zip([d["name"] for d in schema["dimensions"]], write.coordinates[cell]))
            fields.update((name, column_[cell]) for name, column_ in write.columns.items())
            if not tested(condition) <= set(fields) or any(self.kind(write, a) is not True for a in schema["attributes"]
                                                           if a["name"] in tested(condition)):
                return None
            # what is left is what satisfies the opposite, which null and NaN do not
            if not holds(schema, condition, fields, negated=True):
                return True
        return False

    def before(self, timestamps):
        """Whether a window shows what there was before it was consolidated: in a dense array, where the window does not hold all
        that was."""
        start, end = self.window(timestamps)
        return self.schema["array_type"] == "dense" and not self.vacuumed and not any(
            start <= first and last <= end for first, last in self.spans)

    def lost(self):
        """Whether a release up to 2.2, which computes places in floating point, wrote a dense box so far behind the beginning of a
        dimension that some are equal: it stores fewer tiles than the box covers."""
        starts = [expect.unpack(d["type"], bytes.fromhex(d["domain"][0])) if not is_text(d) else 0 for d in self.schema["dimensions"]]
        return any(w.box and w.release < (2, 3) and any(hi - start >= 1 << 53 for (_, hi), start in zip(w.box, starts))
                   for w in self.writes)

    def undecided(self, why):
        self.why = why

    def kind(self, write, attribute):
        """Whether a write has an attribute: of the same name and type."""
        return self.same(write.attributes.get(attribute["name"]), attribute)

    @staticmethod
    def same(own, attribute):
        return own is not None and own["type"] == attribute["type"] and own["cell_val_num"] == attribute["cell_val_num"]

    def fill(self, attribute):
        if attribute.get("nullable") and not attribute.get("fill_valid"):
            return None
        return bytes.fromhex(attribute["fill"]) if attribute.get("fill") is not None else default_fill(attribute)

    # -- answers -----------------------------------------------------------------------------------------------------

    def table(self, schema, query):
        """(coordinates, writes and places in them) of the cells in a query's ranges; of dense ones, cells that nobody wrote
        have None. None if the steps do not decide."""
        writes = self.visible(query["timestamps"])
        if writes is None:
            return None
        return self.dense(schema, query, writes) if schema["array_type"] == "dense" else self.sparse(schema, query, writes)

    def dense(self, schema, query, writes):
        dimensions = schema["dimensions"]
        ends = [d["domain"] for d in dimensions]
        ranges = [[[expect.unpack(d["type"], bytes.fromhex(x)) for x in r] for r in several or [end]]
                  for d, several, end in zip(dimensions, query["ranges"], ends)]
        count = 1
        for several in ranges:
            count *= sum(hi - lo + 1 for lo, hi in several)
        if count > MOST:
            return self.undecided("many cells")
        order = places(schema, query["layout"], ranges)
        inside = set(order)
        found, times = {}, {}
        for w in writes:
            for i, place in enumerate(w.places(schema)):
                if place not in inside:
                    continue
                if times.get(place) == w.time:
                    return self.undecided("a cell written twice at a time")
                found[place], times[place] = (w, i), w.time
        return order, [found.get(place) for place in order]

    def sparse(self, schema, query, writes):
        dimensions = schema["dimensions"]
        keep = schema["allows_dups"]
        limits = [[[value(d, bytes.fromhex(x)) for x in r] for r in several] for d, several in
                  zip(dimensions, query["ranges"])]
        # no read finds what lies outside the current domain; two empty ends are open
        current = [[] if not any(r) else [[value(d, bytes.fromhex(x)) for x in r]]
                   for d, r in zip(dimensions, self.current_domain(query["timestamps"]) or [[] for _ in dimensions])]
        found, rows = {}, []
        for w in writes:
            for i, (raw, place) in enumerate(zip(w.coordinates, w.places(schema))):
                if not all(not several or any(lo <= v <= hi for lo, hi in several) for v, several in zip(place, current)):
                    continue
                if not all(not several or any(lo <= v <= hi for lo, hi in several) for v, several in zip(place, limits)):
                    continue
                if keep:
                    rows.append((raw, w, i))
                    continue
                if place in found and found[place][1].time == w.time:
                    return self.undecided("a cell written twice at a time")
                found[place] = (raw, w, i)
        rows = rows if keep else list(found.values())
        deletes = self.deletes_in(query["timestamps"])
        if deletes:
            gone = [self.deleted(schema, deletes, w, i) for _, w, i in rows]
            if None in gone:
                return self.undecided("deletes by what a fragment lacks")
            rows = [row for row, g in zip(rows, gone) if not g]
        one = len(dimensions) == 1
        compared = lambda raw: [signed(c) if is_text(d) and one else value(d, c) for d, c in zip(dimensions, raw)]
        if query["layout"] in ("row-major", "col-major"):
            turn = -1 if query["layout"] == "col-major" else 1
            rows.sort(key=lambda row: compared(row[0])[::turn])
        return [row[0] for row in rows], [row[1:] for row in rows]

    def answer(self, schema, query):
        """The columns of a query, dimensions first: {name: cells or None}, and their number; None if the steps do not
        decide. A column that is None the steps do not decide either."""
        table = self.table(schema, query)
        if table is None:
            return None
        if self.case.get("rounds"):
            return self.undecided("values that a filter rounds")
        consolidated = self.consolidated and not self.before(query["timestamps"])
        if consolidated and not all(self.same(self.kept.get(a["name"]), a) for a in schema["attributes"]):
            return self.undecided("an attribute that was not consolidated")
        if consolidated and (lacks(self, schema, query) or changed(self, schema, query)):
            return self.undecided("consolidation of fragments without an attribute, or with one of another type")
        # of a dense array what was lost of some attributes leaves the others as they are; a condition looks at all of them
        lost = far_apart(self, "bit_width_reduction", 128)
        if lost and (schema["array_type"] == "sparse" or query.get("condition")):
            return self.undecided("bit-width reduction of values as far apart as their type allows")
        if self.lost():
            return self.undecided("places computed in floating point")
        if past_the_type(self, schema):
            return self.undecided("consolidation that lost cells")
        if consolidated and narrow_tiles(self, schema):
            return self.undecided("consolidation of fragments that are out of order")
        if consolidated and bytes_in_order(self, schema, query):
            return self.undecided("consolidation of strings with bytes from 0x80")
        coordinates, sources = table
        columns = {}
        if schema["array_type"] == "sparse":
            for k, d in enumerate(schema["dimensions"]):
                columns[d["name"]] = [c[k] for c in coordinates]
        for a in schema["attributes"]:
            name, fill = a["name"], self.fill(a)
            if fill is None and not a.get("nullable"):
                return self.undecided("no fill value")
            has = {id(w): self.kind(w, a) for w in self.writes}
            columns[name] = None if name in lost else [
                s[0].columns[name][s[1]] if s and has[id(s[0])] else fill for s in sources]
        good = range(len(sources))
        condition, wanted = query.get("condition"), query.get("names")
        # of a dense array, coordinates are fields as well
        axes = along(schema, coordinates) if schema["array_type"] == "dense" else {}
        if condition:
            holding = [holds(schema, condition, {n: c[i] for n, c in (axes | columns).items()}) for i in good]
            if self.lacking(schema, query["timestamps"], tested(condition)):
                return self.undecided("a condition on what a fragment lacks")
            if schema["array_type"] == "sparse":
                good = [i for i in good if holding[i]]
            else:
                fills = {a["name"]: self.fill(a) for a in schema["attributes"]}
                columns = {n: [x if h else fills[n] for x, h in zip(c, holding)] for n, c in columns.items()}
        columns = {n: c for n, c in axes.items() if wanted and n in wanted} | columns
        return {n: c and [c[i] for i in good] for n, c in columns.items() if wanted is None or n in wanted}, len(good)

    def whole_answer(self, schema, query):
        """The answer; None, too, where the steps do not decide some column."""
        found = self.answer(schema, query)
        if found is not None and any(c is None for c in found[0].values()):
            return self.undecided("bit-width reduction of values as far apart as their type allows")
        return found

    def domain(self):
        """The box of all that was written in a dense array: hex; None of none."""
        boxes = [w.box for w in self.writes if w.box]
        ends = [[min(b[k][0] for b in boxes), max(b[k][1] for b in boxes)] for k in range(len(self.schema["dimensions"]))] \
            if boxes else None
        return ends and [[expect.pack(d["type"], x).hex() for x in r] for d, r in zip(self.schema["dimensions"], ends)]

    def last_schema(self):
        """The schema that the steps end with."""
        text = lambda d: "var" if is_text(d) else 1
        return dict(self.schema, attributes=list(self.last.values()), allows_dups=bool(self.schema.get("allows_dups")),
                    dimensions=[dict(d, cell_val_num=text(d)) for d in self.schema["dimensions"]])

    def lacking(self, schema, timestamps, names):
        """Whether a fragment in a window lacks some of the attributes."""
        return any(not self.kind(w, a) for w in self.visible(timestamps) or self.writes for a in schema["attributes"]
                   if names is None or a["name"] in names)


def along(schema, coordinates):
    """The columns of a dense array's dimensions at some coordinates: {name: cells}."""
    return {d["name"]: [expect.pack(d["type"], cell[k]) for cell in coordinates] for k, d in enumerate(schema["dimensions"])}


def encoded(schema, columns, count):
    """Columns in the layout of expect.py."""
    fields = {f["name"]: f for f in schema["dimensions"] + schema["attributes"]}
    out = {}
    for name, column_ in columns.items():
        f = fields[name]
        var = f.get("cell_val_num") == "var" or f["type"] == "STRING_ASCII" and f in schema["dimensions"]
        cells_ = [c if c is not None else b"" if var else bytes(width(f)) for c in column_]
        entry = {"type": f["type"], "cell_val_num": "var" if var else f.get("cell_val_num", 1), "data": b"".join(cells_)}
        if var:
            starts = itertools.accumulate([0] + [len(c) for c in cells_[:-1]]) if cells_ else []
            entry["offsets"] = struct.pack("<%dQ" % count, *starts)
        if f.get("nullable"):
            entry["validity"] = bytes(c is not None for c in column_)
        out[name] = {k: expect.b64(v) if isinstance(v, bytes) else v for k, v in entry.items()}
    return out


def rows_of(columns, names):
    return list(zip(*[columns[n] for n in names]))


def fields_of(schema, attributes):
    """Dimensions and attributes by name."""
    return dict({d["name"]: d for d in schema["dimensions"]}, **attributes)


def by_null(tree):
    """Whether a condition asks for null."""
    return any(map(by_null, tree[1:])) if tree[0] in ("and", "or", "not") else tree[2] is None


def typed(tree, fields):
    """A condition whose tests have the types of their operands."""
    if tree[0] in ("and", "or", "not"):
        return [tree[0]] + [typed(part, fields) for part in tree[1:]]
    return tree if len(tree) > 3 else [*tree, fields[tree[0]]["type"]]


# -- conditions ------------------------------------------------------------------------------------------------------------


def tested(tree):
    """The fields that a condition is about."""
    if tree[0] in ("and", "or", "not"):
        return set().union(*[tested(part) for part in tree[1:]])
    return {tree[0]}


def holds(schema, tree, cell, negated=False):
    """Whether a cell, a dict of bytes or None by field, satisfies a condition. Null cells satisfy no comparison."""
    if tree[0] == "not":
        return holds(schema, tree[1], cell, not negated)
    if tree[0] in ("and", "or"):
        every = (tree[0] == "and") != negated
        return (all if every else any)(holds(schema, part, cell, negated) for part in tree[1:])
    name, op, operand, datatype = tree
    op, value_ = NEGATED[op] if negated else op, cell[name]
    if operand is None:
        return (value_ is None) == (op == "==")
    if value_ is None:
        return False
    enumeration = next((a["enumeration"] for a in schema["attributes"] if a["name"] == name and a.get("enumeration")), None)
    if enumeration:
        return among(next(e for e in schema["enumerations"] if e["name"] == enumeration), op, operand, value_)
    if op in ("in", "not-in"):
        return (value_ in [bytes.fromhex(x) for x in operand]) == (op == "in")
    a, b = value_, bytes.fromhex(operand)
    if datatype not in TEXT + ("BOOL",):
        a, b = expect.unpack(datatype, a), expect.unpack(datatype, b)
    return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b, "==": a == b, "!=": a != b}[op]


def among(enumeration, op, operand, value_):
    """Whether an index of an enumeration satisfies a comparison with its values."""
    data = base64.b64decode(enumeration["data"])
    if "offsets" in enumeration:
        starts = [*struct.unpack("<%dQ" % (len(base64.b64decode(enumeration["offsets"])) // 8),
                                 base64.b64decode(enumeration["offsets"])), len(data)]
        values = [data[a:b] for a, b in zip(starts, starts[1:])]
    else:
        # without values, there are no offsets either
        size = capi.size_of(enumeration["type"]) * (1 if enumeration["cell_val_num"] == "var" else enumeration["cell_val_num"])
        values = [data[at:at + size] for at in range(0, len(data), size)]
    place = lambda x: values.index(bytes.fromhex(x)) if bytes.fromhex(x) in values else None
    index = int.from_bytes(value_, "little")
    if op in ("in", "not-in"):
        return (index in [place(x) for x in operand]) == (op == "in")
    other = place(operand)
    if other is None:
        return op == "!="
    return {"<": index < other, "<=": index <= other, ">": index > other, ">=": index >= other, "==": index == other,
            "!=": index != other}[op]


def differs(schema, query, right, told, names):
    """Whether columns are not those that were written; the order of sparse cells counts where the steps fix it."""
    theirs, ours = rows_of(told, names), rows_of(right, names)
    if schema["array_type"] == "dense":
        return theirs != ours
    if Counter(theirs) != Counter(ours):
        return True
    dimensions = [d["name"] for d in schema["dimensions"] if d["name"] in names]
    return (query["layout"] in ("row-major", "col-major") and len(dimensions) == len(schema["dimensions"])
            and rows_of(told, dimensions) != rows_of(right, dimensions))


def note(told, schema, query, columns):
    """Adds "model" and "rules" to a query of expect.py if it does not return what was written: `columns`, None if nothing."""
    ranges = [[r] if r else [] for r in query["ranges"] or [None] * len(schema["dimensions"])]
    asked = dict(query, ranges=ranges)
    right = told.answer(schema, asked)
    stray = [name for name in rules(told, schema, asked) if name in OUT_OF_ORDER]
    if columns is not None and stray:
        query["order"] = "canonical"
        if right is None:
            # neither the steps nor the library say what is right
            query["undecided"] = stray[0] + ": not decided"
    if right is None:
        if misread(told, schema, asked):
            # the steps do not say what is right, and the library does not know
            query["undecided"] = MISREAD + ": not decided"
        return False
    names, without = list(columns or right[0]), []
    if any(right[0][n] is None for n in names):
        if columns is None:
            return False
        lost = [n for n in names if right[0][n] is None]
        others = [n for n in names if n not in lost]
        if validity(told, schema, asked) or differs(schema, asked, right[0], columns, others):
            # which of its cells are null libtiledb does not know either, or where they are
            without, names = lost, others
        right = {n: columns[n] if c is None else c for n, c in right[0].items()}, right[1]
    if columns is None or differs(schema, asked, right[0], columns, names):
        query["model"] = {"cells": right[1], "fields": encoded(schema, {n: right[0][n] for n in names}, right[1])}
        query["model"]["without"] = without
        query["rules"] = rules(told, schema, asked)
    return True


# -- what libtiledb is known to get wrong ------------------------------------------------------------------------------------


def rules(told, schema, query):
    """Names of the known faults that a query may meet, by schema and history."""
    return [name for name, meets in RULES if meets(told, schema, query)]


def lacks(told, schema, query):
    return schema["array_type"] == "dense" and told.lacking(schema, query["timestamps"], None)


def changed(told, schema, query):
    """Whether a write has an attribute of the schema's name and of another type."""
    return any(a["name"] in w.attributes and not told.kind(w, a) for w in told.writes for a in schema["attributes"])


def across(told, schema, query):
    """Whether a condition on dimensions of a dense array is asked for across the order of its cells: 2.30 takes the cells of a run for
    neighbours in the array's order, and not in the query's."""
    dimensions = {d["name"] for d in schema["dimensions"]}
    return (schema["array_type"] == "dense" and len(dimensions) > 1 and bool(query.get("condition"))
            and query["layout"] in ("row-major", "col-major") and query["layout"] != schema["cell_order"]
            and bool(tested(query["condition"]) & dimensions))


def turned(told, schema, query):
    """Whether 2.8 to 2.27 read cells in column-major order, or in another order than their tiles, in global order."""
    return (schema["array_type"] == "dense" and query["layout"] == "global-order" and (2, 8) <= told.reader <= (2, 27)
            and len(schema["dimensions"]) > 1 and ("col-major" == schema["cell_order"] or schema["cell_order"] != schema["tile_order"]))


def validity(told, schema, query):
    """Whether a dense write of 2.6 to 2.10, whose validity tiles have the type of their attribute unless it is in global order,
    filters them by type."""
    filters = told.schema.get("validity_filters") or []
    names = {f["type"] for f in (filters["filters"] if isinstance(filters, dict) else filters)}
    typed = names & {"bit_width_reduction", "double_delta", "positive_delta", "byteshuffle", "bitshuffle", "rle"}
    wide = lambda a: a.get("nullable") and (a["cell_val_num"] == "var" or capi.size_of(a["type"]) > 1)
    return bool(typed) and any(
        w.box and w.layout != "global-order" and (2, 6) <= w.release <= (2, 10) and any(map(wide, w.attributes.values()))
        for w in told.writes)


def bytes_in_order(told, schema, query):
    """Whether string coordinates of several writes have bytes from 0x80: 2.30 merges fragments, which are in the order of signed
    bytes, by unsigned ones. Then what comes out is in neither order, and coordinates can come twice."""
    dimensions = schema["dimensions"]
    if schema["array_type"] == "dense" or not any(map(is_text, dimensions)) or len(told.writes) < 2:
        return False
    return any(b > 127 for w in told.writes for cell in w.coordinates for c, d in zip(cell, dimensions) if is_text(d) for b in c)


def merged(told, schema, query):
    """Whether the library merges fragments of such strings for a query, or did when it consolidated them, or looks for the cells of
    their ranges."""
    ranged = any(several and is_text(d) for d, several in zip(schema["dimensions"], query["ranges"]))
    return bytes_in_order(told, schema, query) and (
        told.consolidated or ranged or len(schema["dimensions"]) == 1 or query["layout"] in ("global-order", "unordered"))


def old_dates(told, schema, query):
    """Whether rectangles that 1.6 and 1.7 made of dates decide what lies in ranges."""
    return any(query["ranges"]) and any(d["type"].startswith("DATETIME") for d in schema["dimensions"]) and any(
        w.box is None and w.release < (2, 0) for w in told.writes)


def old_dates_merged(told, schema, query):
    """Whether 2.30, which merges tiles of fragments in the order of their rectangles, has such rectangles to go by."""
    return query["layout"] == "global-order" and len(told.writes) > 1 and any(
        d["type"].startswith("DATETIME") for d in schema["dimensions"]) and any(
        w.box is None and w.release < (2, 0) for w in told.writes)


def misread(told, schema, query):
    """Whether a release from 2.0 to 2.16 wrote files of dimensions into an array of version 1 to 4, with the filters of coordinates:
    2.30 takes them as unfiltered. What such a release consolidated is read in every window that it reaches into."""
    start, end = told.window(query["timestamps"])
    writers = [(w.release, w.time, w.time) for w in told.writes if w.box is None and not w.upgraded]
    if told.schema["array_type"] == "sparse" and not told.upgraded:
        writers += [(r, *span) for r, span in zip(told.consolidators, told.spans)]
    return vt(told.case["lib"]) < (2, 0) and any(
        (2, 0) <= release <= (2, 16) and start <= last and first <= end for release, first, last in writers)


def past_the_type(told, schema):
    """Whether 2.0 to 2.9 consolidated a sparse array of which the last tile of a dimension ends behind its type's largest number: only
    the cells of some tiles are in the new fragment."""
    def past(d):
        if d["type"] in FLOATS or is_text(d) or not d["tile_extent"]:
            return False
        lo, hi, extent = (expect.unpack(d["type"], bytes.fromhex(x)) for x in (*d["domain"], d["tile_extent"]))
        bits = 8 * capi.size_of(d["type"]) - (d["type"][0] != "U")
        return lo + ((hi - lo) // extent + 1) * extent - 1 >= 2 ** bits
    return schema["array_type"] == "sparse" and any(r <= (2, 9) for r in told.consolidators) and any(
        map(past, schema["dimensions"]))


def narrow_tiles(told, schema):
    """Whether 2.4 to 2.9, which computed wrong tile numbers for INT8 and INT16 of domains that begin below 0, wrote cells of a sparse
    array out of order: who merges such fragments leaves cells that both have in twice."""
    return schema["array_type"] == "sparse" and any(
        d["type"] in ("INT8", "INT16") and expect.unpack(d["type"], bytes.fromhex(d["domain"][0])) < 0 for d in schema["dimensions"]
    ) and any(w.box is None and (2, 4) <= w.release <= (2, 9) for w in told.writes)


def bucket(dimension, coordinate, bits):
    """The place of a coordinate along its dimension, in so many bits."""
    if is_text(dimension):
        word = 0
        for byte in (coordinate + bytes(8))[:8]:
            # libtiledb extends bytes from 0x80 with their sign
            word = (word << 8 | (byte if byte < 0x80 else byte - 256)) % 2 ** 64
        return word >> (64 - bits)
    lo, hi = (expect.unpack(dimension["type"], bytes.fromhex(x)) for x in dimension["domain"])
    along, length = float(value(dimension, coordinate) - lo), float(hi - lo)
    place = along / length * (2 ** bits - 1) if length else float("nan")
    return 0 if place != place else int(place)


def ties(told, schema, query):
    """Whether cells of one write, of a release up to 2.22, share a place on the Hilbert curve without being equal: it stored
    them by their last dimension first, while what merges fragments looks at the first one first."""
    dimensions = schema["dimensions"]
    if schema["cell_order"] != "hilbert" or len(dimensions) < 2 or query["layout"] not in ("global-order", "unordered"):
        return False
    bits = 63 // len(dimensions)
    for write in told.writes:
        if write.box is None and write.release < (2, 23):
            cells = set(write.coordinates)
            if len({tuple(bucket(d, c, bits) for d, c in zip(dimensions, cell)) for cell in cells}) < len(cells):
                return True
    return False


def curve(told, schema, query):
    """Whether a Hilbert array has one dimension of strings: its only fragment comes in the order of the curve in every layout."""
    dimensions = schema["dimensions"]
    return (schema["cell_order"] == "hilbert" and len(dimensions) == 1 and is_text(dimensions[0])
            and query["layout"] in ("row-major", "col-major"))


def versions(told, schema, query):
    """Whether 2.10 or 2.11 put the versions of cells into one fragment, not ordered by their times: 2.30 merges them as if they were."""
    return (told.histories and schema["array_type"] == "sparse" and not schema["allows_dups"]
            and query["layout"] in ("global-order", "unordered"))


def twice(told, schema, query):
    """Whether a cell was written twice at a time, and an accident of sorting says which of the two comes."""
    if schema["array_type"] == "dense" or schema["allows_dups"] or query["layout"] not in ("row-major", "col-major"):
        return False
    seen = set()
    for write in told.writes:
        cells = {(write.time, cell) for cell in write.coordinates} if write.box is None else set()
        if cells & seen:
            return True
        seen |= cells
    return False


def far_apart(told, filter_, short):
    """The fields of which a release up to 2.28 passed a filter values of a type that are so far apart: but for `short`, as far as it
    allows. Bit-width reduction takes a window of a signed type for narrow whose values are, and loses them; double delta stores a
    difference of differences of -2**63 as a sign without a magnitude."""
    def wide(field, cells_, around=False):
        size, kind = capi.size_of(field["type"]), field["type"]
        filters = field.get("filters") or []
        names = {f["type"] for f in (filters["filters"] if isinstance(filters, dict) else filters)}
        if filter_ not in names or size == 1 or kind in FLOATS or kind.startswith("STRING"):
            return False
        values = [int.from_bytes(c[i:i + size], "little", signed=True) for c in cells_ if c for i in range(0, len(c), size)]
        # around the cells of a dense write, tiles hold fill values
        values += [-2 ** (8 * size - 1)] if around else []
        return bool(values) and max(values) - min(values) >= 2 ** (8 * size) - short

    found = set()
    for w in told.writes:
        if w.release > (2, 28):
            continue
        found |= {n for n, a in w.attributes.items() if n in w.columns and wide(a, w.columns[n], bool(w.box))}
        # dimensions without filters have those of all coordinates
        dimensions = [dict(d, filters=d.get("filters") or told.schema.get("coords_filters")) for d in told.schema["dimensions"]]
        if w.box is None:
            found |= {d["name"] for k, d in enumerate(dimensions) if not is_text(d) and wide(d, [c[k] for c in w.coordinates])}
    return found


RULES = [
    ("\"Dense cells in column-major order\" in global order, libtiledb 2.8 to 2.27", turned),
    ("\"Conditions on dimensions of dense arrays\" across the order of cells", across),
    ("\"Order of string coordinates\": a Hilbert array of one dimension", curve),
    ("\"Double delta of 64-bit integers\"", lambda told, schema, query: far_apart(told, "double_delta", 2 ** 64 - 2 ** 62)),
    (TWICE, twice),
    (HISTORY, versions),
    (TIES, ties),
    (MERGED, old_dates_merged),
    (MISREAD, misread),
    ("\"Dense fragments without an attribute\"", lacks),
    ("\"Attributes whose type changed\"", changed),
    ("\"Validity tiles of dense arrays, libtiledb 2.6 to 2.10\"", validity),
    (BYTES, merged),
    (NARROW, lambda told, schema, query: query["layout"] in ("global-order", "unordered") and narrow_tiles(told, schema)),
    ("\"Rectangles of date dimensions, libtiledb 1.6 and 1.7\"", old_dates),
]
