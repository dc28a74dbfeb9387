//! Queries made of a few bytes.

use tdb_array::query::{Aggregate, AggregateValue, GroupedValues, Operand, QueryCondition, QueryDescription};
use tdb_array::schema::{ArraySchema, ArrayType, Datatype, Range};
use tdb_array::{Array, Cells, Error, Layout, MemoryBudget, Read, Result, field};
use tdb_codec::to_u64;
use tdb_schema::{Dimension, DimensionLabel};

use crate::input::Input;

/// Most memory of a query; the smallest budget of its batches is a thousandth.
const MEMORY: u64 = 1 << 20;

/// Most batches that are read of one query: a few cells each would be thousands.
const MOST_BATCHES: usize = 400;

const ORDERS: [Layout; 4] = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered];

/// Most bytes of a batch's cells; the smallest is a 4096th.
const BATCH: u64 = 1 << 18;

/// What was read, or why not: whatever is in the files, that is never a fault of the engine.
pub(crate) fn no_fault<T>(result: Result<T>) -> Result<T> {
    if let Err(error) = &result {
        assert!(!matches!(error, Error::Internal(_)), "{error}");
    }
    result
}

/// Asks the array for several ranges or points of each dimension, ranges of labels, some fields,
/// with a condition: whole, in batches, and for aggregates. No batch is larger than it may be. Of
/// an array whose files do not contradict each other (`sound`), batches are the whole, and as many
/// cells are counted.
pub(crate) fn ask(array: &Array, bytes: &[u8], sound: bool) {
    let mut input = Input::new(bytes);
    let schema = array.schema();
    let order = pick(&ORDERS, &mut input).copied().unwrap_or(Layout::Unordered);
    let mut read = array.read().order(order);
    for (index, dimension) in schema.domain.dimensions.iter().enumerate() {
        let kind = input.u8();
        for _ in 0..kind % 4 {
            let [low, high] = ends(array, index, dimension, &mut input);
            let high = if kind & 0x80 == 0 { high } else { low.clone() };
            read = read.range_bytes(dimension.name.clone(), low, high);
        }
    }
    if !schema.labels.is_empty() && !input.u8().is_multiple_of(4) {
        for label in &schema.labels {
            let (low, high) = (label_end(label, &mut input), label_end(label, &mut input));
            read = read.label_range_bytes(label.name.clone(), low, high);
        }
    }
    if input.u8().is_multiple_of(4) {
        let labels = schema.labels.iter().map(|label| label.name.as_str());
        let names: Vec<&str> =
            schema.fields().map(|field| field.name).chain(["__timestamps"]).chain(labels).collect();
        let chosen = (0..1 + input.u8() % 3).filter_map(|_| pick(&names, &mut input).copied());
        read = read.fields(chosen.collect::<Vec<_>>());
    }
    if input.u8().is_multiple_of(2) {
        read = read.condition(condition(schema, &mut input, 2));
    }
    let budget = MemoryBudget::from_bytes(MEMORY >> (input.u8() % 11));
    let _ = no_fault(read.clone().explain());
    let whole = no_fault(read.clone().memory(MemoryBudget::from_bytes(MEMORY)).collect());
    if let Ok(whole) = &whole {
        assert!(bytes_of(whole) <= MEMORY, "{} bytes within {MEMORY}", bytes_of(whole));
    }
    let batch = MemoryBudget::from_bytes(BATCH >> (input.u8() % 13));
    let memory = MemoryBudget::from_bytes(MEMORY);
    // A tile that is read whole may be a batch of its own, however large it is.
    let by_tile = matches!(order, Layout::GlobalOrder | Layout::Unordered);
    let within = [
        (budget, read.clone().memory(budget)),
        (if by_tile { memory } else { batch }, read.clone().memory(memory).batch_memory(batch)),
    ];
    let counted = no_fault(read.clone().aggregate([Aggregate::count()]));
    for (budget, read) in within {
        let known = whole.as_ref().ok().filter(|_| sound);
        compare(read, budget, known, order);
    }
    if let (true, Ok(whole), Ok(counted), ArrayType::Sparse) = (sound, &whole, counted, schema.array_type) {
        assert_eq!(counted.first().and_then(AggregateValue::as_u64), Some(to_u64(whole.len())));
    }
    // Cells at NaN lie in no range.
    let reals = schema.domain.dimensions.iter().any(|dimension| dimension.datatype.physical().is_float());
    let most = usize::from(input.u8() % 6);
    let parts = no_fault(read.clone().memory(MemoryBudget::from_bytes(MEMORY)).partitions(most));
    if let (true, Ok(whole), Ok(parts)) = (sound && !reals, &whole, parts) {
        compare_parts(parts, whole);
    }
    aggregate(read.memory(budget), schema, &mut input, sound);
}

