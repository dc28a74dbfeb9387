//! Random cells, and a plain model of what an array holds after some writes.

use std::collections::BTreeMap;

use tdb_array::{ArraySchema, ArrayType, Datatype, Duplicates};
use tdb_codec::{DataOrder, DatatypeClass, Layout, to_u64};
use tdb_filters::Filter;
use tdb_schema::{Attribute, Dimension, FieldKind};

use super::schemas::EMPTY_CELLS_SINCE;
use crate::conform::random::Random;

/// A field's value in a cell, and whether it is valid.
pub(super) type Value = (Vec<u8>, bool);
/// The values of all attributes.
pub(super) type Row = Vec<Value>;

/// How cells are given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Dense(Layout),
    Unordered(Duplicates),
    /// Sorted, in so many pieces.
    Global(usize),
    /// In so many batches, with so little memory that several fragments come of it.
    Stream(usize),
}

/// One write.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) time: u64,
    pub(super) how: How,
    /// Of a dense write: first and last ordinal a dimension.
    pub(super) sides: Vec<(u64, u64)>,
    /// Coordinates and values, in the order they are given. Dense cells have no coordinates.
    pub(super) cells: Vec<(Vec<Vec<u8>>, Row)>,
    pub(super) fragment_bytes: Option<u64>,
    /// Of a dense write: in so many batches, if not at once.
    pub(super) batches: Option<usize>,
}

impl Step {
    /// The cells that are written: without those that have the coordinates of others, where the array does not allow that.
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

/// Columns of cells.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    pub(super) name: String,
    pub(super) data: Vec<u8>,
    /// One more than cells.
    pub(super) offsets: Option<Vec<u64>>,
    pub(super) validity: Option<Vec<u8>>,
}

/// The writes of a case.
pub(super) fn draw(random: &mut Random, schema: &ArraySchema) -> Vec<Step> {
    let count = random.length(1, 4);
    let dense = schema.array_type == ArrayType::Dense;
    // Where in wide domains all is written that is.
    let anchors: Vec<u64> = (0..schema.domain.dimensions.len())
        .map(|index| {
            let Some((low, high)) = writable(schema, index) else { return 0 };
            match random.below(3) {
                0 => low,
                1 => high.saturating_sub(30).max(low),
                _ => low.saturating_add((high - low) / 3),
            }
        })
        .collect();
    let mut time = 0;
    (0..count)
        .filter_map(|_| {
            // Some dense writes are at one time: the later one counts. libtiledb's row-major reader of sparse arrays takes
            // cells now of one, now of the other.
            if !dense || time == 0 || !random.one_in(4) {
                time += 10;
            }
            if dense { self::dense(random, schema, time, &anchors) } else { sparse(random, schema, time) }
        })
        .collect()
}

/// The ordinals that may be written along a dimension of a dense array.
fn writable(schema: &ArraySchema, index: usize) -> Option<(u64, u64)> {
    let dimension = schema.domain.dimensions.get(index)?;
    match schema.current_domain.as_ref().and_then(|current| current.ranges.get(index)) {
        Some(range) => Some((dimension.ordinal(&range.low)?, dimension.ordinal(&range.high)?)),
        None => Some((0, dimension.last_ordinal()?)),
    }
}

fn dense(random: &mut Random, schema: &ArraySchema, time: u64, anchors: &[u64]) -> Option<Step> {
    let ordered = schema.attributes.iter().any(|attribute| attribute.order != DataOrder::Unordered);
    let layouts = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder];
    let mut layout = *random.pick(&layouts)?;
    if ordered {
        layout = Layout::RowMajor;
    }
    let dimensions = &schema.domain.dimensions;
    let most = match dimensions.len() {
        1 => 120,
        2 => 16,
        _ => 6,
    };
    let mut sides = Vec::new();
    for (index, dimension) in dimensions.iter().enumerate() {
        let (low, high) = writable(schema, index)?;
        // The whole of it now and then.
        if (ordered || random.one_in(3)) && high - low < most {
            sides.push((low, high));
        } else {
            let base = anchors.get(index).copied().unwrap_or(low);
            let first = base.saturating_add(random.below((high - base).min(most).saturating_add(1)));
            sides.push((
                first,
                first.saturating_add(random.below((high - first).min(most).saturating_add(1))),
            ));
        }
        if layout == Layout::GlobalOrder {
            let extent = dimension.extent_cells()?;
            let (first, last) = sides.pop()?;
            // Whole tiles.
            let (first, last) =
                (first / extent * extent, (last / extent).checked_add(1)?.checked_mul(extent)? - 1);
            if first < low || last > high || last - first > most.saturating_mul(4) {
                layout = if random.one_in(2) { Layout::RowMajor } else { Layout::ColMajor };
                return dense_in(random, schema, time, layout, anchors, sides);
            }
            sides.push((first, last));
        }
    }
    finish_dense(random, schema, time, layout, sides)
}

