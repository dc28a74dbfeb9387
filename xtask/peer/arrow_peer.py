"""The other side of `cargo xtask conform arrow`: libtiledb reads arrays, pyarrow and DuckDB read files, pyarrow writes files.

    python3 arrow_peer.py --lib LIBTILEDB.so --batch DIR --arrays DIR --op read [--skip N]

DIR/cases.json is a list of jobs (xtask/src/conform/arrow.rs), each about one array that libtiledb wrote, its `original`:

    "do": "files"     `copy` is the array that tdb made of its record batches, `parquet` and `arrow` are the files that tdb exported.
                      All are compared with the cells of the original; then pyarrow writes `variants` of the file into `folder`.
    "do": "imported"  `arrays` are those that tdb made of the variants.
    "do": "refused"   writes files that no array can hold into `folder`.
    "do": "write_kept", "kept"   writes files whose columns become others into `folder`, and compares what was exported.

Each is answered with a line of JSON, as in conform_peer.py. Of an answer "equal", "what" names the rules of arrow_cells.py that were
needed; "refused" means that the original proves nothing, and says why.
"""

import collections
import glob
import itertools
import os
import sys
import traceback

import batches
import capi
import expect
import fetch

sys.path += glob.glob(os.path.join(fetch.cache(), "arrow", "lib", "python3*", "site-packages"))

import duckdb  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

import arrow_cells  # noqa: E402
import arrow_files  # noqa: E402
from arrow_cells import Differs  # noqa: E402

expect.BUFFER = 1 << 21
# A schema has filters of dimensions from version 5 on (docs/tables/gates.md); libtiledb reports none of older ones, and of new ones
# without filters of their own those of the coordinates, by which both are stored.
OLD_DIMENSIONS = "before version 5, dimensions have the filters of coordinates"


def fields_of(schema):
    return schema["dimensions"] + schema["attributes"]


class Cells:
    """What libtiledb reads of an array: the schema, and a column of each dimension and attribute."""

    def __init__(self, lib, uri, box=None, layout="row-major", key=None):
        if lib.key != key:
            lib.set_key(key)
        reader = expect.Reader(lib)
        array = lib.open(uri, capi.READ)
        self.schema = reader.schema(array)
        self.sparse = self.schema["array_type"] == "sparse"
        count, fields = reader.query(array, self.schema, "row-major" if self.sparse else layout, None if self.sparse else box)
        lib.close(array)
        self.fields = fields
        self.columns = {n: expect.nulls(reader, e, count) for n, e in fields.items()}
        if not self.sparse:
            self.columns = dict(self.coordinates(box, layout), **self.columns)
        known = {e["name"]: e for e in self.schema.get("enumerations", [])}
        self.enumerations = {a["name"]: known[a["enumeration"]] for a in self.schema["attributes"] if a.get("enumeration")}

    def coordinates(self, box, layout):
        """Those of a dense box, in the order of its cells."""
        dims = self.schema["dimensions"]
        sides = []
        for (lo, hi), d in zip(box, dims):
            lo, hi = (expect.unpack(d["type"], bytes.fromhex(x)) for x in (lo, hi))
            sides.append([expect.pack(d["type"], v) for v in range(lo, hi + 1)])
        turned = layout == "col-major"
        places = itertools.product(*(sides[::-1] if turned else sides))
        columns = list(zip(*places))
        return {d["name"]: list(c) for d, c in zip(dims, columns[::-1] if turned else columns)}

    def values(self, name):
        """The values of an enumeration, as bytes."""
        entry = self.enumerations[name]
        data = expect.base64.b64decode(entry["data"])
        told = {"data": data, "type": entry["type"], "cell_val_num": entry["cell_val_num"]}
        if entry["cell_val_num"] == "var":
            told["offsets"] = expect.base64.b64decode(entry.get("offsets", ""))
            count = len(told["offsets"]) // 8
        else:
            count = len(data) // (capi.size_of(entry["type"]) * entry["cell_val_num"])
        return expect.Reader(None).cells_of(told, count)

    def shown(self, name, datatype):
        """A column with values in the place of an enumeration's numbers."""
        cells = self.columns[name]
        return arrow_cells.enumerated(cells, datatype, self.values(name)) if name in self.enumerations else cells


def same(wanted, found, sparse, what):
    """Compares columns cell by cell, in any order if the array is sparse."""
    if list(wanted) != list(found):
        raise Differs("%s: columns %s instead of %s" % (what, list(found), list(wanted)))
    if sparse:
        more, less = (collections.Counter(zip(*columns.values())) for columns in (found, wanted))
        if more != less:
            more, less = list((more - less).elements()), list((less - more).elements())
            raise Differs("%s: %d cells that should not be there, %d that are not; %s, %s" % (
                what, len(more), len(less), more[:1], less[:1]))
        return
    for name, cells in wanted.items():
        if found[name] != cells:
            if len(found[name]) != len(cells):
                raise Differs("%s: %d cells of %s instead of %d" % (what, len(found[name]), name, len(cells)))
            at = next(i for i, (a, b) in enumerate(zip(found[name], cells)) if a != b)
            raise Differs("%s: cell %d of %s is %r instead of %r" % (what, at, name, found[name][at], cells[at]))


