//! Groups: the cells of a query that have the same values of some fields, and aggregates of each group.
//!
//! Tiles are looked at as in other aggregates (`super::sparse`), but no statistics are used. The values of each key are
//! numbered as they appear (`keys`), so that a group is a number, and what is added up is a list by that number
//! (`fold`). A thread adds up runs of tiles that have about 2^17 cells; the runs are put together in their order, so
//! that neither the order of the groups nor sums of reals depend on the number of threads.

mod fold;
mod keys;

use core::sync::atomic::{AtomicUsize, Ordering};

use tdb_codec::{ArrayType, Buffer, CellValNum, Datatype, Layout, Native, PhysicalVisitor, to_u64};

use self::fold::{Fold, each_group};
use self::keys::{Pairs, Values};
use super::sparse::{Looked, Taker, visit};
use super::tally::WantedField;
use super::{Resolved, resolve};
use crate::budget::MemoryBudget;
use crate::buffers::index_of;
use crate::condition::{ColumnView, Program, Sources};
use crate::context::Context;
use crate::explain::fetch_sections;
use crate::expression::{Aggregate, AggregateError, AggregateFunction};
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::sparse::candidate::Candidate;
use crate::sparse::keep::Keep;
use crate::sparse::select::TileSelection;
use crate::spec::ColumnSpec;
use crate::stream::Allowance;
use crate::worker::Worker;
use crate::{Cells, Column, Error, QueryError, Result, parallel};

/// The cells that a thread adds up before they are put together with others.
const RUN: usize = 1 << 17;

/// The groups of a query's cells, in the order in which they first appear in the array, and aggregates of each.
#[derive(Clone, Debug)]
pub struct Grouped {
    keys: Cells,
    values: Vec<GroupedValues>,
}

/// The values of an aggregate, one a group.
#[derive(Clone, Debug)]
pub struct GroupedValues {
    /// The aggregate that was computed.
    pub aggregate: Aggregate,
    /// Its values: `UINT64` for counts, the 64-bit type of the field's kind for sums, `FLOAT64` for means, and the field's own type for
    /// extremes. Null if all cells of the group are.
    pub column: Column,
    /// Whether a sum of integers does not fit in 64 bits. Its value is then the limit that it exceeded.
    pub overflowed: bool,
    /// Whether NaNs were left out of extremes.
    pub has_nan: bool,
}

impl Grouped {
    /// The number of groups.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there are no groups, because there are no cells.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys: a column for each, with the value of each group.
    #[must_use]
    pub const fn keys(&self) -> &Cells {
        &self.keys
    }

    /// The values of the aggregates, in the order in which they were asked for.
    #[must_use]
    pub fn values(&self) -> &[GroupedValues] {
        &self.values
    }

    /// The keys, and the values of the aggregates.
    #[must_use]
    pub fn into_parts(self) -> (Cells, Vec<GroupedValues>) {
        (self.keys, self.values)
    }
}

impl GroupedValues {
    fn counts(aggregate: &Aggregate, counts: &[u64]) -> Self {
        let column = Column {
            name: aggregate.to_string(),
            datatype: Datatype::Uint64,
            cell_val_num: CellValNum::ONE,
            data: Buffer::from(counts.to_vec()),
            offsets: None,
            validity: None,
            codes: None,
        };
        Self { aggregate: aggregate.clone(), column, overflowed: false, has_nan: false }
    }

    /// The values, if the aggregate's are integers: `None` for those that are null.
    #[must_use]
    pub fn integers(&self) -> Option<Vec<Option<i128>>> {
        let physical = self.column.datatype.physical();
        let integer = |bytes: &[u8]| crate::coordinate::integer(bytes, physical.is_signed_integer());
        (!physical.is_float() && self.column.cell_val_num == CellValNum::ONE).then(|| self.each(integer))
    }

