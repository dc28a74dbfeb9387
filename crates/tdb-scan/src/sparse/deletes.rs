//! Applies delete conditions to the selected cells.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use tdb_fragment::{Section, parse_names};
use tdb_predicate::Program;
use tdb_schema::ArraySchema;

use super::decode_cache::DecodeCache;
use super::numbered;
use super::selected::Selected;
use super::selection::TileSelection;
use crate::buffers::{index_of, split_exactly, zeroed};
use crate::condition::{Sources, fragment_of};
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::deletes::Delete;
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::stats::Stage;
use crate::storage::ReadSet;
use crate::tile_id::TileId;
use crate::tiles::FieldTiles;
use crate::{Error, OrInternal, Result, Snapshot, parallel};

/// The order of those cells that satisfy the condition and that no delete removed, as a stage of
/// the read; `None` if it is the order in which all `cells` are selected.
pub(super) fn without_deleted(
    plan: &Plan,
    found: &Selected,
    cells: usize,
    order: Arc<Option<Vec<u32>>>,
    cache: &DecodeCache,
) -> Result<Arc<Option<Vec<u32>>>> {
    let changes = |order: &Vec<u32>| {
        order.len() != cells || order.iter().zip(0u32..).any(|(cell, place)| *cell != place)
    };
    cache.stage(plan, || {
        let _clock = plan.array.context().counters.time(Stage::Order);
        let order = match surviving(plan, &found.selections, found.matches.as_deref(), cache)? {
            Some(keep) => {
                if keep.len() != cells {
                    return Err(Error::internal("a selected cell has no flag"));
                }
                let mut all = match Arc::unwrap_or_clone(order) {
                    Some(order) => order,
                    None => (0..numbered(cells)?).collect(),
                };
                all.retain(|cell| keep.get(index_of(*cell)) != Some(&0));
                Some(all)
            }
            None => Arc::unwrap_or_clone(order),
        };
        Ok(order.filter(changes))
    })
}

/// For every selected cell whether it survives all deletes: 0 if one removed it; `None` if there
/// are no deletes to apply. Cells that are 0 in `wanted` stay 0. Decoded cells are kept for
/// `collected`.
///
/// Deletes act on the newest version of a cell only, so this is called after duplicates were
/// dropped.
pub fn surviving<'w>(
    plan: &Plan,
    selections: &[TileSelection],
    wanted: Option<&'w [u8]>,
    collected: &DecodeCache,
) -> Result<Option<Cow<'w, [u8]>>> {
    let array = &plan.array;
    if !applies(plan) {
        return Ok(wanted.map(Cow::Borrowed));
    }
    let context = array.context();
    let program = stored_program(array)?;
    let sources = Sources::new(context, &program, array.fragments());
    let looks = DeleteFields::new(array, &sources)?;
    looks.fetch(plan, selections)?;
    let cells = selections.iter().map(TileSelection::count);
    let mut keep = wanted.map_or_else(|| vec![1; cells.clone().sum()], <[u8]>::to_vec);
    let slots = split_exactly(&mut keep, cells)?;
    let jobs = selections.iter().zip(slots).collect();
    parallel::run(
        context.threads,
        jobs,
        PooledBuffers::default,
        |(selection, slots): (_, &mut [u8]), buffers| {
            let selection: &TileSelection = selection;
            let fragment = plan.fragment(selection.id.fragment)?;
            if fragment.footer().has_delete_metadata {
                drop_marked(plan, fragment, selection, slots, buffers)?;
            }
            let deletes = looks.in_force(selection.id.fragment)?;
            apply(&sources, fragment, selection, deletes, slots, collected, buffers)
        },
    )?;
    Ok(Some(Cow::Owned(keep)))
}

/// The fields that the deletes of an array look at.
pub(crate) struct DeleteFields<'a> {
    array: &'a Snapshot,
    /// Their conditions, a root each.
    sources: &'a Sources<'a>,
    /// For each fragment, the deletes that it already holds the result of.
    processed: Vec<Vec<String>>,
}

