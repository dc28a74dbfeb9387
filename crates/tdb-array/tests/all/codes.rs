//! Strings that stay as they are stored, each once and a code for each cell, are the strings of an
//! ordinary read.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

use proptest::prelude::*;
use tdb_array::error::QueryError;
use tdb_array::query::{Aggregate, QueryCondition};
use tdb_array::schema::{
    ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline,
};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Cells, Error, Layout, MemoryBudget, OpenOptions, Read, WriteOptions, field};
use tdb_fragment::{Comparison, Condition};

use crate::common::{Strings, arrays, row};

const ORDERS: [Layout; 4] = [Layout::Unordered, Layout::GlobalOrder, Layout::RowMajor, Layout::ColMajor];

const RUNS: Filter = Filter::Rle { level: 0 };
const ZSTD: Filter = Filter::Zstd { level: 3 };

/// Reads with and without codes, compares all cells, and returns how many columns have codes.
fn compare(read: impl Fn() -> Read, what: &str) -> usize {
    let plain = match read().collect() {
        Ok(plain) => plain,
        Err(error) => {
            assert_eq!(
                read().dictionary_codes(true).collect().unwrap_err().to_string(),
                error.to_string(),
                "{what}"
            );
            return 0;
        }
    };
    let coded = read().dictionary_codes(true).collect().unwrap();
    let rows = |cells: &Cells| (0..cells.len()).map(|cell| row(cells, cell)).collect::<Vec<_>>();
    assert_eq!(rows(&coded), rows(&plain), "{what}");
    assert!(plain.columns().iter().all(|column| column.codes().is_none()), "{what}: nobody asked");
    for (coded, plain) in coded.columns().iter().zip(plain.columns()) {
        assert_eq!(coded.validity(), plain.validity(), "{what}");
        if let Some(codes) = coded.codes() {
            assert_eq!(codes.len() + 1, plain.offsets().unwrap().len(), "{what}");
            assert!(
                codes.iter().all(|code| usize::try_from(*code).unwrap() + 1 < coded.offsets().unwrap().len()),
                "{what}"
            );
        }
    }
    coded.columns().iter().filter(|column| column.codes().is_some()).count()
}

#[test]
fn every_sparse_fixture_has_the_same_cells_with_codes() {
    let mut compared = 0;
    for (name, path) in arrays() {
        let Ok(array) = OpenOptions::new().threads(2).open(path) else { continue };
        if array.schema().array_type == ArrayType::Dense {
            continue;
        }
        for order in ORDERS {
            compare(|| array.read().order(order), &name);
        }
        compared += 1;
    }
    assert!(compared > 200, "{compared} arrays");
}

/// A fragment: for each cell a coordinate, a gene, and the number of its strings.
type Fragment = Vec<(i32, u8, u8)>;

/// An array with a dimension in runs, attributes in runs and in a dictionary, one of them nullable,
/// and one that stores every string.
fn array(fragments: &[Fragment], duplicates: bool, capacity: u64) -> Array {
    let storage = create(duplicates, capacity, true);
    write(&storage, fragments, duplicates);
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
}

/// An array without cells. Without `coded`, it stores every string of every field.
fn create(duplicates: bool, capacity: u64, coded: bool) -> MemoryStorage {
    let filters_of = |filters: Vec<Filter>| match coded {
        true => filters,
        false => filters.into_iter().filter(|filter| *filter == ZSTD).collect(),
    };
    let strings = |name: &str, filters: Vec<Filter>| {
        let filters = filters_of(filters);
        Attribute::new(name, Datatype::StringAscii, CellValNum::Var).with_filters(Pipeline::new(filters))
    };
    let mut nullable = strings("nullable", vec![RUNS, ZSTD]);
    nullable.nullable = true;
    let mut builder = ArraySchema::sparse()
        .dimension(Dimension::string("gene").with_filters(Pipeline::new(filters_of(vec![RUNS]))))
        .dimension(Dimension::new("i", 0i32..=99).with_tile(10))
        .capacity(capacity)
        .attribute(strings("dictionary", vec![Filter::Dictionary { level: 0 }, ZSTD]))
        .attribute(nullable)
        .attribute(strings("plain", vec![ZSTD]));
    if duplicates {
        builder = builder.allow_duplicates();
    }
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &builder.build().unwrap()).unwrap();
    storage
}

