//! Every structure in the fixtures, found by walking through the files alone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tdb_array::Key;
use tdb_array::schema::ArraySchema;
use tdb_codec::{Budget, FormatVersion, Gate, Limits, Reader, to_u64, to_usize};
use tdb_fragment::{
    CommitKind, Footer, FooterLocation, Section, Slots, TimestampedName, parse_consolidated_commits,
    parse_consolidated_footers,
};
use tdb_tile::GenericTile;

/// The kind of a piece of a file.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Schema,
    Enumeration,
    Metadata,
    Legacy(Rc<ArraySchema>),
    Footer(Rc<ArraySchema>),
    Section(Section, Rc<ArraySchema>, Slots),
    ConsolidatedFooters,
    ConsolidatedCommits,
    Paths,
    Condition,
    Update,
    /// An empty file, whose name contains all information.
    Empty,
}

/// The bytes of one structure, without filters.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) kind: Kind,
    /// Its name in the counts.
    pub(crate) name: &'static str,
    /// The version of its layout.
    pub(crate) version: FormatVersion,
    /// Its origin.
    pub(crate) place: String,
    pub(crate) bytes: Vec<u8>,
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures")
}

/// The folder and the key of every fixture.
pub(crate) fn arrays() -> Vec<(PathBuf, Option<Key>)> {
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

/// Every piece of every fixture. A file of unknown kind fails the test, and so do bytes of a
/// fragment metadata file that belong to no structure.
pub(crate) fn pieces() -> Vec<Piece> {
    let mut found = Vec::new();
    for (folder, key) in arrays() {
        walk(&folder, key.as_ref(), &mut found);
    }
    found
}

/// The entries of a folder, sorted.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn name_of(path: &Path) -> &str {
    path.file_name().unwrap().to_str().unwrap()
}

/// An array, or a folder of arrays or groups.
fn walk(folder: &Path, key: Option<&Key>, found: &mut Vec<Piece>) {
    if folder.join("__schema").is_dir() || folder.join("__array_schema.tdb").is_file() {
        Array::new(folder, key).collect(found);
    } else {
        // Groups and their members: the group's own files have tests next to their parser.
        let members = entries(folder).into_iter().filter(|path| !name_of(path).starts_with("__"));
        members.filter(|path| path.is_dir()).for_each(|path| walk(&path, key, found));
    }
}

struct Array<'a> {
    folder: &'a Path,
    key: Option<&'a Key>,
    schemas: BTreeMap<String, Rc<ArraySchema>>,
    /// The newest schema's version: it is used for files without a version.
    version: FormatVersion,
}

impl<'a> Array<'a> {
    fn new(folder: &'a Path, key: Option<&'a Key>) -> Self {
        let mut array = Self { folder, key, schemas: BTreeMap::new(), version: FormatVersion::OLDEST };
        let old = folder.join("__array_schema.tdb");
        let old = old.is_file().then_some(old);
        for path in old.into_iter().chain(entries(&folder.join("__schema"))).filter(|path| path.is_file()) {
            let schema = ArraySchema::parse(&array.payload(&fs::read(&path).unwrap())).unwrap();
            array.version = schema.version;
            array.schemas.insert(name_of(&path).to_owned(), Rc::new(schema));
        }
        array
    }

    fn payload(&self, bytes: &[u8]) -> Vec<u8> {
        let tile = GenericTile::parse(bytes, 0).unwrap();
        tile.decode(self.key, &Limits::default(), &Budget::unlimited()).unwrap()
    }

    fn collect(&self, found: &mut Vec<Piece>) {
        for path in entries(self.folder) {
            let name = name_of(&path);
            match name {
                "__schema" => self.schema_folder(&path, found),
                "__meta" => self.meta_folder(&path, found),
                "__commits" | "__fragment_meta" => {
                    entries(&path).iter().for_each(|path| self.commit(path, found));
                }
                "__fragments" => entries(&path).iter().for_each(|path| self.fragment(path, found)),
                "__labels" => entries(&path).iter().for_each(|path| walk(path, self.key, found)),
                "__array_schema.tdb" => self.tile(&path, Kind::Schema, "array schema", found),
                "__lock.tdb" => self.whole(&path, Kind::Empty, "lock file", self.version, found),
                _ if path.is_dir() => self.fragment(&path, found),
                _ => self.commit(&path, found),
            }
        }
    }

