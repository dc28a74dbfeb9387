//! Consolidated fragment metadata: the footers of many fragments in one file (`.meta`).

use tdb_codec::{ErrorKind, Reader, Result, to_u64, to_usize};

/// A footer inside a `.meta` payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsolidatedFooter<'a> {
    /// The fragment: a bare name, or an absolute URI in files of version 8 and before.
    pub name: String,
    /// Where the footer begins in the payload.
    pub offset: u64,
    /// The footer, possibly followed by the others: its length is what its fields need.
    pub bytes: &'a [u8],
}

/// Reads the payload of a `.meta` file: `u32` count; count × (`u64` length, name, `u64` offset); the footers back to
/// back. Offsets count from the start of the payload.
///
/// # Errors
/// Truncation, or an offset past the end.
pub fn parse_consolidated_footers(mut reader: Reader<'_>) -> Result<Vec<ConsolidatedFooter<'_>>> {
    let payload = reader.rest();
    let count = reader.count_u32(16, "consolidated footer count")?;
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
    // Each footer ends where the next one begins; overlong ones are tolerated, as in fragment files.
    let mut starts: Vec<u64> = entries.iter().map(|entry| entry.offset).collect();
    starts.sort_unstable();
    for entry in &mut entries {
        let end = starts.get(starts.partition_point(|start| *start <= entry.offset)).copied();
        let len = end.unwrap_or(to_u64(payload.len())).saturating_sub(entry.offset);
        entry.bytes = to_usize(len).and_then(|len| entry.bytes.get(..len)).unwrap_or(entry.bytes);
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

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
