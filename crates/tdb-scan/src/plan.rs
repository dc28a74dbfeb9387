//! A query after it was checked: the fields and cells it returns, their order, and the memory it
//! may use.

use std::sync::Arc;

use tdb_codec::{ArrayType, Buffer, Layout};
use tdb_predicate::Program;
use tdb_schema::{Dimension, FieldKind, Range};

use crate::batch_scope::BatchScope;
use crate::condition::fragment_of;
use crate::fragment::Fragment;
use crate::overlap::{FragmentOverlap, OverlappingFragments};
use crate::ranges::RangeSet;
use crate::requested::{Bounds, RangeRequest};
use crate::storage::{PrefetchedStorage, ReadSet};
use crate::tile_id::TileId;
use crate::visible_cells::Visibility;
use crate::{ColumnMemory, OrInternal, QueryError, Result, Snapshot};

/// A read without a memory budget keeps at most this much of what it has decoded and may need
/// again.
pub(crate) const MAX_CACHED_BYTES: u64 = 256 << 20;
/// Bytes that a cached column takes in addition to its cells.
pub(crate) const CACHED_COLUMN_BYTES: u64 = 192;

/// A field that was asked for is not in the schema.
pub(crate) const NO_FIELD: &str = "a field of the query is not in the schema";

/// The name of the field that says when a cell was written.
pub const TIMESTAMPS: &str = "__timestamps";

/// A query checked against the schema.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The array as it was opened.
    pub array: Snapshot,
    /// The fields of the result, in its order.
    pub fields: Vec<FieldKind>,
    /// The intervals of each dimension: merged, or in the order they were asked for if results come
    /// in that order.
    pub ranges: Vec<RangeSet>,
    /// The order of the cells of the result.
    pub order: Layout,
    /// The condition that cells must satisfy.
    pub condition: Option<Program>,
    /// Whether a dense result says which of its cells are selected.
    pub marks: bool,
    /// The caller's memory for columns of fixed size.
    pub memory: Option<ColumnMemory>,
    /// Whether strings that are stored as codes may stay so.
    pub dictionary_codes: bool,
    /// Fields that aggregates look at, tile by tile.
    pub scanned: Vec<FieldKind>,
    /// The place of the column of the cells' timestamps, if they were asked for.
    pub timestamps: Option<usize>,
    /// Columns of coordinates that become columns of labels: the column's place, and the label's
    /// number in the schema.
    pub labels: Vec<(usize, usize)>,
    /// Which of the fragments in the ranges may have cells with the same coordinates; none if an
    /// earlier query found out that no cell is there twice. The parts that are cut from a plan have
    /// its overlaps.
    pub overlap: Arc<FragmentOverlap>,
    /// Whether an earlier query had found out, when this one was planned, that no cell of the array
    /// is there twice.
    pub is_unique: bool,
    /// Which cells count of those tiles that may hold cells of other fragments, if it was found
    /// before.
    pub visibility: Option<Visibility>,
    /// The part of the query that a read covers; all of it by default.
    pub scope: BatchScope,
}

impl Plan {
    /// A buffer for a finished column of a field, of so many bytes.
    pub(crate) fn column_buffer(&self, field: &str, len: usize) -> Result<Buffer> {
        ColumnMemory::buffer(self.memory.as_ref(), field, len)
    }

    /// A fragment of the array by its number.
    pub fn fragment(&self, number: usize) -> Result<&Arc<Fragment>> {
        fragment_of(self.array.fragments(), number)
    }

    /// Fetches what a stage is going to read if the query's memory has room for it, and returns
    /// whether it did.
    ///
    /// If it does not fit, it is read tile by tile. An asynchronous query fetches everything in any
    /// case: a stage is run again for each answer that was missing. Reading tile by tile would
    /// therefore take as much memory, and would decode all earlier tiles again for each further
    /// one.
    ///
    /// # Errors
    /// It has not arrived yet ([`Context::arrived`](crate::context::Context::arrived)).
    pub fn fetch_if_it_fits(&self, prefetched: &PrefetchedStorage, read_set: &ReadSet) -> Result<bool> {
        let context = self.array.context();
        let fits = self.scope.reserve_fetched(prefetched.missing_bytes(read_set))
            || context.replay_storage.is_some();
        if fits {
            prefetched.prefetch(read_set);
            context.arrived()?;
        }
        Ok(fits)
    }

