//! Consolidated fragment metadata: the footers of many fragments in one file (`.meta`).

use tdb_codec::{
    Error, ErrorKind, FieldRow, FormatVersion, Gate, Reader, Result, Structure, Wire, Writer, to_u64,
    to_usize,
};

/// The table of a `.meta` file's payload.
pub(crate) static TABLE: Structure = Structure::new(
    "consolidated fragment metadata",
    &[
        FieldRow::new("consolidated footer count", Wire::U32),
        FieldRow::new("entries", Wire::Structure(&ENTRY)).each("fragment"),
        FieldRow::new("consolidated footers", Wire::Bytes)
            .note("one directly after another, without their lengths"),
    ],
)
.since(Gate::CommitFiles)
.code("parse_consolidated_footers", "write_consolidated_footers");

static ENTRY: Structure = Structure::new(
    "consolidated footer",
    &[
        FieldRow::new("consolidated footer name", Wire::String64)
            .note("a name without a path from 9 on, before that a URI"),
        FieldRow::new("consolidated footer offset", Wire::U64).note("in this payload"),
    ],
);

/// A footer inside a `.meta` payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsolidatedFooter<'a> {
    /// The fragment: a name without a path, or an absolute URI in files of version 8 and before.
    pub name: String,
    /// The position of the footer in the payload.
    pub offset: u64,
    /// The footer, possibly followed by other footers: its length follows from its fields.
    pub bytes: &'a [u8],
}

/// Reads the payload of a `.meta` file: `u32` count; count × (`u64` length, name, `u64` offset);
/// the footers, one directly after another. Offsets are relative to the start of the payload.
///
/// # Errors
/// If the payload is truncated, or an offset is past the end.
pub fn parse_consolidated_footers(mut reader: Reader<'_>) -> Result<Vec<ConsolidatedFooter<'_>>> {
    let payload = reader.rest();
    let count = reader.count_u32(MIN_ENTRY, "consolidated footer count")?;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        let name = reader.string_u64("consolidated footer name")?;
        let start = reader;
        let offset = reader.u64("consolidated footer offset")?;
        let bytes = to_usize(offset).and_then(|offset| payload.get(offset..)).ok_or_else(|| {
            start.error("consolidated footer offset", ErrorKind::InvalidValue { value: offset })
        })?;
        entries.push(ConsolidatedFooter { name, offset, bytes });
    }
    reader.take(reader.remaining(), "consolidated footers")?;
    // Each footer ends where the next one begins; footers with extra bytes are accepted, as in
    // fragment files.
    let mut starts: Vec<u64> = entries.iter().map(|entry| entry.offset).collect();
    starts.sort_unstable();
    for entry in &mut entries {
        let end = starts.get(starts.partition_point(|start| *start <= entry.offset)).copied();
        let len = end.unwrap_or(to_u64(payload.len())).saturating_sub(entry.offset);
        entry.bytes = to_usize(len).and_then(|len| entry.bytes.get(..len)).unwrap_or(entry.bytes);
    }
    Ok(entries)
}

/// The payload of a `.meta` file of `version` with these footers (in the form that
/// [`Footer::to_bytes`](crate::Footer::to_bytes) returns), each with its fragment's name: a name
/// without a path from version 9 on, before that a URI.
///
/// ```
/// use tdb_codec::{FormatVersion, Reader};
/// use tdb_fragment::{parse_consolidated_footers, write_consolidated_footers};
///
/// let footers = [("__1_1_a_22", &b"one"[..]), ("__2_2_b_22", &b"other"[..])];
/// let payload = write_consolidated_footers(&footers, FormatVersion::CURRENT)?;
/// let read = parse_consolidated_footers(Reader::new(&payload))?;
/// assert_eq!((read[1].name.as_str(), read[1].bytes), footers[1]);
/// # Ok::<(), tdb_codec::Error>(())
/// ```
///
/// # Errors
/// [`ErrorKind::NotInVersion`] if a name has the form of the other versions; an error if there are
/// more than 2³² footers.
pub fn write_consolidated_footers(footers: &[(&str, &[u8])], version: FormatVersion) -> Result<Vec<u8>> {
    const COUNT: &str = "consolidated footer count";
    let mut writer = Writer::new();
    writer.len_u32(footers.len(), COUNT)?;
    let names: usize = footers.iter().map(|(name, _)| name.len().saturating_add(MIN_ENTRY)).sum();
    let mut offset = to_u64(names.saturating_add(4));
    for (name, bytes) in footers {
        if name.contains('/') == version.has(Gate::RelativeConsolidatedNames) {
            return Err(Error::not_in_version("consolidated footer name", version));
        }
        writer.bytes_u64(name.as_bytes());
        writer.u64(offset);
        offset = offset.saturating_add(to_u64(bytes.len()));
    }
    footers.iter().for_each(|(_, bytes)| writer.bytes(bytes));
    Ok(writer.into_vec())
}

/// Number of bytes of an entry without its name: two integers.
const MIN_ENTRY: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn footers_are_written_as_they_were_read_under_names_of_the_versions_era() {
        let old = FormatVersion::OLDEST;
        let footers = [("file:///x/arr/__1_1_a", &b"xy"[..]), ("file:///x/arr/__2_2_b", &b"abc"[..])];
        let payload = write_consolidated_footers(&footers, old).unwrap();
        let read = parse_consolidated_footers(Reader::new(&payload)).unwrap();
        let again: Vec<_> = read.iter().map(|entry| (entry.name.as_str(), entry.bytes)).collect();
        assert_eq!(again, footers);
        for len in 0..payload.len() {
            // The length of a footer is not stored, so only its parser can detect missing bytes in
            // the last one.
            let read = parse_consolidated_footers(Reader::new(&payload[..len]));
            assert_eq!(read.is_ok(), len + 3 >= payload.len(), "{len}");
        }
        let current = FormatVersion::CURRENT;
        let wrong = Error::not_in_version("consolidated footer name", current);
        assert_eq!(write_consolidated_footers(&footers, current), Err(wrong));
        let wrong = Error::not_in_version("consolidated footer name", old);
        assert_eq!(write_consolidated_footers(&[("__1_1_a_5", b"")], old), Err(wrong));
    }

    #[test]
    fn a_hostile_footer_count_is_refused_before_it_becomes_a_capacity() {
        let error = parse_consolidated_footers(Reader::new(&[0xff; 20])).unwrap_err();
        assert_eq!((error.what, error.offset), ("consolidated footer count", 0));
        assert_eq!(error.kind, ErrorKind::CountTooLarge { count: u64::from(u32::MAX) });
    }

    #[test]
    fn offsets_past_the_payload_are_refused() {
        let mut payload = 1u32.to_le_bytes().to_vec();
        payload.extend(1u64.to_le_bytes());
        payload.push(b'f');
        payload.extend(21u64.to_le_bytes());
        payload.extend(b"footer");
        let entries = parse_consolidated_footers(Reader::new(&payload)).unwrap();
        assert_eq!((entries[0].name.as_str(), entries[0].bytes), ("f", &b"footer"[..]));
        payload[13] = 200;
        let error = parse_consolidated_footers(Reader::new(&payload)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::InvalidValue { value: 200 });
    }
}
