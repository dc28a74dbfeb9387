"""Small whole jobs of programs that are built on the module `tiledb`: write, read, list, change, fail.

`python jobs.py PROGRAM DIR [PHASE...]` runs phases of one (by default all), and prints what it saw: lines of a label and
a value as JSON. Which module `tiledb` is, and which library is below it, the caller decides: the results must be the
same. `make` begins in an empty folder, `change` changes what is there (some programs have nothing to do there), `look`
changes nothing, so that another process, with another library, may run it, and `end` removes what can be removed.
"""

import hashlib
import json
import os
import re
import sys

import numpy as np

SEEN = []
#: A word after a hyphen only tells phases of one kind apart.
PHASES = ("make", "look", "change", "look-changed", "end")


def plain(value):
    """A value as JSON has it, with the types that matter."""
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return [str(value.dtype), list(value.shape), value.tolist() if value.size <= 64 else digest(value)]
    if isinstance(value, np.ndarray):
        return ["object", list(value.shape), [plain(one) for one in value.ravel().tolist()]]
    if isinstance(value, np.generic):
        return [str(value.dtype), value.item() if not isinstance(value, (np.datetime64, np.void)) else str(value)]
    if isinstance(value, dict):
        return {str(key): plain(one) for key, one in sorted(value.items(), key=lambda pair: str(pair[0]))}
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, (set, frozenset)):
        return sorted(plain(one) for one in value)
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, (str, int, float, bool)) or value is None:
        return value
    if hasattr(value, "to_numpy") and hasattr(value, "columns"):
        return {"index": plain(value.index.to_numpy()), "columns": {str(name): plain(value[name].to_numpy()) for name in value.columns}}
    if hasattr(value, "toarray"):
        return plain(value.toarray())
    return str(value)


def digest(value):
    return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]


def see(label, value):
    SEEN.append((label, plain(value)))


def fails(label, call):
    """What a call fails with: the type, and the words that programs look for."""
    try:
        call()
    except Exception as error:
        import tiledb

        words = [word for word in ("does not exist", "already exists", "out of bounds", "out of domain") if word in str(error)]
        kind = "TileDBError" if isinstance(error, tiledb.TileDBError) else type(error).__name__
        SEEN.append((label, ["fails", kind, words]))
    else:
        SEEN.append((label, ["does not fail"]))


def schemas(folder):
    """The schemas and the metadata of all arrays and groups below a folder."""
    import tiledb

    found = []

    def look(uri, kind):
        name = os.path.relpath(uri.removeprefix("file://"), folder)
        if kind == "array":
            with tiledb.open(uri) as array:
                shape = [(dim.name, str(dim.dtype), plain(dim.domain), plain(dim.tile)) for dim in
                         (array.schema.domain.dim(at) for at in range(array.schema.domain.ndim))]
                attrs = [(attr.name, str(attr.dtype), attr.isvar, attr.isnullable, plain(attr.fill) if not attr.isvar else None,
                          [type(one).__name__ for one in attr.filters])
                         for attr in (array.schema.attr(at) for at in range(array.schema.nattr))]
                meta = {key: array.meta[key] for key in array.meta.keys()}
                found.append((name, kind, array.schema.sparse, array.schema.cell_order, array.schema.tile_order, shape, attrs,
                              plain(timeless(meta)), plain(array.nonempty_domain())))
        else:
            with tiledb.Group(uri) as group:
                members = sorted(
                    (str(one.name), os.path.relpath(one.uri.removeprefix("file://"), folder), one.type.__name__) for one in group
                )
                found.append((name, kind, members, plain(timeless({key: group.meta[key] for key in group.meta.keys()}))))

    tiledb.walk(folder, look)
    # Names that are drawn anew each time.
    see("schemas", sorted(re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "a name", repr(one)) for one in found))


def timeless(meta):
    return {key: "a time" if "time" in str(key).lower() or "date" in str(key).lower() else value for key, value in meta.items()}


