"""Steps that leave an array as a program does that stopped half way, and writes of dimension labels alone.

    {"op": "interrupt", "kind", "salt"}      what a vacuum or a consolidation leaves that did not end: see KINDS
    {"op": "label", "t", "name", "dimension", "fields": {name: field}}    the labels of a whole dimension

write.py executes them. Which files are chosen follows from the salt and the order of their names.
"""

import base64
import ctypes as C
import os
import re
import shutil
import struct

import capi
from cases import Rng, b64

# a fragment's folder, in all versions
FRAGMENT = re.compile(r"__\d+_\d+_[0-9a-f]{32}(_\d+)?")


def run(lib, uri, case, step):
    """Executes a step if it is one of these; says whether it was."""
    if step["op"] == "label":
        write_label(lib, uri, case, step)
    elif step["op"] == "interrupt":
        KINDS[step["kind"]](uri, Rng("interrupt/%d" % step["salt"]))
    else:
        return False
    return True


# -- files ---------------------------------------------------------------------------------------------------------------


def folder(uri, name):
    """Where commits or fragments are: in a folder of their own, or in the array's up to 2.7."""
    own = os.path.join(uri, name)
    return own if os.path.isdir(own) else uri


def named(where, suffix):
    return sorted(os.path.join(where, n) for n in os.listdir(where) if n.endswith(suffix))


def replaced(uri):
    """The fragments that vacuum files name, in an order that does not depend on the random part of their names."""
    out = []
    for path in named(folder(uri, "__commits"), ".vac"):
        with open(path) as handle:
            out += [os.path.basename(line.strip().rstrip("/")) for line in handle if line.strip()]
    out = [re.sub(r"\.(wrt|ok)$", "", n) for n in out]
    return sorted(set(n for n in out if FRAGMENT.fullmatch(n)))


def remove_commit(uri, fragment):
    for where in {uri, folder(uri, "__commits")}:
        for suffix in (".wrt", ".ok"):
            path = os.path.join(where, fragment + suffix)
            if os.path.exists(path):
                os.remove(path)


def of_fragment(uri, fragment):
    return os.path.join(folder(uri, "__fragments"), fragment)


def listed(uri):
    """Whether some commits are in a list; a vacuum then writes another list before it removes anything."""
    return bool(named(folder(uri, "__commits"), ".con"))


# -- what stops half way ---------------------------------------------------------------------------------------------------


def some_commits(uri, rng):
    """A vacuum has removed some commit files."""
    gone = [] if listed(uri) else replaced(uri)
    for name in rng.sample(gone, rng.between(1, max(1, len(gone)))):
        remove_commit(uri, name)


def some_folders(uri, rng):
    """A vacuum has removed all commit files, and some folders, one of which it has begun."""
    gone = [] if listed(uri) else replaced(uri)
    for name in gone:
        remove_commit(uri, name)
    gone = [n for n in rng.sample(gone, rng.between(1, max(1, len(gone)))) if os.path.isdir(of_fragment(uri, n))]
    for k, name in enumerate(gone):
        path = of_fragment(uri, name)
        if k:
            shutil.rmtree(path)
        else:
            for own in sorted(os.listdir(path))[::rng.pick([1, 2])]:
                os.remove(os.path.join(path, own))


def vacuum_file(uri, rng):
    """A vacuum has removed all but its vacuum files."""
    for name in [] if listed(uri) else replaced(uri):
        remove_commit(uri, name)
        shutil.rmtree(of_fragment(uri, name), ignore_errors=True)


def unlisted(uri, rng):
    """A consolidation has committed its fragment, and not written what it replaces."""
    for path in named(folder(uri, "__commits"), ".vac"):
        os.remove(path)


def torn(uri, rng):
    """A write has made a part of its files, and no commit."""
    where = folder(uri, "__fragments")
    names = sorted(n for n in os.listdir(where) if FRAGMENT.fullmatch(n) and os.path.isdir(os.path.join(where, n)))
    if not names:
        return
    old = rng.pick(names)
    new = re.sub(r"[0-9a-f]{32}", lambda m: m.group()[::-1], old)
    if new == old:
        return
    shutil.copytree(os.path.join(where, old), os.path.join(where, new))
    for own in sorted(os.listdir(os.path.join(where, new))):
        if rng.below(2):
            os.remove(os.path.join(where, new, own))


KINDS = {"commits": some_commits, "folders": some_folders, "vacuum file": vacuum_file, "unlisted": unlisted, "torn": torn}


# -- writes ----------------------------------------------------------------------------------------------------------------


def parts(step):
    """The fields of a write in global order, cut at some cells: one dict for each part."""
    out, ends = [], step["parts"]
    for start, end in zip([0] + ends, ends):
        cut = {}
        for name, f in step["fields"].items():
            data = base64.b64decode(f["data"])
            if "offsets" in f:
                starts = base64.b64decode(f["offsets"])
                starts = list(struct.unpack("<%dQ" % (len(starts) // 8), starts)) + [len(data)]
                cut[name] = {"data": b64(data[starts[start]:starts[end]]),
                             "offsets": b64(struct.pack("<%dQ" % (end - start), *(s - starts[start] for s in starts[start:end])))}
            else:
                size = len(data) // ends[-1]
                cut[name] = {"data": b64(data[start * size:end * size])}
            if "validity" in f:
                cut[name]["validity"] = b64(base64.b64decode(f["validity"])[start:end])
        out.append(cut)
    return out


# -- labels ----------------------------------------------------------------------------------------------------------------


def write_label(lib, uri, case, step):
    """Labels are in an array of their own, which has one dense dimension."""
    schema = lib.open(uri, capi.READ)
    handle = lib.new("array_get_schema", schema)
    label = lib.new("array_schema_get_dimension_label_from_name", handle, step["name"].encode())
    place = lib.get(C.c_char_p, "dimension_label_get_uri", label).decode()
    attribute = lib.get(C.c_char_p, "dimension_label_get_label_attr_name", label).decode()
    lib.close(schema)
    if "://" not in place and not os.path.isabs(place):
        place = os.path.join(uri, place)
    array = lib.open(place, capi.WRITE, step["t"])
    query = lib.new("query_alloc", array, capi.WRITE)
    lib.call("query_set_layout", query, capi.LAYOUTS["row-major"])
    d = case["schema"]["dimensions"][step["dimension"]]
    lib.set_box(array, query, [(bytes.fromhex(d["domain"][0]), bytes.fromhex(d["domain"][1]), False)])
    f = step["fields"][step["name"]]
    data = base64.b64decode(f["data"])
    offsets = base64.b64decode(f["offsets"]) if "offsets" in f else None
    keep = [capi.cbytes(data), C.c_uint64(len(data)), None, None]
    if offsets is not None:
        keep[2:] = [capi.cbytes(offsets), C.c_uint64(len(offsets))]
    lib.set_buffers(query, attribute, *keep)
    lib.call("query_submit", query)
    lib.dll.tiledb_query_free(C.byref(query))
    lib.close(array)
