//! BYTESHUFFLE (9): bytes of equal significance next to each other.
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | part count | u32 |
//! | per part: length | u32 |
//!
//! Data keeps its length. In a part of `n` values, output byte `j·n + i` is byte `j` of value `i`;
//! bytes after the last whole value are copied. The size is that of the datatype, not of the cell.

use tdb_codec::{Reader, Writer};

use crate::error::Kind;
use crate::kernels::{shuffle, unshuffle};
use crate::parts::{each_part, read_lengths};

/// Reads the metadata block and undoes the shuffle of `src` into `dst`, which has the same length.
pub(crate) fn decode(size: usize, block: &mut Reader<'_>, src: &[u8], dst: &mut [u8]) -> Kind<()> {
    let lengths = read_lengths(block, src.len())?;
    each_part(lengths, src, dst, |src, dst| unshuffle(size, src, dst));
    Ok(())
}

/// Appends the metadata block, and writes the shuffled bytes of the one part `src` to `dst`, which
/// has the same length.
pub(crate) fn encode(size: usize, src: &[u8], block: &mut Writer, dst: &mut [u8]) -> Kind<()> {
    block.u32(1);
    block.len_u32(src.len(), "part length")?;
    shuffle(size, src, dst);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_u16_are_the_reference_s_bytes() {
        let input: Vec<u8> =
            [0x0102u16, 0x0304, 0x0506].iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut out = vec![0; 6];
        let mut block = Writer::new();
        encode(2, &input, &mut block, &mut out).unwrap();
        assert_eq!(out, [2, 4, 6, 1, 3, 5]);
        assert_eq!(block.as_slice(), [1, 0, 0, 0, 6, 0, 0, 0]);
    }

    #[test]
    fn parts_are_shuffled_one_by_one() {
        let block = [2, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0];
        let mut out = [0; 6];
        decode(2, &mut Reader::new(&block), &[1, 3, 2, 4, 5, 6], &mut out).unwrap();
        assert_eq!(out, [1, 2, 3, 4, 5, 6]);
        for total in [5, 7] {
            assert!(decode(2, &mut Reader::new(&block), &vec![0; total], &mut vec![0; total]).is_err());
        }
    }
}
