//! Queries that group cells: aggregates of each group of cells with the same values of some fields.
//!
//! Tiles are looked at as in other aggregates (`super::sparse`), but no statistics are used. The
//! distinct values of each key get ids in the order in which they appear (`key_values`), with
//! several keys pairs of these ids do (`composite_keys`), so that a group is an id, and the
//! accumulators of all groups are lists by that id (`accumulators`). A thread adds up runs of tiles
//! that have about 2^17 cells (`run_groups`); the runs are merged in their order (`group_table`),
//! so that neither the order of the groups nor sums of reals depend on the number of threads. Where
//! groups turn out to be many, the cells are partitioned by their keys instead (`partitioned`).

mod accumulators;
mod composite_keys;
mod group_ids;
mod group_table;
mod key_values;
mod numeric_keys;
mod ordered_bits;
mod partitioned;
mod result;
mod run_groups;
mod string_keys;
mod thresholds;

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tdb_codec::{ArrayType, to_u64};
use tdb_predicate::Program;
use tdb_scan::sparse::candidate::Candidate;
use tdb_scan::sparse::collect::fetch_columns;
use tdb_scan::sparse::decode_cache::DecodeCache;
use tdb_scan::sparse::selection::TileSelection;

use self::accumulators::Accumulators;
use self::group_table::GroupTable;
use self::partitioned::{Input, PartitionedGroups};
pub use self::result::{Grouped, GroupedValues};
use self::run_groups::{RunGroups, ThreadState};
use self::thresholds::MAX_GROUPS;
pub use self::thresholds::Thresholds;
use super::sparse::{Taker, visit};
use super::tally::WantedField;
use super::{Resolved, resolve};
use crate::budget::MemoryBudget;
use crate::condition::Sources;
use crate::context::Context;
use crate::expression::{Aggregate, AggregateError};
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::prefetch::prefetch_sections;
use crate::spec::ColumnSpec;
use crate::stream::{self, Allowance};
use crate::{Error, OrInternal, QueryError, Result, parallel};

/// A field whose values make groups.
struct Key {
    /// Its number in the program.
    field: usize,
    spec: ColumnSpec,
}

impl Key {
    /// Whether each value is one number, so that 64 bits can hold it.
    fn is_numeric(&self) -> bool {
        key_values::is_numeric(&self.spec)
    }

    /// Whether values are numbers, some of which may be null, so that a bit has to say which.
    fn has_null_bit(&self) -> bool {
        self.is_numeric() && self.spec.nullable
    }
}

/// A query that groups cells, resolved against the schema.
struct GroupQuery {
    program: Program,
    wanted: Vec<WantedField>,
    keys: Vec<Key>,
    aggregates: Vec<Aggregate>,
    /// For each aggregate the position of its field in `wanted`.
    field_positions: Vec<Option<usize>>,
    thresholds: Thresholds,
}

impl GroupQuery {
    fn accumulators(&self) -> Vec<Accumulators> {
        self.wanted.iter().map(|field| Accumulators::new(field, &self.aggregates)).collect()
    }
}

/// Groups the cells of a query. With more than `max_groups` it fails.
pub fn run(
    mut plan: Plan,
    keys: &[String],
    aggregates: Vec<Aggregate>,
    mut thresholds: Thresholds,
    memory: Option<Allowance>,
) -> Result<Grouped> {
    let schema = plan.array.schema();
    if schema.array_type == ArrayType::Dense {
        return Err(QueryError::Aggregate(AggregateError::DenseGroups).into());
    }
    let (mut program, wanted, field_positions): Resolved = resolve(&plan, &aggregates)?;
    let mut own = Vec::with_capacity(keys.len());
    for name in keys {
        let field = schema.field(name).ok_or_else(|| super::unknown_field(schema, name))?;
        own.push(Key { field: program.field(schema, &field), spec: ColumnSpec::new(schema, &field) });
    }
    plan.scanned = program.fields.iter().map(|field| field.kind).collect();
    if let Some(prefetched) = &plan.array.context().prefetched {
        prefetch_sections(&plan, prefetched)?;
    }
    thresholds.max_groups = thresholds.max_groups.min(MAX_GROUPS);
    let mut query = GroupQuery { program, wanted, keys: own, aggregates, field_positions, thresholds };
    if query.accumulators().iter().any(Accumulators::has_strings) {
        // Strings have no fixed size, so that they cannot be sorted by partition: a query for their
        // extremes keeps one table.
        query.thresholds.max_of_one_table = usize::MAX;
    }
    let sources = Sources::new(plan.array.context(), &query.program, plan.array.fragments());
    let context = plan.array.context();
    let budget = memory.map(Allowance::budget);
    let held = sources.held().saturating_add(budget.map_or(0, for_groups));
    let group = |plan: &Plan| {
        let groups = Groups::OneTable(GroupTable::new(&query));
        let mut grouping = Grouping { query: &query, sources: &sources, context, budget, groups };
        visit(plan, held, &mut grouping, memory)?;
        Ok(grouping.groups)
    };
    let groups = stream::whole_tiles_or_less(&plan, group).map_err(|error| match (error, budget) {
        // A limit of batches has nothing for groups.
        (Error::Query(QueryError::BudgetTooSmall { budget, min }), Some(own)) if own == budget => {
            QueryError::BudgetTooSmall { budget, min: with_groups(budget, min) }.into()
        }
        (error, _) => error,
    })?;
    groups.result(&query, context.threads)
}

