"""Cases for the structures that cases.py does not touch: arrays of mixed eras, labels, groups and what else there is.

cases.py adds them to its own. Besides the steps listed there, groups and key-value objects have steps of their own, which
objects.py executes; such a case has "object": "group" or "kv".
"""

import struct

import limit_cases
import sql_cases
from cases import READER, WORDS, Case, attr, b64, flt, hx, pack, plus, string_type, vt, xy

def eras():
    """Arrays that one release made and others went on with: first release, then the others."""
    return [("1.6.3", ["2.1.6"]), ("1.6.3", ["2.8.2"]), ("1.6.3", ["2.12.3", "2.16.3"]), ("1.6.3", ["2.17.4", READER]),
            ("1.7.7", ["2.0.8", "2.4.3"]), ("1.7.7", ["2.19.2"]), ("2.0.8", ["2.4.3", "2.12.3", READER]),
            ("2.2.9", ["2.3.3", "2.8.2", "2.19.2"]), ("2.8.2", ["2.12.3", "2.17.4", READER]), ("2.16.3", ["2.19.2"])]


def mixed(v):
    out = []
    s = string_type(v)
    for first, later in eras():
        if first != v:
            continue
        name = "eras_" + "_".join(x.replace(".", "") for x in later)
        for dense in ((True, False) if len(later) != 2 else (False,)):
            c = Case(v, name + ("_dense" if dense else ""), ["upgraded", "eras:mixed"], xy((5, 4), (10, 8)),
                     [attr("a", "INT32", filters=[flt("gzip", level=3)]), attr("s", s, "var")], dense=dense,
                     **({} if dense else {"capacity": 4, "coords_filters": [flt("zstd", level=2)]}))
            k = c.coords(8)
            c.dense(10, [[1, 6], [1, 8]], words=WORDS) if dense else c.sparse(10, k, words=WORDS)
            for i, by in enumerate(later):
                c.by = by
                t = 20 + 10 * i
                if dense:
                    c.dense(t, [[4 + i, 10], [3, 5 + i]], words=WORDS)
                else:
                    c.sparse(t, plus(k[i:i + 3], (10, 8)), words=WORDS)
            # 2.30 takes what 2.0 to 2.16 wrote into such an array for unfiltered, and crashes
            if not dense and vt(v) < (2, 0) and any(vt(x) < (2, 17) for x in later):
                c.d["oracle"] = later[-1]
            out.append(c)
    return out


def old_metadata(v):
    """Consolidated fragment and array metadata, and vacuum files, from before their folders."""
    out = []
    c = Case(v, "fragment_meta_old", ["fragment-meta:consolidated"], xy((10, 10), (30, 30)), [attr("a")], dense=False,
             capacity=5)
    k = c.coords(8)
    out.append(c.sparse(10, k).sparse(20, k[:3]).consolidate("fragment_meta"))
    c = Case(v, "vac_old", ["commits:vac", "consolidated"], xy((10, 10), (30, 30)), [attr("a")], dense=False, capacity=5)
    out.append(c.sparse(10, k).sparse(20, k[:3]).consolidate())
    for vacuumed in (False, True):
        c = Case(v, "meta_consolidated" + ("_vacuumed" if vacuumed else ""), ["meta", "meta:consolidated"], xy((5,), (10,)),
                 [attr("a")])
        c.meta(10, [("a", "INT32", [1]), ("b", "INT32", [2])]).meta(20, [("c", "UINT8", [3]), ("n", "INT8", [])], ["b"])
        c.meta(30, [("a", "INT64", [9, 10])]).consolidate("array_meta")
        out.append(c.vacuum("array_meta") if vacuumed else c)
    return out


