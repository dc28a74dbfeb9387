//! Lists of sizes that do not tell how long the strings of a tile are.

use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::{Durability, MemoryStorage};
use tdb_array::{Error, Layout, OpenOptions, WriteColumn, WriteOptions};
use tdb_fragment::Section;
use tdb_schema::FieldKind;

use crate::verify::{problems, remake};

/// A tile of two strings, and one with strings of these lengths, at most two; nothing is
/// compressed.
fn strings(lengths: &[usize]) -> MemoryStorage {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=9).with_tile(10i32))
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
        .capacity(2)
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    let options = WriteOptions::new().durability(Durability::Buffered).timestamp(7);
    options.clone().create_storage(&storage, &schema).unwrap();
    let lengths: Vec<usize> = [1, 1].iter().chain(lengths).copied().collect();
    let offsets: Vec<u64> =
        (0..=lengths.len()).map(|cells| lengths[..cells].iter().sum::<usize>() as u64).collect();
    let values = "s".repeat(lengths.iter().sum());
    let x: Vec<i32> = (1..).take(lengths.len()).collect();
    let writer = options.open_storage(storage.clone()).unwrap();
    let write = writer.write().order(Layout::GlobalOrder).column(WriteColumn::fixed("x", &x));
    write.column(WriteColumn::var("s", values.as_bytes(), &offsets)).commit().unwrap();
    storage
}

/// Replaces the list of the strings' sizes by another.
fn relist(storage: &MemoryStorage, sizes: &[u64]) {
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    let slot = array.fragments()[0].footer().slots.field(FieldKind::Attribute(0));
    remake::section(storage, Section::VarSizes(slot), |payload| {
        let list = [&[sizes.len() as u64], sizes].concat();
        *payload = list.into_iter().flat_map(u64::to_le_bytes).collect();
    });
}

#[test]
fn strings_whose_size_is_not_listed_are_not_read_as_empty() {
    for lengths in
        [&[1, 1][..], &[200 << 10, 1], &[1, 300 << 10], &[100 << 10, 100 << 10], &[9], &[300 << 10]]
    {
        let whole = lengths.iter().sum::<usize>() as u64;
        for sizes in [vec![2, whole], vec![2], vec![], vec![2, 0], vec![2, whole - 1], vec![2, whole + 1]] {
            let what = format!("strings of {lengths:?} bytes, listed {sizes:?}");
            let storage = strings(lengths);
            relist(&storage, &sizes);
            let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
            let is_right = sizes == [2, whole];
            for order in [Layout::GlobalOrder, Layout::Unordered] {
                match array.read().order(order).collect() {
                    Ok(cells) => assert!(is_right && cells.len() == 2 + lengths.len(), "{what}"),
                    Err(error) => {
                        assert!(!is_right && matches!(error, Error::Corrupt { .. }), "{what}: {error}");
                    }
                }
                // A part trusts a list that is nearly right, as far as it looks at nothing that
                // contradicts it.
                if sizes.get(1).is_some_and(|size| *size > 0) && !is_right {
                    continue;
                }
                for (x, length) in (3i32..).zip(lengths) {
                    match array.read().range("x", x..=x).order(order).collect() {
                        Ok(cells) => assert_eq!(
                            cells.field("s").unwrap().cell(0).map(<[u8]>::len),
                            Some(*length),
                            "{what}"
                        ),
                        Err(error) => {
                            assert!(!is_right && matches!(error, Error::Corrupt { .. }), "{what}: {error}");
                        }
                    }
                }
            }
            assert_eq!(problems(&storage).is_empty(), is_right, "{what}");
        }
    }
}