    /// The values, if the aggregate's are real numbers: `None` for those that are null.
    #[must_use]
    pub fn reals(&self) -> Option<Vec<Option<f64>>> {
        struct ToFloat<'a>(&'a [u8]);
        impl PhysicalVisitor for ToFloat<'_> {
            type Output = f64;
            fn visit<T: Native>(self) -> f64 {
                T::from_le(self.0).map_or(f64::NAN, T::to_f64)
            }
        }
        let physical = self.column.datatype.physical();
        let real = |bytes: &[u8]| physical.visit(ToFloat(bytes));
        (physical.is_float() && self.column.cell_val_num == CellValNum::ONE).then(|| self.each(real))
    }

    fn each<V>(&self, value: impl Fn(&[u8]) -> V) -> Vec<Option<V>> {
        let cells = self.column.bytes().chunks_exact(self.column.datatype.size());
        let valid = cells.enumerate().map(|(group, cell)| (!self.column.is_null(group)).then_some(cell));
        valid.map(|cell| cell.map(&value)).collect()
    }
}

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
        (Error::Query(QueryError::BudgetTooSmall { budget, min }), Some(_)) if min > budget => {
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
            }
            Ok(part.end(scratch))
        };
        // If this fails, what was added so far must be as before.
        let mut fresh = Total::new(self.asked);
        let merge = |part: Part| {
            fresh.merge(part);
            self.check(&fresh, threads)
        };
        parallel::run_in_order(threads, runs(selections).into_iter(), start, add, merge)?;
        self.total.merge_all(fresh);
        self.check(&self.total, 0)
    }
}

