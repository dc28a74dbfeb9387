//! The file that `tdb import` reads: a table of rows, or an array in the NPY format.

use std::io::Read;

use tdb_text::suggest::hint;

use super::args::{ImportArgs, shown};
use super::format::{self, FileFormat};
use super::notation::{Kind, Notation};
use super::npy::Npy;
use super::tables::{Tables, TextFile};
use crate::failure::Result;
use crate::place::Stores;

/// The contents of a file.
pub(super) enum Source {
    Table(Box<Tables>),
    Npy(Npy),
}

impl ImportArgs {
    /// Opens the file.
    pub(super) fn source(&self, stores: &Stores) -> Result<Source> {
        let format = self.file_format().ok_or_else(|| {
            self.usage(self.files().first().map_or_else(String::new, |file| format::unknown(file)))
        })?;
        if self.memory.is_some() {
            return Err(self.usage("--memory is only for Parquet and Arrow files, and for Zarr"));
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
            encoding: self.text.encoding(),
            dates: self.text.dates().map_err(|why| self.usage(why))?,
        };
        let mut inputs = Vec::with_capacity(self.files().len());
        for file in self.files() {
            let name = (self.files().len() > 1).then(|| shown(file).display().to_string().into());
            inputs.push(TextFile { name, input: self.input(file, stores)? });
        }
        if format == FileFormat::Npy {
            let [file] = inputs.as_slice() else {
                return Err(self.usage("NPY files are imported one at a time"));
            };
            let mut bytes = Vec::new();
            let read = file.input.open().and_then(|mut file| file.read_to_end(&mut bytes));
            read.map_err(|error| self.wrong(error))?;
            return Npy::parse(bytes).map(Source::Npy).map_err(|error| self.wrong(error));
        }
        let tables = Tables::new(inputs, notation).map_err(|error| self.wrong(error))?;
        if let Some(name) = tables.lacks(tables.dates().names()) {
            let names = tables.first()?.names();
            let hint = hint(name, names.iter().map(String::as_str));
            let all = names.join(", ");
            return Err(
                self.usage(format!("--date-format: there is no column {name:?} (there are {all}){hint}"))
            );
        }
        Ok(Source::Table(Box::new(tables)))
    }
}
