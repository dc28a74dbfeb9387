//! The common part of RLE and DICTIONARY on var-length strings: the strings' lengths are in the
//! data, and the offsets tile has no chunks.
//!
//! Both begin their chunk metadata with:
//!
//! | Field | Type |
//! |---|---|
//! | metadata part count | u32 = 0 |
//! | data part count | u32 = 1 |
//! | original data bytes | u32 |
//! | encoded data bytes | u32 |
//! | original offsets bytes (8 × cells) | u32 |
//!
//! All integers inside the data are **big-endian**, of 1, 2, 4 or 8 bytes as given by the rest of
//! the metadata.

use tdb_codec::{ErrorKind as FormatError, Reader, Writer, read_be_uint, to_u32, to_u64, to_usize};

use crate::error::{ErrorKind, Kind};
use crate::scratch::Charge;

/// The common beginning of the metadata.
pub(crate) struct Head {
    /// Number of strings.
    pub(crate) cells: usize,
    /// Bytes of all strings.
    pub(crate) values_len: usize,
    /// Bytes of the encoded data.
    pub(crate) encoded_len: usize,
}

impl Head {
    pub(crate) fn parse(block: &mut Reader<'_>, charge: &Charge<'_>) -> Kind<Self> {
        for (what, expected) in [("metadata part count", 0), ("data part count", 1)] {
            let at = *block;
            let found = block.u32(what)?;
            if found != expected {
                return Err(at.error(what, FormatError::Mismatch { expected, found }).into());
            }
        }
        let values_len = length(block, "original data bytes")?;
        let encoded_len = length(block, "encoded data bytes")?;
        let at = *block;
        let offsets_len = length(block, "original offsets bytes")?;
        if !offsets_len.is_multiple_of(8) {
            return Err(at
                .error("original offsets bytes", FormatError::WrongLength { value: to_u64(offsets_len) })
                .into());
        }
        // The caller's vectors grow by this much.
        charge.charge(values_len)?;
        charge.charge(offsets_len)?;
        Ok(Self { cells: offsets_len / 8, values_len, encoded_len })
    }

    pub(crate) fn write(cells: usize, values_len: usize, encoded_len: usize, block: &mut Writer) -> Kind<()> {
        block.u32(0);
        block.u32(1);
        block.len_u32(values_len, "original data bytes")?;
        block.len_u32(encoded_len, "encoded data bytes")?;
        block.len_u32(cells.saturating_mul(8), "original offsets bytes")?;
        Ok(())
    }
}

fn length(block: &mut Reader<'_>, what: &'static str) -> Kind<usize> {
    Ok(to_usize(u64::from(block.u32(what)?)).unwrap_or(usize::MAX))
}

/// Reads a width: 1, 2, 4 or 8.
pub(crate) fn width(block: &mut Reader<'_>, what: &'static str) -> Kind<usize> {
    Ok(block.code(what, |width| matches!(width, 1 | 2 | 4 | 8).then_some(usize::from(width)))?)
}

/// The smallest width in which `max` fits.
pub(crate) const fn width_for(max: u64) -> usize {
    match max {
        0..=0xff => 1,
        0x100..=0xffff => 2,
        0x1_0000..=0xffff_ffff => 4,
        _ => 8,
    }
}

/// Reads a big-endian integer as a length. A value that does not fit a `usize` is longer than the
/// bytes that follow.
pub(crate) fn read_uint(reader: &mut Reader<'_>, width: usize, what: &'static str) -> Kind<usize> {
    let bytes = reader.take(width, what).map_err(ErrorKind::Data)?;
    Ok(read_be_uint(bytes).and_then(to_usize).unwrap_or(usize::MAX))
}

/// Number of bytes that are copied for a short string.
const WIDE: usize = 16;
/// Number of bytes for which room is made at a time.
const STEP: usize = 64 << 10;

/// The decoded strings while they grow. They never grow beyond the lengths in the metadata.
pub(crate) struct Strings<'a> {
    /// Filled bytes, and room for more.
    values: &'a mut Vec<u8>,
    /// How many bytes are filled.
    filled: usize,
    /// How many will be, if the metadata is right.
    end: usize,
    offsets: &'a mut Vec<u64>,
    left: Left,
}

/// The strings and bytes that the metadata promises and that were not found yet.
pub(crate) struct Left {
    /// Cells that are still missing.
    pub(crate) cells: usize,
    /// Bytes that their strings have together.
    pub(crate) values: usize,
}

impl Left {
    const fn all(head: &Head) -> Self {
        Self { cells: head.cells, values: head.values_len }
    }

    /// Counts `count` cells with a string of `len` bytes; returns the bytes of all of them.
    fn take(&mut self, count: usize, len: usize) -> Kind<usize> {
        let bytes = len.saturating_mul(count);
        self.take_bytes(count, bytes)?;
        Ok(bytes)
    }

