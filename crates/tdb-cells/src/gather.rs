//! Moves cells into an order: joins the parts of a column, permutes them, or closes the gaps that
//! dropped cells leave.

use core::ops::Range;

use tdb_codec::{Buffer, to_u64, to_usize};

use crate::buffers::{index_of, lengths_to_offsets, room_for, split_exactly, unfilled};
use crate::thresholds::{GATHER_CELLS, GATHER_RUN_CELLS};
use crate::{Cells, Column, Error, OrInternal, Result, parallel};

/// Joins the values of consecutive pieces into one buffer, in parallel. Also returns how many bytes
/// it copied: a single piece is not copied.
pub fn concat(threads: usize, pieces: Vec<Buffer>) -> Result<(Buffer, usize)> {
    let pieces = match <[Buffer; 1]>::try_from(pieces) {
        Ok([piece]) => return Ok((piece, 0)),
        Err(pieces) => pieces,
    };
    let moved = pieces.iter().map(Buffer::len).sum();
    let mut data = unfilled(moved)?;
    let lengths: Vec<usize> = pieces.iter().map(Buffer::len).collect();
    let slots = split_exactly(data.as_mut_slice(), lengths)?;
    let jobs = slots.into_iter().zip(pieces).collect();
    parallel::run(
        parallel::worth(threads, moved),
        jobs,
        || (),
        |(slot, piece): (&mut [u8], Buffer), ()| {
            slot.copy_from_slice(piece.as_slice());
            Ok(())
        },
    )?;
    Ok((data, moved))
}

/// Writes the cells of `source` to `data` in the order of `order`. `data` has the length of the
/// result.
pub fn gather_fixed(
    threads: usize,
    source: &[u8],
    size: usize,
    order: &[u32],
    data: &mut [u8],
) -> Result<()> {
    if order.len().checked_mul(size) != Some(data.len()) {
        return Err(Error::internal("an order without room for its cells"));
    }
    let bands = data.chunks_mut(GATHER_CELLS.saturating_mul(size).max(1));
    let jobs = bands.zip(order.chunks(GATHER_CELLS)).collect();
    parallel::run(
        threads,
        jobs,
        || (),
        |(band, order): (&mut [u8], &[u32]), ()| match size {
            1 => gather::<1>(source, band, order),
            2 => gather::<2>(source, band, order),
            4 => gather::<4>(source, band, order),
            8 => gather::<8>(source, band, order),
            _ => {
                for (cell, index) in band.chunks_exact_mut(size.max(1)).zip(order) {
                    let from = bytes_of(index_of(*index), 1, size).and_then(|bytes| source.get(bytes));
                    cell.copy_from_slice(from.or_internal(NO_CELL)?);
                }
                Ok(())
            }
        },
    )?;
    Ok(())
}

/// The fault if an order has the number of a cell that is not there.
const NO_CELL: &str = "an order of cells without one of them";

/// The bytes of `count` cells of `size` bytes from cell `first` on; `None` if no memory has them.
fn bytes_of(first: usize, count: usize, size: usize) -> Option<Range<usize>> {
    let start = first.checked_mul(size)?;
    Some(start..start.checked_add(count.checked_mul(size)?)?)
}

fn gather<const N: usize>(source: &[u8], band: &mut [u8], order: &[u32]) -> Result<()> {
    let source = source.as_chunks::<N>().0;
    let cells = band.as_chunks_mut::<N>().0.chunks_mut(GATHER_RUN_CELLS);
    for (cells, order) in cells.zip(order.chunks(GATHER_RUN_CELLS)) {
        if let Some(run) = whole_run(order).and_then(|run| source.get(run))
            && run.len() == cells.len()
        {
            cells.copy_from_slice(run);
            continue;
        }
        for (cell, index) in cells.iter_mut().zip(order) {
            *cell = *source.get(index_of(*index)).or_internal(NO_CELL)?;
        }
    }
    Ok(())
}

/// The range of cells that `order` is equal to, if it is a range.
fn whole_run(order: &[u32]) -> Option<Range<usize>> {
    let first = *order.first()?;
    let run = order.iter().zip(first..).all(|(cell, expected)| *cell == expected);
    let end = index_of(first).checked_add(order.len())?;
    run.then_some(index_of(first)..end)
}

