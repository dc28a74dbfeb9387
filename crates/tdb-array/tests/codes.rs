//! Strings that stay as they are stored, each once and a code for each cell, are the strings of an ordinary read.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed"
)]

mod common;

use common::{Strings, arrays, row};
use proptest::prelude::*;
use tdb_array::schema::{Attribute, Dimension, Filter, Pipeline};
use tdb_array::{
    Array, ArraySchema, ArrayType, CellValNum, Cells, Datatype, Layout, MemoryStorage, OpenOptions,
    QueryCondition, Read, WriteOptions, field,
};

const ORDERS: [Layout; 4] = [Layout::Unordered, Layout::GlobalOrder, Layout::RowMajor, Layout::ColMajor];

const RUNS: Filter = Filter::Rle { level: 0 };
const ZSTD: Filter = Filter::Zstd { level: 3 };

/// Reads with and without codes, compares all cells, and returns how many columns have codes.
fn compare(read: impl Fn() -> Read, what: &str) -> usize {
    let plain = match read().collect() {
        Ok(plain) => plain,
        Err(error) => {
            assert_eq!(read().codes(true).collect().unwrap_err().to_string(), error.to_string(), "{what}");
            return 0;
        }
    };
    let coded = read().codes(true).collect().unwrap();
    let rows = |cells: &Cells| (0..cells.len()).map(|cell| row(cells, cell)).collect::<Vec<_>>();
    assert_eq!(rows(&coded), rows(&plain), "{what}");
    assert!(plain.columns().iter().all(|column| column.codes().is_none()), "{what}: nobody asked");
    for (coded, plain) in coded.columns().iter().zip(plain.columns()) {
        assert_eq!(coded.validity(), plain.validity(), "{what}");
        if let Some(codes) = coded.codes() {
            assert_eq!(codes.len() + 1, plain.offsets().unwrap().len(), "{what}");
            assert!(codes.iter().all(|code| (*code as usize) + 1 < coded.offsets().unwrap().len()), "{what}");
        }
    }
    coded.columns().iter().filter(|column| column.codes().is_some()).count()
}

#[test]
fn every_sparse_fixture_has_the_same_cells_with_codes() {
    let mut coded = 0;
    for (name, path) in arrays() {
        let Ok(array) = OpenOptions::new().threads(2).open(path) else { continue };
        if array.schema().array_type == ArrayType::Dense {
            continue;
        }
        for order in ORDERS {
            coded += compare(|| array.read().order(order), &name);
        }
    }
    assert!(coded > 12, "{coded} columns");
}

/// A fragment: for each cell a coordinate, a gene, and the number of its strings.
type Fragment = Vec<(i32, u8, u8)>;

/// An array with a dimension in runs, attributes in runs and in a dictionary, one of them nullable, and one that stores every string.
fn array(fragments: &[Fragment], duplicates: bool, capacity: u64) -> Array {
    let strings = |name: &str, filters: Vec<Filter>| {
        Attribute::new(name, Datatype::StringAscii, CellValNum::Var).with_filters(Pipeline::new(filters))
    };
    let mut nullable = strings("nullable", vec![RUNS, ZSTD]);
    nullable.nullable = true;
    let mut builder = ArraySchema::sparse()
        .dimension(Dimension::string("gene").with_filters(Pipeline::new(vec![RUNS])))
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
    OpenOptions::new().threads(2).open_storage(storage).unwrap()
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
            let read = || {
                let read = array.read().order(order).range("i", low..=(low + len).min(99));
                if conditioned { read.condition(field("plain").ne("")) } else { read }
            };
            compare(read, &format!("{order:?}"));
        }
    }
}

#[test]
fn a_whole_read_has_codes_for_what_is_stored_so_and_for_nothing_else() {
    let cells: Fragment = (0..90).map(|cell| (cell, (cell / 20) as u8, (cell % 7) as u8)).collect();
    let array = array(
        &[cells.clone(), cells.iter().map(|(i, gene, text)| (99 - i, *gene + 9, *text)).collect()],
        true,
        16,
    );
    let found = array.read().codes(true).collect().unwrap();
    let with_codes = |name: &str| found.field(name).unwrap().codes().is_some();
    assert!(with_codes("gene") && with_codes("dictionary") && with_codes("nullable"));
    assert!(!with_codes("plain") && !with_codes("i"));
    // Few strings stand for all cells.
    let genes = found.field("gene").unwrap();
    assert!(genes.offsets().unwrap().len() < 40, "{:?}", genes.offsets());
    // Of a tile of which few cells are wanted, these cells are decoded as ever.
    let few = array.read().condition(QueryCondition::parse("i == 3").unwrap()).codes(true).collect().unwrap();
    assert!(few.columns().iter().all(|column| column.codes().is_none()));
}
