"""What processes do around the library: fork, interrupt a long submit, unload it, and hold the genuine library beside it.

    python process.py LIBRARY.so [GENUINE.so]

Each case runs in a process of its own, which has to end well, and print what it should.
"""

import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time

from capi import POINTER, load

DENSE, INT32, READ, WRITE, ROW_MAJOR, COMPLETED = 0, 0, 0, 1, 0, 1
#: Cells along each side of the array, and of its tiles. Many tiles make a read that several threads work on.
SIDE, TILE = 3000, 100


class Side:
    """A library with a context."""

    def __init__(self, path):
        self.library = load(path)
        self.context = POINTER()
        self.call("ctx_alloc", None, ctypes.byref(self.context), context=False)

    def call(self, name, *arguments, context=True):
        function = getattr(self.library, f"tiledb_{name}")
        code = function(self.context, *arguments) if context else function(*arguments)
        assert code == 0, f"{name}: {code}"

    def made(self, name, *arguments):
        handle = POINTER()
        self.call(name, *arguments, ctypes.byref(handle))
        return handle

    def create(self, uri):
        domain = self.made("domain_alloc")
        for axis in (b"x", b"y"):
            bounds = (ctypes.c_int32 * 2)(0, SIDE - 1)
            self.call("domain_add_dimension", domain, self.made("dimension_alloc", axis, INT32, bounds, (ctypes.c_int32 * 1)(TILE)))
        schema = self.made("array_schema_alloc", DENSE)
        self.call("array_schema_set_domain", schema, domain)
        self.call("array_schema_add_attribute", schema, self.made("attribute_alloc", b"a", INT32))
        self.call("array_create", uri, schema)

    def submit(self, uri, kind, cells):
        array = self.made("array_alloc", uri)
        self.call("array_open", array, kind)
        query = self.made("query_alloc", array, kind)
        subarray = self.made("subarray_alloc", array)
        self.call("subarray_set_subarray", subarray, (ctypes.c_int32 * 4)(0, SIDE - 1, 0, SIDE - 1))
        self.call("query_set_subarray_t", query, subarray)
        self.call("query_set_layout", query, ROW_MAJOR)
        size = ctypes.c_uint64(ctypes.sizeof(cells))
        self.call("query_set_data_buffer", query, b"a", cells, ctypes.byref(size))
        self.call("query_submit", query)
        status = ctypes.c_uint32()
        self.call("query_get_status", query, ctypes.byref(status))
        assert status.value == COMPLETED, status.value
        self.call("query_finalize", query)
        self.call("array_close", array)
        self.library.tiledb_query_free(ctypes.byref(query))
        self.library.tiledb_subarray_free(ctypes.byref(subarray))
        self.library.tiledb_array_free(ctypes.byref(array))

    def write(self, uri):
        cells = (ctypes.c_int32 * (SIDE * SIDE))(*range(SIDE * SIDE))
        self.submit(uri, WRITE, cells)

    def read(self, uri):
        cells = (ctypes.c_int32 * (SIDE * SIDE))()
        self.submit(uri, READ, cells)
        # The first, the last, and cells of other tiles.
        for at in (0, 1, SIDE, 7 * SIDE + 333, SIDE * SIDE - 1):
            assert cells[at] == at, (at, cells[at])

    def free(self):
        self.library.tiledb_ctx_free(ctypes.byref(self.context))


def fork(own, _genuine, uri):
    """A child reads with the context that its parent has used, whose threads it does not have."""
    side = Side(own)
    side.read(uri)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            side.read(uri)
            os._exit(0)
        side.read(uri)
        _, status = os.waitpid(child, 0)
        assert status == 0, f"the child ended with {status}"
    return "parent and children read"


def interrupt(own, _genuine, uri):
    """A signal of the program comes while a submit runs: the submit goes on, and the program hears of it."""
    side = Side(own)
    heard = []
    signal.signal(signal.SIGINT, lambda *_: heard.append(True))
    stop = threading.Event()

    def send():
        while not stop.is_set():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.002)

    sender = threading.Thread(target=send)
    sender.start()
    for _ in range(5):
        side.read(uri)
    stop.set()
    sender.join()
    assert heard
    return "signals came, and reads were right"


def unload(own, _genuine, uri):
    """The library is unloaded after its last handle, and loaded again."""
    close = ctypes.CDLL(None).dlclose
    close.argtypes = [POINTER]
    for _ in range(10):
        side = Side(own)
        side.read(uri)
        side.free()
        handle = side.library._handle
        del side
        assert close(handle) == 0
    return "ten times"


def beside(own, genuine, uri):
    """Two libraries in one process, in turns: the names of one are never those of the other."""
    sides = [Side(genuine), Side(own), Side(genuine), Side(own)]
    for number, (writer, reader) in enumerate(zip(sides, [*sides[1:], sides[0]])):
        made = uri + b"-%d" % number
        writer.create(made)
        writer.write(made)
        writer.read(made)
        reader.read(made)
    for side in sides:
        side.free()
    return "each read what the other wrote"


CASES = [fork, interrupt, unload, beside]


def main():
    own, genuine = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory(prefix="tdb-process-") as folder:
        uri = os.fsencode(pathlib.Path(folder) / "array")
        side = Side(own)
        side.create(uri)
        side.write(uri)
        for case in CASES:
            if case is beside and genuine is None:
                print("beside: skipped: no genuine library was named")
                continue
            words = [sys.executable, __file__, own, genuine or "-", "--case", case.__name__, os.fsdecode(uri)]
            done = subprocess.run(words, capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                sys.exit(f"{case.__name__}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
            print(f"{case.__name__}: {done.stdout.strip()}")


if len(sys.argv) == 6 and sys.argv[3] == "--case":
    print(next(case for case in CASES if case.__name__ == sys.argv[4])(sys.argv[1], sys.argv[2], os.fsencode(sys.argv[5])))
elif len(sys.argv) in (2, 3):
    main()
else:
    sys.exit(__doc__)
