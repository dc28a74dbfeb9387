//! Fragment metadata and data files.

use std::path::Path;

use tdb_array::Key;
use tdb_codec::{Budget, FormatVersion, Gate, Limits, Reader, to_u64, to_usize};
use tdb_fragment::{
    DataFile, DataFilePart, Footer, FooterLocation, LegacyMetadata, RTree, Section, TileValues,
    TimestampedName, is_plain_name, parse_fragment_statistics, parse_names, parse_u64_list, parse_words,
};
use tdb_schema::{ArraySchema, FieldKind};
use tdb_tile::{GenericTile, TileChunks};

use super::ArrayAccess;
use super::block::{Block, Trouble};
use super::kind::{FRAGMENT_METADATA, OLD_SCHEMA, SCHEMA_FOLDER, array_of};
use super::tile;

/// A fragment's metadata file: its sections, then its footer.
pub(super) fn explain_metadata(file: &Path, bytes: &[u8], access: ArrayAccess<'_>) -> Vec<Block> {
    let key = access.key;
    let mut blocks = Vec::new();
    match Opened::new(file, bytes, access) {
        Ok(Opened { schema, footer: None, .. }) => {
            tile::generic(&mut blocks, "fragment metadata", (bytes, 0), key, |reader| {
                LegacyMetadata::parse_from(reader, &schema)?;
                Ok(())
            });
        }
        Ok(Opened { schema, footer: Some(footer), footer_end, .. }) => {
            sections(&mut blocks, bytes, (&schema, &footer), key);
            let start = to_usize(footer.offset).unwrap_or(usize::MAX);
            let rest = bytes.get(start..).unwrap_or_default();
            let footer_len = footer_end.saturating_sub(footer.offset);
            blocks.push(Block::traced("footer", rest, footer.offset, |mut reader| {
                let sub = reader.sub(footer_len, "footer")?;
                Footer::parse_from(sub, &schema)?;
                if !reader.is_empty() {
                    reader.u64("footer length")?;
                }
                Ok(())
            }));
        }
        Err(trouble) => {
            // Without a footer the offsets of the sections are unknown, but the first ones follow
            // each other.
            let mut offset = 0;
            while let Some(rest) = to_usize(offset).and_then(|start| bytes.get(start..)) {
                let Ok(tile) = GenericTile::parse(rest, offset) else { break };
                let whole = |mut reader: Reader<'_>| -> Result<(), Trouble> {
                    reader.take(reader.remaining(), "section")?;
                    Ok(())
                };
                tile::generic(&mut blocks, "section", (rest, offset), key, whole);
                offset = offset.saturating_add(tile.total_len());
            }
            let mut block = Block::new("footer");
            block.trouble = Some(trouble);
            blocks.push(block);
        }
    }
    blocks
}

fn sections(
    blocks: &mut Vec<Block>,
    bytes: &[u8],
    (schema, footer): (&ArraySchema, &Footer),
    key: Option<&Key>,
) {
    let mut sections: Vec<(Section, u64)> = footer.sections.iter().collect();
    sections.sort_by_key(|(_, offset)| *offset);
    for (section, offset) in sections {
        let what = match section.slot() {
            Some(slot) => format!("{} of {}", section.name(), slot_name(schema, footer, slot)),
            None => section.name().to_owned(),
        };
        let range = footer.section(section);
        let tile =
            range.ok().flatten().and_then(|range| bytes.get(to_usize(range.start)?..to_usize(range.end)?));
        let Some(tile) = tile else {
            let mut block = Block::new(what);
            block.trouble = Some(Trouble { offset, what: "the section is outside the file".to_owned() });
            blocks.push(block);
            continue;
        };
        tile::generic(blocks, &what, (tile, offset), key, |reader| {
            section_payload(section, reader, schema, footer)
        });
        // Footers with delete metadata do not locate the processed conditions yet: these follow the
        // last section.
        let end = GenericTile::parse(tile, offset).map_or(u64::MAX, |tile| tile.total_len());
        let rest = to_usize(end).and_then(|end| tile.get(end..)).unwrap_or_default();
        let unlocated = footer.version.has(Gate::DeleteMetadata) && !footer.version.has(Gate::DeleteFiles);
        if unlocated && !rest.is_empty() {
            let what =
                format!("{} (the footer does not contain its offset)", Section::ProcessedConditions.name());
            tile::generic(blocks, &what, (rest, offset.saturating_add(end)), key, |reader| {
                section_payload(Section::ProcessedConditions, reader, schema, footer)
            });
        }
    }
}