def same_schema(wanted, found, what, used):
    """Compares schemas as libtiledb describes them; the new one is of the present version."""
    wanted, found = dict(wanted), dict(found)
    found.pop("version")
    if wanted.pop("version") < 5:
        used.add(OLD_DIMENSIONS)
        wanted["dimensions"] = [dict(d, filters=wanted["coords_filters"]) for d in wanted["dimensions"]]
    old = [dict(a, name="") if a["name"] == "__attr" else a for a in wanted["attributes"]]
    wanted["attributes"] = old
    for key in sorted(set(wanted) | set(found)):
        if wanted.get(key) != found.get(key):
            raise Differs("%s: %s is %r instead of %r" % (what, key, found.get(key), wanted.get(key)))


def todays(columns):
    """Columns with the names that they have in a new array."""
    return {"" if n == "__attr" else n: c for n, c in columns.items()}


def table_cells(table, fields):
    return {f["name"]: arrow_cells.cells_of(c, f["type"]) for f, c in zip(fields, table.columns)}


def told_fields(original, as_stored):
    """The fields with the datatypes of the values that a file has."""
    out = []
    for f in fields_of(original.schema):
        e = None if as_stored else original.enumerations.get(f["name"])
        out.append(dict(f, type=e["type"], cell_val_num=e["cell_val_num"]) if e else f)
    return out


def by_pyarrow(path, original, job, used):
    """The table that pyarrow reads from a file that tdb wrote."""
    parquet = path.endswith(".parquet")
    table = pq.read_table(path) if parquet else pa.ipc.open_file(path).read_all()
    as_stored, what = job["as_stored"], "pyarrow, " + path.rsplit(".", 1)[1]
    for f, field in zip(fields_of(original.schema), table.schema):
        e = original.enumerations.get(f["name"])
        wanted = arrow_cells.column_type(f, e, as_stored)
        wanted = arrow_cells.pyarrow_type(wanted, used) if parquet else wanted
        nullable = bool(f.get("nullable") or e and not as_stored)
        if (field.name, field.type, field.nullable) != (f["name"], wanted, nullable):
            raise Differs("%s: column %s instead of %s: %s, %s" % (what, field, f["name"], wanted, nullable))
    compare_table(table, original, as_stored, what)
    return table


def compare_table(table, original, as_stored, what):
    fields = fields_of(original.schema)
    if table.num_columns != len(fields):
        raise Differs("%s: %d columns instead of %d" % (what, table.num_columns, len(fields)))
    wanted = {f["name"]: original.columns[f["name"]] if as_stored else original.shown(f["name"], f["type"]) for f in fields}
    same(wanted, table_cells(table, told_fields(original, as_stored)), original.sparse, what)


def by_duckdb(path, table, original, job, used):
    """DuckDB on the same file, compared with pyarrow's table position by position."""
    told = told_fields(original, job["as_stored"])
    columns = table_cells(table, told)
    far = [i for i, f in enumerate(told) if arrow_cells.too_far(columns[f["name"]], f["type"])]
    connection = duckdb.connect(config={"threads": 1})
    query = "SELECT %s FROM read_parquet('" + path.replace("'", "''") + "')"
    names = [row[0] for row in connection.execute("DESCRIBE " + query % "*").fetchall()]
    quoted = ['"%s"' % name.replace('"', '""') for name in names]
    read = lambda chosen: connection.sql(query % ", ".join(quoted[i] for i in chosen)).to_arrow_table()
    for i in far:
        try:
            read([i])
        except duckdb.Error:
            used.add(arrow_cells.FAR_MILLISECONDS)
        else:
            raise Differs("DuckDB: %s can be read after all" % told[i]["name"])
    chosen = [i for i in range(len(told)) if i not in far]
    if len(names) != len(told):
        raise Differs("DuckDB: %d columns instead of %d" % (len(names), len(told)))
    if not chosen:
        return
    found = read(chosen)
    for i, field in zip(chosen, found.schema):
        wanted = arrow_cells.duckdb_type(table.schema.field(i).type, used)
        if field.type != wanted:
            raise Differs("DuckDB: column %s instead of %s" % (field, wanted))
    for i, column in zip(chosen, found.columns):
        f = told[i]
        wanted = arrow_cells.duckdb_wanted(columns[f["name"]], f["type"], used)
        same({f["name"]: wanted}, {f["name"]: arrow_cells.cells_of(column, f["type"])}, False, "DuckDB")