    /// Adds a file's payload; its version is that of the array.
    fn tile(&self, path: &Path, kind: Kind, name: &'static str, found: &mut Vec<Piece>) {
        let bytes = self.payload(&fs::read(path).unwrap());
        let version = match kind {
            Kind::Schema => self.schemas[name_of(path)].version,
            _ => version_of(path).unwrap_or(self.version),
        };
        found.push(Piece { kind, name, version, place: path.display().to_string(), bytes });
    }

    /// Adds a file that is not a generic tile.
    fn whole(
        &self,
        path: &Path,
        kind: Kind,
        name: &'static str,
        version: FormatVersion,
        found: &mut Vec<Piece>,
    ) {
        let (bytes, place) = (fs::read(path).unwrap(), path.display().to_string());
        found.push(Piece { kind, name, version, place, bytes });
    }

    fn schema_folder(&self, folder: &Path, found: &mut Vec<Piece>) {
        for path in entries(folder) {
            if path.is_dir() {
                assert_eq!(name_of(&path), "__enumerations", "{}", path.display());
                for path in entries(&path) {
                    self.tile(&path, Kind::Enumeration, "enumeration", found);
                }
            } else {
                self.tile(&path, Kind::Schema, "array schema", found);
            }
        }
    }

    fn meta_folder(&self, folder: &Path, found: &mut Vec<Piece>) {
        for path in entries(folder) {
            match path.extension().and_then(|extension| extension.to_str()) {
                None => self.tile(&path, Kind::Metadata, "array metadata", found),
                Some("vac") => self.whole(&path, Kind::Paths, "vacuum file of metadata", self.version, found),
                Some(other) => panic!("{}: a file that ends in {other}", path.display()),
            }
        }
    }

    fn commit(&self, path: &Path, found: &mut Vec<Piece>) {
        let name = name_of(path);
        let Some((kind, _)) = CommitKind::of(name) else { panic!("{}: what is it?", path.display()) };
        let version = version_of(path).unwrap_or(self.version);
        match kind {
            CommitKind::Ok => self.whole(path, Kind::Empty, "commit .ok", version, found),
            CommitKind::Write => self.whole(path, Kind::Empty, "commit .wrt", version, found),
            CommitKind::Ignore => self.whole(path, Kind::Paths, "ignore file", version, found),
            CommitKind::Vacuum => self.whole(path, Kind::Paths, "vacuum file", version, found),
            CommitKind::Delete => self.tile(path, Kind::Condition, "delete condition", found),
            CommitKind::Update => self.tile(path, Kind::Update, "update", found),
            CommitKind::Consolidated => {
                let bytes = fs::read(path).unwrap();
                for record in parse_consolidated_commits(&bytes).unwrap() {
                    if let Some((_, file)) = record.delete {
                        let place = format!("{} in {}", record.path, path.display());
                        let (kind, name) = (Kind::Condition, "delete condition in .con");
                        found.push(Piece { kind, name, version, place, bytes: self.payload(file) });
                    }
                }
                self.whole(path, Kind::ConsolidatedCommits, "consolidated commits", version, found);
            }
            CommitKind::ConsolidatedMetadata => self.consolidated_footers(path, found),
            other => panic!("{}: {other:?}", path.display()),
        }
    }

    fn consolidated_footers(&self, path: &Path, found: &mut Vec<Piece>) {
        self.tile(path, Kind::ConsolidatedFooters, "consolidated fragment metadata", found);
        let payload = self.payload(&fs::read(path).unwrap());
        for entry in parse_consolidated_footers(Reader::new(&payload)).unwrap() {
            let place = format!("{} in {}", entry.name, path.display());
            self.footer(entry.bytes, entry.offset, place, "footer in .meta", found);
        }
    }

