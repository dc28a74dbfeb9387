//! Cells as the bytes of a chunk.

use core::ops::Range;

use bytes::Bytes;
use tdb_array::Column;
use tdb_array::schema::Physical;
use tdb_cells::OrInternal;
use tdb_cells::coordinate::integer;
use tdb_text::value::text_of;

use crate::form::{Form, Shown};
use crate::{Error, Result};

/// What of a field an array shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Its values.
    Values,
    /// Which of its cells have a value.
    Validity,
    /// Which of its cells have none.
    Nulls,
    /// Its values, with a mark in those cells that have none: NaN of a real number, of a time the
    /// lowest one, which is numpy's "not a time".
    Marked,
    /// Codes of so many categories, with -1 in those cells that have none, or no category. They are
    /// stored in another type if that has no -1.
    Codes {
        /// The type that they are stored in.
        stored: Physical,
        /// The number of categories.
        count: u64,
    },
}

/// What all chunks of an array have in common.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    /// The field, for messages.
    pub(crate) field: String,
    /// What of it.
    pub(crate) part: Part,
    /// How it is shown.
    pub(crate) shown: Shown,
    /// The bytes of a cell that was never written; if it has several equal values, of one.
    pub(crate) fill: Vec<u8>,
}

impl Content {
    /// A chunk that has no cells yet.
    pub(crate) fn encoder(&self) -> Encoder<'_> {
        let out = if self.shown.cell_bytes().is_none() { vec![0; 4] } else { Vec::new() };
        Encoder { content: self, out, cells: 0 }
    }

    /// Bytes that a cell takes in a chunk. Texts count as their fill value, and as eight at least.
    pub(crate) fn weight(&self) -> u64 {
        let bytes = self.shown.cell_bytes().unwrap_or_else(|| self.fill.len().saturating_add(4).max(8));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// The fill value in documents.
    pub(crate) fn fill_value(&self) -> serde_json::Value {
        self.shown.fill(&self.fill)
    }
}

/// A chunk that is being made, in C order: values back to back, or for texts and bytes of any
/// length their number, and before each its length, in four bytes each.
#[derive(Debug)]
pub(crate) struct Encoder<'c> {
    content: &'c Content,
    out: Vec<u8>,
    cells: usize,
}

impl Encoder<'_> {
    /// Adds cells of a column.
    pub(crate) fn take(&mut self, column: &Column, cells: Range<usize>) -> Result<()> {
        if let Part::Validity | Part::Nulls = self.content.part {
            let missing = "a nullable field has no validity";
            let validity = column.validity().or_internal(missing)?.get(cells).or_internal(missing)?;
            self.cells += validity.len();
            let has_value = self.content.part == Part::Validity;
            self.out.extend(validity.iter().map(|byte| u8::from((*byte != 0) == has_value)));
            return Ok(());
        }
        let Some(size) = self.content.shown.cell_bytes() else {
            for index in cells {
                let cell = column.cell(index).or_internal("a column has fewer cells than its box")?;
                self.push(if column.is_null(index) { &[] } else { cell })?;
            }
            return Ok(());
        };
        if let Part::Codes { stored, count } = self.content.part {
            self.cells += cells.len();
            for index in cells {
                let cell = column.cell(index).or_internal("a column has fewer cells than its box")?;
                let code = integer(cell, stored.is_signed_integer());
                let code = Some(code).filter(|code| (0..i128::from(count)).contains(code));
                let code = code.filter(|_| !column.is_null(index)).unwrap_or(-1).to_le_bytes();
                self.out.extend_from_slice(code.get(..size).or_internal("a code has 16 bytes or more")?);
            }
            return Ok(());
        }
        let start = self.out.len();
        let first = cells.start;
        let range = cells.start.checked_mul(size).zip(cells.end.checked_mul(size));
        let found = range.and_then(|(start, end)| column.bytes().get(start..end));
        let found = found.or_internal("a column has fewer cells than its box")?;
        self.cells += cells.len();
        if self.content.shown.form == Form::Bool {
            self.out.extend(found.iter().map(|byte| u8::from(*byte != 0)));
        } else {
            self.out.extend_from_slice(found);
        }
        if self.content.part == Part::Marked {
            let added = self.out.get_mut(start..).unwrap_or(&mut []).chunks_exact_mut(size);
            let nulls = added.enumerate().filter(|(at, _)| column.is_null(first + at));
            match self.content.shown.form {
                Form::Time { .. } => nulls.for_each(|(_, cell)| {
                    cell.chunks_exact_mut(8).for_each(|time| time.copy_from_slice(&i64::MIN.to_le_bytes()));
                }),
                _ => nulls.for_each(|(_, cell)| cell.fill(0xff)),
            }
        }
        Ok(())
    }

    /// Adds one cell.
    pub(crate) fn push(&mut self, cell: &[u8]) -> Result<()> {
        let text;
        let stored = match self.content.shown.form {
            Form::Text => {
                text = text_of(self.content.shown.datatype, cell).ok_or_else(|| Error::NotText {
                    field: self.content.field.clone(),
                    cell: self.cells,
                    datatype: self.content.shown.datatype.name(),
                })?;
                text.as_bytes()
            }
            _ => cell,
        };
        if self.content.shown.cell_bytes().is_none() {
            let len = u32::try_from(stored.len()).ok().or_internal("a cell has 4 GiB or more")?;
            self.out.extend(len.to_le_bytes());
        }
        self.out.extend_from_slice(stored);
        self.cells += 1;
        Ok(())
    }

    /// Adds cells with the fill value.
    pub(crate) fn pad(&mut self, cells: usize) -> Result<()> {
        if cells == 0 {
            return Ok(());
        }
        let content = self.content;
        let Some(size) = content.shown.cell_bytes() else {
            // A fill value that is no text pads, too: nobody sees what lies behind an array's end.
            let padded = text_of(content.shown.datatype, &content.fill).is_some();
            let fill =
                if padded || content.shown.form == Form::Bytes { content.fill.as_slice() } else { &[] };
            return (0..cells).try_for_each(|_| self.push(fill));
        };
        let fill = content.fill.as_slice();
        let is_value = content.shown.inner.is_some() && fill.len() == content.shown.datatype.size();
        let fill = Some(fill).filter(|fill| fill.len() == size || is_value);
        let fill = fill.or_internal("a fill value is not as long as a cell")?;
        let bytes = size.checked_mul(cells).and_then(|bytes| self.out.len().checked_add(bytes));
        let bytes = bytes.or_internal("a chunk is larger than memory")?;
        let start = self.out.len();
        self.out.reserve_exact(bytes - start);
        self.out.extend_from_slice(fill);
        // Twice as many each time.
        while self.out.len() < bytes {
            let end = self.out.len().min(start + (bytes - self.out.len()));
            self.out.extend_from_within(start..end);
        }
        self.cells += cells;
        Ok(())
    }

    /// The bytes.
    pub(crate) fn finish(mut self) -> Result<Bytes> {
        if self.content.shown.cell_bytes().is_none() {
            let count = u32::try_from(self.cells).ok().or_internal("a chunk has 2^32 texts or more")?;
            let head = self.out.first_chunk_mut::<4>().or_internal("a chunk of texts has no head")?;
            *head = count.to_le_bytes();
        }
        Ok(Bytes::from(self.out))
    }
}

