//! Runs of equal cells: value and length as a big-endian u16.
//!
//! Expanding stores whole vectors, also past the end of a run, where the next run overwrites them.
//! Finding runs compares each cell with the next, 64 cells at a time, with one bit for each result,
//! and visits the bits that are set. Neither therefore branches on the length of a run, unless the
//! run is long.

use tdb_codec::to_u64;

use crate::error::{ErrorKind, Kind};

kernel! {
    /// Expands runs of `N`-byte cells, where `N` divides 64; they must fill `out` exactly.
    pub(crate) fn expand_runs<const N: usize>(input: &[u8], out: &mut [u8]) -> Kind<()> { plain: expand_plain::<N> }
}

kernel! {
    /// Appends the runs of `input`, a whole number of cells of `N` ≤ 8 bytes.
    pub(crate) fn push_runs<const N: usize>(input: &[u8], out: &mut Vec<u8>) {
        plain: push_plain::<N>, avx2: push_avx2::<N>, avx512: push_avx512::<N>
    }
}

/// Number of bytes of a run length.
const LENGTH: usize = 2;

/// Number of bytes that are stored at a time.
const VECTOR: usize = 64;

/// Reads the length of a run, which is not 0.
pub(crate) fn run_length(bytes: [u8; LENGTH]) -> Kind<usize> {
    match u16::from_be_bytes(bytes) {
        0 => Err(ErrorKind::InvalidValue { value: 0 }),
        length => Ok(usize::from(length)),
    }
}

/// Checks that no bytes are left after the last whole run and that the output is full.
pub(crate) fn finish(rest: &[u8], expected: u64, found: u64) -> Kind<()> {
    if !rest.is_empty() {
        return Err(ErrorKind::CorruptStream { reason: "the last run is cut off" });
    }
    if expected != found {
        return Err(ErrorKind::WrongLength { expected, found });
    }
    Ok(())
}

#[inline(always)]
fn expand_plain<const N: usize>(input: &[u8], out: &mut [u8]) -> Kind<()> {
    let expected = to_u64(out.len());
    let mut rest = input;
    let mut done = 0usize;
    while let Some((&cell, next)) = rest.split_first_chunk::<N>() {
        let Some((length, next)) = next.split_first_chunk::<LENGTH>() else { break };
        let length = run_length(*length)?.saturating_mul(N);
        let end = done.saturating_add(length);
        // If all neighbouring cells differ, storing a vector for each would take longer than this
        // branch.
        if length == N
            && let Some(slot) = out.get_mut(done..).and_then(<[u8]>::first_chunk_mut)
        {
            *slot = cell;
            done = end;
            rest = next;
            continue;
        }
        let mut vector = [0; VECTOR];
        vector.as_chunks_mut().0.fill(cell);
        match out.get_mut(done..).and_then(<[u8]>::first_chunk_mut::<{ 2 * VECTOR }>) {
            Some(ahead) if length <= ahead.len() => {
                let (a, b) = ahead.split_at_mut(VECTOR);
                a.copy_from_slice(&vector);
                // Short cells rarely get here.
                if N >= 8 || length > VECTOR {
                    b.copy_from_slice(&vector);
                }
            }
            _ => {
                let found = to_u64(end);
                let run = out.get_mut(done..end).ok_or(ErrorKind::WrongLength { expected, found })?;
                run.as_chunks_mut().0.fill(cell);
            }
        }
        done = end;
        rest = next;
    }
    finish(rest, expected, to_u64(done))
}

/// Number of cells that are compared at a time: the number of bits in a mask.
const BLOCK: usize = 64;

#[inline(always)]
fn push_plain<const N: usize>(input: &[u8], out: &mut Vec<u8>) {
    push_with::<N>(input, out, |cells, next| {
        let mut ends = 0u64;
        for (i, (a, b)) in cells.as_chunks::<N>().0.iter().zip(next.as_chunks::<N>().0).enumerate() {
            ends |= u64::from(a != b) << (i & 63);
        }
        ends
    });
}

