//! Files that decide which fragments are visible: consolidated commits, ignore and vacuum files.

use tdb_codec::{
    Error, ErrorKind, FieldRow, FormatVersion, Gate, Reader, Result, Structure, Wire, Writer, to_u64,
};

/// The table of a consolidated commits file. It is not a generic tile.
pub(crate) static CONSOLIDATED: Structure = Structure::new(
    "consolidated commits",
    &[FieldRow::new("records", Wire::Structure(&RECORD)).each("commit, to the file's end")],
)
.since(Gate::FragmentFolders)
.code("parse_consolidated_commits", "write_consolidated_commits");

static RECORD: Structure = Structure::new(
    "consolidated commit",
    &[
        FieldRow::new("consolidated commit", Wire::Bytes).note("array-relative path"),
        FieldRow::new("end of line", Wire::U8).note("a newline"),
        FieldRow::new("consolidated delete size", Wire::U64)
            .since(Gate::DeleteFiles)
            .when("the path ends in `.del`"),
        FieldRow::new("consolidated delete", Wire::Bytes)
            .since(Gate::DeleteFiles)
            .when("the path ends in `.del`")
            .note("the whole `.del` file"),
    ],
);

/// The table of an ignore or vacuum file. It is not a generic tile.
pub(crate) static PATH_LINES: Structure =
    Structure::new("ignore and vacuum files", &[FieldRow::new("lines", Wire::Structure(&LINE)).each("path")])
        .since(Gate::CommitFiles)
        .code("parse_path_lines", "write_path_lines");

static LINE: Structure = Structure::new(
    "path line",
    &[FieldRow::new("path", Wire::Bytes), FieldRow::new("end of line", Wire::U8).when("not cut off")],
);

/// The byte that ends a path.
const END_OF_LINE: &str = "end of line";

/// The kind of a file in `__commits` (or, before version 12, in the array's folder), by its suffix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CommitKind {
    /// `.wrt`: commits the fragment of the same name in `__fragments`.
    Write,
    /// `.ok`: commits the fragment of the same name in the array's folder.
    Ok,
    /// `.del`: a delete condition.
    Delete,
    /// `.upd`: an update (experimental).
    Update,
    /// `.con`: many commits in one file.
    Consolidated,
    /// `.ign`: commits in `.con` files that are no longer valid.
    Ignore,
    /// `.vac`: fragments that a consolidated one replaces.
    Vacuum,
    /// `.meta`: footers of many fragments.
    ConsolidatedMetadata,
}

impl CommitKind {
    const TABLE: [(Self, &'static str); 8] = [
        (Self::Write, ".wrt"),
        (Self::Ok, ".ok"),
        (Self::Delete, ".del"),
        (Self::Update, ".upd"),
        (Self::Consolidated, ".con"),
        (Self::Ignore, ".ign"),
        (Self::Vacuum, ".vac"),
        (Self::ConsolidatedMetadata, ".meta"),
    ];

    /// The kind of a file and its name without the suffix; `None` for other files. All names of the
    /// format begin with `__`: other programs leave files such as `._NAME.con` (macOS, on disks
    /// that lack extended attributes) beside them.
    ///
    /// ```
    /// use tdb_fragment::CommitKind;
    ///
    /// assert_eq!(CommitKind::of("__1_1_a_22.wrt"), Some((CommitKind::Write, "__1_1_a_22")));
    /// assert_eq!(CommitKind::of("._1_1_a_22.wrt"), None);
    /// ```
    #[must_use]
    pub fn of(name: &str) -> Option<(Self, &str)> {
        name.rsplit('/').next()?.starts_with("__").then(|| Self::by_suffix(name))?
    }

    /// As [`Self::of`], whatever the name begins with: for a file that somebody named, and that may
    /// be a copy.
    #[must_use]
    pub fn by_suffix(name: &str) -> Option<(Self, &str)> {
        Self::TABLE.iter().find_map(|(kind, suffix)| Some((*kind, name.strip_suffix(suffix)?)))
    }

    /// The suffix, with its dot.
    #[must_use]
    pub fn suffix(self) -> &'static str {
        Self::TABLE.iter().find(|(kind, _)| *kind == self).map_or("", |(_, suffix)| suffix)
    }
}

