//! The releases of libtiledb that there are builds of, and the format version that each writes.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::peer::{self, READER};

/// The releases that `xtask/peer/fetch.py` lists.
#[derive(Clone, Debug)]
pub(super) struct Releases {
    /// Format version and release, oldest first.
    list: Vec<(u32, String)>,
    paths: BTreeMap<String, PathBuf>,
}

impl Releases {
    /// All releases; their libraries are fetched.
    pub(super) fn fetch(root: &Path) -> Result<Self, String> {
        let list = peer::format_versions(root)?;
        let names: Vec<String> = list.iter().map(|(_, name)| name.clone()).collect();
        let paths = peer::libraries(root, &names)?;
        Ok(Self { list, paths })
    }

    /// The format versions that some release writes, in order.
    pub(super) fn versions(&self) -> Vec<u32> {
        let mut versions: Vec<u32> = self.list.iter().map(|(version, _)| *version).collect();
        versions.sort_unstable();
        versions.dedup();
        versions
    }

    /// The releases that write a version, oldest first.
    pub(super) fn of(&self, version: u32) -> Vec<&str> {
        let of = self.list.iter().filter(|(of, _)| *of == version);
        of.map(|(_, name)| name.as_str()).collect()
    }

    /// The releases that are to read what has a version: one of its age, which `turn` chooses, and the newest.
    pub(super) fn readers(&self, version: u32, turn: usize) -> Vec<&str> {
        let of = self.of(version);
        let turn = turn.checked_rem(of.len()).unwrap_or(0);
        let mut readers: Vec<&str> = of.get(turn).copied().into_iter().collect();
        if !readers.contains(&READER) {
            readers.push(READER);
        }
        readers
    }

    /// A release's library.
    pub(super) fn path(&self, release: &str) -> Result<PathBuf, String> {
        self.paths.get(release).cloned().ok_or_else(|| format!("no libtiledb {release}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_releases_of_a_version_take_turns_and_the_newest_always_reads() {
        let list = [(10, "2.4.3"), (10, "2.5.3"), (22, "2.25.0"), (22, READER)];
        let list = list.iter().map(|(version, name)| (*version, (*name).to_owned())).collect();
        let releases = Releases { list, paths: BTreeMap::new() };
        assert_eq!(releases.versions(), [10, 22]);
        assert_eq!(releases.readers(10, 1), ["2.5.3", READER]);
        assert_eq!(releases.readers(10, 2), ["2.4.3", READER]);
        assert_eq!(releases.readers(22, 0), ["2.25.0", READER]);
        assert_eq!(releases.readers(22, 1), [READER]);
        assert!(releases.path(READER).is_err());
    }
}