impl<'a> DeleteFields<'a> {
    pub(crate) fn new(array: &'a Snapshot, sources: &'a Sources<'a>) -> Result<Self> {
        let fragments = array.fragments().iter();
        let processed = fragments.map(|fragment| processed_conditions(array.context(), fragment));
        Ok(Self { array, sources, processed: processed.collect::<Result<_>>()? })
    }

    /// The deletes that may be about cells of a fragment, and their numbers.
    pub(crate) fn in_force(&self, fragment: usize) -> Result<impl Iterator<Item = (usize, &'a Delete)>> {
        let processed =
            self.processed.get(fragment).or_internal("a fragment was not asked for its deletes")?;
        let (written, _) = fragment_of(self.array.fragments(), fragment)?.timestamps();
        let deletes = self.array.deletes().iter().enumerate();
        Ok(deletes.filter(move |(_, delete)| delete.time >= written && !processed.contains(&delete.path)))
    }

    /// The fields of the conditions that must be looked at to judge the cells of a tile.
    pub(crate) fn fields(&self, id: TileId, cells: usize) -> Result<BTreeSet<usize>> {
        let mut fields = BTreeSet::new();
        for (root, _) in self.in_force(id.fragment)? {
            fields.extend(self.sources.undecided(root, id, cells)?);
        }
        Ok(fields)
    }

    /// Fetches what they look at in some tiles, if the storage wants to know it beforehand.
    fn fetch(&self, plan: &Plan, selections: &[TileSelection]) -> Result<()> {
        let context = plan.array.context();
        let Some(prefetched) = &context.prefetched else { return Ok(()) };
        let mut read_set = ReadSet::default();
        for own in selections.chunk_by(|a, b| a.id.fragment == b.id.fragment) {
            let Some(index) = own.first().map(|selection| selection.id.fragment) else { continue };
            let fragment = plan.fragment(index)?;
            let times = FieldTiles::delete_timestamps(context, fragment)?;
            for selection in own {
                if let Some(times) = &times {
                    times.need(context, selection.id.tile, &mut read_set.ranges)?;
                }
                for field in self.fields(selection.id, selection.tile_cells)? {
                    self.sources.need(field, selection.id, &mut read_set)?;
                }
            }
        }
        plan.fetch_if_it_fits(prefetched, &read_set).map(drop)
    }
}

/// The conditions of an array's deletes, one root each.
pub fn stored_program(array: &Snapshot) -> Result<Program> {
    let conditions = array.deletes().iter().map(|delete| &delete.condition);
    let mut others: Vec<&ArraySchema> = Vec::new();
    for schema in array.fragments().iter().map(|fragment| fragment.schema()) {
        let is_known = |known: &&ArraySchema| core::ptr::eq(*known, schema);
        if !core::ptr::eq(array.schema(), schema) && !others.iter().any(is_known) {
            others.push(schema);
        }
    }
    Program::of_stored(conditions, array.schema(), &others, |index, name| {
        let what = format!(
            "a delete condition on \"{name}\", which neither the array nor its fragments have, is not supported"
        );
        let path = array.deletes().get(index).map_or("", |delete| &delete.path);
        Error::unsupported(array.context().describe(path), what)
    })
}

/// Whether an array has deletes, or fragments that contain delete metadata.
pub fn applies(plan: &Plan) -> bool {
    let array = &plan.array;
    let flagged = array.fragments().iter().any(|fragment| fragment.footer().has_delete_metadata);
    flagged || !array.deletes().is_empty()
}

/// The names of the deletes that a fragment with delete metadata already reflects.
pub fn processed_conditions(context: &Context, fragment: &Fragment) -> Result<Vec<String>> {
    if !fragment.footer().has_delete_metadata {
        return Ok(Vec::new());
    }
    let payload = fragment.section(context, Section::ProcessedConditions)?;
    let payload =
        payload.or_internal("a fragment with delete metadata has no list of processed conditions")?;
    parse_names(tdb_codec::Reader::new(&payload), "processed conditions")
        .map_err(|error| Error::corrupt(context.describe(fragment.metadata_key()), error))
}

