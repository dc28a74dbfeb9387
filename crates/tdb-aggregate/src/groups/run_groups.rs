//! The groups of one run of tiles, added up by one thread.

use tdb_codec::{Buffer, to_u64};
use tdb_predicate::ColumnView;
use tdb_scan::sparse::decode_cache::DecodeCache;
use tdb_scan::sparse::selection::TileSelection;

use super::GroupQuery;
use super::accumulators::{Accumulators, each_group};
use super::group_ids::{GroupIds, IdCounts, NewIds};
use super::key_values::{NO_ID, next_id};
use crate::buffers::index_of;
use crate::condition::Sources;
use crate::decode_buffers::PooledBuffers;
use crate::selected_columns::SelectedColumns;
use crate::spec::ColumnSpec;
use crate::{OrInternal, Result};

/// The state of a thread: its own group ids, which it keeps from run to run.
pub(super) struct ThreadState {
    buffers: PooledBuffers,
    thread: usize,
    pub(super) ids: GroupIds,
    /// The id in the present run of each group of the thread, where the run has its own ids.
    run_ids: Vec<u32>,
}

impl ThreadState {
    pub(super) fn new(query: &GroupQuery, thread: usize) -> Self {
        Self { buffers: PooledBuffers::default(), thread, ids: GroupIds::new(query), run_ids: Vec::new() }
    }
}

/// The groups of a run of tiles, by the ids of its thread.
pub(super) struct RunGroups {
    pub(super) thread: usize,
    /// How many ids the thread had before the run.
    before: IdCounts,
    /// The ids that the thread has assigned since then.
    pub(super) new_ids: NewIds,
    /// If the thread has many groups: the thread's id of each group of the run, whose place in this
    /// list is its id in the run. Lists of all groups of the thread would take more time and memory
    /// for each run than its cells do.
    pub(super) thread_ids: Option<Vec<u32>>,
    /// The number of cells of each group.
    pub(super) counts: Vec<u64>,
    pub(super) accumulators: Vec<Accumulators>,
}

impl RunGroups {
    pub(super) fn new(query: &GroupQuery, state: &ThreadState) -> Self {
        Self {
            thread: state.thread,
            before: state.ids.counts(),
            new_ids: NewIds { keys: Vec::new(), pairs: Vec::new() },
            thread_ids: (state.ids.groups() > query.thresholds.max_run_cells).then(Vec::new),
            counts: Vec::new(),
            accumulators: query.accumulators(),
        }
    }

    /// Adds the selected cells of a tile.
    pub(super) fn add(
        &mut self,
        query: &GroupQuery,
        sources: &Sources<'_>,
        selection: &TileSelection,
        cache: &DecodeCache,
        ThreadState { buffers, ids, run_ids, .. }: &mut ThreadState,
    ) -> Result<()> {
        if selection.count() == 0 {
            return Ok(());
        }
        let mut columns = SelectedColumns::new(sources, selection, cache, buffers)?;
        let (mut groups, mut key_ids) = (vec![0u32; selection.count()], Vec::new());
        let mut left_ids = 1usize;
        for (at, (key, values)) in query.keys.iter().zip(&mut ids.keys).enumerate() {
            with_column(&mut columns, key.field, &key.spec, |view, cells, chosen| {
                values.assign_ids(view, cells, chosen, &mut key_ids)
            })?;
            left_ids = match at.checked_sub(1) {
                None => {
                    core::mem::swap(&mut groups, &mut key_ids);
                    values.len()
                }
                Some(level) => {
                    let pairs = ids.pairs.get_mut(level).or_internal("a key has no pairs")?;
                    pairs.replace_ids(&mut groups, &key_ids, (left_ids, values.len()))?;
                    pairs.len()
                }
            };
        }
        let count = match &mut self.thread_ids {
            None => ids.groups(),
            Some(thread_ids) => {
                run_ids.resize(ids.groups(), NO_ID);
                use_run_ids(&mut groups, run_ids, thread_ids)?;
                thread_ids.len()
            }
        };
        self.counts.resize(count, 0);
        each_group(&mut self.counts, &groups, core::iter::repeat(()), |cells: u64, ()| {
            cells.wrapping_add(1)
        })?;
        for (at, (field, accumulators)) in query.wanted.iter().zip(&mut self.accumulators).enumerate() {
            accumulators.grow(count);
            with_column(&mut columns, at, &field.spec, |view, cells, chosen| {
                accumulators.add(field, view, (cells, chosen), (&groups, count))
            })?;
        }
        Ok(())
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        let counts = self.counts.capacity().saturating_mul(8);
        self.accumulators.iter().map(Accumulators::held).fold(counts, usize::saturating_add)
    }

    /// Takes the ids that the thread has assigned since the run began.
    pub(super) fn end(mut self, state: &mut ThreadState) -> Result<Self> {
        for group in self.thread_ids.iter().flatten() {
            let slot = state.run_ids.get_mut(index_of(*group));
            *slot.or_internal("a group has no number in its part")? = NO_ID;
        }
        self.new_ids = state.ids.since(&self.before)?;
        Ok(self)
    }
}

/// Replaces the thread's ids of groups by those of the run. `run_ids` has the latter by the former,
/// and `thread_ids` the former by the latter; groups that are new to the run are added to both.
fn use_run_ids(groups: &mut [u32], run_ids: &mut [u32], thread_ids: &mut Vec<u32>) -> Result<()> {
    for group in groups {
        let id = run_ids.get_mut(index_of(*group)).or_internal("a group has no number in its part")?;
        if *id == NO_ID {
            // There are no more of them than ids of the thread, which were checked.
            *id = next_id(thread_ids.len());
            thread_ids.push(*group);
        }
        *group = *id;
    }
    Ok(())
}

/// Runs a function on the selected cells of a field: a column, its number of cells, and the numbers
/// of the selected ones (`None` for all). They are fill values if their fragment does not have the
/// field.
pub(super) fn with_column(
    columns: &mut SelectedColumns<'_>,
    field: usize,
    spec: &ColumnSpec,
    mut run: impl FnMut(ColumnView<'_>, usize, Option<&[u32]>) -> Result<()>,
) -> Result<()> {
    if let Some(result) = columns.with(field, &mut run)? {
        return result;
    }
    let cells = columns.len();
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