def bioimg_make(folder):
    import tifffile
    import tiledb
    from PIL import Image
    from tiledb.bioimg.converters.ome_tiff import OMETiffConverter
    from tiledb.bioimg.converters.png import PNGConverter

    rng = np.random.default_rng(7)
    image = rng.integers(0, 255, (3, 120, 200), dtype="u1")
    tifffile.imwrite(f"{folder}/a.ome.tiff", image, photometric="minisblack", metadata={"axes": "CYX"})
    OMETiffConverter.to_tiledb(f"{folder}/a.ome.tiff", f"{folder}/tiff")
    for name, options in (("chunked", {"chunked": True, "max_workers": 2}), ("small", {"tiles": {"X": 64, "Y": 32}})):
        OMETiffConverter.to_tiledb(f"{folder}/a.ome.tiff", f"{folder}/{name}", **options)
    Image.fromarray(rng.integers(0, 255, (60, 80, 3), dtype="u1")).save(f"{folder}/b.png")
    PNGConverter.to_tiledb(f"{folder}/b.png", f"{folder}/png")
    webp = tiledb.WebpFilter(lossless=True, quality=100)
    PNGConverter.to_tiledb(f"{folder}/b.png", f"{folder}/webp", compressor=webp, preserve_axes=False)
    fails("again", lambda: OMETiffConverter.to_tiledb(f"{folder}/a.ome.tiff", f"{folder}/tiff"))


def bioimg_look(folder):
    from tiledb.bioimg.openslide import TileDBOpenSlide

    for name in ("tiff", "chunked", "small", "png", "webp"):
        slide = TileDBOpenSlide(f"{folder}/{name}")
        see(f"{name} slide", [slide.level_count, slide.dimensions, slide.level_dimensions])
        see(f"{name} region", slide.read_region((5, 7), 0, (30, 20)))
        see(f"{name} level", slide.read_level(0))
    fails("no slide", lambda: TileDBOpenSlide(f"{folder}/nothing"))
    schemas(folder)


def segy_make(folder):
    import segyio
    from tiledb.segy.convert import ExtendedSegyFile, SegyFileConverter

    spec = segyio.spec()
    spec.sorting, spec.format, spec.samples = 2, 1, np.arange(20)
    spec.ilines, spec.xlines = np.arange(1, 6), np.arange(10, 14)
    path = f"{folder}/cube.sgy"
    with segyio.create(path, spec) as out:
        at = 0
        for iline in spec.ilines:
            for xline in spec.xlines:
                out.header[at] = {segyio.su.offset: 1, segyio.su.iline: int(iline), segyio.su.xline: int(xline)}
                out.trace[at] = np.linspace(iline, xline, 20, dtype="f4")
                at += 1
        out.bin.update(tsort=segyio.TraceSortingFormat.INLINE_SORTING)
    for name, structured in (("structured", True), ("flat", False)):
        with segyio.open(path, strict=structured) as read:
            read.__class__ = ExtendedSegyFile
            SegyFileConverter(read, tile_size=4096).to_tiledb(f"{folder}/{name}")


def segy_look(folder):
    import tiledb.segy

    for name, structured in (("structured", True), ("flat", False)):
        with tiledb.segy.open(f"{folder}/{name}") as opened:
            see(f"{name} traces", np.stack([np.asarray(opened.trace[at]) for at in range(len(opened.trace))]))
            see(f"{name} header", [dict((str(key), int(value)) for key, value in opened.header[at].items()) for at in (0, 7)])
            see(f"{name} samples", np.asarray(opened.samples))
            see(f"{name} text", str(opened.text[0])[:200])
            see(f"{name} depth", np.asarray(opened.depth_slice[3]))
            if structured:
                see("lines", [np.asarray(opened.iline[2]), np.asarray(opened.xline[11])])
                see("cube", opened.cube())
                see("gather", np.asarray(opened.gather[2, 11]))
    fails("nothing there", lambda: tiledb.segy.open(f"{folder}/nothing"))
    schemas(folder)


