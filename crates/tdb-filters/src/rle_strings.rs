//! RLE (4) on strings: runs of equal strings, including their lengths.
//!
//! Chunk metadata: the common beginning in [`crate::strings`], then:
//!
//! | Field | Type |
//! |---|---|
//! | run-length width `a` | u8: 1, 2, 4 or 8 |
//! | string-length width `b` | u8: 1, 2, 4 or 8 |
//!
//! Data, per run: run length (`a` bytes, **big-endian**), string length (`b` bytes,
//! **big-endian**), string.
//!
//! libtiledb ignores the tile's last run when it computes `b`, so the last length may be truncated
//! to its low bytes. The true length is then the rest of the data, and the decoder uses it if
//! everything else is consistent.

use tdb_codec::{Reader, Writer, to_u64, write_be_uint};

use crate::error::{ErrorKind, Kind};
use crate::scratch::Charge;
use crate::strings::{CodedStrings, Codes, Head, Runs, Strings, read_uint, split, width, width_for};

/// Reads the metadata block and appends the strings of `data`.
pub(crate) fn decode(
    block: &mut Reader<'_>,
    data: &[u8],
    values: &mut Vec<u8>,
    offsets: &mut Vec<u64>,
    charge: &Charge<'_>,
) -> Kind<()> {
    let (head, widths) = head(block, data, charge)?;
    let mut strings = Strings::new(&head, values, offsets);
    runs(data, widths, &mut strings)?;
    strings.finish()
}

/// Reads the metadata block and appends the strings of `data` as codes, one for each run.
pub(crate) fn decode_codes(
    block: &mut Reader<'_>,
    data: &[u8],
    into: &mut CodedStrings,
    charge: &Charge<'_>,
) -> Kind<usize> {
    let (head, widths) = head(block, data, charge)?;
    let mut codes = Codes::new(&head, 0, into, charge)?;
    runs(data, widths, &mut codes)?;
    codes.finish()?;
    Ok(head.values_len)
}

/// The widths of run lengths and of string lengths.
type Widths = (usize, usize);

fn head(block: &mut Reader<'_>, data: &[u8], charge: &Charge<'_>) -> Kind<(Head, Widths)> {
    let head = Head::parse(block, charge)?;
    let run_width = width(block, "run length width")?;
    let string_width = width(block, "string length width")?;
    if head.encoded_len != data.len() {
        return Err(ErrorKind::WrongLength { expected: to_u64(head.encoded_len), found: to_u64(data.len()) });
    }
    Ok((head, (run_width, string_width)))
}

/// Passes on the runs of `data`.
fn runs(data: &[u8], (run_width, string_width): Widths, strings: &mut impl Runs) -> Kind<()> {
    let mut reader = Reader::new(data);
    while !reader.is_empty() {
        let count = read_uint(&mut reader, run_width, "run length")?;
        let mut length = read_uint(&mut reader, string_width, "string length")?;
        if count == 0 {
            return Err(ErrorKind::InvalidValue { value: 0 });
        }
        if count == strings.left().cells && is_cut(length, string_width, reader.remaining()) {
            let total = reader.remaining().checked_mul(count);
            if total == Some(strings.left().values) {
                length = reader.remaining();
            }
        }
        strings.push(reader.take(length, "string").map_err(ErrorKind::Data)?, count)?;
    }
    Ok(())
}

/// Whether `length` is only the low `width` bytes of `truth`.
fn is_cut(length: usize, width: usize, truth: usize) -> bool {
    let bits = u32::try_from(width.saturating_mul(8)).unwrap_or(64);
    let low = 1u64.checked_shl(bits).map_or(u64::MAX, |end| end.wrapping_sub(1));
    truth > length && to_u64(truth) & low == to_u64(length)
}

/// Appends the metadata block, and the runs of the strings to `out`.
pub(crate) fn encode(values: &[u8], offsets: &[u64], block: &mut Writer, out: &mut Vec<u8>) -> Kind<()> {
    let strings = split(values, offsets)?;
    // The runs are collected first, because comparing strings takes longer than storing the result.
    let runs: Vec<(&[u8], usize)> =
        strings.chunk_by(|a, b| a == b).filter_map(|run| Some((*run.first()?, run.len()))).collect();
    let longest_run = runs.iter().map(|&(_, count)| count).max().unwrap_or(0);
    let longest_string = strings.iter().map(|string| string.len()).max().unwrap_or(0);
    let (run_width, string_width) = (width_for(to_u64(longest_run)), width_for(to_u64(longest_string)));
    for (string, count) in runs {
        write_be_uint(out, to_u64(count), run_width);
        write_be_uint(out, to_u64(string.len()), string_width);
        out.extend_from_slice(string);
    }
    Head::write(strings.len(), values.len(), out.len(), block)?;
    block.u8(u8::try_from(run_width).unwrap_or(8));
    block.u8(u8::try_from(string_width).unwrap_or(8));
    Ok(())
}

