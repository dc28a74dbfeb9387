//! POSITIVE_DELTA (10): differences to the previous value, for values that never decrease.
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | window count | u32 |
//! | per window: base (its first value) | T |
//! | per window: length | u32 |
//!
//! Data keeps its length: each window has a 0, then the difference of each value to the previous
//! one. A window whose length is not a multiple of the value size is copied. The filter is active
//! for integers of every width, `BOOL`, `BLOB` and `GEOM_*` as bytes, and dates and times since
//! [`Gate::FilterDates`].
//!
//! Options: max window size u32.

use tdb_codec::{Datatype, DatatypeClass, FormatVersion, Gate, Physical, Reader, Writer, to_u64};

use crate::error::{ErrorKind, Kind};
use crate::int::{with_int, with_uint};
use crate::kernels::{rising_differences, running_sums, running_sums_in_place};
use crate::parts::take_part;
use crate::windows::windows;

/// The integer type that the filter works on; `None` if the filter does nothing.
pub(crate) fn integers(datatype: Datatype, fragment_version: FormatVersion) -> Option<Physical> {
    match datatype.class() {
        DatatypeClass::Integer | DatatypeClass::Byte => Some(datatype.physical()),
        DatatypeClass::Datetime | DatatypeClass::Time if fragment_version.has(Gate::FilterDates) => {
            Some(datatype.physical())
        }
        _ => None,
    }
}

/// Reads the metadata block and turns differences into values: from `src` into `dst`, which has the
/// same length, or in `dst` itself.
pub(crate) fn decode(
    size: usize,
    block: &mut Reader<'_>,
    mut src: Option<&[u8]>,
    dst: &mut [u8],
) -> Kind<()> {
    let entry = size.saturating_add(4);
    let count = block.count_u32(entry, "window count")?;
    let entries = block.take(count.saturating_mul(entry), "windows")?;
    let found = to_u64(dst.len());
    let mut rest = dst;
    with_uint!(size, T, {
        const N: usize = size_of::<T>();
        for entry in entries.as_chunks::<{ N + 4 }>().0 {
            let (Some(&base), Some(&length)) = (entry.first_chunk::<N>(), entry.last_chunk::<4>()) else {
                break;
            };
            let length = u64::from(u32::from_le_bytes(length));
            let (src, window) = take_part(&mut src, &mut rest, length)
                .ok_or(ErrorKind::WrongLength { expected: length, found })?;
            match (src, window.len().is_multiple_of(N)) {
                (Some(src), true) => running_sums::<N>(base, src, window),
                (Some(src), false) => window.copy_from_slice(src),
                (None, true) => running_sums_in_place::<N>(base, window),
                (None, false) => {}
            }
        }
    });
    if !rest.is_empty() {
        return Err(ErrorKind::WrongLength { expected: found.saturating_sub(to_u64(rest.len())), found });
    }
    Ok(())
}

/// Appends the metadata block, and writes the differences of `src` to `out`, which has the same
/// length.
pub(crate) fn encode(
    physical: Physical,
    max_window: usize,
    src: &[u8],
    block: &mut Writer,
    out: &mut [u8],
) -> Kind<()> {
    let size = physical.size();
    block.len_u32(windows(src, max_window, size).len(), "window count")?;
    let mut rest = out;
    for window in windows(src, max_window, size) {
        block.bytes(window.get(..size).unwrap_or(ZERO.get(..size).unwrap_or_default()));
        block.len_u32(window.len(), "window length")?;
        let Some((slots, later)) = rest.split_at_mut_checked(window.len()) else { break };
        if !window.len().is_multiple_of(size) {
            slots.copy_from_slice(window);
        } else if !rising_differences(physical, window, slots) {
            return Err(ErrorKind::Decreasing { index: first_fall(physical, window) });
        }
        rest = later;
    }
    Ok(())
}

/// The base of a window without a whole value.
const ZERO: [u8; 8] = [0; 8];

/// The index of the first value that is less than the previous one.
fn first_fall(physical: Physical, window: &[u8]) -> usize {
    with_int!(physical, T, {
        let values = window.as_chunks().0;
        let falls = |(&a, &b): (&[u8; size_of::<T>()], _)| T::from_le_bytes(b) < T::from_le_bytes(a);
        values.iter().zip(values.iter().skip(1)).position(falls).unwrap_or(0).saturating_add(1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(physical: Physical, max_window: usize, input: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let (mut block, mut out) = (Writer::new(), vec![9; input.len()]);
        encode(physical, max_window, input, &mut block, &mut out).unwrap();
        let block = block.into_vec();
        for (src, mut back) in [(None, out.clone()), (Some(&out[..]), vec![9; out.len()])] {
            let mut reader = Reader::new(&block);
            decode(physical.size(), &mut reader, src, &mut back).unwrap();
            reader.finish("block").unwrap();
            assert_eq!(back, input);
        }
        (block, out)
    }

    fn bytes(values: &[i32]) -> Vec<u8> {
        values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }

    #[test]
    fn two_windows_are_the_reference_s_bytes() {
        let (block, out) = encoded(Physical::I32, 8, &bytes(&[10, 11, 13, 13]));
        assert_eq!(block, [2, 0, 0, 0, 10, 0, 0, 0, 8, 0, 0, 0, 13, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(out, bytes(&[0, 1, 0, 0]));
    }

    #[test]
    fn nothing_is_zero_windows_and_partial_values_are_copied() {
        assert_eq!(encoded(Physical::I32, 1024, &[]).0, [0; 4]);
        assert_eq!(encoded(Physical::I32, 1024, &[3, 2, 1]).1, [3, 2, 1]);
        let (_, out) = encoded(Physical::I32, 8, &[1, 0, 0, 0, 2, 0, 0, 0, 9, 9]);
        assert_eq!(out, [0, 0, 0, 0, 1, 0, 0, 0, 9, 9]);
    }

    #[test]
    fn a_value_that_decreases_inside_a_window_is_refused_but_not_between_windows() {
        let (mut block, mut out) = (Writer::new(), [0; 16]);
        let error = encode(Physical::I32, 8, &bytes(&[1, 2, 2, 1]), &mut block, &mut out).unwrap_err();
        assert_eq!(error, ErrorKind::Decreasing { index: 1 });
        encoded(Physical::I32, 8, &bytes(&[1, 2, 1, 1]));
        encoded(Physical::I64, 1024, &[i64::MIN, -1, 0, i64::MAX].map(i64::to_le_bytes).concat());
        encoded(Physical::U8, 1024, &[0, 127, 128, 255]);
    }

    #[test]
    fn windows_that_do_not_cover_the_data_exactly_are_refused() {
        let block = [1, 0, 0, 0, 10, 0, 0, 0, 8, 0, 0, 0];
        for len in [0, 4, 7, 9, 12] {
            assert!(decode(4, &mut Reader::new(&block), None, &mut vec![0; len]).is_err());
            assert!(decode(4, &mut Reader::new(&block), Some(&vec![0; len]), &mut vec![0; len]).is_err());
        }
        for len in 0..block.len() {
            assert!(decode(4, &mut Reader::new(&block[..len]), None, &mut [0; 8]).is_err());
        }
    }
}
