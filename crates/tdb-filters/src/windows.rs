//! The windows into which bit-width reduction and positive delta cut a part.

/// The windows of `part`: each has as many whole values as fit `max_window`; the last one may be
/// shorter. Each has at least one value, so an option smaller than a value, or a part smaller than
/// a value, still makes progress.
pub(crate) fn windows(part: &[u8], max_window: usize, size: usize) -> core::slice::Chunks<'_, u8> {
    let max = part.len().min(max_window);
    let whole = max.saturating_sub(max.checked_rem(size).unwrap_or(0));
    part.chunks(whole.max(size).max(1))
}
