"""Asks DuckDB the queries of crates/tdb-datafusion/tests/slt, over the cells that libtiledb read.

    python3 sql_peer.py --expected DIR FILE...

DIR is xtask/fixtures/expected/2.30.0. The answers in the files are DataFusion's. Where DuckDB answers something else, a comment at the
query that begins with `# DuckDB:` says why; the script fails where there is a difference without one, and where there is one without a
difference. Records with `skipif duckdb` or `onlyif` something else are left out.

DuckDB and pyarrow are wheels of PyPI. The script makes a virtual environment for them, tdb-peers/sql in the cache of fetch.py, and
starts itself again in it.
"""

import argparse
import base64
import datetime
import decimal
import itertools
import json
import math
import os
import re
import struct
import subprocess
import sys

import expect
import fetch

WHEELS = ["duckdb==2.0.0", "pyarrow==26.0.1"]
# a window that ends here or later has no end in the recorded queries
NO_END = 1000000
CREATE = re.compile(r"CREATE EXTERNAL TABLE (\w+) STORED AS TILEDB LOCATION '([^']*)'(?: OPTIONS \((.*)\))?", re.S)


def in_environment():
    """Starts the script again with a Python that has the wheels; returns in that."""
    folder = os.path.join(fetch.cache(), "sql")
    python = os.path.join(folder, "bin", "python")
    if os.path.realpath(sys.prefix) == os.path.realpath(folder):
        return
    if not os.path.exists(os.path.join(folder, "complete")):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--only-binary=:all:"] + WHEELS, check=True, stdout=sys.stderr)
        open(os.path.join(folder, "complete"), "w").close()
    os.execv(python, [python] + sys.argv)


# -- tables --------------------------------------------------------------------------------------------------------


