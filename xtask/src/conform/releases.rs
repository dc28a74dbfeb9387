//! The releases of libtiledb for which builds exist, and the format version that each writes.

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

    /// The releases that read arrays of a version: one of that version's time, chosen by `turn`,
    /// and the newest.
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

/// The first two numbers of a release's name; for other names, the largest numbers.
pub(super) fn minor(release: &str) -> (u32, u32) {
    let mut numbers = release.split('.').map(|number| number.parse().unwrap_or(u32::MAX));
    (numbers.next().unwrap_or(u32::MAX), numbers.next().unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_compare_by_their_numbers() {
        assert!(minor("2.9.5") < minor("2.10.4") && minor("1.7.7") < (2, 0) && minor("2.30.0") == (2, 30));
        assert_eq!(minor("none"), (u32::MAX, u32::MAX));
    }

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
