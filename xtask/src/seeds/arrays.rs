//! Candidates from the fixture arrays.

use std::fs;
use std::path::Path;

use tdb_array::stored::Fragment;
use tdb_array::{Array, Layout, TimeWindow, field};
use tdb_codec::{Budget, Limits, Writer, to_usize};
use tdb_fragment::{CommitKind, Section, vacuum_target};
use tdb_fuzz_bodies::{pack_files, version_byte, with_schema};
use tdb_schema::ArraySchema;
use tdb_tile::{GenericTile, TileChunks};

use super::{Seeds, chunks};

/// A file of an array: its key and its bytes.
type File = (String, Vec<u8>);

/// Goes through `root/<release>/<array>`.
pub(super) fn collect(root: &Path, seeds: &mut Seeds) -> Result<(), String> {
    for release in folders(root)? {
        for folder in folders(&release)? {
            let from = folder.strip_prefix(root).unwrap_or(&folder).to_string_lossy().into_owned();
            let mut files = Vec::new();
            read_files(&folder, "", &mut files)?;
            for file in &files {
                one_file(&from, file, seeds);
            }
            if let Some(packed) = pack_files(&files) {
                seeds.add("whole_array", &from, packed);
            }
            // Encrypted arrays cannot be opened without their key.
            if let Ok(array) = Array::open(&folder) {
                for fragment in array.fragments() {
                    one_fragment(&from, &files, fragment, seeds);
                }
            }
            // With a fixed time window: with the present time, the seed would be different in each
            // run.
            if let Ok(array) = Array::open_at(&folder, TimeWindow::ALL) {
                described(&from, &array, seeds);
            }
        }
    }
    Ok(())
}

/// The last part of a query with a condition, as bytes.
fn described(from: &str, array: &Array, seeds: &mut Seeds) {
    let names = array.schema().fields().map(|field| field.name);
    let read = array.read().fields(names).order(Layout::GlobalOrder);
    let attribute = array.schema().attributes.first().map_or("", |attribute| &attribute.name);
    let conditioned = read.clone().condition(field(attribute).ge(3).or(!field(attribute).is_in([1, 2])));
    let part =
        conditioned.partitions(3).or_else(|_| read.partitions(3)).ok().and_then(|mut parts| parts.pop());
    if let Some(Ok(description)) = part.map(|part| part.describe("file:///array")) {
        seeds.add("query_description", from, description.to_bytes());
    }
}

fn folders(folder: &Path) -> Result<Vec<std::path::PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut found: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    found.sort();
    Ok(found)
}

/// All files below a folder, with their keys.
fn read_files(folder: &Path, prefix: &str, files: &mut Vec<File>) -> Result<(), String> {
    let error = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut entries: Vec<_> = fs::read_dir(folder).map_err(error)?.flatten().collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let key = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read_files(&entry.path(), &format!("{key}/"), files)?;
        } else {
            files.push((key, fs::read(entry.path()).map_err(error)?));
        }
    }
    Ok(())
}

/// An update of two fields with a condition, because no fixture has one.
fn update(condition: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.bytes(condition);
    writer.u64(2);
    for (field, value) in [("a", &[1, 2, 3, 4][..]), ("name", b"value")] {
        writer.bytes_u64(field.as_bytes());
        writer.bytes_u64(value);
    }
    writer.into_vec()
}

/// The payload of the generic tile at the start of some bytes.
fn payload(bytes: &[u8]) -> Option<Vec<u8>> {
    GenericTile::parse(bytes, 0).ok()?.decode(None, &Limits::default(), &Budget::unlimited()).ok()
}