/// Appends the runs; `ends` returns which of 64 cells differ from the cells in its second argument.
#[inline(always)]
fn push_with<const N: usize>(input: &[u8], out: &mut Vec<u8>, ends: impl Fn(&[u8], &[u8]) -> u64) {
    let cells = input.as_chunks::<N>().0;
    let mut runs = Runs { out, buffer: [0; _], filled: 0 };
    // The start of the block, and the start of the unfinished run.
    let (mut at, mut start) = (0usize, 0usize);
    let block_len = BLOCK.saturating_mul(N);
    loop {
        let from = at.saturating_mul(N);
        let block = input.get(from..).and_then(|rest| rest.get(..block_len));
        let next = input.get(from.saturating_add(N)..).and_then(|rest| rest.get(..block_len));
        let Some((block, next)) = block.zip(next) else { break };
        let mut ends = ends(block, next);
        let values = block.as_chunks::<N>().0;
        if ends == u64::MAX && start == at {
            // All neighbouring cells differ, so there is nothing to count.
            values.iter().for_each(|&value| runs.put(value, 1));
            start = at.wrapping_add(BLOCK);
            ends = 0;
        }
        while ends != 0 {
            let i = ends.trailing_zeros() as usize;
            let end = at.wrapping_add(i).wrapping_add(1);
            if let Some(&value) = values.get(i) {
                runs.push(value, end.wrapping_sub(start));
            }
            start = end;
            ends &= ends.wrapping_sub(1);
        }
        runs.flush();
        at = at.wrapping_add(BLOCK);
    }
    for (i, &value) in cells.iter().enumerate().skip(at) {
        if cells.get(i.wrapping_add(1)) != Some(&value) {
            let end = i.wrapping_add(1);
            runs.push(value, end.wrapping_sub(start));
            start = end;
        }
    }
    runs.flush();
}

/// Runs that are not in the output yet: all runs of a block are appended at once.
struct Runs<'o> {
    out: &'o mut Vec<u8>,
    buffer: [u8; BLOCK * (8 + LENGTH)],
    filled: usize,
}

impl Runs<'_> {
    #[inline(always)]
    fn push<const N: usize>(&mut self, value: [u8; N], mut length: usize) {
        const MOST: usize = u16::MAX as usize;
        while length > MOST {
            self.put(value, u16::MAX);
            self.flush();
            length = length.wrapping_sub(MOST);
        }
        self.put(value, u16::try_from(length).unwrap_or(u16::MAX));
    }

    #[inline(always)]
    fn put<const N: usize>(&mut self, value: [u8; N], length: u16) {
        let Some((slot, later)) =
            self.buffer.get_mut(self.filled..).and_then(<[u8]>::split_first_chunk_mut::<N>)
        else {
            return; // never happens: a block has at most as many runs as cells
        };
        let Some(length_slot) = later.first_chunk_mut::<LENGTH>() else { return };
        *slot = value;
        *length_slot = length.to_be_bytes();
        self.filled = self.filled.wrapping_add(N).wrapping_add(LENGTH);
    }

    #[inline(always)]
    fn flush(&mut self) {
        self.out.extend_from_slice(self.buffer.get(..self.filled).unwrap_or_default());
        self.filled = 0;
    }
}

