//! The operations on an array, and a simple model of its contents afterwards.

use std::collections::BTreeMap;

use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_array::write::{Duplicates, MetadataChanges};
use tdb_codec::{Layout, to_u64};
use tdb_schema::{FieldKind, MetadataValue};

use super::cells::writable;

/// A field's value in a cell, and whether it is valid.
pub(super) type Value = (Vec<u8>, bool);
/// The values of all attributes.
pub(super) type Row = Vec<Value>;

/// How cells are passed to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Dense(Layout),
    Unordered(Duplicates),
    /// Sorted, in this many pieces.
    Global(usize),
    /// In this many batches, with so little memory that the result is several fragments.
    Stream(usize),
}

/// One write.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) time: u64,
    pub(super) how: How,
    /// For a dense write: the first and last ordinal in each dimension.
    pub(super) sides: Vec<(u64, u64)>,
    /// Coordinates and values, in the order in which they are passed. Dense cells have no
    /// coordinates.
    pub(super) cells: Vec<(Vec<Vec<u8>>, Row)>,
    pub(super) fragment_bytes: Option<u64>,
    /// For a dense write: the number of batches, if it is not written at once.
    pub(super) batches: Option<usize>,
}

impl Step {
    /// The cells that are written: without cells with duplicate coordinates, if the array does not
    /// allow duplicates.
    pub(super) fn settled(&self, schema: &ArraySchema) -> Vec<(Vec<Vec<u8>>, Row)> {
        if schema.array_type == ArrayType::Dense || schema.allows_duplicates {
            return self.cells.clone();
        }
        let mut written = BTreeMap::new();
        for (coordinates, row) in &self.cells {
            if self.how == How::Unordered(Duplicates::KeepFirst) {
                written.entry(coordinates).or_insert(row);
            } else {
                written.insert(coordinates, row);
            }
        }
        written.into_iter().map(|(at, row)| (at.clone(), row.clone())).collect()
    }
}

/// An operation on an array after its creation.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Write(Step),
    /// Keys get values or are removed.
    Metadata {
        time: u64,
        entries: BTreeMap<String, Option<MetadataValue>>,
    },
    /// Consolidates all fragments.
    Consolidate,
    /// Vacuums fragments; reads at earlier times still work.
    Vacuum,
}

impl Act {
    /// The time of the operation.
    pub(super) const fn time(&self) -> Option<u64> {
        match self {
            Self::Write(step) => Some(step.time),
            Self::Metadata { time, .. } => Some(*time),
            Self::Consolidate | Self::Vacuum => None,
        }
    }

    /// A description in one word.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::Write(_) => "write",
            Self::Metadata { .. } => "metadata",
            Self::Consolidate => "consolidate",
            Self::Vacuum => "vacuum",
        }
    }

    /// A short description.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Write(step) => format!("{:?} of {} cells at {}", step.how, step.cells.len(), step.time),
            other => other.name().to_owned(),
        }
    }

    /// Metadata in the form for writing.
    pub(super) fn changes(entries: &BTreeMap<String, Option<MetadataValue>>) -> MetadataChanges {
        entries.iter().fold(MetadataChanges::new(), |changes, (key, value)| match value {
            Some(value) => changes.put(key.as_str(), value.clone()),
            None => changes.remove(key.as_str()),
        })
    }
}

/// The writes up to a time, in the order in which they take effect.
fn writes(acts: &[Act], until: u64) -> Vec<&Step> {
    let steps = acts.iter().filter_map(|act| match act {
        Act::Write(step) => Some(step),
        _ => None,
    });
    let mut steps: Vec<&Step> = steps.filter(|step| step.time <= until).collect();
    steps.sort_by_key(|step| step.time);
    steps
}

/// The metadata at a time.
pub(super) fn metadata(acts: &[Act], until: u64) -> BTreeMap<String, MetadataValue> {
    let files = acts.iter().filter_map(|act| match act {
        Act::Metadata { time, entries } if *time <= until => Some((*time, entries)),
        _ => None,
    });
    let mut files: Vec<_> = files.collect();
    files.sort_by_key(|(time, _)| *time);
    let mut found = BTreeMap::new();
    for (key, value) in files.into_iter().flat_map(|(_, entries)| entries) {
        match value {
            Some(value) => drop(found.insert(key.clone(), value.clone())),
            None => drop(found.remove(key)),
        }
    }
    found
}

/// Columns of cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub(super) name: String,
    pub(super) data: Vec<u8>,
    /// One more than there are cells.
    pub(super) offsets: Option<Vec<u64>>,
    pub(super) validity: Option<Vec<u8>>,
}

