//! RLE (4), fixed form: runs of equal cells.
//!
//! | Field | Type |
//! |---|---|
//! | per run: cell | `u8[cell size]` |
//! | per run: length | u16, **big-endian** |
//!
//! A cell here is the whole cell, not one value of the datatype; metadata parts use the same size.
//! Options: compressor = 4, level i32 (ignored). Framing of parts: [`crate::compress`].

use tdb_codec::to_u64;

use crate::error::{ErrorKind, Kind};
use crate::kernels::{expand_runs, finish_runs, push_runs, run_length};

/// Expands runs of `cell`-byte cells; they must fill `out` exactly.
pub(crate) fn decode(cell: usize, input: &[u8], out: &mut [u8]) -> Kind<()> {
    match cell {
        1 => expand_runs::<1>(input, out),
        2 => expand_runs::<2>(input, out),
        4 => expand_runs::<4>(input, out),
        8 => expand_runs::<8>(input, out),
        16 => expand_runs::<16>(input, out),
        _ => decode_any(cell, input, out),
    }
}

fn decode_any(cell: usize, input: &[u8], mut out: &mut [u8]) -> Kind<()> {
    let expected = to_u64(out.len());
    let mut rest = input;
    let mut done = 0u64;
    while let Some((value, next)) = rest.split_at_checked(cell) {
        let Some((length, next)) = next.split_first_chunk() else { break };
        let length = run_length(*length)?.saturating_mul(cell);
        done = done.saturating_add(to_u64(length));
        let Some((run, later)) = out.split_at_mut_checked(length) else {
            return Err(ErrorKind::WrongLength { expected, found: done });
        };
        repeat(value, run);
        out = later;
        rest = next;
    }
    finish_runs(rest, expected, done)
}

/// Fills `run` with `value`; each copy doubles the length.
fn repeat(value: &[u8], run: &mut [u8]) {
    let Some((first, _)) = run.split_at_mut_checked(value.len()) else { return };
    first.copy_from_slice(value);
    let mut filled = value.len().max(1);
    while filled < run.len() {
        let more = filled.min(run.len().saturating_sub(filled));
        run.copy_within(..more, filled);
        filled = filled.saturating_add(more);
    }
}

/// Appends the runs of `input`.
pub(crate) fn encode(cell: usize, input: &[u8], out: &mut Vec<u8>) -> Kind<()> {
    if !input.len().is_multiple_of(cell) {
        return Err(ErrorKind::PartialValue { bytes: to_u64(input.len()), size: to_u64(cell) });
    }
    match cell {
        1 => push_runs::<1>(input, out),
        2 => push_runs::<2>(input, out),
        4 => push_runs::<4>(input, out),
        8 => push_runs::<8>(input, out),
        _ => push_any(cell, input, out),
    }
    Ok(())
}

fn push_any(cell: usize, input: &[u8], out: &mut Vec<u8>) {
    let mut cells = input.chunks_exact(cell);
    let Some(mut value) = cells.next() else { return };
    let mut length = 1u16;
    let mut push = |value: &[u8], length: u16| {
        out.extend_from_slice(value);
        out.extend_from_slice(&length.to_be_bytes());
    };
    for next in cells {
        if next == value && length < u16::MAX {
            length = length.wrapping_add(1);
        } else {
            push(value, length);
            (value, length) = (next, 1);
        }
    }
    push(value, length);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(cell: usize, input: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        encode(cell, input, &mut out).unwrap();
        let mut back = vec![0; input.len()];
        decode(cell, &out, &mut back).unwrap();
        assert_eq!(back, input);
        out
    }

    #[test]
    fn three_ones_two_twos_and_a_three_are_the_reference_s_bytes() {
        let input: Vec<u8> = [1i32, 1, 1, 2, 2, 3].iter().flat_map(|value| value.to_le_bytes()).collect();
        assert_eq!(runs(4, &input), [1, 0, 0, 0, 0, 3, 2, 0, 0, 0, 0, 2, 3, 0, 0, 0, 0, 1]);
    }

    #[test]
    fn nothing_encodes_as_nothing() {
        assert_eq!(runs(4, &[]), []);
    }

    #[test]
    fn long_runs_are_split_at_65535() {
        assert_eq!(runs(1, &vec![9; 70000]), [9, 0xff, 0xff, 9, 0x11, 0x71]);
    }

    #[test]
    fn cells_of_any_size_are_compared_whole() {
        assert_eq!(runs(3, &[1, 2, 3, 1, 2, 3, 1, 2, 4]), [1, 2, 3, 0, 2, 1, 2, 4, 0, 1]);
        for cell in [3, 5, 12, 16, 24, 32] {
            for length in [1, 2, 3, 4, 7, 8, 9, 100, 70000] {
                let value: Vec<u8> = (0..cell).collect();
                let [a, b] = [value.repeat(length), value.iter().rev().copied().collect()];
                runs(cell.into(), &[&a[..], &b, &a].concat());
            }
        }
    }

    #[test]
    fn wrong_totals_empty_runs_and_cut_runs_are_refused() {
        let runs = [7, 0, 3, 8, 0, 1];
        assert_eq!(decode(1, &runs, &mut [0; 3]), Err(ErrorKind::WrongLength { expected: 3, found: 4 }));
        assert_eq!(decode(1, &runs, &mut [0; 5]), Err(ErrorKind::WrongLength { expected: 5, found: 4 }));
        assert!(decode(1, &runs[..5], &mut [0; 4]).is_err());
        assert_eq!(decode(1, &[7, 0, 0], &mut []), Err(ErrorKind::InvalidValue { value: 0 }));
        assert!(encode(4, &[0; 6], &mut Vec::new()).is_err());
    }
}