def cf_make(folder):
    import netCDF4
    import tiledb
    import tiledb.cf
    import xarray

    path = f"{folder}/a.nc"
    rng = np.random.default_rng(3)
    with netCDF4.Dataset(path, "w") as data:
        data.title = "a title"
        for name, size in (("time", None), ("lat", 6), ("lon", 8)):
            data.createDimension(name, size)
        for name, size in (("time", 4), ("lat", 6), ("lon", 8)):
            variable = data.createVariable(name, "f8", (name,))
            variable[:] = np.linspace(0, 10, size)
            variable.units = f"unit of {name}"
        heat = data.createVariable("heat", "f4", ("time", "lat", "lon"), fill_value=-1.0)
        heat[:] = rng.random((4, 6, 8)).astype("f4")
        heat.setncattr("levels", np.array([1, 2, 3], dtype="i4"))
        count = data.createVariable("count", "i4", ("lat", "lon"))
        count[:] = rng.integers(0, 9, (6, 8))
        data.createVariable("scalar", "i2", ())[:] = 7
    tiledb.cf.from_netcdf(path, f"{folder}/group")
    tiledb.cf.from_netcdf(path, f"{folder}/coords", coords_to_dims=True, unlimited_dim_size=100)
    creator = tiledb.cf.DataspaceCreator()
    creator.add_shared_dim("row", (0, 9), np.uint32)
    creator.add_shared_dim("col", (0, 4), np.uint32)
    creator.add_array_creator("grid", ("row", "col"), tiles=(5, 5))
    creator.add_attr_creator("a", "grid", np.float64)
    creator.create_group(f"{folder}/created")
    with tiledb.cf.open_group_array(tiledb.Group(f"{folder}/created", "r"), attr="a", mode="w") as array:
        array[:, :] = np.arange(50.0).reshape(10, 5)
    frame = xarray.Dataset({"x": (("r", "c"), np.arange(12.0).reshape(3, 4))}, {"r": np.arange(3), "c": np.arange(4)}, {"note": "kept"})
    tiledb.cf.from_xarray(frame, f"{folder}/xarray")
    fails("again", lambda: creator.create_group(f"{folder}/created"))


def cf_look(folder):
    import tiledb
    import tiledb.cf
    import xarray

    with tiledb.Group(f"{folder}/group") as group:
        see("members", sorted(str(one.name) for one in group))
    for name in ("heat",):
        with tiledb.cf.open_group_array(tiledb.Group(f"{folder}/group"), attr=name) as array:
            see(name, array[:4, :, :])
            see(f"{name} attributes", dict(tiledb.cf.AttrMetadata(array.meta, name)))
    with tiledb.cf.open_group_array(tiledb.Group(f"{folder}/created"), attr="a") as array:
        see("created", array[:, :])
    back = xarray.open_dataset(f"{folder}/xarray", engine="tiledb")
    see("xarray", {name: back[name].values for name in back.variables})
    see("xarray attributes", dict(back.attrs))
    see("xarray part", back["x"][1:, ::2].values)
    fails("nothing there", lambda: xarray.open_dataset(f"{folder}/nothing", engine="tiledb"))
    schemas(folder)


def cf_change(folder):
    import tiledb
    import tiledb.cf

    with tiledb.cf.open_group_array(tiledb.Group(f"{folder}/created"), attr="a", mode="w") as array:
        array[3:7, 1:4] = -np.arange(12.0).reshape(4, 3)
        tiledb.cf.AttrMetadata(array.meta, "a")["unit"] = "metre"
    with tiledb.Group(f"{folder}/created", "w") as group:
        group.meta["changed"] = 1


def _experiments():
    import anndata
    import pandas as pd
    import scipy.sparse

    made = []
    for at, cells in enumerate((30, 20)):
        counts = scipy.sparse.random(cells, 15, density=0.3, format="csr", random_state=at, dtype="f4")
        counts.data = np.ceil(counts.data * 9).astype("f4")
        obs = pd.DataFrame({"kind": [f"k{one % 3}" for one in range(cells)]}, index=[f"c{at}_{one}" for one in range(cells)])
        var = pd.DataFrame({"names": [f"g{one + at * 3}" for one in range(15)]}, index=[f"g{one + at * 3}" for one in range(15)])
        made.append(anndata.AnnData(X=counts, obs=obs, var=var, layers={"counts": counts}))
    return made


def cellarr_make(folder):
    import cellarr as ca
    import cellarr_array
    import pandas as pd
    import scipy.sparse

    made = _experiments()
    os.mkdir(f"{folder}/whole")
    dataset = ca.build_cellarrdataset(
        output_path=f"{folder}/whole", files=made, gene_annotation_options=ca.GeneAnnotationOptions(feature_column="names"),
        sample_metadata=pd.DataFrame({"sample": ["one", "two"], "age": [3, 4]}),
        matrix_options=ca.MatrixOptions(matrix_name="counts", dtype=np.float32), num_threads=1)
    del dataset
    dense = cellarr_array.create_cellarray(f"{folder}/dense", shape=(20, 6), attr_dtype=np.float32, sparse=False)
    dense.write_batch(np.arange(60, dtype="f4").reshape(10, 6), start_row=5)
    sparse = cellarr_array.create_cellarray(f"{folder}/sparse", shape=(20, 6), attr_dtype=np.float32, sparse=True)
    sparse.write_batch(scipy.sparse.random(10, 6, 0.5, format="csr", random_state=1, dtype="f4"), start_row=5)
    fails("again", lambda: cellarr_array.create_cellarray(f"{folder}/dense", shape=(20, 6), attr_dtype=np.float32, sparse=False))


