//! Columns that are read: runs of cells as they are written.

use tdb_array::WriteColumn;
use tdb_array::schema::Datatype;
use tdb_soma::whole;
use tdb_zarr_files::{ArrayReader, Reader};

use crate::cursor::{Cursor, text};
use crate::error::{Result, internal};
use crate::texts::{is_kept_date, wide};

/// What the values are.
#[derive(Debug)]
pub(crate) enum Form {
    /// Numbers and dates, as they are.
    Plain,
    /// Truth values, of which each is 0 or 1.
    Truth,
    /// Texts in UTF-8.
    Texts,
    /// Texts of a fixed number of characters, of which the last may be zeros.
    Wide,
    /// Whole numbers that become texts.
    Digits(Datatype),
    /// Numbers of so many categories.
    Codes(Datatype, usize),
    /// Numbers of texts that are too many for categories, or that are names of rows.
    Long(Datatype, Vec<Vec<u8>>),
}

impl Form {
    /// Whether cells are texts.
    const fn makes_texts(&self) -> bool {
        matches!(self, Self::Texts | Self::Wide | Self::Digits(_) | Self::Long(..))
    }
}

/// A column that is read.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    array: &'a ArrayReader,
    form: &'a Form,
    values: Cursor<'a>,
    mask: Option<Cursor<'a>>,
    /// Cells that were taken.
    done: u64,
}

/// Cells of a column, as they are written.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    values: Vec<u8>,
    offsets: Vec<u64>,
    valid: Vec<u8>,
    is_text: bool,
}

impl<'a> Reading<'a> {
    /// The first row of a column.
    pub(crate) fn new(values: &'a ArrayReader, mask: Option<&'a ArrayReader>, form: &'a Form) -> Self {
        Self { array: values, form, values: Cursor::new(values), mask: mask.map(Cursor::new), done: 0 }
    }
}

impl Reading<'_> {
    /// Rows that can be taken at once; none at the end.
    pub(crate) fn available(&mut self) -> Result<usize> {
        let values = self.values.available()?;
        Ok(match &mut self.mask {
            None => values,
            Some(mask) => values.min(mask.available()?),
        })
    }

    /// Bytes that are in memory.
    pub(crate) fn held(&self) -> u64 {
        self.values.held().saturating_add(self.mask.as_ref().map_or(0, Cursor::held))
    }

    /// Takes so many rows.
    pub(crate) fn take(&mut self, reader: &Reader, count: usize) -> Result<Taken> {
        let path = self.array.path();
        let first = self.done;
        self.done = self.done.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        let wrong = |at: usize, what: String| {
            let row = first.saturating_add(u64::try_from(at).unwrap_or(u64::MAX));
            reader.damaged(path, format!("row {row}: {what}"))
        };
        let is_text = self.form.makes_texts();
        let mut taken = Taken { valid: vec![1; count], is_text, ..Taken::default() };
        taken.offsets.extend(is_text.then_some(0));
        match self.form {
            Form::Plain => {
                let datatype = self.array.datatype();
                let values = self.values.take(count)?;
                for (value, valid) in values.chunks_exact(datatype.size()).zip(&mut taken.valid) {
                    *valid = u8::from(!is_missing(datatype, value));
                }
                taken.values = values.to_vec();
            }
            Form::Truth => {
                taken.values = self.values.take(count)?.iter().map(|byte| u8::from(*byte != 0)).collect();
            }
            Form::Texts => {
                let found = self.values.take_texts(count)?;
                for at in 0..count {
                    let bytes = text(found, at).ok_or_else(|| internal("a text outside of its chunk"))?;
                    str::from_utf8(bytes).map_err(|_| wrong(at, "this is not UTF-8".to_owned()))?;
                    taken.push(bytes);
                }
            }
            Form::Wide => {
                let size = self.array.cell_bytes().unwrap_or(4).max(4);
                for (at, cell) in self.values.take(count)?.chunks_exact(size).enumerate() {
                    let text = wide(cell).ok_or_else(|| wrong(at, "this is no text".to_owned()))?;
                    taken.push(text.as_bytes());
                }
            }
            Form::Digits(datatype) => {
                for value in self.values.take(count)?.chunks_exact(datatype.size()) {
                    let number = whole(*datatype, value).ok_or_else(|| internal("a number is none"))?;
                    taken.push(number.to_string().as_bytes());
                }
            }
            Form::Codes(datatype, categories) => {
                let codes = codes(self.values.take(count)?, *datatype, *categories);
                for (at, code) in codes.enumerate() {
                    let code = code.map_err(|what| wrong(at, what))?;
                    // -1 means missing.
                    if let Some(valid) = taken.valid.get_mut(at) {
                        *valid = u8::from(code.is_some());
                    }
                    let code = code.map_or(Ok(0), i32::try_from);
                    let code = code.map_err(|_| wrong(at, "there are too many categories".to_owned()))?;
                    taken.values.extend(code.to_le_bytes());
                }
            }
            Form::Long(datatype, texts) => {
                let codes = codes(self.values.take(count)?, *datatype, texts.len());
                for (at, code) in codes.enumerate() {
                    let code = code.map_err(|what| wrong(at, what))?;
                    if let Some(valid) = taken.valid.get_mut(at) {
                        *valid = u8::from(code.is_some());
                    }
                    let text = code.and_then(|code| texts.get(code)).map_or(&[][..], Vec::as_slice);
                    taken.push(text);
                }
            }
        }
        if let Some(mask) = &mut self.mask {
            for (valid, missing) in taken.valid.iter_mut().zip(mask.take(count)?) {
                *valid &= u8::from(*missing == 0);
            }
        }
        Ok(taken)
    }
}

