//! Groups, and aggregates of each, are what the cells of the same query make, counted one by one.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use std::collections::BTreeMap;

use proptest::prelude::*;
use tdb_array::error::QueryError;
use tdb_array::query::{Aggregate, AggregateFunction, Grouped};
use tdb_array::schema::{
    ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline,
};
use tdb_array::storage::MemoryStorage;
use tdb_array::{
    Array, Cells, Column, Error, MemoryBudget, OpenOptions, Read, WriteColumn, WriteOptions, field,
};
use tdb_fragment::{Comparison, Condition};

use crate::common::{Strings, arrays};

/// The bytes of a cell; `None` for null.
type Value = Option<Vec<u8>>;

fn value(column: &Column, cell: usize) -> Value {
    (!column.is_null(cell)).then(|| column.cell(cell).unwrap().to_vec())
}

fn is_text(column: &Column) -> bool {
    matches!(column.datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8)
}

fn is_number(column: &Column) -> bool {
    column.cell_val_num == CellValNum::ONE && !is_text(column)
}

fn real(datatype: Datatype, bytes: &[u8]) -> f64 {
    match (datatype, bytes.len()) {
        (Datatype::Float32, _) => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
        (Datatype::Float64, _) => f64::from_le_bytes(bytes.try_into().unwrap()),
        _ => panic!("{datatype:?} is no real type"),
    }
}

fn integer(datatype: Datatype, bytes: &[u8]) -> i128 {
    let signed = datatype.physical().is_signed_integer();
    let negative = signed && bytes.last().unwrap() & 0x80 != 0;
    bytes.iter().rev().fold(if negative { -1 } else { 0 }, |value, byte| value << 8 | i128::from(*byte))
}

/// The value of an aggregate of some cells of a column, as text.
fn naive(aggregate: &Aggregate, cells: &Cells, group: &[usize]) -> String {
    if aggregate.function() == AggregateFunction::Count {
        return group.len().to_string();
    }
    let column = cells.field(aggregate.field().unwrap()).unwrap();
    let all: Vec<Vec<u8>> = group.iter().filter_map(|cell| value(column, *cell)).collect();
    if aggregate.function() == AggregateFunction::NullCount {
        return (group.len() - all.len()).to_string();
    }
    if all.is_empty() {
        return "null".to_owned();
    }
    let max = aggregate.function() == AggregateFunction::Max;
    match aggregate.function() {
        AggregateFunction::Min | AggregateFunction::Max if is_text(column) => {
            let end = if max { all.iter().max() } else { all.iter().min() };
            format!("{:?}", end.unwrap())
        }
        function if matches!(column.datatype, Datatype::Float32 | Datatype::Float64) => {
            let all = all.iter().map(|bytes| real(column.datatype, bytes));
            match function {
                AggregateFunction::Sum => rounded(all.sum()),
                AggregateFunction::Mean => rounded(all.clone().sum::<f64>() / all.count() as f64),
                _ if max => rounded(all.fold(f64::NAN, f64::max)),
                _ => rounded(all.fold(f64::NAN, f64::min)),
            }
        }
        function => {
            let all: Vec<i128> = all.iter().map(|bytes| integer(column.datatype, bytes)).collect();
            let sum: i128 = all.iter().sum();
            let limits = match column.datatype.physical().is_signed_integer() {
                true => (i64::MIN.into(), i64::MAX.into()),
                false => (0, u64::MAX.into()),
            };
            match function {
                AggregateFunction::Sum => sum.clamp(limits.0, limits.1).to_string(),
                AggregateFunction::Mean => rounded(sum as f64 / all.len() as f64),
                _ if max => all.iter().max().unwrap().to_string(),
                _ => all.iter().min().unwrap().to_string(),
            }
        }
    }
}

/// Sums of reals depend on the order of their cells, and which of two zeros is the least one, too.
fn rounded(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { format!("{value:.9e}") }
}

/// The value of an aggregate of a group, as text.
fn found(column: &Column, group: usize) -> String {
    match value(column, group) {
        None => "null".to_owned(),
        Some(bytes) if is_text(column) => format!("{bytes:?}"),
        Some(bytes) if matches!(column.datatype, Datatype::Float32 | Datatype::Float64) => {
            rounded(real(column.datatype, &bytes))
        }
        Some(bytes) => integer(column.datatype, &bytes).to_string(),
    }
}