#[cfg(target_arch = "x86_64")]
use x86::{push_avx2, push_avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use bytemuck::must_cast;

    use super::push_with;

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn push_avx2<const N: usize>(input: &[u8], out: &mut Vec<u8>) {
        push_with::<N>(input, out, |cells, next| {
            let mut equal = 0u64;
            let pairs = cells.as_chunks::<32>().0.iter().zip(next.as_chunks::<32>().0);
            for (i, (&a, &b)) in pairs.enumerate() {
                // The number of cells in a vector, and of their bits in the mask.
                let bits = const { 32 / N };
                equal |= u64::from(equal_256::<N>(must_cast(a), must_cast(b))) << (i.wrapping_mul(bits) & 63);
            }
            !equal
        });
    }

    /// One bit for each pair of cells.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn equal_256<const N: usize>(a: __m256i, b: __m256i) -> u32 {
        let mask = match N {
            1 => _mm256_movemask_epi8(_mm256_cmpeq_epi8(a, b)),
            2 => {
                let equal = _mm256_cmpeq_epi16(a, b);
                let bytes = _mm256_packs_epi16(equal, _mm256_setzero_si256());
                _mm256_movemask_epi8(_mm256_permute4x64_epi64::<0b1101_1000>(bytes))
            }
            4 => _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b))),
            _ => _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(a, b))),
        };
        mask.cast_unsigned()
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn push_avx512<const N: usize>(input: &[u8], out: &mut Vec<u8>) {
        push_with::<N>(input, out, |cells, next| {
            let mut ends = 0u64;
            let pairs = cells.as_chunks::<64>().0.iter().zip(next.as_chunks::<64>().0);
            for (i, (&a, &b)) in pairs.enumerate() {
                let (a, b) = (must_cast(a), must_cast(b));
                let mask = match N {
                    1 => _mm512_cmpneq_epi8_mask(a, b),
                    2 => u64::from(_mm512_cmpneq_epi16_mask(a, b)),
                    4 => u64::from(_mm512_cmpneq_epi32_mask(a, b)),
                    _ => u64::from(_mm512_cmpneq_epi64_mask(a, b)),
                };
                ends |= mask << (i.wrapping_mul(const { 64 / N }) & 63);
            }
            ends
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernels::Level;

    /// The definition, one cell at a time.
    fn defined<const N: usize>(input: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        for run in input.as_chunks::<N>().0.chunk_by(|a, b| a == b) {
            for run in run.chunks(65535) {
                out.extend(run[0]);
                out.extend(u16::try_from(run.len()).unwrap().to_be_bytes());
            }
        }
        out
    }

    fn check<const N: usize>(input: &[u8]) {
        let expected = defined::<N>(input);
        for level in Level::ALL {
            let mut out = vec![1, 2, 3];
            push_runs::at::<N>(level, input, &mut out);
            assert_eq!(out[3..], expected, "{level:?} {N}");
            let mut back = vec![0xaa; input.len()];
            expand_runs::at::<N>(level, &expected, &mut back).unwrap();
            assert_eq!(back, input, "{level:?} {N}");
            for wrong in [input.len() + N, input.len().saturating_sub(N)] {
                let result = expand_runs::at::<N>(level, &expected, &mut vec![0; wrong]);
                assert_eq!(result.is_ok(), wrong == input.len());
            }
        }
    }

    /// Runs of these lengths; neighbouring runs differ in one byte only.
    fn cells<const N: usize>(lengths: &[usize]) -> Vec<u8> {
        let mut out = Vec::new();
        for (i, &length) in lengths.iter().enumerate() {
            let mut cell = [7; N];
            cell[i / 2 % N] = [1, 2][i % 2];
            out.extend(cell.repeat(length));
        }
        out
    }

    fn check_all(lengths: &[usize]) {
        check::<1>(&cells::<1>(lengths));
        check::<2>(&cells::<2>(lengths));
        check::<4>(&cells::<4>(lengths));
        check::<8>(&cells::<8>(lengths));
    }

    #[test]
    fn every_level_finds_and_expands_runs_of_every_length() {
        for length in (0..200).chain([65534, 65535, 65536, 131_070, 131_071]) {
            check_all(&[length]);
            check_all(&[3, length, 2, length, 1]);
        }
        check_all(&[1; 1000]);
    }

    proptest! {
        #[test]
        fn random_runs_come_back_alike_at_every_level(
            lengths in proptest::collection::vec(0usize..40, 0..60),
            noise in proptest::collection::vec(any::<u8>(), 0..500),
        ) {
            check_all(&lengths);
            check::<1>(&noise);
            check::<2>(&noise[..noise.len() / 2 * 2]);
        }

        #[test]
        fn random_bytes_are_expanded_or_refused_alike_at_every_level(
            input in proptest::collection::vec(0u8..4, 0..100),
            len in 0usize..600,
        ) {
            let results = Level::ALL.map(|level| {
                let mut out = vec![0; len];
                expand_runs::at::<2>(level, &input, &mut out).map(|()| out)
            });
            prop_assert_eq!(&results[0], &results[1]);
            prop_assert_eq!(&results[0], &results[2]);
        }
    }
}
