//! Cells at the ends of domains, and domains and tile extents at the ends of their types: in every
//! type and order, written, consolidated, and read whole and in batches.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests: a panic is a failure")]
#![expect(clippy::indexing_slicing, reason = "of results whose length the test knows")]

use core::ops::ControlFlow;

use tdb_array::error::QueryError;
use tdb_array::maintain::{Consolidation, Stored, verify};
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::storage::{Durability, MemoryStorage};
use tdb_array::{Array, Cells, Error, Layout, MemoryBudget, OpenOptions, WriteColumn, WriteOptions};
use tdb_codec::Native;
use tdb_schema::{Attribute, Dimension, SchemaBuilder};

/// A dimension and some of its coordinates, in ascending order: both ends, their neighbours and
/// some between.
type Line = (Dimension, Vec<Vec<u8>>);

const ORDERS: [Layout; 3] = [Layout::RowMajor, Layout::ColMajor, Layout::Hilbert];

fn line<T: Native>(dimension: Dimension, coordinates: &[T]) -> Line {
    let bytes = |value: &T| {
        let mut bytes = Vec::new();
        value.write_le(&mut bytes);
        bytes
    };
    (dimension, coordinates.iter().map(bytes).collect())
}

fn length<T: Native>(dimension: Dimension, extent: T) -> Dimension {
    dimension.with_tile(extent)
}

macro_rules! integers {
    ($($type:ty)*) => {[$({
        let (low, high) = (<$type>::MIN, <$type>::MAX - 1);
        let ends = [low, low + 1, low / 2 + high / 2, high - 1, high];
        [line(Dimension::new("d", low..=high), &ends),
         line(length(Dimension::new("d", low + 1..=<$type>::MAX), 85 as $type), &[low + 1, low + 2, 0.max(low + 1) + 3, <$type>::MAX]),
         line(Dimension::new("d", 3..=9 as $type), &[3, 4, 8, 9 as $type])]
    }),*].concat()};
}

macro_rules! reals {
    ($($type:ty)*) => {[$({
        let (least, most) = (<$type>::from_bits(1), <$type>::MAX);
        [line(Dimension::new("d", -10.0..=10.0 as $type), &[-10.0, -8.0, 0.5, 8.0, 10.0 as $type]),
         line(Dimension::new("d", -most..=most), &[-most, -most / 2.0, -1.0, -least, least, 1.0, most / 2.0, most]),
         line(length(Dimension::new("d", -most..=most), 1.0 as $type), &[-most, -1.0, 0.5, 1.0, most]),
         line(length(Dimension::new("d", -most..=most), most), &[-most, -1.0, 0.5, 1.0, most]),
         line(length(Dimension::new("d", 0.0..=1e30 as $type), 1.0 as $type), &[0.0, 1.0, 9e18, 1e19, 1.9e19, 1e30 as $type]),
         line(length(Dimension::new("d", 0.0..=1.0 as $type), <$type>::NAN), &[0.0, 0.5, 1.0 as $type]),
         line(Dimension::new("d", 0.0..=least * 3.0), &[0.0, least, least * 2.0, least * 3.0]),
         line(Dimension::new("d", 5.0..=5.0 as $type), &[5.0 as $type])]
    }),*].concat()};
}

fn lines() -> Vec<Line> {
    let mut lines = integers!(i8 u8 i16 u16 i32 u32 i64 u64);
    lines.extend(reals!(f32 f64));
    // The last tile ends past the largest number of the type.
    lines.push(line(length(Dimension::new("d", -127..=127i8), 100i8), &[-127i8, -28, -27, 72, 73, 127]));
    lines.push(line(
        length(Dimension::new("d", 0..=i32::MAX), 4_000_000i32),
        &[0, 3_999_999, 4_000_000, i32::MAX],
    ));
    let ends = [i64::MIN, -1, 0, 1, i64::MAX - 5000];
    let date = |datatype| length(Dimension::new("d", ends[0]..=ends[4]).with_datatype(datatype), 1000i64);
    lines.extend([Datatype::DatetimeDay, Datatype::TimeNs].map(|datatype| line(date(datatype), &ends)));
    lines
}

/// A sparse array whose cells are distributed over this many fragments in turn, in tiles of three
/// cells.
fn written(schema: &ArraySchema, cells: &[Vec<Vec<u8>>], fragments: usize) -> MemoryStorage {
    let storage = MemoryStorage::default();
    let options = WriteOptions::new().durability(Durability::Buffered);
    options.clone().create_storage(&storage, schema).unwrap();
    for fragment in 0..fragments {
        let time = 1 + u64::try_from(fragment).unwrap();
        let writer = options.clone().timestamp(time).open_storage(storage.clone()).unwrap();
        let own: Vec<_> = cells.iter().skip(fragment).step_by(fragments).collect();
        if own.is_empty() {
            continue;
        }
        let columns: Vec<Vec<u8>> = (0..schema.domain.dimensions.len())
            .map(|dimension| own.iter().flat_map(|cell| cell[dimension].clone()).collect())
            .collect();
        let values = columns.iter().zip(&schema.domain.dimensions);
        let values = values.map(|(bytes, dimension)| WriteColumn::bytes(&dimension.name, bytes));
        let write = values.fold(writer.write(), tdb_array::Write::column);
        write.commit().unwrap();
    }
    storage
}

