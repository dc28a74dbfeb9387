//! Decoded tiles of a field.

use core::ops::Range;

use tdb_codec::{Buffer, to_u32, to_u64};
use tdb_predicate::string_at;

use crate::Result;
use crate::buffers::{VarTile, index_of};
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::tiles::FieldTiles;

/// A decoded tile of a field. Chunks without a wanted cell contain whatever was in the buffer
/// before.
#[derive(Debug, Default)]
pub struct Decoded {
    /// Its number of cells.
    pub(crate) cells: usize,
    pub(crate) values: Buffer,
    /// For var-length fields, one more offset than cells, or with `codes` than strings.
    pub(crate) offsets: Option<Vec<u64>>,
    /// For nullable fields, a byte per cell: 0 is null.
    pub(crate) validity: Option<Vec<u8>>,
    /// For strings that are stored once each, or once a run: which string each cell has.
    pub(crate) codes: Option<Vec<u32>>,
    /// If chunks without some cells were left out: a byte per cell, 0 for those.
    pub(crate) partly: Option<Vec<u8>>,
}

impl Decoded {
    /// The strings of a tile of `cells` cells: if `coded`, each once where they are stored so;
    /// otherwise those in the chunks that `wanted` accepts.
    pub(crate) fn strings(
        context: &Context,
        tiles: &FieldTiles,
        (tile, cells): (usize, usize),
        coded: bool,
        wanted: impl FnMut(Range<usize>) -> bool,
        buffers: &mut PooledBuffers,
    ) -> Result<Self> {
        if coded && tiles.may_have_codes() {
            let mut coded = core::mem::take(&mut buffers.coded);
            if tiles.decode_codes(context, tile, cells, &mut coded, buffers)? {
                let mut values = buffers.take_buffer(coded.values.len())?;
                values.as_mut_slice().copy_from_slice(&coded.values);
                context.counters.copied(coded.values.len());
                let (mut offsets, codes) =
                    (core::mem::take(&mut coded.starts), core::mem::take(&mut coded.codes));
                offsets.push(to_u64(coded.values.len()));
                buffers.coded = coded;
                return Ok(Self {
                    cells,
                    values,
                    offsets: Some(offsets),
                    codes: Some(codes),
                    ..Self::default()
                });
            }
            buffers.coded = coded;
        }
        let mut var = core::mem::take(&mut buffers.strings);
        tiles.decode_var_where(context, (tile, cells), &mut var, wanted, buffers)?;
        Ok(Self { cells, values: var.values, offsets: Some(var.offsets), ..Self::default() })
    }

    /// Gives the memory to the buffers, for later tiles.
    pub(crate) fn give_back(self, buffers: &mut PooledBuffers) {
        match (self.offsets, self.codes) {
            (None, _) => buffers.give_back(self.values),
            (Some(offsets), None) => buffers.strings = VarTile { offsets, values: self.values },
            (Some(starts), Some(codes)) => {
                buffers.give_back(self.values);
                (buffers.coded.starts, buffers.coded.codes) = (starts, codes);
            }
        }
    }

    /// Whether all of these cells were decoded.
    pub(crate) fn has(&self, wanted: &[u8]) -> bool {
        let lacks =
            |partly: &Vec<u8>| partly.iter().zip(wanted).any(|(has, wanted)| *wanted & !*has & 1 != 0);
        !self.partly.as_ref().is_some_and(lacks)
    }

    /// The value of a cell: a string, or `size` bytes; nothing if it has none.
    pub(crate) fn value(&self, cell: usize, size: usize) -> &[u8] {
        if self.offsets.is_some() {
            let ends = to_u32(cell).and_then(|cell| self.ends(cell));
            return ends.map_or(&[], |(start, end)| string_at(self.values.as_slice(), start, end));
        }
        let start = cell.saturating_mul(size);
        self.values.as_slice().get(start..start.saturating_add(size)).unwrap_or_default()
    }

    /// The start and end of a cell's string in `values`.
    pub(crate) fn ends(&self, cell: u32) -> Option<(u64, u64)> {
        let at = match &self.codes {
            Some(codes) => index_of(*codes.get(index_of(cell))?),
            None => index_of(cell),
        };
        let offsets = self.offsets.as_ref()?;
        Some((*offsets.get(at)?, *offsets.get(at.checked_add(1)?)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tile_that_was_decoded_in_part_has_what_was_wanted_then() {
        let partly = Decoded { partly: Some(vec![1, 0, 1, 1]), ..Decoded::default() };
        assert!(partly.has(&[1, 0, 1, 0]) && partly.has(&[0; 4]));
        assert!(!partly.has(&[0, 1, 0, 0]) && !partly.has(&[1; 4]));
        assert!(Decoded::default().has(&[1; 4]));
    }
}
