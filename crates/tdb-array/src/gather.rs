//! Columns as they are put together: fixed-size and var-length parts, fill values, permutations.

use core::ops::Range;

use tdb_codec::{Buffer, CellValNum, Datatype, to_u64, to_usize};
use tdb_schema::{ArraySchema, Attribute, Field, FieldKind};

use crate::context::Context;
use crate::fragment::Fragment;
use crate::tiles::FieldTiles;
use crate::{Column, QueryError, Result, large, parallel};

/// What a result column holds, and what stands in for cells that no fragment has.
#[derive(Clone, Debug)]
pub(crate) struct ColumnSpec {
    pub(crate) name: String,
    pub(crate) datatype: Datatype,
    pub(crate) cell_val_num: CellValNum,
    pub(crate) nullable: bool,
    /// Bytes of a cell; `None` for var-length columns.
    pub(crate) cell_size: Option<usize>,
    pub(crate) fill: Vec<u8>,
    pub(crate) fill_validity: u8,
}

impl ColumnSpec {
    pub(crate) fn new(schema: &ArraySchema, field: &Field<'_>) -> Self {
        let (fill, fill_validity) = match field.kind {
            FieldKind::Attribute(index) => schema
                .attributes
                .get(index)
                .map(|attribute| (attribute.fill_value.clone(), attribute.fill_validity))
                .unwrap_or_default(),
            FieldKind::Dimension(_) => (vec![0; field.datatype.size()], 1),
        };
        Self {
            name: field.name.to_owned(),
            datatype: field.datatype,
            cell_val_num: field.cell_val_num,
            nullable: field.nullable,
            cell_size: field.cell_size(),
            fill,
            fill_validity,
        }
    }

    /// The tiles of this column's field in a fragment: found by name in the fragment's own schema. `None` if that
    /// has no such field, or one of another type.
    pub(crate) fn tiles(
        &self,
        context: &Context,
        fragment: &Fragment,
        kind: FieldKind,
    ) -> Result<Option<FieldTiles>> {
        let own = self.own_field(fragment.schema(), kind);
        own.map(|own| FieldTiles::open(context, fragment, own)).transpose()
    }

    /// Which field of a fragment's schema this column's is: of the same name and type.
    pub(crate) fn own_field(&self, schema: &ArraySchema, kind: FieldKind) -> Option<FieldKind> {
        match kind {
            FieldKind::Attribute(_) => {
                let same = |attribute: &Attribute| {
                    attribute.name == self.name
                        && attribute.datatype == self.datatype
                        && attribute.cell_val_num == self.cell_val_num
                };
                schema.attributes.iter().position(same).map(FieldKind::Attribute)
            }
            FieldKind::Dimension(_) => Some(kind),
        }
    }

    /// The finished column.
    pub(crate) fn column(self, data: Buffer, offsets: Option<Vec<u64>>, validity: Option<Vec<u8>>) -> Column {
        Column {
            name: self.name,
            datatype: self.datatype,
            cell_val_num: self.cell_val_num,
            data,
            offsets,
            validity,
        }
    }
}

/// A buffer of a size that a file or query asks for.
pub(crate) fn zeroed(len: usize) -> Result<Buffer> {
    Ok(large::zeroed(len).ok_or(QueryError::OutOfMemory { bytes: to_u64(len) })?)
}

/// An empty buffer with room for as many bytes as a file or query asks for.
pub(crate) fn room_for(len: usize) -> Result<Buffer> {
    let mut buffer = zeroed(len)?;
    buffer.reset(0);
    Ok(buffer)
}

/// Fills `out` with repetitions of `cell`.
pub(crate) fn fill_cells(out: &mut [u8], cell: &[u8]) {
    match cell {
        [] => {}
        [byte] => out.fill(*byte),
        _ => out.chunks_exact_mut(cell.len()).for_each(|slot| slot.copy_from_slice(cell)),
    }
}

