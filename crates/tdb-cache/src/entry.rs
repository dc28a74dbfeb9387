//! A segment as a file of a folder.
//!
//! ```text
//! 8   "tdbcach1"
//! 32  identity of the file and its origin (SHA-256)
//! 8   offset of the first byte in that file
//! 8   offset of the byte after the last one
//! 8   size of that file; 2^64 - 1 if it is not known
//! 32  SHA-256 of everything before, and of the bytes
//!     the bytes
//! ```
//!
//! A reader of an entry knows what it must contain, so nothing is parsed: anything else is not a
//! valid entry.

use bytes::Bytes;
use sha2::{Digest, Sha256};
use tdb_codec::{Writer, to_u64};

use crate::origin::{FileId, Hash};
use crate::segment::Segment;

const MAGIC: &[u8; 8] = b"tdbcach1";

/// Number of bytes before those of the segment.
const OVERHEAD: usize = HEADER + 32;
/// Number of bytes before the checksum.
const HEADER: usize = 64;

/// The size of a segment's file; `None` if it is not possible.
pub(crate) fn size(segment: &Segment) -> Option<u64> {
    segment.len().checked_add(to_u64(OVERHEAD))
}

/// The beginning of a segment's file, up to the checksum.
fn header(file: &FileId, segment: &Segment) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.bytes(MAGIC);
    writer.bytes(file.bytes());
    writer.u64(segment.range.start);
    writer.u64(segment.range.end);
    writer.u64(segment.size.unwrap_or(u64::MAX));
    writer.into_vec()
}

fn checksum(header: &[u8], bytes: &[u8]) -> Hash {
    Sha256::new().chain_update(header).chain_update(bytes).finalize().into()
}

/// The contents of a segment's file.
pub(crate) fn write(file: &FileId, segment: &Segment, bytes: &[u8]) -> Vec<u8> {
    let mut entry = header(file, segment);
    let sum = checksum(&entry, bytes);
    entry.reserve_exact(bytes.len().saturating_add(sum.len()));
    entry.extend_from_slice(&sum);
    entry.extend_from_slice(bytes);
    entry
}

/// The bytes of a segment from its file; `None` if the file is damaged, or belongs to another
/// segment.
pub(crate) fn read(file: &FileId, segment: &Segment, entry: &Bytes) -> Option<Bytes> {
    let header = header(file, segment);
    let (sum, bytes) = entry.strip_prefix(header.as_slice())?.split_at_checked(size_of::<Hash>())?;
    let whole = to_u64(bytes.len()) == segment.len() && checksum(&header, bytes) == *sum;
    whole.then(|| entry.slice_ref(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Origin;

    #[test]
    fn an_entry_reads_back_and_no_other_bytes_do() {
        let origin = Origin::of(["here"]);
        let (file, segment) = (origin.file("a"), Segment { range: 5..9, size: Some(9) });
        let entry = write(&file, &segment, b"abcd");
        assert_eq!(Some(to_u64(entry.len())), size(&segment));
        let whole = Bytes::from(entry.clone());
        assert_eq!(read(&file, &segment, &whole).as_deref(), Some(&b"abcd"[..]));
        for at in 0..entry.len() {
            for bit in 0..8 {
                let mut changed = entry.clone();
                changed[at] ^= 1 << bit;
                assert_eq!(read(&file, &segment, &changed.into()), None, "byte {at}, bit {bit}");
            }
            assert_eq!(read(&file, &segment, &whole.slice(..at)), None, "cut at {at}");
        }
        let longer = [&entry[..], b"e"].concat();
        assert_eq!(read(&file, &segment, &longer.into()), None);
        for (file, segment) in [
            (origin.file("b"), segment.clone()),
            (Origin::of(["there"]).file("a"), segment.clone()),
            (file, Segment { size: None, ..segment.clone() }),
            (file, Segment { range: 4..8, ..segment }),
        ] {
            assert_eq!(read(&file, &segment, &whole), None, "{segment:?}");
        }
    }
}
