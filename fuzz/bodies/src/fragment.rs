//! What a fragment says about its data.

use tdb_codec::{FormatVersion, Reader, to_u64};
use tdb_fragment::{
    Condition, Footer, FooterLocation, LegacyMetadata, RTree, TileValues, TimestampedName, Update,
    parse_consolidated_commits, parse_consolidated_footers, parse_fragment_statistics, parse_names,
    parse_path_lines, parse_u64_list, parse_words, vacuum_target, write_consolidated_commits,
    write_consolidated_footers, write_fragment_statistics, write_names, write_path_lines, write_u64_list,
    write_words,
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
    let again = metadata.to_bytes(metadata.version, &schema);
    let again = again.map(|bytes| LegacyMetadata::parse(&bytes, &schema));
    assert_same(&again, &Ok(Ok(metadata)));
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

/// Lists of 64-bit words, and the same bytes written.
pub fn u64_list(data: &[u8]) {
    let list = parse_u64_list(Reader::new(data), "tile offsets");
    let words = parse_words(Reader::new(data), "tile sums");
    assert_eq!(list.is_ok(), words.is_ok(), "the same layout");
    if let (Ok(list), Ok(words)) = (list, words) {
        assert_eq!(write_u64_list(&list), data, "the same bytes");
        assert_eq!(write_words(&words), data, "the same bytes");
        let words: Vec<u64> = words.into_iter().map(u64::from_le_bytes).collect();
        assert_eq!(list, words, "the same words");
    }
}

/// Statistics of a whole fragment; the first byte is the number of field slots.
pub fn fragment_statistics(data: &[u8]) {
    let mut input = Input::new(data);
    let slots = usize::from(input.u8());
    let payload = input.rest();
    if let Ok(statistics) = parse_fragment_statistics(Reader::new(payload), slots) {
        assert_eq!(statistics.len(), slots, "one for each slot");
        assert_eq!(write_fragment_statistics(&statistics), payload, "the same bytes");
    }
}

/// Delete conditions: read, written, read again.
pub fn condition(data: &[u8]) {
    let Ok(condition) = Condition::parse(data) else { return };
    let again = condition.to_bytes(FormatVersion::CURRENT).map(|bytes| Condition::parse(&bytes));
    assert_same(&again, &Ok(Ok(condition)));
}

/// Updates: read, written, read again.
pub fn update(data: &[u8]) {
    let Ok(update) = Update::parse(data) else { return };
    let again = update.to_bytes(FormatVersion::CURRENT).map(|bytes| Update::parse(&bytes));
    assert_same(&again, &Ok(Ok(update)));
}

/// Lists of names, and the same bytes written.
pub fn names(data: &[u8]) {
    if let Ok(names) = parse_names(Reader::new(data), "processed conditions") {
        assert_eq!(write_names(&names), data, "the same bytes");
    }
}

/// Consolidated commit files, and the same bytes written.
pub fn consolidated_commits(data: &[u8]) {
    let Ok(records) = parse_consolidated_commits(data) else { return };
    for (offset, delete) in records.iter().filter_map(|record| record.delete) {
        let end = offset.saturating_add(to_u64(delete.len()));
        assert!(end <= to_u64(data.len()), "a delete past the end");
    }
    assert_eq!(
        write_consolidated_commits(&records, FormatVersion::CURRENT).as_deref(),
        Ok(data),
        "the same bytes"
    );
}

/// Ignore and vacuum files.
pub fn path_lines(data: &[u8]) {
    let Ok(lines) = parse_path_lines(data) else { return };
    for line in &lines {
        assert!(line.ends_with(vacuum_target(line)), "the target is the line's end");
    }
    let again = write_path_lines(&lines).map(|bytes| parse_path_lines(&bytes));
    assert_same(&again, &Ok(Ok(lines)));
}

/// Consolidated fragment metadata.
pub fn consolidated_footers(data: &[u8]) {
    let footers = parse_consolidated_footers(Reader::new(data)).unwrap_or_default();
    for footer in &footers {
        let end = footer.offset.saturating_add(to_u64(footer.bytes.len()));
        assert!(end <= to_u64(data.len()), "a footer past the end");
        let _ = TimestampedName::parse(&footer.name);
    }
    // Empty footers cannot be told from those behind them; names of both eras do not stand in one
    // file.
    let footers: Vec<(&str, &[u8])> = footers
        .iter()
        .map(|footer| (footer.name.as_str(), footer.bytes))
        .filter(|(_, bytes)| !bytes.is_empty())
        .collect();
    for version in [FormatVersion::OLDEST, FormatVersion::CURRENT] {
        let Ok(written) = write_consolidated_footers(&footers, version) else { continue };
        let read = parse_consolidated_footers(Reader::new(&written));
        let read = read.unwrap_or_default();
        let read: Vec<(&str, &[u8])> =
            read.iter().map(|footer| (footer.name.as_str(), footer.bytes)).collect();
        assert_eq!(read, footers, "written and read back");
    }
}

/// Names of fragments, schemas and commits.
pub fn timestamped_name(data: &[u8]) {
    let Ok(name) = core::str::from_utf8(data) else { return };
    if let Ok(parsed) = TimestampedName::parse(name) {
        assert!(name.contains(&parsed.uuid), "the unique part is part of the name");
        // A version this build does not read cannot be said again.
        if parsed.version.is_some() {
            assert_same(&TimestampedName::parse(&parsed.to_string()), &Ok(parsed));
        }
    }
}
