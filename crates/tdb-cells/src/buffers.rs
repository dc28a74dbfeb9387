//! Buffers of values and offsets, as decoded tiles and results have them, and common operations on
//! them: create, split, fill.

use tdb_codec::{Buffer, to_u64, to_usize};

use crate::{Error, OrInternal, QueryError, Result, large};

/// A decoded tile of a var-length field: cell `i` is `values[starts[i]..starts[i] + lens[i]]`.
#[derive(Debug, Default)]
pub struct VarTile {
    /// One more than the number of cells.
    pub offsets: Vec<u64>,
    /// The bytes of all cells, one after another.
    pub values: Buffer,
}

impl VarTile {
    /// Length of each cell in bytes.
    pub fn lengths(&self) -> impl Iterator<Item = u64> {
        // Offsets ascend: the decoder has checked it.
        let ends = self.offsets.iter().skip(1);
        self.offsets.iter().zip(ends).map(|(start, end)| end.saturating_sub(*start))
    }
}

/// A buffer of zeros, of a size that a file or query requests.
pub fn zeroed(len: usize) -> Result<Buffer> {
    Ok(large::zeroed(len).ok_or(QueryError::OutOfMemory { bytes: to_u64(len) })?)
}

/// Checks that the system has memory for as many bytes as a file or query requests, before a vector
/// of them is made.
pub fn check_room(len: usize) -> Result<()> {
    if large::is_there(len) { Ok(()) } else { Err(QueryError::OutOfMemory { bytes: to_u64(len) }.into()) }
}

/// A buffer with arbitrary contents, of a size that a file or query requests: for memory that is
/// overwritten wholly.
pub fn unfilled(len: usize) -> Result<Buffer> {
    Ok(large::unfilled(len).ok_or(QueryError::OutOfMemory { bytes: to_u64(len) })?)
}

/// An empty buffer with room for as many bytes as a file or query requests.
pub fn room_for(len: usize) -> Result<Buffer> {
    let mut buffer = unfilled(len)?;
    buffer.reset(0);
    Ok(buffer)
}

/// Fills `out` with repetitions of `cell`.
pub fn fill_cells(out: &mut [u8], cell: &[u8]) {
    match cell {
        [] => {}
        [byte] => out.fill(*byte),
        _ => out.chunks_exact_mut(cell.len()).for_each(|slot| slot.copy_from_slice(cell)),
    }
}

/// Splits `data` into consecutive pieces of these lengths, which are all of it.
pub fn split_exactly<T>(
    mut data: &mut [T],
    lengths: impl IntoIterator<Item = usize>,
) -> Result<Vec<&mut [T]>> {
    let mut pieces = Vec::new();
    for len in lengths {
        let split = core::mem::take(&mut data).split_at_mut_checked(len);
        let (piece, rest) = split.or_internal("a piece without memory in its buffer")?;
        pieces.push(piece);
        data = rest;
    }
    if !data.is_empty() {
        return Err(Error::internal("a buffer whose end is in no piece"));
    }
    Ok(pieces)
}

/// Splits `data` into consecutive pieces of these lengths, as far as it reaches: without data, all
/// are empty.
pub fn split_lengths<T>(mut data: &mut [T], lengths: impl IntoIterator<Item = usize>) -> Vec<&mut [T]> {
    let mut pieces = Vec::new();
    for len in lengths {
        let at = len.min(data.len());
        let (piece, rest) = core::mem::take(&mut data).split_at_mut(at);
        pieces.push(piece);
        data = rest;
    }
    pieces
}

/// Writes the lengths of values, which one more offset separates.
///
/// # Errors
/// [`Error::Internal`] if there are not as many values as lengths, or one ends before it begins:
/// whoever decoded the offsets has checked that they ascend.
pub fn write_lengths(offsets: &[u64], lengths: &mut [u64]) -> Result<()> {
    if offsets.len().checked_sub(1) != Some(lengths.len()) {
        return Err(Error::internal("a value of variable length has no offset"));
    }
    for (length, (start, end)) in lengths.iter_mut().zip(offsets.iter().zip(offsets.iter().skip(1))) {
        *length = end.checked_sub(*start).or_internal("a value ends before it begins")?;
    }
    Ok(())
}

/// Turns cell lengths (one more slot at the end) into offsets in place; returns their sum.
pub fn lengths_to_offsets(lengths: &mut [u64]) -> Result<usize> {
    let mut sum = 0u64;
    for slot in lengths {
        let len = *slot;
        *slot = sum;
        // A sum that is too large is refused below.
        sum = sum.saturating_add(len);
    }
    let too_large = || QueryError::TooLarge { cells: u128::from(sum) };
    Ok(to_usize(sum).filter(|sum| *sum < isize::MAX.unsigned_abs()).ok_or_else(too_large)?)
}

/// A 32-bit cell number as an index: no cell has it if it does not fit.
#[inline]
pub fn index_of(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}
