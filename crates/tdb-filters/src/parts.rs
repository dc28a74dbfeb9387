//! The list of part lengths that size-preserving filters store, and walks over such parts.

use tdb_codec::{Reader, to_u64, to_usize};

use crate::error::{ErrorKind, Kind};

/// Reads `part count u32, length u32…`, whose lengths must add up to `total`.
pub(crate) fn read_lengths<'a>(block: &mut Reader<'a>, total: usize) -> Kind<&'a [[u8; 4]]> {
    let count = block.count_u32(4, "part count")?;
    let bytes = block.take(count.saturating_mul(4), "part lengths")?;
    let lengths = bytes.as_chunks::<4>().0;
    let sum =
        lengths.iter().fold(0u64, |sum, &length| sum.saturating_add(u64::from(u32::from_le_bytes(length))));
    if sum != to_u64(total) {
        return Err(ErrorKind::WrongLength { expected: sum, found: to_u64(total) });
    }
    Ok(lengths)
}

/// Calls `work` with each part of `src` and the bytes of `dst` at the same position.
pub(crate) fn each_part(
    lengths: &[[u8; 4]],
    mut src: &[u8],
    mut dst: &mut [u8],
    mut work: impl FnMut(&[u8], &mut [u8]),
) {
    for &length in lengths {
        let length = to_usize(u64::from(u32::from_le_bytes(length))).unwrap_or(usize::MAX);
        let (Some((part, src_rest)), Some((slot, dst_rest))) =
            (src.split_at_checked(length), dst.split_at_mut_checked(length))
        else {
            return; // never happens: the lengths add up to both
        };
        work(part, slot);
        (src, dst) = (src_rest, dst_rest);
    }
}

/// Removes the first `length` bytes from the front of `data`, and of `src` if the source is
/// separate; `None` if `data` is shorter. `src` and `data` have the same length.
pub(crate) fn take_part<'s, 'd>(
    src: &mut Option<&'s [u8]>,
    data: &mut &'d mut [u8],
    length: u64,
) -> Option<(Option<&'s [u8]>, &'d mut [u8])> {
    let length = to_usize(length)?;
    let part = data.split_off_mut(..length)?;
    Some((src.as_mut().and_then(|src| src.split_off(..length)), part))
}
