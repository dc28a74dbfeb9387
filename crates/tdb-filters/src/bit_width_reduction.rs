//! BIT_WIDTH_REDUCTION (7): integers as narrow offsets from the minimum of their window.
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | input length | u32 |
//! | window count | u32 |
//! | per window: base | T |
//! | per window: bit width | u8: 8, 16, 32 or 64 |
//! | per window: **unfiltered** length | u32 |
//!
//! Data: the windows in order. A window is raw, and its base has no meaning, if its width is that
//! of the type or its length is not a multiple of the type's size. The filter is active for 16- to
//! 64-bit integers, and for dates and times since [`Gate::FilterDates`]; for other types it writes
//! no metadata and changes nothing.
//!
//! Options: max window size u32.

use tdb_codec::{Datatype, DatatypeClass, FormatVersion, Gate, Physical, Reader, Writer, to_usize};

use crate::error::{ErrorKind, Kind};
use crate::kernels::{narrow_windows, widen_windows};
use crate::windows::windows;

/// The integer type that the filter works on; `None` if the filter does nothing.
pub(crate) fn integers(datatype: Datatype, fragment_version: FormatVersion) -> Option<Physical> {
    match datatype.class() {
        DatatypeClass::Integer if datatype.size() > 1 => Some(datatype.physical()),
        DatatypeClass::Datetime | DatatypeClass::Time if fragment_version.has(Gate::FilterDates) => {
            Some(datatype.physical())
        }
        _ => None,
    }
}

/// The filter's chunk metadata, checked against the data.
pub(crate) struct Block<'a> {
    /// Length of the decoded data.
    pub(crate) len: usize,
    /// Base, bit width and length of each window.
    windows: &'a [u8],
}

impl<'a> Block<'a> {
    /// Reads the block of a filter on `size`-byte integers; the lengths of the windows add up to
    /// `len`.
    pub(crate) fn parse(size: usize, block: &mut Reader<'a>) -> Kind<Self> {
        let len = block.u32("input length")?;
        let entry = size.saturating_add(5);
        let count = block.count_u32(entry, "window count")?;
        let windows = block.take(count.saturating_mul(entry), "windows")?;
        let length = |entry: &[u8]| entry.last_chunk().map_or(0, |&length| u32::from_le_bytes(length));
        let sum =
            windows.chunks_exact(entry).fold(0u64, |sum, entry| sum.saturating_add(length(entry).into()));
        if sum != u64::from(len) {
            return Err(ErrorKind::WrongLength { expected: u64::from(len), found: sum });
        }
        Ok(Self { len: to_usize(sum).unwrap_or(usize::MAX), windows })
    }
}

/// Widens every window of `src` into `dst`, which has [`Block::len`] bytes.
pub(crate) fn decode(physical: Physical, block: &Block<'_>, src: &[u8], dst: &mut [u8]) -> Kind<()> {
    widen_windows(physical, block.windows, src, dst)
}

/// Appends the metadata block, and the narrowed windows of `src`, to `out`.
pub(crate) fn encode(
    physical: Physical,
    max_window: usize,
    src: &[u8],
    block: &mut Writer,
    out: &mut Vec<u8>,
) -> Kind<()> {
    block.len_u32(src.len(), "input length")?;
    block.len_u32(windows(src, max_window, physical.size()).len(), "window count")?;
    narrow_windows(physical, max_window, src, block, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(physical: Physical, max_window: usize, input: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (mut block, mut out) = (Writer::new(), Vec::new());
        encode(physical, max_window, input, &mut block, &mut out).unwrap();
        let block = block.into_vec();
        let mut reader = Reader::new(&block);
        let parsed = Block::parse(physical.size(), &mut reader).unwrap();
        reader.finish("block").unwrap();
        let mut back = vec![0; parsed.len];
        decode(physical, &parsed, &out, &mut back).unwrap();
        assert_eq!(back, input);
        (block, out)
    }

    #[test]
    fn small_unsigned_differences_are_the_reference_s_bytes() {
        let input: Vec<u8> = (0u32..4).flat_map(u32::to_le_bytes).collect();
        let (block, out) = encoded(Physical::U32, 256, &input);
        assert_eq!(block, [16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 8, 16, 0, 0, 0]);
        assert_eq!(out, [0, 1, 2, 3]);
    }

    #[test]
    fn the_width_counts_the_range_plus_one() {
        let width = |physical, values: [i32; 2]| {
            let input: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()[..2].to_vec()).collect();
            encoded(physical, 256, &input).0[10]
        };
        assert_eq!(width(Physical::I16, [-63, 63]), 8);
        assert_eq!(width(Physical::I16, [-63, 64]), 16);
        assert_eq!(width(Physical::I16, [-32768, 32767]), 16);
        assert_eq!(width(Physical::U16, [1, 255]), 8);
        assert_eq!(width(Physical::U16, [1, 256]), 16);
        assert_eq!(width(Physical::U16, [0, 65535]), 16);
    }

    #[test]
    fn a_window_option_of_33_works_as_32_and_tiny_ones_as_one_value() {
        let input: Vec<u8> = (0u32..20).flat_map(u32::to_le_bytes).collect();
        assert_eq!(encoded(Physical::U32, 33, &input).0[4], 3);
        assert_eq!(encoded(Physical::U32, 3, &input).0[4], 20);
        assert_eq!(encoded(Physical::U32, 0, &input).0[4], 20);
    }

    #[test]
    fn nothing_is_zero_windows_and_a_partial_value_is_a_raw_window() {
        assert_eq!(encoded(Physical::I32, 256, &[]).0, [0; 8]);
        assert_eq!(encoded(Physical::I32, 256, &[1, 2, 3]).1, [1, 2, 3]);
        assert_eq!(encoded(Physical::I32, 256, &[1, 0, 0, 0, 2, 3]).1, [0, 2, 3]);
    }

    #[test]
    fn windows_and_data_that_do_not_add_up_are_refused() {
        let block = [4, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 8, 4, 0, 0, 0];
        let parse = |bytes: &[u8]| Block::parse(4, &mut Reader::new(bytes)).map(|_| ());
        assert!(parse(&block).is_ok());
        for at in [0, 4, 13] {
            let mut wrong = block;
            wrong[at] ^= 2;
            assert!(parse(&wrong).is_err(), "{at}");
        }
        let parsed = Block::parse(4, &mut Reader::new(&block)).unwrap();
        assert!(decode(Physical::I32, &parsed, &[1, 2], &mut [0; 4]).is_err());
        assert!(decode(Physical::I32, &parsed, &[], &mut [0; 4]).is_err());
        let mut wrong = block;
        wrong[12] = 7;
        let parsed = Block::parse(4, &mut Reader::new(&wrong)).unwrap();
        let error = decode(Physical::I32, &parsed, &[1], &mut [0; 4]).unwrap_err();
        assert_eq!(error, ErrorKind::InvalidValue { value: 7 });
    }

    #[test]
    fn dates_are_narrowed_only_from_their_gate_on() {
        let version = |number| FormatVersion::parse(number).unwrap();
        assert_eq!(integers(Datatype::DatetimeMs, version(19)), None);
        assert_eq!(integers(Datatype::DatetimeMs, version(20)), Some(Physical::I64));
        for datatype in [Datatype::Int8, Datatype::Bool, Datatype::Blob, Datatype::Char, Datatype::Float32] {
            assert_eq!(integers(datatype, version(22)), None);
        }
    }
}
