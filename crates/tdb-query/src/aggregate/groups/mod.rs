//! Groups: the cells of a query that have the same values of some fields, and aggregates of each
//! group.
//!
//! Tiles are looked at as in other aggregates (`super::sparse`), but no statistics are used. The
//! values of each key are numbered as they appear (`keys`), with several keys pairs of these
//! numbers (`pairs`), so that a group is a number, and what is added up is a list by that number
//! (`fold`). A thread adds up runs of tiles that have about 2^17 cells; the runs are put together
//! in their order, so that neither the order of the groups nor sums of reals depend on the number
//! of threads. Where groups turn out to be many, the cells are divided by their keys instead
//! (`wide`).

mod fold;
mod keys;
mod pairs;
mod part;
mod result;
mod strings;
mod table;
#[cfg(test)]
mod tests;
mod total;
mod wide;
mod word;
mod words;

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tdb_codec::{ArrayType, to_u64};

use self::fold::Fold;
use self::part::{Part, Scratch};
pub use self::result::{Grouped, GroupedValues};
use self::total::Total;
use self::wide::Wide;
use super::sparse::{Taker, visit};
use super::tally::WantedField;
use super::{Resolved, resolve};
use crate::budget::MemoryBudget;
use crate::buffers::index_of;
use crate::condition::{Program, Sources};
use crate::context::Context;
use crate::expression::{Aggregate, AggregateError};
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::prefetch::prefetch_sections;
use crate::sparse::candidate::Candidate;
use crate::sparse::keep::Keep;
use crate::sparse::select::TileSelection;
use crate::spec::ColumnSpec;
use crate::stream::{self, Allowance};
use crate::{Error, OrInternal, QueryError, Result, parallel};

/// The cells that a thread adds up before they are put together with others.
const RUN: usize = if cfg!(test) { 64 } else { 1 << 17 };

/// With more groups than this, the cells are divided by their keys.
pub(crate) const FEW: usize = 1 << 16;

/// A field whose values make groups.
struct Key {
    /// Its number in the program.
    field: usize,
    spec: ColumnSpec,
}

impl Key {
    /// Whether each value is one number, which a word can hold.
    fn is_word(&self) -> bool {
        keys::are_words(&self.spec)
    }

    /// Whether there are words, some of which may stand for null.
    fn has_null_words(&self) -> bool {
        self.is_word() && self.spec.nullable
    }
}

/// What is computed.
struct Asked {
    program: Program,
    wanted: Vec<WantedField>,
    keys: Vec<Key>,
    aggregates: Vec<Aggregate>,
    /// For each aggregate the position of its field.
    places: Vec<Option<usize>>,
    /// The number of groups that is not exceeded.
    most: usize,
    /// With more groups than this, the cells are divided by their keys.
    few: usize,
}

impl Asked {
    fn folds(&self) -> Vec<Fold> {
        self.wanted.iter().map(|field| Fold::new(field, &self.aggregates)).collect()
    }
}

