//! CHECKSUM_MD5 (12) and CHECKSUM_SHA256 (13): digests stored in addition to the bytes.
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | metadata checksum count | u32 |
//! | data checksum count | u32 |
//! | per metadata part, then per data part: length | u64 |
//! | … digest | `u8[16]` or `u8[32]` |
//!
//! The data, and the metadata of earlier filters after this block, are unchanged; the digests cover
//! them in order. No options.

use tdb_codec::{Reader, Writer, to_u64, to_usize};

use crate::error::{ErrorKind, Kind};

/// The kind of digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hash {
    Md5,
    Sha256,
}

impl Hash {
    const fn len(self) -> usize {
        match self {
            Self::Md5 => 16,
            Self::Sha256 => 32,
        }
    }

    /// The digest in the first [`Self::len`] bytes.
    #[cfg(feature = "checksum")]
    fn digest(self, bytes: &[u8]) -> Kind<[u8; 32]> {
        use sha2::Digest;

        let mut out = [0; 32];
        match self {
            Self::Md5 => {
                for (slot, byte) in out.iter_mut().zip(md5::Md5::digest(bytes)) {
                    *slot = byte;
                }
            }
            Self::Sha256 => out = sha2::Sha256::digest(bytes).into(),
        }
        Ok(out)
    }

    #[cfg(not(feature = "checksum"))]
    fn digest(self, _: &[u8]) -> Kind<[u8; 32]> {
        Err(ErrorKind::FeatureMissing { feature: "checksum" })
    }
}

/// Reads the block and compares the digests with the metadata that follows it and with `data`.
pub(crate) fn verify(hash: Hash, block: &mut Reader<'_>, data: &[u8]) -> Kind<()> {
    let entry = hash.len().saturating_add(8);
    let metadata_count = block.count_u32(entry, "metadata checksum count")?;
    let data_count = block.count_u32(entry, "data checksum count")?;
    let metadata_entries = block.take(metadata_count.saturating_mul(entry), "metadata checksums")?;
    let data_entries = block.take(data_count.saturating_mul(entry), "data checksums")?;
    compare(hash, metadata_entries, block.rest(), 0)?;
    compare(hash, data_entries, data, metadata_count)
}

/// Compares each digest with the next part of `bytes`; the parts must cover all of `bytes`.
fn compare(hash: Hash, entries: &[u8], bytes: &[u8], first_part: usize) -> Kind<()> {
    let mut rest = bytes;
    for (part, entry) in entries.chunks_exact(hash.len().saturating_add(8)).enumerate() {
        let Some((length, digest)) = entry.split_first_chunk::<8>() else { break };
        let length = u64::from_le_bytes(*length);
        let (covered, later) = to_usize(length)
            .and_then(|length| rest.split_at_checked(length))
            .ok_or(ErrorKind::WrongLength { expected: length, found: to_u64(rest.len()) })?;
        if hash.digest(covered)?.get(..hash.len()) != Some(digest) {
            return Err(ErrorKind::ChecksumMismatch { part: first_part.saturating_add(part), bytes: length });
        }
        rest = later;
    }
    if !rest.is_empty() {
        let found = to_u64(bytes.len());
        return Err(ErrorKind::WrongLength { expected: found.saturating_sub(to_u64(rest.len())), found });
    }
    Ok(())
}

/// Appends the block for metadata parts (most recent first) and for one data part or none.
pub(crate) fn encode<'a>(
    hash: Hash,
    metadata: impl ExactSizeIterator<Item = &'a [u8]>,
    data: Option<&'a [u8]>,
    block: &mut Writer,
) -> Kind<()> {
    block.len_u32(metadata.len(), "metadata checksum count")?;
    block.u32(data.is_some().into());
    for part in metadata.chain(data) {
        block.u64(to_u64(part.len()));
        block.bytes(hash.digest(part)?.get(..hash.len()).unwrap_or_default());
    }
    Ok(())
}

#[cfg(all(test, feature = "checksum"))]
mod tests {
    use super::*;

    #[test]
    fn digests_of_nothing_are_the_published_ones() {
        let mut block = Writer::new();
        encode(Hash::Md5, [].into_iter(), Some(&[]), &mut block).unwrap();
        let mut expected = vec![0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        expected.extend(0xd41d_8cd9_8f00_b204_e980_0998_ecf8_427e_u128.to_be_bytes());
        assert_eq!(block.as_slice(), expected);
        verify(Hash::Md5, &mut Reader::new(&expected), &[]).unwrap();

        let mut block = Writer::new();
        encode(Hash::Sha256, [].into_iter(), Some(&[]), &mut block).unwrap();
        assert_eq!(block.as_slice()[16..20], [0xe3, 0xb0, 0xc4, 0x42]);
        assert_eq!(block.len(), 8 + 40);
    }

    #[test]
    fn a_changed_byte_is_found_in_the_part_it_lies_in() {
        for hash in [Hash::Md5, Hash::Sha256] {
            let mut block = Writer::new();
            encode(hash, [&b"new"[..], b"old"].into_iter(), Some(b"data"), &mut block).unwrap();
            block.bytes(b"newold");
            let metadata = block.into_vec();
            verify(hash, &mut Reader::new(&metadata), b"data").unwrap();
            let error = verify(hash, &mut Reader::new(&metadata), b"dbta").unwrap_err();
            assert_eq!(error, ErrorKind::ChecksumMismatch { part: 2, bytes: 4 });
            let mut changed = metadata.clone();
            *changed.last_mut().unwrap() ^= 1;
            let error = verify(hash, &mut Reader::new(&changed), b"data").unwrap_err();
            assert_eq!(error, ErrorKind::ChecksumMismatch { part: 1, bytes: 3 });
            assert!(verify(hash, &mut Reader::new(&metadata), b"data and more").is_err());
            for len in 0..metadata.len() {
                assert!(verify(hash, &mut Reader::new(&metadata[..len]), b"data").is_err());
            }
        }
    }
}
