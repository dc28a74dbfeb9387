//! The least memory of a batch, and the part of a memory budget that queries plan with. The batches
//! of a query with a budget depend on them, the cells do not.
//!
//! "Chosen": the number follows from the reason given; no measurement of it is recorded.

/// Bytes for the cells of a batch; a read with less memory than this is rejected, because its
/// batches would have only a handful of cells. Chosen.
pub(crate) const MIN_BATCH_BYTES: u64 = 64 << 10;

/// The part of a budget that is available for planning, as a fraction; the rest is what allocators
/// lose between their blocks. Chosen.
pub(crate) const PLANNED_PART: (u64, u64) = (3, 4);