/// The part of a budget that the groups may take.
const fn for_groups(budget: MemoryBudget) -> u64 {
    budget.bytes() / 4
}

/// The least budget that leaves as much beside the groups as `min` leaves beside those of the
/// smaller `budget`. Three quarters of a budget are planned, and the groups take a quarter: half is
/// left.
fn with_groups(budget: MemoryBudget, min: MemoryBudget) -> MemoryBudget {
    let planned = (min.bytes() / 4).saturating_add(1).saturating_mul(3);
    let bytes = planned.saturating_sub(for_groups(budget)).saturating_mul(2);
    // Only whole kibibytes of a budget count.
    MemoryBudget::from_bytes(bytes.checked_next_multiple_of(1 << 10).unwrap_or(u64::MAX)).max(min)
}

/// Takes the cells of tiles, and adds them to their groups.
struct Grouping<'a> {
    query: &'a GroupQuery,
    sources: &'a Sources<'a>,
    context: &'a Context,
    /// The memory of the query, of which the groups take a part.
    budget: Option<MemoryBudget>,
    groups: Groups,
}

impl Taker for Grouping<'_> {
    fn whole_fragment(&mut self, _: usize, _: &Fragment) -> Result<bool> {
        Ok(false)
    }

    fn whole_tile(&mut self, _: &Candidate) -> Result<bool> {
        Ok(false)
    }

    fn take(&mut self, plan: &Plan, selections: &[TileSelection], cache: &DecodeCache) -> Result<()> {
        cache.last_stage(plan, || {
            fetch_columns(plan, &plan.scanned, selections, cache)?;
            // An estimate of the work.
            let cells =
                selections.iter().map(|selection| selection.tile_cells).fold(0, usize::saturating_add);
            let columns = self.query.program.fields.len();
            let bytes = cells.saturating_mul(columns).saturating_mul(size_of::<u64>());
            let threads = parallel::worth(self.context.threads, bytes);
            let mut groups =
                core::mem::replace(&mut self.groups, Groups::OneTable(GroupTable::new(self.query)));
            let runs = runs(selections, self.query.thresholds.max_run_cells);
            let result = self.add(&mut groups, &runs, cache, threads);
            self.groups = groups;
            result
        })
    }
}

