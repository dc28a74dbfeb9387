//! The caller's buffers of a read, and the cells that they have got.

use core::ops::Range;

use tdb_array::Column;
use tdb_array::query::Buffer;
use tdb_array::schema::CellValNum;

use super::loans::Round;
use crate::ffi::{Failure, Outcome, UserBuffer};
use crate::query::buffers::{Buffers, FieldBuffers, FieldType};
use crate::query::failure;
use crate::query::offsets::OffsetsFormat;

/// A column of the engine is not as its field says.
const WRONG_COLUMN: &str = "a column of the result is not of its field's type";

/// The buffers of a submit, and how full they are.
pub(super) struct Filled<'b> {
    fields: Vec<FilledField<'b>>,
    format: OffsetsFormat,
    cells: usize,
}

/// The buffers of one field.
struct FilledField<'b> {
    buffers: &'b mut FieldBuffers,
    /// Whether no other buffer of the query has some of the memory of the values.
    is_apart: bool,
    cells: CellSize,
    /// Bytes of a value.
    value: u64,
    nullable: bool,
    /// Bytes of values that are there.
    bytes: usize,
}

/// How many bytes a cell has.
#[derive(Clone, Copy)]
enum CellSize {
    Fixed(usize),
    Var,
}

/// The addresses of all buffers of a field.
fn addresses(buffers: &FieldBuffers) -> impl Iterator<Item = Range<usize>> {
    let all = [&buffers.data, &buffers.offsets, &buffers.validity];
    all.into_iter().flatten().map(UserBuffer::addresses)
}

/// Whether only one of the ranges, which is this one, has some of its addresses.
fn is_apart(own: &Range<usize>, all: &[Range<usize>]) -> bool {
    all.iter().filter(|other| other.start < own.end && own.start < other.end).count() <= 1
}

fn capacity(buffer: Option<&UserBuffer>) -> usize {
    buffer.map_or(0, |buffer| usize::try_from(buffer.capacity()).unwrap_or(usize::MAX))
}

/// A part of a buffer of the caller.
fn part(buffer: Option<&mut UserBuffer>, at: usize, len: usize) -> Result<&mut [u8], Failure> {
    let bytes = match buffer {
        Some(buffer) if len > 0 => buffer.bytes_mut()?,
        _ => &mut [],
    };
    let end = at.checked_add(len);
    end.and_then(|end| bytes.get_mut(at..end)).ok_or_else(|| failure("a buffer ends before its cells"))
}

impl<'b> Filled<'b> {
    /// Empty buffers of these fields, in the order of the result's columns.
    pub(super) fn new(
        fields: &[(String, FieldType)],
        buffers: &'b mut Buffers,
        format: OffsetsFormat,
    ) -> Result<Self, Failure> {
        let all: Vec<Range<usize>> = buffers.values().flat_map(addresses).collect();
        // Both are in the order of names.
        let mut found = Vec::with_capacity(fields.len());
        let mut rest = buffers.iter_mut();
        for (name, field) in fields {
            let buffers = rest.find(|(own, _)| *own == name).map(|(_, buffers)| buffers);
            let buffers = buffers.ok_or_else(|| failure(format!("the buffers of '{name}' are gone")))?;
            let value = field.datatype.size();
            let cells = match field.cell_val_num {
                CellValNum::Fixed(count) => {
                    let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
                    CellSize::Fixed(value.saturating_mul(count))
                }
                CellValNum::Var => CellSize::Var,
            };
            let (value, nullable) = (crate::number(value), field.nullable);
            let is_apart = buffers.data.as_ref().is_some_and(|data| is_apart(&data.addresses(), &all));
            found.push(FilledField { buffers, is_apart, cells, value, nullable, bytes: 0 });
        }
        Ok(Self { fields: found, format, cells: 0 })
    }

    /// Offers the engine the memory behind the values that are there.
    pub(super) fn offer(&mut self, fields: &[(String, FieldType)], round: &Round) {
        for (field, (name, _)) in self.fields.iter_mut().zip(fields) {
            if !field.is_apart || matches!(field.cells, CellSize::Var) {
                continue;
            }
            let at = field.bytes;
            if let Some(loan) = field.buffers.data.as_mut().and_then(|data| data.lend(at, round.is_valid())) {
                round.offer(name, loan);
            }
        }
    }

    /// Moves columns that are in the caller's memory to memory of their own.
    pub(super) fn detach(&self, columns: &mut [Column]) {
        for (field, column) in self.fields.iter().zip(columns) {
            let addresses = field.buffers.data.as_ref().map(UserBuffer::addresses).unwrap_or_default();
            if addresses.contains(&column.bytes().as_ptr().addr()) {
                column.data = Buffer::from(column.bytes());
            }
        }
    }

