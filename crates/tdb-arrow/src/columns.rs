//! Converts a column of cells to an Arrow array without copying its values and offsets.

use core::ops::Range;
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryViewArray, LargeBinaryArray, LargeStringArray, StringViewArray, UInt32Array,
    make_array,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_data::ArrayData;
use arrow_schema::{ArrowError, DataType};
use arrow_select::concat::concat;
use arrow_select::take::take;
use bytes::Bytes;
use tdb_array::Column;
use tdb_cells::parallel;

use crate::error::{Error, Result};
use crate::keys;
use crate::types;
use crate::views::views;

/// Strings that a thread converts at a time.
const BAND: usize = 1 << 15;

/// The parts of a column.
pub(crate) struct Parts {
    pub(crate) name: String,
    /// Type and number of values per cell, for errors.
    pub(crate) field: String,
    /// Bytes of one value.
    size: usize,
    values: Buffer,
    offsets: Option<Vec<u64>>,
    validity: Option<Vec<u8>>,
    /// For each cell the number of its string, if the strings are stored once each.
    codes: Option<ScalarBuffer<u32>>,
    /// The strings as an array, once they are known.
    strings: Option<ArrayRef>,
    cells: usize,
    /// The row of the first cell, and the place of the first value, in the whole column: for
    /// errors.
    first: (usize, usize),
}

impl Parts {
    pub(crate) fn new(mut column: Column, cells: usize) -> Self {
        let codes = column.take_codes().map(ScalarBuffer::from);
        let field = describe(&column);
        let (name, size) = (column.name.clone(), column.datatype.size());
        let (values, offsets, validity) = column.into_parts();
        // The allocation is owned by an object that Arrow counts references to: nothing is copied.
        let values = Buffer::from(Bytes::from_owner(values));
        Self { name, field, size, values, offsets, validity, codes, strings: None, cells, first: (0, 0) }
    }

    /// The array of all cells.
    pub(crate) fn into_array(mut self, data_type: &DataType) -> Result<ArrayRef> {
        self.convert_strings(data_type, 1)?;
        let nulls = nulls(self.validity.take());
        if let (Some(strings), Some(codes)) = (&self.strings, &self.codes) {
            let codes = UInt32Array::new(codes.clone(), nulls);
            return take(strings, &codes, None).map_err(|error| match error {
                ArrowError::OffsetOverflowError(len) => Error::SmallOffsets {
                    column: self.name.clone(),
                    len: u64::try_from(len).unwrap_or(u64::MAX),
                },
                other => other.into(),
            });
        }
        let data = match data_type {
            DataType::LargeUtf8 | DataType::LargeBinary | DataType::Utf8 | DataType::Binary => {
                self.text(data_type, nulls)?
            }
            DataType::LargeList(item) | DataType::List(item) => {
                let offsets = self.offsets(self.size, matches!(data_type, DataType::LargeList(_)))?;
                let items = self.values.len().checked_div(self.size).unwrap_or(0);
                let child = self.flat(item.data_type(), items, None)?;
                let parts = ArrayData::builder(data_type.clone()).len(self.cells).nulls(nulls);
                parts.add_buffer(offsets).add_child_data(child).build()?
            }
            DataType::FixedSizeList(item, count) => {
                let items = usize::try_from(*count).ok().and_then(|count| count.checked_mul(self.cells));
                let child = self.flat(item.data_type(), items.ok_or_else(|| self.length())?, None)?;
                ArrayData::builder(data_type.clone())
                    .len(self.cells)
                    .nulls(nulls)
                    .add_child_data(child)
                    .build()?
            }
            DataType::FixedSizeBinary(_) => {
                let parts = ArrayData::builder(data_type.clone()).len(self.cells).nulls(nulls);
                parts.add_buffer(self.values.clone()).build()?
            }
            DataType::Utf8View => {
                let offsets = self.offsets.as_deref().filter(|offsets| offsets.len() > self.cells);
                let views = offsets.and_then(|offsets| views(&self.values, offsets, nulls.as_ref()));
                if let Some(views) = views.filter(|views| views.len() == self.cells) {
                    return Ok(views);
                }
                let text = self.text(&DataType::LargeUtf8, nulls)?;
                return Ok(Arc::new(StringViewArray::from(&LargeStringArray::from(text))));
            }
            DataType::BinaryView => {
                let bytes = self.text(&DataType::LargeBinary, nulls)?;
                return Ok(Arc::new(BinaryViewArray::from(&LargeBinaryArray::from(bytes))));
            }
            _ => self.flat(data_type, self.cells, nulls)?,
        };
        Ok(make_array(data))
    }