def pieces(field):
    """The cells of a field of text."""
    data = base64.b64decode(field["data"])
    starts = base64.b64decode(field.get("offsets", ""))
    starts = list(struct.unpack("<%dQ" % (len(starts) // 8), starts)) + [len(data)]
    return [data[a:b] for a, b in zip(starts, starts[1:])]


BYTES = ("CHAR", "BLOB", "ANY", "GEOM_WKB", "GEOM_WKT")
TEXT = ("STRING_ASCII", "STRING_UTF8")
# code units
UNITS = {"STRING_UTF16": "H", "STRING_UCS2": "H", "STRING_UTF32": "I", "STRING_UCS4": "I"}


def values(field, kind, several):
    """The values of a field: numbers, bytes, or lists of numbers."""
    if several == "var":
        cells = pieces(field)
        out = cells if kind in BYTES + TEXT else [numbers(kind, cell) for cell in cells]
    elif kind in BYTES + TEXT:
        data = base64.b64decode(field["data"])
        out = [data[i:i + several] for i in range(0, len(data), several)]
    else:
        out = numbers(kind, base64.b64decode(field["data"]))
        if several != 1:
            out = [out[i:i + several] for i in range(0, len(out), several)]
    if kind == "BOOL":
        out = [bool(x) for x in out]
    if kind in TEXT and several == "var":
        out = [x.decode() for x in out]
    if "validity" in field:
        out = [x if v else None for x, v in zip(out, base64.b64decode(field["validity"]))]
    return out


def numbers(kind, data):
    code = dict(UNITS, BOOL="B").get(kind) or expect.FORMATS.get(kind, "q")
    return list(struct.unpack("<%d%s" % (len(data) // struct.calcsize(code), code), data))


def column(pa, field, kind, several, days, enumeration):
    """A column of Arrow."""
    out = values(field, kind, several)
    if enumeration:
        of = values(enumeration, enumeration["type"], enumeration["cell_val_num"])
        out = [of[x] if x is not None and 0 <= x < len(of) else None for x in out]
        kind, several = enumeration["type"], enumeration["cell_val_num"]
    one = {"INT8": pa.int8(), "UINT8": pa.uint8(), "INT16": pa.int16(), "UINT16": pa.uint16(), "INT32": pa.int32(),
           "UINT32": pa.uint32(), "INT64": pa.int64(), "UINT64": pa.uint64(), "FLOAT32": pa.float32(), "FLOAT64": pa.float64(),
           "BOOL": pa.bool_(), "STRING_ASCII": pa.string(), "STRING_UTF8": pa.string(), "DATETIME_SEC": pa.timestamp("s"),
           "DATETIME_MS": pa.timestamp("ms"), "DATETIME_US": pa.timestamp("us"), "DATETIME_NS": pa.timestamp("ns"),
           "TIME_SEC": pa.duration("s"), "TIME_MS": pa.duration("ms"), "TIME_US": pa.duration("us"),
           "TIME_NS": pa.duration("ns")}.get(kind, pa.int64())
    if kind == "DATETIME_DAY" and days:
        one = pa.date32()
    if kind in UNITS:
        one = pa.uint16() if UNITS[kind] == "H" else pa.uint32()
    if kind in BYTES or kind in TEXT and several != "var":
        one = pa.binary()
    elif several != 1 and kind not in TEXT:
        one = pa.list_(one)
    return pa.array(out, one)


def recorded(case, window):
    """The query of all cells in a window, and the non-empty domain in it."""
    times = [None, None]
    if window is not None:
        start, end = window.split("-") if "-" in window else (None, window)
        times = [start and int(start), int(end) if int(end) < NO_END else None]
    kind = "full" if window is None else "time-travel"
    query = next(q for q in case["queries"] if q["kind"] == kind and q["timestamps"] == times
                 and q["layout"] in ("row-major", "unordered"))
    states = [s for s in case.get("time_travel") or [] if window is not None and s["timestamps"] == times]
    return query, (states or [case])[0]["non_empty_domain"]


def table(pa, case, options):
    """The rows of a table of an array."""
    query, domain = recorded(case, options.get("timestamp"))
    schema, days = case["schema"], options.get("days") == "date"
    enumerations = {e["name"]: e for e in schema.get("enumerations", [])}
    fields = {d["name"]: d for d in schema["dimensions"] + schema["attributes"]}
    out = {}
    if schema["array_type"] == "dense":
        number = lambda d, x: expect.unpack(d["type"], bytes.fromhex(x))
        boxes = [[number(d, x) for x in r] for d, r in zip(schema["dimensions"], query["ranges"])]
        cells = list(itertools.product(*[range(lo, hi + 1) for lo, hi in boxes]))
        inner = [[number(d, x) for x in r] for d, r in zip(schema["dimensions"], domain)] if domain else []
        keep = [bool(domain) and all(lo <= x <= hi for x, (lo, hi) in zip(cell, inner)) for cell in cells]
        for i, d in enumerate(schema["dimensions"]):
            data = struct.pack("<%d%s" % (len(cells), expect.FORMATS.get(d["type"], "q")), *[cell[i] for cell in cells])
            out[d["name"]] = column(pa, {"data": base64.b64encode(data)}, d["type"], 1, days, None)
    for name, field in query["fields"].items():
        enumeration = enumerations.get(fields.get(name, {}).get("enumeration"))
        out[name] = column(pa, field, field["type"], field["cell_val_num"], days, enumeration)
    out = pa.table(out)
    return out.filter(pa.array(keep)) if schema["array_type"] == "dense" else out


# -- files ---------------------------------------------------------------------------------------------------------


def records(path):
    """The records of a file: (line, comments, conditions, head, statement, answer)."""
    with open(path, encoding="utf-8") as handle:
        lines = handle.read().split("\n")
    at = 0
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        start, comments, conditions = at + 1, [], []
        while at < len(lines) and lines[at].startswith(("#", "skipif", "onlyif")):
            (comments if lines[at][0] == "#" else conditions).append(lines[at])
            at += 1
        block = []
        while at < len(lines) and lines[at].strip():
            block.append(lines[at])
            at += 1
        if block:
            split = block.index("----") if "----" in block else len(block)
            yield start, comments, conditions, block[0], "\n".join(block[1:split]), block[split + 1:]


def canonical(text, letter):
    """A recorded value as something that compares; the letter F is a real of 32 bits."""
    if text == "NULL":
        return text
    if letter == "F":
        number = float(text)
        return repr(number if math.isnan(number) or math.isinf(number) else struct.unpack("f", struct.pack("f", number))[0])
    if letter == "R":
        number = float(text)
        return "%.11g" % (number + 0.0 if math.isfinite(number) else number) if number else str(number)
    if letter == "P":
        return re.sub(r"(\.\d*?)0*$", r"\1", text).rstrip(".") if "." in text else text
    return text


def shown(value, letter):
    """A value of DuckDB in the same form."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (float, decimal.Decimal, int)) and letter in ("R", "F"):
        return canonical(repr(float(value)), letter)
    if isinstance(value, datetime.datetime):
        return canonical(value.isoformat(), "P")
    if isinstance(value, datetime.timedelta):
        return "PT%gS" % value.total_seconds() if value else "P0D"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list):
        return "[" + ", ".join(shown(x, "") for x in value) + "]"
    return str(value) or "(empty)"


def ask(connection, head, statement, answer):
    """What DuckDB answers, and what is recorded; or the error."""
    words = head.split()
    letters = words[1]
    try:
        rows = connection.execute(statement).fetchall()
        kinds = [str(column[1]) for column in connection.description]
    except Exception as error:
        return "error: " + str(error).split("\n")[0], None
    letters = "".join("F" if (k, kind) == ("R", "FLOAT") else k for k, kind in zip(letters, kinds + [""] * len(letters)))
    found = [tuple(shown(v, k) for v, k in zip(row, letters + "?" * len(row))) for row in rows]
    wanted = [tuple(canonical(t, k) for t, k in zip(row.split(" | "), letters)) for row in answer]
    if "rowsort" in words:
        found, wanted = sorted(found), sorted(wanted)
    return found, wanted


def run(path, expected):
    """The number of queries asked, of those that differ with a reason, and what is wrong."""
    import duckdb
    import pyarrow as pa

    connection = duckdb.connect()
    connection.execute("SET default_null_order = 'nulls_last_on_asc_first_on_desc'; SET TimeZone = 'UTC'")
    asked = named = 0
    wrong = []
    for line, comments, conditions, head, statement, answer in records(path):
        if any(c == "skipif duckdb" or c.startswith("onlyif") and c != "onlyif duckdb" for c in conditions):
            continue
        created = CREATE.match(statement) if head == "statement ok" else None
        if created:
            name, location, options = created.groups()
            options = dict(re.findall(r"'?(\w+)'? '([^']*)'", options or ""))
            with open(os.path.join(expected, location.removeprefix("copy/") + ".json")) as handle:
                cells = table(pa, json.load(handle), options)
            connection.register("cells", cells)
            connection.execute("CREATE TABLE %s AS SELECT * FROM cells" % name)
            connection.unregister("cells")
            continue
        reason = [c for c in comments if c.startswith("# DuckDB:")]
        if head.startswith("query"):
            asked += 1
            found, wanted = ask(connection, head, statement, answer)
            if reason and found != wanted:
                named += 1
            elif reason:
                wrong.append("%s:%d: DuckDB answers the same, so leave out the comment" % (path, line))
            elif found != wanted:
                wrong.append("%s:%d: %s\n  DuckDB   %s\n  recorded %s" % (path, line, statement, found, wanted))
        elif head == "statement ok":
            try:
                connection.execute(statement)
            except Exception as error:
                wrong.append("%s:%d: %s\n  %s" % (path, line, statement, error))
    return asked, named, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expected", required=True)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    in_environment()
    asked = named = 0
    wrong = []
    for path in args.files:
        counts = run(path, args.expected)
        asked, named = asked + counts[0], named + counts[1]
        wrong += counts[2]
    if wrong:
        sys.exit("\n".join(wrong) + "\n%d of %d answers differ without a reason" % (len(wrong), asked))
    print("%d queries: DuckDB gives the recorded answers, except in %d, where the files say why" % (asked, named))


if __name__ == "__main__":
    main()
