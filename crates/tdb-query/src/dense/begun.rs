//! Columns of the result that begin with cells that were decoded part by part: those that a condition has looked at, because nothing is
//! decoded twice, and those of `by_tile`.

use tdb_codec::{Buffer, to_u64};
use tdb_schema::FieldKind;

use super::cell_map::CellMap;
use super::condition::Painted;
use super::space::{Region, Space};
use super::split_validity;
use crate::Result;
use crate::buffers::{VarTile, split_lengths, zeroed};
use crate::plan::Plan;
use crate::spec::ColumnSpec;

/// A column of the result that contains the cells that were decoded so far.
#[derive(Debug)]
pub(super) struct Begun {
    pub(super) kind: FieldKind,
    /// Its number among the fields that were decoded.
    field: usize,
    pub(super) start: Start,
    /// For each region, which of its space tiles are in the column, in their order.
    pub(super) painted: Vec<Vec<bool>>,
}

/// The cells of such a column.
#[derive(Debug)]
pub(super) enum Start {
    /// Of fixed size: they are in their places.
    Fixed { size: usize, values: Buffer, validity: Option<Vec<u8>> },
    /// Of variable length, for each region and each of its space tiles: where they go is known only when all values are there.
    Var(Vec<Vec<Option<Kept>>>),
}

/// The cells of variable length of a part of a space tile.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) tile: VarTile,
    pub(super) validity: Option<Vec<u8>>,
    /// Their places in the region.
    pub(super) map: CellMap,
}

impl Begun {
    /// Whether it has any cells yet.
    pub(super) fn has_cells(&self) -> bool {
        self.painted.iter().flatten().any(|painted| *painted)
    }
}

/// Columns of the result without cells, of those of some fields that are returned and that are stored.
pub(super) fn begin<'f>(
    plan: &Plan,
    fields: impl Iterator<Item = (FieldKind, &'f ColumnSpec)>,
    space: &Space,
    regions: &[Region],
) -> Result<Vec<Begun>> {
    let mut columns = Vec::new();
    for (field, (kind, spec)) in fields.enumerate() {
        if !plan.fields.contains(&kind) || !matches!(kind, FieldKind::Attribute(_)) {
            continue;
        }
        let start = match spec.cell_size {
            Some(size) => Start::Fixed {
                size,
                values: zeroed(space.bytes(size)?)?,
                validity: spec.nullable.then(|| vec![0; space.cells()]),
            },
            None => Start::Var(regions.iter().map(|_| Vec::new()).collect()),
        };
        let painted = regions.iter().map(|_| Vec::new()).collect();
        columns.push(Begun { kind, field, start, painted });
    }
    Ok(columns)
}

/// A region's part of a [`Begun`] column.
pub(super) struct BegunPart<'b> {
    /// The number of the field among those that are decoded.
    pub(super) field: usize,
    start: PartStart<'b>,
    painted: &'b mut Vec<bool>,
}

enum PartStart<'b> {
    Fixed { size: usize, values: &'b mut [u8], validity: Option<&'b mut [u8]> },
    Var(&'b mut Vec<Option<Kept>>),
}

impl BegunPart<'_> {
    /// Passes over the next space tile: it is not decoded yet.
    pub(super) fn pass(&mut self) {
        self.painted.push(false);
        if let PartStart::Var(kept) = &mut self.start {
            kept.push(None);
        }
    }

    /// Takes over the cells of a part of the next space tile, if they were decoded. Returns the bytes that it copied. Cells of
    /// variable length are only kept if some of them are `wanted`, and if there is memory to spare.
    pub(super) fn take(
        &mut self,
        plan: &Plan,
        map: &CellMap,
        own: &mut Option<Painted>,
        wanted: bool,
    ) -> usize {
        match &mut self.start {
            PartStart::Fixed { size, values, validity } => {
                let copied = own.as_ref().map(|own| copy(own, map, *size, values, validity.as_deref_mut()));
                self.painted.push(copied.is_some());
                copied.unwrap_or(0)
            }
            PartStart::Var(kept) => {
                let fits = |own: &Painted| plan.share.spare(to_u64(own.held()));
                let own = if own.as_ref().is_some_and(|own| wanted && fits(own)) { own.take() } else { None };
                self.painted.push(own.is_some());
                kept.push(own.map(|own| own.keep(map.clone())));
                0
            }
        }
    }
}

/// Copies cells of fixed size to their places. Returns the bytes.
fn copy(own: &Painted, map: &CellMap, size: usize, values: &mut [u8], validity: Option<&mut [u8]>) -> usize {
    map.copy(own.values.as_slice(), values, size);
    let Some((validity, valid)) = validity.zip(own.validity.as_deref()) else {
        return own.values.len();
    };
    map.copy(valid, validity, 1);
    own.values.len().saturating_add(valid.len())
}

/// The parts of such columns, region by region.
pub(super) fn parts_of<'b>(begun: &'b mut [Begun], regions: &[Region]) -> Vec<Vec<BegunPart<'b>>> {
    let mut parts: Vec<Vec<BegunPart<'b>>> = regions.iter().map(|_| Vec::new()).collect();
    for Begun { field, start, painted, .. } in begun {
        let starts: Vec<PartStart<'b>> = match start {
            Start::Fixed { size, values, validity } => {
                let size = *size;
                let bytes = regions.iter().map(|region| region.cells().saturating_mul(size));
                let values = split_lengths(values.as_mut_slice(), bytes);
                let own = values.into_iter().zip(split_validity(validity, regions));
                own.map(|(values, validity)| PartStart::Fixed { size, values, validity }).collect()
            }
            Start::Var(kept) => kept.iter_mut().map(PartStart::Var).collect(),
        };
        for (parts, (start, painted)) in parts.iter_mut().zip(starts.into_iter().zip(painted)) {
            parts.push(BegunPart { field: *field, start, painted });
        }
    }
    parts
}