/// All aggregates of a result's columns.
fn aggregates(cells: &Cells) -> Vec<Aggregate> {
    let mut all = vec![Aggregate::count()];
    for column in cells.columns() {
        let name = column.name.as_str();
        all.push(Aggregate::null_count(name));
        if is_number(column) || is_text(column) {
            all.extend([Aggregate::min(name), Aggregate::max(name)]);
        }
        if is_number(column) {
            all.extend([Aggregate::sum(name), Aggregate::mean(name)]);
        }
    }
    all
}

/// The rows of groups: the keys, and the values of the aggregates.
fn rows(groups: &Grouped) -> Vec<(Vec<Value>, Vec<String>)> {
    let keys = |group| groups.keys().columns().iter().map(|column| value(column, group)).collect();
    let values = |group| groups.values().iter().map(|values| found(&values.column, group)).collect();
    (0..groups.len()).map(|group| (keys(group), values(group))).collect()
}

/// Compares groups with those of the cells of the same query.
fn compare(read: &Read, cells: &Cells, keys: &[&str], aggregates: &[Aggregate], what: &str) -> usize {
    let mut expected: BTreeMap<Vec<Value>, Vec<usize>> = BTreeMap::new();
    for cell in 0..cells.len() {
        let key = keys.iter().map(|key| value(cells.field(key).unwrap(), cell)).collect();
        expected.entry(key).or_default().push(cell);
    }
    let groups = match read.clone().group_by(keys.iter().copied()).aggregate(aggregates.iter().cloned()) {
        Ok(groups) => groups,
        Err(error) => panic!("{what}: {keys:?}: {error}"),
    };
    assert!(groups.keys().columns().iter().map(|column| column.name.as_str()).eq(keys.iter().copied()));
    let mut found = rows(&groups);
    found.sort();
    let expected = expected.into_iter().map(|(key, own)| {
        (key, aggregates.iter().map(|aggregate| naive(aggregate, cells, &own)).collect::<Vec<_>>())
    });
    let expected: Vec<_> = expected.collect();
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(found.0, expected.0, "{what}: {keys:?}");
        for ((found, expected), aggregate) in found.1.iter().zip(&expected.1).zip(aggregates) {
            assert_eq!(found, expected, "{what}: {keys:?}: {aggregate} of {:?}", groups.len());
        }
    }
    assert_eq!(found.len(), expected.len(), "{what}: {keys:?}");
    groups.len()
}

#[test]
fn every_sparse_fixture_has_the_groups_of_its_cells() {
    let mut groups = 0;
    for (name, path) in arrays() {
        let Ok(array) = OpenOptions::new().threads(2).open(path) else { continue };
        if array.schema().array_type == ArrayType::Dense {
            continue;
        }
        let Ok(cells) = array.read().collect() else { continue };
        let fields: Vec<&str> = array.schema().fields().map(|field| field.name).collect();
        let all = aggregates(&cells);
        for (at, one) in fields.iter().enumerate().take(12) {
            let other = fields[(at + 1) % fields.len()];
            groups += compare(&array.read(), &cells, &[one], &all, &name);
            groups += compare(&array.read(), &cells, &[one, other], &all, &name);
            groups += compare(&array.read(), &cells, &[other, one, other], &[], &name);
        }
        compare(&array.read(), &cells, &[], &all, &name);
    }
    assert!(groups > 5000, "{groups} groups");
}

/// A cell: where it is, a small number, a number that selects a wide and a real value, and one that
/// selects texts.
type Cell = (i32, u8, u8, u8);

const WIDE: [i64; 8] = [0, -1, 1, i64::MAX, i64::MIN, i64::MAX - 1, 70_000, -70_000];
const REAL: [f64; 8] = [0.0, -0.0, 1.5, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -2.25, 1e300];
const TEXTS: [&str; 9] = [
    "",
    "a",
    "a\0",
    "12345678",
    "123456789",
    "0123456789abcdef",
    "0123456789abcdefg",
    "0123456789abcdefh",
    "z",
];