#[cfg(test)]
mod tests {
    use tdb_array::schema::{CellValNum, Datatype};

    use super::*;

    fn content(datatype: Datatype, count: CellValNum, fill: &[u8]) -> Content {
        let shown = Shown::of(datatype, count).unwrap();
        Content { field: "a".to_owned(), part: Part::Values, shown, fill: fill.to_vec() }
    }

    #[test]
    fn texts_have_their_number_and_each_its_length_before_them() {
        let content = content(Datatype::StringUtf16, CellValNum::Var, &[0x2d, 0]);
        let mut encoder = content.encoder();
        encoder.push(&[0xe9, 0]).unwrap();
        encoder.pad(1).unwrap();
        let bytes = encoder.finish().unwrap();
        assert_eq!(bytes.as_ref(), [2, 0, 0, 0, 2, 0, 0, 0, 0xc3, 0xa9, 1, 0, 0, 0, b'-']);
    }

    #[test]
    fn a_cell_that_is_no_text_is_refused_by_its_number() {
        let content = content(Datatype::StringUtf8, CellValNum::Var, &[0]);
        let mut encoder = content.encoder();
        encoder.push(b"ok").unwrap();
        let error = encoder.push(&[0xff]).unwrap_err().to_string();
        assert!(
            error.starts_with("cell 1 of this chunk of field \"a\" is not valid STRING_UTF8 text"),
            "{error}"
        );
        let bytes = self::content(Datatype::Blob, CellValNum::Var, &[0]);
        let mut encoder = bytes.encoder();
        encoder.push(&[0xff]).unwrap();
        assert_eq!(encoder.finish().unwrap().as_ref(), [1, 0, 0, 0, 1, 0, 0, 0, 0xff]);
    }

    #[test]
    fn a_fill_value_of_another_size_is_a_fault() {
        let content = content(Datatype::Int16, CellValNum::ONE, &[0]);
        assert!(content.encoder().pad(1).unwrap_err().to_string().contains("internal error"));
    }

    #[test]
    fn cells_of_several_values_are_padded_by_whole_ones_or_by_one_value() {
        let three = CellValNum::Fixed(core::num::NonZeroU32::new(3).unwrap());
        for (fill, cell) in [(&[1, 2][..], [1, 2, 1, 2, 1, 2]), (&[1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6])] {
            let content = content(Datatype::Int16, three, fill);
            let mut encoder = content.encoder();
            encoder.pad(2).unwrap();
            assert_eq!(encoder.finish().unwrap().as_ref(), cell.repeat(2));
        }
        assert!(content(Datatype::Int16, three, &[1; 4]).encoder().pad(1).is_err());
    }

    #[test]
    fn texts_weigh_their_fill_value_and_eight_bytes_at_least() {
        let weight = |datatype, count, fill: &[u8]| content(datatype, count, fill).weight();
        assert_eq!(weight(Datatype::StringUtf8, CellValNum::Var, b"-"), 8);
        assert_eq!(weight(Datatype::StringUtf8, CellValNum::Var, &[b'-'; 1000]), 1004);
        assert_eq!(weight(Datatype::Int16, CellValNum::ONE, &[0, 0]), 2);
    }
}
