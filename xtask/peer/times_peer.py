"""Several programs write with one time; after each write of tdb's it is what is read, by tdb and by libtiledb.

    python times_peer.py --tdb COMMAND --seed N --seconds S

Each case has an object of its own: a sparse array that gets cells, an array that gets metadata, one that gets attributes, or a group
that gets and loses members. Every write is a process of the command `tdb`, a few of them at once, or a write of libtiledb, whose names
are random: then any of its writes of that time may win, and both libraries must agree which. Consolidation comes in between. The
objects have at most 15 fragments: of more, libtiledb does not order those of one time by their paths.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import tiledb

# half of the cases have one time that all their writes give, the others the clock
FIRST, LAST = 1000, 10**12


class Wrong(Exception):
    """What differs."""


class Case:
    """One object, and what was written to it."""

    # how many writes may be begun, of up to three files each
    MOST = 12

    def __init__(self, tdb, folder, draw):
        self.tdb, self.folder, self.draw = tdb, folder, draw
        self.time = draw.choice([None, draw.randint(FIRST, LAST)])
        self.place = os.path.join(folder, "object")
        self.next = 0
        self.done = []

    def start(self, *words, read=False):
        when = [] if self.time is None else ["--at" if read else "--time", str(self.time)]
        pipe = subprocess.PIPE
        said = [self.tdb, *words, *when]
        return said, subprocess.Popen(said, stdout=pipe, stderr=pipe, stdin=subprocess.DEVNULL, text=True)

    def end(self, started):
        said, process = started
        out, err = process.communicate()
        if process.returncode != 0:
            raise Wrong(f"{' '.join(said)}: {err.strip()}")
        return out.strip()

    def run(self, *words, read=False):
        return self.end(self.start(*words, read=read))

    def at(self):
        return {} if self.time is None else {"timestamp": self.time}

    def fresh(self):
        self.next += 1
        return self.next

    def agree(self, among):
        """Both libraries read one of these."""
        own, other = self.read(), self.read_by_peer()
        if own != other:
            raise Wrong(f"tdb reads {own}, libtiledb {other}")
        if among is not None and own not in among:
            raise Wrong(f"{own} is read, but {among} was written last")

    def consolidate(self):
        said = subprocess.run(
            [self.tdb, "consolidate", self.place, "--what", self.WHAT], capture_output=True, text=True, check=False)
        if said.returncode != 0:
            raise Wrong(f"consolidate: {said.stderr.strip()}")

    def step(self):
        kind = self.draw.choice(["one"] * 5 + ["several"] * 2 + ["peer", "consolidate"])
        self.done.append(kind)
        if kind == "one":
            value = self.fresh()
            self.end(self.write(value))
            self.agree([value])
        elif kind == "several":
            values = [self.fresh() for _ in range(3)]
            for started in [self.write(value) for value in values]:
                self.end(started)
            self.agree(values)
        elif kind == "peer":
            # the clock of this process and those of others may show the same millisecond
            self.write_by_peer(self.fresh())
            self.agree(None)
        else:
            before = self.read()
            self.consolidate()
            self.agree([before])


class Cells(Case):
    WHAT = "fragments"

    def begin(self):
        self.end(self.write(self.fresh()))

    def write(self, value):
        path = os.path.join(self.folder, f"{value}.csv")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"d,v\n0,{value}\n")
        words = [] if os.path.exists(self.place) else ["--dims", "d"]
        return self.start("import", self.place, path, *words)

    def read(self):
        out = self.run("read", self.place, "--format", "csv", "--fields", "v", read=True)
        return int(out.splitlines()[-1])

    def write_by_peer(self, value):
        with tiledb.open(self.place, "w", **self.at()) as array:
            array[np.array([0])] = np.array([value])

    def read_by_peer(self):
        with tiledb.open(self.place, **self.at()) as array:
            return int(array[:]["v"][0])


class Metadata(Case):
    WHAT = "metadata"

    def begin(self):
        path = os.path.join(self.folder, "begin.csv")
        with open(path, "w", encoding="ascii") as file:
            file.write("d,v\n0,0\n")
        self.run("import", self.place, path, "--dims", "d")
        self.begin_values()

    def begin_values(self):
        self.end(self.write(self.fresh()))

    def write(self, value):
        return self.start("meta", "set", self.place, "k", str(value))

    def read(self):
        return int(self.run("meta", self.place, "k", read=True))

    def write_by_peer(self, value):
        with tiledb.open(self.place, "w", **self.at()) as array:
            array.meta["k"] = value

    def read_by_peer(self):
        with tiledb.open(self.place, **self.at()) as array:
            return int(array.meta["k"])


class Members(Case):
    """A member whose place changes: it is removed and added again."""

    WHAT, MOST = "metadata", 8

    def begin(self):
        tiledb.Group.create(self.place)
        self.there = False

    def member(self, value):
        place = os.path.join(self.folder, f"m{value}")
        tiledb.Group.create(place)
        return place

    def write(self, value):
        if self.there:
            self.run("group", "remove", self.place, "m")
            if self.read() is not None:
                raise Wrong("a member that was removed is there")
        self.there = True
        return self.start("group", "add", self.place, self.member(value), "--name", "m")

    def read(self):
        out = self.run("group", self.place, "--json", read=True)
        found = [part.split('"')[0] for part in out.split("/m")[1:] if part.split('"')[0].isdigit()]
        return int(found[0]) if found else None

    def write_by_peer(self, value):
        # a change of libtiledb's may be older than one of its time that is there
        self.end(self.write(value))

    def read_by_peer(self):
        config = {} if self.time is None else {"sm.group.timestamp_end": str(self.time)}
        with tiledb.Group(self.place, "r", ctx=tiledb.Ctx(config)) as group:
            members = [member.uri.rsplit("/m", 1)[1] for member in group]
        return int(members[0]) if members else None

    def consolidate(self):
        self.end(self.write(self.fresh()))

    def step(self):
        value = self.fresh()
        self.done.append("one")
        self.end(self.write(value))
        self.agree([value])


class Attributes(Case):
    WHAT = "fragments"

    begin = Metadata.begin

    def begin_values(self):
        pass

    def write(self, value):
        return self.start("evolve", self.place, "--add", f"b{value}:INT32")

    def names(self, schema):
        return sorted(int(name[1:]) for name in schema if name.startswith("b"))

    def step(self):
        values = [self.fresh() for _ in range(self.draw.randint(1, 3))]
        self.done.append(f"{len(values)} evolutions")
        for started in [self.write(value) for value in values]:
            self.end(started)
        with tiledb.open(self.place, **self.at()) as array:
            found = self.names(array.schema.attr(index).name for index in range(array.schema.nattr))
        if found != list(range(1, self.next + 1)):
            raise Wrong(f"of {self.next} attributes libtiledb reads {found}")


KINDS = [Cells, Metadata, Members, Attributes]


def main():
    parser = argparse.ArgumentParser()
    for name in ["--tdb", "--seed", "--seconds", "--only"]:
        parser.add_argument(name, required=name == "--tdb")
    args = parser.parse_args()
    seed, until = int(args.seed or 1), time.monotonic() + float(args.seconds or 600)
    counts, writes, wrong, number = {}, 0, 0, 0
    numbers = [int(args.only)] if args.only else None
    while time.monotonic() < until and (numbers is None or numbers):
        number = numbers.pop() if numbers else number + 1
        draw = random.Random(f"{seed} {number}")
        kind = draw.choice(KINDS)
        folder = tempfile.mkdtemp(prefix="tdb-times-")
        case = kind(args.tdb, folder, draw)
        try:
            case.begin()
            while case.next < kind.MOST and len(case.done) < 10:
                case.step()
        except Wrong as why:
            wrong += 1
            print(f"case {number} ({kind.__name__}, time {case.time}, {', '.join(case.done)}): {why}")
        shutil.rmtree(folder)
        counts[kind.__name__] = counts.get(kind.__name__, 0) + 1
        writes += case.next
    told = ", ".join(f"{count} of {name}" for name, count in sorted(counts.items()))
    print(f"{writes} writes in {sum(counts.values())} cases ({told}) with libtiledb {'.'.join(map(str, tiledb.libtiledb.version()))}: "
          f"{wrong} unexplained")
    sys.exit(wrong > 0)


main()