fn section_payload(
    section: Section,
    reader: Reader<'_>,
    schema: &ArraySchema,
    footer: &Footer,
) -> Result<(), Trouble> {
    let name = section.name();
    match section {
        Section::RTree => RTree::parse_from(reader, footer.version, &schema.domain).map(|_| ())?,
        Section::Mins(_) | Section::Maxes(_) | Section::GlobalOrderMins(_) | Section::GlobalOrderMaxes(_) => {
            TileValues::parse(reader, name).map(|_| ())?;
        }
        Section::Sums(_) => parse_words(reader, name).map(|_| ())?,
        Section::FragmentStatistics => parse_fragment_statistics(reader, footer.slots.len()).map(|_| ())?,
        Section::ProcessedConditions => parse_names(reader, name).map(|_| ())?,
        _ => parse_u64_list(reader, name).map(|_| ())?,
    }
    Ok(())
}

fn slot_name(schema: &ArraySchema, footer: &Footer, slot: usize) -> String {
    let field = schema.fields().find(|field| footer.slots.field(field.kind) == slot);
    match field {
        _ if slot == footer.slots.coords() => "__coords".to_owned(),
        Some(field) => format!("{:?}", field.name),
        None => "the cells' timestamps".to_owned(),
    }
}

/// A data file: its tiles and their chunks.
pub(super) fn explain_data(file: &Path, bytes: &[u8], access: ArrayAccess<'_>) -> Vec<Block> {
    let (title, starts) = match tiles_of(file, access) {
        Ok((title, starts)) => (title, starts),
        Err(why) => (format!("tiles one after another ({why})"), walk_tiles(bytes)),
    };
    let mut blocks = vec![Block::new(format!(
        "{title}: {} {}",
        starts.len(),
        if starts.len() == 1 { "tile" } else { "tiles" }
    ))];
    for (index, start) in starts.iter().enumerate() {
        let next = index.checked_add(1).and_then(|next| starts.get(next)).copied();
        let end = next.unwrap_or(to_u64(bytes.len()));
        let title = format!("tile {index} at offset {start}");
        let tile = to_usize(*start).zip(to_usize(end)).and_then(|(start, end)| bytes.get(start..end));
        blocks.push(match tile {
            Some(tile) => Block::traced(title, tile, *start, |reader| {
                TileChunks::parse_from(reader)?;
                Ok(())
            }),
            None => {
                let what = format!("the tile spans bytes {start} to {end} of {}", bytes.len());
                let mut block = Block::new(title);
                block.trouble = Some(Trouble { offset: to_u64(bytes.len()), what });
                block
            }
        });
    }
    blocks
}

/// The offsets of consecutive tiles, for a file without its fragment's metadata.
fn walk_tiles(bytes: &[u8]) -> Vec<u64> {
    let mut starts = Vec::new();
    let mut reader = Reader::new(bytes);
    while !reader.is_empty() {
        starts.push(reader.offset());
        if TileChunks::parse_next(&mut reader).is_err() {
            break;
        }
    }
    starts
}

/// The contents of a data file, and the offsets of its tiles, according to the fragment's metadata.
fn tiles_of(file: &Path, access: ArrayAccess<'_>) -> Result<(String, Vec<u64>), String> {
    let name = file.file_name().and_then(|name| name.to_str()).ok_or("the file has no name")?;
    let metadata = file.with_file_name(FRAGMENT_METADATA);
    let bytes = access.stores.read(&metadata).map_err(|failure| failure.text().to_owned())?;
    let opened = Opened::new(&metadata, &bytes, access).map_err(|trouble| trouble.what)?;
    let Opened { schema, version, .. } = &opened;
    let parts = [DataFilePart::Fixed, DataFilePart::Var, DataFilePart::Validity];
    let files = schema.fields().flat_map(|field| parts.map(|part| (field, part)));
    let known = files.into_iter().find(|(field, part)| {
        DataFile::Field(field.kind, *part).name(schema, *version).as_deref() == Some(name)
    });
    let is = |file: DataFile| file.name(schema, *version).as_deref() == Some(name);
    let (title, section) = if is(DataFile::Coords) {
        // Up to version 4 every dimension uses the coordinates' slot.
        ("coordinates".to_owned(), Section::TileOffsets(opened.slot(FieldKind::Dimension(0))))
    } else if is(DataFile::Timestamps) {
        let slot = opened.footer.as_ref().and_then(|footer| footer.slots.timestamps());
        (
            "timestamps of cells".to_owned(),
            Section::TileOffsets(slot.ok_or("the fragment has no timestamps")?),
        )
    } else {
        let (field, part) = known.ok_or("the fragment's schema has no such field")?;
        let slot = opened.slot(field.kind);
        match part {
            DataFilePart::Fixed if field.is_var() => {
                (format!("offsets of {:?}", field.name), Section::TileOffsets(slot))
            }
            DataFilePart::Fixed => (format!("values of {:?}", field.name), Section::TileOffsets(slot)),
            DataFilePart::Var => (format!("values of {:?}", field.name), Section::VarOffsets(slot)),
            DataFilePart::Validity => {
                (format!("validity of {:?}", field.name), Section::ValidityOffsets(slot))
            }
        }
    };
    Ok((title, opened.tile_starts(section, &bytes, access.key)?))
}

