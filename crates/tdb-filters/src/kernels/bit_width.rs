//! Integers as narrow offsets from the minimum of their window.
//!
//! Windows can be as short as 256 bytes, so the level is chosen once for the loop over all windows.

use tdb_codec::{Physical, Writer, to_u64, to_usize};

use crate::error::{ErrorKind, Kind};
use crate::int::with_int;
use crate::windows::windows;

kernel! {
    /// Widens windows of `src` into `dst`. Each of `entries` is a base, a bit width and a length,
    /// as in the filter's chunk metadata.
    pub(crate) fn widen_windows(physical: Physical, entries: &[u8], src: &[u8], dst: &mut [u8]) -> Kind<()> {
        plain: widen_plain
    }
}

kernel! {
    /// Appends the entry of each window of `src` to `block`, and its narrowed values to `out`.
    pub(crate) fn narrow_windows(
        physical: Physical,
        max_window: usize,
        src: &[u8],
        block: &mut Writer,
        out: &mut Vec<u8>,
    ) -> Kind<()> {
        plain: narrow_plain
    }
}

#[inline(always)]
fn widen_plain(physical: Physical, entries: &[u8], src: &[u8], dst: &mut [u8]) -> Kind<()> {
    let mut rest = Rest { src, dst, raw: 0, found: to_u64(src.len()) };
    macro_rules! each_window {
        ($wide:ty $(, $bits:literal $narrow:ty)*) => {{
            const N: usize = size_of::<$wide>();
            for entry in entries.as_chunks::<{ N + 5 }>().0 {
                let (Some(&base), &[.., bits, a, b, c, d]) = (entry.first_chunk::<N>(), entry) else { break };
                let len = to_usize(u64::from(u32::from_le_bytes([a, b, c, d]))).unwrap_or(usize::MAX);
                match bits {
                    $($bits if len.is_multiple_of(N) => {
                        rest.copy_raw()?;
                        let (narrow, slots) = rest.split(len / N * size_of::<$narrow>(), len)?;
                        let narrow = narrow.as_chunks::<{ size_of::<$narrow>() }>().0;
                        let base = <$wide>::from_le_bytes(base);
                        for (slot, &offset) in slots.as_chunks_mut::<N>().0.iter_mut().zip(narrow) {
                            let offset = <$wide>::from(<$narrow>::from_le_bytes(offset));
                            *slot = offset.wrapping_add(base).to_le_bytes();
                        }
                    })*
                    8 | 16 | 32 | 64 => rest.raw = rest.raw.saturating_add(len),
                    _ => return Err(ErrorKind::InvalidValue { value: u64::from(bits) }),
                }
            }
        }};
    }
    match physical {
        Physical::I16 => each_window!(i16, 8 i8),
        Physical::U16 => each_window!(u16, 8 u8),
        Physical::I32 => each_window!(i32, 8 i8, 16 i16),
        Physical::U32 => each_window!(u32, 8 u8, 16 u16),
        Physical::I64 => each_window!(i64, 8 i8, 16 i16, 32 i32),
        Physical::U64 => each_window!(u64, 8 u8, 16 u16, 32 u32),
        // The filter is never resolved for 8-bit integers or floats.
        Physical::I8 | Physical::U8 | Physical::F32 | Physical::F64 => {}
    }
    rest.copy_raw()?;
    if !rest.src.is_empty() {
        let expected = rest.found.saturating_sub(to_u64(rest.src.len()));
        return Err(ErrorKind::WrongLength { expected, found: rest.found });
    }
    Ok(())
}

/// The data that has not been widened yet.
struct Rest<'s, 'd> {
    src: &'s [u8],
    dst: &'d mut [u8],
    /// Bytes of raw windows at the front that are not copied yet. Adjacent raw windows are copied
    /// together: one long copy uses other instructions than many short ones, and takes half the
    /// time if the memory is not in the cache.
    raw: usize,
    /// Initial length of the source.
    found: u64,
}

