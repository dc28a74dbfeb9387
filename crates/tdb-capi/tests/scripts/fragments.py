"""Fragments of arrays: what is known of them, consolidation, vacuum, removal. The working folder is empty.

With the argument `write` the arrays are made and nothing else is done; with `show` they are there already.
"""

import os
import re
import sys

import numpy as np
import tiledb

here = "file://" + os.getcwd()
what = sys.argv[1:] or ["write", "show"]


def attempt(call):
    try:
        print(call())
    except Exception as error:
        print(type(error).__name__)


def plain(text):
    """Without the folder, and with the same letters for all unique names."""
    text = re.sub(r"_[0-9a-f]{32}", "_ID", str(text).replace(here, "HERE"))
    return re.sub(r"(?<![0-9])1[78][0-9]{11}", "NOW", text)


def write(uri, time, cells):
    with tiledb.open(uri, "w", timestamp=time) as array:
        cells(array)


def make(uri, dims, attrs, sparse, time=1, **rest):
    schema = tiledb.ArraySchema(tiledb.Domain(*dims), attrs, sparse=sparse, **rest)
    tiledb.Array.create(uri, schema)


def dims(*domains, dtype="i4", tile=4):
    return [tiledb.Dim("xyz"[at], domain=domain, tile=tile, dtype=dtype) for at, domain in enumerate(domains)]


def set_box(low, high, value):
    def cells(array):
        array[low[0] : high[0], low[1] : high[1]] = np.full((high[0] - low[0], high[1] - low[1]), value)

    return cells


def set_cells(*coords, **values):
    def cells(array):
        array[coords if len(coords) > 1 else coords[0]] = values

    return cells


def arrays():
    one = [tiledb.Attr("a", dtype="i4")]
    make("dense", dims((1, 10), (1, 10)), one, False)
    for time, low, high in [(10, (1, 1), (4, 4)), (20, (3, 3), (9, 7)), (30, (5, 5), (11, 11)), (40, (1, 1), (11, 11))]:
        write("dense", time, set_box(low, high, time))
    make("sparse", dims((0, 99), (-5, 5)), one + [tiledb.Attr("t", dtype="U", var=True)], True, capacity=2)
    for time in [10, 20, 30]:
        x = np.array([time, time + 1, 50, 7, 8])
        text = np.array(["b" * at for at in range(1, 6)], dtype="U")
        write("sparse", time, set_cells(x, x % 10 - 5, a=x.astype("i4") * time, t=text))
    strings = [tiledb.Dim("s", domain=(None, None), tile=None, dtype="ascii"), tiledb.Dim("f", domain=(-1.5, 2.5), tile=1.0, dtype="f8")]
    make("strings", strings, one, True, capacity=2, allows_duplicates=True)
    for time in [10, 20]:
        names = np.array(["aa", "b", "cc" * time, ""], dtype="S")
        write("strings", time, set_cells(names, np.array([0.5, -1.5, 2.25, 1e-7]), a=np.arange(4, dtype="i4")))
    make("dates", [tiledb.Dim("d", domain=(np.datetime64("2000-01-01"), np.datetime64("2020-01-01")), tile=np.timedelta64(30, "D"), dtype="datetime64[D]")], one, True)
    days = np.array(["2001-02-03", "2010-11-12"], dtype="datetime64[D]")
    write("dates", 10, set_cells(days, a=np.arange(2, dtype="i4")))
    make("evolved", dims((0, 9)), one, True)
    write("evolved", 10, set_cells(np.arange(3), a=np.arange(3, dtype="i4")))
    change = tiledb.ArraySchemaEvolution()
    change.add_attribute(tiledb.Attr("b", dtype="f8"))
    change.array_evolve("evolved")
    write("evolved", None, set_cells(np.arange(2, 5), a=np.arange(3, dtype="i4"), b=np.arange(3) / 2))
    make("deletes", dims((0, 9)), one, True)
    write("deletes", 10, set_cells(np.arange(5), a=np.arange(5, dtype="i4")))
    write("deletes", 20, set_cells(np.arange(3, 8), a=np.arange(5, dtype="i4")))
    with tiledb.open("deletes", "d", timestamp=30) as array:
        array.query(cond="a < 2").submit()
    make("many", dims((0, 999)), one, True)
    for at in range(6):
        write("many", at + 1, set_cells(np.arange(at * 20, at * 20 + 10), a=np.arange(10, dtype="i4")))
    make("plan", dims((1, 9), (1, 9), tile=1), one, False)
    for time, low, high in [(1, (1, 1), (3, 3)), (2, (5, 5), (7, 8)), (3, (2, 2), (4, 4)), (4, (8, 1), (9, 2)), (5, (9, 9), (10, 10))]:
        write("plan", time, set_box(low, high, time))


