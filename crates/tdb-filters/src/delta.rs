//! DELTA (19): differences to the previous value.
//!
//! | Field | Type |
//! |---|---|
//! | n | u64 |
//! | first value | T, if n ≥ 1 |
//! | differences | `T[n − 1]`, wrapping |
//!
//! libtiledb 2.16 writes one difference too many; it is ignored. Options: compressor = **8**, level
//! i32 (ignored), reinterpret datatype. Framing of parts: [`crate::compress`]. Value types: as
//! [`crate::double_delta`].

use tdb_codec::{Reader, to_u64};

use crate::error::{ErrorKind, Kind};
use crate::int::with_uint;
use crate::kernels::{differences, running_sums};
use crate::scratch::room;

/// Decodes one part of `size`-byte values, which must fill `out` exactly.
pub(crate) fn decode(size: usize, input: &[u8], out: &mut [u8]) -> Kind<()> {
    // libtiledb writes a garbage value after n = 0.
    if out.is_empty() {
        return Ok(());
    }
    let mut reader = Reader::new(input);
    let count = reader.u64("value count").map_err(ErrorKind::Data)?;
    let len = count.saturating_mul(to_u64(size));
    if len != to_u64(out.len()) {
        return Err(ErrorKind::WrongLength { expected: to_u64(out.len()), found: len });
    }
    let body = reader.take_u64(len, "differences").map_err(ErrorKind::Data)?;
    if reader.remaining() != size {
        reader.finish("differences").map_err(ErrorKind::Data)?;
    }
    with_uint!(size, T, {
        const N: usize = size_of::<T>();
        running_sums::<N>([0; N], body, out);
    });
    Ok(())
}

/// Writes the differences of one part into `out` from `at` on, and returns their end.
pub(crate) fn encode(size: usize, input: &[u8], out: &mut Vec<u8>, at: usize) -> Kind<usize> {
    if !input.len().is_multiple_of(size) {
        return Err(ErrorKind::PartialValue { bytes: to_u64(input.len()), size: to_u64(size) });
    }
    let count = to_u64(input.len().checked_div(size).unwrap_or(0)).to_le_bytes();
    room(out, at, count.len()).copy_from_slice(&count);
    let start = at.saturating_add(count.len());
    let slots = room(out, start, input.len());
    with_uint!(size, T, {
        const N: usize = size_of::<T>();
        differences::<N>([0; N], input, slots);
    });
    Ok(start.saturating_add(input.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_the_count_the_first_value_and_wrapping_differences() {
        let mut out = Vec::new();
        encode(2, &[5, 0, 3, 0, 4, 1], &mut out, 0).unwrap();
        assert_eq!(out, [3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0xfe, 0xff, 1, 1]);
        let mut back = [0; 6];
        decode(2, &out, &mut back).unwrap();
        assert_eq!(back, [5, 0, 3, 0, 4, 1]);
        // The surplus difference of libtiledb 2.16.
        out.extend([9, 9]);
        decode(2, &out, &mut back).unwrap();
        assert_eq!(back, [5, 0, 3, 0, 4, 1]);
        out.push(9);
        assert!(decode(2, &out, &mut back).is_err());
    }

    #[test]
    fn wrong_counts_truncation_and_partial_values_are_refused() {
        let mut out = Vec::new();
        encode(4, &[1; 12], &mut out, 0).unwrap();
        for len in 0..out.len() {
            assert!(decode(4, &out[..len], &mut [0; 12]).is_err());
        }
        assert!(decode(4, &out, &mut [0; 8]).is_err());
        assert!(encode(4, &[0; 13], &mut Vec::new(), 0).is_err());
    }
}
