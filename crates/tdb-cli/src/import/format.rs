//! The formats of files.

use std::path::Path;

use clap::ValueEnum;

/// A supported file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FileFormat {
    /// Values separated by commas, with a header.
    Csv,
    /// Values separated by tabulators, with a header.
    Tsv,
    /// Objects in JSON, one on each line.
    #[value(alias = "jsonl")]
    Ndjson,
    /// Objects in JSON, in a list or one after the other.
    Json,
    /// A `NumPy` array.
    Npy,
    /// Parquet.
    #[value(alias = "pq")]
    Parquet,
    /// An Arrow IPC file, also called Feather.
    #[value(aliases = ["feather", "ipc"])]
    Arrow,
    /// An Arrow IPC stream.
    Arrows,
    /// A folder of Zarr.
    Zarr,
}

impl FileFormat {
    /// The format that the ending of a file's name says, before that of a compression.
    pub(super) fn of_name(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").or_else(|| name.strip_suffix(".zst")).unwrap_or(&name);
        match name.rsplit_once('.')?.1 {
            "csv" => Some(Self::Csv),
            "tsv" | "tab" => Some(Self::Tsv),
            "ndjson" | "jsonl" => Some(Self::Ndjson),
            "json" => Some(Self::Json),
            "npy" => Some(Self::Npy),
            "parquet" | "pq" => Some(Self::Parquet),
            "arrow" | "feather" | "ipc" => Some(Self::Arrow),
            "arrows" => Some(Self::Arrows),
            "zarr" => Some(Self::Zarr),
            _ => None,
        }
    }
}

/// Files that are not read, by the endings of their names, and how they become some that are.
const OTHERS: [(&[&str], &str); 8] = [
    (
        &["bz2", "xz", "lzma", "lz4", "br", "zip", "7z", "tar", "tgz", "snappy"],
        "this is compressed in a way that is not read (.gz and .zst are): unpack it first, as in bunzip2 --stdout FILE | tdb import ARRAY - --format csv",
    ),
    (
        &["xlsx", "xls", "xlsm", "ods"],
        "this is a spreadsheet: save each of its sheets as CSV, and import that",
    ),
    (
        &["h5", "hdf5", "he5", "nc", "nc4"],
        "this is no table: in Python, tdb.from_numpy makes an array of what h5py reads, and Dataset.tdb.to_tdb of what xarray does",
    ),
    (&["npz"], "this is an archive of NPY files: unzip it, and import each of them"),
    (
        &["pkl", "pickle", "rds", "rdata", "sav", "dta", "sas7bdat", "orc", "avro", "mat"],
        "only the program that wrote this reads it well: let that write Parquet or CSV, and import that",
    ),
    (
        &["db", "sqlite", "sqlite3", "duckdb", "mdb"],
        "this is a database: let it write a table as CSV or Parquet, and import that",
    ),
    (
        &["geojson"],
        "this is one object of JSON with a list inside: jq --compact-output .features[] FILE | tdb import ARRAY - --format ndjson",
    ),
    (
        &["txt", "dat", "log", "data", "psv"],
        "--format csv reads lines of cells, with --delimiter '|', tab or ' ' between them",
    ),
];

/// What to do with a file whose name does not say one of the formats.
pub(super) fn unknown(path: &Path) -> String {
    const NEEDED: &str = "--format csv, tsv, ndjson, json, npy, parquet, arrow, arrows or zarr is needed";
    if path.is_dir() {
        let shown = path.display();
        return format!(
            "this is a folder: a pattern in quotes names the files in it, as '{shown}/*.csv' or '{shown}/**/*.parquet'; if names of \
             folders are columns (year=2024), tdb sql reads them: COPY (FROM '{shown}/**/*.parquet') TO 'ARRAY' STORED AS TILEDB"
        );
    }
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let known =
        OTHERS.iter().find(|(endings, _)| ending.as_deref().is_some_and(|own| endings.contains(&own)));
    match known {
        Some((_, what)) if what.starts_with("--format") => format!("{NEEDED}; {what}"),
        Some((_, what)) => (*what).to_owned(),
        None => NEEDED.to_owned(),
    }
}
