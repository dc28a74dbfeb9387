//! Sparse writes in any order, as streams, and in several fragments.

use super::*;
use crate::Duplicates;

/// A sparse array with a 32-bit integer and a 64-bit floating-point dimension, three cells per
/// tile.
fn plane() -> ArraySchema {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("i", 0i32..=99).with_tile(10i32))
        .dimension(Dimension::new("x", -1.0f64..=1.0))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE));
    schema.capacity(3).build().unwrap()
}

fn made(schema: &ArraySchema) -> (MemoryStorage, ArrayWriter) {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, schema).unwrap();
    let writer = WriteOptions::new().threads(2).open_storage(storage.clone()).unwrap();
    (storage, writer)
}

fn write<'a>(writer: &'a ArrayWriter, i: &'a [i32], x: &'a [f64], a: &'a [i32]) -> Write<'a> {
    let columns = [WriteColumn::fixed("i", i), WriteColumn::fixed("x", x), WriteColumn::fixed("a", a)];
    columns.into_iter().fold(writer.write(), Write::column)
}

/// The contents of the array in global order.
fn read(storage: &MemoryStorage) -> (Vec<i32>, Vec<i32>) {
    let cells = OpenOptions::new().open_storage(storage.clone()).unwrap();
    let cells = cells.read().order(Layout::GlobalOrder).collect().unwrap();
    let values = |name: &str| cells.field(name).unwrap().values::<i32>().unwrap().to_vec();
    (values("i"), values("a"))
}

