//! Generic tiles and chunks.

use tdb_array::Key;
use tdb_codec::{Budget, Limits, Reader, to_u64};
use tdb_tile::GenericTile;

use super::block::{Block, Payload, Trouble};

/// A file that is one generic tile, with its payload as read by `parse`.
pub(super) fn explain(
    what: &str,
    bytes: &[u8],
    key: Option<&Key>,
    parse: impl FnOnce(Reader<'_>) -> Result<(), Trouble>,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    generic(&mut blocks, what, (bytes, 0), key, parse);
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

/// Explains the generic tile at the beginning of `bytes`, which are at `offset` of the file.
/// Returns its payload.
pub(super) fn generic(
    blocks: &mut Vec<Block>,
    what: &str,
    (bytes, offset): (&[u8], u64),
    key: Option<&Key>,
    parse: impl FnOnce(Reader<'_>) -> Result<(), Trouble>,
) -> Option<Payload> {
    let mut block = Block::traced(format!("generic tile at offset {offset}: {what}"), bytes, offset, walk);
    let payload = GenericTile::parse(bytes, offset)
        .and_then(|tile| tile.decode(key, &Limits::default(), &Budget::unlimited()));
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
        "{what}: payload of the generic tile at offset {offset} ({} bytes unfiltered, to which the offsets refer)",
        payload.len()
    );
    let payload = Payload::from(payload);
    let mut inner = Block::traced(title, &payload, 0, parse);
    inner.source = payload.in_tile(offset);
    blocks.push(inner);
    Some(payload)
}

/// Reads a generic tile's header and the framing of its chunks.
fn walk(reader: Reader<'_>) -> Result<(), Trouble> {
    GenericTile::parse_from(reader)?.chunks()?;
    Ok(())
}
