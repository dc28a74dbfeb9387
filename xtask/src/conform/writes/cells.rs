//! Random cells, and other operations on an array.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{SystemTime, UNIX_EPOCH};

use tdb_array::schema::{ArraySchema, ArrayType, Datatype};
use tdb_array::write::Duplicates;
use tdb_codec::{DataOrder, DatatypeClass, Gate, Layout, to_u64};
use tdb_filters::Filter;
use tdb_schema::{Attribute, Dimension, MetadataValue};

use super::dimensions::real_bytes;
use super::model::{Act, How, Row, Step, Value};
use super::schemas::EMPTY_CELLS_SINCE;
use crate::conform::random::Random;

/// The time of writes in the future: in the year 2100.
pub(in crate::conform) const FUTURE: u64 = 4_102_444_800_000;
/// Types of metadata values that all versions with metadata have.
const METADATA_TYPES: [Datatype; 8] = [
    Datatype::Int32,
    Datatype::Int64,
    Datatype::Float32,
    Datatype::Float64,
    Datatype::Uint8,
    Datatype::Uint16,
    Datatype::StringAscii,
    Datatype::StringUtf8,
];

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.ok().and_then(|since| u64::try_from(since.as_millis()).ok()).unwrap_or(0)
}

/// The operations on the array of a case.
pub(super) fn draw(random: &mut Random, schema: &ArraySchema) -> Vec<Act> {
    let count = random.length(1, 4);
    let dense = schema.array_type == ArrayType::Dense;
    // In wide domains, all writes are near these positions.
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
    let mut times = times(random, count);
    let mut acts: Vec<Act> = Vec::new();
    let mut seen: BTreeSet<Vec<Vec<u8>>> = BTreeSet::new();
    let mut last = 0;
    for index in 0..count {
        let Some(mut time) = times.get(index).copied() else { break };
        // Some writes have the same time. Of dense writes, the later one takes precedence.
        // libtiledb's row-major reader of sparse arrays returns cells sometimes of one and
        // sometimes of the other, so these writes have no coordinates in common.
        let again = index > 0 && last > 0 && random.one_in(4);
        if again {
            time = last;
        }
        let step =
            if dense { self::dense(random, schema, time, &anchors) } else { sparse(random, schema, time) };
        let Some(mut step) = step else { continue };
        if !dense {
            if again && !schema.allows_duplicates {
                step.cells.retain(|(at, _)| !seen.contains(at));
            } else {
                seen.clear();
            }
            seen.extend(step.cells.iter().map(|(at, _)| at.clone()));
        }
        if step.cells.is_empty() {
            continue;
        }
        last = time;
        acts.push(Act::Write(step));
        if !again && schema.version.has(Gate::ArrayMetadata) && random.one_in(5) {
            acts.push(metadata(random, time));
        }
        if index > 0 && random.one_in(3) {
            acts.push(Act::Consolidate);
            // Later writes have later times, because the first time of their fragment decides which
            // dense cells take precedence.
            let newest = acts.iter().filter_map(Act::time).max().unwrap_or(0);
            for (later, time) in times.iter_mut().skip(index + 1).enumerate() {
                *time = newest + 10 * to_u64(later + 1);
            }
            last = 0;
            if random.one_in(3) {
                acts.push(Act::Vacuum);
            }
        }
    }
    acts
}

/// The times of writes: one after another, in any order, or partly in the future.
fn times(random: &mut Random, count: usize) -> Vec<u64> {
    let mut times: Vec<u64> = (1..=to_u64(count)).map(|at| 10 * at).collect();
    match random.below(8) {
        0 | 1 => {
            for at in (1..count).rev() {
                times.swap(at, random.length(0, at));
            }
        }
        2 => {
            let from = random.length(0, count);
            times.iter_mut().skip(from).for_each(|time| *time += FUTURE);
        }
        _ => {}
    }
    times
}

