//! Commit files: paths, consolidated commits, consolidated footers.

use std::path::Path;

use tdb_array::Key;
use tdb_codec::{Reader, to_u64};
use tdb_fragment::{
    Condition, Footer, Update, parse_consolidated_commits, parse_consolidated_footers, parse_path_lines,
};

use super::ArrayAccess;
use super::block::{Block, Row, Trouble};
use super::{fragment, tile};

/// An ignore or vacuum file.
pub(super) fn explain_paths(bytes: &[u8]) -> Vec<Block> {
    let mut block = Block::new("paths, one a line");
    let mut offset = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        block.rows.push(path_row(offset, line));
        offset = offset.saturating_add(to_u64(line.len()));
    }
    block.trouble = parse_path_lines(bytes).err().map(Trouble::from);
    vec![block]
}

/// A consolidated commits file.
pub(super) fn explain_commits(bytes: &[u8], key: Option<&Key>) -> Vec<Block> {
    let mut list = Block::new("consolidated commits");
    let mut blocks = Vec::new();
    let records = match parse_consolidated_commits(bytes) {
        Ok(records) => records,
        Err(error) => {
            list.trouble = Some(error.into());
            return vec![list];
        }
    };
    let mut offset = 0;
    for record in records {
        let line = format!("{}\n", record.path);
        list.rows.push(path_row(offset, line.as_bytes()));
        offset = offset.saturating_add(to_u64(line.len()));
        if let Some((start, delete)) = record.delete {
            let name = "delete size".to_owned();
            list.rows.push(Row { offset, len: start.saturating_sub(offset), name });
            offset = start.saturating_add(to_u64(delete.len()));
            tile::generic(&mut blocks, "delete condition", (delete, start), key, condition);
        }
    }
    blocks.insert(0, list);
    blocks
}

/// The payload of a delete file.
pub(super) fn condition(reader: Reader<'_>) -> Result<(), Trouble> {
    Condition::parse_from(reader)?;
    Ok(())
}

/// The payload of an update file.
pub(super) fn update(reader: Reader<'_>) -> Result<(), Trouble> {
    Update::parse_from(reader)?;
    Ok(())
}

/// A file of consolidated fragment metadata.
pub(super) fn explain_footers(file: &Path, bytes: &[u8], access: ArrayAccess<'_>) -> Vec<Block> {
    let key = access.key;
    let mut blocks = Vec::new();
    let payload = tile::generic(&mut blocks, "consolidated footers", (bytes, 0), key, |reader| {
        parse_consolidated_footers(reader)?;
        Ok(())
    });
    let Some(payload) = payload else { return blocks };
    let footers = match parse_consolidated_footers(Reader::new(&payload)) {
        Ok(footers) => footers,
        Err(error) => {
            let mut block = Block::new("footers");
            block.source = payload.in_tile(0);
            block.trouble = Some(error.into());
            blocks.push(block);
            return blocks;
        }
    };
    // The file is in the array's folder or in a folder of it.
    let array = file.parent().map(|folder| {
        let nested = folder.file_name().is_some_and(|name| name == "__fragment_meta");
        if nested { folder.parent().unwrap_or(folder) } else { folder }
    });
    for footer in footers {
        let parse = |reader: Reader<'_>| -> Result<(), Trouble> {
            let (_, name) = Footer::parse_head(footer.bytes, footer.offset)?;
            let schema = array.ok_or_else(|| "no folder".to_owned());
            let schema = schema.and_then(|array| fragment::load_schema(array, name.as_deref(), access));
            let schema = schema.map_err(|what| Trouble { offset: footer.offset, what })?;
            Footer::parse_from(reader, &schema)?;
            Ok(())
        };
        let mut block =
            Block::traced(format!("footer of {}", footer.name), footer.bytes, footer.offset, parse);
        block.source = payload.in_tile(0);
        blocks.push(block);
    }
    blocks
}

fn path_row(offset: u64, line: &[u8]) -> Row {
    Row { offset, len: to_u64(line.len()), name: "path".to_owned() }
}