impl<'s, 'd> Rest<'s, 'd> {
    /// Removes `stored` bytes from the front of the source and `len` bytes from the front of the
    /// output.
    #[inline(always)]
    fn split(&mut self, stored: usize, len: usize) -> Kind<(&'s [u8], &'d mut [u8])> {
        let too_short = ErrorKind::WrongLength { expected: to_u64(stored), found: self.found };
        let (bytes, src) = self.src.split_at_checked(stored).ok_or(too_short)?;
        let (slots, dst) = core::mem::take(&mut self.dst).split_at_mut_checked(len).ok_or(too_short)?;
        (self.src, self.dst) = (src, dst);
        Ok((bytes, slots))
    }

    #[inline(always)]
    fn copy_raw(&mut self) -> Kind<()> {
        let len = core::mem::take(&mut self.raw);
        if len > 0 {
            let (bytes, slots) = self.split(len, len)?;
            slots.copy_from_slice(bytes);
        }
        Ok(())
    }
}

#[inline(always)]
fn narrow_plain(
    physical: Physical,
    max_window: usize,
    src: &[u8],
    block: &mut Writer,
    out: &mut Vec<u8>,
) -> Kind<()> {
    let signed = physical.is_signed_integer();
    with_int!(physical, T, {
        const N: usize = size_of::<T>();
        for window in windows(src, max_window, N) {
            let (values, partial) = window.as_chunks::<N>();
            let (mut min, mut max) = (T::MAX, T::MIN);
            for &value in values {
                let value = T::from_le_bytes(value);
                (min, max) = (min.min(value), max.max(value));
            }
            if values.is_empty() {
                (min, max) = (0, 0);
            }
            let bytes = if partial.is_empty() { width(N, signed, max.abs_diff(min)) } else { N };
            block.bytes(&min.to_le_bytes());
            block.u8(u8::try_from(bytes.saturating_mul(8)).unwrap_or(64));
            block.len_u32(window.len(), "window length")?;
            // The offset fits in its low bytes.
            macro_rules! put {
                ($low:literal) => {
                    for values in values.chunks(BLOCK) {
                        let mut low = [[0; $low]; BLOCK];
                        for (slot, &value) in low.iter_mut().zip(values) {
                            let offset = T::from_le_bytes(value).wrapping_sub(min).to_le_bytes();
                            *slot = offset.first_chunk().copied().unwrap_or_default();
                        }
                        out.extend_from_slice(low.get(..values.len()).unwrap_or_default().as_flattened());
                    }
                };
            }
            match bytes {
                1 if N > 1 => put!(1),
                2 if N > 2 => put!(2),
                4 if N > 4 => put!(4),
                _ => out.extend_from_slice(window),
            }
        }
    });
    Ok(())
}

/// Number of values that are narrowed at a time.
const BLOCK: usize = 64;

