//! BIT_WIDTH_REDUCTION (7): integers as narrow offsets from the minimum of a window (section 6.3).
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
//! Data: the windows in order. A window whose width is that of the type, or whose length is no multiple of
//! its size, is raw, and its base means nothing. Active for 16- to 64-bit integers, and for dates and times
//! since [`Gate::FilterDates`]; elsewhere there is neither metadata nor change.
//!
//! Options: max window size u32.

use tdb_codec::{Datatype, DatatypeClass, FormatVersion, Gate, Physical, Reader, Writer, to_u64, to_usize};

use crate::error::{ErrorKind, Kind};
use crate::int::with_int;
use crate::windows::windows;

/// The integers the filter works on; `None` where it does nothing.
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
    windows: &'a [u8],
    size: usize,
}

impl<'a> Block<'a> {
    /// Reads the block of a filter on `size`-byte integers; the windows add up to `len`.
    pub(crate) fn parse(size: usize, block: &mut Reader<'a>) -> Kind<Self> {
        let len = block.u32("input length")?;
        let entry = size.saturating_add(5);
        let count = block.count_u32(entry, "window count")?;
        let windows = block.take(count.saturating_mul(entry), "windows")?;
        let this = Self { len: to_usize(u64::from(len)).unwrap_or(usize::MAX), windows, size };
        let sum = this.windows().fold(0u64, |sum, window| sum.saturating_add(to_u64(window.len)));
        if sum != u64::from(len) {
            return Err(ErrorKind::WrongLength { expected: u64::from(len), found: sum });
        }
        Ok(this)
    }

    fn windows(&self) -> impl Iterator<Item = Window<'a>> {
        let size = self.size;
        self.windows.chunks_exact(size.saturating_add(5)).filter_map(move |entry| {
            let (base, entry) = entry.split_at_checked(size)?;
            let (&bits, length) = entry.split_first()?;
            let len = u32::from_le_bytes(*length.first_chunk()?);
            Some(Window { base, bits, len: to_usize(u64::from(len))? })
        })
    }
}

struct Window<'a> {
    base: &'a [u8],
    bits: u8,
    len: usize,
}

/// Widens every window of `src` into `dst`, which has [`Block::len`] bytes.
pub(crate) fn decode(physical: Physical, block: &Block<'_>, mut src: &[u8], mut dst: &mut [u8]) -> Kind<()> {
    let size = physical.size();
    let found = to_u64(src.len());
    for window in block.windows() {
        let narrow = usize::from(window.bits / 8);
        if !matches!(window.bits, 8 | 16 | 32 | 64) {
            return Err(ErrorKind::InvalidValue { value: u64::from(window.bits) });
        }
        let raw = narrow >= size || !window.len.is_multiple_of(size);
        let stored = if raw { window.len } else { (window.len / size).saturating_mul(narrow) };
        let too_short = ErrorKind::WrongLength { expected: to_u64(stored), found };
        let (bytes, src_rest) = src.split_at_checked(stored).ok_or(too_short)?;
        let (slots, dst_rest) = dst.split_at_mut_checked(window.len).ok_or(too_short)?;
        if raw {
            slots.copy_from_slice(bytes);
        } else {
            widen(physical, narrow, window.base, bytes, slots);
        }
        (src, dst) = (src_rest, dst_rest);
    }
    if !src.is_empty() {
        return Err(ErrorKind::WrongLength { expected: found.saturating_sub(to_u64(src.len())), found });
    }
    Ok(())
}