    /// Runs a stage of the read ([`Context::stage`](crate::context::Context::stage)). If something
    /// has not arrived yet, the memory that it has reserved is free again.
    pub fn stage<T: Send + Sync + 'static>(&self, run: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        self.array.context().stage(|| self.repeatable(|| 0, run))
    }

    /// Runs the last stage of the read, whose result nobody needs again. `held` is as in
    /// `Reservation::repeatable`.
    pub(crate) fn last_stage<T>(&self, held: impl Fn() -> u64, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let result = self.repeatable(held, run);
        self.array.context().arrived()?;
        result
    }

    /// Runs something that is run again if something has not arrived yet.
    pub(crate) fn repeatable<T>(&self, held: impl Fn() -> u64, run: impl FnOnce() -> Result<T>) -> Result<T> {
        let context = self.array.context();
        let reservation = self.scope.reservation.as_ref().filter(|_| context.replay_storage.is_some());
        let Some(reservation) = reservation else { return run() };
        reservation.repeatable(held, run, || context.arrived().is_err())
    }

    /// Whether a tile must be looked at.
    pub(crate) fn has_tile(&self, id: TileId) -> bool {
        let visible = self.visibility.as_ref();
        self.scope.has_tile(id) && visible.is_none_or(|visible| visible.has_tile(id))
    }

    /// Whether it is known which cells of a tile are wanted.
    pub(crate) fn is_decided(&self, id: TileId) -> bool {
        self.scope.key_range.is_none()
            && self.visibility.as_ref().is_some_and(|visible| visible.is_decided(id))
    }

    /// Whether a fragment may have cells in the ranges, according to its footer. If it has none,
    /// nothing else of it is read.
    pub fn meets(&self, fragment: &Fragment) -> bool {
        meets(&self.ranges, &self.array.schema().domain.dimensions, fragment)
    }

    /// Which fragments may have cells with the coordinates of which.
    pub fn overlapping(&self) -> Result<OverlappingFragments> {
        if !self.overlap.any() {
            return Ok(OverlappingFragments::default());
        }
        OverlappingFragments::new(self.array.schema(), self.array.fragments(), |fragment| {
            self.meets(fragment)
        })
    }

    /// Whether it looks at all cells of the array, and does not know yet which of them count.
    fn is_of_all_cells(&self) -> bool {
        let is_a_part = self.scope.tiles.is_some() || self.scope.key_range.is_some();
        !is_a_part
            && self.condition.is_none()
            && self.visibility.is_none()
            && self.ranges.iter().all(RangeSet::is_all)
    }

    /// Remembers for later queries that no cell of the array is there twice, if this query compared
    /// all cells with each other, and found so many that are `older` versions of others: none.
    pub fn note_older(&self, older: usize) {
        let compares = self.overlap.any() && self.is_of_all_cells();
        if older == 0 && compares {
            self.array.known().note_no_cell_twice();
        }
    }

    /// Whether it looks for no older versions of cells because an earlier query found none.
    pub fn skips_deduplication(&self) -> bool {
        !self.overlap.any() && self.visibility.is_none() && self.is_unique
    }

    /// The same query, which looks for older versions of cells although there are none.
    pub fn with_deduplication(self) -> Result<Self> {
        let overlap = overlap(&self.array, &self.ranges)?;
        Ok(Self { overlap: Arc::new(overlap), ..self })
    }

    /// A query for these fields of the cells in some ranges: for each dimension those that were
    /// asked for, or `None` for the whole dimension. If no order is given, it is the array's
    /// default.
    pub fn new(
        array: &Snapshot,
        fields: Vec<FieldKind>,
        requested: &[Option<Vec<RangeRequest>>],
        order: Option<Layout>,
    ) -> Result<Self> {
        let schema = array.schema();
        let order = order.unwrap_or(match schema.array_type {
            ArrayType::Dense => Layout::RowMajor,
            ArrayType::Sparse => Layout::Unordered,
        });
        let in_order_asked = schema.array_type == ArrayType::Dense && order != Layout::GlobalOrder;
        let ranges = range_sets(array, requested)?.into_iter().zip(&schema.domain.dimensions);
        let ranges =
            ranges.map(|(set, dimension)| if in_order_asked { Ok(set) } else { set.merged(dimension) });
        let ranges: Vec<RangeSet> = ranges.collect::<Result<_>>()?;
        // This query may find it out itself, and must go on as it began where it is repeated.
        let is_unique = *array.context().stage(|| Ok(array.known().has_no_cell_twice()))?;
        let overlap = match is_unique {
            true => FragmentOverlap::default(),
            false => overlap(array, &ranges)?,
        };
        Ok(Self {
            array: array.clone(),
            fields,
            ranges,
            overlap: Arc::new(overlap),
            order,
            condition: None,
            marks: false,
            memory: None,
            dictionary_codes: false,
            scanned: Vec::new(),
            timestamps: None,
            labels: Vec::new(),
            is_unique,
            visibility: None,
            scope: BatchScope::default(),
        })
    }

    /// The same query with a condition. Of sparse arrays, what it says of dimensions becomes
    /// ranges.
    pub fn with_condition(self, condition: Option<Program>) -> Result<Self> {
        let schema = self.array.schema();
        if schema.array_type == ArrayType::Sparse
            && let Some(mut rest) = condition.clone()
        {
            let mut intervals = rest.take_intervals().into_iter();
            let plan =
                intervals.try_fold(self.clone(), |plan, (dimension, to)| plan.narrowed(dimension, &to))?;
            let mut sets = plan.ranges.iter().zip(&schema.domain.dimensions);
            // Ranges without any coordinate cannot be asked for; a condition can be such that no
            // cell satisfies it.
            if sets.all(|(set, dimension)| set.len(dimension) != Some(0)) {
                return Ok(Self { condition: (!rest.is_empty()).then_some(rest), ..plan });
            }
        }
        Ok(Self { condition, ..self })
    }

    /// The same query with one more interval in a dimension: it keeps the intersection of both.
    pub fn narrowed(&self, dimension: usize, to: &Bounds) -> Result<Self> {
        let mut plan = self.clone();
        let own = plan.ranges.get_mut(dimension).zip(self.array.schema().domain.dimensions.get(dimension));
        let (set, of) = own.or_internal("an interval without its dimension")?;
        *set = set.narrowed(of, to)?;
        plan.visibility.iter_mut().for_each(|visible| visible.exact = false);
        Ok(plan)
    }
}

