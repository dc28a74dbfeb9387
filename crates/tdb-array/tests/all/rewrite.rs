//! Fragments that libtiledb wrote, read and written again by tdb: the same files.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::schema::{ArrayType, Datatype};
use tdb_array::storage::{MemoryStorage, Storage};
use tdb_array::stored::Fragment;
use tdb_array::{Array, Cells, Error, Layout, OpenOptions, TimeWindow, WriteColumn, WriteOptions};
use tdb_codec::{Budget, Limits, Reader};
use tdb_filters::{Filter, Pipeline, Scratch, TileContext};
use tdb_fragment::{DataFile, DataFilePart, Section, parse_fragment_statistics, parse_u64_list};
use tdb_schema::FieldKind;
use tdb_tile::{GenericTile, TileChunks};

/// An array with a cell at NaN, which libtiledb writes and tdb rejects.
const NAN: &str = "2.30.0/nan_coordinates";
/// An array whose tiles libtiledb writes without most of their cells, and tdb writes whole.
const SHORT: &str = "2.30.0/dense_short_tiles";

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures")
}

/// Folders of the fixtures of the newest release that are not encrypted.
fn arrays() -> Vec<(String, PathBuf)> {
    let manifest = fs::read(fixtures().join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let entries = manifest.as_array().unwrap().iter();
    entries
        .filter(|entry| entry["key"].is_null() && entry["object"].is_null())
        .map(|entry| entry["id"].as_str().unwrap().to_owned())
        .filter(|id| id.starts_with("2.30.0/"))
        .map(|id| (id.clone(), fixtures().join("arrays").join(id)))
        .collect()
}

/// The cells of one fragment, written into an array in memory.
fn rewrite(array: &Array, fragment: &Fragment) -> Result<(MemoryStorage, Array, Cells), Error> {
    let schema = fragment.schema();
    let storage = MemoryStorage::default();
    let (time, _) = fragment.timestamps();
    let options = WriteOptions::new().threads(2).timestamp(time).any_codes();
    let mut create = options.clone();
    for entry in &schema.enumerations {
        create = create.enumeration(array.enumeration(&entry.name)?.unwrap());
    }
    create.create_storage(&storage, schema)?;
    let writer = options.open_storage(storage.clone())?;
    let dense = schema.array_type == ArrayType::Dense;
    let order = if dense { Layout::RowMajor } else { Layout::GlobalOrder };
    let mut read = array.read().fields(schema.fields().map(|field| field.name.to_owned())).order(order);
    let mut write = writer.write().order(order);
    if dense {
        let attributes = schema.attributes.iter().map(|attribute| attribute.name.clone());
        read = array.read().fields(attributes).order(order);
        for (range, dimension) in fragment.non_empty_domain().unwrap().iter().zip(&schema.domain.dimensions) {
            read = read.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
            write = write.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
        }
    }
    let cells = read.collect()?;
    for column in cells.columns() {
        write = write.column(WriteColumn::from(column));
    }
    write.commit()?;
    let written = OpenOptions::new().open_storage(storage.clone())?;
    Ok((storage, written, cells))
}

/// The unfiltered payload of every section.
fn sections(fragment: &Fragment, file: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let footer = fragment.footer();
    let mut sections = BTreeMap::new();
    for (section, offset) in footer.sections.iter() {
        let start = usize::try_from(offset).unwrap();
        let tile = GenericTile::parse(file.get(start..).unwrap(), offset).unwrap();
        let payload = tile.decode(None, &Limits::default(), &Budget::unlimited()).unwrap();
        sections.insert(format!("{section:?}"), payload);
    }
    sections
}

/// The tiles of a data file without their filters, one after the other.
fn unfiltered(
    fragment: &Fragment,
    kind: FieldKind,
    part: DataFilePart,
    sections: &BTreeMap<String, Vec<u8>>,
    file: &[u8],
) -> Vec<Vec<u8>> {
    let schema = fragment.schema();
    let slot = fragment.footer().slots.field(kind);
    let field = schema.field_of(kind).unwrap();
    let version = fragment.version();
    let size = field.datatype.size() as u64;
    let (section, pipeline, context) = match part {
        DataFilePart::Fixed if field.is_var() => {
            (Section::TileOffsets(slot), &schema.offsets_filters, TileContext::offsets(version))
        }
        DataFilePart::Fixed => {
            let cell = field.cell_size().unwrap() as u64;
            (Section::TileOffsets(slot), field.filters, TileContext::new(field.datatype, cell, version))
        }
        DataFilePart::Var => (
            Section::VarOffsets(slot),
            field.filters,
            TileContext { var: true, ..TileContext::new(field.datatype, size, version) },
        ),
        DataFilePart::Validity => {
            (Section::ValidityOffsets(slot), &schema.validity_filters, TileContext::validity(version))
        }
    };
    let decoder = pipeline.decoder(context).unwrap();
    let starts = parse_u64_list(Reader::new(&sections[&format!("{section:?}")]), "offsets").unwrap();
    let starts: Vec<usize> = starts.into_iter().map(|start| usize::try_from(start).unwrap()).collect();
    let ends = starts.iter().copied().skip(1).chain([file.len()]);
    let tiles = starts.iter().zip(ends).map(|(start, end)| {
        let tile = TileChunks::parse(file.get(*start..end).unwrap(), 0).unwrap();
        let (mut scratch, budget) = (Scratch::new(), Budget::unlimited());
        if decoder.decodes_strings() {
            let (values, offsets) = tile.decode_strings(&decoder, &mut scratch, &budget).unwrap();
            return [values, offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect()].concat();
        }
        let mut out = vec![0; usize::try_from(tile.original_len()).unwrap()];
        tile.decode(&decoder, &mut out, &mut scratch, &budget).unwrap();
        out
    });
    tiles.collect()
}

/// A key without the parts that differ between writes: times and uuids.
fn masked(key: &str) -> String {
    let part = |name: &str| match name.split('_').collect::<Vec<_>>().as_slice() {
        ["", "", first, last, uuid, rest @ ..] if uuid.len() >= 32 => {
            let whole = first.bytes().chain(last.bytes()).all(|byte| byte.is_ascii_digit());
            assert!(whole, "{name}");
            format!(
                "__t_t_uuid{}{}",
                uuid.split_at(32).1,
                rest.iter().map(|rest| format!("_{rest}")).collect::<String>()
            )
        }
        ["", "", uuid, "0"] if uuid.len() == 32 => "__uuid_0".to_owned(),
        _ => name.to_owned(),
    };
    key.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Files below a folder, by key.
fn keys(folder: &Path, below: &str, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let key = if below.is_empty() { name } else { format!("{below}/{name}") };
        if entry.file_type().unwrap().is_dir() { keys(folder, &key, into) } else { into.push(key) }
    }
}

/// Compares everything except the fragment's own files: the schema, byte for byte apart from its
/// codec, enumerations too, and, if the array consists of exactly one fragment, the list of files.
/// Returns whether it does.
fn check_other_files(
    id: &str,
    folder: &Path,
    array: &Array,
    fragment: &Fragment,
    storage: &MemoryStorage,
) -> bool {
    let payload = |bytes: &[u8]| {
        let tile = GenericTile::parse(bytes, 0).unwrap();
        tile.decode(None, &Limits::default(), &Budget::unlimited()).unwrap()
    };
    let mine = storage.keys();
    let below = |folder: &str| mine.iter().filter(|key| key.starts_with(folder)).cloned().collect::<Vec<_>>();
    let read = |key: &str| storage.read_tail(key, u64::MAX).unwrap().1;
    let schema = below("__schema/__").into_iter().find(|key| !key.contains("__enumerations")).unwrap();
    let name = fragment.footer().schema_name.clone().unwrap();
    let theirs = fs::read(folder.join("__schema").join(name)).unwrap();
    assert_eq!(payload(&read(&schema)), payload(&theirs), "{id}: schemas differ");
    for entry in &fragment.schema().enumerations {
        let key = format!("__schema/__enumerations/{}", entry.file_name);
        assert_eq!(payload(&read(&key)), payload(&fs::read(folder.join(&key)).unwrap()), "{id}: {key}");
    }
    let mut theirs = Vec::new();
    keys(folder, "", &mut theirs);
    let alone = array.schema_keys().len() == 1
        && !theirs.iter().any(|key| key.starts_with("__meta/") || key.starts_with("__labels/"))
        && theirs.iter().filter(|key| key.starts_with("__commits/")).count() == 1
        && theirs.iter().filter(|key| key.ends_with("__fragment_metadata.tdb")).count() == 1;
    if alone {
        let masked = |keys: Vec<String>| {
            let mut keys: Vec<String> = keys.iter().map(|key| masked(key)).collect();
            keys.sort();
            keys
        };
        assert_eq!(masked(mine), masked(theirs), "{id}: other files");
    }
    alone
}

/// The statistics of single fields, taken from the sections: by section and slot.
type Statistics = BTreeMap<(&'static str, usize), Vec<u8>>;

/// The sections of each slot, and the fragment's statistics divided into slots.
fn statistics(fragment: &Fragment, sections: &BTreeMap<String, Vec<u8>>) -> Statistics {
    let mut found = Statistics::new();
    for (section, _) in fragment.footer().sections.iter() {
        let payload = sections[&format!("{section:?}")].clone();
        if section == Section::FragmentStatistics {
            let all =
                parse_fragment_statistics(Reader::new(&payload), fragment.footer().slots.len()).unwrap();
            for (slot, field) in all.into_iter().enumerate() {
                found.insert(("fragment min", slot), field.min);
                found.insert(("fragment max", slot), field.max);
                found.insert(("fragment sum", slot), field.sum.to_vec());
                found.insert(("fragment null count", slot), field.null_count.to_le_bytes().to_vec());
            }
        } else {
            found.insert((section.name(), section.slot().unwrap_or(usize::MAX)), payload);
        }
    }
    found
}

/// Whether these filters lose information in images.
fn is_lossy(pipeline: &Pipeline) -> bool {
    pipeline.filters.iter().any(|filter| matches!(filter, Filter::WebP(options) if !options.lossless))
}

const CODECS: [&str; 5] = ["gzip", "zstd", "lz4", "bzip2", "webp"];

/// Why bytes that went through these filters may differ from libtiledb's.
fn codec_excuse(pipeline: &Pipeline) -> Option<&'static str> {
    let mut names = pipeline.filters.iter().map(Filter::name);
    names.find_map(|name| match name {
        _ if CODECS.contains(&name) => Some("another version of a codec: its bytes are as good"),
        "double-delta" => {
            Some("libtiledb since 2.29 counts the first difference among those to find room for")
        }
        _ => None,
    })
}

/// Why the files of a field may differ.
fn file_excuse(fragment: &Fragment, slot: usize) -> Option<&'static str> {
    let schema = fragment.schema();
    let slots = fragment.footer().slots;
    let field = schema.fields().find(|field| slots.field(field.kind) == slot)?;
    let offsets = field.is_var().then(|| codec_excuse(&schema.offsets_filters)).flatten();
    let validity = field.nullable.then(|| codec_excuse(&schema.validity_filters)).flatten();
    codec_excuse(field.filters).or(offsets).or(validity)
}

