//! Queries in parts.

use std::sync::Arc;

use super::Read;
use crate::Result;
use crate::partition::{self, Ranges};

impl Read {
    /// Cuts the query into at most `max` parts of about equal cost. Each is a query that can be
    /// collected, streamed, explained or aggregated, in another thread or,
    /// [described](Self::describe), in another process. Together they have the cells of the whole
    /// query, each once, with the same condition, fields, order, deletes and memory budget.
    ///
    /// ```
    /// use tdb_array::Array;
    /// use tdb_array::query::Aggregate;
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    /// let array = Array::open(path)?;
    /// let parts = array.read().fields(["a"]).partitions(2)?;
    /// let sums: Vec<i64> = std::thread::scope(|scope| {
    ///     let workers: Vec<_> = parts.into_iter().map(|part| scope.spawn(|| part.aggregate([Aggregate::sum("a")]))).collect();
    ///     let sum = |found: Vec<tdb_array::query::AggregateValue>| found[0].as_i64().unwrap_or(0);
    ///     workers.into_iter().map(|worker| worker.join().unwrap().map(sum)).collect::<tdb_array::Result<_>>()
    /// })?;
    /// assert_eq!(sums, [36, 100]);
    /// # Ok::<(), tdb_array::Error>(())
    /// ```
    ///
    /// # Order
    ///
    /// Parts are boxes of the array, cut along the slowest dimension of the query's order, so all
    /// versions of a cell are in one part. In row- and column-major order, and in global order, the
    /// cells of all parts one after the other are in the order of the whole query. Unordered
    /// queries and queries in Hilbert order have no order across parts. (The same holds for an
    /// array with a single dimension, or in global order with any dimension, of strings with bytes
    /// above 127, whose stored order differs from the order of ranges.)
    ///
    /// Ranges of dense arrays that were asked for out of order, or that overlap, are cut as they
    /// were asked for: a cell that is returned twice may be in two parts, and aggregates of the
    /// parts then count it in both.
    ///
    /// # Cost
    ///
    /// Costs are estimated from metadata. For a sparse array: for each tile that the query touches,
    /// the stored bytes of all fields that the query looks at, and the bytes of its cells in the
    /// result. For a dense array: the bytes of the result, and the bytes that fragments store of
    /// the fields. Each tile is assumed to be spread evenly over its rectangle. The cells that
    /// conditions and deletes leave out are not known. Cuts are placed between tiles if this does
    /// not make the parts much less equal; a tile that a cut goes through is read by both parts. If
    /// there are fewer tiles along a dimension than parts, dense tiles are cut inside, unless the
    /// order is global order: rows of tiles are then cut along the next dimension first.
    ///
    /// There are fewer parts if there is nothing to cut, such as many cells at one coordinate.
    /// There is always at least one part, the whole query, even if `max` is 0. Ranges of labels
    /// become ranges of positions.
    ///
    /// No range contains cells at NaN. A dimension is not cut if metadata shows that it has such
    /// cells; metadata shows only those that come first in their tiles.
    ///
    /// # Errors
    /// A field, range or condition that does not fit the array, or damaged metadata.
    pub fn partitions(self, max: usize) -> Result<Vec<Self>> {
        let plan = self.clone().plan()?;
        let found = partition::partitions(&plan, max)?;
        if self.memory.is_some() {
            // Metadata that was read is not kept when there is a budget.
            plan.array.fragments().iter().for_each(|fragment| fragment.forget());
        }
        if found.is_empty() {
            return Ok(vec![self]);
        }
        let whole = Self { ranges: Vec::new(), labels: Vec::new(), ..self };
        let part = |ranges: Ranges| Self { resolved: Some(Arc::new(ranges)), ..whole.clone() };
        Ok(found.into_iter().map(part).collect())
    }

    /// The same query for none of its cells, whatever ranges it has: a part for someone who wants
    /// more parts than there are.
    pub fn nothing(self) -> Self {
        let dimensions = self.array.schema().domain.dimensions.len();
        let resolved = Some(Arc::new(vec![Some(Vec::new()); dimensions]));
        Self { ranges: Vec::new(), labels: Vec::new(), tiles: None, resolved, ..self }
    }
}
