//! AES_256_GCM (11): every part is encrypted separately.
//!
//! Chunk metadata:
//!
//! | Field | Type |
//! |---|---|
//! | metadata part count | u32 |
//! | data part count | u32 |
//! | per metadata part, then per data part: plaintext length | u32 |
//! | … ciphertext length (the same) | u32 |
//! | … IV | `u8[12]` |
//! | … tag | `u8[16]` |
//!
//! Data: the encrypted metadata parts, then the encrypted data parts. There is no associated data.
//! No options. Only the pipelines of generic tiles contain the filter. All other tiles of an
//! encrypted array are encrypted after their pipeline, although the pipeline does not contain the
//! filter.

use core::fmt;

use tdb_codec::{ErrorKind as FormatError, Reader, Writer, to_u64, to_usize};

use crate::error::{ErrorKind, Kind};
use crate::scratch::{NONCE, Nonces, room};

/// A 32-byte AES-256 key. Never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Key([u8; 32]);

impl Key {
    /// A key from its raw bytes.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// A key from 64 hexadecimal digits; `None` for any other text.
    ///
    /// ```
    /// use tdb_filters::Key;
    ///
    /// assert_eq!(Key::from_hex(&"1f".repeat(32)), Some(Key::new([0x1f; 32])));
    /// assert_eq!(Key::from_hex("1f"), None);
    /// ```
    #[must_use]
    pub fn from_hex(digits: &str) -> Option<Self> {
        if digits.len() != 64 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return None;
        }
        let mut key = [0u8; 32];
        for (byte, pair) in key.iter_mut().zip(digits.as_bytes().as_chunks::<2>().0) {
            *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(key))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

const TAG: usize = 16;
const ENTRY: usize = 8 + NONCE + TAG;

/// A key that is ready for use.
#[derive(Clone)]
pub(crate) struct Cipher {
    #[cfg(feature = "encryption")]
    aes: Box<aes_gcm::Aes256Gcm>,
}

impl fmt::Debug for Cipher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cipher(..)")
    }
}

#[cfg(feature = "encryption")]
impl Cipher {
    pub(crate) fn new(key: &Key) -> Kind<Self> {
        use aes_gcm::{Aes256Gcm, KeyInit};

        Ok(Self { aes: Box::new(Aes256Gcm::new(&key.0.into())) })
    }

    /// Decrypts `src` into `data`, which has the same length; `data` is unchanged if the tag is
    /// wrong.
    fn decrypt(&self, nonce: [u8; NONCE], tag: [u8; TAG], src: &[u8], data: &mut [u8]) -> Option<()> {
        use aes_gcm::{AeadInOut, aead::inout::InOutBuf};

        let text = InOutBuf::new(src, data).ok()?;
        self.aes.decrypt_inout_detached(&nonce.into(), &[], text, &tag.into()).ok()
    }

    /// Encrypts `src` into `data`, which has the same length.
    fn encrypt(&self, nonce: [u8; NONCE], src: &[u8], data: &mut [u8]) -> Option<[u8; TAG]> {
        use aes_gcm::{AeadInOut, aead::inout::InOutBuf};

        let text = InOutBuf::new(src, data).ok()?;
        self.aes.encrypt_inout_detached(&nonce.into(), &[], text).ok().map(Into::into)
    }
}

#[cfg(not(feature = "encryption"))]
impl Cipher {
    pub(crate) fn new(_: &Key) -> Kind<Self> {
        Err(ErrorKind::FeatureMissing { feature: "encryption" })
    }

    fn decrypt(&self, _: [u8; NONCE], _: [u8; TAG], _: &[u8], _: &mut [u8]) -> Option<()> {
        None
    }

    fn encrypt(&self, _: [u8; NONCE], _: &[u8], _: &mut [u8]) -> Option<[u8; TAG]> {
        None
    }
}

/// The filter's chunk metadata.
pub(crate) struct Block<'a> {
    /// Length of the decoded metadata.
    pub(crate) metadata_len: usize,
    /// Length of the decoded data.
    pub(crate) data_len: usize,
    metadata: &'a [[u8; ENTRY]],
    data: &'a [[u8; ENTRY]],
}