impl Grouping<'_> {
    /// Whether there are no more groups than are allowed.
    fn check(&self, total: &Total, threads: usize) -> Result<()> {
        if total.counts.len().max(self.total.counts.len()) > self.asked.most {
            return Err(QueryError::TooManyGroups { most: self.asked.most }.into());
        }
        let Some(budget) = self.budget else { return Ok(()) };
        // Each thread has numbers of its own.
        let held = total.held().saturating_mul(to_u64(threads).saturating_add(1));
        let held = held.max(self.total.held());
        if held > for_groups(budget) {
            let min = MemoryBudget::from_bytes(held.saturating_mul(6));
            return Err(QueryError::BudgetTooSmall { budget, min }.into());
        }
        Ok(())
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

/// Numbers of groups.
struct Table {
    keys: Vec<Values>,
    /// With several keys, the pairs of the first two, then of these and the third, and so on.
    pairs: Vec<Pairs>,
}

impl Table {
    fn new(asked: &Asked) -> Self {
        let keys = asked.keys.iter().map(|(_, spec)| Values::new(spec)).collect();
        Self { keys, pairs: asked.keys.iter().skip(1).map(|_| Pairs::default()).collect() }
    }

    fn groups(&self) -> usize {
        match (self.keys.as_slice(), self.pairs.last()) {
            (_, Some(pairs)) => pairs.len(),
            ([key, ..], None) => key.len(),
            ([], None) => 1,
        }
    }

    /// How many values each key has, and how many pairs there are.
    fn lens(&self) -> Lens {
        let pairs = self.pairs.iter().map(Pairs::len).collect();
        Lens { keys: self.keys.iter().map(Values::len).collect(), pairs }
    }

    /// What was added since there were as many.
    fn since(&self, from: &Lens) -> Fresh {
        let keys = self.keys.iter().zip(&from.keys).map(|(key, from)| key.since(*from)).collect();
        let pairs = self.pairs.iter().zip(&from.pairs).map(|(own, from)| own.since(*from).to_vec()).collect();
        Fresh { keys, pairs }
    }

    fn held(&self) -> usize {
        let keys = self.keys.iter().map(Values::held);
        keys.chain(self.pairs.iter().map(Pairs::held)).fold(0, usize::saturating_add)
    }
}

/// How much a table has.
#[derive(Default)]
struct Lens {
    keys: Vec<usize>,
    pairs: Vec<usize>,
}

/// Values and pairs that a table has had for a short time, in the order of their numbers.
struct Fresh {
    keys: Vec<Values>,
    pairs: Vec<Vec<(u32, u32)>>,
}

/// What a thread has: its own numbers of groups, which it keeps from run to run.
struct Scratch {
    worker: Worker,
    thread: usize,
    table: Table,
}

impl Scratch {
    fn new(asked: &Asked, thread: usize) -> Self {
        Self { worker: Worker::default(), thread, table: Table::new(asked) }
    }
}

/// What a run of tiles adds to the groups, by the numbers of its thread.
struct Part {
    thread: usize,
    /// How much the thread's table had before.
    before: Lens,
    fresh: Fresh,
    /// The number of cells of each group.
    counts: Vec<u64>,
    folds: Vec<Fold>,
}

impl Part {
    fn new(asked: &Asked, scratch: &Scratch) -> Self {
        let folds = asked.folds();
        let fresh = Fresh { keys: Vec::new(), pairs: Vec::new() };
        Self { thread: scratch.thread, before: scratch.table.lens(), fresh, counts: Vec::new(), folds }
    }

    /// Adds the cells of a selection.
    fn add(
        &mut self,
        asked: &Asked,
        sources: &Sources<'_>,
        selection: &TileSelection,
        keep: &Keep<'_>,
        Scratch { worker, table, .. }: &mut Scratch,
    ) -> Result<()> {
        if selection.len() == 0 {
            return Ok(());
        }
        let mut looked = Looked::new(sources, selection, keep, worker)?;
        let (mut groups, mut numbers) = (vec![0u32; selection.len()], Vec::new());
        let mut before = 1usize;
        for (at, ((field, spec), values)) in asked.keys.iter().zip(&mut table.keys).enumerate() {
            look(&mut looked, *field, spec, |view, cells, chosen| {
                values.number(view, cells, chosen, &mut numbers);
            })?;
            before = match at.checked_sub(1).and_then(|at| table.pairs.get_mut(at)) {
                None => {
                    core::mem::swap(&mut groups, &mut numbers);
                    values.len()
                }
                Some(pairs) => {
                    pairs.number(&mut groups, &numbers, (before, values.len()));
                    pairs.len()
                }
            };
        }
        let count = table.groups();
        self.counts.resize(count, 0);
        each_group(&mut self.counts, &groups, core::iter::repeat(()), |cells: u64, ()| cells.wrapping_add(1));
        for (at, (field, fold)) in asked.wanted.iter().zip(&mut self.folds).enumerate() {
            fold.grow(count);
            look(&mut looked, at, &field.spec, |view, cells, chosen| {
                fold.add(field, view, (cells, chosen), (&groups, count));
            })?;
        }
        Ok(())
    }

    /// Takes what the thread's table has had since the part began.
    fn end(mut self, scratch: &Scratch) -> Self {
        self.fresh = scratch.table.since(&self.before);
        self
    }
}

/// All groups.
struct Total {
    table: Table,
    /// For each thread the numbers here of its own numbers.
    threads: Vec<Known>,
    counts: Vec<u64>,
    folds: Vec<Fold>,
}

/// The numbers here of values and pairs of a thread.
#[derive(Clone, Default)]
struct Known {
    keys: Vec<Vec<u32>>,
    pairs: Vec<Vec<u32>>,
}

impl Known {
    /// Adds what is new in another table to this one.
    fn learn(&mut self, fresh: &Fresh, table: &mut Table) {
        self.keys.resize(fresh.keys.len(), Vec::new());
        self.pairs.resize(fresh.pairs.len(), Vec::new());
        for ((own, values), known) in table.keys.iter_mut().zip(&fresh.keys).zip(&mut self.keys) {
            known.extend(own.merge(values));
        }
        for (level, (own, pairs)) in table.pairs.iter_mut().zip(&fresh.pairs).enumerate() {
            let number = |list: Option<&Vec<u32>>, number: &u32| {
                list.and_then(|list| list.get(index_of(*number))).copied().unwrap_or(0)
            };
            let right = self.keys.get(level.saturating_add(1));
            let left = match level.checked_sub(1) {
                Some(before) => self.pairs.get(before),
                None => self.keys.first(),
            };
            let numbers: Vec<u32> = pairs
                .iter()
                .map(|(first, second)| own.number_of(number(left, first), number(right, second)))
                .collect();
            self.pairs.get_mut(level).into_iter().for_each(|known| known.extend(&numbers));
        }
    }

    /// The numbers here of the groups there.
    fn groups(&self) -> &[u32] {
        self.pairs.last().or(self.keys.first()).map_or(&[0], Vec::as_slice)
    }
}

impl Total {
    fn new(asked: &Asked) -> Self {
        Self { table: Table::new(asked), threads: Vec::new(), counts: Vec::new(), folds: asked.folds() }
    }

    /// Approximate bytes that it takes.
    fn held(&self) -> u64 {
        let folds = self.folds.iter().map(Fold::held).fold(self.table.held(), usize::saturating_add);
        to_u64(folds.saturating_add(self.counts.capacity().saturating_mul(8)))
    }

    fn merge(&mut self, part: Part) {
        let Part { thread, fresh, counts, folds, .. } = part;
        if self.threads.len() <= thread {
            self.threads.resize(thread.saturating_add(1), Known::default());
        }
        let Some(known) = self.threads.get_mut(thread) else { return };
        known.learn(&fresh, &mut self.table);
        add(&mut self.counts, &mut self.folds, self.table.groups(), known.groups(), &counts, folds);
    }

    fn merge_all(&mut self, other: Self) {
        if self.counts.is_empty() {
            *self = Self { threads: Vec::new(), ..other };
            return;
        }
        let mut known = Known::default();
        let none = Lens { keys: vec![0; other.table.keys.len()], pairs: vec![0; other.table.pairs.len()] };
        known.learn(&other.table.since(&none), &mut self.table);
        let groups = self.table.groups();
        add(&mut self.counts, &mut self.folds, groups, known.groups(), &other.counts, other.folds);
    }

    /// The numbers of the keys' values, key by key, of each group.
    fn key_numbers(&self) -> Vec<Vec<u32>> {
        let mut groups: Vec<u32> = (0u32..).take(self.counts.len()).collect();
        let mut keys = Vec::with_capacity(self.table.keys.len());
        for pairs in self.table.pairs.iter().rev() {
            let of = |group: &u32| pairs.all().get(index_of(*group)).copied().unwrap_or_default();
            keys.push(groups.iter().map(|group| of(group).1).collect());
            groups = groups.iter().map(|group| of(group).0).collect();
        }
        if !self.table.keys.is_empty() {
            keys.push(groups);
        }
        keys.reverse();
        keys
    }

    fn result(&self, asked: &Asked) -> Grouped {
        let numbers = self.key_numbers();
        let keys = self.table.keys.iter().zip(&asked.keys).zip(&numbers);
        let columns = keys.map(|((values, (_, spec)), numbers)| values.column(spec, numbers)).collect();
        let values = asked.aggregates.iter().zip(&asked.places).map(|(aggregate, place)| {
            let field = place.and_then(|place| Some((asked.wanted.get(place)?, self.folds.get(place)?)));
            match field {
                Some((field, fold)) if aggregate.function() != AggregateFunction::Count => {
                    fold.values(field, aggregate, &self.counts)
                }
                _ => GroupedValues::counts(aggregate, &self.counts),
            }
        });
        let len = self.counts.len();
        let order = Layout::Unordered;
        Grouped { keys: Cells { len, shape: None, order, columns, selected: None }, values: values.collect() }
    }
}

/// Adds what other groups have, of which `known` are the numbers here.
fn add(
    counts: &mut Vec<u64>,
    folds: &mut [Fold],
    groups: usize,
    known: &[u32],
    more: &[u64],
    other: Vec<Fold>,
) {
    counts.resize(groups, 0);
    for (group, cells) in known.iter().zip(more) {
        counts.get_mut(index_of(*group)).into_iter().for_each(|slot| *slot = slot.saturating_add(*cells));
    }
    for (own, other) in folds.iter_mut().zip(other) {
        own.merge(other, known, groups);
    }
}

/// Runs a function on the selected cells of a field, which have fill values if their fragment does not have the field.
fn look(
    looked: &mut Looked<'_>,
    field: usize,
    spec: &ColumnSpec,
    mut run: impl FnMut(ColumnView<'_>, usize, Option<&[u32]>),
) -> Result<()> {
    if looked.look(field, &mut run)?.is_some() {
        return Ok(());
    }
    let cells = looked.len();
    let validity = spec.nullable.then(|| vec![spec.fill_validity; cells]);
    let (var, offsets) = (spec.cell_size.is_none(), [0, to_u64(spec.fill.len())]);
    let codes = var.then(|| vec![0u32; cells]);
    let values = Buffer::from(if var { spec.fill.clone() } else { spec.fill.repeat(cells) }.as_slice());
    let view = ColumnView {
        values: values.as_slice(),
        offsets: var.then_some(&offsets),
        codes: codes.as_deref(),
        validity: validity.as_deref(),
        present: None,
    };
    run(view, cells, None);
    Ok(())
}
