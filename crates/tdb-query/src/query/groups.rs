//! Queries whose cells are grouped.

use tdb_codec::Layout;

use super::Read;
use crate::aggregate::groups::{self, Grouped, Thresholds};
use crate::awaited::run_async;
use crate::stream::Allowance;
use crate::{Aggregate, Result};

/// A query of a sparse array whose cells are grouped by the values of some fields. Made by
/// [`Read::group_by`].
#[derive(Clone, Debug)]
#[must_use = "groups do nothing until their aggregates are computed"]
pub struct GroupBy {
    read: Read,
    keys: Vec<String>,
    thresholds: Thresholds,
}

impl Read {
    /// Groups the cells of a sparse array by the values of these fields (dimensions and
    /// attributes), to compute aggregates of each group instead of returning cells. Values are
    /// compared as they are stored: attributes with an enumeration by their numbers, real ones by
    /// their bits, so that 0.0 and -0.0 make two groups. Null is a value of its own.
    ///
    /// Fields and order of the query do not matter. A cell in several ranges counts once. The
    /// memory is that of the groups and of one tile a thread, in addition to notes on other tiles,
    /// and of more than 65,536 groups that of the keys and values of about two million cells, or of
    /// more where there are more than 8 threads or a tile has more. With a [budget](Self::memory),
    /// all but the tiles take a quarter of it at most.
    ///
    /// ```
    /// use tdb_array::Array;
    /// use tdb_array::query::Aggregate;
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/sparse2d_rr");
    /// let array = Array::open(path)?;
    /// # let names: Vec<_> = array.schema().fields().map(|field| field.name).collect();
    /// # let (row, value) = (names[0], names[2]);
    /// let groups = array.read().group_by([row]).aggregate([Aggregate::count(), Aggregate::max(value)])?;
    /// let rows: &[i32] = groups.keys().field(row)?.values()?;
    /// let cells: &[u64] = groups.values()[0].column.values()?;
    /// assert_eq!(rows.len(), cells.len());
    /// assert_eq!(cells.iter().sum::<u64>(), u64::try_from(array.read().collect()?.len())?);
    ///
    /// // Without aggregates: the distinct values.
    /// let distinct = array.read().group_by([row]).aggregate([])?;
    /// assert_eq!(distinct.len(), groups.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn group_by<S: Into<String>>(self, keys: impl IntoIterator<Item = S>) -> GroupBy {
        let keys = keys.into_iter().map(Into::into).collect();
        GroupBy { read: self, keys, thresholds: Thresholds::DEFAULT }
    }
}

impl GroupBy {
    /// Refuses to make more groups than this, soon after they are found
    /// ([`TooManyGroups`](crate::QueryError::TooManyGroups)).
    pub const fn max_groups(mut self, max: usize) -> Self {
        self.thresholds.max_groups = max;
        self
    }

    /// Partitions cells by their keys with more groups than this, and adds up runs of few cells.
    #[cfg(test)]
    pub(crate) const fn few(mut self, few: usize) -> Self {
        (self.thresholds.max_of_one_table, self.thresholds.max_run_cells) = (few, 64);
        self
    }

    /// Computes aggregates of each group.
    ///
    /// # Errors
    /// As [`Read::aggregate`]; for a dense array; and for more groups than are allowed, or than a
    /// quarter of the memory holds.
    pub fn aggregate(self, aggregates: impl IntoIterator<Item = Aggregate>) -> Result<Grouped> {
        let Self { read, keys, thresholds } = self;
        let memory = Allowance::new(read.memory, read.batch_memory);
        let plan = read.order(Layout::GlobalOrder).fields([""; 0]).ready(memory)?;
        groups::run(plan, &keys, aggregates.into_iter().collect(), thresholds, memory)
    }

    /// [`Self::aggregate`], asynchronously.
    ///
    /// # Errors
    /// As [`Self::aggregate`].
    pub async fn aggregate_async(self, aggregates: impl IntoIterator<Item = Aggregate>) -> Result<Grouped> {
        let array = self.read.array().clone();
        run_async(
            array.snapshot(),
            (self, aggregates.into_iter().collect::<Vec<_>>()),
            |array, (groups, aggregates)| {
                let groups = groups.clone();
                Self { read: groups.read.of(array), ..groups }.aggregate(aggregates.iter().cloned())
            },
        )
        .await
    }
}
