//! Columns of strings that stay as they are stored: each string once, and for each cell which one
//! it has.

use tdb_codec::{Buffer, to_u32, to_u64};

use super::selection::TileSelection;
use super::stage::Stage;
use crate::buffers::{index_of, lengths_to_offsets, split_exactly, unfilled};
use crate::decode_buffers::PooledBuffers;
use crate::tiles::FieldTiles;
use crate::{Error, OrInternal, Result, parallel};

/// A tile that stores strings as codes has none for one of its cells.
const NO_CODE: &str = "a cell of a tile has no code of its string";

/// Cells of a tile are decoded as codes if the query wants at least one in this many: otherwise
/// there are more strings than cells.
const FEW: usize = 4;

/// The parts of such a column.
pub(super) struct CodedColumn {
    pub(super) values: Buffer,
    /// The start of each string, and the end of the last one.
    pub(super) offsets: Vec<u64>,
    pub(super) codes: Vec<u32>,
}

/// The strings of a tile: their bytes, and where they begin.
type TileStrings = (Vec<u8>, Vec<u64>);

impl Stage<'_> {
    /// The strings of the selected cells as codes, if all tiles store them so; writes their
    /// validity.
    pub(super) fn coded(
        &self,
        selections: &[TileSelection],
        cells: usize,
        validities: &mut [Option<&mut [u8]>],
    ) -> Result<Option<CodedColumn>> {
        // Without cells, nothing says how a field stores its strings.
        if selections.is_empty() || !selections.iter().all(|selection| self.may_be_coded(selection)) {
            return Ok(None);
        }
        let mut codes = vec![0u32; cells];
        let lengths = || selections.iter().map(TileSelection::count);
        let slots = split_exactly(&mut codes, lengths())?;
        let jobs = selections.iter().zip(slots).zip(validities.iter_mut()).collect();
        type Job<'j, 'v> = ((&'j TileSelection, &'j mut [u32]), &'j mut Option<&'v mut [u8]>);
        let decode = |((selection, slot), valid): Job<'_, '_>, buffers: &mut PooledBuffers| {
            self.validity(selection, None, valid.as_deref_mut(), buffers)?;
            self.tile_codes(selection, slot, buffers)
        };
        let threads = self.threads(selections, size_of::<u32>());
        let tiles =
            parallel::run(threads, jobs, PooledBuffers::sharing(self.threads, selections.len()), decode)?;
        let Some(tiles) = tiles.into_iter().collect::<Option<Vec<TileStrings>>>() else { return Ok(None) };
        // Strings of later tiles have later codes.
        let mut first = 0usize;
        for ((_, starts), slot) in tiles.iter().zip(split_exactly(&mut codes, lengths())?) {
            let Some(base) = to_u32(first) else { return Ok(None) };
            if base > 0 {
                slot.iter_mut().for_each(|code| *code = code.saturating_add(base));
            }
            first = first.saturating_add(starts.len());
        }
        if to_u32(first).is_none() {
            return Ok(None);
        }
        let (values, offsets) = joined(&tiles, first)?;
        self.context.counters.copied(values.len().saturating_add(cells.saturating_mul(size_of::<u32>())));
        Ok(Some(CodedColumn { values, offsets, codes }))
    }

    /// Whether a selection's strings may be stored as codes, are not decoded yet, and are enough to
    /// take all strings of their tile.
    fn may_be_coded(&self, selection: &TileSelection) -> bool {
        let few = selection.count() < selection.tile_cells / FEW;
        !few && !self.is_at_hand(selection)
            && self.tiles_of(selection).is_some_and(FieldTiles::may_have_codes)
    }

    /// Writes the codes of a selection's cells; returns the strings. `None` if the tile stores
    /// every string.
    fn tile_codes(
        &self,
        selection: &TileSelection,
        slot: &mut [u32],
        buffers: &mut PooledBuffers,
    ) -> Result<Option<TileStrings>> {
        let Some(tiles) = self.tiles_of(selection) else { return Ok(None) };
        let mut coded = core::mem::take(&mut buffers.coded);
        let stored_so =
            tiles.decode_codes(self.context, selection.id.tile, selection.tile_cells, &mut coded, buffers)?;
        let mut strings = None;
        if stored_so {
            match &selection.cells {
                None if coded.codes.len() == slot.len() => slot.copy_from_slice(&coded.codes),
                None => return Err(Error::internal(NO_CODE)),
                Some(cells) => {
                    for (slot, cell) in slot.iter_mut().zip(cells) {
                        *slot = *coded.codes.get(index_of(*cell)).or_internal(NO_CODE)?;
                    }
                }
            }
            strings = Some((core::mem::take(&mut coded.values), core::mem::take(&mut coded.starts)));
        }
        buffers.coded = coded;
        if let Some((values, starts)) = &strings {
            let held = values.len().saturating_add(starts.len().saturating_mul(8));
            // Held twice: as pieces, and joined.
            self.cache.reserve(to_u64(held).saturating_mul(2))?;
        }
        Ok(strings)
    }
}

/// The strings of all tiles, one tile after the other.
fn joined(tiles: &[TileStrings], strings: usize) -> Result<(Buffer, Vec<u64>)> {
    let mut offsets = Vec::with_capacity(strings.saturating_add(1));
    for (values, starts) in tiles {
        let ends = starts.iter().skip(1).copied().chain([to_u64(values.len())]);
        offsets.extend(starts.iter().zip(ends).map(|(start, end)| end.saturating_sub(*start)));
    }
    offsets.push(0);
    let mut all = unfilled(lengths_to_offsets(&mut offsets)?)?;
    let places = split_exactly(all.as_mut_slice(), tiles.iter().map(|(values, _)| values.len()))?;
    for (place, (values, _)) in places.into_iter().zip(tiles) {
        place.copy_from_slice(values);
    }
    Ok((all, offsets))
}
