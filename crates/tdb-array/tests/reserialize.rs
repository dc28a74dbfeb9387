//! Every structure in the fixtures, read and written again, is the same bytes libtiledb wrote.

#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is a failure")]

use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::{Array, ArraySchema, Key, OpenOptions};
use tdb_codec::{Budget, FormatVersion, Limits};
use tdb_fragment::{Condition, Footer, RTree, Section};
use tdb_schema::{Enumeration, MetadataEntry};
use tdb_tile::GenericTile;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures")
}

/// The folder and the key of every fixture.
fn arrays() -> Vec<(PathBuf, Option<Key>)> {
    let manifest = fs::read(fixtures().join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let entries = manifest.as_array().unwrap().iter();
    entries
        .map(|entry| {
            let key = entry["key"].as_str().map(|key| Key::new(key.as_bytes().try_into().unwrap()));
            (fixtures().join("arrays").join(entry["id"].as_str().unwrap()), key)
        })
        .collect()
}

/// The files of a folder, or none if there is no such folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn payload(bytes: &[u8], key: Option<&Key>) -> Vec<u8> {
    let tile = GenericTile::parse(bytes, 0).unwrap();
    tile.decode(key, &Limits::default(), &Budget::unlimited()).unwrap()
}

#[test]
fn every_schema_file_is_written_as_it_was_read() {
    let mut seen = 0;
    for (array, key) in arrays() {
        let old = array.join("__array_schema.tdb");
        let mut schemas = files(&array.join("__schema"));
        schemas.extend(old.is_file().then_some(old));
        for path in schemas {
            let payload = payload(&fs::read(&path).unwrap(), key.as_ref());
            let schema = ArraySchema::parse(&payload).unwrap();
            assert_eq!(schema.to_bytes(schema.version).unwrap(), payload, "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 500, "only {seen} schemas");
}

#[test]
fn every_enumeration_metadata_file_and_delete_condition_is_written_as_it_was_read() {
    let (mut enumerations, mut metadata, mut conditions) = (0, 0, 0);
    for (array, key) in arrays() {
        for path in files(&array.join("__schema/__enumerations")) {
            let payload = payload(&fs::read(&path).unwrap(), key.as_ref());
            assert_eq!(
                Enumeration::parse(&payload).unwrap().to_bytes(FormatVersion::CURRENT).unwrap(),
                payload
            );
            enumerations += 1;
        }
        for path in files(&array.join("__meta")) {
            if path.extension().is_none() {
                let payload = payload(&fs::read(&path).unwrap(), key.as_ref());
                let entries = MetadataEntry::parse_all(&payload).unwrap();
                assert_eq!(MetadataEntry::write_all(&entries).unwrap(), payload, "{}", path.display());
                metadata += 1;
            }
        }
        for path in files(&array.join("__commits")) {
            if path.extension().is_some_and(|extension| extension == "del") {
                let payload = payload(&fs::read(&path).unwrap(), key.as_ref());
                assert_eq!(
                    Condition::parse(&payload).unwrap().to_bytes(FormatVersion::CURRENT).unwrap(),
                    payload
                );
                conditions += 1;
            }
        }
    }
    assert!(enumerations > 2 && metadata > 10 && conditions > 2, "{enumerations} {metadata} {conditions}");
}

#[test]
fn every_footer_and_rtree_is_written_as_it_was_read() {
    let (mut footers, mut trees) = (0, 0);
    for (folder, key) in arrays() {
        let mut options = OpenOptions::new().threads(1);
        if let Some(key) = &key {
            options = options.key(key.clone());
        }
        let array: Array = options.open(&folder).unwrap();
        for fragment in array.fragments() {
            // Versions 1 and 2 have no footer.
            let Some(offset) = fragment.footer().sections.get(Section::RTree) else { continue };
            let file = fs::read(folder.join(fragment.metadata_key())).unwrap();
            let footer = fragment.footer();
            let start = usize::try_from(footer.offset).unwrap();
            let bytes = footer.to_bytes(fragment.schema()).unwrap();
            let what = format!("{} {}", folder.display(), fragment.name());
            assert_eq!(&file[start..start + bytes.len()], bytes, "{what}");
            assert_eq!(&Footer::parse(&bytes, footer.offset, fragment.schema()).unwrap(), footer, "{what}");
            footers += 1;

            let payload = payload(&file[usize::try_from(offset).unwrap()..start], key.as_ref());
            let domain = &fragment.schema().domain;
            let tree = RTree::parse(&payload, fragment.version(), domain).unwrap();
            assert_eq!(tree.to_bytes(fragment.version(), domain).unwrap(), payload, "{what}");
            trees += usize::from(tree.leaf_count() > 0);
        }
    }
    assert!(footers > 500 && trees > 100, "{footers} footers, {trees} trees with leaves");
}

#[test]
fn trees_built_from_the_leaves_are_those_libtiledb_built() {
    let mut seen = 0;
    for (folder, key) in arrays() {
        if key.is_some() {
            continue;
        }
        let array = Array::open(&folder).unwrap();
        for fragment in array.fragments() {
            let Some(offset) = fragment.footer().sections.get(Section::RTree) else { continue };
            let file = fs::read(folder.join(fragment.metadata_key())).unwrap();
            let start = usize::try_from(fragment.footer().offset).unwrap();
            let payload = payload(&file[usize::try_from(offset).unwrap()..start], None);
            let domain = &fragment.schema().domain;
            let tree = RTree::parse(&payload, fragment.version(), domain).unwrap();
            let leaves: Vec<Vec<tdb_array::Range>> = (0..tree.leaf_count())
                .map(|leaf| {
                    let ranges = tree.leaf(leaf).unwrap();
                    ranges.ranges().map(|(low, high)| tdb_array::Range::new(low, high)).collect()
                })
                .collect();
            let built = RTree::build(&leaves, domain).unwrap();
            assert_eq!(
                built.to_bytes(fragment.version(), domain).unwrap(),
                payload,
                "{} {}",
                folder.display(),
                fragment.name()
            );
            seen += usize::from(leaves.len() > 1);
        }
    }
    assert!(seen > 50, "only {seen} trees");
}
