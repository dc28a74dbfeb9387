//! The manifest of a published array: the list of its files, for servers that cannot list folders.
//!
//! A web server returns files by name, but most cannot list which files there are. So publishing
//! writes a file with that list, as human-readable text:
//!
//! ```text
//! tdb manifest 1
//! time 1763863200000
//! - __fragment_meta
//! 0 __commits/__1_1_150ad70d…_22.wrt
//! 4260 __fragments/__1_1_150ad70d…_22/a0.tdb
//! end 3 8c1f02a6d1c0e7b5
//! ```
//!
//! | Line | Meaning |
//! |---|---|
//! | `tdb manifest 1` | the kind of the file, and its version |
//! | `time T` | when the state was published, in milliseconds since 1970 |
//! | `SIZE KEY` | a file, with its size in bytes |
//! | `- KEY` | an empty folder; other folders follow from keys |
//! | `end N SUM` | the number of files and folders, and the checksum (FNV-1a, 64 bits) of all bytes before this line |
//!
//! Keys are in ascending byte order. `%` and control characters are written as `%` and two
//! hexadecimal digits.

mod text;

use core::fmt;
use core::ops::Bound;
use std::collections::BTreeMap;
use std::io;

use tdb_codec::to_u64;

use self::text::{FNV, Lines, escape, fnv, is_key, number, unescape};
use crate::Entry;

/// The name of the manifest in the folder of an array or a group.
///
/// It does not begin with a dot, because many web servers and upload tools skip such files.
/// libtiledb does not take a file with such a name for one of its own: releases 2.19 to 2.29 cannot
/// open an array with a file whose name has neither a leading dot nor an underscore, which is why
/// the name contains an underscore.
pub const MANIFEST: &str = "tdb_manifest.txt";

/// The maximum size of a manifest in bytes: enough for some two million files.
pub const MANIFEST_BYTES: u64 = 256 << 20;

/// The beginning of every manifest, of any version.
const MAGIC: &str = "tdb manifest ";
/// The version that is read and written.
const VERSION: &str = "1";
/// The maximum length of a key in bytes. Keys of the format have four parts.
const KEY_BYTES: usize = 4096;
const KEY_PARTS: usize = 16;

/// The files that an array or a group had when it was published, and their sizes.
///
/// ```
/// use tdb_storage::Manifest;
///
/// let mut manifest = Manifest::new(1000);
/// manifest.add_file("__schema/__1_1_ab", 120)?;
/// manifest.add_folder("__commits")?;
/// let bytes = manifest.to_bytes();
/// assert!(bytes.starts_with(b"tdb manifest 1\ntime 1000\n- __commits\n120 __schema/__1_1_ab\nend 2 "));
/// let read = Manifest::parse(&bytes)?;
/// assert_eq!(read.size("__schema/__1_1_ab"), Some(120));
/// assert_eq!(read.list("").map(|entries| entries.len()), Some(2));
/// # Ok::<(), tdb_storage::ManifestError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    time: u64,
    /// Sizes of files; `None` for empty folders.
    entries: BTreeMap<String, Option<u64>>,
}

/// A fault of a manifest, and its line (counted from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestError {
    /// The line.
    pub line: u64,
    /// The fault.
    pub kind: ManifestErrorKind,
}

/// The fault of a line of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ManifestErrorKind {
    /// The file does not begin like a manifest: it is something else, such as a web page that
    /// reports a missing page.
    NotAManifest,
    /// A version that this build does not read.
    Version(String),
    /// Bytes that are not text.
    NotText,
    /// Not a line of the kind expected here.
    Line,
    /// A key that no file of an array has: it is empty, too long, or leads out of the folder.
    Key,
    /// A key that does not sort after the previous one, or that is inside another file.
    Order,
    /// The file ends before its last line.
    CutOff,
    /// The number of entries differs from the one in the last line.
    Count {
        /// The number in the last line.
        stated: u64,
        /// The number of entries found.
        found: u64,
    },
    /// The bytes are not those that were written.
    Checksum,
    /// Bytes after the last line.
    Trailing,
}

