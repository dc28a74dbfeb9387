//! What a fragment says about its data.

use tdb_codec::{FormatVersion, Reader, to_u64};
use tdb_fragment::{
    Condition, Footer, FooterLocation, LegacyMetadata, RTree, TileValues, TimestampedName,
    parse_consolidated_commits, parse_consolidated_footers, parse_fragment_statistics, parse_names,
    parse_path_lines, parse_u64_list, parse_words, vacuum_target,
};

use crate::assert_same;
use crate::input::Input;

/// Footers: found at the end of a file, read, written, read again; sections and counts computed.
pub fn footer(data: &[u8]) {
    let mut input = Input::new(data);
    let Some(schema) = input.schema() else { return };
    let bytes = input.rest();
    let Ok((version, _)) = Footer::parse_head(bytes, 0) else { return };
    if let Ok(location) = FooterLocation::of(version, Some(&schema)) {
        let _ = location.slice(to_u64(bytes.len()), bytes);
    }
    let Ok(footer) = Footer::parse(bytes, 0, &schema) else { return };
    for (section, _) in footer.sections.iter() {
        if let Ok(Some(range)) = footer.section(section) {
            assert!(range.start <= range.end, "{}", section.name());
        }
    }
    let _ = (footer.tile_count(&schema), footer.tile_grid(&schema), footer.data_bytes());
    let _ = (footer.sparse_cell_count(schema.capacity), footer.sparse_tile_cells(0, schema.capacity));
    if let Ok(written) = footer.to_bytes(&schema) {
        assert_same(&Footer::parse(&written, 0, &schema), &Ok(footer));
    }
}

/// R-trees: read, searched, written, read again.
pub fn rtree(data: &[u8]) {
    let mut input = Input::new(data);
    let (Some(schema), version) = (input.schema(), input.version()) else { return };
    let Ok(tree) = RTree::parse(input.rest(), version, &schema.domain) else { return };
    let all = tree.search(|_, _, _| true);
    assert!(all.len() <= tree.leaf_count(), "more tiles than leaves");
    for tile in all {
        assert!(tree.leaf(tile).is_some(), "tile {tile} was found and is not there");
    }
    if let Ok(written) = tree.to_bytes(version, &schema.domain) {
        assert_same(&RTree::parse(&written, version, &schema.domain), &Ok(tree));
    }
}

/// Metadata of versions 1 and 2, and the R-tree built of it.
pub fn legacy_metadata(data: &[u8]) {
    let mut input = Input::new(data);
    let Some(schema) = input.schema() else { return };
    let Ok(metadata) = LegacyMetadata::parse(input.rest(), &schema) else { return };
    if let Ok(tree) = RTree::build(&metadata.mbrs, &schema.domain) {
        assert_eq!(tree.leaf_count(), metadata.mbrs.len(), "a leaf for each rectangle");
    }
}

/// Values of a tile statistic: read, looked at, written, read again.
pub fn tile_values(data: &[u8]) {
    let Ok(values) = TileValues::parse(Reader::new(data), "tile mins") else { return };
    for tile in [0, 1, 2, values.fixed.len(), usize::MAX] {
        for size in [None, Some(0), Some(1), Some(8), Some(usize::MAX)] {
            let _ = values.value(tile, size);
        }
    }
    assert_same(&TileValues::parse(Reader::new(&values.to_bytes()), "tile mins"), &Ok(values));
}

/// Lists of 64-bit words.
pub fn u64_list(data: &[u8]) {
    let list = parse_u64_list(Reader::new(data), "tile offsets");
    let words = parse_words(Reader::new(data), "tile sums");
    assert_eq!(list.is_ok(), words.is_ok(), "the same layout");
    if let (Ok(list), Ok(words)) = (list, words) {
        let words: Vec<u64> = words.into_iter().map(u64::from_le_bytes).collect();
        assert_eq!(list, words, "the same words");
    }
}

/// Statistics of a whole fragment; the first byte is the number of field slots.
pub fn fragment_statistics(data: &[u8]) {
    let mut input = Input::new(data);
    let slots = usize::from(input.u8());
    if let Ok(statistics) = parse_fragment_statistics(Reader::new(input.rest()), slots) {
        assert_eq!(statistics.len(), slots, "one for each slot");
    }
}

/// Delete conditions: read, written, read again.
pub fn condition(data: &[u8]) {
    let Ok(condition) = Condition::parse(data) else { return };
    let again = condition.to_bytes(FormatVersion::CURRENT).map(|bytes| Condition::parse(&bytes));
    assert_same(&again, &Ok(Ok(condition)));
}

/// Lists of names.
pub fn names(data: &[u8]) {
    if let Ok(names) = parse_names(Reader::new(data), "processed conditions") {
        let bytes: usize = names.iter().map(String::len).sum();
        assert!(bytes <= data.len(), "more names than bytes");
    }
}

/// Consolidated commit files.
pub fn consolidated_commits(data: &[u8]) {
    let Ok(records) = parse_consolidated_commits(data) else { return };
    for (offset, delete) in records.iter().filter_map(|record| record.delete) {
        let end = offset.saturating_add(to_u64(delete.len()));
        assert!(end <= to_u64(data.len()), "a delete past the end");
    }
}

/// Ignore and vacuum files.
pub fn path_lines(data: &[u8]) {
    for line in parse_path_lines(data).unwrap_or_default() {
        assert!(line.ends_with(vacuum_target(&line)), "the target is the line's end");
    }
}

/// Consolidated fragment metadata.
pub fn consolidated_footers(data: &[u8]) {
    for footer in parse_consolidated_footers(Reader::new(data)).unwrap_or_default() {
        let end = footer.offset.saturating_add(to_u64(footer.bytes.len()));
        assert!(end <= to_u64(data.len()), "a footer past the end");
        let _ = TimestampedName::parse(&footer.name);
    }
}

/// Names of fragments, schemas and commits.
pub fn timestamped_name(data: &[u8]) {
    let Ok(name) = core::str::from_utf8(data) else { return };
    if let Ok(parsed) = TimestampedName::parse(name) {
        assert!(name.contains(&parsed.uuid), "the unique part is part of the name");
    }
}
