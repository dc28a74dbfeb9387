//! The file that `tdb import` reads: a table of rows, or an array in the NPY format.

use std::io::Read;

use tdb_text::suggest::hint;

use super::args::ImportArgs;
use super::format::FileFormat;
use super::input::Input;
use super::notation::{Kind, Notation};
use super::npy::Npy;
use super::tables::Tables;
use crate::failure::Result;

/// The contents of a file.
pub(super) enum Source {
    Table(Box<Tables>),
    Npy(Npy),
}

impl ImportArgs {
    /// Opens the file.
    pub(super) fn source(&self) -> Result<Source> {
        let needed = "--format csv, tsv, ndjson, json, npy, parquet, arrow or arrows is needed";
        let format = self.file_format().ok_or_else(|| self.usage(needed))?;
        if self.memory.is_some() {
            return Err(self.usage("--memory is only for Parquet and Arrow files"));
        }
        self.refuse_what_is_for_text(format)?;
        let notation = Notation {
            kind: match format {
                FileFormat::Csv => Kind::Delimited(self.text.dialect(',').map_err(|why| self.usage(why))?),
                FileFormat::Tsv => Kind::Delimited(self.text.dialect('\t').map_err(|why| self.usage(why))?),
                FileFormat::Json => Kind::Json,
                _ => Kind::Ndjson,
            },
            nulls: self.text.nulls(),
            choice: self.text.choice(),
            dates: self.text.dates().map_err(|why| self.usage(why))?,
        };
        let input = Input::new(&self.file).map_err(|error| self.wrong(error))?;
        let source = if format == FileFormat::Npy {
            let mut bytes = Vec::new();
            let read = input.open().and_then(|mut file| file.read_to_end(&mut bytes));
            read.map_err(|error| self.wrong(error))?;
            Npy::parse(bytes).map(Source::Npy)
        } else {
            Tables::new(input, notation).map(|tables| Source::Table(Box::new(tables)))
        };
        let source = source.map_err(|error| self.wrong(error))?;
        if let Source::Table(tables) = &source {
            let names = tables.first().names();
            if let Some(name) = tables.dates().names().find(|name| !names.iter().any(|known| known == name)) {
                let hint = hint(name, names.iter().map(String::as_str));
                let all = names.join(", ");
                return Err(
                    self.usage(format!("--date-format: there is no column {name:?} (there are {all}){hint}"))
                );
            }
        }
        Ok(source)
    }
}