/// The number of cells from `first` on, the first of `order`, that follow each other in `order`: at
/// least 1.
fn run_length(first: u32, order: &[u32]) -> usize {
    order.iter().zip(first..).take_while(|(cell, expected)| *cell == expected).count()
}

/// Moves the cells that `cells` lists, in ascending order, to the beginning of `bytes`, without new
/// memory. Returns how many bytes it moved: cells before the first gap stay.
pub fn keep_cells(bytes: &mut [u8], size: usize, cells: &[u32]) -> Result<usize> {
    let (mut to, mut rest, mut moved) = (0usize, cells, 0usize);
    while let Some(first) = rest.first() {
        let run = run_length(*first, rest);
        let from = bytes_of(index_of(*first), run, size).filter(|from| from.end <= bytes.len());
        let from = from.or_internal(NO_CELL)?;
        if from.start < to {
            return Err(Error::internal("cells to be kept that are not in ascending order"));
        }
        let len = from.len();
        if to != from.start {
            bytes.copy_within(from, to);
            moved += len;
        }
        to += len;
        rest = rest.get(run..).or_internal(NO_CELL)?;
    }
    Ok(moved)
}

/// The cells of a var-length column in the order of `order`: offsets (one more than cells) and
/// values.
pub fn gather_var(
    threads: usize,
    offsets: &[u64],
    values: &[u8],
    order: &[u32],
) -> Result<(Vec<u64>, Buffer)> {
    let at = |index: usize| offsets.get(index).copied().and_then(to_usize).or_internal(NO_CELL);
    let length = |index: usize| -> Result<usize> {
        let next = index.checked_add(1).or_internal(NO_CELL)?;
        let length = at(next)?.checked_sub(at(index)?);
        length.or_internal("a cell that ends before it begins")
    };
    let mut lengths = vec![0u64; order.len() + 1];
    let jobs = lengths.chunks_mut(GATHER_CELLS).zip(order.chunks(GATHER_CELLS)).collect();
    let sizes = parallel::run(
        threads,
        jobs,
        || (),
        |(lengths, order): (&mut [u64], &[u32]), ()| {
            let mut sum = 0usize;
            for (slot, index) in lengths.iter_mut().zip(order) {
                let len = length(index_of(*index))?;
                *slot = to_u64(len);
                // Cells may be there several times: only `lengths_to_offsets` says whether all fit.
                sum = sum.saturating_add(len);
            }
            Ok(sum)
        },
    )?;
    let total = lengths_to_offsets(&mut lengths)?;
    let mut data = unfilled(total)?;
    let bands = split_exactly(data.as_mut_slice(), sizes)?;
    let jobs = bands.into_iter().zip(order.chunks(GATHER_CELLS)).collect();
    parallel::run(
        threads,
        jobs,
        || (),
        |(band, order): (&mut [u8], &[u32]), ()| {
            let (mut band, mut order) = (band, order);
            // Neighbours that stay together are copied as one.
            while let Some(first) = order.first() {
                let run = run_length(*first, order);
                let first = index_of(*first);
                let end = first.checked_add(run).or_internal(NO_CELL)?;
                let from = values.get(at(first)?..at(end)?);
                let from = from.or_internal("a column without the values of its offsets")?;
                let split = core::mem::take(&mut band).split_at_mut_checked(from.len());
                let (slot, rest) = split.or_internal("an order without room for its values")?;
                slot.copy_from_slice(from);
                (band, order) = (rest, order.get(run..).or_internal(NO_CELL)?);
            }
            Ok(())
        },
    )?;
    Ok((lengths, data))
}

impl Cells {
    /// Only the [selected](Self::selected) cells, which are in no box any more. A result without a
    /// selection stays as it is.
    ///
    /// # Errors
    /// [`QueryError::OutOfMemory`](crate::QueryError::OutOfMemory) if there is no room for them
    /// beside all cells of a column.
    pub fn into_selected(mut self) -> Result<Self> {
        let Some(selected) = self.selected.take() else { return Ok(self) };
        self.shape = None;
        self.len = selected.iter().filter(|selected| **selected != 0).count();
        if self.len < selected.len() {
            let columns = self.columns.into_iter().map(|column| column.only(&selected));
            self.columns = columns.collect::<Result<_>>()?;
        }
        Ok(self)
    }
}

