//! The tables of a file, batch after batch.

use std::io::BufRead;

use super::csv::CsvReader;
use super::input::Input;
use super::ndjson::NdjsonReader;
use super::table::Table;
use crate::failure::Failure;

/// How much text the first batch has, from which the types of columns are inferred.
const SAMPLE: usize = 4 << 20;
/// How much text the other batches have.
const BATCH: usize = 2 << 20;

/// How the rows of a file are written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Notation {
    /// Lines of cells with this character between them.
    Delimited(char),
    /// Objects in JSON.
    Ndjson,
}

/// A table in a file, of which the first rows are in memory.
#[derive(Debug)]
pub(super) struct Tables {
    input: Input,
    notation: Notation,
    first: Table,
    /// Whether the first rows are all of them.
    whole: bool,
}

/// The rows of a file, from the first to the last.
enum Reader {
    Csv(CsvReader),
    Ndjson(NdjsonReader),
}

impl Reader {
    fn new(file: Box<dyn BufRead + Send>, notation: Notation) -> Self {
        match notation {
            Notation::Delimited(delimiter) => Self::Csv(CsvReader::new(file, delimiter)),
            Notation::Ndjson => Self::Ndjson(NdjsonReader::new(file)),
        }
    }

    /// The next rows, with about this much text; `None` after the last one.
    fn next(&mut self, text: usize) -> Result<Option<Table>, String> {
        match self {
            Self::Csv(reader) => reader.next(text),
            Self::Ndjson(reader) => reader.next(text),
        }
    }
}

impl Tables {
    /// Reads the first rows, of which there must be some.
    pub(super) fn new(input: Input, notation: Notation) -> Result<Self, String> {
        let file = input.open().map_err(|error| error.to_string())?;
        let mut reader = Reader::new(file, notation);
        let first = reader.next(SAMPLE)?.ok_or("there are no cells")?;
        let whole = reader.next(1)?.is_none();
        Ok(Self { input, notation, first, whole })
    }

    /// The first rows.
    pub(super) const fn first(&self) -> &Table {
        &self.first
    }

    /// Whether the first rows are all rows.
    pub(super) const fn is_whole(&self) -> bool {
        self.whole
    }

    /// Visits all rows, batch after batch. `wrong` makes a failure of what is wrong with the file.
    pub(super) fn for_each(
        &self,
        wrong: &dyn Fn(String) -> Failure,
        visit: &mut dyn FnMut(&Table) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.whole {
            return visit(&self.first);
        }
        let file = self.input.open().map_err(|error| wrong(error.to_string()))?;
        let mut reader = Reader::new(file, self.notation);
        while let Some(table) = reader.next(BATCH).map_err(wrong)? {
            visit(&table)?;
        }
        Ok(())
    }
}