fn create(duplicates: bool, capacity: u64) -> MemoryStorage {
    let with = |mut attribute: Attribute, nullable: bool, filters: Vec<Filter>| {
        attribute.nullable = nullable;
        attribute.with_filters(Pipeline::new(filters))
    };
    let number = |name: &str, datatype| Attribute::new(name, datatype, CellValNum::ONE);
    let text = |name: &str| Attribute::new(name, Datatype::StringUtf8, CellValNum::Var);
    let mut builder = ArraySchema::sparse()
        .dimension(Dimension::new("i", -500i32..=499).with_tile(100))
        .capacity(capacity)
        .attribute(with(number("small", Datatype::Uint8), true, vec![]))
        .attribute(with(number("wide", Datatype::Int64), false, vec![Filter::Zstd { level: 1 }]))
        .attribute(with(number("unsigned", Datatype::Uint64), true, vec![]))
        .attribute(with(number("real", Datatype::Float64), true, vec![]))
        .attribute(with(number("short", Datatype::Float32), false, vec![]))
        .attribute(with(text("plain"), true, vec![Filter::Lz4 { level: 1 }]))
        .attribute(with(text("dictionary"), true, vec![Filter::Dictionary { level: 0 }]))
        .attribute(with(text("runs"), false, vec![Filter::Rle { level: 0 }]))
        .attribute(with(
            Attribute::new("pair", Datatype::Int16, CellValNum::from_code(2).unwrap()),
            false,
            vec![],
        ));
    if duplicates {
        builder = builder.allow_duplicates();
    }
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &builder.build().unwrap()).unwrap();
    storage
}

fn write(storage: &MemoryStorage, time: u64, cells: &[Cell], duplicates: bool) {
    let mut cells = cells.to_vec();
    if !duplicates {
        cells.sort_unstable();
        cells.dedup_by_key(|cell| cell.0);
    }
    if cells.is_empty() {
        return;
    }
    let of = |list: &[i64; 8], cell: &Cell| list[usize::from(cell.2) % 8];
    let places: Vec<i32> = cells.iter().map(|cell| cell.0).collect();
    let small: Vec<u8> = cells.iter().map(|cell| cell.1).collect();
    let wide: Vec<i64> = cells.iter().map(|cell| of(&WIDE, cell)).collect();
    let unsigned: Vec<u64> = wide.iter().map(|value| value.cast_unsigned()).collect();
    let reals: Vec<f64> = cells.iter().map(|cell| REAL[usize::from(cell.2) % 8]).collect();
    let shorts: Vec<f32> = cells.iter().map(|cell| f32::from(cell.1) / 3.0 - 10.0).collect();
    let pairs: Vec<i16> = cells.iter().flat_map(|cell| [i16::from(cell.1 % 3), -1]).collect();
    let texts = Strings::new(cells.iter().map(|cell| TEXTS[usize::from(cell.3) % 9].to_owned()));
    let validity: Vec<u8> = cells.iter().map(|cell| u8::from(cell.3 % 4 != 0)).collect();
    let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("i", &places));
    let write = write.column(WriteColumn::fixed("small", &small).nullable(&validity));
    let write = write.column(WriteColumn::fixed("wide", &wide));
    let write = write.column(WriteColumn::fixed("unsigned", &unsigned).nullable(&validity));
    let write = write.column(WriteColumn::fixed("real", &reals).nullable(&validity));
    let write = write.column(WriteColumn::fixed("short", &shorts));
    let write = write.column(texts.column("plain").nullable(&validity));
    let write = write.column(texts.column("dictionary").nullable(&validity));
    write.column(texts.column("runs")).column(WriteColumn::fixed("pair", &pairs)).commit().unwrap();
}

fn open(storage: &MemoryStorage, threads: usize) -> Array {
    OpenOptions::new().threads(threads).open_storage(storage.clone()).unwrap()
}