impl Grouping<'_> {
    /// Adds the cells of some runs of tiles to `groups`. If their tiles cannot be read, or memory
    /// is too small for them, `groups` are as before.
    fn add(
        &self,
        groups: &mut Groups,
        runs: &[&[TileSelection]],
        cache: &DecodeCache,
        threads: usize,
    ) -> Result<()> {
        match groups {
            Groups::Partitioned(partitioned) => self.add_to_partitions(partitioned, runs, cache, threads)?,
            Groups::OneTable(_) => match self.table_of(runs, cache, threads)? {
                (fresh, []) => groups.merge_table(self.query, fresh)?,
                (fresh, rest) => {
                    let mut partitioned = PartitionedGroups::new(self.query);
                    partitioned.add_table(fresh)?;
                    self.add_to_partitions(&mut partitioned, rest, cache, threads)?;
                    groups.replace_by(self.query, partitioned)?;
                }
            },
        }
        self.check(groups.len(), groups.held())
    }

    /// The groups of the cells of some runs of tiles, and the runs that are left when there are too
    /// many groups for one table: which these are depends on the cells alone, not on the timing of
    /// threads. Some runs are also left if memory is too small for one table: the tables of all
    /// threads take more than partitions.
    fn table_of<'r>(
        &self,
        runs: &'r [&'r [TileSelection]],
        cache: &DecodeCache,
        threads: usize,
    ) -> Result<(GroupTable, &'r [&'r [TileSelection]])> {
        let max_of_one_table = self.query.thresholds.max_of_one_table;
        let (thread, memory_is_small) = (AtomicUsize::new(0), AtomicBool::new(false));
        let start = || ThreadState::new(self.query, thread.fetch_add(1, Ordering::Relaxed));
        let check = |groups: usize, held: u64| {
            let result = self.check(groups, held);
            if let Err(Error::Query(QueryError::BudgetTooSmall { .. })) = &result {
                memory_is_small.store(true, Ordering::Relaxed);
            }
            result
        };
        let add = |run: &[TileSelection], state: &mut ThreadState| {
            let mut groups = RunGroups::new(self.query, state);
            for selection in run {
                groups.add(self.query, self.sources, selection, cache, state)?;
                // At most this many runs wait to be merged.
                let waiting = groups.held().saturating_mul(parallel::HELD);
                check(state.ids.groups(), to_u64(state.ids.held().saturating_add(waiting)))?;
            }
            groups.end(state)
        };
        let (mut fresh, mut merged, mut are_many) = (GroupTable::new(self.query), 0usize, false);
        let merge = |groups: RunGroups| {
            fresh.merge_run(groups)?;
            merged += 1;
            if fresh.groups() > max_of_one_table {
                are_many = true;
                // Ends the work.
                return Err(QueryError::TooManyGroups { max: max_of_one_table }.into());
            }
            // Each thread has ids of its own.
            check(fresh.groups(), fresh.held().saturating_mul(to_u64(threads).saturating_add(1)))
        };
        let result = parallel::run_in_order(threads, runs.iter().copied(), start, add, merge);
        let memory_is_small = memory_is_small.into_inner() && max_of_one_table < usize::MAX;
        match result {
            Err(error) if !are_many && !memory_is_small => Err(error),
            _ => Ok((fresh, runs.get(merged..).or_internal("more runs were merged than there are")?)),
        }
    }

    /// Adds the cells of some runs of tiles to partitions. If this fails, they are as before.
    fn add_to_partitions(
        &self,
        partitioned: &mut PartitionedGroups,
        runs: &[&[TileSelection]],
        cache: &DecodeCache,
        threads: usize,
    ) -> Result<()> {
        let memory = self.budget.map(|budget| for_groups(budget) / 4);
        let check = |groups: usize, held: u64| self.check(groups, held);
        let input = Input { query: self.query, sources: self.sources, cache, threads };
        partitioned.add_runs(input, runs, memory, check)
    }

    /// Fails if there are more groups than are allowed, or if they take more memory.
    fn check(&self, groups: usize, held: u64) -> Result<()> {
        if groups > self.query.thresholds.max_groups {
            return Err(QueryError::TooManyGroups { max: self.query.thresholds.max_groups }.into());
        }
        let Some(budget) = self.budget.filter(|budget| held > for_groups(*budget)) else { return Ok(()) };
        let min = MemoryBudget::from_bytes(held.saturating_mul(6));
        Err(QueryError::BudgetTooSmall { budget, min }.into())
    }
}

/// The groups that were found so far.
enum Groups {
    OneTable(GroupTable),
    Partitioned(PartitionedGroups),
}

impl Groups {
    fn len(&self) -> usize {
        match self {
            Self::OneTable(table) => table.groups(),
            Self::Partitioned(partitioned) => partitioned.groups(),
        }
    }

    /// Approximate bytes that they take.
    fn held(&self) -> u64 {
        match self {
            Self::OneTable(table) => table.held(),
            Self::Partitioned(partitioned) => partitioned.held(),
        }
    }

    /// Adds a table to the one that there is, which may then have too many groups for one table.
    fn merge_table(&mut self, query: &GroupQuery, fresh: GroupTable) -> Result<()> {
        let Self::OneTable(table) = self else { return Err(Error::internal("few groups are added to many")) };
        table.merge_table(fresh)?;
        if table.groups() > query.thresholds.max_of_one_table {
            self.replace_by(query, PartitionedGroups::new(query))?;
        }
        Ok(())
    }

    /// Replaces the table that there is by partitions, to which its groups are added.
    fn replace_by(&mut self, query: &GroupQuery, mut partitioned: PartitionedGroups) -> Result<()> {
        let Self::OneTable(table) = self else {
            return Err(Error::internal("many groups are added to many"));
        };
        partitioned.add_table(core::mem::replace(table, GroupTable::new(query)))?;
        *self = Self::Partitioned(partitioned);
        Ok(())
    }

    fn result(self, query: &GroupQuery, threads: usize) -> Result<Grouped> {
        match self {
            Self::OneTable(table) => table.result(query),
            Self::Partitioned(partitioned) => partitioned.result(query, threads),
        }
    }
}

/// Divides tiles into runs of consecutive ones, which have up to `max_cells` cells each, or one
/// tile.
fn runs(selections: &[TileSelection], max_cells: usize) -> Vec<&[TileSelection]> {
    let (mut runs, mut first, mut cells) = (Vec::new(), 0, 0usize);
    for (at, selection) in selections.iter().enumerate() {
        let own = selection.count();
        if at > first && cells.saturating_add(own) > max_cells {
            runs.extend(selections.get(first..at));
            (first, cells) = (at, 0);
        }
        cells = cells.saturating_add(own);
    }
    runs.extend(selections.get(first..).filter(|run| !run.is_empty()));
    runs
}
