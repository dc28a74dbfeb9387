"""What `cargo xtask conform reads` compares of an array besides its cells."""

import base64
import ctypes as C

import capi
import expect
import model
from cases import Rng, pack

# of windows that are drawn from the times of steps
MOST = 4


def facts(reader, uri, case):
    """The schema, metadata and the non-empty domain at some times, in the layout of expect.py."""
    times = sorted({s["t"] for s in case["steps"] if s.get("t")})
    # before each evolution, and at its time
    evolved = sorted({t - k for t in [s["t"] for s in case["steps"] if s["op"] == "evolve" and s.get("t")] for k in (0, 1)})
    chosen = sorted(set(times[:: max(1, len(times) // 3)]) | set(evolved[-2 * MOST:]))
    out = []
    for window in [[None, None]] + [[None, t] for t in chosen] + [[t, None] for t in times[1:2] if t < model.now()]:
        try:
            array = reader.lib.open(uri, capi.READ, window[1], window[0])
            schema = reader.schema(array)
            out.append({"timestamps": window, "schema": whole(reader, array, schema, case), "metadata": reader.metadata(array),
                        "non_empty_domain": reader.non_empty_domain(array, schema)})
            if window == [None, None]:
                out[-1]["extensions"] = extensions(reader, array, out[-1]["schema"], case["name"])
            reader.lib.close(array)
        except capi.TileDBError:
            # what it cannot open, or says nothing about
            continue
    try:
        return out, fragments(reader, uri, case)
    except capi.TileDBError:
        return out, None


def fragments(reader, uri, case):
    """The fragments, dense ones with the number of cells in their non-empty domains: libtiledb counts the cells of whole space tiles."""
    lib = reader.lib
    out = reader.fragments(uri)
    info = lib.new("fragment_info_alloc", uri.encode())
    lib.call("fragment_info_set_config", info, lib.config)
    lib.call("fragment_info_load", info)
    for i, fragment in enumerate(out):
        if not fragment["dense"]:
            continue
        fragment["cell_num"] = 1
        for k, d in enumerate(case["schema"]["dimensions"]):
            size = capi.size_of(d["type"])
            buf = capi.cbytes(bytes(2 * size))
            lib.call("fragment_info_get_non_empty_domain_from_index", info, capi.u32(i), capi.u32(k), buf)
            raw = C.string_at(buf, 2 * size)
            fragment["cell_num"] *= expect.unpack(d["type"], raw[size:]) - expect.unpack(d["type"], raw[:size]) + 1
    lib.dll.tiledb_fragment_info_free(C.byref(info))
    return out


def whole(reader, array, schema, case):
    """The schema with the enumerations that no attribute has, and with what the library says of where labels are."""
    lib = reader.lib
    steps = [e for s in case["steps"] for e in s.get("add_enumerations", [])]
    own = {e["name"]: e for e in schema.get("enumerations", [])}
    for name in {e["name"] for e in case["schema"].get("enumerations", []) + steps} - set(own):
        try:
            own[name] = reader.enumeration(array, name)
        except capi.TileDBError:
            continue
    out = dict(schema, enumerations=[own[name] for name in sorted(own)])
    handle = lib.new("array_get_schema", array)
    labels = []
    for i, label in enumerate(schema.get("dimension_labels", [])):
        h = lib.new("array_schema_get_dimension_label_from_index", handle, C.c_uint64(i))
        labels.append(dict(label, uri=lib.get(C.c_char_p, "dimension_label_get_uri", h).decode()))
    return dict(out, dimension_labels=labels)


def extensions(reader, array, schema, name):
    """Whether the library extends enumerations by some values; the array stays as it is."""
    lib = reader.lib
    rng = Rng("extensions/%s" % name)
    out = []
    for e in schema["enumerations"]:
        var = e["cell_val_num"] == "var"
        size = capi.size_of(e["type"]) * (1 if var else e["cell_val_num"])
        first = first_of(e, size)
        new = [b"\xc3\xa9 new", b"x", b""] if var else [pack("UINT64", [n * 77])[:1] * size for n in (1, 2, 3)]
        if e["type"].startswith("FLOAT"):
            new += [pack(e["type"], [x]) for x in (float("nan"), -0.0, 0.0)]
        # without offsets, it refuses nothing at all as well
        tries = ([] if var else [[]]) + [[rng.pick(new)], rng.sample(new, 2), [rng.pick(new)] * 2] + ([[first], [rng.pick(new), first]] if first is not None else [])
        for values in tries:
            data = b"".join(values)
            starts = [sum(map(len, values[:i])) for i in range(len(values))] if var else []
            offsets = pack("UINT64", starts)
            old = lib.new("array_get_enumeration", array, e["name"].encode())
            try:
                lib.new("enumeration_extend", old, capi.cbytes(data) if data else None, capi.u64(len(data)),
                        capi.cbytes(offsets) if starts else None, capi.u64(len(offsets)))
                refused = None
            except capi.TileDBError as error:
                refused = str(error)
            out.append({"name": e["name"], "values": [v.hex() for v in values], "refused": refused})
    return out


def first_of(e, size):
    """The first value of an enumeration."""
    data = base64.b64decode(e["data"])
    if e["cell_val_num"] != "var":
        return data[:size] if data else None
    if not e.get("offsets"):
        return None
    offsets = base64.b64decode(e["offsets"])
    end = int.from_bytes(offsets[8:16], "little") if len(offsets) > 8 else len(data)
    return data[:end]
