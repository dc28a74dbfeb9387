//! Bytes that no block explains: a dump omits nothing.

use std::collections::BTreeMap;

use tdb_codec::to_u64;

use super::block::{Block, Payload, Row, Source};

/// Adds a block for the bytes of the file that no block contains, and one for those of each
/// payload.
pub(super) fn add(blocks: &mut Vec<Block>, file: &[u8]) {
    let mut payloads: BTreeMap<u64, (Payload, Vec<(u64, u64)>)> = BTreeMap::new();
    let mut explained = Vec::new();
    for block in blocks.iter() {
        let spans = block.rows.iter().map(|row| (row.offset, row.offset.saturating_add(row.len)));
        match &block.source {
            Source::File => explained.extend(spans),
            Source::Payload { tile, bytes } => {
                payloads.entry(*tile).or_insert_with(|| (bytes.clone(), Vec::new())).1.extend(spans);
            }
        }
    }
    let rest = rows(explained, to_u64(file.len()));
    if !rest.is_empty() {
        blocks.push(Block { rows: rest, ..Block::new("bytes of the file without explanation") });
    }
    for (tile, (payload, explained)) in payloads {
        let rest = rows(explained, to_u64(payload.len()));
        if !rest.is_empty() {
            let title =
                format!("bytes of the payload of the generic tile at offset {tile} without explanation");
            blocks.push(Block { rows: rest, source: payload.in_tile(tile), ..Block::new(title) });
        }
    }
}

/// The gaps between spans of `0..len`.
fn rows(mut spans: Vec<(u64, u64)>, len: u64) -> Vec<Row> {
    spans.sort_unstable();
    spans.push((len, len));
    let mut end = 0;
    let mut rows = Vec::new();
    for (start, next) in spans {
        let start = start.min(len);
        if start > end {
            rows.push(Row { offset: end, len: start.saturating_sub(end), name: "bytes".to_owned() });
        }
        end = end.max(next);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_spans_leave_is_found_before_between_and_after_them() {
        let gaps = |spans: &[(u64, u64)]| -> Vec<(u64, u64)> {
            rows(spans.to_vec(), 10).iter().map(|row| (row.offset, row.len)).collect()
        };
        assert_eq!(gaps(&[(6, 8), (2, 4), (3, 5)]), [(0, 2), (5, 1), (8, 2)]);
        assert_eq!(gaps(&[]), [(0, 10)]);
        assert_eq!(gaps(&[(0, 12), (3, 4)]), []);
    }
}
