//! Dense cells in batches, and fragments of limited size.

use core::ops::Range;
use std::collections::BTreeMap;

use super::*;

fn plane(order: Layout) -> ArraySchema {
    let domain = Domain::new(vec![dimension("y", 1, 12, 5), dimension("x", -3, 6, 4)]);
    let mut schema = attributes(ArraySchema::new(ArrayType::Dense, domain));
    (schema.tile_order, schema.cell_order) = (order, Layout::RowMajor);
    schema
}

const BOXES: [[(i32, i32); 2]; 4] =
    [[(1, 12), (-3, 6)], [(6, 10), (1, 4)], [(3, 7), (0, 2)], [(4, 12), (-3, 6)]];

fn boxed<'a>(writer: &'a ArrayWriter, [(y0, y1), (x0, x1)]: [(i32, i32); 2]) -> Write<'a> {
    writer.write().range("y", y0..=y1).range("x", x0..=x1)
}

const fn cells_of([(y0, y1), (x0, x1)]: [(i32, i32); 2]) -> u32 {
    ((y1 - y0 + 1) * (x1 - x0 + 1)).cast_unsigned()
}

impl Data {
    /// Some of the cells.
    fn part(&self, cells: Range<usize>) -> Vec<WriteColumn<'_>> {
        let valid = &self.valid[cells.clone()];
        let ends = cells.start..=cells.end;
        vec![
            WriteColumn::fixed("fixed", &self.fixed[cells.clone()]),
            WriteColumn::fixed("pair", &self.pair[2 * cells.start..2 * cells.end]),
            WriteColumn::fixed("maybe", &self.maybe[cells]).nullable(valid),
            WriteColumn::var("text", &self.text.0, &self.text.1[ends.clone()]).nullable(valid),
            WriteColumn::var("words", &self.words.0, &self.words.1[ends.clone()]),
            WriteColumn::var("numbers", &self.numbers.0, &self.numbers.1[ends]),
        ]
    }
}

/// The files of the only fragment, without what is unique to it.
fn files(storage: &MemoryStorage) -> BTreeMap<String, Vec<u8>> {
    let array = open(storage);
    let folder = array.fragments()[0].folder().to_owned();
    assert_eq!(array.fragments().len(), 1);
    let list = storage.list(&folder).unwrap();
    let read = |name: &String| storage.read(&format!("{folder}/{name}")).unwrap().to_vec();
    let names = list.into_iter().map(|entry| entry.name).filter(|name| !name.starts_with("__fragment"));
    names.map(|name| (name.clone(), read(&name))).collect()
}

fn made(schema: &ArraySchema) -> (MemoryStorage, ArrayWriter) {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, schema).unwrap();
    let writer = WriteOptions::new().threads(2).open_storage(storage.clone()).unwrap();
    (storage, writer)
}

#[test]
fn a_stream_writes_the_files_that_one_write_does_whatever_the_batches() {
    for order in [Layout::RowMajor, Layout::ColMajor] {
        for area in BOXES {
            let schema = plane(order);
            let cells = cells_of(area) as usize;
            let data = Data::new(cells_of(area));
            let (whole, writer) = made(&schema);
            let write =
                data.part(0..cells).into_iter().fold(boxed(&writer, area).order(order), Write::column);
            write.commit().unwrap();
            let expected = files(&whole);
            for step in [1, 3, 10, 17, 50, cells] {
                let batches = (0..cells).step_by(step).map(|start| start..(start + step).min(cells));
                let (storage, writer) = made(&schema);
                let mut stream = boxed(&writer, area).order(order).stream(2 << 20).unwrap();
                for batch in batches.clone() {
                    stream.append(&data.part(batch)).unwrap();
                }
                assert_eq!(stream.commit().unwrap().len(), 1);
                assert_eq!(files(&storage), expected, "{order:?} {area:?} {step}");
                assert_sound(&storage, None);
                let (storage, writer) = made(&schema);
                let mut stream = boxed(&writer, area).order(order).stream(2 << 20).unwrap();
                stream.append_all(batches.map(|batch| Ok(data.part(batch)))).unwrap();
                stream.commit().unwrap();
                assert_eq!(files(&storage), expected, "{order:?} {area:?} {step}");
            }
        }
    }
}

