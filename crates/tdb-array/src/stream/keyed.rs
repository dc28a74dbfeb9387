//! What is taken by the keys of its cells (`keys.rs`): noting them, and a window as a part.

use std::sync::Arc;

use tdb_codec::{to_u64, to_usize};

use super::boxes::Narrowed;
use super::cost::CellCost;
use super::keys::{KeyOrder, Stretches};
use super::plan::{Part, What};
use super::runs::{Limit, Runs};
use super::share::{Room, Share};
use crate::Result;
use crate::query::Plan;
use crate::sparse::filter::Filter;
use crate::sparse::select::select;

/// Bytes of a stretch, about.
const STRETCH: u64 = 400;
/// Most stretches that a tile's cells are noted in.
pub(super) const MOST_STRETCHES: u64 = 16;

/// Notes the keys of all cells of a query, in an eighth of the room.
pub(super) fn note(plan: &Plan<'_>, cost: &CellCost, order: KeyOrder, room: u64) -> Result<Stretches> {
    let most = (room / 8).checked_div(notes(plan)).unwrap_or(1).clamp(1, MOST_STRETCHES);
    let most = to_usize(most).unwrap_or(1);
    let mut stretches = Stretches::new(order);
    let mut runs = Runs::default();
    let target = room.saturating_mul(3) / 4;
    let limit = Limit { cells: target, all: target };
    while let Some(run) = runs.next(plan, cost, limit, 0)? {
        let mut part = plan.clone();
        part.share = Share { tiles: Some(Arc::new(run.tiles())), ..Share::default() };
        for selection in select(&part, true, Filter::All)? {
            let cells = to_u64(selection.len());
            let whole = run.values(selection.fragment, selection.tile);
            let values =
                whole.saturating_mul(cells).checked_div(to_u64(selection.tile_cells)).unwrap_or(whole);
            let bytes = cells.saturating_mul(cost.per_cell()).saturating_add(values);
            stretches.add(&selection, most, bytes);
        }
        runs.forget(plan, run.tiles().keys().copied());
    }
    stretches.sort();
    Ok(stretches)
}

/// Bytes of the notes where every tile of all fragments is one stretch; at least those of one.
pub(super) fn notes(plan: &Plan<'_>) -> u64 {
    let counts = plan.array.fragments.iter().map(|fragment| fragment.footer().sparse_tile_num);
    counts.fold(1, u64::saturating_add).saturating_mul(STRETCH)
}

/// The next window, whose cells cost no more than `target`, if there is one as short.
pub(super) fn next_window(
    stretches: &Stretches,
    cost: &CellCost,
    room: Room,
    target: u64,
    narrowed: &Arc<Vec<Narrowed>>,
) -> Option<Part> {
    let taken = stretches.next(target)?;
    let tiles = Arc::new(taken.tiles.clone());
    let touched: Vec<usize> = tiles.keys().copied().collect();
    let count: usize = tiles.values().map(Vec::len).sum();
    let window = Some(Arc::new(taken.window.clone()));
    let share = Share { tiles: Some(tiles), window, ..Share::default() };
    // Too much of it comes to light when the part is read.
    let room = Arc::new(room);
    let counted = Share { room: Some(room.clone()), ..Share::default() };
    let _ = counted.charge(super::whole(cost.per_fragment()).saturating_mul(to_u64(touched.len())));
    let (narrowed, tiles) = (narrowed.clone(), to_u64(count) as f64);
    Some(Part { what: What::Window(Box::new(taken), share), narrowed, room, tiles, touched })
}