def deletes(v):
    """Every operator and kind of value in delete conditions; conditions that a consolidation has processed."""
    out = []
    a = [attr("i8", "INT8", profile="small"), attr("u16", "UINT16", profile="small"), attr("i64", "INT64", profile="small"),
         attr("f", "FLOAT32", profile="small"), attr("t", "DATETIME_DAY", profile="small"), attr("s", "STRING_ASCII", "var"),
         attr("n", "STRING_ASCII", "var", nullable=True)]
    c = Case(v, "delete_operators", ["commits:del"], xy((10, 10), (50, 40)), a, dense=False, capacity=7)
    c.sparse(10, c.coords(40), words=WORDS)
    conditions = [["i8", "<", hx("INT8", 3)], ["u16", "<=", hx("UINT16", 5)], ["i64", ">", hx("INT64", 95)],
                  ["f", ">=", hx("FLOAT32", 15.0)], ["t", "==", hx("DATETIME_DAY", 50)], ["s", "==", b"zebra".hex()],
                  ["or", ["s", "==", b"foxtrot".hex()], ["and", ["i8", ">", hx("INT8", 80)], ["x", "<", hx("INT32", 20)]]],
                  ["and", ["n", "==", None], ["i8", "<", hx("INT8", 20)]], ["and", ["s", "!=", b"tile".hex()],
                                                                            ["u16", ">", hx("UINT16", 94)]]]
    if vt(v) >= (2, 17):
        conditions += [["u16", "in", [hx("UINT16", x) for x in (10, 11, 12, 13, 14)]],
                       ["s", "in", [b"brown".hex(), b"Quick".hex(), b"".hex()]],
                       ["and", ["i64", "not-in", [hx("INT64", x) for x in range(20, 90)]], ["f", "<", hx("FLOAT32", 4.0)]],
                       ["not", ["or", ["i8", "<", hx("INT8", 90)], ["y", "<", hx("INT32", 5)]]]]
    for i, condition in enumerate(conditions):
        c.step("delete", t=20 + 2 * i, condition=condition)
    out.append(c)
    for purge in ("false", "true"):
        c = Case(v, "deletes_processed" + ("_purged" if purge == "true" else ""), ["commits:del", "consolidated"],
                 xy((10, 10), (30, 30)), [attr("a", "INT32", profile="small"), attr("s", "STRING_ASCII", "var")],
                 dense=False, capacity=5)
        k = c.coords(14)
        c.sparse(10, k, words=WORDS).step("delete", t=15, condition=["a", "<", hx("INT32", 40)])
        c.sparse(20, k[:6], words=WORDS).step("delete", t=25, condition=["a", ">", hx("INT32", 80)])
        c.sparse(30, k[3:5], words=WORDS)
        c.consolidate(**{"sm.consolidation.purge_deleted_cells": purge})
        out.append(c.vacuum() if purge == "false" else c)
    return out


def chain(v):
    """Several schemas in a row: attributes come, go and come back."""
    c = Case(v, "evolved_chain", ["evolved"], xy((5,), (12,)), [attr("a"), attr("z", "UINT8")], dense=False, t0=10)
    a, z, b, s = c.attrs[0], c.attrs[1], attr("b", "FLOAT64"), attr("s", "STRING_ASCII", "var", nullable=True)
    c.sparse(10, [(i,) for i in range(1, 7)])
    c.step("evolve", t=15, drop=[], add=[b]).sparse(20, [(2,), (7,)], attrs=[a, z, b])
    c.step("evolve", t=25, drop=["z"], add=[s]).sparse(30, [(3,), (8,)], attrs=[a, b, s], words=WORDS)
    c.step("evolve", t=35, drop=["b"], add=[]).sparse(40, [(4,), (9,)], attrs=[a, s], words=WORDS)
    c.step("evolve", t=45, drop=[], add=[z]).sparse(50, [(5,), (10,)], attrs=[a, s, z], words=WORDS)
    return [c]


def labels(v):
    out = []
    for order, kind, values in (
            ("increasing", "INT64", struct.pack("<10q", *range(-20, 80, 10))),
            ("decreasing", "FLOAT32", struct.pack("<10f", *[4.5 - i * 0.5 for i in range(10)])),
            ("increasing", "STRING_ASCII", [b"", b"a", b"b", b"ba", b"c", b"d", b"e", b"f", b"g", b"zz"]),
            ("decreasing", "STRING_ASCII", [b"z", b"y", b"x", b"w", b"v", b"u", b"tt", b"t", b"s", b""])):
        name = "label_%s_%s" % (order, kind.lower())
        c = Case(v, name, ["dimension-label"], xy((5,), (10,)), [attr("a")],
                 dimension_labels=[{"dimension": 0, "name": "l", "order": order, "type": kind}])
        if kind == "STRING_ASCII":
            starts = [sum(map(len, values[:i])) for i in range(10)]
            field = {"data": b64(b"".join(values)), "offsets": b64(struct.pack("<10Q", *starts))}
        else:
            field = {"data": b64(values)}
        out.append(c.dense(10, [[1, 10]], more={"l": field}))
    c = Case(v, "label_two", ["dimension-label"], xy((5, 2), (10, 4)), [attr("a")], dimension_labels=[
        {"dimension": 0, "name": "l", "order": "increasing", "type": "DATETIME_MS"},
        {"dimension": 1, "name": "m", "order": "decreasing", "type": "INT8"}])
    out.append(c.dense(10, [[1, 10], [1, 4]], more={"l": {"data": b64(struct.pack("<10q", *range(10)))},
                                                    "m": {"data": b64(struct.pack("<4b", 3, 2, 0, -1))}}))
    return out