def misread(job, original):
    """Why libtiledb's reading of a random array is not what was written, if that is known."""
    if "seed" not in job:
        return None
    import model
    import reads_cases
    told = model.Model(reads_cases.array(job["seed"], job["case"]))
    schema = original.schema
    ranges = [[] for _ in schema["dimensions"]] if original.sparse else [[r] for r in job["box"]]
    query = {"ranges": ranges, "layout": "row-major" if original.sparse else job["layout"], "timestamps": [None, None],
             "names": None, "condition": None}
    right = told.whole_answer(schema, query)
    if right and model.differs(schema, query, right[0], original.columns, list(original.fields)):
        return "libtiledb does not return what was written: " + (", ".join(model.rules(told, schema, query)) or "no rule says why")
    return None


def files(lib, job):
    try:
        original = Cells(lib, job["original"], job["box"], job["layout"], job["key"])
        why = misread(job, original)
    except capi.TileDBError as error:
        if "seed" not in job:
            raise
        why = "libtiledb does not read what it wrote: %s" % error
    if why:
        return {"outcome": "refused", "what": why}
    copy = Cells(lib, job["copy"], job["box"], job["layout"])
    used = set()
    same_schema(original.schema, copy.schema, "libtiledb, copy", used)
    same(todays(original.columns), copy.columns, original.sparse, "libtiledb, copy")
    table = by_pyarrow(job["parquet"], original, job, used)
    by_duckdb(job["parquet"], table, original, job, used)
    stored = by_pyarrow(job["arrow"], original, job, used)
    for name in job["variants"]:
        if not arrow_files.write(name, stored, job["folder"]):
            used.add(arrow_cells.NO_SECONDS)
    return {"outcome": "equal", "what": "\n".join(sorted(used))}


def imported(lib, job):
    original = Cells(lib, job["original"], job["box"], job["layout"], job["key"])
    stored = pa.ipc.open_file(job["arrow"]).read_all()
    for name, uri in job["arrays"].items():
        what = "libtiledb, " + name
        if name in arrow_files.KEPT:
            copy = Cells(lib, uri, job["box"], job["layout"])
            same_schema(original.schema, copy.schema, what, set())
            same(todays(original.columns), copy.columns, original.sparse, what)
        else:
            table = arrow_files.VARIANTS[name][0](stored)
            bare(lib, uri, arrow_files.as_parquet(table) if "parquet" in name else table, original, job, what)
    return {"outcome": "equal", "what": ""}


def bare(lib, uri, table, original, job, what):
    """An array that tdb made of a file without metadata: a dimension numbers the rows, or some columns are coordinates."""
    copy = Cells(lib, uri)
    fields = {f["name"]: f for f in fields_of(copy.schema)}
    told = {}
    for f, column in zip(told_fields(original, job["as_stored"]), table.columns):
        told[f["name"]] = arrow_cells.cells_of(column, f["type"])
        kind, count = arrow_files.inferred(column.type)
        dimension = f["name"] in [d["name"] for d in copy.schema["dimensions"]]
        # coordinates of variable length are text
        wanted = ("STRING_ASCII", "var") if dimension and count == "var" else (kind, count)
        made = fields.get(f["name"])
        if made is None or (made["type"], made["cell_val_num"]) != wanted:
            raise Differs("%s: field %s is %s instead of %s" % (what, f["name"], made, wanted))
    numbered = [d["name"] for d in copy.schema["dimensions"] if d["name"] not in told]
    found = {n: copy.columns[n] for n in told}
    if numbered and len(copy.schema["dimensions"]) != 1:
        raise Differs("%s: dimensions %s" % (what, copy.schema["dimensions"]))
    same(told, found, not numbered, what)


def answer(lib, op, arrays, job, blob):
    try:
        if job["do"] == "files":
            return files(lib, job)
        if job["do"] == "imported":
            return imported(lib, job)
        if job["do"] == "kept":
            why = arrow_files.differs_from_kept(job["folder"])
            if why:
                raise Differs(why)
        elif job["do"] == "write_kept":
            arrow_files.write_kept(job["folder"])
        else:
            arrow_files.write_refused(job["folder"])
        return {"outcome": "equal", "what": ""}
    except (Differs, capi.TileDBError, pa.ArrowException, duckdb.Error) as error:
        return {"outcome": "differs", "what": "%s: %s" % (type(error).__name__, error)}
    except Exception:
        # a mistake of this script, which is told as one
        return {"outcome": "differs", "what": traceback.format_exc()}


if __name__ == "__main__":
    batches.main(__doc__, answer)