const FIELDS: [&str; 10] =
    ["i", "small", "wide", "unsigned", "real", "short", "plain", "dictionary", "runs", "pair"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 256 }))]

    #[test]
    fn random_arrays_and_queries_have_the_groups_of_their_cells(
        fragments in prop::collection::vec(
            prop::collection::vec((-500i32..500, 0u8..20, any::<u8>(), any::<u8>()), 0..120), 1..4),
        duplicates: bool,
        capacity in 1u64..60,
        deleted in prop::option::of(0i64..20),
        keys in prop::collection::vec(0usize..10, 0..4),
        (low, len) in (-500i32..500, 0i32..1000),
        conditioned: bool,
    ) {
        let storage = create(duplicates, capacity);
        for (at, cells) in (1u64..).zip(&fragments) {
            write(&storage, at * 10, cells, duplicates);
        }
        if let Some(number) = deleted {
            let writer = WriteOptions::new().timestamp(15).open_storage(storage.clone()).unwrap();
            let (field, operands) = ("wide".to_owned(), vec![WIDE[usize::try_from(number % 8).unwrap()].to_le_bytes().to_vec()]);
            writer.delete(&Condition::Value { field, comparison: Comparison::Equal, operands }).unwrap();
        }
        let query = |array: &Array| {
            let read = array.read().range("i", low..=(low + len).min(499));
            if conditioned { read.condition(field("short").lt(-7.0).or(field("plain").eq("a"))) } else { read }
        };
        let array = open(&storage, 2);
        let cells = query(&array).collect().unwrap();
        let keys: Vec<&str> = keys.iter().map(|key| FIELDS[*key]).collect();
        let mut keys = keys;
        keys.dedup();
        let all = aggregates(&cells);
        compare(&query(&array), &cells, &keys, &all, "random");
        // Neither the order nor the last bit of a sum depends on the number of threads.
        let ask = |array: &Array| rows(&query(array).group_by(keys.iter().copied()).aggregate(all.clone()).unwrap());
        prop_assert_eq!(ask(&open(&storage, 1)), ask(&open(&storage, 3)));
    }

    #[test]
    fn the_least_memory_that_an_error_names_is_enough(
        cells in prop::collection::vec((-500i32..500, 0u8..20, any::<u8>(), any::<u8>()), 1..400),
        duplicates: bool,
        twice: bool,
        bits in 10u32..24,
        keys in prop::sample::select(vec![&[][..], &["plain"], &["i", "plain"]]),
        conditioned: bool,
    ) {
        let storage = create(duplicates, 50);
        write(&storage, 10, &cells, duplicates);
        if twice {
            write(&storage, 20, &cells[cells.len() / 2..], duplicates);
        }
        let array = open(&storage, 2);
        let read = if conditioned { array.read().condition(field("small").lt(2)) } else { array.read() };
        let all = read.clone().collect().unwrap();
        let groups = |budget: MemoryBudget| {
            read.clone().memory(budget).group_by(keys.iter().copied()).aggregate([Aggregate::count()])
        };
        let enough = match groups(MemoryBudget::from_bytes(1 << bits)) {
            Err(Error::Query(QueryError::BudgetTooSmall { min, .. })) => min,
            other => {
                other.unwrap();
                MemoryBudget::from_bytes(1 << bits)
            }
        };
        compare(&read.clone().memory(enough), &all, keys, &[Aggregate::count()], "enough");
    }
}

