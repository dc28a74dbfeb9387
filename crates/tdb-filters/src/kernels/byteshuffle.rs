//! Stores bytes of equal significance next to each other: transposes an `n`×`N` matrix of bytes.

#[cfg(target_arch = "x86_64")]
pub(super) mod x86;

kernel! {
    /// Gathers byte `j` of every value of `size` bytes into plane `j`; bytes after the last value
    /// are copied. `src` and `dst` have the same length.
    pub(crate) fn shuffle(size: usize, src: &[u8], dst: &mut [u8]) {
        plain: shuffle_plain, avx2: x86::shuffle_avx2, avx512: x86::shuffle_avx2
    }
}

kernel! {
    /// Scatters plane `j` into byte `j` of every value: the inverse of [`shuffle`].
    pub(crate) fn unshuffle(size: usize, src: &[u8], dst: &mut [u8]) {
        plain: unshuffle_plain, avx2: x86::unshuffle_avx2, avx512: x86::unshuffle_avx512
    }
}

#[inline(always)]
pub(super) fn shuffle_plain(size: usize, src: &[u8], dst: &mut [u8]) {
    match size {
        2 => shuffle_small::<2>(src, dst, |value| u64::from(u16::from_le_bytes(value))),
        4 => shuffle_small::<4>(src, dst, |value| u64::from(u32::from_le_bytes(value))),
        8 => shuffle_8(src, dst),
        _ => dst.copy_from_slice(src),
    }
}

#[inline(always)]
pub(super) fn unshuffle_plain(size: usize, src: &[u8], dst: &mut [u8]) {
    match size {
        2 => unshuffle_2(src, dst),
        4 => unshuffle_4(src, dst),
        8 => unshuffle_8(src, dst),
        _ => dst.copy_from_slice(src),
    }
}

/// The `N` planes of `src`, and the bytes after them.
fn planes<const N: usize>(src: &[u8]) -> ([&[u8]; N], &[u8]) {
    let count = src.len().checked_div(N).unwrap_or(0);
    let mut rest = src;
    let planes = core::array::from_fn(|_| match rest.split_at_checked(count) {
        Some((plane, later)) => {
            rest = later;
            plane
        }
        None => &[],
    });
    (planes, rest)
}

/// The `N` planes of `dst`, writable, and the bytes after them.
fn planes_mut<const N: usize>(dst: &mut [u8]) -> ([&mut [u8]; N], &mut [u8]) {
    let count = dst.len().checked_div(N).unwrap_or(0);
    let mut rest = dst;
    let planes = core::array::from_fn(|_| match core::mem::take(&mut rest).split_at_mut_checked(count) {
        Some((plane, later)) => {
            rest = later;
            plane
        }
        None => &mut [],
    });
    (planes, rest)
}

/// One pass over the values for each plane: a shift and a narrowing store, which the compiler
/// vectorises.
fn shuffle_small<const N: usize>(src: &[u8], dst: &mut [u8], load: impl Fn([u8; N]) -> u64) {
    let (values, tail) = src.as_chunks::<N>();
    let (planes, rest) = planes_mut::<N>(dst);
    rest.copy_from_slice(tail);
    for (shift, plane) in (0u32..).step_by(8).zip(planes) {
        for (slot, &value) in plane.iter_mut().zip(values) {
            let [low, ..] = (load(value) >> shift).to_le_bytes();
            *slot = low;
        }
    }
}

/// Eight values at a time, as an 8×8 matrix of bytes.
fn shuffle_8(src: &[u8], dst: &mut [u8]) {
    let (values, tail) = src.as_chunks::<8>();
    let (mut planes, rest) = planes_mut::<8>(dst);
    rest.copy_from_slice(tail);
    let (groups, last) = values.as_chunks::<8>();
    for (i, group) in groups.iter().enumerate() {
        let columns = transpose_bytes(group.map(u64::from_le_bytes));
        for (plane, column) in planes.iter_mut().zip(columns) {
            if let Some(slot) = plane.as_chunks_mut::<8>().0.get_mut(i) {
                *slot = column.to_le_bytes();
            }
        }
    }
    shuffle_rest(last, groups.len().saturating_mul(8), &mut planes);
}

/// Shuffles the values after the last whole group, byte by byte.
fn shuffle_rest<const N: usize>(values: &[[u8; N]], done: usize, planes: &mut [&mut [u8]; N]) {
    for (i, value) in values.iter().enumerate() {
        for (plane, &byte) in planes.iter_mut().zip(value) {
            if let Some(slot) = plane.get_mut(done.saturating_add(i)) {
                *slot = byte;
            }
        }
    }
}

/// Number of values unshuffled at a time. Wider values are combined from pairs, in passes over
/// arrays of this length, each of which compiles to byte, word or double-word interleaving.
const LANES: usize = 64;

#[inline]
fn pair_bytes(low: &[u8; LANES], high: &[u8; LANES], out: &mut [u16; LANES]) {
    for ((slot, &low), &high) in out.iter_mut().zip(low).zip(high) {
        *slot = u16::from(low) | (u16::from(high) << 8);
    }
}

#[inline]
fn pair_words(low: &[u16; LANES], high: &[u16; LANES], out: &mut [u32; LANES]) {
    for ((slot, &low), &high) in out.iter_mut().zip(low).zip(high) {
        *slot = u32::from(low) | (u32::from(high) << 16);
    }
}