/// A write not in global order, of which some sides are still to be drawn.
fn dense_in(
    random: &mut Random,
    schema: &ArraySchema,
    time: u64,
    layout: Layout,
    anchors: &[u64],
    mut sides: Vec<(u64, u64)>,
) -> Option<Step> {
    for index in sides.len()..schema.domain.dimensions.len() {
        let (_, high) = writable(schema, index)?;
        let low = *anchors.get(index)?;
        let first = low.saturating_add(random.below((high - low).min(5).saturating_add(1)));
        sides.push((first, first.saturating_add(random.below((high - first).min(5).saturating_add(1)))));
    }
    finish_dense(random, schema, time, layout, sides)
}

fn finish_dense(
    random: &mut Random,
    schema: &ArraySchema,
    time: u64,
    layout: Layout,
    sides: Vec<(u64, u64)>,
) -> Option<Step> {
    let count: u64 = sides.iter().map(|(low, high)| high - low + 1).product();
    if count > 20_000 {
        return None;
    }
    let count = usize::try_from(count).ok()?;
    let mut columns: Vec<Vec<Value>> = schema
        .attributes
        .iter()
        .map(|attribute| (0..count).map(|_| value(random, schema, attribute)).collect())
        .collect();
    for (attribute, column) in schema.attributes.iter().zip(&mut columns) {
        sort(random, attribute, column);
    }
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    let cells = (0..count).map(|_| (Vec::new(), columns.iter_mut().filter_map(Iterator::next).collect()));
    let how = How::Dense(layout);
    let cells = cells.collect();
    let fragment_bytes = random.one_in(3).then(|| random.between(200, 20_000));
    let batches = random.one_in(2).then(|| random.length(1, 9));
    Some(Step { time, how, sides, cells, fragment_bytes, batches })
}

/// Gives an ordered attribute values in its order.
fn sort(random: &mut Random, attribute: &Attribute, values: &mut [Value]) {
    let mut last = -100i32;
    for (bytes, _) in values.iter_mut() {
        last += i32::try_from(random.between(1, 9)).unwrap_or(1);
        let value = match attribute.order {
            DataOrder::Unordered => return,
            DataOrder::Increasing => last,
            DataOrder::Decreasing => -last,
        };
        *bytes = match attribute.datatype {
            Datatype::Int32 => value.to_le_bytes().to_vec(),
            _ => f64::from(value).to_le_bytes().to_vec(),
        };
    }
}

fn sparse(random: &mut Random, schema: &ArraySchema, time: u64) -> Option<Step> {
    let most = *random.pick(&[3, 40, 300])?;
    let count = random.length(1, most);
    let duplicates = *random.pick(&[Duplicates::Refuse, Duplicates::KeepFirst, Duplicates::KeepLast])?;
    let how = match random.below(4) {
        0 => How::Global(random.length(1, 4)),
        1 => How::Stream(random.length(1, 5)),
        _ => How::Unordered(duplicates),
    };
    let repeats = schema.allows_duplicates || matches!(how, How::Unordered(how) if how != Duplicates::Refuse);
    let mut seen = BTreeMap::new();
    let mut cells: Vec<(Vec<Vec<u8>>, Row)> = Vec::new();
    for index in 0..count {
        let again = repeats && index > 0 && random.one_in(5);
        let coordinates: Vec<Vec<u8>> = if again {
            random.pick(&cells)?.0.clone()
        } else {
            let dimensions = schema.domain.dimensions.iter().enumerate();
            dimensions
                .map(|(index, dimension)| coordinate(random, schema, index, dimension))
                .collect::<Option<_>>()?
        };
        if !repeats && seen.insert(coordinates.clone(), ()).is_some() {
            continue;
        }
        let row = schema.attributes.iter().map(|attribute| value(random, schema, attribute)).collect();
        cells.push((coordinates, row));
    }
    let fragment_bytes = random.one_in(6).then(|| random.between(20_000, 60_000));
    Some(Step { time, how, sides: Vec::new(), cells, fragment_bytes, batches: None })
}