/// The numbers of categories; `None` if one is missing.
fn codes(
    bytes: &[u8],
    datatype: Datatype,
    categories: usize,
) -> impl Iterator<Item = Result<Option<usize>, String>> {
    bytes.chunks_exact(datatype.size()).map(move |bytes| match whole(datatype, bytes) {
        Some(-1) => Ok(None),
        code => match code.and_then(|code| usize::try_from(code).ok()).filter(|code| *code < categories) {
            Some(code) => Ok(Some(code)),
            None => {
                let shown = code.map_or_else(String::new, |code| code.to_string());
                Err(format!("{shown} is the number of none of {categories} categories"))
            }
        },
    })
}

impl Taken {
    fn push(&mut self, text: &[u8]) {
        self.values.extend_from_slice(text);
        self.offsets.push(u64::try_from(self.values.len()).unwrap_or(u64::MAX));
    }

    /// The cells as a write takes them.
    pub(crate) fn column<'t>(&'t self, name: &'t str) -> WriteColumn<'t> {
        let column = if self.is_text {
            WriteColumn::var(name, &self.values, &self.offsets)
        } else {
            WriteColumn::bytes(name, &self.values)
        };
        column.nullable(&self.valid)
    }

    /// The bytes of a cell, which has so many if it is no text.
    fn cell(&self, at: usize, size: usize) -> Option<&[u8]> {
        if self.is_text {
            return text((&self.values, &self.offsets), at);
        }
        self.values.get(at.checked_mul(size)?..at.checked_add(1)?.checked_mul(size)?)
    }

    /// The bytes of a cell, of so many if it is no text; `None` if it is missing.
    pub(crate) fn value(&self, at: usize, size: usize) -> Option<&[u8]> {
        self.cell(at, size).filter(|_| self.valid.get(at) == Some(&1))
    }

    /// A cell that is a text; `None` if it is missing.
    pub(crate) fn text(&self, at: usize) -> Option<&str> {
        str::from_utf8(self.value(at, 0)?).ok()
    }
}

/// Whether pandas takes a value for a missing one: not a number, not a time.
fn is_missing(datatype: Datatype, value: &[u8]) -> bool {
    match datatype {
        Datatype::Float32 => value.try_into().is_ok_and(|value| f32::from_le_bytes(value).is_nan()),
        Datatype::Float64 => value.try_into().is_ok_and(|value| f64::from_le_bytes(value).is_nan()),
        _ if is_kept_date(datatype) => value == i64::MIN.to_le_bytes(),
        _ => false,
    }
}