#[inline]
fn pair_double_words(low: &[u32; LANES], high: &[u32; LANES], out: &mut [[u8; 8]; LANES]) {
    for ((slot, &low), &high) in out.iter_mut().zip(low).zip(high) {
        *slot = (u64::from(low) | (u64::from(high) << 32)).to_le_bytes();
    }
}

/// Unshuffles the values after the last whole group, byte by byte.
fn unshuffle_rest<const N: usize>(planes: &[&[u8]; N], done: usize, values: &mut [[u8; N]]) {
    for (i, value) in values.iter_mut().enumerate() {
        for (byte, plane) in value.iter_mut().zip(planes) {
            *byte = plane.get(done.saturating_add(i)).copied().unwrap_or(0);
        }
    }
}

fn unshuffle_2(src: &[u8], dst: &mut [u8]) {
    let ([a, b], tail) = planes::<2>(src);
    let (values, rest) = dst.as_chunks_mut::<2>();
    rest.copy_from_slice(tail);
    for ((value, &a), &b) in values.iter_mut().zip(a).zip(b) {
        *value = [a, b];
    }
}

fn unshuffle_4(src: &[u8], dst: &mut [u8]) {
    let (planes, tail) = planes::<4>(src);
    let (values, rest) = dst.as_chunks_mut::<4>();
    rest.copy_from_slice(tail);
    let (groups, last) = values.as_chunks_mut::<LANES>();
    let done = groups.len().saturating_mul(LANES);
    let [a, b, c, d] = planes.map(|plane| plane.as_chunks::<LANES>().0);
    let (mut low, mut high) = ([0; LANES], [0; LANES]);
    for ((((group, a), b), c), d) in groups.iter_mut().zip(a).zip(b).zip(c).zip(d) {
        pair_bytes(a, b, &mut low);
        pair_bytes(c, d, &mut high);
        for ((slot, &low), &high) in group.iter_mut().zip(&low).zip(&high) {
            *slot = (u32::from(low) | (u32::from(high) << 16)).to_le_bytes();
        }
    }
    unshuffle_rest(&planes, done, last);
}

fn unshuffle_8(src: &[u8], dst: &mut [u8]) {
    let (planes, tail) = planes::<8>(src);
    let (values, rest) = dst.as_chunks_mut::<8>();
    rest.copy_from_slice(tail);
    let (groups, last) = values.as_chunks_mut::<LANES>();
    let done = groups.len().saturating_mul(LANES);
    let [a, b, c, d, e, f, g, h] = planes.map(|plane| plane.as_chunks::<LANES>().0);
    let first = a.iter().zip(b).zip(c).zip(d);
    let second = e.iter().zip(f).zip(g).zip(h);
    let ([mut ab, mut cd, mut ef, mut gh], mut low, mut high) = ([[0; LANES]; 4], [0; LANES], [0; LANES]);
    for ((group, (((a, b), c), d)), (((e, f), g), h)) in groups.iter_mut().zip(first).zip(second) {
        pair_bytes(a, b, &mut ab);
        pair_bytes(c, d, &mut cd);
        pair_bytes(e, f, &mut ef);
        pair_bytes(g, h, &mut gh);
        pair_words(&ab, &cd, &mut low);
        pair_words(&ef, &gh, &mut high);
        pair_double_words(&low, &high, group);
    }
    unshuffle_rest(&planes, done, last);
}

/// Transposes an 8×8 matrix of bytes; row `i` is word `i`, column `j` its byte `j` (little-endian).
#[inline]
fn transpose_bytes(rows: [u64; 8]) -> [u64; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    let swap = |x: u64, y: u64, shift: u32, mask: u64| {
        let t = ((x >> shift) ^ y) & mask;
        (x ^ (t << shift), y ^ t)
    };
    const M8: u64 = 0x00ff_00ff_00ff_00ff;
    const M16: u64 = 0x0000_ffff_0000_ffff;
    const M32: u64 = 0x0000_0000_ffff_ffff;
    let ((a, b), (c, d), (e, f), (g, h)) =
        (swap(a, b, 8, M8), swap(c, d, 8, M8), swap(e, f, 8, M8), swap(g, h, 8, M8));
    let ((a, c), (b, d), (e, g), (f, h)) =
        (swap(a, c, 16, M16), swap(b, d, 16, M16), swap(e, g, 16, M16), swap(f, h, 16, M16));
    let ((a, e), (b, f), (c, g), (d, h)) =
        (swap(a, e, 32, M32), swap(b, f, 32, M32), swap(c, g, 32, M32), swap(d, h, 32, M32));
    [a, b, c, d, e, f, g, h]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Level;

    #[test]
    fn every_level_writes_the_definition_and_takes_it_back() {
        for size in [1, 2, 4, 8] {
            for len in (0..1100).chain([4096, 4099, 65536]) {
                let src: Vec<u8> = (0..len).map(|i: usize| (i * 31 % 251).to_le_bytes()[0]).collect();
                let count = len / size;
                let mut expected = src.clone();
                for i in 0..count {
                    for j in 0..size {
                        expected[j * count + i] = src[i * size + j];
                    }
                }
                for level in Level::ALL {
                    let mut mixed = vec![0; len];
                    shuffle::at(level, size, &src, &mut mixed);
                    assert_eq!(mixed, expected, "{level:?} {size} {len}");
                    // For every position in a cache line where the values can begin.
                    for start in [0, size, 16, 61] {
                        let mut back = vec![0; start + len];
                        unshuffle::at(level, size, &mixed, &mut back[start..]);
                        assert_eq!(back[start..], src, "{level:?} {size} {len} {start}");
                    }
                }
            }
        }
    }
}