#[test]
fn many_tiles_and_values_have_the_groups_of_their_cells() {
    // Several runs of tiles (2^18 cells), whose words lie near each other in some, and far apart in
    // others.
    let storage = {
        let schema = ArraySchema::sparse()
            .dimension(Dimension::new("i", 0i64..=999_999))
            .capacity(20_000)
            .attribute(Attribute::new("near", Datatype::Int32, CellValNum::ONE))
            .attribute(Attribute::new("far", Datatype::Uint64, CellValNum::ONE))
            .attribute(Attribute::new("value", Datatype::Float64, CellValNum::ONE))
            .attribute(Attribute::new("word", Datatype::StringUtf8, CellValNum::Var));
        let storage = MemoryStorage::default();
        WriteOptions::new().create_storage(&storage, &schema.build().unwrap()).unwrap();
        storage
    };
    let places: Vec<i64> = (0..600_000).collect();
    // The values of later tiles are far from those of earlier ones, and of the last tiles far from
    // each other.
    let near: Vec<i32> = (0..600_000).map(|at: i32| at % 700 + at / 100_000 * 50_000 - 1000).collect();
    let far: Vec<u64> = (0..600_000u64).map(|at| (at % 50).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let values: Vec<f64> = (0..600_000).map(|at| f64::from(at % 1000) * 0.1).collect();
    let writer = WriteOptions::new().timestamp(1).open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("i", &places));
    let write = write.column(WriteColumn::fixed("near", &near)).column(WriteColumn::fixed("far", &far));
    // Each run of tiles has words that no run before it has, and words that the next one has too.
    let word = |at: i64| format!("{:x}", (at % 60_000 + at / 200_000 * 20_000) * 7919 % 1_000_003);
    let words = Strings::new(places.iter().map(|at| word(*at)));
    let write = write.column(words.column("word"));
    write.column(WriteColumn::fixed("value", &values)).commit().unwrap();
    let array = open(&storage, 2);
    let cells = array.read().collect().unwrap();
    let all = [Aggregate::count(), Aggregate::sum("value"), Aggregate::max("far"), Aggregate::mean("near")];
    assert_eq!(compare(&array.read(), &cells, &["near"], &all, "near"), 4200);
    assert_eq!(compare(&array.read(), &cells, &["far"], &all, "far"), 50);
    assert_eq!(compare(&array.read(), &cells, &["far", "near"], &all, "both"), 4200);
    assert_eq!(compare(&array.read(), &cells, &["near", "value"], &all, "many"), 42_000);
    // So many groups come in no order, but always in the same.
    let mut orders = std::collections::BTreeSet::new();
    for threads in [1, 2, 5] {
        let wanted = [Aggregate::count(), Aggregate::sum("value"), Aggregate::min("near")];
        let groups = open(&storage, threads).read().group_by(["i"]).aggregate(wanted).unwrap();
        let own = groups.keys().field("i").unwrap().values::<i64>().unwrap().to_vec();
        let [counts, sums, ends] = groups.values() else { panic!("{groups:?}") };
        assert!(counts.column.values::<u64>().unwrap().iter().all(|count| *count == 1));
        let (sums, ends) = (sums.column.values::<f64>().unwrap(), ends.column.values::<i32>().unwrap());
        for (at, (sum, end)) in own.iter().map(|at| usize::try_from(*at).unwrap()).zip(sums.iter().zip(ends))
        {
            assert_eq!((*sum, *end), (values[at], near[at]));
        }
        orders.insert(own.clone());
        let mut sorted = own;
        sorted.sort_unstable();
        assert_eq!(sorted, places);
    }
    assert_eq!(orders.len(), 1);
    for (keys, least) in [(&["word"][..], 90_000), (&["near", "word"], 100_000)] {
        let all = [Aggregate::count(), Aggregate::sum("near"), Aggregate::min("i"), Aggregate::max("value")];
        let ask = |threads| {
            let groups = open(&storage, threads).read().group_by(keys.iter().copied());
            rows(&groups.aggregate(all.clone()).unwrap())
        };
        let expected = ask(1);
        for threads in [2, 5] {
            assert!(ask(threads) == expected, "{keys:?} with {threads} threads");
        }
        assert!(expected.len() > least, "{keys:?}: {}", expected.len());
        if let [_] = keys {
            compare(&array.read(), &cells, keys, &all, "words");
        }
    }

    // Little memory reads the tiles in several steps, and only the first one has cells: statistics
    // do not say so.
    let few = array.read().condition(field("near").eq(-1000).or(field("far").eq(12_345u64)));
    let cells = few.clone().collect().unwrap();
    let mut answered = 0;
    for kibibytes in [256u64, 512, 1024, 2048, 4096, 8192, 16_384] {
        let limited = few.clone().memory(MemoryBudget::from_bytes(kibibytes << 10));
        for keys in [&[][..], &["far"]] {
            match limited.clone().group_by(keys.iter().copied()).aggregate([]) {
                Err(Error::Query(QueryError::BudgetTooSmall { .. })) => {}
                other => {
                    other.unwrap();
                    compare(&limited, &cells, keys, &all, "few");
                    answered += 1;
                }
            }
        }
    }
    assert!(answered >= 4, "{answered}");

    let refused = array.read().group_by(["near"]).max_groups(4199).aggregate([]);
    assert!(matches!(refused, Err(Error::Query(QueryError::TooManyGroups { max: 4199 }))), "{refused:?}");
    assert_eq!(array.read().group_by(["near"]).max_groups(4200).aggregate([]).unwrap().len(), 4200);
}