/// Why a statistic differs from libtiledb's, if libtiledb's is wrong (`write::statistics` has the
/// list).
fn excuse(fragment: &Fragment, cells: &Cells, what: &str, slot: usize) -> Option<&'static str> {
    let schema = fragment.schema();
    let attribute = schema.attributes.get(slot)?;
    let column = cells.field(&attribute.name).unwrap();
    let dense = schema.array_type == ArrayType::Dense;
    let nan = match attribute.datatype {
        Datatype::Float32 => column.values::<f32>().unwrap().iter().any(|value| value.is_nan()),
        Datatype::Float64 => column.values::<f64>().unwrap().iter().any(|value| value.is_nan()),
        _ => false,
    };
    let byte_strings = matches!(attribute.datatype, Datatype::Char | Datatype::StringAscii);
    match what {
        "tile mins" | "tile maxes" | "fragment min" | "fragment max" => {
            let garbage = dense && attribute.is_var() && byte_strings;
            nan.then_some("a NaN hides what stands before it")
                .or(garbage.then_some("strings of dense tiles are looked for in the wrong place"))
        }
        "fragment sum" => (attribute.datatype == Datatype::Char).then_some("CHAR has none"),
        "tile null counts" | "fragment null count" => {
            let whole = dense && !byte_strings;
            attribute
                .is_var()
                .then_some("nulls of var-length fields are not counted, or elsewhere")
                .or(whole.then_some("whole tiles are counted, once a slab"))
        }
        _ => None,
    }
}

