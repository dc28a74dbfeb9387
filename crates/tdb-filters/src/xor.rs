//! XOR (16): the XOR of each value and the previous value.
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | part count | u32 |
//! | per part: length | u32 |
//!
//! Data keeps its length. Values are as wide as the input type. A part must be a whole number of
//! values: libtiledb drops the tail of other parts, so they are an error here. No options.

use tdb_codec::{Reader, Writer, to_u64};

use crate::error::{ErrorKind, Kind};
use crate::kernels::{xor_previous, xor_scan, xor_scan_in_place};
use crate::parts::{read_lengths, take_part};

/// Reads the metadata block and undoes the XOR: from `src` into `dst`, which has the same length,
/// or in `dst` itself.
pub(crate) fn decode(
    size: usize,
    block: &mut Reader<'_>,
    mut src: Option<&[u8]>,
    mut dst: &mut [u8],
) -> Kind<()> {
    for &length in read_lengths(block, dst.len())? {
        let length = u64::from(u32::from_le_bytes(length));
        let Some((src, part)) = take_part(&mut src, &mut dst, length) else { break };
        whole(size, part)?;
        match src {
            Some(src) => xor_scan(size, src, part),
            None => xor_scan_in_place(size, part),
        }
    }
    Ok(())
}

/// Appends the metadata block, and writes the XOR of the one part `src` to `out`, which has the
/// same length.
pub(crate) fn encode(size: usize, src: &[u8], block: &mut Writer, out: &mut [u8]) -> Kind<()> {
    whole(size, src)?;
    block.u32(1);
    block.len_u32(src.len(), "part length")?;
    xor_previous(size, src, out);
    Ok(())
}

fn whole(size: usize, part: &[u8]) -> Kind<()> {
    if part.len().is_multiple_of(size) {
        return Ok(());
    }
    Err(ErrorKind::PartialValue { bytes: to_u64(part.len()), size: to_u64(size) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_value_is_kept_and_each_part_starts_anew() {
        let (mut block, mut out) = (Writer::new(), [9; 6]);
        encode(2, &[1, 2, 3, 4, 3, 4], &mut block, &mut out).unwrap();
        assert_eq!(block.as_slice(), [1, 0, 0, 0, 6, 0, 0, 0]);
        assert_eq!(out, [1, 2, 2, 6, 0, 0]);
        let mut back = [9; 6];
        decode(2, &mut Reader::new(block.as_slice()), Some(&out), &mut back).unwrap();
        assert_eq!(back, [1, 2, 3, 4, 3, 4]);
        decode(2, &mut Reader::new(block.as_slice()), None, &mut out).unwrap();
        assert_eq!(out, back);
        let block = [2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];
        for (size, expected) in [(2, [1, 1, 1, 1]), (1, [1, 0, 1, 0])] {
            let (mut data, mut back) = ([1; 4], [9; 4]);
            decode(size, &mut Reader::new(&block), Some(&data), &mut back).unwrap();
            decode(size, &mut Reader::new(&block), None, &mut data).unwrap();
            assert_eq!([data, back], [expected; 2]);
        }
    }

    #[test]
    fn partial_values_are_refused_in_both_directions() {
        let error = encode(4, &[0; 6], &mut Writer::new(), &mut [0; 6]).unwrap_err();
        assert_eq!(error, ErrorKind::PartialValue { bytes: 6, size: 4 });
        let block = [1, 0, 0, 0, 6, 0, 0, 0];
        assert!(decode(4, &mut Reader::new(&block), None, &mut [0; 6]).is_err());
        assert!(decode(4, &mut Reader::new(&block), Some(&[0; 6]), &mut [0; 6]).is_err());
    }
}