fn open(storage: &MemoryStorage) -> Array {
    OpenOptions::new().open_storage(storage.clone()).unwrap()
}

fn coordinates(schema: &ArraySchema, cells: &Cells) -> Vec<Vec<Vec<u8>>> {
    let dimensions = &schema.domain.dimensions;
    let cell = |at: usize| {
        dimensions.iter().map(|own| cells.field(&own.name).unwrap().cell(at).unwrap().to_vec()).collect()
    };
    (0..cells.len()).map(cell).collect()
}

/// The cells of an array with one fragment, in their stored order.
fn stored(storage: &MemoryStorage) -> Vec<Vec<Vec<u8>>> {
    let array = open(storage);
    assert_eq!(array.fragments().len(), 1);
    coordinates(array.schema(), &array.read().order(Layout::Unordered).collect().unwrap())
}

/// Reads whole and in small batches, in an order.
fn assert_read(storage: &MemoryStorage, order: Layout, expected: &[Vec<Vec<u8>>], what: &str) {
    let array = open(storage);
    let cells = array.read().order(order).collect().unwrap();
    assert_eq!(coordinates(array.schema(), &cells), expected, "{what}: {order}");
    // As small as possible.
    let mut most = MemoryBudget::from_bytes(1 << 12);
    let batches = loop {
        let batches = array.read().order(order).batch_memory(most).batches();
        let read = |batch: tdb_array::Result<Cells>| Ok(coordinates(array.schema(), &batch?));
        match batches.and_then(|batches| batches.map(read).collect::<Result<Vec<_>, _>>()) {
            Ok(batches) => break batches.concat(),
            Err(Error::Query(QueryError::BudgetTooSmall { min, .. })) if min > most => most = min,
            Err(error) => panic!("{what}: {error}"),
        }
    };
    assert_eq!(batches, expected, "{what}: {order}, in batches");
}

/// Checks an array of these cells, which are in row-major order.
fn check(builder: SchemaBuilder, cells: &[Vec<Vec<u8>>]) {
    let schema = builder.capacity(3).build().unwrap();
    let domains: Vec<_> = schema.domain.dimensions.iter().map(|own| (own.datatype, &own.domain)).collect();
    let what = format!("{domains:?}, {}", schema.cell_order);
    let once = written(&schema, cells, 1);
    let order = stored(&once);
    for fragments in [2, 3] {
        let several = written(&schema, cells, fragments.min(cells.len()));
        assert_read(&several, Layout::GlobalOrder, &order, &what);
        assert_read(&several, Layout::RowMajor, cells, &what);
        let writer = WriteOptions::new().open_storage(several.clone()).unwrap();
        let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
        plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
        assert_eq!(stored(&several), order, "{what}: consolidated");
        assert_read(&several, Layout::RowMajor, cells, &what);
        let found = verify(several);
        assert!(found.is_clean(), "{what}: {:?}", found.problems);
    }
    // A write in global order takes the cells in their stored order.
    let columns: Vec<Vec<u8>> = (0..schema.domain.dimensions.len())
        .map(|dimension| order.iter().flat_map(|cell| cell[dimension].clone()).collect())
        .collect();
    let writer = WriteOptions::new().open_storage(once).unwrap();
    let mut fragment = writer.sparse_fragment().unwrap();
    let values = columns.iter().zip(&schema.domain.dimensions);
    let values: Vec<_> = values.map(|(bytes, own)| WriteColumn::bytes(&own.name, bytes)).collect();
    fragment.append(&values).unwrap();
    fragment.commit().unwrap();
}

#[test]
fn cells_at_the_ends_of_a_dimension_stand_in_one_order_however_they_get_there() {
    for (dimension, values) in lines() {
        let cells: Vec<_> = values.iter().map(|value| vec![value.clone()]).collect();
        for order in ORDERS {
            check(ArraySchema::sparse().dimension(dimension.clone()).cell_order(order), &cells);
        }
    }
}

#[test]
fn cells_at_the_corners_of_a_plane_stand_in_one_order_however_they_get_there() {
    let lines = lines();
    for ((left, xs), (right, ys)) in lines.iter().zip(lines.iter().cycle().skip(5)) {
        let cells: Vec<_> = xs.iter().flat_map(|x| ys.iter().map(|y| vec![x.clone(), y.clone()])).collect();
        let mut right = right.clone();
        right.name = "e".into();
        for order in ORDERS {
            let builder = ArraySchema::sparse().dimension(left.clone()).dimension(right.clone());
            check(builder.cell_order(order), &cells);
        }
    }
}

