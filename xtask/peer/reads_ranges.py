"""The ranges of a query as reads_peer.py passes them on: closed, joined, and not too many cells of a dense array."""

import expect
import model
import reads_queries

# the most that a dense query is to hold
MOST_BYTES = 8 << 20


def merged(schema, ranges):
    """The same ranges in order, and those that overlap joined."""
    out = []
    for several, d in zip(ranges, schema["dimensions"]):
        key = (lambda b: b) if d["cell_val_num"] == "var" else (lambda b, t=d["type"]: expect.unpack(t, b))
        value = lambda x: key(bytes.fromhex(x))
        joined = []
        for lo, hi in sorted(several or [], key=lambda r: (value(r[0]), value(r[1]))):
            if joined and value(lo) <= value(joined[-1][1]):
                if value(hi) > value(joined[-1][1]):
                    joined[-1] = [joined[-1][0], hi]
            else:
                joined.append([lo, hi])
        out.append(joined)
    return out


def closed(schema, ranges):
    """The ranges with ends in the place of open ones."""
    out = []
    for i, (several, d) in enumerate(zip(ranges, schema["dimensions"])):
        lo, hi = reads_queries.bounds(schema, i) or ("", reads_queries.LAST.hex())
        out.append([[lo if a is None else a, hi if b is None else b] for a, b in several])
    return out


def bounded(schema, ranges, most=MOST_BYTES):
    """The ranges of a dense query, or one point, if what they hold is more than is worth being told."""
    cells = 1
    for several, d in zip(ranges, schema["dimensions"]):
        ends = [[expect.unpack(d["type"], bytes.fromhex(x)) for x in r] for r in several]
        cells *= sum(hi - lo + 1 for lo, hi in ends) or 1
    width = sum(model.width(a) for a in schema["attributes"])
    return ranges if cells * width <= most else [[[several[0][0]] * 2] if several else [] for several in ranges]