/// One record of a consolidated commits file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRecord<'a> {
    /// Array-relative path of the commit file that it replaces, for example
    /// `__commits/__10_10_…_22.wrt`.
    pub path: String,
    /// For deletes, the whole `.del` file (a generic tile) and its offset in this file.
    pub delete: Option<(u64, &'a [u8])>,
}

/// Reads a `.con` file: records of a path and a newline; after a path that ends in `.del`, a `u64`
/// size and the delete file itself, which may contain newlines.
///
/// ```
/// let file = b"__commits/__1_1_a_22.wrt\n__commits/__2_2_b_22.del\n\x03\0\0\0\0\0\0\0a\nb";
/// let records = tdb_fragment::parse_consolidated_commits(file)?;
/// assert_eq!(records[0].path, "__commits/__1_1_a_22.wrt");
/// assert_eq!(records[1].delete, Some((58, &b"a\nb"[..])));
/// # Ok::<(), tdb_codec::Error>(())
/// ```
///
/// # Errors
/// If a path has no newline, a path is not valid UTF-8, or a delete file is truncated.
pub fn parse_consolidated_commits(bytes: &[u8]) -> Result<Vec<CommitRecord<'_>>> {
    parse_consolidated_commits_from(Reader::new(bytes))
}

/// Reads the records with a reader from the caller, for example a traced one.
///
/// # Errors
/// As [`parse_consolidated_commits`].
pub fn parse_consolidated_commits_from(mut reader: Reader<'_>) -> Result<Vec<CommitRecord<'_>>> {
    const WHAT: &str = "consolidated commit";
    let mut records = Vec::new();
    while !reader.is_empty() {
        let start = reader;
        let Some(len) = reader.rest().iter().position(|byte| *byte == b'\n') else {
            return Err(start.error(WHAT, ErrorKind::UnexpectedEnd { missing: 1 }));
        };
        let path = utf8(start, reader.take(len, WHAT)?, WHAT)?;
        reader.u8(END_OF_LINE)?;
        let delete = if path.ends_with(CommitKind::Delete.suffix()) {
            let size = reader.u64("consolidated delete size")?;
            let offset = reader.offset();
            Some((offset, reader.take_u64(size, "consolidated delete")?))
        } else {
            None
        };
        records.push(CommitRecord { path, delete });
    }
    Ok(records)
}

/// The `.con` file with these records, which [`parse_consolidated_commits`] reads, for an array of
/// `version`.
///
/// # Errors
/// [`ErrorKind::NotInVersion`] for a delete file in a version without delete files; an error if a
/// path contains a newline, or if a path ends in `.del` and has no delete file, or the other way
/// round.
pub fn write_consolidated_commits(records: &[CommitRecord<'_>], version: FormatVersion) -> Result<Vec<u8>> {
    const WHAT: &str = "consolidated commit";
    let mut writer = Writer::new();
    for CommitRecord { path, delete } in records {
        if path.ends_with(CommitKind::Delete.suffix()) != delete.is_some() {
            return Err(unwritable(WHAT, path));
        }
        write_line(&mut writer, path, WHAT)?;
        if let Some((_, file)) = delete {
            if !version.has(Gate::DeleteFiles) {
                return Err(Error::not_in_version("consolidated delete", version));
            }
            writer.bytes_u64(file);
        }
    }
    Ok(writer.into_vec())
}

/// Reads an ignore or vacuum file: one path per line.
///
/// ```
/// assert_eq!(tdb_fragment::parse_path_lines(b"/__fragments/a\n/__fragments/b\n")?[1], "/__fragments/b");
/// # Ok::<(), tdb_codec::Error>(())
/// ```
///
/// # Errors
/// If a path is not valid UTF-8.
pub fn parse_path_lines(bytes: &[u8]) -> Result<Vec<String>> {
    parse_path_lines_from(Reader::new(bytes))
}

/// Reads the lines with a reader from the caller, for example a traced one.
///
/// # Errors
/// As [`parse_path_lines`].
pub fn parse_path_lines_from(mut reader: Reader<'_>) -> Result<Vec<String>> {
    const WHAT: &str = "path";
    let mut lines = Vec::new();
    while !reader.is_empty() {
        let start = reader;
        let len = reader.rest().iter().position(|byte| *byte == b'\n');
        let line = reader.take(len.unwrap_or(reader.remaining()), WHAT)?;
        if len.is_some() {
            reader.u8(END_OF_LINE)?;
        }
        if !line.is_empty() {
            lines.push(utf8(start, line, WHAT)?);
        }
    }
    Ok(lines)
}

/// The ignore or vacuum file with these lines, which [`parse_path_lines`] reads. An ignore file
/// contains array-relative paths of commits in every version; a vacuum file contains lines from
/// [`vacuum_line`].
///
/// # Errors
/// If a path is empty or contains a newline.
pub fn write_path_lines(lines: &[String]) -> Result<Vec<u8>> {
    const WHAT: &str = "path";
    let mut writer = Writer::new();
    for line in lines {
        if line.is_empty() {
            return Err(unwritable(WHAT, line));
        }
        write_line(&mut writer, line, WHAT)?;
    }
    Ok(writer.into_vec())
}

/// The line for `path` (`__fragments/…`, `__meta/…`, or a name in the array's folder) in a vacuum
/// file of `version`: from version 19 on, a `/` and the path; before that, the whole URI. Group
/// metadata uses whole URIs in all versions.
///
/// ```
/// use tdb_codec::FormatVersion;
/// use tdb_fragment::{vacuum_line, vacuum_target};
///
/// let line = vacuum_line("__fragments/__1_1_a_22", "file:///x/arr", FormatVersion::CURRENT);
/// assert_eq!(line, "/__fragments/__1_1_a_22");
/// let line = vacuum_line("__1_1_a", "file:///x/arr", FormatVersion::OLDEST);
/// assert_eq!(line, "file:///x/arr/__1_1_a");
/// assert_eq!(vacuum_target(&line), "__1_1_a");
/// ```
#[must_use]
pub fn vacuum_line(path: &str, array_uri: &str, version: FormatVersion) -> String {
    if version.has(Gate::RelativeVacuumFiles) {
        format!("/{path}")
    } else {
        format!("{}/{path}", array_uri.trim_end_matches('/'))
    }
}

/// The array-relative path of a vacuum file's line. Lines are absolute URIs before version 19 and
/// array-relative paths with the prefix `/` from version 19 on. Arrays can be moved, so only the
/// part from the last known folder on is used.
#[must_use]
pub fn vacuum_target(line: &str) -> &str {
    let (parents, name) = line.rsplit_once('/').unwrap_or(("", line));
    let folder = parents.rsplit('/').next().unwrap_or_default();
    if !matches!(folder, "__fragments" | "__meta") {
        return name;
    }
    let len = name.len().saturating_add(1).saturating_add(folder.len());
    line.len().checked_sub(len).and_then(|at| line.get(at..)).unwrap_or(name)
}

fn write_line(writer: &mut Writer, line: &str, what: &'static str) -> Result<()> {
    if line.contains('\n') {
        return Err(unwritable(what, line));
    }
    writer.bytes(line.as_bytes());
    writer.u8(b'\n');
    Ok(())
}

/// The error for a path that would read back as another one.
const fn unwritable(what: &'static str, path: &str) -> Error {
    Error::new(what, 0, ErrorKind::WrongLength { value: to_u64(path.len()) })
}

fn utf8(start: Reader<'_>, bytes: &[u8], what: &'static str) -> Result<String> {
    core::str::from_utf8(bytes).map(str::to_owned).map_err(|error| {
        start.error(what, ErrorKind::InvalidUtf8 { valid_up_to: to_u64(error.valid_up_to()) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delete_payloads_may_contain_newlines() {
        let mut bytes = b"__commits/__1_1_a_22.wrt\n__commits/__2_2_b_22.del\n".to_vec();
        bytes.extend(3u64.to_le_bytes());
        bytes.extend(b"x\ny__3_3_c_9.ok\n");
        let records = parse_consolidated_commits(&bytes).unwrap();
        assert_eq!(records.len(), 3);
        assert_eq!(records[1].delete.unwrap().1, b"x\ny");
        assert_eq!(records[2].path, "__3_3_c_9.ok");
        assert!(parse_consolidated_commits(&bytes[..bytes.len() - 1]).is_err());
        assert!(parse_consolidated_commits(&bytes[..55]).is_err());
    }

    #[test]
    fn consolidated_commits_are_written_as_they_were_read() {
        let mut bytes = b"__commits/__1_1_a_22.wrt\n__commits/__2_2_b_22.del\n".to_vec();
        bytes.extend(3u64.to_le_bytes());
        bytes.extend(b"x\ny__3_3_c_9.ok\n");
        let records = parse_consolidated_commits(&bytes).unwrap();
        assert_eq!(write_consolidated_commits(&records, FormatVersion::CURRENT).unwrap(), bytes);
        let old = FormatVersion::all().find(|version| version.has(Gate::FragmentFolders)).unwrap();
        let error = write_consolidated_commits(&records, old).unwrap_err();
        assert_eq!(error, Error::not_in_version("consolidated delete", old));
        assert!(write_consolidated_commits(&records[..1], old).is_ok());
    }

    #[test]
    fn paths_that_would_read_back_as_others_are_not_written() {
        let delete = |path: &str, file| CommitRecord { path: path.into(), delete: file };
        for record in [delete("a\nb.wrt", None), delete("a.del", None), delete("a.wrt", Some((0, &b"x"[..])))]
        {
            let error = write_consolidated_commits(&[record], FormatVersion::CURRENT).unwrap_err();
            assert_eq!(error.what, "consolidated commit");
        }
        let lines = vec!["/__fragments/a".to_owned(), "__commits/b.wrt".to_owned()];
        let bytes = write_path_lines(&lines).unwrap();
        assert_eq!(bytes, b"/__fragments/a\n__commits/b.wrt\n");
        assert_eq!(parse_path_lines(&bytes).unwrap(), lines);
        for line in ["", "a\nb"] {
            assert_eq!(write_path_lines(&[line.to_owned()]).unwrap_err().what, "path");
        }
    }

    #[test]
    fn a_hostile_delete_size_and_a_path_that_is_not_utf8_are_refused_where_they_stand() {
        let mut bytes = b"a.del\n".to_vec();
        bytes.extend(u64::MAX.to_le_bytes());
        let error = parse_consolidated_commits(&bytes).unwrap_err();
        assert_eq!((error.what, error.offset), ("consolidated delete", 14));
        assert_eq!(error.kind, ErrorKind::UnexpectedEnd { missing: u64::MAX });
        let error = parse_consolidated_commits(b"a\n\xff\n").unwrap_err();
        assert_eq!((error.offset, error.kind), (2, ErrorKind::InvalidUtf8 { valid_up_to: 0 }));
        let error = parse_path_lines(b"a\nb\xff").unwrap_err();
        assert_eq!((error.offset, error.kind), (2, ErrorKind::InvalidUtf8 { valid_up_to: 1 }));
    }

    #[test]
    fn vacuum_lines_of_all_eras_mean_the_same_path() {
        assert_eq!(vacuum_target("/__fragments/__1_1_a_22"), "__fragments/__1_1_a_22");
        assert_eq!(vacuum_target("file:///x/arr/__fragments/__1_1_a_14"), "__fragments/__1_1_a_14");
        assert_eq!(vacuum_target("file:///x/arr/__1_1_a_9"), "__1_1_a_9");
        assert_eq!(vacuum_target("/__1_1_a"), "__1_1_a");
        assert_eq!(vacuum_target("file:///__metadata/__fragments_old/a/__1_1_a_9"), "__1_1_a_9");
        assert_eq!(vacuum_target("__1_1_a"), "__1_1_a");
        assert_eq!(vacuum_target("file:///x/arr/__meta/__1_1_a"), "__meta/__1_1_a");
    }

    #[test]
    fn suffixes_of_names_of_the_format_tell_the_kind() {
        assert_eq!(CommitKind::of("__1_1_a_22.wrt"), Some((CommitKind::Write, "__1_1_a_22")));
        assert_eq!(CommitKind::of("__meta/__1_1_a.vac"), Some((CommitKind::Vacuum, "__meta/__1_1_a")));
        assert_eq!(CommitKind::of("__1_1_a_22"), None);
        for (kind, suffix) in CommitKind::TABLE {
            for stem in ["._", "x", "", "_1_1_a_22", "__commits/.___1_1_a_22"] {
                let name = format!("{stem}{suffix}");
                assert_eq!((CommitKind::of(&name), CommitKind::by_suffix(&name)), (None, Some((kind, stem))));
            }
        }
        assert_eq!(CommitKind::Consolidated.suffix(), ".con");
    }

    #[test]
    fn vacuum_lines_name_a_path_in_the_array_from_version_19_on_and_a_uri_before() {
        let line =
            |version| vacuum_line("__fragments/a", "s3://x/arr/", FormatVersion::parse(version).unwrap());
        assert_eq!(line(18), "s3://x/arr/__fragments/a");
        assert_eq!(line(19), "/__fragments/a");
    }
}