impl Column {
    /// The cells that have a 1 in `selected`.
    fn only(self, selected: &[u8]) -> Result<Self> {
        let chosen = || (0..).zip(selected).filter(|(_, selected)| **selected != 0).map(|(cell, _)| cell);
        // With codes, a string may be counted many times, so that the sum need not fit: then there
        // is no memory for it.
        let cell = |cell: usize| self.cell(cell).or_internal("a selection without one of its cells");
        let bytes = chosen().try_fold(0usize, |sum, at| Ok::<_, Error>(sum.saturating_add(cell(at)?.len())));
        let mut data = room_for(bytes?)?;
        let mut offsets = self.offsets.is_some().then(|| vec![0u64]);
        for at in chosen() {
            data.extend_from_slice(cell(at)?);
            if let Some(offsets) = &mut offsets {
                offsets.push(to_u64(data.len()));
            }
        }
        let valid = |validity: &Vec<u8>| -> Result<Vec<u8>> {
            let valid = |cell: usize| validity.get(cell).copied().or_internal("a cell without its validity");
            chosen().map(valid).collect()
        };
        let validity = self.validity.as_ref().map(valid).transpose()?;
        // Each cell has its own string now.
        Ok(Self { data, offsets, validity, codes: None, ..self })
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::{CellValNum, Datatype, Layout};

    use super::*;

    #[test]
    fn cells_that_are_kept_close_up() {
        for size in [1usize, 3] {
            let values: Vec<u8> = (0..12u8).flat_map(|cell| vec![cell; size]).collect();
            for kept in [vec![], vec![0], vec![11], vec![0, 1, 2, 5, 6, 11], (0..12).collect::<Vec<u32>>()] {
                let mut data = values.clone();
                let moved = keep_cells(&mut data, size, &kept).unwrap();
                let expected: Vec<u8> =
                    kept.iter().flat_map(|cell| vec![u8::try_from(*cell).unwrap(); size]).collect();
                assert_eq!(data[..expected.len()], expected);
                let in_place = kept.iter().zip(0u32..).filter(|(cell, place)| *cell == place).count();
                assert_eq!(moved, (kept.len() - in_place) * size, "{kept:?}");
            }
        }
    }

    fn column(data: &[u8], offsets: Option<Vec<u64>>, validity: Option<Vec<u8>>) -> Column {
        let (datatype, name) = (Datatype::Uint8, "a".to_owned());
        let cell_val_num = if offsets.is_some() { CellValNum::Var } else { CellValNum::ONE };
        Column { name, datatype, cell_val_num, data: Buffer::from(data), offsets, validity, codes: None }
    }

    #[test]
    fn only_selected_cells_stay_with_their_values_and_nulls() {
        let columns = vec![
            column(&[1, 2, 3, 4], None, Some(vec![1, 0, 0, 1])),
            column(b"abbccc", Some(vec![0, 1, 3, 3, 6]), None),
        ];
        let (shape, order) = (Some(vec![2, 2]), Layout::RowMajor);
        let all = Cells { len: 4, shape, order, columns, selected: Some(vec![0, 1, 1, 1]) };
        let some = all.clone().into_selected().unwrap();
        assert_eq!((some.len(), some.shape(), some.selected()), (3, None, None));
        assert_eq!(
            (some.columns[0].bytes(), some.columns[0].validity()),
            (&[2, 3, 4][..], Some(&[0, 0, 1][..]))
        );
        assert_eq!(
            (some.columns[1].bytes(), some.columns[1].offsets()),
            (&b"bbccc"[..], Some(&[0, 2, 2, 5][..]))
        );
        let whole = Cells { selected: None, ..all }.into_selected().unwrap();
        assert_eq!((whole.len(), whole.shape()), (4, Some(&[2, 2][..])));
    }
}