fn write(storage: &MemoryStorage, fragments: &[Fragment], duplicates: bool) {
    for (at, cells) in (1u64..).zip(fragments) {
        let mut cells = cells.clone();
        if !duplicates {
            cells.sort_unstable();
            cells.dedup_by_key(|(i, gene, _)| (*i, *gene));
        }
        if cells.is_empty() {
            continue;
        }
        let writer = WriteOptions::new().timestamp(at * 10).open_storage(storage.clone()).unwrap();
        let genes = Strings::new(cells.iter().map(|(_, gene, _)| format!("gene{gene}")));
        let numbers: Vec<i32> = cells.iter().map(|(i, ..)| *i).collect();
        let texts = Strings::new(cells.iter().map(|(_, _, text)| "text ".repeat(usize::from(*text % 5))));
        let validity: Vec<u8> = cells.iter().map(|(.., text)| u8::from(*text % 3 != 0)).collect();
        let write =
            writer.write().column(genes.column("gene")).column(tdb_array::WriteColumn::fixed("i", &numbers));
        let write = write.column(texts.column("dictionary")).column(texts.column("plain"));
        write.column(texts.column("nullable").nullable(&validity)).commit().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 96 }))]

    #[test]
    fn random_arrays_and_queries_have_the_same_cells_with_codes(
        fragments in prop::collection::vec(prop::collection::vec((0i32..100, 0u8..6, any::<u8>()), 0..80), 1..4),
        duplicates: bool,
        capacity in 1u64..40,
        (low, len) in (0i32..100, 0i32..100),
        conditioned: bool,
    ) {
        let array = array(&fragments, duplicates, capacity);
        for order in ORDERS {
            // Whole arrays are put in order in another way than parts of them.
            for is_whole in [true, false] {
                let read = || {
                    let read = array.read().order(order);
                    let read = if is_whole { read } else { read.range("i", low..=(low + len).min(99)) };
                    if conditioned { read.condition(field("plain").ne("")) } else { read }
                };
                compare(read, &format!("{order:?}, whole: {is_whole}"));
            }
        }
    }
}

/// A test of a string: a field, a comparison, and strings that cells have, or begin with, or do not
/// have.
fn test() -> impl Strategy<Value = QueryCondition> {
    let fields = prop_oneof![Just("gene"), Just("dictionary"), Just("nullable"), Just("plain")];
    let text = prop_oneof![
        (0u8..8).prop_map(|gene| format!("gene{gene}")),
        (0usize..6).prop_map(|words| "text ".repeat(words)),
        prop_oneof![Just("g"), Just("gene2x"), Just("text text"), Just("z"), Just("gene1\0")]
            .prop_map(str::to_owned),
    ];
    (fields, 0u8..9, prop::collection::vec(text, 1..4)).prop_map(|(name, comparison, texts)| {
        let (own, first) = (field(name), texts[0].as_str());
        match comparison {
            0 => own.eq(first),
            1 => own.ne(first),
            2 => own.lt(first),
            3 => own.le(first),
            4 => own.gt(first),
            5 => own.ge(first),
            6 => own.is_in(texts.iter().map(String::as_str)),
            7 => own.not_in(texts.iter().map(String::as_str)),
            _ if name == "nullable" => own.is_null(),
            _ => field("i").lt(50),
        }
    })
}

fn condition() -> impl Strategy<Value = QueryCondition> {
    test().prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.or(b)),
            inner.prop_map(|a| !a),
        ]
    })
}

/// Cells with a gene, or with a text, for a delete.
fn with_string(is_gene: bool, number: u8) -> Condition {
    let (field, text) = match is_gene {
        true => ("gene", format!("gene{number}")),
        false => ("dictionary", "text ".repeat(usize::from(number))),
    };
    let (field, operands) = (field.to_owned(), vec![text.into_bytes()]);
    Condition::Value { field, comparison: Comparison::Equal, operands }
}