def enumerations(v):
    out = []
    number = lambda name, kind, values, ordered=False: {
        "name": name, "type": kind, "cell_val_num": 1, "ordered": ordered, "data": b64(pack(kind, values))}
    e = [number("i", "INT32", [5, -7, 9]), number("f", "FLOAT64", [0.5, -1.5], True), number("d", "DATETIME_DAY", [1, 400]),
         {"name": "pairs", "type": "UINT8", "cell_val_num": 2, "ordered": False, "data": b64(bytes([1, 2, 3, 4]))},
         {"name": "empty", "type": "INT64", "cell_val_num": 1, "ordered": False, "data": b64(b"")},
         {"name": "none", "type": "STRING_UTF8", "cell_val_num": "var", "ordered": True, "data": b64(b"")},
         {"name": "words", "type": "STRING_UTF8", "cell_val_num": "var", "ordered": True,
          "data": b64("k\u00e4se".encode() + b"brot"), "offsets": b64(struct.pack("<3Q", 0, 5, 5))}]
    a = [attr("a_" + x["name"], "UINT8", nullable=True, enumeration=x["name"]) for x in e]
    c = Case(v, "enumeration_types", ["enumeration"], xy((5,), (10,)), a, enumerations=e)
    f = {x["name"]: {"data": b64(bytes([0, 1] * 5)), "validity": b64(bytes([0 if "empty" in x["name"] or "none" in x["name"]
                                                                           else 1] * 10))} for x in a}
    out.append(c.dense(10, [[1, 10]], more=f))
    if vt(v) >= (2, 19):
        e = [{"name": "e", "type": "STRING_ASCII", "cell_val_num": "var", "ordered": False, "data": b64(b"redblue"),
              "offsets": b64(struct.pack("<2Q", 0, 3))}]
        c = Case(v, "enumeration_extended", ["enumeration", "evolved"], xy((5,), (10,)),
                 [attr("c", "INT8", enumeration="e")], dense=False, enumerations=e, t0=10)
        c.sparse(10, [(1,), (4,)]).d["steps"][-1]["fields"]["c"] = {"data": b64(bytes([0, 1]))}
        for t, word in ((15, b"green"), (25, b"violet")):
            c.step("evolve", t=t, extend_enumerations=[{"name": "e", "data": b64(word), "offsets": b64(struct.pack("<Q", 0))}])
            c.sparse(t + 5, [(t % 4,), (9,)]).d["steps"][-1]["fields"]["c"] = {"data": b64(bytes([2 if t == 15 else 3, 0]))}
        out.append(c)
    return out


def current_domains(v):
    out = []
    for dense in (True, False):
        box = lambda *r: [[hx("INT32", lo), hx("INT32", hi)] for lo, hi in r]
        c = Case(v, "current_domain_expanded_" + ("dense" if dense else "sparse"), ["current-domain", "evolved"],
                 xy((5, 5), (1000, 1000)), [attr("a")], dense=dense, current_domain=box((1, 5), (3, 9)), t0=10)
        c.dense(10, [[1, 5], [3, 9]]) if dense else c.sparse(10, [(1, 3), (5, 9), (2, 4)])
        c.step("evolve", t=15, current_domain=box((1, 8), (1, 9)))
        c.dense(20, [[5, 8], [1, 4]]) if dense else c.sparse(20, [(8, 1), (5, 9)])
        c.step("evolve", t=25, current_domain=box((1, 9), (1, 10)))
        # 2.30 refuses today's box in a window of a smaller domain
        c.d["now_only"] = dense
        out.append(c)
    return out