impl fmt::Display for ManifestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ManifestErrorKind as Kind;
        write!(f, "line {}: ", self.line)?;
        match &self.kind {
            Kind::NotAManifest => f.write_str("this is not a manifest of tdb"),
            Kind::Version(version) => {
                write!(
                    f,
                    "the manifest has version {}, and this build reads {VERSION}",
                    version.escape_debug()
                )
            }
            Kind::NotText => f.write_str("the bytes are not valid text"),
            Kind::Line => f.write_str("this line is not what a manifest has at this place"),
            Kind::Key => f.write_str("this key cannot be that of a file of an array"),
            Kind::Order => f.write_str("the key does not come after the one before it"),
            Kind::CutOff => f.write_str("the manifest is cut off"),
            Kind::Count { stated, found } => {
                write!(f, "the last line states {stated} entries, but there are {found}")
            }
            Kind::Checksum => f.write_str("the checksum does not match the lines above"),
            Kind::Trailing => f.write_str("something follows the last line"),
        }
    }
}

impl core::error::Error for ManifestError {}

impl From<ManifestError> for io::Error {
    fn from(error: ManifestError) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}

impl Manifest {
    /// A manifest without entries, with its time in milliseconds since 1970.
    #[must_use]
    pub const fn new(time: u64) -> Self {
        Self { time, entries: BTreeMap::new() }
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// Bytes that are not a manifest, or only part of one.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let fail = |line, kind| ManifestError { line, kind };
        if !bytes.starts_with(MAGIC.as_bytes()) {
            return Err(fail(1, ManifestErrorKind::NotAManifest));
        }
        let mut lines = Lines { rest: bytes, number: 0, sum: FNV };
        let version = lines.next()?.strip_prefix(MAGIC).unwrap_or_default();
        if version != VERSION {
            let shown = version.chars().take(20).collect();
            return Err(fail(1, ManifestErrorKind::Version(shown)));
        }
        let time = lines.next()?.strip_prefix("time ").and_then(number);
        let mut manifest = Self::new(time.ok_or(fail(2, ManifestErrorKind::Line))?);
        loop {
            let sum = lines.sum;
            let line = lines.next()?;
            let fail = |kind| fail(lines.number, kind);
            let (first, rest) = line.split_once(' ').ok_or(fail(ManifestErrorKind::Line))?;
            if first == "end" {
                let (stated, checksum) = rest.split_once(' ').ok_or(fail(ManifestErrorKind::Line))?;
                let stated = number(stated).ok_or(fail(ManifestErrorKind::Line))?;
                let found = to_u64(manifest.entries.len());
                if stated != found {
                    return Err(fail(ManifestErrorKind::Count { stated, found }));
                }
                if checksum != format!("{sum:016x}") {
                    return Err(fail(ManifestErrorKind::Checksum));
                }
                if !lines.rest.is_empty() {
                    return Err(fail(ManifestErrorKind::Trailing));
                }
                return Ok(manifest);
            }
            let size = match first {
                "-" => None,
                size => Some(number(size).ok_or(fail(ManifestErrorKind::Line))?),
            };
            let key = unescape(rest).ok_or(fail(ManifestErrorKind::Key))?;
            if !is_key(&key) {
                return Err(fail(ManifestErrorKind::Key));
            }
            if manifest.entries.last_key_value().is_some_and(|(last, _)| *last >= key) {
                return Err(fail(ManifestErrorKind::Order));
            }
            manifest.add(key, size).map_err(fail)?;
        }
    }