def cellarr_look(folder):
    import cellarr as ca
    import cellarr_array
    import tiledb

    read = ca.CellArrDataset(dataset_path=f"{folder}/whole", assay_uri="counts")
    see("shape", read.shape)
    see("cells", read.get_cell_subset(slice(0, 12)))
    see("genes", read.get_gene_subset(slice(0, 9)))
    see("samples", read.get_sample_subset(slice(0, 1)))
    see("gene column", read.get_gene_annotation_column("cellarr_gene_index"))
    part = read[3:40, [f"g{one}" for one in (1, 4, 9)]]
    see("part", {name: matrix for name, matrix in part.matrix.items()})
    see("part's cells", part.cell_metadata)
    see("a sample", read.get_cells_for_sample(1).shape)
    see("dense", cellarr_array.DenseCellArray(f"{folder}/dense")[2:12, 1:4])
    see("dense lists", cellarr_array.DenseCellArray(f"{folder}/dense")[[2, 6, 9], 0:3])
    see("sparse", cellarr_array.SparseCellArray(f"{folder}/sparse")[2:12, 1:4])
    fails("nothing there", lambda: cellarr_array.DenseCellArray(f"{folder}/nothing").shape)
    see("fragments", len(tiledb.array_fragments(f"{folder}/sparse")))
    schemas(folder)


def cellarr_change(folder):
    import cellarr_array
    import scipy.sparse
    from cellarr_array.utils.config import ConsolidationConfig

    cellarr_array.DenseCellArray(f"{folder}/dense", mode="w").write_batch(-np.ones((3, 6), dtype="f4"), start_row=9)
    sparse = cellarr_array.SparseCellArray(f"{folder}/sparse", mode="w")
    sparse.write_batch(scipy.sparse.random(4, 6, 0.5, format="csr", random_state=2, dtype="f4"), start_row=9)
    # libtiledb would allocate 15 GB of buffers with the usual settings.
    sparse.consolidate(ConsolidationConfig(buffer_size=100_000_000, total_budget=2_000_000_000))
    sparse.vacuum()


LENGTHS = {"I": 200, "II": 90}


def ranges_of_features():
    import pandas as pd
    import pyranges

    return pyranges.PyRanges(pd.DataFrame({"Chromosome": ["I", "I", "II"], "Start": [5, 30, 8], "End": [25, 50, 28]}))


def momics_make(folder):
    import pyBigWig
    from momics.momics import Momics

    lengths = LENGTHS
    rng = np.random.default_rng(5)
    for name in ("a", "b"):
        with pyBigWig.open(f"{folder}/{name}.bw", "w") as file:
            file.addHeader(list(lengths.items()))
            for chrom, length in lengths.items():
                file.addEntries(chrom, 0, values=rng.random(length).astype("f8").tolist(), span=1, step=1)
    with open(f"{folder}/g.fa", "w") as file:
        for chrom, length in lengths.items():
            file.write(f">{chrom}\n{''.join(rng.choice(list('ACGT'), length))}\n")
    path = f"{folder}/repo"
    repo = Momics(path)
    repo.ingest_chroms(lengths, genome_version="G1")
    repo.ingest_tracks({"a": f"{folder}/a.bw"})
    repo.ingest_tracks({"b": f"{folder}/b.bw"})
    repo.ingest_sequence(f"{folder}/g.fa")
    repo.ingest_features({"f": ranges_of_features()})
    fails("twice", lambda: repo.ingest_tracks({"b": f"{folder}/b.bw"}))


def momics_look(folder):
    from momics.momics import Momics
    from momics.query import MomicsQuery

    repo, ranges = Momics(f"{folder}/repo"), ranges_of_features()
    see("chroms", repo.chroms())
    see("tracks", repo.tracks())
    see("sequences", repo.seq())
    see("features", repo.features())
    for chrom in LENGTHS:
        see(f"track {chrom}", repo.tracks("b")[chrom])
    query = MomicsQuery(repo, ranges).query_tracks()
    coverage = query.coverage.items()
    see("coverage", {name: {at: np.asarray(values, dtype="f8") for at, values in track.items()} for name, track in coverage})
    query = MomicsQuery(repo, ranges).query_sequence()
    see("sequence", {name: {where: str(values) for where, values in track.items()} for name, track in query.seq.items()})
    see("feature f", repo.features("f").df if hasattr(repo.features("f"), "df") else repo.features("f"))
    see("size", repo.size() > 0)
    see("manifest", sorted(repo.manifest()))
    schemas(folder)


