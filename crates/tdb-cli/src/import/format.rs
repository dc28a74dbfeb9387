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
            _ => None,
        }
    }
}
