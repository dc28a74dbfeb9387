//! A dense array larger than the fixtures, made in memory.

use tdb_array::storage::MemoryStorage;
use tdb_codec::{ArrayType, CellValNum, Datatype, FormatVersion, Writer, to_u64};
use tdb_filters::{Filter, Pipeline, Scratch};
use tdb_schema::{ArraySchema, Attribute, Dimension, Domain};
use tdb_tile::split::Cells;
use tdb_tile::{GenericTile, encode_tile};

use crate::{Kind, context};

/// Cells along each dimension.
const SIDE: u32 = 2048;
/// Cells along each side of a tile.
const EXTENT: u32 = 256;
const VERSION: FormatVersion = FormatVersion::CURRENT;
/// Sections of a footer that occur once for each field slot, behind the R-tree.
const FIELD_SECTIONS: usize = 8;
/// The attribute, the coordinates' placeholder, two dimensions.
const SLOTS: usize = 4;

/// Bytes of the cells of [`dense`].
pub const DENSE_BYTES: u64 = SIDE as u64 * SIDE as u64 * 8;

type Outcome<T> = Result<T, Box<dyn core::error::Error>>;

/// A dense array of 2048 × 2048 64-bit integers, in tiles of 256 × 256, with one fragment.
///
/// ```
/// let array = tdb_array::OpenOptions::new().open_storage(tdb_benches::dense(vec![])?)?;
/// let cells = array.read().collect()?;
/// assert_eq!(cells.shape(), Some(&[2048, 2048][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a filter does not take integers, or a structure cannot be written.
pub fn dense(filters: Vec<Filter>) -> Outcome<MemoryStorage> {
    let dimension = |name: &str| {
        Dimension::fixed(name, Datatype::Uint32, 0u32.to_le_bytes(), SIDE.saturating_sub(1).to_le_bytes())
            .with_tile_bytes(EXTENT.to_le_bytes())
    };
    let pipeline = Pipeline::new(filters);
    let mut attribute = Attribute::new("a", Datatype::Int64, CellValNum::ONE);
    attribute.filters = pipeline.clone();
    let domain = Domain::new(vec![dimension("rows"), dimension("columns")]);
    let schema = ArraySchema::new(ArrayType::Dense, domain).with_attribute(attribute);

    let tile_cells = usize::try_from(EXTENT.pow(2))?;
    let tile = Kind::Realistic.cells(8, tile_cells.saturating_mul(8));
    let encoder = pipeline.encoder(context(Datatype::Int64))?;
    let tile = encode_tile(&encoder, &tile, Cells::Fixed { size: 8 }, &mut Scratch::new())?;
    let tiles = usize::try_from((SIDE / EXTENT).pow(2))?;
    let mut offsets = Writer::new();
    offsets.u64(to_u64(tiles));
    (0..tiles).for_each(|index| offsets.u64(to_u64(index.saturating_mul(tile.len()))));

    let (schema_name, name) = (format!("__1_1_{:032x}", 1), format!("__1_1_{:032x}_{VERSION}", 2));
    let data = tile.repeat(tiles);
    let metadata = metadata(&schema_name, offsets.as_slice(), to_u64(data.len()))?;
    Ok(MemoryStorage::new([
        (format!("__schema/{schema_name}"), GenericTile::encode(&schema.to_bytes(VERSION)?, VERSION)?),
        (format!("__fragments/{name}/a0.tdb"), data),
        (format!("__fragments/{name}/__fragment_metadata.tdb"), metadata),
        (format!("__commits/{name}.wrt"), Vec::new()),
    ]))
}

/// An empty list, the offsets of the attribute's tiles, and a footer that points at the first for
/// everything else.
fn metadata(schema_name: &str, offsets: &[u8], data_len: u64) -> Outcome<Vec<u8>> {
    let empty = GenericTile::encode(&[0; 8], VERSION)?;
    let offsets = GenericTile::encode(offsets, VERSION)?;
    let mut footer = Writer::new();
    footer.u32(VERSION.number());
    footer.bytes_u64(schema_name.as_bytes());
    footer.bool(true); // dense
    footer.bool(false); // it covers something:
    for _ in ["rows", "columns"] {
        footer.u32(0);
        footer.u32(SIDE.saturating_sub(1));
    }
    footer.u64(0); // no sparse tiles
    footer.u64(u64::from(EXTENT.pow(2)));
    footer.bool(false); // no timestamps
    footer.bool(false); // no delete metadata
    footer.u64(data_len);
    // The other files' sizes: fixed parts, var parts, validity.
    (1..SLOTS.saturating_mul(3)).for_each(|_| footer.u64(0));
    footer.u64(0); // R-tree
    footer.u64(to_u64(empty.len())); // tile offsets of the attribute
    (1..SLOTS.saturating_mul(FIELD_SECTIONS)).for_each(|_| footer.u64(0));
    footer.u64(0); // fragment statistics
    footer.u64(0); // processed conditions
    let footer = footer.into_vec();
    let len = to_u64(footer.len()).to_le_bytes();
    Ok([empty.as_slice(), offsets.as_slice(), footer.as_slice(), &len].concat())
}
