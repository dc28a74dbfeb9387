//! The columns of a condition in a part of a space tile: what statistics say of them, and their
//! cells.

use tdb_codec::{Buffer, to_u64};
use tdb_predicate::{ColumnView, Columns};
use tdb_schema::FieldKind;

use super::boxes::intersect;
use super::cell_map::CellMap;
use super::columns::each_coordinate;
use super::condition::{MatchField, Matcher};
use super::layers::{Layer, Paint};
use super::partial_column::KeptCells;
use super::region::Region;
use super::sources::FieldSources;
use super::space::Space;
use super::target::Target;
use super::var_column::VarTarget;
use crate::buffers::{VarTile, lengths_to_offsets, zeroed};
use crate::decode_buffers::PooledBuffers;
use crate::facts::{Facts, FieldFacts, Nulls};
use crate::{OrInternal, Result, Snapshot};

/// A condition asks for a field that it does not list.
pub(super) const NO_FIELD: &str = "a condition has no field with this number";

/// The columns of a part of a space tile.
pub struct PartColumns<'s> {
    matcher: &'s Matcher<'s>,
    part: &'s Region,
    buffers: &'s mut PooledBuffers,
    painted: Vec<Option<Painted>>,
    facts: Vec<FieldFacts<'s>>,
}

/// The cells of one field in a region, put together.
#[derive(Default)]
pub struct Painted {
    pub(super) values: Buffer,
    offsets: Option<Vec<u64>>,
    pub(super) validity: Option<Vec<u8>>,
    present: Option<Vec<u8>>,
}

impl<'a> Matcher<'a> {
    /// Clears `mask` for the cells of a part of space tile `index` that fail the condition. Returns
    /// what was decoded for it.
    pub fn apply(
        &self,
        index: &[u64],
        part: &Region,
        mask: &mut [u8],
        buffers: &mut PooledBuffers,
    ) -> Result<Vec<Option<Painted>>> {
        let mut columns = self.columns(index, part, buffers);
        self.program.apply(0, &mut columns, mask)?;
        Ok(columns.into_painted())
    }

    /// The columns of a part of space tile `index`.
    pub fn columns<'s>(
        &'s self,
        index: &'s [u64],
        part: &'s Region,
        buffers: &'s mut PooledBuffers,
    ) -> PartColumns<'s> {
        let painted = self.fields.iter().map(|_| None).collect();
        let tile_cells = to_u64(self.space.tile_cells);
        let facts = self.fields.iter().map(|field| {
            if field.presence {
                return FieldFacts::Perhaps;
            }
            if matches!(field.kind, FieldKind::Dimension(_)) {
                return FieldFacts::Known(Facts::UNKNOWN);
            }
            let Some(single) = field.sources.single_tile(self.space, index, part) else {
                return FieldFacts::Known(Facts::UNKNOWN);
            };
            let statistics = field.statistics.get(single.source).and_then(Option::as_ref);
            let facts = statistics.map_or(Facts::UNKNOWN, |known| known.facts(single.tile, tile_cells));
            FieldFacts::Known(if field.spec.nullable { facts } else { Facts { nulls: Nulls::None, ..facts } })
        });
        PartColumns { facts: facts.collect(), matcher: self, part, buffers, painted }
    }
}

/// A data tile that alone contains the cells of a part of a space tile.
#[derive(Clone, Copy, Debug)]
pub struct SingleTile {
    /// Number of the source.
    pub source: usize,
    /// The number of the tile in the fragment.
    pub tile: usize,
    /// Whether the part contains all cells of the tile.
    pub all: bool,
    /// Number of cells of the part that were written.
    pub cells: usize,
}

impl FieldSources<'_> {
    /// The data tile that contains all written cells of a part of a space tile, if there is only
    /// one.
    pub fn single_tile(&self, space: &Space, index: &[u64], part: &Region) -> Option<SingleTile> {
        let (layers, _) = self.layers(&part.bounds);
        let [layer @ Layer { source, bounds }] = layers.as_slice() else { return None };
        let Paint::Tile(_, tile) = layer.paint(index) else { return None };
        let number = self.sources.iter().position(|other| other.fragment == source.fragment)?;
        let written = intersect(&source.domain, &space.tile_box(index))?;
        let cells = part.cells_in(bounds);
        if cells == 0 {
            return None;
        }
        let all = part.is_box() && written == *bounds;
        Some(SingleTile { source: number, tile, all, cells })
    }
}