/// Groups the cells of a query.
pub(crate) fn run(
    mut plan: Plan,
    keys: &[String],
    aggregates: Vec<Aggregate>,
    (most, few): (Option<usize>, usize),
    memory: Option<Allowance>,
) -> Result<Grouped> {
    let schema = plan.array.schema();
    if schema.array_type == ArrayType::Dense {
        return Err(QueryError::Aggregate(AggregateError::DenseGroups).into());
    }
    let (mut program, wanted, places): Resolved = resolve(&plan, &aggregates)?;
    let mut own = Vec::with_capacity(keys.len());
    for name in keys {
        let field = schema.field(name).ok_or_else(|| super::unknown_field(schema, name))?;
        own.push(Key { field: program.field(schema, &field), spec: ColumnSpec::new(schema, &field) });
    }
    plan.scanned = program.fields.iter().map(|field| field.kind).collect();
    let plan = stream::within(plan, memory)?;
    if let Some(ahead) = &plan.array.context().ahead {
        prefetch_sections(&plan, ahead);
    }
    let most = most.unwrap_or(usize::MAX).min(index_of(u32::MAX) / 2);
    let mut asked = Asked { program, wanted, keys: own, aggregates, places, most, few };
    if asked.folds().iter().any(Fold::has_strings) {
        // Strings have no fixed size, so that their extremes cannot be sorted by shards: such a
        // query keeps one table.
        asked.few = usize::MAX;
    }
    let sources = Sources::new(plan.array.context(), &asked.program, plan.array.fragments());
    let context = plan.array.context();
    let budget = memory.map(Allowance::budget);
    let mut grouping =
        Grouping { asked: &asked, sources: &sources, context, budget, found: Found::Few(Total::new(&asked)) };
    let held = sources.held().saturating_add(budget.map_or(0, for_groups));
    visit(&plan, held, &mut grouping, memory).map_err(|error| match (error, budget) {
        // A limit of batches has nothing for groups.
        (Error::Query(QueryError::BudgetTooSmall { budget, min }), Some(own)) if own == budget => {
            QueryError::BudgetTooSmall { budget, min: with_groups(budget, min) }.into()
        }
        (error, _) => error,
    })?;
    grouping.found.result(&asked, context.threads)
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

/// Takes the cells of tiles.
struct Grouping<'a> {
    asked: &'a Asked,
    sources: &'a Sources<'a>,
    context: &'a Context,
    /// The memory of the query, of which the groups take a part.
    budget: Option<MemoryBudget>,
    found: Found,
}

impl Taker for Grouping<'_> {
    fn whole_fragment(&mut self, _: usize, _: &Fragment) -> Result<bool> {
        Ok(false)
    }

    fn whole_tile(&mut self, _: &Candidate) -> Result<bool> {
        Ok(false)
    }

    fn take(&mut self, selections: Vec<TileSelection>, keep: &Keep<'_>) -> Result<()> {
        let cells = selections.iter().map(|selection| selection.tile_cells).fold(0, usize::saturating_add);
        let columns = self.asked.program.fields.len();
        let bytes = cells.saturating_mul(columns).saturating_mul(size_of::<u64>());
        let threads = parallel::worth(self.context.threads, bytes);
        let mut found = core::mem::replace(&mut self.found, Found::Few(Total::new(self.asked)));
        let result = self.add(&mut found, &runs(&selections), keep, threads);
        self.found = found;
        result
    }
}