/// Reads the parts of a query, described and as they are: together they are `whole`, if the memory
/// is enough for each.
fn compare_parts(parts: Vec<Read>, whole: &Cells) {
    let found: Result<Vec<Cells>> = parts
        .into_iter()
        .map(|part| {
            let bytes = part.describe("").map(|description| description.to_bytes())?;
            assert!(QueryDescription::from_bytes(&bytes).is_ok_and(|same| same.to_bytes() == bytes));
            part.collect()
        })
        .collect();
    let Ok(found) = found else { return };
    let mut found: Vec<Vec<u8>> = found.iter().flat_map(rows).collect();
    let mut expected = rows(whole);
    expected.sort();
    found.sort();
    assert!(found == expected, "{} cells in parts, not {}", found.len(), expected.len());
}

/// Reads in batches, none of which may be larger than its budget; together they are `whole`, if
/// that is known.
fn compare(read: Read, budget: MemoryBudget, whole: Option<&Cells>, order: Layout) {
    let mut most = 0;
    let measured = |batch: Result<Cells>| {
        batch.inspect(|batch| {
            most = most.max(bytes_of(batch));
        })
    };
    let batches = read.batches();
    let batches =
        batches.and_then(|batches| batches.take(MOST_BATCHES).map(measured).collect::<Result<Vec<Cells>>>());
    let batches = no_fault(batches);
    assert!(most <= budget.bytes(), "a batch of {most} bytes within {budget}");
    if let (Some(whole), Ok(batches)) = (whole, batches)
        && batches.len() < MOST_BATCHES
    {
        let mut expected = rows(whole);
        let mut found: Vec<Vec<u8>> = batches.iter().flat_map(rows).collect();
        if order == Layout::Unordered {
            expected.sort();
            found.sort();
        }
        assert!(
            found == expected,
            "{} cells in batches within {budget}, not {}",
            found.len(),
            expected.len()
        );
    }
}

/// Bytes of a result's columns.
fn bytes_of(cells: &Cells) -> u64 {
    let columns = cells.columns().iter().map(|column| {
        let offsets = column.offsets().map_or(0, |offsets| offsets.len().saturating_mul(8));
        let validity = column.validity().map_or(0, <[u8]>::len);
        to_u64(column.bytes().len().saturating_add(offsets).saturating_add(validity))
    });
    columns.sum()
}

/// A value of a label's type, or none.
fn label_end(label: &DimensionLabel, input: &mut Input<'_>) -> Option<Vec<u8>> {
    let byte = input.u8();
    let len = if label.cell_val_num.is_var() { usize::from(byte % 3) } else { label.datatype.size() };
    let mut end = vec![if byte & 0x80 == 0 { 0 } else { 0xff }; len];
    end.first_mut().into_iter().for_each(|first| *first = byte);
    (!byte.is_multiple_of(7)).then_some(end)
}

