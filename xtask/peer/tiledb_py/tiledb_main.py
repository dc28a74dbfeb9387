"""What tests take from `tiledb.main`, TileDB-Py's module in C++, as far as `tdb` has it."""

from tdb import _tdb
from tdb import compat as tiledb
from tdb.compat.array import place_of
from tdb.compat.ctx import default_ctx


class metadata_test_aux:
    """Writes what programs in Python cannot: metadata of the type STRING_ASCII."""

    @staticmethod
    def write_ascii(uri):
        _tdb.write_metadata(place_of(uri, default_ctx()), [(b"abc", "STRING_ASCII", b"xyz")], [], None)


class PyFragmentInfo:
    """What is known of the fragments of an array."""

    def __init__(self, uri, schema, include_mbrs, ctx):
        self._found = tiledb.FragmentInfoList(uri, include_mbrs, ctx)

    def get_num_fragments(self):
        return len(self._found)

    def __getattr__(self, name):
        def get(*which):
            value = getattr(self._found, name.removeprefix("get_"))
            for one in which:
                value = value[one]
            return value

        if not name.startswith("get_"):
            raise AttributeError(name)
        return get
