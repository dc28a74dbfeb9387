//! The cells that were selected of all tiles, and which of them match the condition.

use std::collections::HashMap;

use tdb_predicate::picked;

use super::cached_column::CachedColumn;
use super::decode_cache::{CachedPart, DecodeCache};
use super::selection::TileSelection;
use crate::buffers::index_of;
use crate::condition::Decoded;
use crate::tile_id::TileId;
use crate::{OrInternal, Result};

/// A mask has fewer flags than there are selected cells.
const NO_FLAG: &str = "a selected cell has no flag";

/// Cells of a query that may be in its result, before duplicates are dropped and deletes are
/// applied.
#[derive(Clone)]
pub struct Selected {
    /// The selected cells of each tile that has any.
    pub selections: Vec<TileSelection>,
    /// If cells that fail the condition had to be taken: a byte per cell, 0 for these.
    pub matches: Option<Vec<u8>>,
}

impl Selected {
    /// Cells that may have other versions, among which are the `matching` ones. Columns that were
    /// kept of these are extended to all.
    pub(super) fn of_versions(
        mut selections: Vec<TileSelection>,
        matching: &[TileSelection],
        cache: &DecodeCache,
    ) -> Result<Self> {
        let matches = matches(&selections, matching)?;
        let mut flags = matches.as_slice();
        for selection in &mut selections {
            let (own, rest) = flags.split_at_checked(selection.count()).or_internal(NO_FLAG)?;
            selection.only_replaces = !own.contains(&1);
            flags = rest;
        }
        cache.widen(&selections, &matches)?;
        Ok(Self { selections, matches: Some(matches) })
    }
}

/// For every cell of `selections` whether it is also in `matching`.
fn matches(selections: &[TileSelection], matching: &[TileSelection]) -> Result<Vec<u8>> {
    let by_tile: HashMap<TileId, &TileSelection> =
        matching.iter().map(|selection| (selection.id, selection)).collect();
    let mut flags = vec![0u8; selections.iter().map(TileSelection::count).sum()];
    let mut rest = flags.as_mut_slice();
    for selection in selections {
        let (own, others) = rest.split_at_mut_checked(selection.count()).or_internal(NO_FLAG)?;
        rest = others;
        match by_tile.get(&selection.id).copied() {
            None => {}
            Some(TileSelection { cells: None, .. }) => own.fill(1),
            Some(TileSelection { cells: Some(matching), .. }) => match &selection.cells {
                None => {
                    for cell in matching {
                        *own.get_mut(index_of(*cell)).or_internal(NO_FLAG)? = 1;
                    }
                }
                // Both ascend.
                Some(cells) => {
                    let mut matching = matching.iter().peekable();
                    for (flag, cell) in own.iter_mut().zip(cells) {
                        while matching.next_if(|own| *own < cell).is_some() {}
                        *flag = u8::from(matching.next_if_eq(&cell).is_some());
                    }
                }
            },
        }
    }
    Ok(flags)
}

impl DecodeCache {
    /// Extends columns to selections that take more cells of the same tiles than when they were
    /// kept. `matches` has a byte per cell of all selections; it is 0 for the added cells, whose
    /// values nobody looks at.
    fn widen(&self, selections: &[TileSelection], matches: &[u8]) -> Result<()> {
        let mut rest = matches;
        for selection in selections {
            let (flags, later) =
                rest.split_at_checked(selection.count()).or_internal("a cell has no flag")?;
            rest = later;
            for field in &self.fields {
                let key = (selection.id, CachedPart::Selected(*field));
                let Some(column) = self.take(&key) else { continue };
                let wide = if column.cells == flags.len() { column } else { self.widened(column, flags)? };
                self.put(key, wide.held(), || Ok(wide))?;
            }
        }
        Ok(())
    }

    /// A column with its cells at the places of the ones in `flags`; counts what is copied.
    fn widened(&self, column: CachedColumn, flags: &[u8]) -> Result<CachedColumn> {
        // Values of variable length stay where they are.
        let values = if column.offsets.is_some() { column.values.len() } else { 0 };
        self.counters.copied(column.content().saturating_sub(values));
        column.widened(flags)
    }

    /// Reduces the columns of a selection to the cells that stay: `numbers` counts among the
    /// selected cells.
    fn narrow(&self, selection: &TileSelection, numbers: &[u32]) -> Result<()> {
        for field in &self.fields {
            let Some(column) = self.take_selected(selection, *field).filter(|_| !numbers.is_empty()) else {
                continue;
            };
            let CachedColumn { cells, values, offsets, validity } = column;
            let decoded = Decoded { cells, values, offsets, validity, ..Decoded::default() };
            let key = (selection.id, CachedPart::Selected(*field));
            self.put(key, decoded.held_by(Some(numbers)), || self.picked(&decoded, numbers))?;
        }
        Ok(())
    }
}

/// Reduces selections, and what was kept of them, to the cells whose `keep` is not 0; selections
/// without cells are dropped.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) if `keep` has no flag of some cell.
pub fn narrow(
    selections: Vec<TileSelection>,
    keep: &[u8],
    cache: &DecodeCache,
) -> Result<Vec<TileSelection>> {
    let mut rest = keep;
    let mut narrowed = Vec::with_capacity(selections.len());
    for mut selection in selections {
        let (flags, later) = rest.split_at_checked(selection.count()).or_internal(NO_FLAG)?;
        rest = later;
        if !flags.contains(&0) {
            narrowed.push(selection);
            continue;
        }
        let numbers: Vec<u32> =
            (0u32..).zip(flags).filter(|(_, keep)| **keep != 0).map(|(at, _)| at).collect();
        cache.narrow(&selection, &numbers)?;
        let cells: Vec<u32> = match &selection.cells {
            Some(cells) => picked(cells, &numbers)?,
            None => numbers,
        };
        // Coordinates, keys and timestamps no longer match the cells.
        selection.coordinates = Vec::new();
        selection.keys = None;
        selection.timestamps = None;
        selection.cells = Some(cells);
        if selection.count() > 0 {
            narrowed.push(selection);
        }
    }
    Ok(narrowed)
}
