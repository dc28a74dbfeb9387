//! XOR (16): each value exclusive-or its predecessor (section 6.15).
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | part count | u32 |
//! | per part: length | u32 |
//!
//! Data keeps its length. Values are as wide as the input type. A part must be a whole number of values:
//! libtiledb drops the tail of others, so they are refused. No options.

use tdb_codec::{Reader, Writer, to_u64};

use crate::error::{ErrorKind, Kind};
use crate::kernels::{xor_previous, xor_scan};
use crate::parts::{each_part_mut, read_lengths};

/// Reads the metadata block and undoes the exclusive-or in `data`.
pub(crate) fn decode(size: usize, block: &mut Reader<'_>, data: &mut [u8]) -> Kind<()> {
    let lengths = read_lengths(block, data.len())?;
    each_part_mut(lengths, data, |part| {
        whole(size, part)?;
        xor_scan(size, part);
        Ok(())
    })
}

/// Appends the metadata block, and the exclusive-or of the one part `src` to `out`.
pub(crate) fn encode(size: usize, src: &[u8], block: &mut Writer, out: &mut Vec<u8>) -> Kind<()> {
    whole(size, src)?;
    block.u32(1);
    block.len_u32(src.len(), "part length")?;
    let start = out.len();
    out.resize(start.saturating_add(src.len()), 0);
    xor_previous(size, src, out.get_mut(start..).unwrap_or_default());
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
        let (mut block, mut out) = (Writer::new(), Vec::new());
        encode(2, &[1, 2, 3, 4, 3, 4], &mut block, &mut out).unwrap();
        assert_eq!(block.as_slice(), [1, 0, 0, 0, 6, 0, 0, 0]);
        assert_eq!(out, [1, 2, 2, 6, 0, 0]);
        decode(2, &mut Reader::new(block.as_slice()), &mut out).unwrap();
        assert_eq!(out, [1, 2, 3, 4, 3, 4]);
        let block = [2, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0];
        let mut data = [1, 1, 1, 1];
        decode(2, &mut Reader::new(&block), &mut data).unwrap();
        assert_eq!(data, [1, 1, 1, 1]);
        decode(1, &mut Reader::new(&block), &mut data).unwrap();
        assert_eq!(data, [1, 0, 1, 0]);
    }

    #[test]
    fn partial_values_are_refused_in_both_directions() {
        let error = encode(4, &[0; 6], &mut Writer::new(), &mut Vec::new()).unwrap_err();
        assert_eq!(error, ErrorKind::PartialValue { bytes: 6, size: 4 });
        let block = [1, 0, 0, 0, 6, 0, 0, 0];
        assert!(decode(4, &mut Reader::new(&block), &mut [0; 6]).is_err());
    }
}
