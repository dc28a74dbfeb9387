//! Decodes the columns of a condition in a tile, when a test needs them because statistics are not
//! enough.

use core::cell::Cell;
use core::ops::Range;

use tdb_predicate::{ColumnView, Columns, ProgramField};
use tdb_schema::FieldKind;

use super::decoded::Decoded;
use super::sources::{FieldSource, NO_FIELD, Sources, facts, fragment_of};
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::facts::FieldFacts;
use crate::fragment::Fragment;
use crate::tile_id::TileId;
use crate::{OrInternal, Result};

/// The columns of one tile, with the cell numbers of the tile.
pub struct TileColumns<'s> {
    context: &'s Context,
    fields: &'s [ProgramField],
    fragment: &'s Fragment,
    sources: &'s [FieldSource],
    tile: usize,
    cells: usize,
    /// Whether coordinates are decoded in all chunks, because cells that no test needs will be
    /// looked at.
    whole: bool,
    buffers: &'s mut PooledBuffers,
    decoded: Vec<Option<Decoded>>,
}

impl Sources<'_> {
    /// The columns of one tile.
    pub fn tile<'s>(
        &'s self,
        TileId { fragment, tile }: TileId,
        cells: usize,
        buffers: &'s mut PooledBuffers,
    ) -> Result<TileColumns<'s>> {
        let sources = self.open(fragment)?;
        let decoded = sources.iter().map(|_| None).collect();
        let fragment = fragment_of(self.fragments, fragment)?;
        let (context, fields) = (self.context, self.program.fields.as_slice());
        let whole = false;
        Ok(TileColumns { context, fields, fragment, sources, tile, cells, whole, buffers, decoded })
    }
}

impl TileColumns<'_> {
    /// Decodes all chunks of coordinates, if it decodes any.
    pub(crate) const fn whole_coordinates(mut self, whole: bool) -> Self {
        self.whole = whole;
        self
    }

    /// The columns that were decoded so far, by field of the program.
    pub(crate) fn into_decoded(mut self) -> Vec<Option<Decoded>> {
        core::mem::take(&mut self.decoded)
    }

    /// Those of the columns that were decoded so far that have all `wanted` cells, with their
    /// fields; none if no cell is wanted.
    pub(crate) fn into_wanted(self, wanted: &[u8]) -> Vec<(FieldKind, Decoded)> {
        if !wanted.contains(&1) {
            return Vec::new();
        }
        let fields = self.fields;
        // A column that a part of a disjunction decoded may lack cells that another part took: it
        // is decoded again for those few.
        let has_all = |own: &Decoded| own.has(wanted);
        let decoded = fields.iter().zip(self.into_decoded());
        decoded.filter_map(|(field, own)| Some((field.kind, own.filter(has_all)?))).collect()
    }
}

impl Drop for TileColumns<'_> {
    fn drop(&mut self) {
        self.decoded.drain(..).flatten().for_each(|decoded| decoded.give_back(self.buffers));
    }
}

impl Columns for TileColumns<'_> {
    fn column(&mut self, field: usize, mask: &[u8]) -> Result<Option<ColumnView<'_>>> {
        let source = self.sources.get(field).or_internal(NO_FIELD)?;
        let program = self.fields.get(field).or_internal(NO_FIELD)?;
        let Some(own) = source.own else { return Ok(None) };
        let fragment = self.fragment;
        let tiles = source.tiles(self.context, fragment, own)?;
        let slot = self.decoded.get_mut(field).or_internal(NO_FIELD)?;
        if slot.is_none() {
            let (context, tile, cells, buffers) = (self.context, self.tile, self.cells, &mut *self.buffers);
            let mut decoded = Decoded { cells, ..Decoded::default() };
            let all = self.whole && matches!(own, FieldKind::Dimension(_));
            let left_out = Cell::new(false);
            let looks = |any: bool| {
                left_out.set(left_out.get() || !any);
                any
            };
            // The claimed count is trusted only after cells were decoded: memory is requested, and
            // limited, before.
            match program.spec.cell_size {
                Some(size) => {
                    decoded.values = buffers.take_buffer(context.tile_len(cells, size)?)?;
                    let out = decoded.values.as_mut_slice();
                    let any = |bytes| looks(all || wanted(mask, size, &bytes));
                    tiles.decode_fixed(context, tile, out, any, buffers)?;
                }
                None => {
                    let any = |cells| looks(all || has_any(mask, cells));
                    // Coordinates that will be looked at again are wanted cell by cell.
                    let coded = !all;
                    decoded = Decoded::strings(context, tiles, (tile, cells), coded, any, buffers)?;
                }
            }
            if source.nullable && tiles.is_nullable() {
                let mut validity = vec![0; context.tile_len(cells, 1)?];
                tiles.decode_validity(
                    context,
                    tile,
                    &mut validity,
                    |bytes| looks(wanted(mask, 1, &bytes)),
                    buffers,
                )?;
                decoded.validity = Some(validity);
            }
            decoded.partly = left_out.get().then(|| mask.to_vec());
            *slot = Some(decoded);
        }
        Ok(slot.as_ref().map(|decoded| ColumnView {
            values: decoded.values.as_slice(),
            offsets: decoded.offsets.as_deref(),
            codes: decoded.codes.as_deref(),
            validity: decoded.validity.as_deref(),
            present: None,
        }))
    }

    fn facts(&self, field: usize) -> FieldFacts<'_> {
        facts(self.sources, field, self.tile, self.cells)
    }
}

/// Whether any cell in a range of bytes is wanted.
fn wanted(mask: &[u8], size: usize, bytes: &Range<usize>) -> bool {
    let first = bytes.start.checked_div(size).unwrap_or(0);
    has_any(mask, first..bytes.end.div_ceil(size.max(1)))
}

/// Whether any of some cells is wanted.
fn has_any(mask: &[u8], cells: Range<usize>) -> bool {
    mask.get(cells.start..cells.end.min(mask.len())).is_none_or(|cells| cells.contains(&1))
}
