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