class Group(Case):
    """A case whose steps make groups; `path` is relative to the outermost one."""

    def __init__(self, version, name, features):
        super().__init__(version, name, features, xy((5,), (10,)), [attr("a")])
        self.d.update(object="group", steps=[{"op": "group_create", "path": ""}], features=["group"] + features)

    def group(self, path):
        return self.step("group_create", path=path)

    def array(self, path):
        return self.step("array_create", path=path)

    def change(self, t, path="", add=(), remove=(), puts=(), deletes=()):
        """Adds members (uri, relative, name or None), removes some by name or uri, changes metadata."""
        return self.step("group_change", t=t, path=path, members=[list(m) for m in add], remove=list(remove), deletes=list(deletes),
                         puts=[{"key": k, "type": d, "num": len(x), "value": b64(pack(d, x))} for k, d, x in puts])


def nullable_global(v):
    """2.2 lists more tiles than there are when it writes nullable attributes in global order."""
    c = Case(v, "dense_global_nullable", ["nullable", "write:global"], xy((3,), (12,)),
             [attr("a", nullable=True), attr("s", "STRING_ASCII", "var", nullable=True), attr("b", "UINT8")])
    return [c.dense(10, [[1, 12]], "global-order", words=WORDS).dense(20, [[4, 8]])]


def groups(v):
    out = [Group(v, "group_empty", [])]
    if vt(v) < (2, 8):
        return out
    c = Group(v, "group_flat", ["members:relative"])
    c.array("first").array("second").group("inner")
    c.change(10, add=[("first", True, "one"), ("second", True, None), ("inner", True, "deeper")],
             puts=[("k", "INT32", [1, 2]), ("text", "STRING_UTF8", list("gr\u00fcn".encode()))])
    out.append(c)
    c = Group(v, "group_nested", ["members:nested"])
    c.group("a").group("a/b").array("a/b/leaf").array("a/leaf")
    c.change(10, "a/b", add=[("leaf", True, "leaf")], puts=[("depth", "UINT8", [2])])
    c.change(20, "a", add=[("b", True, "b"), ("leaf", True, "leaf")], puts=[("depth", "UINT8", [1])])
    out.append(c.change(30, add=[("a", True, "a")], puts=[("depth", "UINT8", [0])]))
    c = Group(v, "group_absolute", ["members:absolute"])
    c.array("inside")
    out.append(c.change(10, add=[("inside", False, "far")]))
    c = Group(v, "group_removed", ["members:removed"])
    c.array("one").array("two").array("three")
    c.change(10, add=[("one", True, "one"), ("two", True, "two"), ("three", True, "three")])
    c.change(20, remove=["two"], puts=[("k", "INT32", [1])])
    c.change(30, add=[("two", True, "again")], remove=["one"], deletes=["k"], puts=[("n", "FLOAT64", [0.5])])
    out.append(c)
    if vt(v) >= (2, 10):
        for vacuumed in (False, True):
            c = Group(v, "group_meta_" + ("vacuumed" if vacuumed else "consolidated"), ["meta", "meta:consolidated"])
            c.change(10, puts=[("a", "INT32", [1]), ("b", "INT32", [2])]).change(20, puts=[("c", "UINT8", [3])], deletes=["b"])
            c.step("group_consolidate", path="")
            out.append(c.step("group_vacuum", path="") if vacuumed else c)
    return out


def key_values(v):
    c = Case(v, "key_value", ["key-value"], xy((5,), (10,)), [attr("a"), attr("s", "CHAR", "var")])
    c.d.update(object="kv", steps=[{"op": "kv", "items": [["one", 1, "uno"], ["two", 2, "dos"]]}], features=["key-value"])
    return [c]


def cases(v):
    out = mixed(v)
    if v in ("2.0.8", "2.3.3", "2.4.3"):
        out += old_metadata(v)
    if v == "2.2.9":
        out += nullable_global(v)
    if v in ("2.12.3", "2.17.4", READER):
        out += deletes(v)
    if v in ("2.4.3", "2.12.3", "2.19.2", READER):
        out += chain(v)
    if v in ("2.15.4", "2.19.2", READER):
        out += labels(v)
    if v in ("2.19.2", READER):
        out += enumerations(v)
    if v == READER:
        out += current_domains(v) + sql_cases.cases(v)
    if v in ("1.6.3", "2.4.3", "2.8.2", "2.10.4", "2.12.3", "2.19.2", READER):
        out += groups(v)
    if v == "1.6.3":
        out += key_values(v)
    return out + limit_cases.cases(v)
