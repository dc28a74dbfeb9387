//! An appending writer of the same fields [`Reader`](crate::Reader) reads.

use crate::{Error, ErrorKind, Result, to_u32, to_u64};

/// Appends little-endian fields to a growing buffer.
///
/// ```
/// use tdb_codec::{Reader, Writer};
///
/// let mut writer = Writer::new();
/// writer.u32(7);
/// writer.bytes_u32(b"dim", "dimension name")?;
/// let bytes = writer.into_vec();
/// let mut reader = Reader::new(&bytes);
/// assert_eq!(reader.u32("x")?, 7);
/// assert_eq!(reader.bytes_u32("dimension name")?, b"dim");
/// # Ok::<(), tdb_codec::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// An empty writer.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    /// Number of bytes written.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing has been written.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The bytes written so far.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the buffer.
    #[must_use]
    pub fn into_vec(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends raw bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends a byte.
    pub fn u8(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends a `bool` as 0 or 1.
    pub fn bool(&mut self, value: bool) {
        self.bytes.push(u8::from(value));
    }

    /// Appends a `u16`.
    pub fn u16(&mut self, value: u16) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends a `u32`.
    pub fn u32(&mut self, value: u32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends an `i32`.
    pub fn i32(&mut self, value: i32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends a `u64`.
    pub fn u64(&mut self, value: u64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends an `f32`.
    pub fn f32(&mut self, value: f32) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends an `f64`.
    pub fn f64(&mut self, value: f64) {
        self.bytes(&value.to_le_bytes());
    }

    /// Appends a `usize` length as a `u32`.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] if it does not fit.
    pub fn len_u32(&mut self, len: usize, what: &'static str) -> Result<()> {
        let value = to_u32(len).ok_or_else(|| {
            Error::new(what, to_u64(self.bytes.len()), ErrorKind::Overflow { value: to_u64(len) })
        })?;
        self.u32(value);
        Ok(())
    }

    /// Appends a `u32` length and the bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] if there are 4 GiB or more.
    pub fn bytes_u32(&mut self, bytes: &[u8], what: &'static str) -> Result<()> {
        self.len_u32(bytes.len(), what)?;
        self.bytes(bytes);
        Ok(())
    }

    /// Appends a `u64` length and the bytes.
    pub fn bytes_u64(&mut self, bytes: &[u8]) {
        self.u64(to_u64(bytes.len()));
        self.bytes(bytes);
    }

    /// Appends a `u32` placeholder, calls `body`, and then replaces the placeholder with the number
    /// of bytes that `body` wrote. The placeholder is `u32::MAX`, so if it is never replaced, it is
    /// not mistaken for a valid length.
    ///
    /// # Errors
    /// [`ErrorKind::Overflow`] if the body takes 4 GiB or more, or any error that `body` returns.
    pub fn nested_u32(
        &mut self,
        what: &'static str,
        body: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let at = self.bytes.len();
        self.u32(u32::MAX);
        let start = self.bytes.len();
        body(self)?;
        let len = self.bytes.len().saturating_sub(start);
        let value = to_u32(len)
            .ok_or_else(|| Error::new(what, to_u64(at), ErrorKind::Overflow { value: to_u64(len) }))?;
        if let Some(slot) = self.bytes.get_mut(at..start) {
            slot.copy_from_slice(&value.to_le_bytes());
        }
        Ok(())
    }
}

impl From<Vec<u8>> for Writer {
    /// A writer that appends to `bytes` and reuses its capacity.
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Reader;

    #[test]
    fn nested_lengths_are_filled_in_behind_the_body() {
        let mut writer = Writer::new();
        writer.u8(9);
        writer
            .nested_u32("options", |writer| {
                writer.u16(1);
                writer.bool(true);
                Ok(())
            })
            .unwrap();
        assert_eq!(writer.into_vec(), [9, 3, 0, 0, 0, 1, 0, 1]);
    }

    #[test]
    fn every_integer_reads_back() {
        let mut writer = Writer::new();
        writer.u8(1);
        writer.u16(2);
        writer.u32(3);
        writer.i32(-4);
        writer.u64(5);
        writer.f32(1.5);
        writer.f64(-2.5);
        writer.bytes_u64(b"xy");
        let bytes = writer.into_vec();
        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.u8("").unwrap(), 1);
        assert_eq!(reader.u16("").unwrap(), 2);
        assert_eq!(reader.u32("").unwrap(), 3);
        assert_eq!(reader.i32("").unwrap(), -4);
        assert_eq!(reader.u64("").unwrap(), 5);
        assert_eq!(reader.f32("").unwrap(), 1.5);
        assert_eq!(reader.f64("").unwrap(), -2.5);
        assert_eq!(reader.bytes_u64("").unwrap(), b"xy");
        reader.finish("all").unwrap();
    }

    #[test]
    fn a_writer_says_what_it_has() {
        let mut writer = Writer::new();
        assert!(writer.is_empty());
        writer.bytes_u32(b"ab", "name").unwrap();
        assert_eq!((writer.len(), writer.is_empty(), writer.as_slice()), (6, false, &b"\x02\0\0\0ab"[..]));
        let mut longer = Writer::from(writer.into_vec());
        longer.len_u32(7, "count").unwrap();
        assert_eq!(longer.as_slice(), b"\x02\0\0\0ab\x07\0\0\0");
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_length_past_32_bits_is_refused_where_it_would_stand() {
        let mut writer = Writer::from(vec![0; 3]);
        let error = writer.len_u32(1 << 32, "count").unwrap_err();
        assert_eq!((error.what, error.offset), ("count", 3));
        assert_eq!(error.kind, ErrorKind::Overflow { value: 1 << 32 });
        assert_eq!(writer.len(), 3);
    }
}