fn one_file(from: &str, (key, bytes): &File, seeds: &mut Seeds) {
    let (folder, name) = key.rsplit_once('/').unwrap_or(("", key));
    seeds.add("timestamped_name", from, name);
    if let Some((_, stem)) = CommitKind::of(name) {
        seeds.add("timestamped_name", from, stem);
    }
    match CommitKind::of(name).map(|(kind, _)| kind) {
        Some(CommitKind::Consolidated) => seeds.add("consolidated_commits", from, bytes.as_slice()),
        Some(CommitKind::Ignore | CommitKind::Vacuum) => {
            seeds.add("path_lines", from, bytes.as_slice());
            let text = String::from_utf8_lossy(bytes);
            text.lines().for_each(|line| seeds.add("timestamped_name", from, vacuum_target(line)));
        }
        Some(CommitKind::Delete) => {
            if let Some(payload) = payload(bytes) {
                seeds.add("update", from, update(&payload));
                seeds.add("condition", from, payload);
            }
        }
        Some(CommitKind::ConsolidatedMetadata) => {
            if let Some(payload) = payload(bytes) {
                seeds.add("consolidated_footers", from, payload);
            }
        }
        _ => {}
    }
    if GenericTile::parse(bytes, 0).is_ok() {
        seeds.add("generic_tile", from, bytes.as_slice());
    }
    if TileChunks::parse(bytes, 0).is_ok() {
        seeds.add("tile_chunks", from, bytes.as_slice());
    }
    // Groups can be in the folders of other groups.
    let target = match folder.rsplit_once('/').map_or(folder, |(_, last)| last) {
        "__enumerations" => "enumeration",
        "__meta" => "array_metadata",
        "__schema" => "array_schema",
        "__group" => "group_details",
        _ if name == "__array_schema.tdb" => "array_schema",
        _ => return,
    };
    let Some(payload) = payload(bytes) else { return };
    if let Ok(schema) = ArraySchema::parse(&payload) {
        let own = [&schema.coords_filters, &schema.offsets_filters];
        for pipeline in schema.fields().map(|field| field.filters).chain(own) {
            let mut writer = Writer::new();
            writer.u8(version_byte(schema.version));
            if pipeline.write(&mut writer, schema.version).is_ok() {
                seeds.add("pipeline", from, writer.into_vec());
            }
        }
    }
    seeds.add(target, from, payload);
}

fn one_fragment(from: &str, files: &[File], fragment: &Fragment, seeds: &mut Seeds) {
    let schema = fragment.schema();
    let metadata = files.iter().find(|(key, _)| key == fragment.metadata_key());
    let (Ok(schema_payload), Some((_, metadata))) = (schema.to_bytes(schema.version), metadata) else {
        return;
    };
    let mut add = |target: &str, rest: &[u8]| {
        if let Some(input) = with_schema(&schema_payload, rest) {
            seeds.add(target, from, input);
        }
    };
    let footer = fragment.footer();
    if footer.sections.iter().next().is_none() {
        if let Some(payload) = payload(metadata) {
            add("legacy_metadata", &payload);
        }
    } else if let Some(bytes) = to_usize(footer.offset).and_then(|start| metadata.get(start..)) {
        // With the length after it, which a reader uses to find it.
        add("footer", bytes);
    }
    for (section, offset) in footer.sections.iter() {
        let tile = to_usize(offset).and_then(|offset| metadata.get(offset..));
        let Some(payload) = tile.and_then(payload) else { continue };
        let slots = u8::try_from(footer.slots.len()).unwrap_or(u8::MAX);
        match section {
            Section::RTree => {
                let version = [version_byte(fragment.version())];
                let input = with_schema(&schema_payload, &[&version, payload.as_slice()].concat());
                input.into_iter().for_each(|input| seeds.add("rtree", from, input));
            }
            Section::Mins(_) | Section::Maxes(_) => seeds.add("tile_values", from, payload),
            Section::FragmentStatistics => {
                seeds.add("fragment_statistics", from, [&[slots], payload.as_slice()].concat());
            }
            Section::ProcessedConditions => seeds.add("names", from, payload),
            _ => seeds.add("u64_list", from, payload),
        }
    }
    chunks::from_fragment(from, files, fragment, seeds);
}
