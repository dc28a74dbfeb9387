//! Groups: the cells of a query that have the same values of some fields, and aggregates of each group.
//!
//! Tiles are looked at as in other aggregates (`super::sparse`), but no statistics are used. The values of each key are
//! numbered as they appear (`keys`), with several keys pairs of these numbers (`pairs`), so that a group is a number, and what is added
//! up is a list by that number (`fold`). A thread adds up runs of tiles that have about 2^17 cells; the runs are put together in their order, so
//! that neither the order of the groups nor sums of reals depend on the number of threads.

mod fold;
mod keys;
mod pairs;
mod part;
mod result;
mod strings;
mod table;
mod total;
mod word;
mod words;

use core::sync::atomic::{AtomicUsize, Ordering};

use tdb_codec::{ArrayType, to_u64};

use self::fold::Fold;
use self::part::{Part, Scratch};
pub use self::result::{Grouped, GroupedValues};
use self::total::Total;
use super::sparse::{Taker, visit};
use super::tally::WantedField;
use super::{Resolved, resolve};
use crate::budget::MemoryBudget;
use crate::buffers::index_of;
use crate::condition::{Program, Sources};
use crate::context::Context;
use crate::explain::fetch_sections;
use crate::expression::{Aggregate, AggregateError};
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::sparse::candidate::Candidate;
use crate::sparse::keep::Keep;
use crate::sparse::select::TileSelection;
use crate::spec::ColumnSpec;
use crate::stream::Allowance;
use crate::{Error, QueryError, Result, parallel};

/// The cells that a thread adds up before they are put together with others.
const RUN: usize = 1 << 17;

/// A key: the number of its field in the program, and its type.
type Key = (usize, ColumnSpec);

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
    most: Option<usize>,
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
        own.push((program.field(schema, &field), ColumnSpec::new(schema, &field)));
    }
    plan.scanned = program.fields.iter().map(|field| field.kind).collect();
    if let Some(ahead) = &plan.array.context().ahead {
        fetch_sections(&plan, ahead);
    }
    let most = most.unwrap_or(usize::MAX).min(index_of(u32::MAX).saturating_sub(RUN));
    let asked = Asked { program, wanted, keys: own, aggregates, places, most };
    let sources = Sources::new(plan.array.context(), &asked.program, plan.array.fragments());
    let context = plan.array.context();
    let budget = memory.map(Allowance::budget);
    let mut grouping =
        Grouping { asked: &asked, sources: &sources, context, budget, total: Total::new(&asked) };
    let held = sources.held().saturating_add(budget.map_or(0, for_groups));
    visit(&plan, held, &mut grouping, memory).map_err(|error| match (error, budget) {
        // A limit of batches has nothing for groups.
        (Error::Query(QueryError::BudgetTooSmall { budget, min }), Some(own)) if own == budget => {
            QueryError::BudgetTooSmall { budget, min: with_groups(budget, min) }.into()
        }
        (error, _) => error,
    })?;
    Ok(grouping.total.result(&asked))
}

/// The part of a budget that the groups may take.
const fn for_groups(budget: MemoryBudget) -> u64 {
    budget.bytes() / 4
}

/// The least budget that leaves as much beside the groups as `min` leaves beside those of the smaller `budget`. Three quarters of a budget
/// are planned, and the groups take a quarter: half is left.
fn with_groups(budget: MemoryBudget, min: MemoryBudget) -> MemoryBudget {
    let planned = (min.bytes() / 4).saturating_add(1).saturating_mul(3);
    MemoryBudget::from_bytes(planned.saturating_sub(for_groups(budget)).saturating_mul(2)).max(min)
}

/// Takes the cells of tiles.
struct Grouping<'a> {
    asked: &'a Asked,
    sources: &'a Sources<'a>,
    context: &'a Context,
    /// The memory of the query, of which the groups take a part.
    budget: Option<MemoryBudget>,
    total: Total,
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
        let thread = AtomicUsize::new(0);
        let start = || Scratch::new(self.asked, thread.fetch_add(1, Ordering::Relaxed));
        let add = |run: Vec<TileSelection>, scratch: &mut Scratch| {
            let mut part = Part::new(self.asked, scratch);
            for selection in &run {
                part.add(self.asked, self.sources, selection, keep, scratch)?;
                // So many parts wait to be put together.
                let parts = part.held().saturating_mul(parallel::HELD);
                self.check(scratch.table.groups(), to_u64(scratch.table.held().saturating_add(parts)))?;
            }
            Ok(part.end(scratch))
        };
        // If this fails, what was added so far must be as before.
        let mut fresh = Total::new(self.asked);
        let merge = |part: Part| {
            fresh.merge(part);
            // Each thread has numbers of its own.
            self.check(fresh.groups(), fresh.held().saturating_mul(to_u64(threads).saturating_add(1)))
        };
        parallel::run_in_order(threads, runs(selections).into_iter(), start, add, merge)?;
        self.total.merge_all(fresh);
        self.check(self.total.groups(), self.total.held())
    }
}

impl Grouping<'_> {
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

/// Puts tiles together until they have many cells.
fn runs(selections: Vec<TileSelection>) -> Vec<Vec<TileSelection>> {
    let mut runs: Vec<Vec<TileSelection>> = Vec::new();
    let mut cells = RUN;
    for selection in selections {
        let own = selection.len();
        match runs.last_mut().filter(|_| cells.saturating_add(own) <= RUN) {
            Some(run) => run.push(selection),
            None => {
                runs.push(vec![selection]);
                cells = 0;
            }
        }
        cells = cells.saturating_add(own);
    }
    runs
}
