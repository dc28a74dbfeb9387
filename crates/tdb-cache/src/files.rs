//! The table of the files of an array that never change, by their keys.
//!
//! A file is in the table if its name contains a UUID, so that no other file ever has the same
//! name, and if its existence has no meaning of its own. All other files are read each time:
//!
//! | File | Why it is not cached |
//! |---|---|
//! | `__array_schema.tdb` | has the same name again after an array is deleted and created again |
//! | `*.con` | tdb replaces lists of commits |
//! | `*.wrt`, `*.ok`, `*.ign`, `*.vac` | define what is committed, together with listings; they are small, or empty |
//! | metadata of fragments of versions 1 to 4 | a fragment of these versions is committed as long as this file exists |
//! | `__lock.tdb`, `__tiledb_group.tdb`, `.tdb-lease` | same name each time; empty, or changed |
//! | all unknown files | it is not known whether they change |

use tdb_fragment::TimestampedName;
use tdb_fragment::paths::{COMMITS, ENUMERATIONS, FRAGMENT_METADATA, GROUP_FOLDER, METADATA, SCHEMA_FOLDER};

/// The contents of a file that never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lasting {
    /// Small data that many queries read: schemas, footers, R-trees, offsets, key-value metadata.
    Metadata,
    /// Cells.
    Tiles,
}

/// The folder of a file.
enum In {
    /// A folder with this name.
    Named(&'static str),
    /// The folder of a fragment whose name states its version: it is committed by a commit file.
    NewFragment,
    /// The folder of any fragment.
    Fragment,
    /// Any folder.
    Any,
}

/// The kind of a file's name.
enum Name {
    /// A timestamped name with a UUID, and this suffix.
    Timed(&'static str),
    /// Exactly this name.
    Exactly(&'static str),
    /// The name of a data file.
    Data,
}

const TABLE: [(In, Name, Lasting); 8] = [
    (In::Named(SCHEMA_FOLDER), Name::Timed(""), Lasting::Metadata),
    (In::Named(ENUMERATIONS), Name::Timed(""), Lasting::Metadata),
    (In::Named(METADATA), Name::Timed(""), Lasting::Metadata),
    (In::Named(GROUP_FOLDER), Name::Timed(""), Lasting::Metadata),
    (In::Named(COMMITS), Name::Timed(".del"), Lasting::Metadata),
    // In its own folder, or, up to version 11, in the array's folder.
    (In::Any, Name::Timed(".meta"), Lasting::Metadata),
    (In::NewFragment, Name::Exactly(FRAGMENT_METADATA), Lasting::Metadata),
    (In::Fragment, Name::Data, Lasting::Tiles),
];

/// The contents of a file that never changes once it exists; `None` if it may change, or if its
/// existence has a meaning.
pub(crate) fn lasting(key: &str) -> Option<Lasting> {
    let (folders, name) = key.rsplit_once('/').unwrap_or(("", key));
    let folder = folders.rsplit('/').next().unwrap_or_default();
    let row = TABLE.iter().find(|(place, shape, _)| place.is(folder) && shape.is(name));
    row.map(|(_, _, holds)| *holds)
}

impl In {
    fn is(&self, folder: &str) -> bool {
        match self {
            Self::Named(name) => folder == *name,
            Self::NewFragment => unique(folder).is_some_and(|name| name.states_version),
            Self::Fragment => unique(folder).is_some(),
            Self::Any => true,
        }
    }
}

impl Name {
    fn is(&self, name: &str) -> bool {
        match self {
            Self::Timed(suffix) => name.strip_suffix(suffix).and_then(unique).is_some(),
            Self::Exactly(own) => name == *own,
            // Names of files that do not contain cells begin with two underscores.
            Self::Data => name.ends_with(".tdb") && !name.starts_with("__") && !name.starts_with('.'),
        }
    }
}

/// A timestamped name without a suffix that is never used twice.
fn unique(name: &str) -> Option<TimestampedName> {
    let parsed = TimestampedName::parse(name).ok().filter(|_| !name.contains('.'))?;
    let is_uuid = parsed.uuid.len() == 32 && parsed.uuid.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_uuid.then_some(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_changes_is_told_by_its_name() {
        let uuid = "0123456789abcdef0123456789abcdef";
        for key in [
            "__schema/__1_1_{}",
            "__schema/__enumerations/__{}_0",
            "__meta/__1_2_{}",
            "__meta/__1_2_{}_22",
            "__group/__1_2_{}_2",
            "__commits/__1_1_{}_22.del",
            "__fragment_meta/__1_1_{}_22.meta",
            "__1_1_{}_9.meta",
            "__fragments/__1_1_{}_22/__fragment_metadata.tdb",
            "__1_1_{}_5/__fragment_metadata.tdb",
            "__labels/l0/__schema/__1_1_{}",
            "a/group/array/__schema/__1_1_{}",
        ] {
            let key = key.replace("{}", uuid);
            assert_eq!(lasting(&key), Some(Lasting::Metadata), "{key}");
        }
        for key in ["__fragments/__1_1_{}_22/a0.tdb", "__1_1_{}/a_var.tdb", "__{}_7/d0.tdb"] {
            let key = key.replace("{}", uuid);
            assert_eq!(lasting(&key), Some(Lasting::Tiles), "{key}");
        }
    }

    #[test]
    fn what_may_change_what_says_what_counts_and_what_nobody_knows_is_not_kept() {
        let uuid = "0123456789abcdef0123456789abcdef";
        for key in [
            "",
            "__array_schema.tdb",
            "__1_1_{}_22/__array_schema.tdb",
            "__lock.tdb",
            "__tiledb_group.tdb",
            ".tdb-lease",
            "__1_1_{}_22/.tdb",
            "__commits/__1_1_{}_22.con",
            "__commits/__1_1_{}_22.wrt",
            "__commits/__1_1_{}_22.ign",
            "__commits/__1_1_{}_22.vac",
            "__commits/__1_1_{}_22.del.tmp",
            "__1_1_{}_5.ok",
            "__1_1_{}_5.vac",
            "__meta/__1_1_{}.vac",
            "__meta/__1_1_{}.tmp",
            "__schema/__1_1_short",
            "__schema/x__1_1_{}",
            "__schema/__1_1_0123456789abcdef0123456789abcdeg",
            // The metadata file of a fragment of versions 1 to 4 commits it.
            "__1_1_{}/__fragment_metadata.tdb",
            "__{}_7/__fragment_metadata.tdb",
            "__{}_8_7/__fragment_metadata.tdb",
            "folder/__fragment_metadata.tdb",
            "folder/a0.tdb",
            "__fragments/__1_1_{}_22.x/a0.tdb",
            "__fragments/__1_1_{}_22",
        ] {
            let key = key.replace("{}", uuid);
            assert_eq!(lasting(&key), None, "{key}");
        }
    }
}
