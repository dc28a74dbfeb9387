//! Applies delete conditions to the selected cells.

use tdb_fragment::{Section, parse_names};

use super::fetch_tiles;
use super::keep::Keep;
use super::select::TileSelection;
use crate::buffers::{index_of, split_lengths, zeroed};
use crate::condition::{Program, Sources};
use crate::context::Context;
use crate::deletes::Delete;
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::tiles::FieldTiles;
use crate::worker::Worker;
use crate::{Error, Result, Snapshot, parallel};

/// For every selected cell whether it survives all deletes: 0 if one removed it; `None` if there are no deletes to
/// apply. Cells that are 0 in `wanted` stay 0. Decoded cells are kept for `collected`.
///
/// Deletes act on the newest version of a cell only, so this is called after duplicates were dropped.
pub(crate) fn surviving(
    plan: &Plan,
    selections: &[TileSelection],
    wanted: Option<Vec<u8>>,
    collected: &Keep<'_>,
) -> Result<Option<Vec<u8>>> {
    let array = &plan.array;
    if !applies(plan) {
        return Ok(wanted);
    }
    let context = array.context();
    let program = stored_program(array)?;
    let sources = Sources::new(context, &program, array.fragments());
    let mut processed = Vec::with_capacity(array.fragments().len());
    for fragment in array.fragments() {
        processed.push(processed_conditions(array.context(), fragment)?);
    }
    need(plan, selections, &program, &processed)?;
    let cells = selections.iter().map(TileSelection::len);
    let mut keep = wanted.unwrap_or_else(|| vec![1; cells.clone().sum()]);
    let slots = split_lengths(&mut keep, cells);
    let jobs = selections.iter().zip(slots).collect();
    parallel::run(context.threads, jobs, Worker::default, |(selection, slots): (_, &mut [u8]), worker| {
        let selection: &TileSelection = selection;
        let Some(fragment) = array.fragments().get(selection.fragment) else { return Ok(()) };
        if fragment.footer().has_delete_metadata {
            drop_marked(plan, fragment, selection, slots, worker)?;
        }
        let processed = processed.get(selection.fragment).map_or(&[][..], Vec::as_slice);
        let deletes = array.deletes().iter().enumerate();
        let deletes = deletes.filter(|(_, delete)| in_force(delete, fragment, processed));
        apply(&sources, fragment, selection, deletes, slots, collected, worker)
    })?;
    Ok(Some(keep))
}

/// Whether a delete may affect cells of a fragment that already reflects the deletes in `processed`.
fn in_force(delete: &Delete, fragment: &Fragment, processed: &[String]) -> bool {
    delete.time >= fragment.timestamps().0 && !processed.contains(&delete.path)
}

/// Fetches what deletes look at, if the storage wants to know it beforehand.
fn need(
    plan: &Plan,
    selections: &[TileSelection],
    program: &Program,
    processed: &[Vec<String>],
) -> Result<()> {
    let context = plan.array.context();
    let open = |index: usize, fragment: &Fragment| {
        let mut fields = Vec::new();
        fields.extend(FieldTiles::delete_timestamps(context, fragment)?.map(|tiles| (None, tiles)));
        let processed = processed.get(index).map_or(&[][..], Vec::as_slice);
        if plan.array.deletes().iter().any(|delete| in_force(delete, fragment, processed)) {
            let own = program.fields.iter().map(|field| field.spec.own_field(fragment.schema(), field.kind));
            for own in own.flatten() {
                fields.push((None, FieldTiles::open(context, fragment, own)?));
            }
        }
        Ok(fields)
    };
    fetch_tiles(plan, selections, open, |_, _| false)
}

/// The conditions of an array's deletes, one root each.
pub fn stored_program(array: &Snapshot) -> Result<Program> {
    let conditions = array.deletes().iter().map(|delete| &delete.condition);
    Program::of_stored(conditions, array.schema(), |index, name| {
        let what =
            format!("a delete condition on \"{name}\", which the schema does not have, is not supported");
        let path = array.deletes().get(index).map_or("", |delete| &delete.path);
        Error::unsupported(array.context().describe(path), what)
    })
}