#[test]
fn fragments_of_libtiledb_written_again_are_the_same_files() {
    let (mut same, mut excuses, mut skipped, mut different) = (0, BTreeMap::new(), Vec::new(), Vec::new());
    let (mut lossy, mut alone) = (0, 0);
    for (id, folder) in arrays() {
        let all = Array::open(&folder).unwrap();
        if all.schema().attributes.iter().any(|a| is_lossy(&a.filters)) {
            println!("skipped {id}: a lossy image of the pixels of another is not the same image");
            lossy += 1;
            continue;
        }
        if id == SHORT {
            skipped.push(format!("{id}: libtiledb does not count all cells of its tiles"));
            continue;
        }
        for fragment in all.fragments() {
            let (first, last) = fragment.timestamps();
            let array = Array::open_at(&folder, TimeWindow { start: first, end: last }).unwrap();
            if first != last || array.fragments().len() != 1 {
                skipped.push(format!("{id}: consolidated, or with others at one time"));
                continue;
            }
            let (storage, written, cells) = match rewrite(&array, fragment) {
                Ok(written) => written,
                Err(Error::Unsupported { what, .. }) => {
                    skipped.push(format!("{id}: {what}"));
                    continue;
                }
                Err(error @ Error::Write(_)) if id == NAN => {
                    skipped.push(format!("{id}: {error}"));
                    continue;
                }
                Err(error) => panic!("{id}: {error}"),
            };
            let mine = &written.fragments()[0];
            let dense = fragment.is_dense();
            let order = if dense { Layout::RowMajor } else { Layout::GlobalOrder };
            let mut read = written.read().fields(cells.columns().iter().map(|c| c.name.clone())).order(order);
            if dense {
                let ranges = fragment.non_empty_domain().unwrap();
                for (range, dimension) in ranges.iter().zip(&fragment.schema().domain.dimensions) {
                    read =
                        read.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
                }
            }
            for (ours, theirs) in read.collect().unwrap().columns().iter().zip(cells.columns()) {
                assert_eq!(ours.bytes(), theirs.bytes(), "{id} {}", ours.name);
                assert_eq!(ours.offsets(), theirs.offsets(), "{id} {}", ours.name);
                assert_eq!(ours.validity(), theirs.validity(), "{id} {}", ours.name);
            }
            let slots = fragment.footer().slots;
            let mut wrong = Vec::new();
            let mut excused = false;
            let metadata = fs::read(folder.join(fragment.metadata_key())).unwrap();
            let their_sections = sections(fragment, &metadata);
            let our_sections = sections(mine, &storage.read_tail(mine.metadata_key(), u64::MAX).unwrap().1);
            alone += usize::from(check_other_files(&id, &folder, &array, fragment, &storage));
            for field in fragment.schema().fields() {
                for part in [DataFilePart::Fixed, DataFilePart::Var, DataFilePart::Validity] {
                    let file = DataFile::Field(field.kind, part);
                    let name = file.name(fragment.schema(), fragment.version()).unwrap();
                    let theirs = fs::read(folder.join(fragment.folder()).join(&name)).ok();
                    let ours = storage.read_tail(&format!("{}/{name}", mine.folder()), u64::MAX).ok();
                    let ours = ours.map(|(_, bytes)| bytes.to_vec());
                    if ours == theirs {
                        continue;
                    }
                    excused = true;
                    if let Some(why) = file_excuse(fragment, slots.field(field.kind)) {
                        // The codec's bytes may differ, but not the decoded contents.
                        let tiles =
                            |fragment: &Fragment, sections: &BTreeMap<_, _>, file: &Option<Vec<u8>>| {
                                unfiltered(fragment, field.kind, part, sections, file.as_deref().unwrap())
                            };
                        let (ours, theirs) =
                            (tiles(mine, &our_sections, &ours), tiles(fragment, &their_sections, &theirs));
                        if ours != theirs
                            && !fragment.schema().attributes.iter().any(|a| is_lossy(&a.filters))
                        {
                            wrong.push(format!("{name} unfiltered: {ours:02x?}\n      not {theirs:02x?}"));
                        }
                        *excuses.entry(why).or_insert(0) += 1;
                    } else {
                        wrong.push(format!("{name}: {ours:02x?}\n      not {theirs:02x?}"));
                    }
                }
            }
            let (theirs, ours) = (statistics(fragment, &their_sections), statistics(mine, &our_sections));
            assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
            for ((what, slot), theirs) in &theirs {
                let ours = &ours[&(*what, *slot)];
                if ours == theirs {
                    continue;
                }
                excused = true;
                let offsets = what.ends_with("offsets") && file_excuse(fragment, *slot).is_some();
                match excuse(fragment, &cells, what, *slot) {
                    _ if offsets => {}
                    Some(why) => *excuses.entry(why).or_insert(0) += 1,
                    None => wrong.push(format!("{what} of slot {slot}: {ours:?}\n      not {theirs:?}")),
                }
            }
            let facts = |fragment: &Fragment| {
                let footer = fragment.footer();
                let domain = footer.non_empty_domain.clone();
                (footer.dense, domain, footer.sparse_tile_num, footer.last_tile_cell_num)
            };
            if facts(mine) != facts(fragment) {
                wrong.push(format!("{:?}, not {:?}", facts(mine), facts(fragment)));
            }
            if !wrong.is_empty() {
                different.push(format!("{id}:\n    {}", wrong.join("\n    ")));
            } else if !excused {
                same += 1;
            }
        }
    }
    skipped.iter().for_each(|line| println!("skipped {line}"));
    excuses.iter().for_each(|(why, count)| println!("{count} differ: {why}"));
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n"));
    println!("{same} fragments are the same, byte for byte; {alone} arrays are nothing else");
    assert!(alone >= 30, "only {alone} arrays are nothing but one fragment");
    assert_eq!(lossy, 4, "fixtures of lossy images");
    assert!(same >= 150 && skipped.len() <= 20, "only {same}, {} skipped", skipped.len());
}
