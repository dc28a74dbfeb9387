"""Makes larger arrays to look at in the viewer, with the Python package tdb:

    python arrays.py FOLDER

A raster that was written four times, points, a table, an array with a domain of 10^12 cells, strings that are markup,
a damaged array, and, where tiledbsoma is installed, an experiment. `tdb publish --recursive` makes each readable.
"""

import sys
from pathlib import Path

import numpy as np
import tdb

DAY = 86_400_000
START = 1_704_412_800_000
ZSTD = "byteshuffle, zstd(5)"


def hill(x, y, centre_x, centre_y, wide, high):
    return high * np.exp(-((x - centre_x) ** 2 + (y - centre_y) ** 2) / (2 * wide * wide))


def raster(folder):
    """1200 x 1800 heights, first only two thirds of them."""
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension("row", (0, 1199), "int32", tile=100), tdb.Dimension("column", (0, 1799), "int32", tile=150)],
        [tdb.Attribute("height", "float32", filters=ZSTD)],
    )
    array = tdb.create(folder / "raster", schema)
    y, x = np.mgrid[0:1200, 0:1800]
    for step, days in enumerate([0, 30, 61, 95], start=1):
        waves = 60 * np.sin(y / 120 + step) * np.cos(x / 165) + 12 * np.sin((x + y) / 27)
        peaks = hill(x, y, 1260, 450, 270, 900) + hill(x, y, 540, 780, 150, 500 + 80 * step)
        height = np.round(400 + waves + peaks, 1).astype("float32")
        wide = 1200 if step < 3 else 1800
        array.write({"height": np.ascontiguousarray(height[:, :wide])}, np.s_[:, 0:wide], at=START + days * DAY)


def huge(folder):
    """A million by a million, of which some tiles are written."""
    last = 999_999
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension(name, (0, last), "int64", tile=500) for name in ("row", "column")],
        [tdb.Attribute("value", "float64", filters=ZSTD)],
    )
    array = tdb.create(folder / "huge", schema)
    for row in (0, 500_000, last + 1 - 500):
        for column in (0, 400_000, last + 1 - 500):
            y, x = np.mgrid[row:row + 500, column:column + 500]
            array[row:row + 500, column:column + 500] = {"value": np.round(np.sin(y / 60) * np.cos(x / 40), 3)}


def points(folder):
    """300,000 points around five places."""
    random = np.random.default_rng(7)
    schema = tdb.Schema(
        "sparse",
        [tdb.Dimension("lon", (-180.0, 180.0), "float64"), tdb.Dimension("lat", (-90.0, 90.0), "float64")],
        [tdb.Attribute("speed", "float32", filters=ZSTD)],
        duplicates=True,
    )
    array = tdb.create(folder / "points", schema)
    places = np.array([[5.9, 47.2, 0.5], [8.5, 47.4, 0.25], [7.4, 46.9, 0.3], [9.0, 46.2, 0.6], [6.6, 46.5, 0.35]])
    for _ in range(2):
        chosen = places[(random.random(150_000) ** 1.6 * 5).astype(int)]
        lon = chosen[:, 0] + random.normal(size=150_000) * chosen[:, 2]
        lat = chosen[:, 1] + random.normal(size=150_000) * chosen[:, 2] * 0.6
        array.write({"lon": lon, "lat": lat, "speed": (np.abs(random.normal(size=150_000)) * 30).astype("float32")})


def hostile(folder):
    """Strings that are markup and scripts."""
    bad = ['<img src=x onerror="window.hacked=1">', "<script>window.hacked=1</script>", "'; DROP TABLE cells; --"]
    schema = tdb.Schema(
        "sparse", [tdb.Dimension("<b>key</b>", dtype="ascii")], [tdb.Attribute("a\"b'c", str)],
    )
    tdb.create(folder / "hostile", schema).write({"<b>key</b>": sorted(bad), "a\"b'c": bad})


def damaged(folder):
    """The raster with some bytes that are wrong."""
    schema = tdb.Schema(
        "dense",
        [tdb.Dimension("row", (0, 99), "int32", tile=50), tdb.Dimension("column", (0, 99), "int32", tile=50)],
        [tdb.Attribute("height", "float32", filters="zstd(5), checksum-sha256")],
    )
    array = tdb.create(folder / "damaged", schema)
    array[0:100, 0:100] = {"height": np.arange(10_000, dtype="float32").reshape(100, 100)}
    file = next((folder / "damaged").glob("__fragments/*/a0.tdb"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


def experiment(folder):
    """2,700 cells of eight kinds, with an embedding and ten genes."""
    import anndata
    import pandas
    import tiledbsoma.io

    random = np.random.default_rng(11)
    kinds = ["B cells", "CD14+ monocytes", "CD4 T cells", "CD8 T cells", "Dendritic cells", "FCGR3A+ monocytes",
             "Megakaryocytes", "NK cells"]
    genes = ["MS4A1", "CD14", "IL7R", "CD8A", "FCER1A", "FCGR3A", "PPBP", "GNLY", "LYZ", "NKG7"]
    kind = (random.random(2700) ** 1.4 * 8).astype(int)
    turn = kind / 8 * 2 * np.pi
    umap = np.stack([8 * np.cos(turn) + kind, 7 * np.sin(turn)], axis=1) + random.normal(size=(2700, 2)) * 1.1
    x = np.where(random.random((2700, 10)) < 0.15, random.random((2700, 10)) * 2, 0)
    own = np.arange(10)[None, :] % 8 == kind[:, None]
    x = np.where(own, 2 + 3 * random.random((2700, 10)), x).astype("float32")
    obs = pandas.DataFrame({
        "cell_type": pandas.Categorical.from_codes(kind, kinds),
        "n_counts": (1500 + 700 * np.abs(random.normal(size=2700))).astype("int32"),
    }, index=[f"AAACAT-{number}" for number in range(2700)])
    adata = anndata.AnnData(x, obs=obs, var=pandas.DataFrame({"gene_name": genes}, index=genes), obsm={"X_umap": umap})
    tiledbsoma.io.from_anndata(str(folder / "soma"), adata, "RNA")


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (raster, huge, points, hostile, damaged):
        make(folder)
    try:
        experiment(folder)
    except ImportError as error:
        print(f"no experiment: {error}")


main()