    /// The manifest as the contents of a file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = format!("{MAGIC}{VERSION}\ntime {}\n", self.time);
        for (key, size) in &self.entries {
            match size {
                Some(size) => text.push_str(&format!("{size} ")),
                None => text.push_str("- "),
            }
            escape(key, &mut text);
            text.push('\n');
        }
        Self::sealed(text.into_bytes())
    }

    /// Lines of a manifest, whatever they contain, with the last line appended.
    #[doc(hidden)]
    #[must_use]
    pub fn sealed(mut lines: Vec<u8>) -> Vec<u8> {
        let count = lines.iter().filter(|byte| **byte == b'\n').count().saturating_sub(2);
        let sum = fnv(FNV, &lines);
        lines.extend_from_slice(format!("end {count} {sum:016x}\n").as_bytes());
        lines
    }

    /// Adds a file with its size in bytes.
    ///
    /// # Errors
    /// A key that no file of an array has, or one that is inside another file.
    pub fn add_file(&mut self, key: impl Into<String>, size: u64) -> Result<(), ManifestError> {
        self.add(key.into(), Some(size)).map_err(|kind| ManifestError { line: 0, kind })
    }

    /// Adds an empty folder.
    ///
    /// # Errors
    /// As [`Self::add_file`].
    pub fn add_folder(&mut self, key: impl Into<String>) -> Result<(), ManifestError> {
        self.add(key.into(), None).map_err(|kind| ManifestError { line: 0, kind })
    }

    fn add(&mut self, key: String, size: Option<u64>) -> Result<(), ManifestErrorKind> {
        if !is_key(&key) {
            return Err(ManifestErrorKind::Key);
        }
        for (end, _) in key.match_indices('/') {
            let above = key.get(..end).unwrap_or_default();
            match self.entries.get(above) {
                Some(Some(_)) => return Err(ManifestErrorKind::Order),
                // It is no longer empty.
                Some(None) => {
                    self.entries.remove(above);
                }
                None => {}
            }
        }
        if size.is_none() && self.below(&key).next().is_some() {
            return Ok(());
        }
        self.entries.insert(key, size);
        Ok(())
    }

    /// Removes the file or folder with this key, and everything in it. The folder that contained it
    /// stays; it becomes an empty folder if nothing else is in it.
    pub fn remove(&mut self, key: &str) {
        let mut gone: Vec<String> = self.below(key).map(|(key, _)| key.clone()).collect();
        gone.push(key.to_owned());
        let mut removed = false;
        for key in gone {
            removed |= self.entries.remove(&key).is_some();
        }
        if removed
            && let Some((above, _)) = key.rsplit_once('/')
            && self.below(above).next().is_none()
        {
            self.entries.insert(above.to_owned(), None);
        }
    }

    /// When the state was published, in milliseconds since 1970.
    #[must_use]
    pub const fn time(&self) -> u64 {
        self.time
    }

    /// The size of a file in bytes; `None` if there is no such file.
    #[must_use]
    pub fn size(&self, key: &str) -> Option<u64> {
        self.entries.get(key).copied().flatten()
    }

    /// The files in the order of their keys, with their sizes in bytes.
    pub fn files(&self) -> impl Iterator<Item = (&str, u64)> {
        self.entries.iter().filter_map(|(key, size)| Some((key.as_str(), (*size)?)))
    }

    /// The files in a folder and in the folders below it, with their sizes in bytes.
    pub fn files_in(&self, folder: &str) -> impl Iterator<Item = (&str, u64)> {
        self.below(folder).filter_map(|(key, size)| Some((key.as_str(), (*size)?)))
    }

    /// The contents of a folder; `None` if there is no such folder. The folder of the array itself,
    /// `""`, always exists.
    #[must_use]
    pub fn list(&self, folder: &str) -> Option<Vec<Entry>> {
        let mut listed = Vec::new();
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut next = self.below(folder).next();
        while let Some((key, size)) = next {
            let below = key.get(prefix.len()..).unwrap_or_default();
            let (name, behind) = match below.split_once('/') {
                None => {
                    let entry = Entry { name: below.to_owned(), is_folder: size.is_none(), size: *size };
                    listed.push(entry);
                    (below, format!("{prefix}{below}\0"))
                }
                Some((name, _)) => {
                    listed.push(Entry::folder(name));
                    // `0` is the character after `/`: everything in the folder sorts before it.
                    (name, format!("{prefix}{name}0"))
                }
            };
            debug_assert!(!name.is_empty(), "keys have no empty parts");
            let from = (Bound::Included(behind.as_str()), Bound::Unbounded);
            next = self.entries.range::<str, _>(from).next().filter(|(key, _)| key.starts_with(&prefix));
        }
        let there = !listed.is_empty() || folder.is_empty() || self.entries.get(folder) == Some(&None);
        there.then_some(listed)
    }

    /// The entries with keys below a folder.
    fn below<'m>(&'m self, folder: &str) -> impl Iterator<Item = (&'m String, &'m Option<u64>)> + use<'m> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        let entries = self.entries.range::<str, _>(from);
        entries.take_while(move |(key, _)| key.starts_with(&prefix))
    }
}

#[cfg(test)]
mod tests;
