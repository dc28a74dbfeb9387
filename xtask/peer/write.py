"""Writes the arrays of a file of cases with one library.

    python3 write.py --lib LIBTILEDB.so --case CASES.json --out DIR [--by writer|reader|VERSION] [--only SUBSTRING]

CASES.json is one case or a list of cases (see cases.py). Every array becomes DIR/<name>. Steps carry "by": those of the
other party are skipped, so that a second run with another library can continue an array.
"""

import argparse
import base64
import ctypes as C
import json
import os
import re
import shutil
import sys
import time

import capi
import objects
import states


def b64(text):
    return base64.b64decode(text)


def write_cells(lib, uri, case, step):
    schema = step.get("schema") or case["schema"]
    dims = schema["dimensions"]
    fields = step["fields"]
    array = lib.open(uri, capi.WRITE, step.get("t"))
    query = lib.new("query_alloc", array, capi.WRITE)
    lib.call("query_set_layout", query, capi.LAYOUTS[step["layout"]])
    if step.get("subarray"):
        box = [None if r is None else (bytes.fromhex(r[0]), bytes.fromhex(r[1]), False) for r in step["subarray"]]
        lib.set_box(array, query, box)
    keep = []

    def attach(name, data, offsets=None, validity=None):
        bufs = [capi.cbytes(data), C.c_uint64(len(data)), None, None, None, None]
        if offsets is not None:
            bufs[2], bufs[3] = capi.cbytes(offsets), C.c_uint64(len(offsets))
        if validity is not None:
            bufs[4], bufs[5] = capi.cbytes(validity), C.c_uint64(len(validity))
        keep.append(bufs)
        lib.set_buffers(query, name, *bufs)

    names = list(fields)
    if lib.version < (2, 0) and dims[0]["name"] in fields:
        columns = [(b64(fields[d["name"]]["data"]), capi.size_of(d["type"])) for d in dims]
        count = len(columns[0][0]) // columns[0][1]
        zipped = b"".join(c[i * s:(i + 1) * s] for i in range(count) for c, s in columns)
        attach("__coords", zipped)
        names = [n for n in names if n not in {d["name"] for d in dims}]
    groups = [names]
    if step.get("apart"):
        # coordinates first, then one attribute after another
        lib.call("query_set_config", query, lib.make_config(dict(lib.base, **{"sm.allow_separate_attribute_writes": "true"})))
        own = [d["name"] for d in dims]
        groups = [own] + [[n] for n in names if n not in own]
    for group, fields in [(g, fields) for g in groups] if not step.get("parts") else [(names, p) for p in states.parts(step)]:
        for name in group:
            f = fields[name]
            attach(name, b64(f["data"]),
                   b64(f["offsets"]) if "offsets" in f else None, b64(f["validity"]) if "validity" in f else None)
        lib.call("query_submit", query)
    if step["layout"] == "global-order" or step.get("apart"):
        lib.call("query_finalize", query)
    status = C.c_int()
    lib.call("query_get_status", query, C.byref(status))
    if status.value != 1:
        raise capi.TileDBError("write did not complete: status %d" % status.value)
    lib.dll.tiledb_query_free(C.byref(query))
    lib.close(array)


def listing(uri):
    """Entries of an array's folder and of its metadata folder."""
    if "://" in uri:  # only releases that need no renaming write to stores
        return set()
    meta = os.path.join(uri, "__meta")
    return set(os.listdir(uri)) | {os.path.join("__meta", n) for n in (os.listdir(meta) if os.path.isdir(meta) else [])}


def rename_new(uri, before, t):
    """Releases before 2.3 name what they write by the clock only: give the new objects the step's timestamp."""
    for name in listing(uri) - before:
        m = re.fullmatch(r"(__meta/)?__(\d+)_(\d+)_([0-9a-f]{32})(_\d+)?(\.ok)?", name)
        if m and (int(m.group(2)), int(m.group(3))) != (t, t):
            new = "%s__%d_%d_%s%s%s" % (m.group(1) or "", t, t, m.group(4), m.group(5) or "", m.group(6) or "")
            os.rename(os.path.join(uri, name), os.path.join(uri, new))


def put_metadata(lib, uri, step):
    array = lib.open(uri, capi.WRITE, step.get("t"))
    for m in step.get("puts", []):
        data = b64(m["value"])
        lib.call("array_put_metadata", array, m["key"].encode(), capi.DT[m["type"]], capi.u32(m["num"]),
                 capi.cbytes(data) if m["num"] else None)
    for key in step.get("deletes", []):
        lib.call("array_delete_metadata", array, key.encode())
    lib.close(array)


