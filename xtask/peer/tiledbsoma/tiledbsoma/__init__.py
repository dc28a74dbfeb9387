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
    "_scene": "spatial",
    "_soma_object": "soma_object",
    "_sparse_nd_array": "sparse",
    "experiment_query": "query",
    "io": "io",
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
    import soma_binding

    soma_binding.install(compat)
    module = types.ModuleType(f"{__name__}.pytiledbsoma")
    module.__dict__.update(soma_binding.NAMES)
    sys.modules[f"{__name__}.pytiledbsoma"] = compat.pytiledbsoma = module


_install()