fn metadata(random: &mut Random, time: u64) -> Act {
    let entries = (0..random.length(1, 3)).map(|_| {
        let key = format!("key {}", random.below(4));
        let datatype = random.pick(&METADATA_TYPES).copied().unwrap_or(Datatype::Int32);
        let value = (!random.one_in(4)).then(|| {
            let mut data = Vec::new();
            (0..random.length(1, 3)).for_each(|_| one(random, datatype, false, &mut data));
            MetadataValue { datatype, data }
        });
        (key, value)
    });
    Act::Metadata { time, entries: entries.collect::<BTreeMap<_, _>>() }
}

/// The ordinals that may be written along a dimension of a dense array.
pub(super) fn writable(schema: &ArraySchema, index: usize) -> Option<(u64, u64)> {
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
    let max = match dimensions.len() {
        1 => 120,
        2 => 16,
        _ => 6,
    };
    let mut sides = Vec::new();
    for (index, dimension) in dimensions.iter().enumerate() {
        let (low, high) = writable(schema, index)?;
        // Sometimes the whole range.
        if (ordered || random.one_in(3)) && high - low < max {
            sides.push((low, high));
        } else {
            let base = anchors.get(index).copied().unwrap_or(low);
            let first = base.saturating_add(random.below((high - base).min(max).saturating_add(1)));
            sides
                .push((first, first.saturating_add(random.below((high - first).min(max).saturating_add(1)))));
        }
        if layout == Layout::GlobalOrder {
            let extent = dimension.extent_cells()?;
            let (first, last) = sides.pop()?;
            // Whole tiles.
            let (first, last) =
                (first / extent * extent, (last / extent).checked_add(1)?.checked_mul(extent)? - 1);
            if first < low || last > high || last - first > max.saturating_mul(4) {
                layout = if random.one_in(2) { Layout::RowMajor } else { Layout::ColMajor };
                return dense_in(random, schema, time, layout, anchors, sides);
            }
            sides.push((first, last));
        }
    }
    finish_dense(random, schema, time, layout, sides)
}

/// A write not in global order, some of whose sides are not chosen yet.
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

/// Sorts the values of an ordered attribute in its order.
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
    let max = *random.pick(&[3, 40, 300])?;
    let count = random.length(1, max);
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
        let max = *random.pick(&[1, 3, 12])?;
        let len = random.length(usize::from(schema.version.number() < EMPTY_CELLS_SINCE), max);
        let (first, letters) = *random.pick(&[(b'a', 26), (0x7e, 4), (0, 256)])?;
        let mut word: Vec<u8> =
            (0..len).map(|_| first.wrapping_add(u8::try_from(random.below(letters)).unwrap_or(0))).collect();
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
    let value = match random.below(8) {
        0 => low,
        1 => high,
        2 => beside(dimension.datatype, low, true),
        3 => beside(dimension.datatype, high, false),
        // Not computed from the difference of the ends, which may overflow.
        _ => low * (1.0 - share) + high * share,
    };
    let value = value.clamp(low, high);
    // Sometimes zero, with the same sign in the whole array: libtiledb does not order zeros of both
    // signs consistently.
    let zero = if schema.capacity % 2 == 1 { -0.0 } else { 0.0 };
    let within = low <= 0.0 && high >= 0.0;
    let value = if value == 0.0 || within && random.one_in(8) { zero } else { value };
    Some(real_bytes(dimension.datatype, value))
}

/// The next larger or smaller number of a type.
fn beside(datatype: Datatype, value: f64, above: bool) -> f64 {
    if datatype == Datatype::Float64 {
        return if above { value.next_up() } else { value.next_down() };
    }
    #[expect(clippy::cast_possible_truncation, reason = "it is a number of the narrow type")]
    let value = value as f32;
    f64::from(if above { value.next_up() } else { value.next_down() })
}

fn value(random: &mut Random, schema: &ArraySchema, attribute: &Attribute) -> Value {
    let min = usize::from(schema.version.number() < EMPTY_CELLS_SINCE);
    let datatype = attribute.datatype;
    let values = match attribute.cell_val_num {
        count if count.is_var() => random.length(min, 5),
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
        bytes.extend(real_bytes(datatype, value));
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
