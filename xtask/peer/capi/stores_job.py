"""A job for TileDB-Py on an object store: makes arrays, groups and files, changes them, looks at them, removes them.

    python stores_job.py URI CONFIG make|look|change|end...

CONFIG is JSON. A word after a hyphen only tells phases of one kind apart. `cargo xtask conform capi-stores` runs it with
two libraries in turns and compares what is printed.
"""

import json
import sys

import numpy as np
import tiledb

#: A file that is uploaded in parts, with buffers of 5 MiB.
LARGE = 12_345_678


class Job:
    def __init__(self, uri, config):
        self.uri, self.ctx = uri, tiledb.Ctx(config)

    @property
    def vfs(self):
        """A new one each time: libtiledb's keeps what it has read of a file, also if the file is replaced."""
        return tiledb.VFS(ctx=self.ctx)

    def at(self, name):
        return self.uri + "/" + name

    def see(self, label, value):
        print(label, repr(value).replace(self.uri, "URI"))

    def fails(self, label, call):
        """Whether a call fails; texts differ."""
        try:
            call()
        except tiledb.TileDBError:
            print(label, "fails")
        else:
            print(label, "does not fail")

    def open(self, name, mode="r", time=None):
        return tiledb.open(self.at(name), mode, ctx=self.ctx, timestamp=time)

    def make(self):
        dims = tiledb.Domain(tiledb.Dim("x", domain=(0, 99), tile=10, dtype=np.int64))
        attrs = [tiledb.Attr("a", dtype=np.float64, filters=[tiledb.ZstdFilter()]), tiledb.Attr("s", dtype="U0", var=True)]
        tiledb.Array.create(self.at("sparse"), tiledb.ArraySchema(domain=dims, attrs=attrs, sparse=True), ctx=self.ctx)
        for time, first, count in ((10, 0, 50), (20, 40, 20)):
            with self.open("sparse", "w", time) as array:
                rows = np.arange(first, first + count)
                array[rows] = {"a": rows * 1.5 + time, "s": np.array(["text %d" % row for row in rows])}
                array.meta["time"] = time
        grid = tiledb.Domain(*(tiledb.Dim(name, domain=(1, 300), tile=100, dtype=np.int32) for name in "yx"))
        tiledb.Array.create(self.at("dense"), tiledb.ArraySchema(domain=grid, attrs=[tiledb.Attr("v", dtype=np.int64)]), ctx=self.ctx)
        with self.open("dense", "w", 10) as array:
            array[:, :] = np.arange(90_000).reshape(300, 300)
        with self.open("dense", "w", 20) as array:
            array[10:20, 5:250] = -1
        tiledb.group_create(self.at("group"), ctx=self.ctx)
        tiledb.group_create(self.at("group/inner"), ctx=self.ctx)
        with tiledb.Group(self.at("group"), "w", ctx=self.ctx) as group:
            group.add(self.at("sparse"), name="absolute")
            group.add("inner", name="inner", relative=True)
            group.meta["about"] = "a group"
        self.write("small", b"hello ", b"world")
        self.write("empty")
        piece = np.arange(LARGE, dtype="u4").tobytes()[:LARGE]
        self.write("large", piece[:5_000_000], piece[5_000_000:5_000_001], piece[5_000_001:])
        self.write("folder/deep/file", b"x")

    def write(self, name, *pieces):
        vfs = self.vfs
        with vfs.open(self.at(name), "wb") as file:
            for piece in pieces:
                file.write(piece)

    def look(self):
        for time in (10, 20, None):
            with self.open("sparse", time=time) as array:
                found = array[:]
                self.see("sparse at %s" % time, [found["x"].tolist(), found["a"].tolist(), found["s"].tolist(), dict(array.meta)])
                self.see("domain at %s" % time, array.nonempty_domain())
        with self.open("sparse") as array:
            found = array.query(cond="a > 60 and s != 'text 41'", attrs=["s"]).multi_index[[slice(5, 45), 55]]
            self.see("asked", {name: values.tolist() for name, values in found.items()})
            self.see("schema", str(array.schema))
        with self.open("dense") as array:
            self.see("dense", [int(array[:, :]["v"].sum()), array[15:25, 240:260]["v"].tolist()])
        for name in ("sparse", "dense"):
            fragments = tiledb.array_fragments(self.at(name), ctx=self.ctx)
            self.see("fragments of " + name, [len(fragments), fragments.timestamp_range, fragments.cell_num, fragments.nonempty_domain])
        with tiledb.Group(self.at("group"), ctx=self.ctx) as group:
            self.see("group", [sorted((one.name, one.uri, one.type.__name__) for one in group), dict(group.meta)])
        self.files()

    def files(self):
        for name in ("small", "empty", "large", "folder/deep/file"):
            with self.vfs.open(self.at(name), "rb") as file:
                content = file.read()
            self.see(name, [len(content), hash_of(content), self.vfs.file_size(self.at(name))])
        with self.vfs.open(self.at("large"), "rb") as file:
            file.seek(6_000_000)
            self.see("part", file.read(20).hex())
        for name in ("", "small", "sparse", "group", "folder", "folder/deep", "nothing", "smal"):
            uri = self.at(name).rstrip("/")
            self.see("about " + name, [self.vfs.is_file(uri), self.vfs.is_dir(uri), tiledb.object_type(uri, ctx=self.ctx)])
        self.see("ls", sorted(self.vfs.ls(self.uri)))
        self.see("ls of folder", sorted(self.vfs.ls(self.at("folder"))))
        self.see("ls of nothing", sorted(self.vfs.ls(self.at("nothing"))))
        self.see("below folder", sorted(self.vfs.ls_recursive(self.at("folder"))))
        self.see("size of folder", self.vfs.dir_size(self.at("folder")))
        found = []
        tiledb.walk(self.uri, lambda uri, kind: found.append((uri, kind)), ctx=self.ctx)
        self.see("objects", sorted(found))
        found = []
        tiledb.ls(self.at("group"), lambda uri, kind: found.append((uri, kind)), ctx=self.ctx)
        self.see("objects of group", sorted(found))
        self.see("bucket", [self.vfs.is_bucket(self.uri.rsplit("/", 1)[0]), self.vfs.is_bucket(self.uri.rsplit("/", 1)[0] + "-none")])
        for label, call in (
            ("no array", lambda: self.open("nothing")),
            ("no schema", lambda: tiledb.ArraySchema.load(self.at("nothing"), ctx=self.ctx)),
            ("no group", lambda: tiledb.Group(self.at("nothing"), ctx=self.ctx)),
            ("no file", lambda: self.vfs.open(self.at("nothing"), "rb")),
            ("no size", lambda: self.vfs.file_size(self.at("nothing"))),
            ("made again", lambda: tiledb.Array.create(self.at("sparse"), tiledb.ArraySchema.load(self.at("sparse"), ctx=self.ctx), ctx=self.ctx)),
            ("group made again", lambda: tiledb.group_create(self.at("group"), ctx=self.ctx)),
        ):
            self.fails(label, call)

    def change(self):
        with self.open("sparse", "d", 30) as array:
            array.query(cond="a < 40").submit()
        evolution = tiledb.ArraySchemaEvolution(self.ctx)
        evolution.add_attribute(tiledb.Attr("more", dtype=np.int32, fill=7))
        evolution.timestamp(40)
        evolution.array_evolve(self.at("sparse"))
        with self.open("sparse", "w", 50) as array:
            array[[3, 98]] = {"a": np.array([1.0, 2.0]), "s": np.array(["new", ""]), "more": np.array([1, 2], dtype="i4")}
        tiledb.consolidate(self.at("sparse"), ctx=self.ctx)
        tiledb.vacuum(self.at("sparse"), ctx=self.ctx)
        tiledb.consolidate(self.at("dense"), ctx=self.ctx, config=tiledb.Config({"sm.consolidation.mode": "commits"}))
        tiledb.vacuum(self.at("dense"), ctx=self.ctx, config=tiledb.Config({"sm.vacuum.mode": "commits"}))
        with tiledb.Group(self.at("group"), "w", ctx=self.ctx) as group:
            group.remove("absolute")
            group.add(self.at("dense"), name="other")
        self.write("small", b"another")
        self.vfs.move_file(self.at("folder/deep/file"), self.at("folder/deep/moved"))
        self.vfs.copy_file(self.at("folder/deep/moved"), self.at("folder/deep/file"))
        self.vfs.touch(self.at("touched"))

    def end(self):
        self.vfs.remove_file(self.at("small"))
        self.vfs.remove_dir(self.at("folder"))
        tiledb.remove(self.at("dense"), ctx=self.ctx)
        tiledb.Array.delete_array(self.at("sparse"), ctx=self.ctx)
        tiledb.move(self.at("group"), self.at("moved"), ctx=self.ctx)
        self.see("left", sorted(self.vfs.ls(self.uri)))
        with tiledb.Group(self.at("moved"), ctx=self.ctx) as group:
            self.see("moved", sorted(one.name for one in group if one.name == "inner"))
        for name in ("moved", "sparse"):
            if self.vfs.is_dir(self.at(name)):
                self.vfs.remove_dir(self.at(name))
        for name in ("large", "empty", "touched"):
            self.vfs.remove_file(self.at(name))
        self.see("nothing left", self.vfs.ls(self.uri))


def hash_of(content):
    import hashlib

    return hashlib.sha256(content).hexdigest()[:16]


def main():
    uri, config, *phases = sys.argv[1:]
    job = Job(uri, json.loads(config))
    for phase in phases:
        print("==", phase)
        getattr(job, phase.partition("-")[0])()


if __name__ == "__main__":
    main()