/// Cuts `data` into consecutive pieces of these lengths.
pub(crate) fn split_lengths<T>(
    mut data: &mut [T],
    lengths: impl IntoIterator<Item = usize>,
) -> Vec<&mut [T]> {
    let mut pieces = Vec::new();
    for len in lengths {
        let at = len.min(data.len());
        let (piece, rest) = core::mem::take(&mut data).split_at_mut(at);
        pieces.push(piece);
        data = rest;
    }
    pieces
}

/// Turns cell lengths (one more slot at the end) into offsets in place; returns their sum.
pub(crate) fn lengths_to_offsets(lengths: &mut [u64]) -> Result<usize> {
    let mut sum = 0u64;
    for slot in lengths {
        let len = *slot;
        *slot = sum;
        sum = sum.saturating_add(len);
    }
    let too_large = || QueryError::TooLarge { cells: u128::from(sum) };
    Ok(to_usize(sum).filter(|sum| *sum < isize::MAX.unsigned_abs()).ok_or_else(too_large)?)
}

/// Joins the values of consecutive pieces into one buffer, in parallel.
pub(crate) fn concat(context: &Context, mut pieces: Vec<Buffer>) -> Result<Buffer> {
    if pieces.len() == 1 {
        return Ok(pieces.pop().unwrap_or_default());
    }
    let mut data = zeroed(pieces.iter().map(Buffer::len).sum())?;
    let lengths: Vec<usize> = pieces.iter().map(Buffer::len).collect();
    let slots = split_lengths(data.as_mut_slice(), lengths);
    let jobs = slots.into_iter().zip(pieces).collect();
    parallel::run(
        context.threads,
        jobs,
        || (),
        |(slot, piece): (&mut [u8], Buffer), ()| {
            slot.copy_from_slice(piece.as_slice());
            Ok(())
        },
    )?;
    Ok(data)
}

/// Cells a parallel job of a permutation handles.
const GATHER_BAND: usize = 1 << 17;

/// Neighbours that stay neighbours are copied as one, if there are as many.
const RUN: usize = 16;

/// The cells of `source` in the order of `order`, in `data`, which is as long as they are.
pub(crate) fn gather_fixed(
    context: &Context,
    source: &[u8],
    size: usize,
    order: &[u32],
    mut data: Buffer,
) -> Result<Buffer> {
    let bands = data.as_mut_slice().chunks_mut(GATHER_BAND.saturating_mul(size).max(1));
    let jobs = bands.zip(order.chunks(GATHER_BAND)).collect();
    parallel::run(
        context.threads,
        jobs,
        || (),
        |(band, order): (&mut [u8], &[u32]), ()| {
            match size {
                1 => gather::<1>(source, band, order),
                2 => gather::<2>(source, band, order),
                4 => gather::<4>(source, band, order),
                8 => gather::<8>(source, band, order),
                _ => {
                    for (cell, index) in band.chunks_exact_mut(size.max(1)).zip(order) {
                        let start = index_of(*index).saturating_mul(size);
                        if let Some(from) = source.get(start..start.saturating_add(size)) {
                            cell.copy_from_slice(from);
                        }
                    }
                }
            }
            Ok(())
        },
    )?;
    Ok(data)
}

fn gather<const N: usize>(source: &[u8], band: &mut [u8], order: &[u32]) {
    let source = source.as_chunks::<N>().0;
    let cells = band.as_chunks_mut::<N>().0.chunks_mut(RUN);
    for (cells, order) in cells.zip(order.chunks(RUN)) {
        if let Some(run) = whole_run(order).and_then(|run| source.get(run))
            && run.len() == cells.len()
        {
            cells.copy_from_slice(run);
            continue;
        }
        for (cell, index) in cells.iter_mut().zip(order) {
            if let Some(from) = source.get(index_of(*index)) {
                *cell = *from;
            }
        }
    }
}

