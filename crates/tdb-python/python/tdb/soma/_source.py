"""What is converted: an object of AnnData, an h5ad file, a file or a folder of 10x Genomics."""

from __future__ import annotations

import gzip
import inspect
import os
import pathlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from .._errors import QueryError
from .._needs import needed
from ._matrices import Compressed, Dense, matrix_of

if TYPE_CHECKING:
    import pandas

Matrix = Compressed | Dense

#: The columns of features.tsv, of which Cell Ranger ARC writes the last three.
_FEATURES = ("gene_ids", "gene_names", "feature_types", "chromosome", "start", "end")


@dataclass
class Source:
    """Tables in memory, and matrices that are read in parts."""

    obs: pandas.DataFrame
    var: pandas.DataFrame
    X: Matrix | None = None
    layers: Mapping[str, Matrix] = field(default_factory=dict)
    obsm: Mapping[str, Matrix] = field(default_factory=dict)
    varm: Mapping[str, Matrix] = field(default_factory=dict)
    obsp: Mapping[str, Matrix] = field(default_factory=dict)
    varp: Mapping[str, Matrix] = field(default_factory=dict)
    uns: Mapping[str, Any] = field(default_factory=dict)
    raw_X: Matrix | None = None
    raw_var: pandas.DataFrame | None = None

    def __post_init__(self) -> None:
        rows, columns = len(self.obs), len(self.var)
        wide = 0 if self.raw_var is None else len(self.raw_var)
        for what, matrix, shape in [
            ("X", self.X, (rows, columns)),
            ("raw.X", self.raw_X, (rows, wide)),
            *((f"layers[{name!r}]", one, (rows, columns)) for name, one in self.layers.items()),
            *((f"obsm[{name!r}]", one, (rows, None)) for name, one in self.obsm.items()),
            *((f"varm[{name!r}]", one, (columns, None)) for name, one in self.varm.items()),
            *((f"obsp[{name!r}]", one, (rows, rows)) for name, one in self.obsp.items()),
            *((f"varp[{name!r}]", one, (columns, columns)) for name, one in self.varp.items()),
        ]:
            if matrix is None:
                continue
            if any(size is not None and size != own for size, own in zip(shape, matrix.shape)):
                raise QueryError(f"{what} has the shape {matrix.shape}, but there are {rows} cells and {columns} genes")
            if matrix.shape[1] == 0 and shape[1] is None:
                raise QueryError(f"{what} has no columns: leave it out")

    def layers_of(self, X: str) -> dict[str, Matrix]:
        """All matrices of cells and genes by the names of their layers."""
        if self.X is not None and X in self.layers:
            raise QueryError(f"X becomes the layer {X!r}, but there is one of that name: say X with another name")
        return {**({} if self.X is None else {X: self.X}), **self.layers}


def of_anndata(data: Any) -> Source:
    """An object of AnnData, also one that is backed by a file."""
    found: dict[str, Any] = {}
    for group in ("layers", "obsm", "varm", "obsp", "varp"):
        # Since 0.13, the layer without a name is X.
        named = [(name, one) for name, one in getattr(data, group).items() if name is not None]
        found[group] = {str(name): matrix_of(one, f"{group}[{name!r}]") for name, one in named}
    X = _X_of(data)
    raw = data.raw
    return Source(
        obs=data.obs,
        var=data.var,
        X=None if X is None else matrix_of(X, "X"),
        uns=dict(data.uns),
        raw_X=None if raw is None else matrix_of(raw.X, "raw.X"),
        raw_var=None if raw is None else raw.var,
        **found,
    )


def _X_of(data: Any) -> Any:
    try:
        return data.X
    except KeyError:
        # A file without X.
        return None


def of_h5ad(file: Any) -> Source:
    """An open h5ad file: tables and ``uns`` are read, matrices are not."""
    anndata = needed("anndata", "anndata", "h5ad files")
    # Releases before 0.11 have it elsewhere.
    read = getattr(anndata, "io", anndata.experimental).read_elem
    if "obs" not in file or "var" not in file:
        raise QueryError(f"{file.filename} is no h5ad file: it has no obs and var")
    found: dict[str, Any] = {}
    for group in ("layers", "obsm", "varm", "obsp", "varp"):
        members = file[group] if group in file else {}
        found[group] = {name: matrix_of(_frame_or(members[name]), f"{group}[{name!r}]") for name in members}
    raw = file["raw"] if "raw" in file else None
    return Source(
        obs=read(file["obs"]),
        var=read(file["var"]),
        X=matrix_of(file["X"], "X") if "X" in file and not _is_null(file["X"]) else None,
        uns=read(file["uns"]) if "uns" in file else {},
        raw_X=None if raw is None else matrix_of(raw["X"], "raw.X"),
        raw_var=None if raw is None else read(raw["var"]),
        **found,
    )