def momics_change(folder):
    from momics.momics import Momics

    repo = Momics(f"{folder}/repo")
    repo.consolidate(vacuum=True)
    repo.remove_track("a")


def momics_end(folder):
    from momics.momics import Momics

    see("removed", Momics(f"{folder}/repo").remove())
    see("left", os.path.exists(f"{folder}/repo"))


def radiobject_make(folder):
    import nibabel
    from radiobject import RadiObject, Volume

    rng = np.random.default_rng(11)
    files = []
    for subject in ("s1", "s2", "s3"):
        data = rng.integers(0, 500, (12, 10, 8)).astype("i2")
        path = f"{folder}/{subject}_T1.nii.gz"
        nibabel.save(nibabel.Nifti1Image(data, np.diag([1.0, 1.0, 2.0, 1.0])), path)
        files.append((path, subject))
    made = RadiObject.from_niftis(f"{folder}/study", images={"T1": files}, progress=False)
    see("subjects", made.obs_subject_ids)
    see("collections", made.collection_names)
    Volume.from_numpy(f"{folder}/volume", np.arange(60, dtype="f4").reshape(3, 4, 5))
    fails("again", lambda: Volume.from_numpy(f"{folder}/volume", np.zeros((3, 4, 5), "f4")))


def radiobject_look(folder):
    import tiledb
    from radiobject import RadiObject, Volume

    read = RadiObject(f"{folder}/study")
    collection = read.collection("T1")
    see("ids", sorted(collection.obs_ids))
    for name in sorted(collection.obs_ids):
        volume = collection[name]
        see(f"{name} shape", volume.shape)
        see(f"{name} whole", volume.to_numpy())
        see(f"{name} axial", volume.axial(3))
        see(f"{name} statistics", {key: round(float(value), 9) for key, value in volume.get_statistics().items()})
    see("rows", read.obs_meta.read() if hasattr(read.obs_meta, "read") else read.obs_meta)
    see("head", read.head(2).obs_subject_ids)
    see("filtered", read.filter("obs_subject_id == 's2'").obs_subject_ids)
    if os.path.exists(f"{folder}/part"):
        see("materialized", RadiObject(f"{folder}/part").obs_subject_ids)
    read.validate()
    see("volume", Volume(f"{folder}/volume")[0:2, 1:3, 2:5])
    fails("nothing there", lambda: Volume(f"{folder}/nothing").shape)
    fails("no such id", lambda: collection["nobody"])
    with tiledb.Group(f"{folder}/study") as group:
        see("group", sorted(str(one.name) for one in group))


def radiobject_change(folder):
    from radiobject import RadiObject

    RadiObject(f"{folder}/study").filter("obs_subject_id != 's2'").materialize(f"{folder}/part")


def dask_make(folder):
    import dask.array as da
    import tiledb

    numbers = da.from_array(np.arange(120.0).reshape(10, 12), chunks=(5, 6))
    da.to_tiledb(numbers, f"{folder}/a")
    da.to_tiledb(numbers * 2, f"{folder}/b", compute=True, storage_options={"sm.memory_budget": "100000000"})
    fails("again", lambda: da.to_tiledb(numbers, f"{folder}/a"))
    fails("irregular", lambda: da.to_tiledb(da.from_array(np.zeros(7), chunks=((3, 4),)), f"{folder}/d"))
    with tiledb.from_numpy(f"{folder}/c", np.arange(9, dtype="i4").reshape(3, 3)) as array:
        see("given", da.from_tiledb(array).compute())


def dask_look(folder):
    import dask.array as da

    back = da.from_tiledb(f"{folder}/a")
    see("back", [str(back.dtype), back.shape, back.chunks])
    see("sum", float(back.sum().compute()))
    see("part", back[2:7, ::3].compute())
    see("twice", da.from_tiledb(f"{folder}/b", chunks=(10, 3)).mean(axis=0).compute())
    fails("nothing there", lambda: da.from_tiledb(f"{folder}/nothing"))
    schemas(folder)


#: Kinds of indexes: what ingestion is told, and what queries are told, so that they look at all lists.
INDEXES = {
    "FLAT": ({}, {}),
    "IVF_FLAT": ({"partitions": 5}, {"nprobe": 5}),
    "VAMANA": ({}, {}),
    "IVF_PQ": ({"partitions": 5, "num_subspaces": 4}, {"nprobe": 5, "k_factor": 50.0}),
}