    /// Counts `count` cells whose strings have `bytes` bytes together.
    fn take_bytes(&mut self, count: usize, bytes: usize) -> Kind<()> {
        let wrong = |expected: usize, found: usize| ErrorKind::WrongLength {
            expected: to_u64(expected),
            found: to_u64(found),
        };
        self.cells = self.cells.checked_sub(count).ok_or_else(|| wrong(self.cells, count))?;
        self.values = self.values.checked_sub(bytes).ok_or_else(|| wrong(self.values, bytes))?;
        Ok(())
    }

    /// Checks that all cells and bytes were found.
    fn finish(&self) -> Kind<()> {
        if self.cells > 0 || self.values > 0 {
            return Err(ErrorKind::WrongLength { expected: 0, found: to_u64(self.cells.max(self.values)) });
        }
        Ok(())
    }
}

impl<'a> Strings<'a> {
    pub(crate) fn new(head: &Head, values: &'a mut Vec<u8>, offsets: &'a mut Vec<u64>) -> Self {
        let filled = values.len();
        let end = filled.saturating_add(head.values_len);
        values.reserve(head.values_len);
        offsets.reserve(head.cells);
        Self { values, filled, end, offsets, left: Left::all(head) }
    }

    /// Makes room for so many bytes, and for more that are promised: bytes in their places cost
    /// less than a vector that grows string by string. Memory is touched only as strings come,
    /// because promises may be wrong.
    fn make_room(&mut self, bytes: usize) {
        let needed = self.filled.saturating_add(bytes);
        if self.values.len() < needed {
            let more = self.values.len().saturating_add(STEP).min(self.end);
            self.values.resize(needed.max(more), 0);
        }
    }

    /// Appends the first `len` bytes of `source` once.
    #[inline]
    pub(crate) fn push_one(&mut self, source: &[u8], len: usize) -> Kind<()> {
        // Most strings are short, and a copy of constant length costs less than a call. There is
        // room for it as long as at least that many bytes are left.
        if let Some(wide) = source.first_chunk::<WIDE>()
            && len <= WIDE
            && let Some(cells_left) = self.left.cells.checked_sub(1)
            && let Some(slot) = self.values.get_mut(self.filled..).and_then(<[u8]>::first_chunk_mut)
        {
            *slot = *wide;
            self.offsets.push(to_u64(self.filled));
            self.filled = self.filled.wrapping_add(len);
            self.left.cells = cells_left;
            self.left.values = self.left.values.saturating_sub(len);
            return Ok(());
        }
        self.push(source.get(..len).unwrap_or_default(), 1)
    }

    /// Checks that all expected strings and bytes were appended.
    pub(crate) fn finish(self) -> Kind<()> {
        self.left.finish()?;
        self.values.truncate(self.filled);
        Ok(())
    }
}

/// Takes strings that occur several times in a row.
pub(crate) trait Runs {
    /// The part that is still missing.
    fn left(&self) -> &Left;

    /// Appends a string `count` times.
    fn push(&mut self, string: &[u8], count: usize) -> Kind<()>;
}

impl Runs for Strings<'_> {
    fn left(&self) -> &Left {
        &self.left
    }

    fn push(&mut self, string: &[u8], count: usize) -> Kind<()> {
        let bytes = self.left.take(count, string.len())?;
        let start = self.filled;
        // The sum cannot overflow: all of it was charged to the budget.
        let begins = (0..count).map(|i| to_u64(start.wrapping_add(i.wrapping_mul(string.len()))));
        self.offsets.extend(begins);
        self.make_room(bytes);
        let end = self.filled.saturating_add(bytes);
        let slots = self.values.get_mut(self.filled..end).unwrap_or_default();
        if let Some(first) = slots.get_mut(..string.len()) {
            first.copy_from_slice(string);
            // Each further copy doubles the length.
            let mut done = string.len();
            while done < bytes && done > 0 {
                let more = bytes.saturating_sub(done).min(done);
                slots.copy_within(..more, done);
                done = done.saturating_add(more);
            }
        }
        self.filled = end;
        Ok(())
    }
}

/// Strings as codes: each string once for each place where it is stored, and for each cell which
/// one it has.
///
/// ```
/// let coded = tdb_filters::CodedStrings { values: b"redblue".to_vec(), starts: vec![0, 3], codes: vec![1, 0, 0] };
/// assert_eq!(coded.string(2), Some(&b"red"[..]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CodedStrings {
    /// The bytes of the strings, one after the other.
    pub values: Vec<u8>,
    /// Where each string begins in `values`.
    pub starts: Vec<u64>,
    /// For each cell the number of its string.
    pub codes: Vec<u32>,
}