#[test]
fn very_many_groups_of_every_type_are_those_of_their_cells() {
    let storage = create(true, 3000);
    let mut state = 7u32;
    let mut next = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % below
    };
    for time in 1..4 {
        let mut cell = || {
            let place = i32::try_from(next(1000)).unwrap() - 500;
            let [small, number, text] =
                [next(20), next(256), next(256)].map(|value| u8::try_from(value).unwrap());
            (place, small, number, text)
        };
        let cells: Vec<Cell> = (0..40_000).map(|_| cell()).collect();
        write(&storage, time, &cells, true);
    }
    let array = open(&storage, 2);
    let cells = array.read().collect().unwrap();
    let all = [
        Aggregate::count(),
        Aggregate::null_count("plain"),
        Aggregate::sum("wide"),
        Aggregate::mean("real"),
        Aggregate::min("unsigned"),
        Aggregate::max("short"),
        Aggregate::sum("small"),
    ];
    for keys in [&["real", "i", "small", "runs"][..], &["i", "unsigned", "dictionary", "pair"]] {
        let groups = compare(&array.read(), &cells, keys, &all, "very many");
        assert!(groups > 1 << 16, "{keys:?}: {groups}");
        let ask = |threads, all: &[Aggregate]| {
            let groups = open(&storage, threads).read().group_by(keys.iter().copied());
            rows(&groups.aggregate(all.iter().cloned()).unwrap())
        };
        assert!(ask(1, &all) == ask(3, &all), "{keys:?}");
        // With little memory, the tiles come in several groups.
        let some = [Aggregate::count(), Aggregate::mean("short")];
        let limited = |mebibytes: u64| array.read().memory(MemoryBudget::from_bytes(mebibytes << 20));
        compare(&limited(256), &cells, keys, &some[..1], "limited");
        let refused = limited(1).group_by(keys.iter().copied()).aggregate(some.iter().cloned());
        assert!(matches!(refused, Err(Error::Query(QueryError::BudgetTooSmall { .. }))), "{refused:?}");
        let refused = array.read().group_by(keys.iter().copied()).max_groups(groups - 1).aggregate(some);
        assert!(matches!(refused, Err(Error::Query(QueryError::TooManyGroups { .. }))), "{refused:?}");
    }
}

#[test]
fn sums_that_do_not_fit_say_so() {
    let storage = create(true, 10);
    write(&storage, 1, &[(0, 1, 3, 1), (1, 1, 3, 1), (2, 2, 3, 1)], true);
    let groups = open(&storage, 1).read().group_by(["small"]).aggregate([Aggregate::sum("wide")]).unwrap();
    assert_eq!(groups.values()[0].integers().unwrap(), [Some(i64::MAX.into()), Some(i64::MAX.into())]);
    assert!(groups.values()[0].overflowed);
    let wanted =
        [Aggregate::count(), Aggregate::sum("real"), Aggregate::min("runs"), Aggregate::mean("wide")];
    let none = open(&storage, 1).read().range("i", 5..=9).group_by(["small"]).aggregate(wanted).unwrap();
    let types: Vec<Datatype> = none.values().iter().map(|values| values.column.datatype).collect();
    assert!(none.is_empty());
    assert_eq!(types, [Datatype::Uint64, Datatype::Float64, Datatype::StringUtf8, Datatype::Float64]);
}

#[test]
fn what_cannot_be_grouped_is_refused_with_the_reason() {
    let storage = create(true, 10);
    write(&storage, 1, &[(0, 1, 3, 1)], true);
    let refused = open(&storage, 1).read().group_by(["nothing"]).aggregate([]).unwrap_err().to_string();
    assert!(refused.contains("\"nothing\"") && refused.contains("dictionary"), "{refused}");
    let refused = open(&storage, 1).read().group_by(["i"]).aggregate([Aggregate::sum("plain")]).unwrap_err();
    assert!(refused.to_string().contains("single numbers"), "{refused}");
    let dense = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    let refused = Array::open(dense).unwrap().read().group_by(["a"]).aggregate([]).unwrap_err();
    assert!(refused.to_string().contains("dense arrays are not supported"), "{refused}");
}
