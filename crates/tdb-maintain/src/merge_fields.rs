//! The cells of a batch in one field, collected from their tiles.

use tdb_codec::{Buffer, to_u64, to_usize};
use tdb_schema::{ArraySchema, Field, FieldKind};

use crate::buffers::{VarTile, index_of, lengths_to_offsets, room_for, split_exactly, zeroed};
use crate::context::Context;
use crate::decode_buffers::PooledBuffers;
use crate::fragment::Fragment;
use crate::merge::Batch;
use crate::spec::ColumnSpec;
use crate::thresholds::BAND_CELLS;
use crate::tiles::FieldTiles;
use crate::{Column, OrInternal, Result, parallel};

/// A field of the new fragment, and its tiles in each input.
#[derive(Debug)]
pub(super) struct MergedField {
    spec: ColumnSpec,
    /// By source; `None` where the fragment does not have the field.
    tiles: Vec<Option<FieldTiles>>,
}

/// A decoded tile.
#[derive(Debug, Default)]
struct Decoded {
    values: Buffer,
    offsets: Vec<u64>,
    validity: Option<Vec<u8>>,
}

impl Decoded {
    fn var_cell(&self, cell: usize) -> Option<&[u8]> {
        let start = to_usize(*self.offsets.get(cell)?)?;
        let end = to_usize(*self.offsets.get(cell.checked_add(1)?)?)?;
        self.values.as_slice().get(start..end)
    }
}

impl MergedField {
    pub(super) fn open(
        context: &Context,
        schema: &ArraySchema,
        field: &Field<'_>,
        fragments: &[&Fragment],
    ) -> Result<Self> {
        Self::of_column(context, ColumnSpec::new(schema, field), field.kind, fragments)
    }

    /// The same for a column, whose type need not be that of the array's field.
    pub(super) fn of_column(
        context: &Context,
        spec: ColumnSpec,
        kind: FieldKind,
        fragments: &[&Fragment],
    ) -> Result<Self> {
        let open = |fragment: &&Fragment| FieldTiles::of_column(context, fragment, &spec, kind);
        let tiles = fragments.iter().map(open).collect::<Result<_>>()?;
        Ok(Self { spec, tiles })
    }

    /// Whether a source does not have the field.
    pub(super) fn is_missing(&self, source: usize) -> Result<bool> {
        Ok(self.tiles.get(source).or_internal("a field without an entry of a source")?.is_none())
    }

    /// The cells of a batch.
    pub(super) fn collect(&self, context: &Context, batch: &Batch) -> Result<Column> {
        let decoded = parallel::run(
            context.threads,
            batch.slots.iter().collect(),
            PooledBuffers::default,
            |slot: &crate::merge::TileSlot, buffers| {
                let tiles =
                    self.tiles.get(slot.source).or_internal("a field without an entry of a source")?;
                let Some(tiles) = tiles else { return Ok(None) };
                let mut decoded = Decoded::default();
                match self.spec.cell_size {
                    Some(size) => {
                        decoded.values = zeroed(context.tile_len(slot.cells, size)?)?;
                        let out = decoded.values.as_mut_slice();
                        tiles.decode_fixed(context, slot.tile, out, |_| true, buffers)?;
                    }
                    None => {
                        let mut var = VarTile::default();
                        tiles.decode_var(context, slot.tile, slot.cells, &mut var, buffers)?;
                        decoded.values = var.values;
                        decoded.offsets = var.offsets;
                    }
                }
                if self.spec.nullable && tiles.is_nullable() {
                    let mut validity = vec![0; slot.cells];
                    tiles.decode_validity(context, slot.tile, &mut validity, |_| true, buffers)?;
                    decoded.validity = Some(validity);
                }
                Ok(Some(decoded))
            },
        )?;
        let validity = self.spec.nullable.then(|| {
            let valid = |(slot, cell): &(u32, u32)| match decoded.get(index_of(*slot))? {
                Some(Decoded { validity: Some(all), .. }) => all.get(index_of(*cell)).copied(),
                Some(_) => Some(1),
                None => Some(self.spec.fill_validity),
            };
            let all: Option<Vec<u8>> = batch.cells.iter().map(valid).collect();
            all.or_internal("a tile without the validity of a cell")
        });
        let validity = validity.transpose()?;
        let (data, offsets) = match self.spec.cell_size {
            Some(size) => (self.fixed(context, batch, &decoded, size)?, None),
            None => {
                let (data, offsets) = self.var(batch, &decoded)?;
                (data, Some(offsets))
            }
        };
        Ok(self.spec.clone().column(data, offsets, validity))
    }

    fn fixed(
        &self,
        context: &Context,
        batch: &Batch,
        decoded: &[Option<Decoded>],
        size: usize,
    ) -> Result<Buffer> {
        let mut data = zeroed(batch.cells.len().saturating_mul(size))?;
        let lengths: Vec<usize> =
            batch.cells.chunks(BAND_CELLS).map(|band| band.len().saturating_mul(size)).collect();
        let bands = split_exactly(data.as_mut_slice(), lengths)?;
        let jobs = bands.into_iter().zip(batch.cells.chunks(BAND_CELLS)).collect();
        parallel::run(
            context.threads,
            jobs,
            || (),
            |(out, cells): (&mut [u8], &[(u32, u32)]), ()| {
                for (slot, (from, cell)) in out.chunks_exact_mut(size.max(1)).zip(cells) {
                    let start = index_of(*cell).saturating_mul(size);
                    let value = match decoded.get(index_of(*from)) {
                        Some(Some(tile)) => tile.values.as_slice().get(start..start.saturating_add(size)),
                        Some(None) => Some(self.spec.fill.as_slice()),
                        None => None,
                    };
                    let value = value.filter(|value| value.len() == slot.len());
                    slot.copy_from_slice(value.or_internal("a tile without the value of a cell")?);
                }
                Ok(())
            },
        )?;
        Ok(data)
    }

    fn var(&self, batch: &Batch, decoded: &[Option<Decoded>]) -> Result<(Buffer, Vec<u64>)> {
        let value = |(slot, cell): &(u32, u32)| {
            let value = match decoded.get(index_of(*slot)) {
                Some(Some(tile)) => tile.var_cell(index_of(*cell)),
                Some(None) => Some(self.spec.fill.as_slice()),
                None => None,
            };
            value.or_internal("a tile without the string of a cell")
        };
        let mut offsets = Vec::with_capacity(batch.cells.len().saturating_add(1));
        for cell in &batch.cells {
            offsets.push(to_u64(value(cell)?.len()));
        }
        offsets.push(0);
        let mut data = room_for(lengths_to_offsets(&mut offsets)?)?;
        for cell in &batch.cells {
            data.extend_from_slice(value(cell)?);
        }
        Ok((data, offsets))
    }
}