#[test]
fn cells_in_global_order_stream_tile_by_tile() {
    let domain = Domain::new(vec![dimension("y", 1, 10, 5), dimension("x", 1, 8, 4)]);
    let schema = attributes(ArraySchema::new(ArrayType::Dense, domain));
    let data = Data::new(80);
    let (whole, writer) = made(&schema);
    let order = Layout::GlobalOrder;
    data.part(0..80).into_iter().fold(writer.write().order(order), Write::column).commit().unwrap();
    for step in [1, 7, 20, 33, 80] {
        let (storage, writer) = made(&schema);
        let mut stream = writer.write().order(order).stream(2 << 20).unwrap();
        let batches = (0..80).step_by(step).map(|start| Ok(data.part(start..(start + step).min(80))));
        stream.append_all(batches).unwrap();
        stream.commit().unwrap();
        assert_eq!(files(&storage), files(&whole), "{step}");
    }
}

#[test]
fn streams_that_cannot_be_or_end_early_are_refused_and_leave_nothing() {
    let (storage, writer) = made(&plane(Layout::RowMajor));
    let area = [(1, 12), (-3, 6)];
    let data = Data::new(120);
    assert!(
        boxed(&writer, area).order(Layout::ColMajor).stream(1 << 24).is_err(),
        "crosses the tiles' order"
    );
    assert!(boxed(&writer, area).order(Layout::GlobalOrder).stream(1 << 24).is_err(), "not whole tiles");
    assert!(boxed(&writer, area).stream(1000).unwrap_err().to_string().contains("at least"));
    assert!(boxed(&writer, area).column(WriteColumn::fixed("fixed", &data.fixed)).stream(1 << 24).is_err());
    let mut stream = boxed(&writer, area).stream(1 << 24).unwrap();
    stream.append(&data.part(0..100)).unwrap();
    let more = stream.append(&data.part(0..21)).unwrap_err();
    assert!(
        matches!(more, Error::Write(WriteError::CellCount { given: 121, expected: 120, .. })),
        "{more:?}"
    );
    let fewer = stream.commit().unwrap_err();
    assert!(
        matches!(fewer, Error::Write(WriteError::CellCount { given: 100, expected: 120, .. })),
        "{fewer:?}"
    );
    let mut stream = boxed(&writer, area).stream(1 << 24).unwrap();
    let batches = [Ok(data.part(0..60)), Err(WriteError::Cancelled.into()), Ok(data.part(60..120))];
    let failed = stream.append_all(batches);
    assert!(matches!(failed, Err(Error::Write(WriteError::Cancelled))), "{failed:?}");
    drop(stream);
    assert!(open(&storage).fragments().is_empty());
    assert_sound(&storage, None);
}

#[test]
fn dense_fragments_of_limited_size_are_boxes_that_hold_all_cells() {
    for order in [Layout::RowMajor, Layout::ColMajor] {
        for area in BOXES {
            let data = Data::new(cells_of(area));
            let cells = data.fixed.len();
            let mut counts = Vec::new();
            for limit in [1 << 20, 4000, 2000, 1300] {
                let (storage, _) = made(&plane(order));
                let options = WriteOptions::new().threads(2).fragment_bytes(limit);
                let writer = options.open_storage(storage.clone()).unwrap();
                let mut stream = boxed(&writer, area).order(order).stream(3 << 20).unwrap();
                stream.append(&data.part(0..cells / 2)).unwrap();
                stream.append(&data.part(cells / 2..cells)).unwrap();
                let names = stream.commit().unwrap();
                assert_sound(&storage, None);
                let array = open(&storage);
                assert_eq!(array.fragments().len(), names.len());
                for fragment in array.fragments() {
                    let folder = fragment.folder();
                    let files = storage.list(folder).unwrap().into_iter().map(|entry| entry.name);
                    let files = files.filter(|name| !name.starts_with("__"));
                    let size = |name: String| storage.size(&format!("{folder}/{name}")).unwrap();
                    assert!(files.map(size).sum::<u64>() <= limit);
                }
                let [(y0, y1), (x0, x1)] = area;
                let read =
                    array.read().range("y", y0..=y1).range("x", x0..=x1).order(order).collect().unwrap();
                (0..cells).for_each(|index| data.assert_cell(&read, index, index));
                counts.push(names.len());
            }
            assert!(counts.is_sorted() && counts[0] == 1, "{counts:?}");
            assert!(cells <= 20 || counts[3] > counts[0], "{counts:?}");
        }
    }
    let (storage, _) = made(&plane(Layout::RowMajor));
    let writer = WriteOptions::new().fragment_bytes(50).open_storage(storage).unwrap();
    let data = Data::new(120);
    let write = data.part(0..120).into_iter().fold(writer.write(), Write::column);
    let refused = write.commit().unwrap_err();
    assert!(matches!(refused, Error::Write(WriteError::TileSize { limit: 50, .. })), "{refused:?}");
}