/// The part of a fragment's metadata that its other files need.
struct Opened {
    version: FormatVersion,
    schema: ArraySchema,
    /// `None` for versions 1 and 2.
    footer: Option<Footer>,
    footer_end: u64,
}

impl Opened {
    fn new(file: &Path, bytes: &[u8], access: ArrayAccess<'_>) -> Result<Self, Trouble> {
        let outside = |what: String| Trouble { offset: 0, what };
        let folder = file.parent().ok_or_else(|| outside("the file has no folder".to_owned()))?;
        let folder = std::path::absolute(folder).map_err(|error| outside(error.to_string()))?;
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = TimestampedName::parse(name).map_err(|error| outside(error.to_string()))?;
        let version = name.version.ok_or_else(|| outside("its version is not supported".to_owned()))?;
        let array = array_of(&folder).ok_or_else(|| outside("the fragment has no array".to_owned()))?;
        let old = |name: Option<&str>| load_schema(&array, name, access).map_err(outside);
        if !version.has(Gate::FragmentFooter) {
            let footer_end = to_u64(bytes.len());
            return Ok(Self { version, schema: old(None)?, footer: None, footer_end });
        }
        let old_schema = if version.has(Gate::SchemaFolder) { None } else { Some(old(None)?) };
        let location = FooterLocation::of(version, old_schema.as_ref())?;
        let range = location.range(to_u64(bytes.len()), bytes)?;
        let footer = to_usize(range.start).zip(to_usize(range.end));
        let footer = footer.and_then(|(start, end)| bytes.get(start..end)).unwrap_or_default();
        let (_, schema_name) = Footer::parse_head(footer, range.start)?;
        let schema = match old_schema {
            Some(schema) => schema,
            None => old(schema_name.as_deref())?,
        };
        let footer = Footer::parse(footer, range.start, &schema)?;
        Ok(Self { version: footer.version, schema, footer: Some(footer), footer_end: range.end })
    }

    fn slot(&self, kind: FieldKind) -> usize {
        let slots = self.footer.as_ref().map(|footer| footer.slots);
        slots.unwrap_or(tdb_fragment::Slots::new(&self.schema, self.version, false, false)).field(kind)
    }

    fn tile_starts(&self, section: Section, bytes: &[u8], key: Option<&Key>) -> Result<Vec<u64>, String> {
        let slot = section.slot().unwrap_or(0);
        let Some(footer) = &self.footer else {
            let legacy = LegacyMetadata::parse(&payload(bytes, 0, key)?, &self.schema)
                .map_err(|error| error.to_string())?;
            let lists = if matches!(section, Section::VarOffsets(_)) {
                legacy.var_offsets
            } else {
                legacy.tile_offsets
            };
            return lists
                .into_iter()
                .nth(slot)
                .ok_or_else(|| "the metadata lists no tiles for it".to_owned());
        };
        let range = footer.section(section).map_err(|error| error.to_string())?;
        let range = range.ok_or("the metadata has no tile offsets for it")?;
        let tile = to_usize(range.start).and_then(|start| bytes.get(start..)).unwrap_or_default();
        let mut starts = parse_u64_list(Reader::new(&payload(tile, range.start, key)?), section.name())
            .map_err(|error| error.to_string())?;
        // Some of libtiledb 2.2's lists continue after the last tile.
        if footer.dense
            && let Some(count) = footer.tile_count(&self.schema).ok().and_then(to_usize)
        {
            starts.truncate(count);
        }
        Ok(starts)
    }
}

fn payload(bytes: &[u8], offset: u64, key: Option<&Key>) -> Result<Vec<u8>, String> {
    let tile = GenericTile::parse(bytes, offset).map_err(|error| error.to_string())?;
    tile.decode(key, &Limits::default(), &Budget::unlimited()).map_err(|error| error.to_string())
}

/// The schema of an array that a footer refers to.
pub(super) fn load_schema(
    array: &Path,
    name: Option<&str>,
    access: ArrayAccess<'_>,
) -> Result<ArraySchema, String> {
    if let Some(name) = name.filter(|name| !is_plain_name(name)) {
        return Err(format!("the name of the schema it needs, {name:?}, is not a file name"));
    }
    let path = match name {
        Some(name) if name != OLD_SCHEMA => array.join(SCHEMA_FOLDER).join(name),
        _ => array.join(OLD_SCHEMA),
    };
    let failed = |error: String| format!("the schema it needs, {}: {error}", path.display());
    let bytes =
        access.stores.read(&path).map_err(|failure| format!("the schema it needs, {}", failure.text()))?;
    let payload = payload(&bytes, 0, access.key).map_err(failed)?;
    ArraySchema::parse(&payload).map_err(|error| failed(error.to_string()))
}
