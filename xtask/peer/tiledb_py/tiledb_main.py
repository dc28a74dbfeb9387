"""What tests take from `tiledb.main`, TileDB-Py's module in C++, as far as `tdb` has it."""

from tdb import _tdb
from tdb.compat.array import place_of
from tdb.compat.ctx import default_ctx


class metadata_test_aux:
    """Writes what programs in Python cannot: metadata of the type STRING_ASCII."""

    @staticmethod
    def write_ascii(uri):
        _tdb.write_metadata(place_of(uri, default_ctx()), [(b"abc", "STRING_ASCII", b"xyz")], [], None)
