//! Generic tiles and chunks.

use tdb_codec::{Budget, FormatVersion, Limits, Reader, to_u64};
use tdb_filters::Pipeline;
use tdb_tile::GenericTile;

use super::block::{Block, Trouble};

/// A file that is one generic tile, and its payload as `parse` reads it.
pub(super) fn explain(
    what: &str,
    bytes: &[u8],
    parse: impl FnOnce(Reader<'_>) -> Result<(), Trouble>,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    generic(&mut blocks, what, bytes, 0, parse);
    let end = blocks.first().map_or(0, Block::end);
    if let Some(rest) = to_u64(bytes.len()).checked_sub(end).filter(|rest| *rest > 0)
        && blocks.iter().all(|block| block.trouble.is_none())
    {
        let mut block = Block::new("after the tile");
        block.trouble = Some(Trouble { offset: end, what: format!("{rest} bytes are left over") });
        blocks.push(block);
    }
    blocks
}

/// Explains the generic tile that `bytes`, from `offset` of the file, begin with. Returns its payload.
pub(super) fn generic(
    blocks: &mut Vec<Block>,
    what: &str,
    bytes: &[u8],
    offset: u64,
    parse: impl FnOnce(Reader<'_>) -> Result<(), Trouble>,
) -> Option<Vec<u8>> {
    let mut block = Block::traced(format!("generic tile at offset {offset}: {what}"), bytes, offset, walk);
    let payload = GenericTile::parse(bytes, offset)
        .and_then(|tile| tile.decode(None, &Limits::default(), &Budget::unlimited()));
    let payload = match payload {
        Ok(payload) => payload,
        Err(error) => {
            block.trouble.get_or_insert_with(|| error.into());
            blocks.push(block);
            return None;
        }
    };
    blocks.push(block);
    let title = format!(
        "{what}: payload of the generic tile at offset {offset} ({} bytes unfiltered, offsets count in them)",
        payload.len()
    );
    let mut inner = Block::traced(title, &payload, 0, parse);
    inner.payload_of = Some(offset);
    blocks.push(inner);
    Some(payload)
}

/// Reads a generic tile field by field; the crate that owns the layout checks it once more when it decodes.
fn walk(mut reader: Reader<'_>) -> Result<(), Trouble> {
    let start = reader;
    let number = reader.u32("format version")?;
    let persisted = reader.u64("persisted size")?;
    reader.u64("tile size")?;
    reader.datatype("datatype")?;
    reader.u64("cell size")?;
    reader.u8("encryption type")?;
    let len = reader.u32("pipeline length")?;
    let version = FormatVersion::parse(number)
        .map_err(|error| Trouble { offset: start.offset(), what: error.to_string() })?;
    let mut pipeline = reader.sub(u64::from(len), "filter pipeline")?;
    Pipeline::parse(&mut pipeline, version)?;
    pipeline.finish("filter pipeline")?;
    chunks(&mut reader.sub(persisted, "tile data")?)
}

/// Reads a tile's chunks.
pub(super) fn chunks(reader: &mut Reader<'_>) -> Result<(), Trouble> {
    let count = reader.u64("chunk count")?;
    for _ in 0..count {
        reader.u32("chunk original length")?;
        let data = reader.u32("chunk filtered length")?;
        let metadata = reader.u32("chunk metadata length")?;
        reader.take_u64(u64::from(metadata), "chunk metadata")?;
        reader.take_u64(u64::from(data), "chunk data")?;
    }
    Ok(())
}
