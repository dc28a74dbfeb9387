//! Keys of files, entries of listings, and ranges of bytes of a file.

use core::ops::Range;
use std::io;

/// A file or folder in a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name, without the path of the folder.
    pub name: String,
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Size of a file in bytes, if the listing contains it.
    pub size: Option<u64>,
}

impl Entry {
    /// A file without a size in the listing.
    pub fn file(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_folder: false, size: None }
    }

    /// A folder.
    pub fn folder(name: impl Into<String>) -> Self {
        Self { name: name.into(), is_folder: true, size: None }
    }

    /// A file with its size in bytes.
    pub fn sized(name: impl Into<String>, size: u64) -> Self {
        Self { size: Some(size), ..Self::file(name) }
    }
}

/// A range of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ByteRange {
    /// The file's key: its path relative to the array, parts separated by `/`.
    pub key: String,
    /// The bytes.
    pub range: Range<u64>,
}

/// The length of a range; an error if the range exceeds the file or the address space.
pub fn range_len(range: &Range<u64>, file_size: u64) -> io::Result<usize> {
    if range.end > file_size || range.start > range.end {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            format!("the file has {file_size} bytes, but bytes {} to {} are needed", range.start, range.end),
        ));
    }
    usize::try_from(range.end.saturating_sub(range.start))
        .map_err(|_| io::Error::new(io::ErrorKind::OutOfMemory, "the range does not fit into memory"))
}

/// The range of `len` bytes from an offset on; an error if no file can be that long: offsets come
/// from files, too.
///
/// # Errors
/// [`io::ErrorKind::UnexpectedEof`].
pub fn range_from(offset: u64, len: usize) -> io::Result<Range<u64>> {
    let end = offset.checked_add(tdb_codec::to_u64(len)).filter(|end| *end <= i64::MAX.unsigned_abs());
    let end = end.ok_or_else(|| {
        let what = format!("no file can be long enough for {len} bytes at offset {offset}");
        io::Error::new(io::ErrorKind::UnexpectedEof, what)
    })?;
    Ok(offset..end)
}

/// Joins a folder key and a name.
pub fn join(folder: &str, name: &str) -> String {
    // Plain pushes: this runs for every file, and some arrays have many.
    let mut key = String::with_capacity(folder.len().saturating_add(name.len()).saturating_add(1));
    if !folder.is_empty() {
        key.push_str(folder);
        key.push('/');
    }
    key.push_str(name);
    key
}