fn refused(result: Result<String>) -> WriteError {
    match result {
        Err(Error::Write(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn cells_in_any_order_are_sorted() {
    let (storage, writer) = made(&plane());
    let i = [55, 3, 99, 0, 12, 11, 7, 3];
    let x = [0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, -0.5];
    write(&writer, &i, &x, &[0, 1, 2, 3, 4, 5, 6, 7]).commit().unwrap();
    assert_eq!(read(&storage), (vec![0, 3, 3, 7, 11, 12, 55, 99], vec![3, 7, 1, 6, 5, 4, 0, 2]));
    assert_sound(&storage, None);
}

#[test]
fn cells_with_equal_coordinates_are_refused_or_one_of_them_is_kept() {
    let (storage, writer) = made(&plane());
    let (i, x, a) = ([5, 1, 5, 9, 5], [0.5, 0.0, 0.5, 0.0, 0.25], [1, 2, 3, 4, 5]);
    let refusal = refused(write(&writer, &i, &x, &a).commit());
    assert_eq!(refusal, WriteError::DuplicateCells { first: 0, second: 2 });
    assert!(storage.keys().iter().all(|key| !key.starts_with("__fragments")));
    write(&writer, &i, &x, &a).duplicates(Duplicates::KeepFirst).commit().unwrap();
    assert_eq!(read(&storage).1, [2, 5, 1, 4]);
    write(&writer, &i, &x, &a).duplicates(Duplicates::KeepLast).commit().unwrap();
    assert_eq!(read(&storage).1, [2, 5, 3, 4]);
    let (storage, writer) = made(&plane());
    write(&writer, &i, &x, &a).duplicates(Duplicates::Unchecked).commit().unwrap();
    assert_eq!(read(&storage).1, [2, 5, 1, 3, 4]);
}

#[test]
fn zeros_of_both_signs_stand_equal_and_are_different_coordinates() {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", -1.0f64..=1.0))
        .dimension(Dimension::new("i", 0i32..=9))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    let (storage, writer) = made(&schema);
    let x = [-0.0, 0.0, -0.0, 0.0];
    write(&writer, &[5, 3, 1, 5], &x, &[0, 1, 2, 3]).commit().unwrap();
    // The next dimension decides, as in libtiledb; a stream in this order works, too.
    assert_eq!(read(&storage).0, [1, 3, 5, 5]);
    write(&writer, &[1, 3, 5, 5], &[-0.0, 0.0, 0.0, -0.0], &[0; 4])
        .order(Layout::GlobalOrder)
        .commit()
        .unwrap();
    let again = write(&writer, &[5, 5, 5], &[-0.0, 0.0, -0.0], &[0; 3]);
    assert_eq!(refused(again.commit()), WriteError::DuplicateCells { first: 0, second: 2 });
    let again = write(&writer, &[5, 5, 5], &[-0.0, 0.0, -0.0], &[0; 3]).order(Layout::GlobalOrder);
    assert_eq!(refused(again.commit()), WriteError::Duplicate { first: 1 });
}

#[test]
fn coordinates_outside_the_domain_are_refused_before_anything_is_written() {
    let (storage, writer) = made(&plane());
    let before = storage.keys();
    let outside = |error: WriteError| match error {
        WriteError::OutsideDomain { dimension, cell, value } => (dimension, cell, value),
        other => panic!("{other}"),
    };
    let refusal = refused(write(&writer, &[1, 2, -1], &[0.0, 0.0, f64::NAN], &[1, 2, 3]).commit());
    assert_eq!(outside(refusal), ("i".into(), 2, "-1".into()));
    let refusal = refused(write(&writer, &[1, 2, 3], &[0.0, f64::NAN, 2.0], &[1, 2, 3]).commit());
    assert_eq!(outside(refusal), ("x".into(), 1, "NaN".into()));
    let global = write(&writer, &[1, 2, 3], &[0.0, 0.0, 1.5], &[1, 2, 3]).order(Layout::GlobalOrder);
    assert_eq!(outside(refused(global.commit())), ("x".into(), 2, "1.5".into()));
    let many: Vec<i32> = (0..200_000).map(|i| if i == 150_001 { 100 } else { i % 100 }).collect();
    let zeros = vec![0.0; many.len()];
    assert_eq!(outside(refused(write(&writer, &many, &zeros, &many).commit())).1, 150_001);
    assert_eq!(storage.keys(), before);
    assert_eq!(storage.list("__fragments").unwrap(), []);
}

#[test]
fn a_cell_out_of_order_is_found_in_a_batch_and_between_batches() {
    let (_, writer) = made(&plane());
    let count = 200_000usize;
    let mut i: Vec<i32> = (0..count).map(|at| i32::try_from(at * 100 / count).unwrap()).collect();
    let x: Vec<f64> = (0..count).map(|at| (at % (count / 100)) as f64 / count as f64).collect();
    let mut fragment = writer.sparse_fragment().unwrap();
    let columns = |i: &'_ [i32], x: &'_ [f64]| -> Vec<Vec<u8>> {
        vec![bytemuck::cast_slice(i).to_vec(), bytemuck::cast_slice(x).to_vec()]
    };
    let append = |fragment: &mut FragmentWriter<'_>, i: &[i32], x: &[f64]| {
        let bytes = columns(i, x);
        fragment.append(&[
            WriteColumn::bytes("i", &bytes[0]),
            WriteColumn::bytes("x", &bytes[1]),
            WriteColumn::fixed("a", i),
        ])
    };
    append(&mut fragment, &i, &x).unwrap();
    let error = append(&mut fragment, &i[..1], &x[..1]).unwrap_err();
    assert!(matches!(error, Error::Write(WriteError::NotSorted { cell: 200_000 })), "{error}");
    i.swap(131_072, 110_000);
    let mut fragment = writer.sparse_fragment().unwrap();
    let error = append(&mut fragment, &i, &x).unwrap_err();
    assert!(matches!(error, Error::Write(WriteError::NotSorted { cell: 110_001 })), "{error}");
}

#[test]
fn a_stream_writes_a_fragment_each_time_its_memory_is_full_and_all_count_at_once() {
    let (storage, writer) = made(&plane());
    let mut stream = writer.sparse_stream(400).unwrap();
    let value = |at: i32| (at * 37) % 100;
    for batch in 0..10 {
        let i: Vec<i32> = (batch * 10..batch * 10 + 10).map(value).collect();
        let x = [0.25; 10];
        let columns = [WriteColumn::fixed("i", &i), WriteColumn::fixed("x", &x), WriteColumn::fixed("a", &i)];
        stream.append(&columns).unwrap();
    }
    assert!(OpenOptions::new().open_storage(storage.clone()).unwrap().fragments().is_empty());
    let names = stream.commit().unwrap();
    assert!(names.len() >= 8, "{names:?}");
    let commits = storage.list("__commits").unwrap();
    assert!(commits.len() == 1 && commits[0].name.ends_with(".con"), "{commits:?}");
    let (i, a) = read(&storage);
    assert_eq!(i, (0..100).collect::<Vec<_>>());
    assert_eq!(a, i);
    assert_sound(&storage, None);
}

#[test]
fn a_stream_lists_what_has_its_timestamp_before_its_own_fragments() {
    let (storage, writer) = made(&plane());
    let x = [0.0; 40];
    let i: Vec<i32> = (0..40).collect();
    let columns = [WriteColumn::fixed("i", &i), WriteColumn::fixed("x", &x), WriteColumn::fixed("a", &i)];
    let mut earlier = Vec::new();
    for time in [6, 7, 7] {
        let writer = WriteOptions::new().timestamp(time).open_storage(storage.clone()).unwrap();
        let name = columns.iter().cloned().fold(writer.write(), Write::column).commit().unwrap();
        earlier.extend((time == 7).then_some(name));
    }
    drop(writer);
    let writer = WriteOptions::new().timestamp(7).open_storage(storage.clone()).unwrap();
    let mut stream = writer.sparse_stream(400).unwrap();
    stream.append(&columns).unwrap();
    let names = stream.commit().unwrap();
    assert!(names.len() > 1);
    let commits = storage.list("__commits").unwrap();
    let list = commits.iter().find(|entry| entry.name.ends_with(".con")).unwrap();
    assert_eq!(OpenOptions::new().open_storage(storage.clone()).unwrap().fragments().len(), 3 + names.len());
    assert_sound(&storage, None);
    let listed = storage.remove(&format!("__commits/{}", list.name)).unwrap();
    let expected: Vec<String> =
        earlier.iter().chain(&names).map(|name| format!("__commits/{name}.wrt")).collect();
    assert_eq!(core::str::from_utf8(&listed).unwrap().lines().collect::<Vec<_>>(), expected);
}

#[test]
fn a_stream_that_is_dropped_or_fails_leaves_nothing() {
    let (storage, writer) = made(&plane());
    let x = [0.0; 40];
    let i: Vec<i32> = (0..40).collect();
    let columns = [WriteColumn::fixed("i", &i), WriteColumn::fixed("x", &x), WriteColumn::fixed("a", &i)];
    let mut stream = writer.sparse_stream(400).unwrap();
    stream.append(&columns).unwrap();
    drop(stream);
    assert_eq!(storage.list("__fragments").unwrap(), []);
    let stream = writer.sparse_stream(400).unwrap();
    assert!(matches!(stream.commit(), Err(Error::Write(WriteError::NoCells))));
    let mut stream = writer.sparse_stream(1 << 20).unwrap();
    stream.append(&columns).unwrap();
    stream.append(&columns).unwrap();
    assert!(matches!(
        stream.commit(),
        Err(Error::Write(WriteError::DuplicateCells { first: 0, second: 40 }))
    ));
    assert_eq!(storage.list("__fragments").unwrap(), []);
}

#[test]
fn fragments_of_limited_size_hold_all_cells_in_order() {
    for version in FormatVersion::all().filter(|version| version.has(tdb_codec::Gate::FragmentFooter)) {
        let mut schema = plane();
        schema.version = version;
        let first = schema.domain.dimensions.remove(0);
        schema.domain.dimensions = vec![first];
        let storage = MemoryStorage::default();
        if version.has(tdb_codec::Gate::OptionalSections) {
            continue;
        }
        WriteOptions::new().create_storage(&storage, &schema).unwrap();
        let writer = WriteOptions::new().fragment_bytes(150).open_storage(storage.clone()).unwrap();
        let i: Vec<i32> = (0..50).collect();
        let mut fragment = writer.sparse_fragment().unwrap();
        fragment.append(&[WriteColumn::fixed("i", &i), WriteColumn::fixed("a", &i)]).unwrap();
        let names = fragment.commit_all().unwrap();
        assert!(names.len() > 3, "version {version}: {names:?}");
        let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
        assert_eq!(array.fragments().len(), names.len());
        assert_eq!(read(&storage), (i.clone(), i));
        assert_sound(&storage, None);
        let writer = WriteOptions::new().fragment_bytes(20).open_storage(storage.clone()).unwrap();
        let write =
            writer.write().column(WriteColumn::fixed("i", &[1])).column(WriteColumn::fixed("a", &[1]));
        assert!(matches!(refused(write.commit()), WriteError::TileSize { limit: 20, .. }));
    }
}

#[test]
fn strings_and_hilbert_cells_are_sorted_and_checked() {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::string("s"))
        .dimension(Dimension::new("x", 0.0f64..=1.0))
        .cell_order(Layout::Hilbert)
        .capacity(2)
        .build()
        .unwrap();
    let (storage, writer) = made(&schema);
    let (words, offsets) = (b"pearfigapplefig", [0, 4, 7, 12, 15]);
    let x = [0.5, 0.25, 0.75, 0.125];
    let write = writer.write().column(WriteColumn::var("s", words, &offsets));
    write.column(WriteColumn::fixed("x", &x)).commit().unwrap();
    let cells = OpenOptions::new().open_storage(storage.clone()).unwrap();
    let cells = cells.read().order(Layout::GlobalOrder).collect().unwrap();
    let (words, x) = (cells.field("s").unwrap(), cells.field("x").unwrap());
    let mut fragment = writer.sparse_fragment().unwrap();
    fragment.append(&[WriteColumn::from(words), WriteColumn::from(x)]).unwrap();
    fragment.commit().unwrap();
    let words: Vec<&[u8]> = (0..4).map(|cell| words.cell(cell).unwrap()).collect();
    assert!(words.contains(&&b"apple"[..]) && words.iter().filter(|word| **word == b"fig").count() == 2);
    assert_sound(&storage, None);
}

/// A plane of tiles of 4 rows and 8 columns, with an attribute of texts that may be null.
fn rows_and_columns() -> ArraySchema {
    let text = Attribute::new("text", Datatype::StringUtf8, CellValNum::Var).with_nulls();
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("row", 0i32..=199).with_tile(4i32))
        .dimension(Dimension::new("column", 0i32..=29).with_tile(8i32))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .attribute(text);
    schema.capacity(10).build().unwrap()
}

/// Writes cells in batches of 70, with memory for some 500; returns the number of fragments.
fn streamed(writer: &ArrayWriter, cells: &[(i32, i32)], duplicates: Duplicates) -> Result<usize> {
    let mut stream = writer.sparse_stream(180_000).unwrap().duplicates(duplicates);
    for (batch, places) in cells.chunks(70).enumerate() {
        let (rows, columns): (Vec<i32>, Vec<i32>) = places.iter().copied().unzip();
        let first = i32::try_from(batch * 70).unwrap();
        let a: Vec<i32> = (0..).zip(places).map(|(at, _)| first + at).collect();
        let texts: Vec<String> = a.iter().map(|a| "x".repeat(a.unsigned_abs() as usize % 4)).collect();
        let ends = texts.iter().scan(0u64, |end, text| {
            *end += text.len() as u64;
            Some(*end)
        });
        let offsets: Vec<u64> = core::iter::once(0).chain(ends).collect();
        let validity: Vec<u8> = a.iter().map(|a| u8::from(a % 5 != 0)).collect();
        stream.append(&[
            WriteColumn::fixed("row", &rows),
            WriteColumn::fixed("column", &columns),
            WriteColumn::fixed("a", &a),
            WriteColumn::var("text", texts.concat().as_bytes(), &offsets).nullable(&validity),
        ])?;
    }
    Ok(stream.commit()?.len())
}

/// The cells that are read: their places and values, in row-major order. Looks at the texts.
fn found(storage: &MemoryStorage) -> Vec<((i32, i32), i32)> {
    assert_sound(storage, None);
    let cells = open(storage).read().order(Layout::RowMajor).collect().unwrap();
    let values = |name: &str| cells.field(name).unwrap().values::<i32>().unwrap().to_vec();
    let text = cells.field("text").unwrap();
    let a = values("a");
    for (at, a) in a.iter().enumerate() {
        let wanted = (a % 5 != 0).then(|| "x".repeat(a.unsigned_abs() as usize % 4));
        let valid = text.validity().unwrap()[at] != 0;
        let stored = valid.then(|| String::from_utf8(text.cell(at).unwrap().to_vec()).unwrap());
        assert_eq!(stored, wanted, "cell {at}");
    }
    values("row").into_iter().zip(values("column")).zip(a).collect()
}

/// All places, row by row.
fn places() -> Vec<(i32, i32)> {
    (0..200).flat_map(|row| (0..30).map(move |column| (row, column))).collect()
}

/// What is read after the cells were written in this order, where the last value of a place counts.
fn expected(cells: &[(i32, i32)]) -> Vec<((i32, i32), i32)> {
    let last: BTreeMap<_, i32> = cells.iter().copied().zip(0..).collect();
    last.into_iter().collect()
}

#[test]
fn a_stream_of_rows_becomes_one_fragment_and_others_become_several() {
    let rows = places();
    let mut columns = rows.clone();
    columns.sort_by_key(|(row, column)| (*column, *row));
    let mut mixed = rows.clone();
    mixed.sort_by_key(|(row, column)| (row * 7919 + column * 104_729) % 6007);
    let mut backwards = rows.clone();
    backwards.reverse();
    // One cell comes once more, when its tile was written.
    let mut again = rows.clone();
    again.insert(3000, (1, 1));
    // Rows in which columns descend, and rows of one tile that are mixed.
    let mut descending = rows.clone();
    descending.sort_by_key(|(row, column)| (*row, -column));
    let mut near = rows.clone();
    near.sort_by_key(|(row, column)| (row / 4, column * 31 % 30, *row));
    for (name, cells, fragments) in [
        ("rows", rows, 1..=1),
        ("columns", columns, 8..=20),
        ("mixed", mixed, 8..=20),
        ("backwards", backwards, 8..=20),
        ("again", again, 5..=14),
        ("descending", descending, 1..=1),
        ("near", near, 1..=1),
    ] {
        let (storage, writer) = made(&rows_and_columns());
        let count = streamed(&writer, &cells, Duplicates::Refuse).unwrap();
        assert!(fragments.contains(&count), "{name}: {count}");
        assert_eq!(found(&storage), expected(&cells), "{name}");
    }
}

#[test]
fn cells_that_a_stream_keeps_have_their_numbers_and_their_turn() {
    let mut cells = places();
    // The place of a cell that is kept when its memory is full.
    let twice = (0..6000).step_by(10).find_map(|at| {
        let mut cells = cells.clone();
        cells.insert(at + 100, cells[at]);
        let (_, writer) = made(&rows_and_columns());
        let error = streamed(&writer, &cells, Duplicates::Refuse).err()?;
        let Error::Write(error) = error else { panic!("{error:?}") };
        let (first, second) = (at as u64, at as u64 + 100);
        assert_eq!(error, WriteError::DuplicateCells { first, second });
        (at > 1000).then_some(at)
    });
    let at = twice.unwrap();
    cells.insert(at + 100, cells[at]);
    let (storage, writer) = made(&rows_and_columns());
    assert_eq!(streamed(&writer, &cells, Duplicates::KeepLast).unwrap(), 1);
    assert_eq!(found(&storage), expected(&cells));
    let (storage, writer) = made(&rows_and_columns());
    assert_eq!(streamed(&writer, &cells, Duplicates::KeepFirst).unwrap(), 1);
    let place = cells[at];
    let kept = found(&storage).into_iter().find(|(one, _)| *one == place);
    assert_eq!(kept.map(|(_, a)| a), i32::try_from(at).ok());
}