#[cfg(test)]
mod tests {
    use tdb_codec::Budget;

    use super::*;

    fn decoded(metadata: &[u8], data: &[u8]) -> Kind<(Vec<u8>, Vec<u64>)> {
        let (mut values, mut offsets) = (Vec::new(), Vec::new());
        let budget = Budget::new(10_000);
        let mut reader = Reader::new(metadata);
        decode(&mut reader, data, &mut values, &mut offsets, &Charge::new(&budget))?;
        reader.finish("block")?;
        Ok((values, offsets))
    }

    #[test]
    fn a_length_is_cut_if_it_is_the_low_bytes_of_a_longer_one() {
        assert!(is_cut(44, 1, 300) && is_cut(0, 2, 0x1_0000) && is_cut(1, 4, 0x1_0000_0001));
        assert!(!is_cut(44, 1, 44) && !is_cut(45, 1, 300) && !is_cut(300, 1, 44) && !is_cut(44, 2, 300));
        assert!(!is_cut(7, 8, 300));
    }

    #[test]
    fn runs_hold_big_endian_lengths() {
        let (values, offsets) = (b"aaaabbbcc", [0, 2, 4, 7, 7, 7]);
        let (mut block, mut out) = (Writer::new(), Vec::new());
        encode(values, &offsets, &mut block, &mut out).unwrap();
        assert_eq!(out, [&[2, 2][..], b"aa", &[1, 3], b"bbb", &[2, 0], &[1, 2], b"cc"].concat());
        let head = [0, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 15, 0, 0, 0, 48, 0, 0, 0, 1, 1];
        assert_eq!(block.as_slice(), head);
        assert_eq!(decoded(&head, &out).unwrap(), (values.to_vec(), offsets.to_vec()));
        for len in 0..out.len() {
            assert!(decoded(&head, &out[..len]).is_err());
        }
        for len in 0..head.len() {
            assert!(decoded(&head[..len], &out).is_err());
        }
    }

    #[test]
    fn runs_of_every_length_come_back() {
        for string in ["", "a", "abc", "a string of more than sixteen bytes"] {
            for count in (1..40).chain([255, 256, 70_000]) {
                let values = [&b"first"[..], string.repeat(count).as_bytes(), b"last"].concat();
                let mut offsets = vec![0];
                offsets.extend((0..=count).map(|i| to_u64(5 + i * string.len())));
                let (mut block, mut out) = (Writer::new(), Vec::new());
                encode(&values, &offsets, &mut block, &mut out).unwrap();
                let (mut found, mut at, budget) = (Vec::new(), Vec::new(), Budget::unlimited());
                let mut reader = Reader::new(block.as_slice());
                decode(&mut reader, &out, &mut found, &mut at, &Charge::new(&budget)).unwrap();
                assert_eq!((found, at), (values, offsets));
            }
        }
    }

    #[test]
    fn wide_lengths_take_more_bytes_the_last_run_included() {
        let values = [b'x'; 300];
        let (mut block, mut out) = (Writer::new(), Vec::new());
        encode(&values, &[0], &mut block, &mut out).unwrap();
        assert_eq!(out[..3], [1, 1, 44]);
        assert_eq!(decoded(block.as_slice(), &out).unwrap(), (values.to_vec(), vec![0]));
    }

    #[test]
    fn a_last_length_that_libtiledb_cut_off_is_repaired() {
        let mut data = vec![1, 1, b'a', 1, 1, b'b', 1, 0x2c];
        data.extend([b'x'; 300]);
        let mut metadata = vec![0, 0, 0, 0, 1, 0, 0, 0];
        for length in [302u32, 308, 24] {
            metadata.extend(length.to_le_bytes());
        }
        metadata.extend([1, 1]);
        let (values, offsets) = decoded(&metadata, &data).unwrap();
        assert_eq!((values.len(), offsets), (302, vec![0, 1, 2]));
    }

    #[test]
    fn strings_that_promise_more_than_the_budget_or_too_little_are_refused() {
        let mut metadata = [0, 0, 0, 0, 1, 0, 0, 0, 255, 255, 255, 255, 2, 0, 0, 0, 8, 0, 0, 0, 1, 1];
        assert!(matches!(decoded(&metadata, &[1, 0]), Err(ErrorKind::OverBudget { .. })));
        metadata[8..12].copy_from_slice(&[1, 0, 0, 0]);
        assert!(matches!(decoded(&metadata, &[1, 0]), Err(ErrorKind::WrongLength { .. })));
        metadata[8] = 0;
        assert_eq!(decoded(&metadata, &[1, 0]), Ok((vec![], vec![0])));
        assert!(decoded(&metadata, &[2, 0]).is_err());
    }
}
