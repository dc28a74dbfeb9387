//! The thresholds of partitions. They were chosen, not measured.

/// Shares: a place that weighs more is cut by itself.
pub(super) const HEAVY: f64 = 1.5;
/// Shares that a cut may be away from its best place, if fewer tiles are then read twice.
pub(super) const SLACK: f64 = 0.25;
/// The same in dense arrays.
pub(super) const SLACK_OF_DENSE: f64 = 0.5;
/// Places that are considered for a cut.
pub(super) const MAX_PLACES: usize = 64;
/// Entries for each fragment: with more tiles, consecutive ones are combined.
pub(super) const MAX_TILES: usize = 1 << 16;
