//! The kind of a file, by its name and its folder.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use tdb_codec::to_u64;
use tdb_fragment::CommitKind;
use tdb_tile::GenericTile;

use crate::place::absolute;

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// An array schema.
    Schema,
    /// An enumeration.
    Enumeration,
    /// A fragment's metadata.
    FragmentMetadata,
    /// Cells of a field.
    Data,
    /// Key-value metadata.
    Metadata,
    /// Consolidated commits (.con).
    Commits,
    /// A list of paths (.ign, .vac).
    Paths,
    /// A delete condition (.del).
    Condition,
    /// An update (.upd).
    Update,
    /// Consolidated fragment metadata (.meta).
    ConsolidatedMetadata,
    /// A group's members.
    Group,
    /// Any structure in a generic tile.
    GenericTile,
    /// Bytes without further meaning.
    Raw,
}

/// Name of a fragment's metadata file.
pub(super) const FRAGMENT_METADATA: &str = "__fragment_metadata.tdb";
/// Name of the schema file of old arrays.
pub(super) const OLD_SCHEMA: &str = "__array_schema.tdb";
/// The schema file of key-value objects of TileDB 1.x: not supported, but in a generic tile like
/// everything else.
const KV_SCHEMA: &str = "__kv_schema.tdb";
/// Folder of the schema files of new ones.
pub(super) const SCHEMA_FOLDER: &str = "__schema";

/// The kind of a file; `None` if it cannot be determined from its name and its neighbours.
pub(super) fn of(path: &Path) -> Option<Kind> {
    // A name without a folder has one only after it is made absolute.
    let path = absolute(path)?;
    let name = path.file_name()?.to_str()?;
    let folder = path.parent()?.file_name().and_then(|folder| folder.to_str()).unwrap_or_default();
    match CommitKind::by_suffix(name) {
        Some((CommitKind::Consolidated, _)) => return Some(Kind::Commits),
        Some((CommitKind::Ignore | CommitKind::Vacuum, _)) => return Some(Kind::Paths),
        Some((CommitKind::ConsolidatedMetadata, _)) => return Some(Kind::ConsolidatedMetadata),
        Some((CommitKind::Delete, _)) => return Some(Kind::Condition),
        Some((CommitKind::Update, _)) => return Some(Kind::Update),
        _ => {}
    }
    Some(match (folder, name) {
        (_, OLD_SCHEMA) | (SCHEMA_FOLDER, _) => Kind::Schema,
        (_, KV_SCHEMA) => Kind::GenericTile,
        (_, FRAGMENT_METADATA) => Kind::FragmentMetadata,
        ("__enumerations", _) => Kind::Enumeration,
        ("__meta", _) => Kind::Metadata,
        ("__group", _) => Kind::Group,
        _ if name.ends_with(".tdb") => Kind::Data,
        _ => return None,
    })
}

/// The kind of a file with an unknown name, by its contents.
pub(super) fn sniff(bytes: &[u8]) -> Option<Kind> {
    let tile = GenericTile::parse(bytes, 0).ok()?;
    (tile.total_len() == to_u64(bytes.len())).then_some(Kind::GenericTile)
}

/// The array's folder, from the folder of a fragment.
pub(super) fn array_of(fragment: &Path) -> Option<PathBuf> {
    let parent = absolute(fragment)?.parent()?.to_owned();
    if parent.file_name().is_some_and(|name| name == "__fragments") {
        return parent.parent().map(Path::to_owned);
    }
    Some(parent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_folders_tell_what_a_file_is() {
        let cases = [
            ("/a/__array_schema.tdb", Some(Kind::Schema)),
            ("/a/__schema/__1_1_x", Some(Kind::Schema)),
            ("/a/__schema/__enumerations/__x_0", Some(Kind::Enumeration)),
            ("/a/__meta/__1_1_x", Some(Kind::Metadata)),
            ("/a/__meta/__1_1_x.vac", Some(Kind::Paths)),
            ("/a/__fragments/__1_1_x_22/__fragment_metadata.tdb", Some(Kind::FragmentMetadata)),
            ("/a/__fragments/__1_1_x_22/a0_var.tdb", Some(Kind::Data)),
            ("/a/__commits/__1_1_x_22.con", Some(Kind::Commits)),
            ("/tmp/copy.con", Some(Kind::Commits)),
            ("/a/__fragment_meta/__1_1_x_22.meta", Some(Kind::ConsolidatedMetadata)),
            ("/a/__commits/__1_1_x_22.del", Some(Kind::Condition)),
            ("/a/__group/__1_1_x_2", Some(Kind::Group)),
            ("/a/readme.txt", None),
        ];
        for (path, kind) in cases {
            assert_eq!(of(Path::new(path)), kind, "{path}");
        }
        assert_eq!(array_of(Path::new("/a/__fragments/__1_1_x_22")), Some("/a".into()));
        assert_eq!(array_of(Path::new("/a/__1_1_x")), Some("/a".into()));
    }
}
