//! The thresholds and estimates of streams of batches. They were chosen, not measured, unless they
//! say otherwise.

/// Cells: a box with fewer, by estimate or as read, is barren.
pub(super) const MIN_CELLS_OF_BOX: u64 = 16;
/// Barren boxes that are read before the rest is divided by keys, for which the coordinates are
/// decoded a second time.
pub(super) const MAX_BARREN_BOXES: u64 = 256;
/// The same if a condition may be the reason for empty boxes.
pub(super) const MAX_BARREN_BOXES_WITH_CONDITION: u64 = 1024;

/// How often boxes may read each tile, on average. If they would read it more often, they cost more
/// than finding first which cells are visible.
pub(super) const MAX_REPEATS: f64 = 1.5;
/// Pairs of ranges and a condition for which the visible cells are remembered.
pub(super) const MAX_REMEMBERED: usize = 2;

/// Approximate bytes of a key sample.
pub(super) const SAMPLE_BYTES: u64 = 400;
/// How many times more samples are listed if one contains more cells than a batch.
pub(super) const FINER: usize = 8;
/// How often the keys of a query that is divided by keys from the beginning may be listed, before
/// more room is requested.
pub(super) const MAX_LISTINGS: u64 = 32;
/// The same for the rest of a query in boxes, whose least room is computed without looking at keys.
pub(super) const MAX_LISTINGS_OF_BOX: u64 = 256;
/// Samples that a tile's cells are listed in.
pub(super) const MAX_SAMPLES_PER_TILE: u64 = 16;

/// The unit of the share of the room that is planned with: 64ths.
pub(super) const SCALE: u64 = 64;
/// Approximate bytes of the MBR and the statistics of a tile.
pub(super) const TILE_STATISTICS: u64 = 256;
/// How many times more cells than estimated may satisfy a condition, for which the room suffices.
pub(super) const SELECTIVITY_MARGIN: u64 = 4;
/// How many times larger parts may become because few cells satisfy a condition.
pub(super) const MAX_GROWTH_BY_CONDITION: u64 = 16;
/// How many times more than the batch before a batch may take, while batches grow.
pub(super) const GROWTH: u64 = 4;

/// Entries of the cost model for each fragment: with more tiles, consecutive ones share an entry.
pub(super) const MAX_SPANS: usize = 1 << 16;

/// The inverse of the share of a budget that whole tiles may take. Where they would take more,
/// tiles are read by chunk; these are decoded again for each part that has cells of them.
pub(super) const MAX_TILES_INVERSE: u64 = 4;