/// Whether an array has deletes, or fragments that contain delete metadata.
pub(crate) fn applies(plan: &Plan) -> bool {
    let array = &plan.array;
    let flagged = array.fragments().iter().any(|fragment| fragment.footer().has_delete_metadata);
    flagged || !array.deletes().is_empty()
}

/// The names of the deletes that a fragment with delete metadata already reflects.
pub fn processed_conditions(context: &Context, fragment: &Fragment) -> Result<Vec<String>> {
    if !fragment.footer().has_delete_metadata {
        return Ok(Vec::new());
    }
    let payload = fragment.section(context, Section::ProcessedConditions)?.unwrap_or_default();
    parse_names(tdb_codec::Reader::new(&payload), "processed conditions")
        .map_err(|error| Error::corrupt(context.describe(fragment.metadata_key()), error))
}

/// Drops the cells that consolidation marked as deleted at or before the end of the window.
fn drop_marked(
    plan: &Plan,
    fragment: &Fragment,
    selection: &TileSelection,
    keep: &mut [u8],
    worker: &mut Worker,
) -> Result<()> {
    let context = plan.array.context();
    let Some(tiles) = FieldTiles::delete_timestamps(context, fragment)? else { return Ok(()) };
    let mut times = zeroed(selection.tile_cells.saturating_mul(8))?;
    tiles.decode_fixed(context, selection.tile, times.as_mut_slice(), |_| true, worker)?;
    let times: &[u64] = times.values().unwrap_or_default();
    let end = plan.array.window().end;
    // The largest timestamp means "not deleted"; a window without an end must not count it as a delete.
    let gone = |time: u64| time <= end && time != u64::MAX;
    for (at, slot) in keep.iter_mut().enumerate() {
        let cell =
            selection.cells.as_ref().map_or(Some(at), |cells| cells.get(at).map(|cell| index_of(*cell)));
        *slot &= u8::from(!cell.and_then(|cell| times.get(cell)).is_some_and(|time| gone(*time)));
    }
    Ok(())
}

/// Clears `keep` for the cells of a tile that deletes removed.
fn apply<'d>(
    sources: &Sources<'_>,
    fragment: &Fragment,
    selection: &TileSelection,
    deletes: impl Iterator<Item = (usize, &'d Delete)>,
    keep: &mut [u8],
    collected: &Keep<'_>,
    worker: &mut Worker,
) -> Result<()> {
    let mut deletes = deletes.peekable();
    if deletes.peek().is_none() || !keep.contains(&1) {
        return Ok(());
    }
    let (_, last) = fragment.timestamps();
    // Columns are those of whole tiles, so cells are numbered as in the tile here.
    let spread = |flags: &[u8]| -> Vec<u8> {
        let Some(cells) = &selection.cells else { return flags.to_vec() };
        let mut mask = vec![0; selection.tile_cells];
        for (cell, flag) in cells.iter().zip(flags) {
            if let Some(slot) = mask.get_mut(index_of(*cell)) {
                *slot = *flag;
            }
        }
        mask
    };
    let base = spread(keep);
    let mut columns = sources.tile(selection.fragment, selection.tile, selection.tile_cells, worker)?;
    let mut held = base.clone();
    for (index, delete) in deletes {
        // Cells written after the delete are not affected; in a fragment without cell timestamps all cells are as old
        // as the fragment.
        let times = selection.timestamps.as_ref().filter(|_| delete.time <= last);
        let safe = times.map(|times| {
            spread(&times.iter().map(|time| u8::from(*time > delete.time)).collect::<Vec<u8>>())
        });
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
        // What the condition looked at was already kept.
        if collected.has(selection, field.kind) {
            decoded.give_back(worker);
        } else {
            let tile = (selection.fragment, selection.tile);
            collected.put_selected(tile, selection.cells.as_deref(), (field.kind, decoded), worker);
        }
    }
    match &selection.cells {
        None => keep.copy_from_slice(&held),
        Some(cells) => {
            for (slot, cell) in keep.iter_mut().zip(cells) {
                *slot &= held.get(index_of(*cell)).copied().unwrap_or(0);
            }
        }
    }
    Ok(())
}
