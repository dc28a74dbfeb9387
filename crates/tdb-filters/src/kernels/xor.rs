//! Exclusive-or with the predecessor.

kernel! {
    /// `dst[i] = src[i] ^ src[i − 1]` for values of `size` bytes; the first value is copied. `src` and `dst`
    /// have the same length.
    pub(crate) fn xor_previous(size: usize, src: &[u8], dst: &mut [u8]) { plain: plain }
}

/// Exclusive-or knows no carry, so the width of a value is only a distance.
#[inline(always)]
fn plain(size: usize, src: &[u8], dst: &mut [u8]) {
    let Some(((first, later), (first_out, later_out))) =
        src.split_at_checked(size).zip(dst.split_at_mut_checked(size))
    else {
        return dst.copy_from_slice(src);
    };
    first_out.copy_from_slice(first);
    for ((slot, &byte), &before) in later_out.iter_mut().zip(later).zip(src) {
        *slot = byte ^ before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Level;

    #[test]
    fn every_level_writes_the_definition() {
        for size in [1, 2, 4, 8] {
            for len in (0..100).chain([4096, 4097]) {
                let src: Vec<u8> = (0..len).map(|i: usize| (i * 31 % 251).to_le_bytes()[0]).collect();
                let expected: Vec<u8> =
                    (0..len).map(|i| if i < size { src[i] } else { src[i] ^ src[i - size] }).collect();
                for level in Level::ALL {
                    let mut out = vec![0; len];
                    xor_previous::at(level, size, &src, &mut out);
                    assert_eq!(out, expected, "{level:?} {size} {len}");
                }
            }
        }
    }
}