/// What a query answers with, as text: cells in the order that the query determines, or an error.
fn answer(read: &Read, ordered: bool) -> Vec<String> {
    match read.clone().collect() {
        Ok(cells) => {
            let mut rows: Vec<String> = (0..cells.len()).map(|cell| row(&cells, cell)).collect();
            if !ordered {
                rows.sort();
            }
            rows
        }
        Err(error) => vec![error.to_string()],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 4 } else { 192 }))]

    #[test]
    fn conditions_ranges_deletes_and_aggregates_do_not_depend_on_how_strings_are_stored(
        fragments in prop::collection::vec(prop::collection::vec((0i32..100, 0u8..6, any::<u8>()), 0..80), 1..4),
        duplicates: bool,
        capacity in 1u64..60,
        conditions in prop::collection::vec(condition(), 0..2),
        deleted in prop::collection::vec((prop::bool::ANY, 0u8..5), 0..2),
        genes in prop::collection::vec((0u8..7, 0u8..3), 0..3),
        (low, len) in (0i32..100, 0i32..100),
        memory in prop_oneof![2 => Just(None), 1 => (12u64..20).prop_map(|bits| Some(1 << bits))],
    ) {
        let [coded, plain] = [true, false].map(|coded| {
            let storage = create(duplicates, capacity, coded);
            write(&storage, &fragments, duplicates);
            for (time, (is_gene, number)) in (15u64..).step_by(10).zip(&deleted) {
                let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
                writer.delete(&with_string(*is_gene, *number)).unwrap();
            }
            OpenOptions::new().threads(2).open_storage(storage).unwrap()
        });
        let query = |array: &Array| {
            let mut read = array.read().range("i", low..=(low + len).min(99));
            for (first, more) in &genes {
                read = read.range("gene", format!("gene{first}").as_str()..=format!("gene{}", first + more).as_str());
            }
            conditions.iter().fold(read, |read, condition| read.condition(condition.clone()))
        };
        for order in ORDERS {
            let [coded, plain] = [&coded, &plain].map(|array| query(array).order(order));
            prop_assert_eq!(answer(&coded, !duplicates), answer(&plain, !duplicates), "{:?}", order);
        }
        let ends = |array: &Array| {
            let mut read = query(array);
            if let Some(bytes) = memory {
                read = read.batch_memory(MemoryBudget::from_bytes(bytes));
            }
            let fields = ["dictionary", "nullable", "plain", "gene"];
            let wanted = fields.into_iter().flat_map(|name| [Aggregate::min(name), Aggregate::max(name)]);
            read.aggregate(wanted.chain([Aggregate::count(), Aggregate::null_count("nullable")]))
        };
        match (ends(&coded), ends(&plain)) {
            (Ok(coded), Ok(plain)) => prop_assert_eq!(format!("{coded:?}"), format!("{plain:?}")),
            // How much memory a query needs may differ.
            (Err(Error::Query(QueryError::BudgetTooSmall { .. })), _) | (_, Err(Error::Query(QueryError::BudgetTooSmall { .. }))) => {}
            (coded, plain) => prop_assert_eq!(coded.map_err(|e| e.to_string()).err(), plain.map_err(|e| e.to_string()).err()),
        }
    }
}

#[test]
fn a_read_without_cells_has_no_codes() {
    let array = array(&[vec![(1, 2, 3)]], false, 10);
    let found = array.read().range("i", 5..=5).dictionary_codes(true).collect().unwrap();
    assert!(found.is_empty() && found.columns().iter().all(|column| column.codes().is_none()));
}

#[test]
fn a_whole_read_has_codes_for_what_is_stored_so_and_for_nothing_else() {
    let cells: Fragment = (0u8..90).map(|cell| (i32::from(cell), cell / 20, cell % 7)).collect();
    let array = array(
        &[cells.clone(), cells.iter().map(|(i, gene, text)| (99 - i, *gene + 9, *text)).collect()],
        true,
        16,
    );
    let found = array.read().dictionary_codes(true).collect().unwrap();
    let with_codes = |name: &str| found.field(name).unwrap().codes().is_some();
    assert!(with_codes("gene") && with_codes("dictionary") && with_codes("nullable"));
    assert!(!with_codes("plain") && !with_codes("i"));
    // Few strings stand for all cells.
    let genes = found.field("gene").unwrap();
    assert!(genes.offsets().unwrap().len() < 40, "{:?}", genes.offsets());
    // Of a tile of which few cells are wanted, these cells are decoded as ever.
    let few = array
        .read()
        .condition(QueryCondition::parse("i == 3").unwrap())
        .dictionary_codes(true)
        .collect()
        .unwrap();
    assert!(few.columns().iter().all(|column| column.codes().is_none()));
}
