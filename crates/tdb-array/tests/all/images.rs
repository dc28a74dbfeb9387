//! Pictures by WebP: an image is a tile, whatever its shape.
#![cfg(feature = "webp")]

use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::storage::MemoryStorage;
use tdb_array::write::SchemaEvolution;
use tdb_array::{OpenOptions, WriteColumn, WriteOptions};
use tdb_filters::{Filter, Pipeline, PixelFormat, WebP};
use tdb_schema::{Attribute, Dimension};

fn attribute(name: &str, format: PixelFormat, extents: (u16, u16)) -> Attribute {
    let (y_extent, x_extent) = extents;
    let mut attribute = Attribute::new(name, Datatype::Uint8, CellValNum::ONE);
    attribute.filters = Pipeline::new(vec![Filter::WebP(WebP {
        quality: 100.0,
        format,
        lossless: true,
        y_extent,
        x_extent,
    })]);
    attribute
}

#[test]
fn pictures_in_tiles_of_any_shape_come_back_as_they_were_written() {
    for (format, depth) in
        [(PixelFormat::Rgb, 3u32), (PixelFormat::Bgr, 3), (PixelFormat::Rgba, 4), (PixelFormat::Bgra, 4)]
    {
        for (rows, pixels) in [(16u32, 16u32), (32, 24), (5, 1), (64, 48)] {
            let tile = (rows, pixels * depth);
            let schema = ArraySchema::dense()
                .dimension(Dimension::new("y", 0..=63u32).with_tile(tile.0))
                .dimension(Dimension::new("x", 0..=48 * depth - 1).with_tile(tile.1))
                .attribute(attribute("a", format, (0, 0)))
                .build()
                .unwrap();
            let storage = MemoryStorage::default();
            // A schema with extents of another tile is made with those of this one, as by
            // libtiledb.
            let mut other = schema.clone();
            other.attributes[0] = attribute("a", format, (16, 48));
            WriteOptions::new().timestamp(1).create_storage(&storage, &other).unwrap();
            let add = SchemaEvolution::new().add_attribute(attribute("b", format, (0, 0)));
            WriteOptions::new().timestamp(2).evolve_storage(storage.clone(), &add).unwrap();
            let bytes: Vec<u8> =
                (0..64 * 48 * depth).map(|at| u8::try_from((at * 7 + at / 13) % 251).unwrap()).collect();
            let writer = WriteOptions::new().timestamp(3).open_storage(storage.clone()).unwrap();
            let write = writer.write().column(WriteColumn::fixed("a", &bytes));
            write.column(WriteColumn::fixed("b", &bytes)).commit().unwrap();
            let array = OpenOptions::new().open_storage(storage).unwrap();
            let cells = array.read().collect().unwrap();
            for field in ["a", "b"] {
                let read = cells.field(field).unwrap();
                assert_eq!(read.values::<u8>().unwrap(), bytes, "{format:?} {tile:?} {field}");
            }
        }
    }
}