def vector_classes():
    # Its modules use a name that numpy has no more. Its compiled part brings a libtiledb of its own.
    np.in1d = np.isin
    import tiledb.vector_search as vs

    return {"FLAT": vs.FlatIndex, "IVF_FLAT": vs.IVFFlatIndex, "VAMANA": vs.VamanaIndex, "IVF_PQ": vs.IVFPQIndex}


def vectors_of_index():
    return np.random.default_rng(11).random((200, 8), dtype="f4")


def vector_search_make(folder):
    vector_classes()
    from tiledb.vector_search.ingestion import ingest

    vectors = vectors_of_index()
    ids = np.arange(1000, 1200, dtype="u8")
    for kind, (more, lists) in INDEXES.items():
        uri = f"{folder}/{kind}"
        index = ingest(index_type=kind, index_uri=uri, input_vectors=vectors, external_ids=ids, index_timestamp=10, **more)
        see(f"{kind} size", [index.size, index.dimensions, str(index.dtype)])
        see(f"{kind} nearest", index.query(vectors[:6], k=4, **lists))
        index.update(vector=vectors[3] + 1, external_id=np.uint64(5000), timestamp=20)
        index.update_batch(
            vectors=object_of(vectors[:2] + 2), external_ids=np.array([5001, 5002], dtype="u8"), timestamp=21
        )


def vector_search_look(folder):
    classes, vectors = vector_classes(), vectors_of_index()
    import tiledb.vector_search as vs

    for kind, (_, lists) in INDEXES.items():
        uri, kept = f"{folder}/{kind}", classes[kind]
        for time in (10, 20, 22, None):
            opened = kept(uri) if time is None else kept(uri, timestamp=time)
            see(f"{kind} at {time}", opened.query(vectors[:6], k=2, **lists))
        see(f"{kind} further", kept(uri).query(vectors[:6] + 1, k=2, **lists))
        see(f"{kind} opened", type(vs.open(uri)).__name__)
        fails(f"{kind} of another shape", lambda: kept(uri).query(vectors[:1, :3], k=1))
    schemas(folder)


def vector_search_change(folder):
    for kind, kept in vector_classes().items():
        index = kept(f"{folder}/{kind}")
        index.delete(external_id=np.uint64(1001), timestamp=22)
        index.delete_batch(external_ids=np.array([1002, 1003], dtype="u8"), timestamp=23)
        kept(f"{folder}/{kind}").consolidate_updates()


def vector_search_end(folder):
    vector_classes()
    import tiledb.vector_search as vs

    vs.Index.delete_index(f"{folder}/FLAT", config={})
    fails("deleted", lambda: vs.open(f"{folder}/FLAT"))
    see("left", sorted(os.listdir(folder)))


def object_of(vectors):
    """Vectors as an array of objects, one each."""
    made = np.empty(len(vectors), dtype="O")
    made[:] = list(vectors)
    return made


def old_names():
    """Gives the genuine module names that releases of TileDB-Py up to 0.32 had, and that some programs still use."""
    import types

    import tiledb

    # A module of its own, which programs find by its name: TileDB-Py's own modules keep the true one.
    old = types.ModuleType("tiledb.cc")
    vars(old).update({name: one for name, one in vars(tiledb.libtiledb).items() if not name.startswith("__")})
    old.Array, old.Metadata, old.Query, old.Context = tiledb.Array, tiledb.Metadata, tiledb.Query, tiledb.Ctx
    tiledb.libtiledb = tiledb.cc = old
    kept = tiledb.Array.meta.fget

    def meta(array):
        made = kept(array)
        made.array = array
        return made

    tiledb.Array.meta = property(meta)


def main():
    program, folder, *rest = sys.argv[1:]
    if "--old-names" in rest:
        rest.remove("--old-names")
        old_names()
    os.makedirs(folder, exist_ok=True)
    folder = os.path.realpath(folder)
    for phase in rest or PHASES:
        begun = len(SEEN)
        kind = phase.partition("-")[0]
        globals().get(f"{program}_{kind}", lambda folder: None)(folder)
        for label, value in SEEN[begun:]:
            # Each side has a folder of its own. Programs may leave a line unfinished.
            print(f"\nvalue\t{phase}: {label}\t{json.dumps(value).replace(folder, 'FOLDER')}")


if __name__ == "__main__":
    main()