impl<'a> Block<'a> {
    /// Reads the block, which must be all of the metadata: earlier metadata is encrypted too.
    pub(crate) fn parse(mut block: Reader<'a>) -> Kind<Self> {
        let metadata_count = block.count_u32(ENTRY, "metadata part count")?;
        let data_count = block.count_u32(ENTRY, "data part count")?;
        let at = block;
        let metadata = block.take(metadata_count.saturating_mul(ENTRY), "metadata parts")?.as_chunks().0;
        let data = block.take(data_count.saturating_mul(ENTRY), "data parts")?.as_chunks().0;
        block.finish("encryption metadata")?;
        for part in metadata.iter().chain(data).map(Part::new) {
            if part.length != part.encrypted {
                let kind = FormatError::Mismatch { expected: part.length, found: part.encrypted };
                return Err(at.error("ciphertext length", kind).into());
            }
        }
        Ok(Self { metadata_len: total(metadata)?, data_len: total(data)?, metadata, data })
    }

    /// Decrypts everything in `src` into `metadata` and `data`, which have the lengths of the
    /// block.
    pub(crate) fn decode(
        &self,
        cipher: &Cipher,
        src: &[u8],
        metadata: &mut [u8],
        data: &mut [u8],
    ) -> Kind<()> {
        let expected = to_u64(metadata.len()).saturating_add(to_u64(data.len()));
        let wrong = ErrorKind::WrongLength { expected, found: to_u64(src.len()) };
        let (metadata_src, data_src) = src.split_at_checked(metadata.len()).ok_or(wrong)?;
        if data_src.len() != data.len() {
            return Err(wrong);
        }
        decrypt_parts(cipher, self.metadata, metadata_src, metadata, 0)?;
        decrypt_parts(cipher, self.data, data_src, data, self.metadata.len())
    }
}

struct Part {
    length: u32,
    encrypted: u32,
    nonce: [u8; NONCE],
    tag: [u8; TAG],
}

impl Part {
    const fn new(entry: &[u8; ENTRY]) -> Self {
        let [a, b, c, d, e, f, g, h, rest @ ..] = *entry;
        let mut part = Self {
            length: u32::from_le_bytes([a, b, c, d]),
            encrypted: u32::from_le_bytes([e, f, g, h]),
            nonce: [0; NONCE],
            tag: [0; TAG],
        };
        if let Some((nonce, tag)) = rest.split_first_chunk::<NONCE>() {
            part.nonce = *nonce;
            if let Some(tag) = tag.first_chunk::<TAG>() {
                part.tag = *tag;
            }
        }
        part
    }
}

fn total(parts: &[[u8; ENTRY]]) -> Kind<usize> {
    let sum = parts.iter().fold(0u64, |sum, entry| sum.saturating_add(u64::from(Part::new(entry).length)));
    to_usize(sum).ok_or(ErrorKind::OverBudget { size: sum })
}

fn decrypt_parts(
    cipher: &Cipher,
    parts: &[[u8; ENTRY]],
    mut src: &[u8],
    mut data: &mut [u8],
    first: usize,
) -> Kind<()> {
    for (index, entry) in parts.iter().enumerate() {
        let part = Part::new(entry);
        let failed = ErrorKind::Decryption { part: first.saturating_add(index) };
        let length = to_usize(u64::from(part.length)).ok_or(failed)?;
        let (text, src_rest) = src.split_at_checked(length).ok_or(failed)?;
        let (bytes, rest) = data.split_at_mut_checked(length).ok_or(failed)?;
        cipher.decrypt(part.nonce, part.tag, text, bytes).ok_or(failed)?;
        (src, data) = (src_rest, rest);
    }
    Ok(())
}

/// Appends the block, and writes the encrypted parts to the front of `out`; returns their length.
/// The most recent metadata part comes first; if there is no data, there is no data part.
pub(crate) fn encode<'a>(
    cipher: &Cipher,
    nonces: Option<&mut Nonces>,
    metadata: impl ExactSizeIterator<Item = &'a [u8]>,
    data: Option<&'a [u8]>,
    block: &mut Writer,
    out: &mut Vec<u8>,
) -> Kind<usize> {
    let nonces = nonces.ok_or(ErrorKind::NonceMissing)?;
    block.len_u32(metadata.len(), "metadata part count")?;
    block.u32(data.is_some().into());
    let mut end = 0usize;
    for part in metadata.chain(data) {
        let nonce = nonces();
        let tag = cipher
            .encrypt(nonce, part, room(out, end, part.len()))
            .ok_or(ErrorKind::Compress { reason: "AES-GCM failed" })?;
        end = end.saturating_add(part.len());
        block.len_u32(part.len(), "plaintext length")?;
        block.len_u32(part.len(), "ciphertext length")?;
        block.bytes(&nonce);
        block.bytes(&tag);
    }
    Ok(end)
}
