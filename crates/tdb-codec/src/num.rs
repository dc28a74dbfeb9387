//! Checked conversions between wire integers and machine integers.

/// Converts a wire length to a `usize`; `None` if it does not fit.
#[inline]
#[must_use]
pub fn to_usize(value: u64) -> Option<usize> {
    usize::try_from(value).ok()
}

/// Converts a `usize` length to a wire integer. Lossless on every supported target (pointers up to
/// 64 bits).
#[inline]
#[must_use]
// `as` is lossless here: usize is at most 64 bits wide on every Rust target.
pub const fn to_u64(value: usize) -> u64 {
    value as u64
}

/// Converts a `usize` length to a 32-bit wire integer; `None` if it does not fit.
#[inline]
#[must_use]
pub fn to_u32(value: usize) -> Option<u32> {
    u32::try_from(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_kept_or_refused() {
        assert_eq!((to_usize(7), to_u64(7), to_u32(7)), (Some(7), 7, Some(7)));
        #[cfg(target_pointer_width = "64")]
        assert_eq!((to_u32(1 << 32), to_usize(u64::MAX)), (None, Some(usize::MAX)));
    }
}