impl CodedStrings {
    /// The string of a cell; `None` if there is no such cell.
    #[must_use]
    pub fn string(&self, cell: usize) -> Option<&[u8]> {
        let code = to_usize(u64::from(*self.codes.get(cell)?))?;
        let start = to_usize(*self.starts.get(code)?)?;
        let end = self.starts.get(code.checked_add(1)?).map_or(Some(self.values.len()), |end| to_usize(*end));
        self.values.get(start..end?)
    }

    /// Removes all strings and cells, and keeps the memory.
    pub fn clear(&mut self) {
        self.values.clear();
        self.starts.clear();
        self.codes.clear();
    }
}

/// Codes while they grow, within the lengths in the metadata.
pub(crate) struct Codes<'a> {
    into: &'a mut CodedStrings,
    left: Left,
}

impl<'a> Codes<'a> {
    /// `strings` is how many strings there may be besides one for each cell.
    pub(crate) fn new(
        head: &Head,
        strings: usize,
        into: &'a mut CodedStrings,
        charge: &Charge<'_>,
    ) -> Kind<Self> {
        // A start for each cell is charged already.
        let codes = head.cells.saturating_mul(size_of::<u32>());
        charge.charge(codes.saturating_add(strings.saturating_mul(size_of::<u64>())))?;
        into.codes.reserve(head.cells);
        Ok(Self { into, left: Left::all(head) })
    }

    /// Appends a code `count` times, whose string has `len` bytes.
    pub(crate) fn push_code(&mut self, code: u32, len: usize, count: usize) -> Kind<()> {
        self.left.take(count, len)?;
        self.into.codes.extend(core::iter::repeat_n(code, count));
        Ok(())
    }

    /// Appends the codes of cells, each with the bytes that its string has.
    pub(crate) fn extend(&mut self, codes: impl ExactSizeIterator<Item = Kind<(u32, usize)>>) -> Kind<()> {
        let (cells, mut bytes) = (codes.len(), 0usize);
        for code in codes {
            let (code, len) = code?;
            bytes = bytes.saturating_add(len);
            self.into.codes.push(code);
        }
        self.left.take_bytes(cells, bytes)
    }

    /// Adds a string that cells may have; returns its code.
    pub(crate) fn add(&mut self, string: &[u8]) -> Kind<u32> {
        let code = self.into.starts.len();
        self.into.starts.push(to_u64(self.into.values.len()));
        self.into.values.extend_from_slice(string);
        to_u32(code).ok_or(ErrorKind::InvalidValue { value: to_u64(code) })
    }

    /// As [`Strings::finish`].
    pub(crate) fn finish(self) -> Kind<()> {
        self.left.finish()
    }
}

impl Runs for Codes<'_> {
    fn left(&self) -> &Left {
        &self.left
    }

    fn push(&mut self, string: &[u8], count: usize) -> Kind<()> {
        let code = self.add(string)?;
        self.push_code(code, string.len(), count)
    }
}

/// The strings between consecutive offsets; offsets that decrease or are past the end are an error.
pub(crate) fn split<'v>(values: &'v [u8], offsets: &[u64]) -> Kind<Vec<&'v [u8]>> {
    let ends = offsets.iter().copied().skip(1).chain([to_u64(values.len())]);
    let mut strings = Vec::with_capacity(offsets.len());
    for (&start, end) in offsets.iter().zip(ends) {
        let range = to_usize(start).zip(to_usize(end)).map(|(start, end)| start..end);
        let string =
            range.and_then(|range| values.get(range)).ok_or(ErrorKind::InvalidValue { value: start })?;
        strings.push(string);
    }
    match offsets.first() {
        Some(0) => Ok(strings),
        None if values.is_empty() => Ok(strings),
        first => Err(ErrorKind::InvalidValue { value: first.copied().unwrap_or(0) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_width_is_the_smallest_in_which_a_number_fits() {
        for (max, width) in [(0, 1), (0xff, 1), (0x100, 2), (0xffff, 2), (0x1_0000, 4), (0xffff_ffff, 4)] {
            assert_eq!(width_for(max), width, "{max:#x}");
        }
        assert_eq!((width_for(0x1_0000_0000), width_for(u64::MAX)), (8, 8));
    }

    #[test]
    fn strings_begin_at_0_never_decrease_and_end_within_the_values() {
        assert_eq!(split(b"abc", &[0, 1, 1]), Ok(vec![&b"a"[..], b"", b"bc"]));
        assert_eq!(split(b"", &[]), Ok(vec![]));
        for (values, offsets, value) in
            [(&b"a"[..], &[][..], 0), (b"abc", &[1, 2], 1), (b"abc", &[0, 2, 1], 2), (b"a", &[0, 2], 0)]
        {
            assert_eq!(split(values, offsets), Err(ErrorKind::InvalidValue { value }), "{offsets:?}");
        }
    }
}