/// The cells of a box in the order of a layout: their ordinals.
pub(super) fn ordered(schema: &ArraySchema, sides: &[(u64, u64)], layout: Layout) -> Vec<Vec<u64>> {
    let count = sides.len();
    let extents: Vec<u64> = schema
        .domain
        .dimensions
        .iter()
        .map(|dimension| dimension.extent_cells().unwrap_or(u64::MAX))
        .collect();
    let mut cells: Vec<Vec<u64>> = vec![Vec::new()];
    for (low, high) in sides {
        cells = cells
            .into_iter()
            .flat_map(|cell| (*low..=*high).map(move |at| [cell.as_slice(), &[at]].concat()))
            .collect();
    }
    let directed = |layout: Layout, values: Vec<u64>| -> Vec<u64> {
        if layout == Layout::ColMajor { values.into_iter().rev().collect() } else { values }
    };
    cells.sort_by_cached_key(|cell| match layout {
        Layout::GlobalOrder => {
            let tiles = cell.iter().zip(&extents).map(|(at, extent)| at / extent).collect();
            let mut key = directed(schema.tile_order, tiles);
            key.extend(directed(schema.cell_order, cell.clone()));
            key
        }
        layout => directed(layout, cell.clone()),
    });
    cells.retain(|cell| cell.len() == count);
    cells
}

/// The contents of an array.
#[derive(Clone, Debug)]
pub(super) enum Model {
    /// Cells by ordinals.
    Dense(BTreeMap<Vec<u64>, Row>),
    /// Coordinates and values, in no particular order.
    Sparse(Vec<(Vec<Vec<u8>>, Row)>),
}

impl Model {
    /// The contents after the operations up to a time.
    pub(super) fn new(schema: &ArraySchema, acts: &[Act], until: u64) -> Self {
        let steps = writes(acts, until);
        if schema.array_type == ArrayType::Dense {
            let mut model = BTreeMap::new();
            for step in steps {
                let How::Dense(layout) = step.how else { continue };
                let places = ordered(schema, &step.sides, layout);
                model.extend(
                    places.into_iter().zip(&step.cells).map(|(place, (_, row))| (place, row.clone())),
                );
            }
            return Self::Dense(model);
        }
        if schema.allows_duplicates {
            return Self::Sparse(steps.iter().flat_map(|step| step.cells.clone()).collect());
        }
        let mut model = BTreeMap::new();
        for step in steps {
            model.extend(step.settled(schema));
        }
        Self::Sparse(model.into_iter().collect())
    }

    /// The box of a dense array that is read: everything that was written, and some cells around
    /// it.
    pub(super) fn sides(&self, schema: &ArraySchema) -> Option<Vec<(u64, u64)>> {
        let Self::Dense(cells) = self else { return None };
        let sides = schema.domain.dimensions.iter().enumerate().map(|(index, _)| {
            let (min, max) = writable(schema, index)?;
            let along = || cells.keys().filter_map(|cell| cell.get(index).copied());
            let (low, high) = (along().min()?, along().max()?);
            Some((low.saturating_sub(2).max(min), high.saturating_add(2).min(max)))
        });
        sides.collect()
    }

    /// The cells as columns: those of a box in a given order, or those of a sparse array in no
    /// particular order.
    pub(super) fn columns(&self, schema: &ArraySchema, layout: Layout, sides: &[(u64, u64)]) -> Vec<Columns> {
        let fill: Row = schema
            .attributes
            .iter()
            .map(|attribute| {
                (attribute.fill_value.clone(), !attribute.nullable || attribute.fill_validity != 0)
            })
            .collect();
        match self {
            Self::Dense(cells) => {
                let rows = ordered(schema, sides, layout);
                let rows = rows.iter().map(|place| (&[][..], cells.get(place).unwrap_or(&fill)));
                columns(schema, rows)
            }
            Self::Sparse(cells) => columns(schema, cells.iter().map(|(at, row)| (at.as_slice(), row))),
        }
    }
}

/// Cells as columns: dimensions, if they have coordinates, and attributes.
pub(super) fn columns<'c>(
    schema: &ArraySchema,
    cells: impl Iterator<Item = (&'c [Vec<u8>], &'c Row)>,
) -> Vec<Columns> {
    let sparse = schema.array_type == ArrayType::Sparse;
    let dimensions = if sparse { schema.domain.dimensions.len() } else { 0 };
    let kinds = (0..dimensions).map(FieldKind::Dimension);
    let kinds = kinds.chain((0..schema.attributes.len()).map(FieldKind::Attribute));
    let mut columns: Vec<Columns> = kinds
        .filter_map(|kind| {
            let field = schema.field_of(kind)?;
            Some(Columns {
                name: field.name.to_owned(),
                data: Vec::new(),
                offsets: field.is_var().then(|| vec![0]),
                validity: field.nullable.then(Vec::new),
            })
        })
        .collect();
    for (coordinates, row) in cells {
        let coordinates = coordinates.iter().map(|value| (value, true));
        let values = coordinates.chain(row.iter().map(|(value, valid)| (value, *valid)));
        for (column, (value, valid)) in columns.iter_mut().zip(values) {
            column.data.extend_from_slice(value);
            if let Some(offsets) = &mut column.offsets {
                offsets.push(to_u64(column.data.len()));
            }
            if let Some(validity) = &mut column.validity {
                validity.push(u8::from(valid));
            }
        }
    }
    columns
}