impl Grouping<'_> {
    /// Adds the cells of some runs of tiles to what was found. If their tiles cannot be read, or
    /// memory is too small for them, that is as before.
    fn add(
        &self,
        found: &mut Found,
        runs: &[&[TileSelection]],
        keep: &Keep<'_>,
        threads: usize,
    ) -> Result<()> {
        match found {
            Found::Many(wide) => self.many(wide, runs, keep, threads)?,
            Found::Few(_) => match self.few(runs, keep, threads)? {
                (fresh, []) => found.merge(self.asked, fresh)?,
                (fresh, rest) => {
                    let mut wide = Wide::new(self.asked);
                    wide.add(fresh)?;
                    self.many(&mut wide, rest, keep, threads)?;
                    found.join(self.asked, wide)?;
                }
            },
        }
        self.check(found.groups(), found.held())
    }

    /// The groups of the cells of some runs of tiles, and the runs that are left when these are
    /// more than few: which these are depends on the cells alone, not on what threads do. If memory
    /// is too small for few groups, some runs are left too: the tables of threads take more than
    /// shards.
    fn few<'r>(
        &self,
        runs: &'r [&'r [TileSelection]],
        keep: &Keep<'_>,
        threads: usize,
    ) -> Result<(Total, &'r [&'r [TileSelection]])> {
        let (thread, memory_is_small) = (AtomicUsize::new(0), AtomicBool::new(false));
        let start = || Scratch::new(self.asked, thread.fetch_add(1, Ordering::Relaxed));
        let check = |groups: usize, held: u64| {
            let result = self.check(groups, held);
            if let Err(Error::Query(QueryError::BudgetTooSmall { .. })) = &result {
                memory_is_small.store(true, Ordering::Relaxed);
            }
            result
        };
        let add = |run: &[TileSelection], scratch: &mut Scratch| {
            let mut part = Part::new(self.asked, scratch);
            for selection in run {
                part.add(self.asked, self.sources, selection, keep, scratch)?;
                // So many parts wait to be put together.
                let parts = part.held().saturating_mul(parallel::HELD);
                check(scratch.table.groups(), to_u64(scratch.table.held().saturating_add(parts)))?;
            }
            part.end(scratch)
        };
        let (mut fresh, mut merged, mut are_many) = (Total::new(self.asked), 0usize, false);
        let merge = |part: Part| {
            fresh.merge(part)?;
            merged = merged.saturating_add(1);
            if fresh.groups() > self.asked.few {
                are_many = true;
                // Ends the work.
                return Err(QueryError::TooManyGroups { most: self.asked.few }.into());
            }
            // Each thread has numbers of its own.
            check(fresh.groups(), fresh.held().saturating_mul(to_u64(threads).saturating_add(1)))
        };
        let result = parallel::run_in_order(threads, runs.iter().copied(), start, add, merge);
        let memory_is_small = memory_is_small.into_inner() && self.asked.few < usize::MAX;
        match result {
            Err(error) if !are_many && !memory_is_small => Err(error),
            _ => Ok((fresh, runs.get(merged..).or_internal("more runs were merged than there are")?)),
        }
    }

    /// Adds the cells of some runs of tiles to many groups. If this fails, they are as before.
    fn many(
        &self,
        wide: &mut Wide,
        runs: &[&[TileSelection]],
        keep: &Keep<'_>,
        threads: usize,
    ) -> Result<()> {
        let memory = self.budget.map(|budget| for_groups(budget) / 4);
        let check = |groups: usize, held: u64| self.check(groups, held);
        wide.take((self.asked, self.sources), runs, keep, (threads, memory), check)
    }

    /// Whether there are no more groups than are allowed, and they take no more memory.
    fn check(&self, groups: usize, held: u64) -> Result<()> {
        if groups > self.asked.most {
            return Err(QueryError::TooManyGroups { most: self.asked.most }.into());
        }
        let Some(budget) = self.budget.filter(|budget| held > for_groups(*budget)) else { return Ok(()) };
        let min = MemoryBudget::from_bytes(held.saturating_mul(6));
        Err(QueryError::BudgetTooSmall { budget, min }.into())
    }
}

/// The groups that were found.
enum Found {
    Few(Total),
    Many(Wide),
}

impl Found {
    fn groups(&self) -> usize {
        match self {
            Self::Few(total) => total.groups(),
            Self::Many(wide) => wide.groups(),
        }
    }

    /// Approximate bytes that they take.
    fn held(&self) -> u64 {
        match self {
            Self::Few(total) => total.held(),
            Self::Many(wide) => wide.held(),
        }
    }

    /// Adds few groups, with which they may become many.
    fn merge(&mut self, asked: &Asked, fresh: Total) -> Result<()> {
        let Self::Few(total) = self else { return Err(Error::internal("few groups are added to many")) };
        total.merge_all(fresh)?;
        if total.groups() > asked.few {
            self.join(asked, Wide::new(asked))?;
        }
        Ok(())
    }

    /// Adds few groups, which were found before, to many.
    fn join(&mut self, asked: &Asked, mut wide: Wide) -> Result<()> {
        let Self::Few(total) = self else { return Err(Error::internal("many groups are added to many")) };
        wide.add(core::mem::replace(total, Total::new(asked)))?;
        *self = Self::Many(wide);
        Ok(())
    }

    fn result(self, asked: &Asked, threads: usize) -> Result<Grouped> {
        match self {
            Self::Few(total) => total.result(asked),
            Self::Many(wide) => wide.result(asked, threads),
        }
    }
}

/// Tiles that follow each other, until they have many cells.
fn runs(selections: &[TileSelection]) -> Vec<&[TileSelection]> {
    let (mut runs, mut first, mut cells) = (Vec::new(), 0, 0usize);
    for (at, selection) in selections.iter().enumerate() {
        let own = selection.len();
        if at > first && cells.saturating_add(own) > RUN {
            runs.extend(selections.get(first..at));
            (first, cells) = (at, 0);
        }
        cells = cells.saturating_add(own);
    }
    runs.extend(selections.get(first..).filter(|run| !run.is_empty()));
    runs
}
