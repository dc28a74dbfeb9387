//! The inputs of a consolidation of fragments while it runs.

use tdb_codec::to_u64;
use tdb_fragment::TimestampedName;

use crate::fragment::Fragment;
use crate::options::Settings;
use crate::write::fresh_uuid;
use crate::{ArrayWriter, Result, Snapshot, SnapshotOptions, TimeWindow};

/// Opens the array at all times, for reading the inputs.
pub(super) fn open(writer: &ArrayWriter) -> Result<Snapshot> {
    open_in(writer, TimeWindow::ALL)
}

/// Opens the array at some times.
pub(super) fn open_in(writer: &ArrayWriter, window: TimeWindow) -> Result<Snapshot> {
    let context = writer.context();
    let mut options = SnapshotOptions::new().window(window).threads(context.threads).limits(context.limits);
    if let Some(key) = &context.key {
        options = options.key(key.clone());
    }
    options.open_storage(writer.storage().clone())
}

/// The inputs and settings of a running step.
pub(super) struct ConsolidationJob<'a> {
    pub(super) array: &'a Snapshot,
    /// Writes with the schema of the new fragments.
    pub(super) writer: &'a ArrayWriter,
    /// Oldest first.
    pub(super) inputs: Vec<&'a Fragment>,
    pub(super) name: TimestampedName,
    pub(super) settings: Settings,
}

impl ConsolidationJob<'_> {
    /// The name of the `index`-th new fragment: with the same times, in the order in which they are
    /// made.
    pub(super) fn part(&self, index: usize) -> Result<TimestampedName> {
        if index == 0 {
            return Ok(self.name.clone());
        }
        let uuid = self.name.unique_behind(to_u64(index)).map_or_else(fresh_uuid, Ok)?;
        Ok(TimestampedName { uuid, ..self.name.clone() })
    }
}