/// The overlaps among the fragments that may have cells in the ranges.
fn overlap(array: &Snapshot, ranges: &[RangeSet]) -> Result<FragmentOverlap> {
    let dimensions = &array.schema().domain.dimensions;
    FragmentOverlap::new(array.schema(), array.fragments(), |fragment| meets(ranges, dimensions, fragment))
}

/// Whether a fragment may have cells in the ranges.
fn meets(ranges: &[RangeSet], dimensions: &[Dimension], fragment: &Fragment) -> bool {
    let bounds = fragment.bounds().unwrap_or_default().iter();
    bounds
        .zip(ranges.iter().zip(dimensions))
        .all(|(range, (set, dimension))| set.overlaps(dimension, &range.low, &range.high))
}

/// A dimension whose domain is the current domain, if there is one.
pub fn bounded(dimension: &Dimension, current: Option<&Range>) -> Dimension {
    let domain = current.map(|current| (current.low.clone(), current.high.clone()));
    let mut current = dimension.clone();
    if domain.is_some() {
        current.domain = domain;
    }
    current
}

/// The intervals of each dimension, as they were asked for, within the current domain.
fn range_sets(array: &Snapshot, requested: &[Option<Vec<RangeRequest>>]) -> Result<Vec<RangeSet>> {
    let schema = array.schema();
    let sets = requested.iter().zip(&schema.domain.dimensions).enumerate();
    sets.map(|(index, (requested, dimension))| {
        let current = schema.current_domain.as_ref().and_then(|current| current.ranges.get(index));
        let requested: Vec<Result<Bounds, QueryError>> = match requested {
            Some(requested) => requested.iter().map(|wanted| wanted.resolve(dimension)).collect(),
            None => vec![Ok(Bounds::default())],
        };
        let Some(current) = current else { return Ok(RangeSet::new(dimension, requested)?) };
        let bounded = bounded(dimension, Some(current));
        let set = RangeSet::new(&bounded, requested)?;
        if schema.array_type == ArrayType::Sparse && array.is_inside_current_domain(index) {
            return Ok(set);
        }
        let ends = Bounds { low: Some(current.low.clone()), high: Some(current.high.clone()) };
        Ok(set.narrowed(dimension, &ends)?)
    })
    .collect()
}