def show(uri, sizes=False):
    info = tiledb.FragmentInfoList(uri)
    print("--", uri, len(info))
    for name in ["cell_num", "has_consolidated_metadata", "nonempty_domain", "sparse", "timestamp_range", "version"]:
        print(name, plain(getattr(info, name)))
    print(plain(info.uri), plain(info.array_schema_name), [plain(one) for one in info.to_vacuum])
    print(info.unconsolidated_metadata_num)
    with_mbrs = tiledb.FragmentInfoList(uri, include_mbrs=True)
    print([fragment.mbrs for fragment in with_mbrs])
    text = plain(info.dump())
    # Sizes depend on the compression of metadata, where the library wrote the fragments.
    print(text if sizes else re.sub(r"Size: [0-9]+", "Size: N", text))


def files(uri):
    found = []
    for folder, _, names in os.walk(uri):
        if "__fragments" in folder and names:
            found.append(plain(os.path.relpath(folder, uri)))
        if "__fragments" not in folder:
            found += [plain(os.path.relpath(os.path.join(folder, name), uri)) for name in names]
    # The commits of replaced fragments may be gone already.
    return sorted(name for name in found if "__commits" not in name)


def maintain(uri, call, config, **rest):
    print("..", uri, call.__name__, {key: value for key, value in config.items()})
    attempt(lambda: call(uri, config=tiledb.Config(config), **rest))
    attempt(lambda: show(uri))
    print(files(uri))


def names(uri):
    return [os.path.basename(one) for one in tiledb.array_fragments(uri).uri]


if "write" in what:
    arrays()
if "show" in what:
    attempt(lambda: tiledb.FragmentInfoList("none"))
    for uri in ["dense", "sparse", "strings", "dates", "evolved", "deletes", "many"]:
        show(uri, sizes="write" not in what)
    for size in [1, 1000, 100000, 10**9]:
        with tiledb.open("plan") as array:
            plan = tiledb.ConsolidationPlan(tiledb.default_ctx(), array, size)
            print(size, plan.num_nodes, [plan.num_fragments(at) for at in range(plan.num_nodes)])
            order = {name: at for at, name in enumerate(names("plan"))}
            print([[order[one] for one in plan[at]["fragment_uris"]] for at in range(plan.num_nodes)])
            print(plain(plan.dump()), end="")
            attempt(lambda: plan.num_fragments(99))
    consolidate, vacuum = tiledb.consolidate, tiledb.vacuum
    attempt(lambda: consolidate("none"))
    attempt(lambda: consolidate("dense", config=tiledb.Config({"sm.consolidation.mode": "other"})))
    for mode in ["fragment_meta", "commits", "fragments", "array_meta"]:
        maintain("dense", consolidate, {"sm.consolidation.mode": mode})
        maintain("sparse", consolidate, {"sm.consolidation.mode": mode})
    for mode in ["fragments", "fragment_meta", "commits", "array_meta"]:
        maintain("dense", vacuum, {"sm.vacuum.mode": mode})
        maintain("sparse", vacuum, {"sm.vacuum.mode": mode})
    for uri in ["strings", "evolved"]:
        maintain(uri, consolidate, {})
        maintain(uri, vacuum, {})
    maintain("deletes", consolidate, {"sm.consolidation.purge_deleted_cells": "true"})
    maintain("many", consolidate, {"sm.consolidation.timestamp_start": "2", "sm.consolidation.timestamp_end": "4"})
    attempt(lambda: consolidate("many", config=tiledb.Config({"sm.consolidation.steps": "1", "sm.consolidation.step_min_frags": "2", "sm.consolidation.step_max_frags": "2"})))
    # Which two of them became one is for the library to choose.
    print(len(names("many")))
    tiledb.consolidate("many")
    maintain("many", vacuum, {})
    maintain("plan", consolidate, {"sm.consolidation.step_min_frags": "9", "sm.consolidation.step_max_frags": "3"})
    maintain("plan", consolidate, {}, fragment_uris=names("plan")[1:2] + names("plan")[3:4])
    maintain("plan", consolidate, {}, fragment_uris=["none", "other"])
    attempt(lambda: tiledb.Array.delete_fragments("many", 5, 5))
    show("many")
    attempt(lambda: tiledb.Array.delete_fragments("many", ["none"]))
    attempt(lambda: tiledb.Array.delete_fragments("many", [os.path.join(here, "many", "__fragments", names("many")[-1])]))
    show("many")
    print(files("many"))
if "read" in what or len(what) == 2:
    for uri in ["dense", "sparse", "strings", "dates", "evolved", "deletes", "many", "plan"]:
        for time in [15, 25, None]:
            with tiledb.open(uri, timestamp=time) as array:
                cells = array[:] if array.schema.ndim == 1 else array[:, :]
                print(uri, time, cells if isinstance(cells, np.ndarray) else {key: cells[key].tolist() for key in sorted(cells)})
