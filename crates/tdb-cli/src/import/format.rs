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
            "npy" => Some(Self::Npy),
            "parquet" | "pq" => Some(Self::Parquet),
            "arrow" | "feather" | "ipc" => Some(Self::Arrow),
            "arrows" => Some(Self::Arrows),
            _ => None,
        }
    }
}

/// One character, or a word for a tabulator.
pub(super) fn parse_delimiter(text: &str) -> Result<char, String> {
    let mut chars = text.chars();
    match (text, chars.next(), chars.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        (_, Some(c), None) if !matches!(c, '"' | '\r' | '\n') => Ok(c),
        _ => Err("a single character is needed, other than a quote and the end of a line".to_owned()),
    }
}
