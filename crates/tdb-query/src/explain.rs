//! Explains what a query would do, without doing it: reads metadata only.
//!
//! It reports the list of reads that [`read_plan`] makes. A read then takes exactly the requests
//! and bytes that are shown, unless only few chunks of large tiles are wanted, or cells that lie
//! far apart: then it reads less, in more requests. With a condition, a read takes at most the
//! bytes that are shown. Chunks are counted as writers cut them, by the sizes in the schema.

use std::collections::BTreeMap;
use std::sync::Arc;

use tdb_codec::ArrayType;
use tdb_scan::dense::dense_order;

use crate::budget::MemoryBudget;
use crate::plan::Plan;
use crate::prefetch::prefetch_sections;
use crate::reads::{FieldPlan, FieldReads, FragmentPlan, Outcome, read_plan};
use crate::storage::PrefetchedStorage;
use crate::{Layout, Result, Snapshot};

/// The report of what a query would read, and why not more
/// ([`Read::explain`](crate::Read::explain)).
///
/// No data file is opened for it. Tiles, bytes and requests are those of whole tiles: if only few
/// chunks of a large tile are wanted, fewer are decoded, and if the storage makes small reads
/// cheap, fewer bytes are read, in more requests. With a condition, all of them are upper bounds:
/// the tiles that statistics cannot decide are decided by the condition's columns, tile by tile,
/// and other fields are not read where no cell satisfies it. So is what deletes look at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explain {
    /// The order of the result.
    pub order: Layout,
    /// Every committed fragment, oldest first, and whether it is read.
    pub fragments: Vec<FragmentPlan>,
    /// The tiles and bytes that are read of each field: first the fields asked for, then the fields
    /// that the condition looks at, then the fields that are also needed to find and order cells.
    pub fields: Vec<FieldPlan>,
    /// Number of cells of the result: exact for dense arrays, an upper bound for sparse ones.
    pub cells: u64,
    /// About how many of `cells` satisfy the condition, if the values of each tile are spread
    /// evenly between its least and its greatest. `None` without a condition, for dense arrays, and
    /// if nothing is known of the values.
    pub matching: Option<u64>,
    /// Whether `cells` and `result_bytes` are exact, not upper bounds.
    pub exact: bool,
    /// Bytes of the result's columns, at most.
    pub result_bytes: u64,
    /// Approximate memory of the whole query: the result, the keys that cells are ordered by, and a
    /// second copy of the largest column while it is put in order.
    pub memory_bytes: u64,
}

impl Explain {
    /// Read requests to the storage for all fields.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.fields.iter().map(|field| field.requests).sum()
    }

    /// Stored bytes of all fields.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.fields.iter().map(|field| field.bytes).sum()
    }

    /// Approximate number of chunks of all fields.
    #[must_use]
    pub fn chunks(&self) -> u64 {
        self.fields.iter().map(|field| field.chunks).sum()
    }

    /// Bytes that are decoded for all fields.
    #[must_use]
    pub fn decoded(&self) -> u64 {
        self.fields.iter().map(|field| field.decoded).sum()
    }

    /// Tiles that are not read because none of their cells satisfies the condition.
    #[must_use]
    pub fn ruled_out(&self) -> u64 {
        self.fragments.iter().map(|fragment| fragment.ruled_out).sum()
    }

    /// Tiles that are decoded a second time.
    #[must_use]
    pub fn again(&self) -> u64 {
        self.fields.iter().map(|field| field.again).sum()
    }

    /// Tiles of all fields.
    #[must_use]
    pub fn tiles(&self) -> u64 {
        self.fields.iter().map(|field| field.tiles).sum()
    }
}

/// Explains a plan, within a memory budget if there is one.
pub(crate) fn explain(plan: &Plan, memory: Option<MemoryBudget>) -> Result<Explain> {
    let prefetched = plan.array.context().prefetched.as_deref();
    if let Some(prefetched) = prefetched {
        prefetch_sections(plan, prefetched)?;
    }
    let mut reads = read_plan(plan, prefetched.is_some(), memory)?;
    if let Some(prefetched) = prefetched {
        count_requests(&mut reads.fields, prefetched);
    }
    Ok(Explain {
        order: match plan.array.schema().array_type {
            ArrayType::Dense => dense_order(plan),
            ArrayType::Sparse => plan.order,
        },
        fragments: all_fragments(&plan.array, reads.fragments),
        fields: reads.fields.into_iter().map(|field| field.plan).collect(),
        cells: reads.cells,
        matching: reads.matching,
        exact: reads.exact,
        result_bytes: reads.result_bytes,
        memory_bytes: reads.memory_bytes,
    })
}

/// Counts the requests to a storage that is told beforehand what will be read: ranges near each
/// other become one request, and what several fields or purposes need is delivered once. Each
/// request counts for the first field that has something in it.
fn count_requests(fields: &mut [FieldReads], prefetched: &PrefetchedStorage) {
    let ranges: Vec<Vec<_>> =
        fields.iter_mut().map(|field| field.ranges.take().unwrap_or_default()).collect();
    let mut left: BTreeMap<(Arc<str>, u64), u64> = BTreeMap::new();
    let all: Vec<_> = ranges.iter().flatten().cloned().collect();
    left.extend(prefetched.requests(&all).into_iter().map(|(key, range)| ((key, range.start), range.end)));
    for (field, ranges) in fields.iter_mut().zip(ranges) {
        let plan = &mut field.plan;
        (plan.requests, plan.bytes) = (0, 0);
        for (key, range) in ranges {
            let before = left.range(..(key.clone(), range.end)).rev();
            let own = before.take_while(|((of, _), end)| *of == key && **end > range.start);
            for (place, end) in own.map(|(place, end)| (place.clone(), *end)).collect::<Vec<_>>() {
                plan.requests = plan.requests.saturating_add(1);
                plan.bytes = plan.bytes.saturating_add(end.saturating_sub(place.1));
                left.remove(&place);
            }
        }
    }
}

/// The visible fragments together with the invisible ones, in order of time.
fn all_fragments(array: &Snapshot, mut fragments: Vec<FragmentPlan>) -> Vec<FragmentPlan> {
    for (entry, in_window) in array.invisible_fragments() {
        let outcome = if in_window { Outcome::Consolidated } else { Outcome::OutsideWindow };
        fragments.push(FragmentPlan::invisible(entry.name.to_string(), entry.parsed.timestamps, outcome));
    }
    // The sort is stable: visible fragments with the same time keep their order.
    fragments.sort_by_key(|fragment| fragment.timestamps.0);
    fragments
}
