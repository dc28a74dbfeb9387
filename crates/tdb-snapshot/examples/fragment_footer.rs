//! Reads the footer and the R-tree of a fragment with the crates of the format alone: the bytes are
//! files that this program reads itself, and no engine is asked.
//!
//! Four crates have a part in it. `tdb-tile` takes a payload out of a generic tile, the envelope of
//! everything but cells; `tdb-schema` reads the schema, without which the rest has no meaning;
//! `tdb-fragment` reads the metadata of the fragment; and `tdb-codec` has the values of a datatype.
//!
//! Run it with `cargo run -p tdb-snapshot --example fragment_footer [ARRAY]`.

use std::error::Error;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tdb_codec::{Budget, Limits};
use tdb_fragment::{Footer, FooterLocation, RTree, Section};
use tdb_schema::ArraySchema;
use tdb_tile::GenericTile;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Prints what the first fragment of an array is.
pub fn main() -> Result<()> {
    let quickstart = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    let array = std::env::args().nth(1).filter(|name| Path::new(name).is_dir());
    let array = PathBuf::from(array.unwrap_or_else(|| quickstart.to_owned()));

    // A file of a schema is one generic tile.
    let file = fs::read(first(&array.join("__schema"), Path::is_file)?)?;
    let schema = ArraySchema::parse(&payload(&file, 0)?)?;
    println!("{}: format version {}", array.display(), schema.version);

    // The metadata of a fragment is a row of generic tiles and a plain footer, which has their
    // places. The last 8 bytes are the length of the footer.
    let fragment = first(&array.join("__fragments"), Path::is_dir)?;
    let metadata = fs::read(fragment.join("__fragment_metadata.tdb"))?;
    let place = FooterLocation::LengthAtEnd.range(u64::try_from(metadata.len())?, &metadata)?;
    let footer = Footer::parse(part(&metadata, &place)?, place.start, &schema)?;
    println!("{} tiles, {} bytes of data", footer.tile_count(&schema)?, footer.data_bytes());

    // A section begins where the footer says. That of the R-tree has a box around the cells of each
    // tile; the tree of a dense fragment is empty.
    let Some(place) = footer.section(Section::RTree)? else { return Ok(()) };
    let tree =
        RTree::parse(&payload(part(&metadata, &place)?, place.start)?, schema.version, &schema.domain)?;
    for tile in 0..tree.leaf_count() {
        let sides = tree.leaf(tile).ok_or("a leaf is missing")?;
        println!("tile {tile}: {:?}", sides.ranges().collect::<Vec<_>>());
    }
    Ok(())
}

/// The payload of the generic tile at the beginning of some bytes, which are at this place of their
/// file.
fn payload(bytes: &[u8], offset: u64) -> Result<Vec<u8>> {
    let tile = GenericTile::parse(bytes, offset)?;
    // A file says how much memory its payload needs; the limits say how much it gets.
    Ok(tile.decode(None, &Limits::default(), &Budget::new(1 << 20))?)
}

fn part<'b>(bytes: &'b [u8], place: &Range<u64>) -> Result<&'b [u8]> {
    let (start, end) = (usize::try_from(place.start)?, usize::try_from(place.end)?);
    Ok(bytes.get(start..end).ok_or("a part of the file is after its end")?)
}

/// The first path in a folder that is of this kind.
fn first(folder: &Path, is_wanted: impl Fn(&Path) -> bool) -> Result<PathBuf> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        paths.push(entry?.path());
    }
    paths.retain(|path| is_wanted(path));
    paths.sort();
    Ok(paths.into_iter().next().ok_or_else(|| format!("{}: nothing is there", folder.display()))?)
}
