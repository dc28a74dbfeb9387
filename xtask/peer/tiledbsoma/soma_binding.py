"""What tests of TileDB-SOMA ask of its extension module, answered by `tdb.soma.compat`.

Tests look through the extension module at what they have created: whether a handle is one of its types, what its schema is, what
a query of all its cells returns; and they write metadata beside the checks of the package. Here a handle is the object itself.
"""

import enum

import pyarrow as pa

from tdb.soma.compat import (
    Collection,
    DataFrame,
    DenseNDArray,
    Experiment,
    GeometryDataFrame,
    Measurement,
    MultiscaleImage,
    PointCloudDataFrame,
    Scene,
    SOMATileDBContext,
    SparseNDArray,
)
from tdb.soma.compat.soma_object import SOMAObject


class OpenMode(enum.Enum):
    soma_read = "r"
    soma_write = "w"
    soma_delete = "d"


class ResultOrder(enum.Enum):
    automatic = "auto"
    rowmajor = "row-major"
    colmajor = "column-major"
    unordered = "unordered"
    globalorder = "global-order"


class _Handle(type):
    """A type of handles: an object of the class itself is one."""

    def __instancecheck__(cls, instance):
        return isinstance(instance, cls.own)


def _handle(name, own):
    def open(uri, mode=OpenMode.soma_read, context=None, **_):
        return own.open(uri, mode.value)

    return _Handle(name, (), {"own": own, "open": staticmethod(open)})


class ManagedQuery:
    """A query of all cells."""

    def __init__(self, handle, context=None):
        if isinstance(handle, DenseNDArray):
            self._tables = iter([pa.table({"soma_data": handle.read().to_numpy().ravel()})])
        else:
            self._tables = iter(handle.read() if isinstance(handle, DataFrame) else handle.read().tables())

    def set_layout(self, layout):
        if layout not in (ResultOrder.automatic, ResultOrder.globalorder, ResultOrder.unordered):
            raise NotImplementedError(f"the layout {layout} of a query of the extension module")

    def next(self):
        return next(self._tables)


def _set_metadata(self, key, value, force=False):
    one = value.item() if value.size == 1 else value
    self._opened_now().meta.change({key: one.decode() if isinstance(one, bytes) else one}, at=self._timestamp_ms)


def _delete_metadata(self, key, force=False):
    self._opened_now().meta.change({}, [key], at=self._timestamp_ms)


def install(compat):
    """Gives the objects of the package what tests ask of their handles."""
    SOMAObject._handle = property(lambda self: self)
    SOMAObject.set_metadata = _set_metadata
    SOMAObject.delete_metadata = _delete_metadata
    SOMAObject.dimension_names = property(lambda self: self._dimensions)
    # Handles have a function of this name.
    SOMATileDBContext.__call__ = lambda self: self


NAMES = {
    "ManagedQuery": ManagedQuery,
    "OpenMode": OpenMode,
    "ResultOrder": ResultOrder,
    "SOMACollection": _handle("SOMACollection", Collection),
    "SOMAContext": SOMATileDBContext,
    "SOMADataFrame": _handle("SOMADataFrame", DataFrame),
    "SOMADenseNDArray": _handle("SOMADenseNDArray", DenseNDArray),
    "SOMAExperiment": _handle("SOMAExperiment", Experiment),
    "SOMAGeometryDataFrame": _handle("SOMAGeometryDataFrame", GeometryDataFrame),
    "SOMAMeasurement": _handle("SOMAMeasurement", Measurement),
    "SOMAMultiscaleImage": _handle("SOMAMultiscaleImage", MultiscaleImage),
    "SOMAPointCloudDataFrame": _handle("SOMAPointCloudDataFrame", PointCloudDataFrame),
    "SOMAScene": _handle("SOMAScene", Scene),
    "SOMASparseNDArray": _handle("SOMASparseNDArray", SparseNDArray),
    "tiledb_version": lambda: (2, 30, 0),
    "version": lambda: "libtiledb=2.30.0",
}