/// Drops the cells that consolidation marked as deleted at or before the end of the window.
fn drop_marked(
    plan: &Plan,
    fragment: &Fragment,
    selection: &TileSelection,
    keep: &mut [u8],
    buffers: &mut PooledBuffers,
) -> Result<()> {
    let context = plan.array.context();
    let tiles = FieldTiles::delete_timestamps(context, fragment)?;
    let tiles = tiles.or_internal("a fragment with delete metadata has no times of deletes")?;
    let mut times = zeroed(selection.tile_cells.saturating_mul(8))?;
    tiles.decode_fixed(context, selection.id.tile, times.as_mut_slice(), |_| true, buffers)?;
    let times: &[u64] = times.values().or_internal("times of deletes are no whole values")?;
    let end = plan.array.window().end;
    // The largest timestamp means "not deleted"; a window without an end must not count it as a
    // delete.
    let gone = |time: u64| time <= end && time != u64::MAX;
    for (at, slot) in keep.iter_mut().enumerate() {
        let cell =
            selection.cells.as_ref().map_or(Some(at), |cells| cells.get(at).map(|cell| index_of(*cell)));
        let time = cell.and_then(|cell| times.get(cell)).or_internal("a cell has no time of its delete")?;
        *slot &= u8::from(!gone(*time));
    }
    Ok(())
}

/// A selection names a cell that its tile does not have.
const NOT_IN_TILE: &str = "a selected cell is not in its tile";

/// Clears `keep` for the cells of a tile that deletes removed.
fn apply<'d>(
    sources: &Sources<'_>,
    fragment: &Fragment,
    selection: &TileSelection,
    deletes: impl Iterator<Item = (usize, &'d Delete)>,
    keep: &mut [u8],
    collected: &DecodeCache,
    buffers: &mut PooledBuffers,
) -> Result<()> {
    let mut deletes = deletes.peekable();
    if deletes.peek().is_none() || !keep.contains(&1) {
        return Ok(());
    }
    let (_, last) = fragment.timestamps();
    // Columns are those of whole tiles, so cells are numbered as in the tile here.
    let spread = |flags: &[u8]| -> Result<Vec<u8>> {
        let Some(cells) = &selection.cells else { return Ok(flags.to_vec()) };
        let mut mask = vec![0; selection.tile_cells];
        for (cell, flag) in cells.iter().zip(flags) {
            *mask.get_mut(index_of(*cell)).or_internal(NOT_IN_TILE)? = *flag;
        }
        Ok(mask)
    };
    let base = spread(keep)?;
    let mut columns = sources.tile(selection.id, selection.tile_cells, buffers)?;
    let mut held = base.clone();
    for (index, delete) in deletes {
        // Cells written after the delete are not affected; in a fragment without cell timestamps
        // all cells are as old as the fragment.
        let times = selection.timestamps.as_ref().filter(|_| delete.time <= last);
        let safe = times.map(|times| {
            spread(&times.iter().map(|time| u8::from(*time > delete.time)).collect::<Vec<u8>>())
        });
        let safe = safe.transpose()?;
        let mut asked = held.clone();
        if let Some(safe) = &safe {
            asked.iter_mut().zip(safe).for_each(|(asked, safe)| *asked &= 1 ^ safe);
        }
        // The file contains the negation of the condition for deletion.
        sources.program.apply_within(index, &mut columns, &base, &mut asked)?;
        match &safe {
            Some(safe) => {
                held.iter_mut().zip(&asked).zip(safe).for_each(|((held, asked), safe)| *held &= asked | safe);
            }
            None => held = asked,
        }
    }
    for (field, decoded) in sources.program.fields.iter().zip(columns.into_decoded()) {
        let Some(decoded) = decoded else { continue };
        // Fields that the condition looked at are kept already, or are not in the result.
        if !field.is_current || collected.has(selection, field.kind) {
            decoded.give_back(buffers);
        } else {
            let tile = selection.id;
            collected.put_selected(tile, selection.cells.as_deref(), (field.kind, decoded), buffers)?;
        }
    }
    match &selection.cells {
        None => keep.copy_from_slice(&held),
        Some(cells) => {
            for (slot, cell) in keep.iter_mut().zip(cells) {
                *slot &= *held.get(index_of(*cell)).or_internal(NOT_IN_TILE)?;
            }
        }
    }
    Ok(())
}
