"""Stands for the package `tiledb`: this folder is on the path, and `import tiledb` gives `tdb.compat`.

Modules below it are those of `tdb.compat` with the same names. `tiledb.tests` is the folder of tests that is run, which
imports its helpers by that name. Programs that are installed inside of the package `tiledb` are found there, and nothing else is.
"""

import importlib
import importlib.abc
import importlib.machinery
import os
import sys

import tdb.compat


#: Programs that are installed as folders of the package `tiledb`.
_PROGRAMS = ("bioimg", "cf", "cloud", "segy", "vector_search")


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `tiledb.x` as `tdb.compat.x`."""

    def find_spec(self, name, path=None, target=None):
        if not name.startswith("tiledb."):
            return None
        below = name[len("tiledb.") :]
        if below.split(".")[0] in _PROGRAMS:
            folders = [os.path.join(one, "tiledb") for one in sys.path] if below in _PROGRAMS else path
            spec = importlib.machinery.PathFinder.find_spec(name, folders)
            if below in _PROGRAMS and isinstance(getattr(spec, "loader", None), importlib.machinery.SourceFileLoader):
                spec.loader = _Program(name, spec.origin)
            return spec
        own = "tiledb_main" if below == "main" else below if below.split(".")[0] == "tests" else f"tdb.compat.{below}"
        try:
            module = importlib.import_module(own)
        except ModuleNotFoundError as error:
            if error.name != own:
                raise
            return None
        spec = importlib.machinery.ModuleSpec(name, self)
        spec.loader_state = module
        return spec

    def create_module(self, spec):
        self._kept = (spec.loader_state, spec.loader_state.__spec__)
        return spec.loader_state

    def exec_module(self, module):
        # The module is loaded already, under its own name.
        module.__spec__ = self._kept[1]


class _Program(importlib.machinery.SourceFileLoader):
    """Loads a program as `tiledb.x`."""

    def exec_module(self, module):
        # `import tiledb.x.y as z` in a module of x asks the package for x while it is still being loaded.
        setattr(tdb.compat, module.__name__.partition(".")[2], module)
        super().exec_module(module)


sys.meta_path.insert(0, _Finder())
sys.modules["tiledb"] = tdb.compat
