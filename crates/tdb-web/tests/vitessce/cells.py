"""Makes an experiment, and says what tiledbsoma reads of it: python cells.py FOLDER. Needs tdb, anndata and tiledbsoma."""

import json
import pathlib
import sys

import anndata
import numpy as np
import pandas as pd
import tiledbsoma

import tdb.soma

CELLS, GENES, GENE = 300, 40, 1


def main(folder: pathlib.Path) -> None:
    draw = np.random.default_rng(7)
    kinds = np.array(["B", "T", "NK"])[draw.integers(0, 3, CELLS)]
    centre = np.select([kinds == "B", kinds == "T"], [-5.0, 0.0], 5.0)
    umap = np.stack([centre + draw.normal(0, 1, CELLS), draw.normal(0, 2, CELLS)], 1).astype("float32")
    data = anndata.AnnData(
        X=draw.poisson(2.0, (CELLS, GENES)).astype("float32"),
        obs=pd.DataFrame({"cell_type": pd.Categorical(kinds)}, index=[f"cell{at}" for at in range(CELLS)]),
        var=pd.DataFrame(index=[f"GENE{at}" for at in range(GENES)]),
        obsm={"X_umap": umap},
    )
    uri = str(folder / "cells.soma")
    tdb.soma.from_anndata(uri, data)
    with tiledbsoma.open(uri) as opened:
        (name,) = opened.ms
        measurement = opened.ms[name]
        types = opened.obs.read(column_names=["cell_type"]).concat().to_pandas()["cell_type"].astype(str)
        points = np.zeros((CELLS, 2))
        embedding = measurement.obsm["X_umap"].read().tables().concat()
        points[embedding["soma_dim_0"], embedding["soma_dim_1"]] = embedding["soma_data"]
        (matrix,) = measurement.X
        gene = np.zeros(CELLS)
        column = measurement.X[matrix].read((slice(None), [GENE])).tables().concat()
        gene[column["soma_dim_0"]] = column["soma_data"]
    read = {"measurement": name, "types": list(types), "points": points.tolist(), "gene": f"GENE{GENE}", "values": gene.tolist()}
    (folder / "cells.json").write_text(json.dumps(read))


main(pathlib.Path(sys.argv[1]))