/// `dst[i] = src[i] + base`, with `src` of `narrow` bytes a value, sign-extended like the type.
fn widen(physical: Physical, narrow: usize, base: &[u8], src: &[u8], dst: &mut [u8]) {
    macro_rules! kernel {
        ($wide:ty, $narrow:ty) => {{
            let base = base.first_chunk().map_or(0, |&base| <$wide>::from_le_bytes(base));
            let src = src.as_chunks::<{ size_of::<$narrow>() }>().0;
            let dst = dst.as_chunks_mut::<{ size_of::<$wide>() }>().0;
            for (slot, &bytes) in dst.iter_mut().zip(src) {
                *slot = <$wide>::from(<$narrow>::from_le_bytes(bytes)).wrapping_add(base).to_le_bytes();
            }
        }};
    }
    match (physical, narrow) {
        (Physical::I16, _) => kernel!(i16, i8),
        (Physical::U16, _) => kernel!(u16, u8),
        (Physical::I32, 1) => kernel!(i32, i8),
        (Physical::I32, _) => kernel!(i32, i16),
        (Physical::U32, 1) => kernel!(u32, u8),
        (Physical::U32, _) => kernel!(u32, u16),
        (Physical::I64, 1) => kernel!(i64, i8),
        (Physical::I64, 2) => kernel!(i64, i16),
        (Physical::I64, _) => kernel!(i64, i32),
        (Physical::U64, 1) => kernel!(u64, u8),
        (Physical::U64, 2) => kernel!(u64, u16),
        (Physical::U64, _) => kernel!(u64, u32),
        // The filter is never resolved for 8-bit integers and floats.
        (Physical::I8 | Physical::U8 | Physical::F32 | Physical::F64, _) => {}
    }
}

/// Appends the metadata block, and the narrowed windows of `src`, to `out`.
pub(crate) fn encode(
    physical: Physical,
    max_window: usize,
    src: &[u8],
    block: &mut Writer,
    out: &mut Vec<u8>,
) -> Kind<()> {
    let size = physical.size();
    block.len_u32(src.len(), "input length")?;
    block.len_u32(windows(src, max_window, size).len(), "window count")?;
    for window in windows(src, max_window, size) {
        with_int!(physical, T, {
            let values = window.as_chunks::<{ size_of::<T>() }>().0;
            let values = || values.iter().map(|&bytes| T::from_le_bytes(bytes));
            let (min, max) =
                values().fold((T::MAX, T::MIN), |(min, max), value| (min.min(value), max.max(value)));
            let whole = window.len().is_multiple_of(size);
            let bits =
                if whole { bits_needed(physical, min.into(), max.into()) } else { size.saturating_mul(8) };
            let min = if values().len() == 0 { 0 } else { min };
            block.bytes(&min.to_le_bytes());
            block.u8(u8::try_from(bits).unwrap_or(64));
            block.len_u32(window.len(), "window length")?;
            if bits >= size.saturating_mul(8) {
                out.extend_from_slice(window);
            } else {
                let offsets = values().map(|value| value.wrapping_sub(min).to_le_bytes());
                match bits {
                    8 => put_low::<1>(offsets, out),
                    16 => put_low::<2>(offsets, out),
                    _ => put_low::<4>(offsets, out),
                }
            }
        });
    }
    Ok(())
}

/// Appends the low `K` bytes of each offset, which are all of it.
fn put_low<const K: usize>(offsets: impl ExactSizeIterator<Item = impl AsRef<[u8]>>, out: &mut Vec<u8>) {
    let start = out.len();
    out.resize(start.saturating_add(offsets.len().saturating_mul(K)), 0);
    let slots = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<K>().0;
    for (slot, offset) in slots.iter_mut().zip(offsets) {
        if let Some(low) = offset.as_ref().first_chunk::<K>() {
            *slot = *low;
        }
    }
}

/// Bits for `max − min + 1`, rounded up to a machine width; one less is usable for signed types.
fn bits_needed(physical: Physical, min: i128, max: i128) -> usize {
    let full = physical.size().saturating_mul(8);
    let range = max.saturating_sub(min).saturating_add(1);
    let type_max = match (physical.is_signed_integer(), full) {
        (true, 16) => i128::from(i16::MAX),
        (true, 32) => i128::from(i32::MAX),
        (true, _) => i128::from(i64::MAX),
        (false, 16) => i128::from(u16::MAX),
        (false, 32) => i128::from(u32::MAX),
        (false, _) => i128::from(u64::MAX),
    };
    if range > type_max {
        return full;
    }
    let steps: [(i128, usize); 3] = if physical.is_signed_integer() {
        [(i128::from(i8::MAX), 8), (i128::from(i16::MAX), 16), (i128::from(i32::MAX), 32)]
    } else {
        [(i128::from(u8::MAX), 8), (i128::from(u16::MAX), 16), (i128::from(u32::MAX), 32)]
    };
    steps.iter().find(|(most, _)| range <= *most).map_or(full, |&(_, bits)| bits)
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