    /// Adds a footer and returns its contents.
    fn footer(
        &self,
        bytes: &[u8],
        offset: u64,
        place: String,
        name: &'static str,
        found: &mut Vec<Piece>,
    ) -> (Footer, Rc<ArraySchema>) {
        let (version, schema) = Footer::parse_head(bytes, offset).unwrap();
        let schema = Rc::clone(&self.schemas[schema.as_deref().unwrap_or("__array_schema.tdb")]);
        let footer = Footer::parse(bytes, offset, &schema).unwrap();
        let kind = Kind::Footer(Rc::clone(&schema));
        found.push(Piece { kind, name, version, place, bytes: bytes.to_vec() });
        (footer, schema)
    }

    fn fragment(&self, folder: &Path, found: &mut Vec<Piece>) {
        let mut data_files = 0;
        for path in entries(folder) {
            if name_of(&path) == "__fragment_metadata.tdb" {
                self.fragment_metadata(&path, found);
            } else {
                assert!(name_of(&path).ends_with(".tdb"), "{}: what is it?", path.display());
                data_files += 1;
            }
        }
        assert!(data_files > 0, "{}: a fragment without data", folder.display());
    }

    /// All bytes of a fragment metadata file: sections back to back, the footer, and its length if
    /// it is stored.
    fn fragment_metadata(&self, path: &Path, found: &mut Vec<Piece>) {
        let file = fs::read(path).unwrap();
        let place = path.display().to_string();
        let name = TimestampedName::parse(name_of(path.parent().unwrap())).unwrap();
        let version = name.version.unwrap();
        let old = self.schemas.get("__array_schema.tdb");
        if !version.has(Gate::FragmentFooter) {
            let tile = GenericTile::parse(&file, 0).unwrap();
            assert_eq!(tile.total_len(), to_u64(file.len()), "{place}: one tile");
            let bytes = self.payload(&file);
            let version = FormatVersion::parse(u32::from_le_bytes(bytes[..4].try_into().unwrap())).unwrap();
            let kind = Kind::Legacy(Rc::clone(old.unwrap()));
            found.push(Piece { kind, name: "legacy fragment metadata", version, place, bytes });
            return;
        }
        let location = FooterLocation::of(version, old.map(Rc::as_ref)).unwrap();
        let (range, bytes) = location.slice(to_u64(file.len()), &file).unwrap();
        let bytes = bytes.unwrap();
        let end = [&file[..to_usize(range.start).unwrap()], &location.end(bytes.to_vec()).unwrap()].concat();
        assert!(end == file, "{place}: bytes after the footer");
        let (footer, schema) = self.footer(bytes, range.start, place.clone(), "footer", found);
        let mut sections: Vec<(u64, Section)> =
            footer.sections.iter().map(|(section, offset)| (offset, section)).collect();
        sections.sort_by_key(|(offset, _)| *offset);
        let mut at = 0;
        let mut add = |at: &mut u64, section: Section, name: &'static str| {
            let rest = &file[to_usize(*at).unwrap()..to_usize(range.start).unwrap()];
            let tile = GenericTile::parse(rest, *at).unwrap();
            let kind = Kind::Section(section, Rc::clone(&schema), footer.slots);
            let (version, bytes) = (footer.version, self.payload(rest));
            *at += tile.total_len();
            let place = format!("{place} {section:?}");
            found.push(Piece { kind, name, version, place, bytes });
        };
        for (offset, section) in sections {
            assert_eq!(offset, at, "{place}: a gap before {section:?}");
            add(&mut at, section, section.name());
        }
        // Version 15 stores the conditions, but no offset of them.
        if at < range.start
            && footer.version.has(Gate::DeleteMetadata)
            && !footer.version.has(Gate::DeleteFiles)
        {
            add(&mut at, Section::ProcessedConditions, "processed conditions without offset");
        }
        assert_eq!(at, range.start, "{place}: a gap before the footer");
    }
}

/// The version in a name.
fn version_of(path: &Path) -> Option<FormatVersion> {
    TimestampedName::parse(name_of(path)).ok().filter(|name| name.states_version)?.version
}