fn coordinate(
    random: &mut Random,
    schema: &ArraySchema,
    index: usize,
    dimension: &Dimension,
) -> Option<Vec<u8>> {
    if dimension.is_var() {
        let most = *random.pick(&[1, 3, 12])?;
        let len = random.length(usize::from(schema.version.number() < EMPTY_CELLS_SINCE), most);
        let mut word: Vec<u8> =
            (0..len).map(|_| b'a' + u8::try_from(random.below(26)).unwrap_or(0)).collect();
        if schema.current_domain.is_some() {
            word.insert(0, b'b' + u8::try_from(random.below(20)).unwrap_or(0));
        }
        return Some(word);
    }
    if let Some((low, high)) = writable(schema, index) {
        let room = high - low;
        let ordinal = match random.below(8) {
            0 => low,
            1 => high,
            2 | 3 => low.saturating_add(random.below(room.min(50).saturating_add(1))),
            _ => low.saturating_add(random.below(room.saturating_add(1))),
        };
        return dimension.coordinate(ordinal);
    }
    let (low, high) = dimension.domain.as_ref()?;
    let number = |bytes: &[u8]| match dimension.datatype {
        Datatype::Float32 => bytes.try_into().map_or(0.0, |bytes| f64::from(f32::from_le_bytes(bytes))),
        _ => bytes.try_into().map_or(0.0, f64::from_le_bytes),
    };
    let (low, high) = (number(low), number(high));
    let steps = *random.pick(&[8u64, 1000, 1 << 30])?;
    let share = random.between(0, steps) as f64 / steps as f64;
    let value = (low + (high - low) * share).clamp(low, high);
    // Zero now and then, of one sign in an array: libtiledb orders those of both signs as it happens.
    let zero = if schema.capacity % 2 == 1 { -0.0 } else { 0.0 };
    let value = if value == 0.0 || random.one_in(8) { zero } else { value };
    Some(match dimension.datatype {
        #[expect(clippy::cast_possible_truncation, reason = "the nearest value is wanted")]
        Datatype::Float32 => (value as f32).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    })
}

fn value(random: &mut Random, schema: &ArraySchema, attribute: &Attribute) -> Value {
    let least = usize::from(schema.version.number() < EMPTY_CELLS_SINCE);
    let datatype = attribute.datatype;
    let values = match attribute.cell_val_num {
        count if count.is_var() => random.length(least, 5),
        _ => attribute.fill_value.len() / datatype.size(),
    };
    let strings = attribute
        .filters
        .filters
        .iter()
        .any(|filter| matches!(filter, Filter::Rle { .. } | Filter::Dictionary { .. }));
    let mut bytes = Vec::with_capacity(values * datatype.size());
    for _ in 0..values {
        one(random, datatype, strings, &mut bytes);
    }
    let valid = !attribute.nullable || !random.one_in(3);
    (bytes, valid)
}

fn one(random: &mut Random, datatype: Datatype, few: bool, bytes: &mut Vec<u8>) {
    if datatype.physical().is_float() {
        let value = match random.below(10) {
            0 => 0.0,
            1 => -0.0,
            2 => f64::INFINITY,
            3 => f64::NAN,
            _ => random.below(1 << 20) as f64 / 64.0 - 1000.0,
        };
        match datatype {
            #[expect(clippy::cast_possible_truncation, reason = "the nearest value is wanted")]
            Datatype::Float32 => bytes.extend((value as f32).to_le_bytes()),
            _ => bytes.extend(value.to_le_bytes()),
        }
        return;
    }
    let word = match (datatype.class(), random.below(4)) {
        _ if datatype == Datatype::Bool => random.below(2),
        _ if few => b'a'.into(),
        (DatatypeClass::String, _) => u64::from(b'a') + random.below(26),
        (_, 0) => random.next(),
        (_, 1) => 0,
        _ => random.below(100),
    };
    bytes.extend(word.to_le_bytes().into_iter().take(datatype.size()));
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

/// What an array holds.
#[derive(Clone, Debug)]
pub(super) enum Model {
    /// By ordinals.
    Dense(BTreeMap<Vec<u64>, Row>),
    /// Coordinates and values, in no order.
    Sparse(Vec<(Vec<Vec<u8>>, Row)>),
}

impl Model {
    pub(super) fn new(schema: &ArraySchema, steps: &[Step]) -> Self {
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

    /// The box of a dense array that is read: all that was written, and a little around it.
    pub(super) fn sides(&self, schema: &ArraySchema) -> Option<Vec<(u64, u64)>> {
        let Self::Dense(cells) = self else { return None };
        let sides = schema.domain.dimensions.iter().enumerate().map(|(index, _)| {
            let (least, most) = writable(schema, index)?;
            let along = || cells.keys().filter_map(|cell| cell.get(index).copied());
            let (low, high) = (along().min()?, along().max()?);
            Some((low.saturating_sub(2).max(least), high.saturating_add(2).min(most)))
        });
        sides.collect()
    }

    /// The cells as columns: of a box in an order, or those of a sparse array in no order.
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
