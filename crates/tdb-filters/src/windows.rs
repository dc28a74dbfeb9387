//! How bit-width reduction and positive delta cut a part into windows (section 6.3).

/// The windows of `part`: as many whole values as fit `max_window`, the last one shorter. At least one value
/// each, so that options smaller than a value, and parts smaller than a value, still make progress.
pub(crate) fn windows(part: &[u8], max_window: usize, size: usize) -> core::slice::Chunks<'_, u8> {
    let most = part.len().min(max_window);
    let whole = most.saturating_sub(most.checked_rem(size).unwrap_or(0));
    part.chunks(whole.max(size).max(1))
}