def _frame_or(node: Any) -> Any:
    """A node of an h5ad file; a table, which is no matrix, as such."""
    if _encoding(node) == "dataframe":
        raise QueryError(f"{node.name} is a table of pandas: only matrices are kept there")
    return node


def _is_null(node: Any) -> bool:
    return _encoding(node) == "null"


def _encoding(node: Any) -> str:
    found = node.attrs.get("encoding-type", "")
    return found.decode() if isinstance(found, bytes) else str(found)


def of_10x_h5(file: Any) -> Source:
    """An open file of Cell Ranger: version 3 and later have ``matrix``, version 2 a group for each genome."""
    pandas = needed("pandas", "pandas", "Tables")
    if "matrix" in file:
        group = file["matrix"]
        features = group["features"]
        names = {"id": "gene_ids", "name": "gene_names", "feature_type": "feature_types", "genome": "genome"}
        columns = {own: _texts(features[name]) for name, own in names.items() if name in features}
    else:
        groups = [name for name in file if "barcodes" in file[name]]
        if len(groups) != 1:
            said = f"has {len(groups)} genomes: {', '.join(groups)}" if groups else "is no matrix of 10x Genomics"
            raise QueryError(f"{file.filename} {said}")
        group = file[groups[0]]
        columns = {"gene_ids": _texts(group["genes"]), "gene_names": _texts(group["gene_names"])}
    genes, cells = (int(one) for one in group["shape"][:])
    obs = pandas.DataFrame(index=_texts(group["barcodes"]))
    # What is stored gene by cell, column by column, is cell by gene, row by row.
    X = Compressed((cells, genes), 0, group["indptr"], group["indices"], group["data"])
    return Source(obs, _features(pandas, columns), X)


def of_10x_folder(folder: pathlib.Path) -> Source:
    """A folder with ``matrix.mtx``, ``barcodes.tsv`` and ``features.tsv`` (or ``genes.tsv``), also with ``.gz``."""
    pandas = needed("pandas", "pandas", "Tables")
    sparse = needed("scipy.io", "scipy", "Matrix Market")
    with _opened(_file(folder, "matrix.mtx")) as file:
        stored = sparse.mmread(file, **({"spmatrix": False} if "spmatrix" in inspect.signature(sparse.mmread).parameters else {}))
    matrix = stored.T.tocsr()
    with _opened(_file(folder, "barcodes.tsv")) as file:
        barcodes = [line.decode().rstrip("\r\n").split("\t")[0] for line in file]
    with _opened(_file(folder, "features.tsv", "genes.tsv")) as file:
        rows = [line.decode().rstrip("\r\n").split("\t") for line in file]
    width = max((len(row) for row in rows), default=2)
    if width > len(_FEATURES):
        extra = f"{width - len(_FEATURES)} columns after {_FEATURES[-1]} have no known names, and are left out"
        warnings.warn(f"{folder}: features.tsv: {extra}", stacklevel=2)
    # Features without a place in the genome may have shorter lines.
    rows = [row + [""] * (width - len(row)) for row in rows]
    columns: dict[str, Any] = {name: [row[at] for row in rows] for at, name in enumerate(_FEATURES[:width])}
    for name in ("start", "end"):
        if name in columns and all(not one or (one.isascii() and one.isdecimal() and len(one) < 19) for one in columns[name]):
            columns[name] = pandas.array([int(one) if one else None for one in columns[name]], dtype="Int64")
    return Source(pandas.DataFrame(index=barcodes), _features(pandas, columns), matrix_of(matrix, "matrix.mtx"))


def _features(pandas: Any, columns: dict[str, Any]) -> Any:
    """The genes: their ids are unique, their names need not be."""
    frame = pandas.DataFrame({name: values for name, values in columns.items() if name != "gene_ids"})
    for name in ("feature_types", "genome", "chromosome"):
        if name in frame:
            frame[name] = frame[name].astype("category")
    return frame.set_index(pandas.Index(columns["gene_ids"], name="gene_ids"))


def _texts(values: Any) -> list[str]:
    return [one.decode() if isinstance(one, bytes) else str(one) for one in values[:]]


def _file(folder: pathlib.Path, *names: str) -> pathlib.Path:
    for name in names:
        for own in (folder / name, folder / f"{name}.gz"):
            if own.exists():
                return own
    raise QueryError(f"{folder} has no {' or '.join(names)} (also not with .gz)")


def _opened(path: pathlib.Path) -> Any:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")


def expect_unique(ids: Any, what: str) -> None:
    """Refuses names of cells or genes that are there twice."""
    values, counts = np.unique(np.asarray(ids, dtype=str), return_counts=True)
    twice = values[counts > 1]
    if len(twice):
        raise QueryError(f"{what} has {str(twice[0])!r} {counts[counts > 1][0]} times, and {len(twice)} ids more than once: ids are unique")


def exists(path: str | os.PathLike[str]) -> pathlib.Path:
    """A path at which there is something."""
    found = pathlib.Path(path)
    if not found.exists():
        raise QueryError(f"{found} does not exist")
    return found
