//! What the options of writes allow that is refused otherwise.

use tdb_array::schema::{
    ArraySchema, ArrayType, Attribute, CellValNum, DataOrder, Datatype, Dimension, DimensionLabel, Domain,
    Filter, Pipeline,
};
use tdb_array::storage::MemoryStorage;
use tdb_array::write::SchemaEvolution;
use tdb_array::{OpenOptions, TimeWindow, WriteColumn, WriteOptions};

fn schema(filter: Filter) -> ArraySchema {
    let dimension = Dimension::new("x", 0i32..=9).with_tile(5i32);
    let attribute = Attribute::of::<i32>("a").with_filters(Pipeline::new(vec![filter]));
    ArraySchema::new(ArrayType::Dense, Domain::new(vec![dimension])).with_attribute(attribute)
}

fn filters() -> [Filter; 4] {
    [
        Filter::Gzip { level: 10 },
        Filter::Bzip2 { level: 100 },
        Filter::Zstd { level: 1000 },
        Filter::PositiveDelta { max_window: 0 },
    ]
}

#[test]
fn an_array_may_have_filters_out_of_range_if_that_is_allowed() {
    for filter in filters() {
        let storage = MemoryStorage::default();
        let options = WriteOptions::new().timestamp(1);
        let schema = schema(filter.clone());
        assert!(options.clone().create_storage(&storage, &schema).is_err(), "{filter:?}");
        options.any_filters().create_storage(&storage, &schema).unwrap();
        let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
        assert_eq!(array.schema().attributes[0].filters.filters, std::slice::from_ref(&filter));
        let evolution = SchemaEvolution::new().add_attribute(Attribute::of::<u8>("b"));
        WriteOptions::new().timestamp(2).any_filters().evolve_storage(storage, &evolution).unwrap();
    }
}

#[test]
fn cells_are_never_written_wrongly_whatever_the_filters() {
    let others = [Filter::Dictionary { level: -1 }, Filter::BitWidthReduction { max_window: 0 }];
    let levels = [Filter::Lz4 { level: 77 }, Filter::Rle { level: -9 }, Filter::Zstd { level: -100 }];
    for filter in filters().into_iter().chain(others).chain(levels) {
        let storage = MemoryStorage::default();
        let options = WriteOptions::new().any_filters();
        options.clone().timestamp(1).create_storage(&storage, &schema(filter.clone())).unwrap();
        let values: Vec<i32> = (0..10).map(|value| value * value).collect();
        let writer = options.open_storage(storage.clone()).unwrap();
        let written = writer.write().column(WriteColumn::fixed("a", &values)).commit();
        let array = OpenOptions::new().open_storage(storage).unwrap();
        match written {
            Ok(_) => {
                let cells = array.read().collect().unwrap();
                assert_eq!(cells.field("a").unwrap().values::<i32>().unwrap(), values, "{filter:?}");
            }
            Err(_) => assert!(array.fragments().is_empty(), "{filter:?}"),
        }
    }
}

#[test]
fn a_schema_before_the_newest_is_for_reads_between_the_two() {
    let storage = MemoryStorage::default();
    WriteOptions::new().timestamp(50).create_storage(&storage, &schema(Filter::BitShuffle)).unwrap();
    let evolution = SchemaEvolution::new().add_attribute(Attribute::of::<u8>("b"));
    let options = WriteOptions::new().timestamp(20);
    let error = options.clone().evolve_storage(storage.clone(), &evolution).unwrap_err();
    assert!(error.to_string().contains("would not be the array's newest"), "{error}");
    options.older_schema().evolve_storage(storage.clone(), &evolution).unwrap();
    let count = |end| {
        let options = OpenOptions::new().window(TimeWindow::until(end));
        options.open_storage(storage.clone()).unwrap().schema().attributes.len()
    };
    assert_eq!([count(20), count(49), count(50), count(u64::MAX)], [2, 2, 1, 1]);
}

#[test]
fn the_array_of_a_label_has_the_filters_and_the_extent_that_are_given() {
    let mut schema = schema(Filter::BitShuffle);
    let mut label = DimensionLabel::new(0, "l", "__labels/l0", Datatype::Float64, CellValNum::ONE);
    label.order = DataOrder::Decreasing;
    schema.labels.push(label);
    let storage = MemoryStorage::default();
    let zstd = Pipeline::new(vec![Filter::Zstd { level: 3 }]);
    let options = WriteOptions::new().label_filters("l", zstd.clone());
    let options =
        options.label_filters("other", Pipeline::default()).label_tile_bytes("l", 2i32.to_le_bytes());
    options.create_storage(&storage, &schema).unwrap();
    let array = OpenOptions::new().open_storage(storage).unwrap();
    let label = array.label("l").unwrap().unwrap();
    assert_eq!(label.schema().attributes[0].filters, zstd);
    assert_eq!(label.schema().domain.dimensions[0].extent_cells(), Some(2));
    assert_eq!(array.schema().domain.dimensions[0].extent_cells(), Some(5));
}
