//! The file that `tdb import` reads: a table of rows, or an array in the NPY format.

use std::io::Read;

use super::args::ImportArgs;
use super::format::FileFormat;
use super::input::Input;
use super::npy::Npy;
use super::tables::{Notation, Tables};
use crate::failure::Result;

/// The contents of a file.
pub(super) enum Source {
    Table(Tables),
    Npy(Npy),
}

impl ImportArgs {
    /// Opens the file.
    pub(super) fn source(&self) -> Result<Source> {
        let needed = "--format csv, tsv, ndjson, npy, parquet, arrow or arrows is needed";
        let format = self.file_format().ok_or_else(|| self.usage(needed))?;
        if self.memory.is_some() {
            return Err(self.usage("--memory is only for Parquet and Arrow files"));
        }
        let notation = match (format, self.delimiter) {
            (FileFormat::Csv, given) => Notation::Delimited(given.unwrap_or(',')),
            (FileFormat::Tsv, given) => Notation::Delimited(given.unwrap_or('\t')),
            (_, None) => Notation::Ndjson,
            (_, Some(_)) => return Err(self.usage("--delimiter is only for CSV files")),
        };
        let input = Input::new(&self.file).map_err(|error| self.wrong(error))?;
        let source = if format == FileFormat::Npy {
            let mut bytes = Vec::new();
            let read = input.open().and_then(|mut file| file.read_to_end(&mut bytes));
            read.map_err(|error| self.wrong(error))?;
            Npy::parse(bytes).map(Source::Npy)
        } else {
            Tables::new(input, notation).map(Source::Table)
        };
        source.map_err(|error| self.wrong(error))
    }
}