#[test]
fn a_real_dimension_without_an_extent_has_tiles_as_libtiledb_counts_them() {
    let most = f64::MAX;
    let dimension = |name: &str| Dimension::new(name, -most..=most);
    let schema = ArraySchema::sparse().dimension(dimension("x")).dimension(dimension("y")).build().unwrap();
    assert!(
        schema
            .domain
            .dimensions
            .iter()
            .all(|own| own.tile_extent == Some(f64::INFINITY.to_le_bytes().to_vec()))
    );
    // Where the distance from the low end overflows, libtiledb 2.30 begins another tile.
    let cells = [[0.0, -most], [0.0, 1e300], [1e300, -most], [1e300, 1e300], [1.0, 1.0], [most, 1.0]];
    let bytes: Vec<_> = cells
        .iter()
        .map(|cell| cell.iter().map(|value: &f64| value.to_le_bytes().to_vec()).collect())
        .collect();
    let order = stored(&written(&schema, &bytes, 1));
    let order: Vec<_> = order
        .iter()
        .map(|cell: &Vec<Vec<u8>>| bytes.iter().position(|other| other == cell).unwrap())
        .collect();
    assert_eq!(order, [0, 4, 1, 2, 5, 3]);
}

/// A dense array with one byte per cell: a dimension whose last tile ends past the largest number
/// of its type.
fn clipped<T: Native>(low: T, high: T, extent: T, cells: usize)
where
    tdb_array::query::Coordinate: From<T>,
{
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("d", low..=high).with_tile(extent))
        .attribute(Attribute::new("a", Datatype::Uint8, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var))
        .build()
        .unwrap();
    let values: Vec<u8> = (0..cells).map(|cell| u8::try_from(cell % 251).unwrap()).collect();
    let offsets: Vec<u64> = (0..=cells).map(|cell| u64::try_from(cell).unwrap()).collect();
    for fragments in [false, true] {
        let storage = MemoryStorage::default();
        let options = WriteOptions::new().durability(Durability::Buffered);
        let options = if fragments { options.fragment_bytes(20_000) } else { options };
        options.clone().create_storage(&storage, &schema).unwrap();
        let whole = options.clone().timestamp(1).open_storage(storage.clone()).unwrap();
        let write = whole.write().column(WriteColumn::fixed("a", &values));
        write.column(WriteColumn::var("s", &values, &offsets)).commit().unwrap();
        // Once more, only the last cell; then everything is consolidated.
        let last = options.timestamp(2).open_storage(storage.clone()).unwrap();
        let write = last.write().range("d", high..=high).column(WriteColumn::fixed("a", &[255u8]));
        write.column(WriteColumn::var("s", b"end", &[0, 3])).commit().unwrap();
        for consolidated in [false, true] {
            if consolidated {
                let plan = Consolidation::new(Stored::Fragments).plan(&last).unwrap();
                plan.run(&last, &mut |_| ControlFlow::Continue(())).unwrap();
                assert_eq!(open(&storage).fragments().len(), 1);
            }
            let array = open(&storage);
            let domain = array.non_empty_domain().unwrap();
            let ends = array.schema().domain.dimensions[0].domain.clone().unwrap();
            assert_eq!((&domain[0].low, &domain[0].high), (&ends.0, &ends.1));
            for order in [Layout::RowMajor, Layout::GlobalOrder] {
                let read = array.read().order(order).collect().unwrap();
                let (a, s) = (read.field("a").unwrap(), read.field("s").unwrap());
                assert_eq!(a.values::<u8>().unwrap()[..cells - 1], values[..cells - 1]);
                assert_eq!(a.values::<u8>().unwrap()[cells - 1], 255);
                assert_eq!(s.cell(0).unwrap(), &values[..1]);
                assert_eq!(s.cell(cells - 1).unwrap(), b"end");
            }
            let end = array.read().range("d", high..=high).collect().unwrap();
            assert_eq!(end.field("a").unwrap().values::<u8>().unwrap(), [255]);
        }
        let found = verify(storage);
        assert!(found.is_clean(), "{:?}", found.problems);
    }
}

#[test]
fn the_last_tile_of_a_dense_array_may_end_past_the_largest_number() {
    clipped(0u8, 253, 10, 254);
    clipped(1u8, 255, 100, 255);
    clipped(0i8, 127, 50, 128);
    clipped(-128i8, 126, 100, 255);
    clipped(-127i8, 127, 127, 255);
    clipped(i16::MIN, i16::MAX - 1, 1000, 65_535);
    clipped(i32::MAX - 999, i32::MAX, 300, 1000);
    clipped(u32::MAX - 999, u32::MAX, 300, 1000);
    clipped(i64::MAX - 999, i64::MAX, 250, 1000);
}

#[test]
fn extents_of_whole_domains_need_no_sign() {
    for (dimension, cells) in [
        (Dimension::new("d", 0i8..=127), 128u64),
        (Dimension::new("d", -128i8..=126), 255),
        (Dimension::new("d", i32::MIN..=i32::MAX - 1), (1 << 32) - 1),
        (Dimension::new("d", i64::MIN..=i64::MAX - 1), u64::MAX),
    ] {
        let schema = ArraySchema::sparse().dimension(dimension).build().unwrap();
        assert_eq!(schema.domain.dimensions[0].extent_cells(), Some(cells));
    }
}