/// Number of bytes for offsets up to `range` in a type of `size` bytes. The format requires that
/// `range + 1` fits, and does not use the sign bit of signed types.
#[inline(always)]
fn width(size: usize, signed: bool, range: impl Into<u64>) -> usize {
    let range = range.into();
    let most = if signed {
        [i8::MAX.unsigned_abs().into(), i16::MAX.unsigned_abs().into(), i32::MAX.unsigned_abs().into()]
    } else {
        [u8::MAX.into(), u16::MAX.into(), u32::MAX.into()]
    };
    let fits = [1, 2, 4].into_iter().zip(most).find(|&(_, most)| range < most);
    fits.map_or(size, |(bytes, _)| bytes.min(size))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernels::Level;

    const TYPES: [Physical; 6] =
        [Physical::I16, Physical::U16, Physical::I32, Physical::U32, Physical::I64, Physical::U64];

    fn check(physical: Physical, max_window: usize, src: &[u8]) {
        let mut first = None;
        for level in Level::ALL {
            let (mut block, mut out) = (Writer::new(), Vec::new());
            narrow_windows::at(level, physical, max_window, src, &mut block, &mut out).unwrap();
            let found = (block.into_vec(), out);
            let (block, out) = &*first.get_or_insert(found.clone());
            assert_eq!((block, out), (&found.0, &found.1), "{level:?} {physical:?} {max_window}");
            let mut back = vec![0xaa; src.len()];
            widen_windows::at(level, physical, block, out, &mut back).unwrap();
            assert_eq!(back, src, "{level:?} {physical:?} {max_window}");
        }
    }

    /// The width by its definition: `max − min + 1` must be at most the largest value of the
    /// machine integer.
    fn defined(physical: Physical, min: i128, max: i128) -> usize {
        let signed = u32::from(physical.is_signed_integer());
        let fits = |&bytes: &usize| max - min < (1i128 << (8 * bytes) >> signed) - 1;
        [1, 2, 4].into_iter().find(fits).map_or(physical.size(), |bytes| bytes.min(physical.size()))
    }

    #[test]
    fn widths_are_those_of_the_definition_at_every_edge() {
        for physical in TYPES {
            let bits = 8 * physical.size();
            let signed = physical.is_signed_integer();
            let least = if signed { -(1i128 << (bits - 1)) } else { 0 };
            let most = least + (1i128 << bits) - 1;
            for shift in [7, 8, 15, 16, 31, 32, 63, 64].into_iter().filter(|&shift| shift <= bits) {
                for range in (-3..3).map(|by| (1i128 << shift) + by).filter(|&range| range <= most - least) {
                    let expected = defined(physical, least, least + range);
                    let range = u64::try_from(range).unwrap();
                    assert_eq!(width(physical.size(), signed, range), expected, "{physical:?} {range}");
                }
            }
        }
    }

    #[test]
    fn every_level_narrows_and_widens_every_length() {
        for physical in TYPES {
            for count in (0..140).chain([1000]) {
                for spread in [1u64, 100, 130, 1000, 40_000, 1 << 31, u64::MAX] {
                    let value = |i: u64| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 7) % spread;
                    let src: Vec<u8> = (0..count)
                        .flat_map(|i| value(i).wrapping_sub(50).to_le_bytes()[..physical.size()].to_vec())
                        .collect();
                    check(physical, 256, &src);
                    check(physical, 100, &src);
                }
            }
        }
    }

    #[test]
    fn offsets_above_the_signed_maximum_are_extended_with_their_sign() {
        for level in Level::ALL {
            let mut out = [0; 8];
            let entry = [5, 0, 0, 0, 8, 8, 0, 0, 0];
            widen_windows::at(level, Physical::I32, &entry, &[0xff, 0x80], &mut out).unwrap();
            assert_eq!(
                out.as_chunks().0.iter().map(|&v| i32::from_le_bytes(v)).collect::<Vec<_>>(),
                [4, -123]
            );
            widen_windows::at(level, Physical::U32, &entry, &[0xff, 0x80], &mut out).unwrap();
            assert_eq!(
                out.as_chunks().0.iter().map(|&v| u32::from_le_bytes(v)).collect::<Vec<_>>(),
                [260, 133]
            );
        }
    }

    proptest! {
        #[test]
        fn random_windows_come_back_alike_at_every_level(
            words in proptest::collection::vec(any::<u64>(), 0..200),
            narrow in 0u32..64,
            which in 0usize..6,
            cut in 0usize..8,
            max_window in 0usize..600,
        ) {
            let physical = TYPES[which];
            let mut src: Vec<u8> = words
                .iter()
                .flat_map(|word| (word >> narrow).to_le_bytes()[..physical.size()].to_vec())
                .collect();
            src.truncate(src.len().saturating_sub(cut));
            check(physical, max_window, &src);
        }
    }
}