    /// Makes the array of strings that cells refer to by codes, unless it is there, so that it need
    /// not be made for each band.
    pub(crate) fn convert_strings(&mut self, data_type: &DataType, threads: usize) -> Result<()> {
        if self.codes.is_none() || self.strings.is_some() {
            return Ok(());
        }
        let offsets = self.offsets.take().unwrap_or_default();
        let kept = offsets.clone();
        let strings = Self {
            name: self.name.clone(),
            field: self.field.clone(),
            size: self.size,
            values: self.values.clone(),
            cells: offsets.len().saturating_sub(1),
            offsets: Some(offsets),
            validity: None,
            codes: None,
            strings: None,
            first: (0, 0),
        };
        match strings.in_bands(data_type, threads) {
            Ok(strings) => self.strings = Some(strings),
            // A string that is no text matters only if a cell has it, and the error names the cell.
            Err(Error::NotUtf8 { .. }) => self.expand(&kept),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The array of all cells, whose bands are converted by several threads.
    fn in_bands(self, data_type: &DataType, threads: usize) -> Result<ArrayRef> {
        let bands =
            (0..self.cells).step_by(BAND).map(|start| start..start.saturating_add(BAND).min(self.cells));
        let bands: Vec<_> = bands.collect();
        if threads <= 1 || bands.len() <= 1 {
            return self.into_array(data_type);
        }
        let convert = |band, (): &mut ()| Ok(self.band(band).and_then(|part| part.into_array(data_type)));
        let arrays =
            parallel::run(threads, bands, || (), convert)?.into_iter().collect::<Result<Vec<_>>>()?;
        let arrays: Vec<&dyn Array> = arrays.iter().map(AsRef::as_ref).collect();
        Ok(concat(&arrays)?)
    }

    /// Gives each cell its own string; `starts` are where the strings begin, and the end of the
    /// last one.
    fn expand(&mut self, starts: &[u64]) {
        let at = |string: usize| starts.get(string).and_then(|start| usize::try_from(*start).ok());
        let (mut values, mut offsets) = (Vec::new(), vec![0u64]);
        for code in self.codes.take().iter().flat_map(|codes| codes.iter()) {
            let code = usize::try_from(*code).unwrap_or(usize::MAX);
            let range = at(code).zip(at(code.saturating_add(1))).map(|(start, end)| start..end);
            let string = range.and_then(|range| self.values.as_slice().get(range));
            values.extend_from_slice(string.unwrap_or_default());
            offsets.push(u64::try_from(values.len()).unwrap_or(u64::MAX));
        }
        (self.values, self.offsets) = (Buffer::from_vec(values), Some(offsets));
    }

    /// The cells of this range as parts of their own. Values are not copied.
    pub(crate) fn band(&self, cells: Range<usize>) -> Result<Self> {
        let wrong = || self.length();
        let validity = match &self.validity {
            Some(validity) => Some(validity.get(cells.clone()).ok_or_else(wrong)?.to_vec()),
            None => None,
        };
        if let Some(codes) = &self.codes {
            if cells.end > codes.len() {
                return Err(wrong());
            }
            return Ok(Self {
                name: self.name.clone(),
                field: self.field.clone(),
                size: self.size,
                values: self.values.clone(),
                offsets: self.offsets.clone(),
                validity,
                codes: Some(codes.slice(cells.start, cells.len())),
                strings: self.strings.clone(),
                cells: cells.len(),
                first: (cells.start, 0),
            });
        }
        let (offsets, bytes) = match &self.offsets {
            Some(offsets) => {
                let own = offsets.get(cells.start..=cells.end).ok_or_else(wrong)?;
                let first = own.first().copied().unwrap_or(0);
                let bytes = own.last().and_then(|last| usize::try_from(last.checked_sub(first)?).ok());
                let start = usize::try_from(first).ok().zip(bytes).ok_or_else(wrong)?;
                (Some(own.iter().map(|offset| offset.saturating_sub(first)).collect()), start)
            }
            None => {
                let size = self.values.len().checked_div(self.cells).unwrap_or(0);
                let start = size.checked_mul(cells.start).zip(size.checked_mul(cells.len()));
                (None, start.ok_or_else(wrong)?)
            }
        };
        let (start, len) = bytes;
        if start.checked_add(len).is_none_or(|end| end > self.values.len()) {
            return Err(wrong());
        }
        Ok(Self {
            name: self.name.clone(),
            field: self.field.clone(),
            size: self.size,
            codes: None,
            strings: None,
            values: self.values.slice_with_length(start, len),
            offsets,
            validity,
            cells: cells.len(),
            first: (cells.start, start.checked_div(self.size).unwrap_or(0)),
        })
    }

    /// Text or bytes with offsets.
    fn text(&mut self, data_type: &DataType, nulls: Option<NullBuffer>) -> Result<ArrayData> {
        let large = matches!(data_type, DataType::LargeUtf8 | DataType::LargeBinary);
        let offsets = self.offsets(1, large)?;
        let parts = ArrayData::builder(data_type.clone()).len(self.cells).nulls(nulls);
        let built = parts.add_buffer(offsets.clone()).add_buffer(self.values.clone()).build();
        built.map_err(|error| self.why_not(error, data_type, &offsets))
    }

    /// The array of all cells, as keys into these values. Keys outside the values are null.
    pub(crate) fn into_dictionary(mut self, data_type: &DataType, values: &ArrayRef) -> Result<ArrayRef> {
        let DataType::Dictionary(key, _) = data_type else { return self.into_array(data_type) };
        let inside = keys::inside(key, &self.values, values.len()).ok_or_else(|| self.length())?;
        if inside.len() != self.cells {
            return Err(self.length());
        }
        let valid = nulls(self.validity.take());
        let nulls = if inside.count_set_bits() == self.cells {
            valid
        } else {
            NullBuffer::union(valid.as_ref(), Some(&NullBuffer::new(inside)))
        };
        let parts = ArrayData::builder(data_type.clone()).len(self.cells).nulls(nulls);
        Ok(make_array(parts.add_buffer(self.values).add_child_data(values.to_data()).build()?))
    }

    fn length(&self) -> Error {
        Error::Length { column: self.name.clone(), cells: self.cells, field: self.field.clone() }
    }

    /// The array of values without lists.
    fn flat(&self, data_type: &DataType, len: usize, nulls: Option<NullBuffer>) -> Result<ArrayData> {
        let parts = ArrayData::builder(data_type.clone()).len(len);
        if len.checked_mul(self.size) != Some(self.values.len()) {
            return Err(self.length());
        }
        let parts = match data_type {
            DataType::Boolean => parts.add_buffer(self.bits(nulls.as_ref())?),
            DataType::Date32 => parts.add_buffer(self.days(nulls.as_ref())?),
            _ => parts.add_buffer(self.values.clone()),
        };
        Ok(parts.nulls(nulls).build()?)
    }

    /// Converts bytes to bits. The values of null cells do not matter.
    fn bits(&self, nulls: Option<&NullBuffer>) -> Result<Buffer> {
        let values = self.values.as_slice();
        let wrong = |(index, value): &(usize, &u8)| **value > 1 && !is_null(nulls, *index);
        if let Some((index, value)) = values.iter().enumerate().find(wrong) {
            return Err(Error::NotBoolean {
                column: self.name.clone(),
                index: self.first.1.saturating_add(index),
                value: *value,
            });
        }
        let bit = |at: usize| values.get(at).is_some_and(|value| *value != 0);
        Ok(BooleanBuffer::collect_bool(values.len(), bit).into_inner())
    }

    /// Converts days of 64 bits to days of 32 bits. Days of null cells become 0 if they do not fit.
    fn days(&self, nulls: Option<&NullBuffer>) -> Result<Buffer> {
        let days = self.values.typed_data::<i64>().iter().enumerate();
        let narrow = days.map(|(index, day)| match i32::try_from(*day) {
            Ok(day) => Ok(day),
            Err(_) if is_null(nulls, index) => Ok(0),
            Err(_) => Err(Error::DayRange {
                column: self.name.clone(),
                index: self.first.1.saturating_add(index),
                day: *day,
            }),
        });
        Ok(Buffer::from_vec(narrow.collect::<Result<Vec<i32>>>()?))
    }

    /// The offsets of cells, counted in units of `size` bytes: converted in place if 64 bits are
    /// wanted.
    fn offsets(&mut self, size: usize, large: bool) -> Result<Buffer> {
        let mut offsets = self.offsets.take().unwrap_or_default();
        if offsets.is_empty() {
            offsets.push(0);
        }
        if offsets.len().checked_sub(1) != Some(self.cells) {
            return Err(self.length());
        }
        if let Some(size) = u64::try_from(size).ok().filter(|size| *size > 1) {
            offsets.iter_mut().for_each(|offset| *offset = offset.checked_div(size).unwrap_or(*offset));
        }
        if large {
            // The same bits have the same meaning: Arrow rejects offsets that would be negative.
            return Ok(Buffer::from_vec(offsets));
        }
        let narrow = offsets.iter().map(|offset| {
            i32::try_from(*offset)
                .map_err(|_| Error::SmallOffsets { column: self.name.clone(), len: *offset })
        });
        Ok(Buffer::from_vec(narrow.collect::<Result<Vec<i32>>>()?))
    }

    /// Finds the cell that is not UTF-8, if that is why Arrow rejected the column.
    fn why_not(&self, error: ArrowError, data_type: &DataType, offsets: &Buffer) -> Error {
        let ends: Vec<usize> = match data_type {
            DataType::LargeUtf8 => {
                offsets.typed_data::<i64>().iter().filter_map(|end| usize::try_from(*end).ok()).collect()
            }
            DataType::Utf8 => {
                offsets.typed_data::<i32>().iter().filter_map(|end| usize::try_from(*end).ok()).collect()
            }
            _ => return error.into(),
        };
        let cells = ends.iter().zip(ends.iter().skip(1));
        let text = |(start, end): (&usize, &usize)| {
            self.values.as_slice().get(*start..*end).is_some_and(|cell| core::str::from_utf8(cell).is_ok())
        };
        match cells.map(text).position(|is_text| !is_text) {
            Some(row) => Error::NotUtf8 { column: self.name.clone(), row: self.first.0.saturating_add(row) },
            None => error.into(),
        }
    }
}

/// Type and number of values per cell.
fn describe(column: &Column) -> String {
    types::describe(column.datatype, column.cell_val_num)
}

fn is_null(nulls: Option<&NullBuffer>, index: usize) -> bool {
    nulls.is_some_and(|nulls| index < nulls.len() && nulls.is_null(index))
}

/// A bit per cell, if any cell is null.
fn nulls(validity: Option<Vec<u8>>) -> Option<NullBuffer> {
    let validity = validity.filter(|validity| validity.contains(&0))?;
    let bit = |at: usize| validity.get(at).is_some_and(|valid| *valid != 0);
    Some(NullBuffer::new(BooleanBuffer::collect_bool(validity.len(), bit)))
}
