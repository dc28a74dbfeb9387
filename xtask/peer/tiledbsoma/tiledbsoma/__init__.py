"""Stands for `tiledbsoma`: `tdb.soma.compat`, also under the names of the private modules that tests of TileDB-SOMA import.

What those tests ask of the extension module (`pytiledbsoma`) is answered by objects of `tdb.soma.compat`, as far as it is also
asked of these: see `binding.py`.
"""

import importlib
import sys
import types

import tdb.soma.compat as compat

#: Modules of `tiledbsoma`, and where their names are.
_MODULES = {
    "_collection": "collection",
    "_constants": "constants",
    "_dataframe": "dataframe",
    "_dense_nd_array": "dense",
    "_exception": "exceptions",
    "_experiment": "experiment",
    "_factory": "factory",
    "_general_utilities": "general",
    "_indexer": "indexer",
    "_measurement": "measurement",
    "_query": "query",
    "_scene": "scene",
    "_soma_object": "soma_object",
    "_sparse_nd_array": "sparse",
    "_spatial_util": "spaces",
    "experiment_query": "query",
    "io": "io",
    "io._registration": "io.registration",
    "io.conversions": "io.conversions",
    "io.ingest": "io.ingest",
    "io.outgest": "io.outgest",
    "io.update_uns": "io.update",
    "logging": "logging",
    "options": "options",
    "options._soma_tiledb_context": "context",
    "options._tiledb_create_write_options": "platform_config",
}
#: Names that have others there.
_NAMES = {
    "context": {"_validate_soma_tiledb_context": "context_of"},
    "platform_config": {"_dig_platform_config": "dig"},
    "collection": {"_real_class": "real_class"},
}


def _install():
    sys.modules[__name__] = compat
    for name, own in _MODULES.items():
        module = importlib.import_module(f"tdb.soma.compat.{own}")
        for there, here in _NAMES.get(own, {}).items():
            setattr(module, there, getattr(module, here))
        sys.modules[f"{__name__}.{name}"] = module
        parent, _, last = name.rpartition(".")
        setattr(sys.modules[f"{__name__}.{parent}"] if parent else compat, last, module)
    compat.options.__path__ = []
    compat.io.__path__ = getattr(compat.io, "__path__", [])
    # Names that tests of `io` import, for annotations and to look at metadata.
    common = types.ModuleType(f"{__name__}.io._common")
    common.UnsDict = common.UnsMapping = dict
    common._TILEDBSOMA_TYPE = "soma_tiledbsoma_type"
    sys.modules[common.__name__] = common
    compat.io.update._update_uns, compat.io.update.Strict = compat.io.update.update_uns, object
    compat.io.conversions._string_dict_from_arrow_schema = _types_of
    import soma_binding

    soma_binding.install(compat)
    module = types.ModuleType(f"{__name__}.pytiledbsoma")
    module.__dict__.update(soma_binding.NAMES)
    sys.modules[f"{__name__}.pytiledbsoma"] = compat.pytiledbsoma = module


def _types_of(schema):
    """The types of columns by name, as texts."""
    kinds = {field.name: getattr(field.type, "index_type", field.type) for field in schema if field.name != "soma_joinid"}
    return {name: str(kind).removeprefix("large_") for name, kind in kinds.items()}


_install()