/// Asks for aggregates of one field: one that its type does not have is refused, and takes the
/// others along.
fn aggregate(read: Read, schema: &ArraySchema, input: &mut Input<'_>, sound: bool) {
    let names: Vec<&str> = schema.fields().map(|field| field.name).collect();
    let Some(name) = pick(&names, input).copied() else { return };
    let _ = no_fault(read.clone().aggregate([Aggregate::count(), Aggregate::null_count(name)]));
    let _ = no_fault(read.clone().aggregate([Aggregate::sum(name), Aggregate::mean(name)]));
    let _ = no_fault(read.clone().aggregate([Aggregate::min(name), Aggregate::max(name)]));
    let other = pick(&names, input).copied().unwrap_or(name);
    let _ = no_fault(read.clone().group_by([name]).aggregate([Aggregate::max(other), Aggregate::sum(other)]));
    let groups = no_fault(
        read.clone().group_by([name, other]).aggregate([Aggregate::count(), Aggregate::null_count(name)]),
    );
    if let (true, Ok(groups), Ok(counted)) = (sound, groups, read.aggregate([Aggregate::count()])) {
        let cells = groups.values().first().and_then(GroupedValues::integers).unwrap_or_default();
        let cells: i128 = cells.into_iter().flatten().sum();
        let counted = counted.first().and_then(AggregateValue::as_u64);
        assert_eq!(u64::try_from(cells).ok(), counted, "each cell is in one group");
    }
}

/// Two ends near what was written: in order, if they have one.
fn ends(array: &Array, index: usize, dimension: &Dimension, input: &mut Input<'_>) -> [Option<Vec<u8>>; 2] {
    let written = array.non_empty_domain().and_then(|domain| domain.into_iter().nth(index));
    let domain = written.map(|range| (range.low, range.high)).or_else(|| dimension.domain.clone());
    let (low, high) = domain.unwrap_or_default();
    let mut end = || {
        let (kind, by) = (input.u8(), input.u8());
        let mut end = if kind & 1 == 0 { low.clone() } else { high.clone() };
        let byte = if dimension.is_var() { end.last_mut() } else { end.first_mut() };
        byte.into_iter().for_each(|byte| *byte = byte.wrapping_add(by % 16).wrapping_sub(8));
        (kind & 0x70 != 0).then_some(end)
    };
    let ends = [end(), end()];
    match &ends {
        [Some(first), Some(second)] if Range::compare(dimension.datatype, first, second).is_gt() => {
            let [first, second] = ends;
            [second, first]
        }
        _ => ends,
    }
}

fn condition(schema: &ArraySchema, input: &mut Input<'_>, depth: u8) -> QueryCondition {
    let inner = depth.saturating_sub(1);
    match input.u8() % 8 {
        0 if depth > 0 => return condition(schema, input, inner).and(condition(schema, input, inner)),
        1 if depth > 0 => return condition(schema, input, inner).or(condition(schema, input, inner)),
        2 if depth > 0 => return !condition(schema, input, inner),
        _ => {}
    }
    let fields: Vec<_> = schema.fields().collect();
    let Some(chosen) = pick(&fields, input) else { return field("").is_null() };
    let mut operand = || -> Operand {
        let byte = input.u8();
        match chosen.datatype {
            Datatype::Bool => Operand::Bool(byte != 0),
            Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8 => {
                Operand::Bytes(vec![byte; usize::from(byte % 3)])
            }
            other if other.physical().is_float() => Operand::Float(f64::from(byte.cast_signed()) / 4.0),
            _ => Operand::Int(i128::from(byte.cast_signed())),
        }
    };
    let (first, second) = (operand(), operand());
    let test = field(chosen.name);
    match input.u8() % 10 {
        0 => test.eq(first),
        1 => test.ne(first),
        2 => test.lt(first),
        3 => test.le(first),
        4 => test.gt(first),
        5 => test.ge(first),
        6 => test.is_in([first, second]),
        7 => test.not_in([first, second]),
        8 => test.is_null(),
        _ => test.is_not_null(),
    }
}

fn pick<'a, T>(values: &'a [T], input: &mut Input<'_>) -> Option<&'a T> {
    values.get(usize::from(input.u8()).checked_rem(values.len())?)
}

/// One row a cell: its values, their lengths, and which are null.
fn rows(cells: &Cells) -> Vec<Vec<u8>> {
    let row = |at: usize| {
        let mut row = Vec::new();
        for column in cells.columns() {
            let value = column.cell(at).unwrap_or_default();
            row.push(u8::from(column.is_null(at)));
            row.extend_from_slice(&to_u64(value.len()).to_le_bytes());
            row.extend_from_slice(value);
        }
        row
    };
    (0..cells.len()).map(row).collect()
}