/// The range of cells that `order` is, if it is one.
fn whole_run(order: &[u32]) -> Option<Range<usize>> {
    let first = *order.first()?;
    let run = order.iter().zip(first..).all(|(cell, expected)| *cell == expected);
    run.then(|| index_of(first)..index_of(first).saturating_add(order.len()))
}

/// The length of the run that `order` begins with.
fn run_length(order: &[u32]) -> usize {
    let first = order.first().copied().unwrap_or(0);
    order.iter().zip(first..).take_while(|(cell, expected)| *cell == expected).count()
}

/// Leaves only the cells that `cells` lists, ascending, without moving them to other memory.
pub(crate) fn keep_cells(data: &mut Buffer, size: usize, cells: &[u32]) {
    let bytes = data.as_mut_slice();
    let (mut to, mut rest) = (0usize, cells);
    while let Some(first) = rest.first() {
        let run = run_length(rest).max(1);
        let start = index_of(*first).saturating_mul(size);
        let end = start.saturating_add(run.saturating_mul(size));
        if to != start && end <= bytes.len() {
            bytes.copy_within(start..end, to);
        }
        to = to.saturating_add(run.saturating_mul(size));
        rest = rest.get(run..).unwrap_or_default();
    }
    data.resize(to);
}

/// The cells of a var-length column in the order of `order`: offsets (one more than cells) and values.
pub(crate) fn gather_var(
    context: &Context,
    offsets: &[u64],
    values: &[u8],
    order: &[u32],
) -> Result<(Vec<u64>, Buffer)> {
    let at = |index: usize| offsets.get(index).copied().and_then(to_usize).unwrap_or(0);
    let cell = |index: u32| -> Range<usize> {
        let index = index_of(index);
        at(index)..at(index.saturating_add(1))
    };
    let mut lengths = vec![0u64; order.len().saturating_add(1)];
    let jobs = lengths.chunks_mut(GATHER_BAND).zip(order.chunks(GATHER_BAND)).collect();
    let sizes = parallel::run(
        context.threads,
        jobs,
        || (),
        |(lengths, order): (&mut [u64], &[u32]), ()| {
            let mut sum = 0usize;
            for (slot, index) in lengths.iter_mut().zip(order) {
                let len = cell(*index).len();
                *slot = to_u64(len);
                sum = sum.saturating_add(len);
            }
            Ok(sum)
        },
    )?;
    let total = lengths_to_offsets(&mut lengths)?;
    let mut data = zeroed(total)?;
    let bands = split_lengths(data.as_mut_slice(), sizes);
    let jobs = bands.into_iter().zip(order.chunks(GATHER_BAND)).collect();
    parallel::run(
        context.threads,
        jobs,
        || (),
        |(band, order): (&mut [u8], &[u32]), ()| {
            let (mut band, mut order) = (band, order);
            // Neighbours that stay neighbours are copied as one.
            while let Some(first) = order.first() {
                let run = run_length(order).max(1);
                let first = index_of(*first);
                let from = values.get(at(first)..at(first.saturating_add(run))).unwrap_or_default();
                let (slot, rest) = core::mem::take(&mut band).split_at_mut(from.len());
                slot.copy_from_slice(from);
                (band, order) = (rest, order.get(run..).unwrap_or_default());
            }
            Ok(())
        },
    )?;
    Ok((lengths, data))
}

/// A 32-bit cell number as an index.
pub(crate) fn index_of(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_are_kept_close_up() {
        for size in [1usize, 3] {
            let values: Vec<u8> = (0..12u8).flat_map(|cell| vec![cell; size]).collect();
            for kept in [vec![], vec![0], vec![11], vec![0, 1, 2, 5, 6, 11], (0..12).collect::<Vec<u32>>()] {
                let mut data = Buffer::new();
                data.extend_from_slice(&values);
                keep_cells(&mut data, size, &kept);
                let expected: Vec<u8> =
                    kept.iter().flat_map(|cell| vec![u8::try_from(*cell).unwrap(); size]).collect();
                assert_eq!(data.as_slice(), expected);
            }
        }
    }
}
