//! What a run of tiles adds to the groups.

use tdb_codec::{Buffer, to_u64};

use super::super::sparse::Looked;
use super::fold::{Fold, each_group};
use super::keys::NONE;
use super::table::{Fresh, Lens, Table};
use super::{Asked, RUN};
use crate::buffers::index_of;
use crate::condition::{ColumnView, Sources};
use crate::sparse::keep::Keep;
use crate::sparse::select::TileSelection;
use crate::spec::ColumnSpec;
use crate::worker::Worker;
use crate::{OrInternal, Result};

/// With more groups than this, parts number their own: where extremes of strings keep one table,
/// and where a thread is ahead of the one that finds out that groups are many.
const MANY: usize = RUN;

/// What a thread has: its own numbers of groups, which it keeps from run to run.
pub(super) struct Scratch {
    worker: Worker,
    thread: usize,
    pub(super) table: Table,
    /// The numbers of groups in the present part, where it has its own.
    own: Vec<u32>,
}

impl Scratch {
    pub(super) fn new(asked: &Asked, thread: usize) -> Self {
        Self { worker: Worker::default(), thread, table: Table::new(asked), own: Vec::new() }
    }
}

/// What a run of tiles adds to the groups, by the numbers of its thread.
pub(super) struct Part {
    pub(super) thread: usize,
    /// How much the thread's table had before.
    before: Lens,
    pub(super) fresh: Fresh,
    /// If the thread has many groups: those that the part has, each of which has its place here as
    /// its number. Lists of all would take more time and memory for each part than its cells do.
    pub(super) some: Option<Vec<u32>>,
    /// The number of cells of each group.
    pub(super) counts: Vec<u64>,
    pub(super) folds: Vec<Fold>,
}

impl Part {
    pub(super) fn new(asked: &Asked, scratch: &Scratch) -> Self {
        let folds = asked.folds();
        let fresh = Fresh { keys: Vec::new(), pairs: Vec::new() };
        let (before, counts) = (scratch.table.lens(), Vec::new());
        let some = (scratch.table.groups() > MANY).then(Vec::new);
        Self { thread: scratch.thread, before, fresh, some, counts, folds }
    }

    /// Adds the cells of a selection.
    pub(super) fn add(
        &mut self,
        asked: &Asked,
        sources: &Sources<'_>,
        selection: &TileSelection,
        keep: &Keep<'_>,
        Scratch { worker, table, own, .. }: &mut Scratch,
    ) -> Result<()> {
        if selection.len() == 0 {
            return Ok(());
        }
        let mut looked = Looked::new(sources, selection, keep, worker)?;
        let (mut groups, mut numbers) = (vec![0u32; selection.len()], Vec::new());
        let mut before = 1usize;
        for (at, (key, values)) in asked.keys.iter().zip(&mut table.keys).enumerate() {
            look(&mut looked, key.field, &key.spec, |view, cells, chosen| {
                values.number(view, cells, chosen, &mut numbers)
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
        let count = match &mut self.some {
            None => table.groups(),
            Some(some) => {
                own.resize(table.groups(), NONE);
                renumber(&mut groups, own, some)?;
                some.len()
            }
        };
        self.counts.resize(count, 0);
        each_group(&mut self.counts, &groups, core::iter::repeat(()), |cells: u64, ()| {
            cells.wrapping_add(1)
        })?;
        for (at, (field, fold)) in asked.wanted.iter().zip(&mut self.folds).enumerate() {
            fold.grow(count);
            look(&mut looked, at, &field.spec, |view, cells, chosen| {
                fold.add(field, view, (cells, chosen), (&groups, count))
            })?;
        }
        Ok(())
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        let counts = self.counts.capacity().saturating_mul(8);
        self.folds.iter().map(Fold::held).fold(counts, usize::saturating_add)
    }

    /// Takes what the thread's table has had since the part began.
    pub(super) fn end(mut self, scratch: &mut Scratch) -> Result<Self> {
        for group in self.some.iter().flatten() {
            *scratch.own.get_mut(index_of(*group)).or_internal("a group has no number in its part")? = NONE;
        }
        self.fresh = scratch.table.since(&self.before)?;
        Ok(self)
    }
}

/// Replaces the numbers of groups by their places in `some`, to which new ones are added. `own` has
/// the place of each number.
fn renumber(groups: &mut [u32], own: &mut [u32], some: &mut Vec<u32>) -> Result<()> {
    for group in groups {
        let place = own.get_mut(index_of(*group)).or_internal("a group has no number in its part")?;
        if *place == NONE {
            *place = u32::try_from(some.len()).unwrap_or(NONE);
            some.push(*group);
        }
        *group = *place;
    }
    Ok(())
}

/// Runs a function on the selected cells of a field, which have fill values if their fragment does
/// not have the field.
pub(super) fn look(
    looked: &mut Looked<'_>,
    field: usize,
    spec: &ColumnSpec,
    mut run: impl FnMut(ColumnView<'_>, usize, Option<&[u32]>) -> Result<()>,
) -> Result<()> {
    if let Some(result) = looked.look(field, &mut run)? {
        return result;
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
    run(view, cells, None)
}
