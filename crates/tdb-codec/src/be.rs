//! Big-endian integers of 1, 2, 4 or 8 bytes. Only the RLE and dictionary filters use them
//! (specification, "RLE filter"); everything else in the format is little-endian.

/// Reads a big-endian unsigned integer of `bytes.len()` bytes; `None` if that is more than 8.
#[inline]
#[must_use]
pub fn read_be_uint(bytes: &[u8]) -> Option<u64> {
    if bytes.len() > 8 {
        return None;
    }
    Some(bytes.iter().fold(0u64, |value, &byte| (value << 8) | u64::from(byte)))
}

/// Appends the low `width` bytes of `value`, most significant first. `width` over 8 counts as 8.
#[inline]
pub fn write_be_uint(out: &mut Vec<u8>, value: u64, width: usize) {
    let bytes = value.to_be_bytes();
    let skip = 8usize.saturating_sub(width);
    out.extend(bytes.iter().skip(skip));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_one_to_eight_round_trip() {
        for width in 1..=8 {
            let value = 0x0102_0304_0506_0708u64 >> (64 - 8 * width);
            let mut out = Vec::new();
            write_be_uint(&mut out, value, width);
            assert_eq!(out.len(), width);
            assert_eq!(read_be_uint(&out), Some(value));
        }
        assert_eq!(read_be_uint(&[0; 9]), None);
        assert_eq!(read_be_uint(&[1, 2]), Some(0x0102));
    }
}