def extend_enumeration(lib, uri, evolution, e):
    """Adds values to an enumeration of the newest schema."""
    array = lib.open(uri, capi.READ)
    old = lib.new("array_get_enumeration", array, e["name"].encode())
    data, offsets = b64(e["data"]), b64(e["offsets"]) if e.get("offsets") else None
    new = lib.new("enumeration_extend", old, capi.cbytes(data), capi.u64(len(data)),
                  capi.cbytes(offsets) if offsets is not None else None, capi.u64(len(offsets or b"")))
    lib.close(array)
    lib.call("array_schema_evolution_extend_enumeration", evolution, new)


def run_step(lib, uri, case, step):
    op = step["op"]
    before = listing(uri) if op in ("write", "meta") else None
    if objects.run(lib, uri, case, step) or states.run(lib, uri, case, step):
        pass
    elif op == "create":
        lib.create(uri, lib.schema(case["schema"], step.get("t")))
    elif op == "write":
        write_cells(lib, uri, case, step)
    elif op == "meta":
        put_metadata(lib, uri, step)
    elif op == "consolidate":
        lib.consolidate(uri, step.get("config", {}))
    elif op == "vacuum":
        if lib.version >= (2, 0):
            lib.vacuum(uri, step.get("config", {}))
    elif op == "delete":
        array = lib.open(uri, capi.DELETE, step["t"])
        query = lib.new("query_alloc", array, capi.DELETE)
        lib.call("query_set_condition", query, lib.condition(step["condition"]))
        lib.call("query_submit", query)
        lib.dll.tiledb_query_free(C.byref(query))
        lib.close(array)
    elif op == "delete_fragments":
        lib.call("array_delete_fragments_v2", uri.encode(), capi.u64(step["first"]), capi.u64(step["last"]))
    elif op == "evolve":
        evo = lib.new("array_schema_evolution_alloc")
        for e in step.get("add_enumerations", []):
            lib.call("array_schema_evolution_add_enumeration", evo, lib.enumeration(e))
        for name in step.get("drop", []):
            lib.call("array_schema_evolution_drop_attribute", evo, name.encode())
        for name in step.get("drop_enumerations", []):
            lib.call("array_schema_evolution_drop_enumeration", evo, name.encode())
        for e in step.get("extend_enumerations", []):
            extend_enumeration(lib, uri, evo, e)
        if step.get("current_domain"):
            lib.call("array_schema_evolution_expand_current_domain", evo,
                     lib.current_domain(lib.domain(case["schema"]), step["current_domain"]))
        for a in step.get("add", []):
            lib.call("array_schema_evolution_add_attribute", evo, lib.attribute(a))
        time.sleep(0.02)
        if step.get("t") is not None and lib.has("tiledb_array_schema_evolution_set_timestamp_range") and (
                lib.has("tiledb_array_schema_alloc_at_timestamp")):
            lib.call("array_schema_evolution_set_timestamp_range", evo, capi.u64(step["t"]), capi.u64(step["t"]))
        lib.call("array_evolve", uri.encode(), evo)
    elif op == "upgrade":
        lib.call("array_upgrade_version", uri.encode(), lib.config)
    else:
        raise ValueError("unknown step " + op)
    if before is not None and step.get("t") is not None and not lib.has("tiledb_array_set_open_timestamp_end"):
        rename_new(uri, before, step["t"])


def run_case(lib, case, out, by):
    uri = os.path.join(out, case["name"])
    if lib.key != case.get("key"):
        lib.set_key(case.get("key"))
    if by == "writer":
        shutil.rmtree(uri, ignore_errors=True)
    for step in case["steps"]:
        if step.get("by", "writer") == by:
            run_step(lib, uri, case, step)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lib", required=True)
    parser.add_argument("--case", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--by", default="writer")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    with open(args.case) as handle:
        cases = json.load(handle)
    cases = cases if isinstance(cases, list) else [cases]
    os.makedirs(args.out, exist_ok=True)
    lib = capi.Lib(args.lib)
    failed = 0
    for case in cases:
        if args.only not in case["id"]:
            continue
        if args.by != "writer" and not any(s.get("by", "writer") == args.by for s in case["steps"]):
            continue
        if os.environ.get("TDB_PEER_TRACE"):
            print("writing " + case["id"], file=sys.stderr, flush=True)
        try:
            run_case(lib, case, os.path.abspath(args.out), args.by)
        except capi.TileDBError as error:
            failed += 1
            shutil.rmtree(os.path.join(args.out, case["name"]), ignore_errors=True)
            print("REFUSED %s: %s" % (case["id"], error), file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