    /// Takes as many of these cells as fit, and returns their number.
    pub(super) fn take(&mut self, columns: &[Column], cells: Range<usize>) -> Result<usize, Failure> {
        if columns.len() != self.fields.len() {
            return Err(failure(WRONG_COLUMN));
        }
        let mut count = cells.len();
        for (field, column) in self.fields.iter().zip(columns) {
            let wanted = cells.start..cells.start.saturating_add(count);
            count = count.min(field.fits(column, wanted, self.cells, self.format)?);
        }
        let taken = cells.start..cells.start.saturating_add(count);
        if count > 0 {
            for (field, column) in self.fields.iter_mut().zip(columns) {
                field.take(column, taken.clone(), self.cells, self.format)?;
            }
        }
        self.cells = self.cells.saturating_add(count);
        Ok(count)
    }

    /// Tells the caller how full the buffers are.
    pub(super) fn finish(mut self) -> Outcome {
        let (cells, format) = (self.cells, self.format);
        self.fields.iter_mut().try_for_each(|field| field.finish(cells, format))
    }
}

impl FilledField<'_> {
    /// How many of these cells fit behind the first `before`.
    fn fits(
        &self,
        column: &Column,
        cells: Range<usize>,
        before: usize,
        format: OffsetsFormat,
    ) -> Result<usize, Failure> {
        let room = capacity(self.buffers.data.as_ref());
        let mut count = match self.cells {
            CellSize::Fixed(size) => room.checked_div(size).unwrap_or(0).saturating_sub(before),
            CellSize::Var => {
                let slots = format.cells(capacity(self.buffers.offsets.as_ref())).saturating_sub(before);
                let room = crate::number(room).min(format.max_bytes(self.value));
                let room = room.saturating_sub(crate::number(self.bytes));
                let offsets = offsets(column, cells.clone())?;
                let base = offsets.first().copied().unwrap_or(0);
                // The first of them is where the first cell begins.
                let fitting = offsets.partition_point(|offset| offset.wrapping_sub(base) <= room);
                slots.min(fitting.saturating_sub(1))
            }
        };
        if self.nullable {
            count = count.min(capacity(self.buffers.validity.as_ref()).saturating_sub(before));
        }
        Ok(count.min(cells.len()))
    }

    fn take(
        &mut self,
        column: &Column,
        cells: Range<usize>,
        before: usize,
        format: OffsetsFormat,
    ) -> Outcome {
        let wrong = || failure(WRONG_COLUMN);
        let from = match self.cells {
            CellSize::Fixed(size) => cells.start.saturating_mul(size)..cells.end.saturating_mul(size),
            CellSize::Var => {
                let offsets = offsets(column, cells.clone())?;
                let ends = offsets.first().copied().zip(offsets.last().copied()).ok_or_else(wrong)?;
                let place = |offset| usize::try_from(offset).map_err(|_| wrong());
                let at = before.saturating_mul(format.width());
                let own = offsets.get(..cells.len()).ok_or_else(wrong)?;
                let to = part(self.buffers.offsets.as_mut(), at, own.len().saturating_mul(format.width()))?;
                format.put_all(to, own, (ends.0, crate::number(self.bytes)), self.value);
                place(ends.0)?..place(ends.1)?
            }
        };
        let values = column.bytes().get(from).ok_or_else(wrong)?;
        let data = self.buffers.data.as_mut();
        let there = data.as_ref().map(|data| data.addresses().start.saturating_add(self.bytes));
        if there != Some(values.as_ptr().addr()) {
            part(data, self.bytes, values.len())?.copy_from_slice(values);
        }
        self.bytes = self.bytes.saturating_add(values.len());
        if self.nullable {
            let to = part(self.buffers.validity.as_mut(), before, cells.len())?;
            match column.validity() {
                Some(validity) => to.copy_from_slice(validity.get(cells).ok_or_else(wrong)?),
                None => to.fill(1),
            }
        }
        Ok(())
    }

    fn finish(&mut self, cells: usize, format: OffsetsFormat) -> Outcome {
        let size = |buffer: &Option<UserBuffer>, size: usize| match buffer {
            Some(buffer) => buffer.set_size(crate::number(size)),
            None => Ok(()),
        };
        size(&self.buffers.data, self.bytes)?;
        size(&self.buffers.validity, cells)?;
        let mut slots = cells.saturating_mul(format.width());
        // No cells have no offsets, not even the extra one.
        if format.has_extra && cells > 0 && self.buffers.offsets.is_some() {
            let to = part(self.buffers.offsets.as_mut(), slots, format.width())?;
            format.put_all(to, &[crate::number(self.bytes)], (0, 0), self.value);
            slots = slots.saturating_add(format.width());
        }
        size(&self.buffers.offsets, slots)
    }
}

/// Where cells begin in their column, and where the last one ends.
fn offsets(column: &Column, cells: Range<usize>) -> Result<&[u64], Failure> {
    let offsets = column.offsets().and_then(|offsets| offsets.get(cells.start..=cells.end));
    offsets.ok_or_else(|| failure(WRONG_COLUMN))
}