impl PartColumns<'_> {
    /// Returns the columns that were decoded so far, field by field.
    fn into_painted(self) -> Vec<Option<Painted>> {
        self.painted
    }

    /// Reuses the columns that another matcher has decoded of the same part.
    pub fn take_over(&mut self, other: &Matcher<'_>, painted: Vec<Option<Painted>>) -> Result<()> {
        for (from, painted) in other.fields.iter().zip(painted) {
            let matcher = self.matcher;
            let at = matcher.fields.iter().position(|own| own.kind == from.kind);
            let own = at.and_then(|at| Some((matcher.fields.get(at)?, self.painted.get_mut(at)?)));
            if let (Some((own, slot)), Some(painted)) = (own, painted) {
                *slot = Some(Painted { present: own.presence_in(self.part)?, ..painted });
            }
        }
        Ok(())
    }
}

impl Columns for PartColumns<'_> {
    fn column(&mut self, field: usize, _: &[u8]) -> Result<Option<ColumnView<'_>>> {
        let matcher = self.matcher;
        let known = matcher.fields.get(field).or_internal(NO_FIELD)?;
        let slot = self.painted.get_mut(field).or_internal(NO_FIELD)?;
        let painted = match slot {
            Some(painted) => painted,
            None => slot.insert(known.paint(matcher.array, matcher.space, self.part, self.buffers)?),
        };
        Ok(Some(ColumnView {
            values: painted.values.as_slice(),
            offsets: painted.offsets.as_deref(),
            codes: None,
            validity: painted.validity.as_deref(),
            present: painted.present.as_deref(),
        }))
    }

    fn facts(&self, field: usize) -> FieldFacts<'_> {
        self.facts.get(field).cloned().unwrap_or(FieldFacts::Perhaps)
    }
}

impl MatchField<'_> {
    /// The cells of a part of a space tile, put together.
    pub(super) fn paint(
        &self,
        array: &Snapshot,
        space: &Space,
        part: &Region,
        buffers: &mut PooledBuffers,
    ) -> Result<Painted> {
        let (context, spec) = (array.context(), &self.spec);
        let cells = part.cells();
        let mut painted = Painted::default();
        if let FieldKind::Dimension(dimension) = self.kind {
            each_coordinate(space, part, dimension, |value| painted.values.extend_from_slice(value))?;
            return Ok(painted);
        }
        painted.present = self.presence_in(part)?;
        painted.validity = spec.nullable.then(|| vec![0; cells]);
        match spec.cell_size {
            Some(size) => {
                painted.values = zeroed(context.tile_len(cells, size)?)?;
                let validity = painted.validity.as_deref_mut();
                let values = painted.values.as_mut_slice();
                let mut target = Target { values, validity, wanted: None, tiles_done: &[] };
                self.sources.paint_fixed(context, space, part, spec, &mut target, buffers)?;
            }
            None => {
                let mut offsets = vec![0u64; cells.saturating_add(1)];
                let slots =
                    offsets.get_mut(..cells).or_internal("cells have fewer offsets than there are")?;
                let mut target = VarTarget::new(slots, painted.validity.as_deref_mut(), None, Vec::new());
                self.sources.paint_var(context, space, part, spec, &mut target, buffers)?;
                painted.values = target.into_values(context)?;
                lengths_to_offsets(&mut offsets)?;
                painted.offsets = Some(offsets);
            }
        }
        Ok(painted)
    }

    /// Which cells of a part were written, a byte per cell; `None` if all were, or if it is not
    /// needed.
    fn presence_in(&self, part: &Region) -> Result<Option<Vec<u8>>> {
        if !self.presence || matches!(self.kind, FieldKind::Dimension(_)) {
            return Ok(None);
        }
        let mut present = vec![0; part.cells()];
        self.sources.paint_presence(part, &mut present)?;
        Ok(present.contains(&0).then_some(present))
    }
}

impl Painted {
    /// The bytes of memory of cells of variable length.
    pub(super) fn held(&self) -> usize {
        let offsets = self.offsets.as_ref().map_or(0, |offsets| offsets.len().saturating_mul(8));
        let validity = self.validity.as_ref().map_or(0, Vec::len);
        self.values.len().saturating_add(offsets).saturating_add(validity)
    }

    /// The cells, and their places in a region.
    pub(super) fn keep(self, map: CellMap) -> KeptCells {
        let tile = VarTile { offsets: self.offsets.unwrap_or_default(), values: self.values };
        KeptCells { tile, validity: self.validity, map }
    }
}
